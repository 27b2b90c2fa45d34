// Gram filters as workloads.
#pragma once

#include "support/workload.h"

namespace test {

class GramWorkload final : public Workload {
 public:
  GramWorkload(std::string name, size_t width, size_t channels, size_t batch, BNNSDataType type)
      : Workload(std::move(name), batch) {
    layer_.alpha = 0.5f;
    layer_.i_desc = array(BNNSDataLayoutImageCHW, {width, width, channels}, nullptr, type);
    layer_.o_desc = array(BNNSDataLayoutRowMajorMatrix, {channels, channels}, nullptr, type);
    in_ = noise(batch * count(layer_.i_desc), type, 1);
    out_delta_ = floats(batch * count(layer_.o_desc), 2);
    trainable_ = true;
  }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(layer_.o_desc) * bytes_of(layer_.o_desc.data_type));
    r.in_delta.resize(batch() * count(layer_.i_desc));
    return r;
  }
  int forward(BNNSFilter filter, Results& results) const override {
    return BNNSFilterApplyBatch(filter, batch(), in_.data(), 0, results.out.data(), 0);
  }
  // Gradients are Float32 whatever the type of the image.
  int backward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor in_delta = layer_.i_desc, out_delta = layer_.o_desc;
    in_delta.data_type = out_delta.data_type = BNNSDataTypeFloat32;
    in_delta.data = results.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    return BNNSFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &in_delta, 0, nullptr, 0,
                                        &out_delta, 0, nullptr, nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerGram(&layer_, &p);
  }

  BNNSLayerParametersGram layer_ = {};
  std::vector<char> in_;
  std::vector<float> out_delta_;
};

// Dense Float32, used where it lies; halves, which are copied; products that are packed.
inline void add_gram_workloads(Workloads& all) {
  const auto add = [&](const char* name, size_t width, size_t channels, BNNSDataType type) {
    all.push_back(std::make_unique<GramWorkload>(name, width, channels, 3, type));
  };
  add("gram", 5, 4, BNNSDataTypeFloat32);
  add("gram of halves", 5, 4, BNNSDataTypeFloat16);
  add("gram, packed", 7, 40, BNNSDataTypeFloat32);
}

}  // namespace test

// Dropout filters as workloads. They drop nothing: what is dropped differs from call to call, and
// these tests compare calls.
#pragma once

#include "support/workload.h"

namespace test {

class DropoutWorkload final : public Workload {
 public:
  DropoutWorkload(std::string name, const BNNSNDArrayDescriptor& like, size_t batch,
                  BNNSDataType in_type, uint8_t control)
      : Workload(std::move(name), batch) {
    layer_.i_desc = layer_.o_desc = like;
    layer_.i_desc.data_type = in_type;
    layer_.seed = 17;
    layer_.control = control;
    in_ = noise(batch * count(like), in_type, 1);
    out_delta_ = floats(batch * count(like), 2);
    trainable_ = guarded_ = true;
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
  int backward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor in_delta = layer_.i_desc, out_delta = layer_.o_desc;
    in_delta.data_type = out_delta.data_type = BNNSDataTypeFloat32;
    in_delta.data = results.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    return BNNSFilterApplyBackwardBatch(filter, batch(), nullptr, 0, &in_delta, 0, nullptr, 0,
                                        &out_delta, 0, nullptr, nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerDropout(&layer_, &p);
  }

  BNNSLayerParametersDropout layer_ = {};
  std::vector<char> in_;
  std::vector<float> out_delta_;
};

inline void add_dropout_workloads(Workloads& all) {
  const BNNSNDArrayDescriptor image = array(BNNSDataLayoutImageCHW, {7, 5, 6});
  const auto add = [&](const char* name, const BNNSNDArrayDescriptor& like, BNNSDataType type,
                       uint8_t control) {
    all.push_back(std::make_unique<DropoutWorkload>(name, like, 3, type, control));
  };
  add("dropout", vector(1000), BNNSDataTypeFloat32, 0);
  add("dropout of channels, halves", image, BNNSDataTypeFloat16, 3);
}

}  // namespace test

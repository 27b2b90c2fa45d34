// Resize filters as workloads.
#pragma once

#include "support/workload.h"

namespace test {

class ResizeWorkload final : public Workload {
 public:
  ResizeWorkload(std::string name, BNNSInterpolationMethod method, size_t from, size_t to,
                 BNNSDataType type)
      : Workload(std::move(name), 3) {
    layer_.method = method;
    layer_.i_desc = array(BNNSDataLayoutImageCHW, {from, from, 4}, nullptr, type);
    layer_.o_desc = array(BNNSDataLayoutImageCHW, {to, to, 4}, nullptr, type);
    in_ = noise(batch() * count(layer_.i_desc), type, 1);
    out_delta_ = floats(batch() * count(layer_.o_desc), 2);
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
    return BNNSFilterApplyBackwardBatch(filter, batch(), nullptr, 0, &in_delta, 0, nullptr, 0,
                                        &out_delta, 0, nullptr, nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerResize(&layer_, &p);
  }

  BNNSLayerParametersResize layer_ = {};
  std::vector<char> in_;
  std::vector<float> out_delta_;
};

// Factors of 2, others, halves, and one that is worth several threads.
inline void add_resize_workloads(Workloads& all) {
  const auto add = [&](const char* name, BNNSInterpolationMethod method, size_t from, size_t to,
                       BNNSDataType type = BNNSDataTypeFloat32) {
    all.push_back(std::make_unique<ResizeWorkload>(name, method, from, to, type));
  };
  add("resize, linear, twice", BNNSInterpolationMethodLinear, 9, 18);
  add("resize, linear", BNNSInterpolationMethodLinear, 9, 13);
  add("resize, nearest", BNNSInterpolationMethodNearest, 12, 7);
  add("resize, halves", BNNSInterpolationMethodLinear, 9, 18, BNNSDataTypeFloat16);
  add("resize, large", BNNSInterpolationMethodLinear, 50, 100);
}

}  // namespace test

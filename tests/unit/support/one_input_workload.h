// Filters with one input, one output and no parameters, as workloads.
#pragma once

#include <functional>

#include "support/workload.h"

namespace test {

class OneInputWorkload final : public Workload {
 public:
  using Create =
      std::function<BNNSFilter(const BNNSNDArrayDescriptor& in, const BNNSNDArrayDescriptor& out,
                               const BNNSFilterParameters& options)>;

  OneInputWorkload(std::string name, const BNNSNDArrayDescriptor& in,
                   const BNNSNDArrayDescriptor& out, Create create, bool guarded = false)
      : Workload(std::move(name), 3), in_desc_(in), out_desc_(out), create_(std::move(create)) {
    in_ = noise(batch() * count(in), in.data_type, 1);
    out_delta_ = floats(batch() * count(out), 2);
    trainable_ = true;
    guarded_ = guarded;
  }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(out_desc_) * bytes_of(out_desc_.data_type));
    r.in_delta.resize(batch() * count(in_desc_));
    return r;
  }
  int forward(BNNSFilter filter, Results& results) const override {
    return BNNSFilterApplyBatch(filter, batch(), in_.data(), 0, results.out.data(), 0);
  }
  // Gradients are Float32 whatever the type of the tensor.
  int backward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor in_delta = in_desc_, out_delta = out_desc_;
    in_delta.data_type = out_delta.data_type = BNNSDataTypeFloat32;
    in_delta.data = results.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    return BNNSFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &in_delta, 0, nullptr, 0,
                                        &out_delta, 0, nullptr, nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return create_(in_desc_, out_desc_, p);
  }

  BNNSNDArrayDescriptor in_desc_, out_desc_;
  Create create_;
  std::vector<char> in_;
  std::vector<float> out_delta_;
};

}  // namespace test

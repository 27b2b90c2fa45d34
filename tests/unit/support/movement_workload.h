// Permute and padding filters as workloads.
#pragma once

#include <functional>

#include "support/workload.h"

namespace test {

class MovementWorkload final : public Workload {
 public:
  using Create =
      std::function<BNNSFilter(const BNNSNDArrayDescriptor& in, const BNNSNDArrayDescriptor& out,
                               const BNNSFilterParameters& options)>;

  MovementWorkload(std::string name, const BNNSNDArrayDescriptor& in,
                   const BNNSNDArrayDescriptor& out, Create create)
      : Workload(std::move(name), 3), in_desc_(in), out_desc_(out), create_(std::move(create)) {
    in_ = noise(batch() * count(in), in.data_type, 1);
    out_delta_ = floats(batch() * count(out), 2);
    trainable_ = true;
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

inline void add_movement_workloads(Workloads& all) {
  const auto add = [&](const char* name, const BNNSNDArrayDescriptor& in,
                       const BNNSNDArrayDescriptor& out, MovementWorkload::Create create) {
    all.push_back(std::make_unique<MovementWorkload>(name, in, out, std::move(create)));
  };
  const auto permute = [&](const char* name, size_t width, size_t channels, BNNSDataType type) {
    add(name, array(BNNSDataLayoutImageCHW, {width, 5, channels}, nullptr, type),
        array(BNNSDataLayoutImageCHW, {channels, width, 5}, nullptr, type),
        [](const auto& in, const auto& out, const auto& options) {
          const BNNSLayerParametersPermute p = {
              .i_desc = in, .o_desc = out, .permutation = {2, 0, 1}};
          return BNNSFilterCreateLayerPermute(&p, &options);
        });
  };
  const auto padding = [&](const char* name, BNNSPaddingMode mode, BNNSDataType type) {
    add(name, array(BNNSDataLayoutImageCHW, {7, 5, 2}, nullptr, type),
        array(BNNSDataLayoutImageCHW, {10, 7, 2}, nullptr, type),
        [mode](const auto& in, const auto& out, const auto& options) {
          const BNNSLayerParametersPadding p = {.i_desc = in,
                                                .o_desc = out,
                                                .padding_size = {{1, 2}, {1, 1}},
                                                .padding_mode = mode,
                                                .padding_value = 0};
          return BNNSFilterCreateLayerPadding(&p, &options);
        });
  };
  permute("permute", 7, 6, BNNSDataTypeFloat32);
  permute("permute, several threads", 101, 67, BNNSDataTypeFloat32);
  permute("permute of bytes", 7, 6, BNNSDataTypeInt8);
  padding("padding, constant", BNNSPaddingModeConstant, BNNSDataTypeFloat32);
  padding("padding, reflect", BNNSPaddingModeReflect, BNNSDataTypeFloat32);
  padding("padding, symmetric, halves", BNNSPaddingModeSymmetric, BNNSDataTypeFloat16);
}

}  // namespace test

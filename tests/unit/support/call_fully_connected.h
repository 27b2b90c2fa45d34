// Valid calls on fully connected filters, for tests that damage them: three inputs, two outputs, a
// batch of two with padded strides; creation, apply, and backward with all gradients.
#pragma once

#include "support/call_table.h"

namespace bnns::test {

struct FullyConnectedCall : CallBase {
  static constexpr size_t kIn = 3, kOut = 2, kBatch = 2, kInStride = 5, kOutStride = 4;

  BNNSLayerParametersFullyConnected params = {};
  BNNSFilterParameters options = {};
  const BNNSLayerParametersFullyConnected* params_pointer = &params;
  const BNNSFilterParameters* options_pointer = &options;
  Guarded<float> weights{1, 2, 3, 4, 5, 6}, bias{0.5f, -1};
  Guarded<float> in{1, 1, 1, 77, 77, 1, 0, -1, 77, 77, 77, 77}, out{Space{kBatch * kOutStride + 4}};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kInStride, out_stride = kOutStride;

  FullyConnectedCall() {
    params.i_desc = vector_of(kIn);
    params.o_desc = vector_of(kOut);
    params.w_desc = matrix_of(kIn, kOut, weights.data());
    params.bias = vector_of(kOut, bias.data());
  }
  FullyConnectedCall(const FullyConnectedCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(weights);
    f(bias);
    f(in);
    f(out);
  }
  bool constants_untouched() const {
    return in.untouched() && weights.untouched() && bias.untouched();
  }
  bool correct_output() const {
    return constants_untouched() && out[0] == 6.5f && out[1] == 14 && out[4] == -1.5f &&
           out[5] == -3 && out.untouched_except([](size_t i) { return i < 8 && i % 4 < kOut; });
  }
  Filter make() const {
    return Filter(BNNSFilterCreateLayerFullyConnected(params_pointer, options_pointer));
  }
};

struct FullyConnectedCreate : FullyConnectedCall {
  const char* function = "BNNSFilterCreateLayerFullyConnected";
  bool run() {
    const Filter filter = make();
    return filter && BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                          out_stride) == 0;
  }
  bool correct() const { return correct_output(); }
};

struct FullyConnectedApply : FullyConnectedCall {
  const char* function = "BNNSFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride) == 0;
  }
  bool correct() const { return correct_output(); }
};

// Trained with a fused Linear activation of slope 1, which needs `out` and leaves all numbers
// exact.
struct FullyConnectedBackward : FullyConnectedCall {
  const char* function = "BNNSFilterApplyBackwardBatch";
  Guarded<float> dx{Space{kBatch * kInStride + 4}}, dy{1, 2, 88, 88, 3, -1, 88, 88, 88, 88},
      dw{Space{6}}, db{Space{2}};
  BNNSNDArrayDescriptor in_delta = vector_of(kIn, dx.data());
  BNNSNDArrayDescriptor out_delta = vector_of(kOut, dy.data());
  BNNSNDArrayDescriptor weights_delta = matrix_of(kIn, kOut, dw.data());
  BNNSNDArrayDescriptor bias_delta = vector_of(kOut, db.data());
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  const BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor* weights_delta_pointer = &weights_delta;
  BNNSNDArrayDescriptor* bias_delta_pointer = &bias_delta;
  size_t in_delta_stride = kInStride, out_delta_stride = kOutStride;

  FullyConnectedBackward() {
    params.activation = activation(BNNSActivationFunctionLinear, 1);
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(i) * 0.125f;
    out.remember();
  }
  template <class F>
  void for_outputs(const F& f) {
    FullyConnectedCall::for_outputs(f);
    f(dx);
    f(dy);
    f(dw);
    f(db);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBackwardBatch(filter.get(), batch, in_pointer, in_stride,
                                        in_delta_pointer, in_delta_stride, out_pointer, out_stride,
                                        out_delta_pointer, out_delta_stride, weights_delta_pointer,
                                        bias_delta_pointer) == 0;
  }
  bool correct() const {
    constexpr float kDx[kBatch][kIn] = {{9, 12, 15}, {-1, 1, 3}};
    constexpr float kDw[6] = {4, 1, -2, 1, 2, 3};
    bool right =
        constants_untouched() && out.untouched() && dy.untouched() && db[0] == 4 && db[1] == 1;
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t i = 0; i < kIn; ++i) right &= dx[b * kInStride + i] == kDx[b][i];
    }
    for (size_t i = 0; i < 6; ++i) right &= dw[i] == kDw[i];
    const auto all = [](size_t) { return true; };
    return right && dw.untouched_except(all) && db.untouched_except(all) &&
           dx.untouched_except([](size_t i) { return i < 10 && i % 5 < kIn; });
  }
};

}  // namespace bnns::test

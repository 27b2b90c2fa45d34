// Valid calls of fused filters with published values, for tables of bad inputs:
//   fully connected -> batch normalization -> ReLU, one input and four slots
//   multiply -> batch normalization -> ReLU, two inputs and two slots
#pragma once

#include <cmath>

#include "support/call_table.h"

namespace bnns::test {

inline bool near(float got, double expected) {
  return std::abs(double{got} - expected) < 2e-6;
}

// Three samples of two values, with room between them.
struct FusedTensors {
  static constexpr size_t kBatch = 3, kStep = 3;
  static bool is_value(size_t i) { return i % kStep < 2 && i < kBatch * kStep; }
  static bool equal(const Guarded<float>& got, const double (&expected)[6]) {
    bool right = got.untouched_except(is_value);
    for (size_t i = 0; i < 6; ++i) right &= near(got[i / 2 * kStep + i % 2], expected[i]);
    return right;
  }
};

struct FusedCall : CallBase, FusedTensors {
  Guarded<float> in{1, 2, 77, 3, -1, 77, 0, 1, 77}, out{Space{kBatch * kStep}};
  Guarded<float> w{0.5f, -0.25f, 1, 0.75f}, b{0.1f, -0.2f}, beta{0.25f, -0.1f}, gamma{1.5f, 0.5f};
  Guarded<float> mean{0, 0}, variance{1, 1};
  BNNSLayerParametersFullyConnected first = {};
  BNNSLayerParametersConvolution convolution = {};  // 1 x 1, with the same numbers
  BNNSLayerParametersNormalization second = {};
  BNNSLayerParametersQuantization quantization = {};
  BNNSLayerParametersArithmetic arithmetic = {};
  BNNSArithmeticUnary unary = {};
  BNNSFilterParameters options = client_pointers();
  size_t count = 2;
  BNNSFilterType types[2] = {BNNSFullyConnected, BNNSBatchNorm};
  const void* params[2] = {&first, &second};
  const BNNSFilterType* types_pointer = types;
  const void** params_pointer = params;
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kStep, out_stride = kStep;
  bool training = true;
  Filter filter;

  FusedCall() {
    first.i_desc = first.o_desc = second.i_desc = second.o_desc = vector_of(2);
    first.w_desc = matrix_of(2, 2, w.data());
    first.bias = vector_of(2, b.data());
    second.beta_desc = vector_of(2, beta.data());
    second.gamma_desc = vector_of(2, gamma.data());
    second.moving_mean_desc = vector_of(2, mean.data());
    second.moving_variance_desc = vector_of(2, variance.data());
    second.momentum = 0.5f;
    second.epsilon = 1e-5f;
    second.activation = activation(BNNSActivationFunctionRectifiedLinear);
    convolution.i_desc = convolution.o_desc = array(BNNSDataLayoutImageCHW, {1, 1, 2});
    convolution.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {1, 1, 2, 2}, w.data());
    convolution.bias = first.bias;
    quantization.i_desc = vector_of(2);
    quantization.o_desc = vector_of(2, nullptr, BNNSDataTypeInt8);
    unary.in = unary.out = vector_of(2);
    unary.in_type = unary.out_type = BNNSSample;
    arithmetic.arithmetic_function = BNNSArithmeticExp;
    arithmetic.arithmetic_function_fields = &unary;
  }
  FusedCall(const FusedCall&) = delete;

  // Other first or second layers.
  void use_convolution(bool transposed = false) {
    types[0] = transposed ? BNNSTransposedConvolution : BNNSConvolution;
    params[0] = &convolution;
    second.i_desc = second.o_desc = convolution.o_desc;
  }
  void use_arithmetic() {
    types[0] = BNNSArithmetic;
    params[0] = &arithmetic;
  }
  void use_quantization() {
    types[1] = BNNSQuantization;
    params[1] = &quantization;
  }

  bool create() {
    filter = Filter(BNNSFilterCreateFusedLayer(count, types_pointer, params_pointer, &options));
    return static_cast<bool>(filter);
  }
  int forward() {
    return BNNSFusedFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                     out_stride, training);
  }
  bool forward_correct() const {
    return near(mean[0], 0.3) && near(mean[1], 1.633333 / 2) && near(variance[0], 1.791667 / 2) &&
           near(variance[1], 1.597222 / 2) && in.untouched() && w.untouched() && b.untouched() &&
           equal(out, {0, 0.331327, 2.357305, 0.169580, 0, 0});
  }
  template <class F>
  void for_outputs(const F& f) {
    f(in), f(out), f(w), f(b), f(beta), f(gamma), f(mean), f(variance);
  }
};

struct FusedCreate : FusedCall {
  static constexpr const char* function = "BNNSFilterCreateFusedLayer";
  bool run() { return create(); }
  bool correct() { return forward() == 0 && forward_correct(); }
};

struct FusedForward : FusedCall {
  static constexpr const char* function = "BNNSFusedFilterApplyBatch";
  FusedForward() { create(); }
  bool run() { return forward() == 0; }
  bool correct() const { return forward_correct(); }
};

struct FusedBackward : FusedCall {
  static constexpr const char* function = "BNNSFusedFilterApplyBackwardBatch";

  Guarded<float> dy{0.1f, -0.2f, 77, 0.3f, 0.4f, 77, -0.5f, 0.6f, 77}, dx{Space{kBatch * kStep}};
  Guarded<float> dw{Space{4}}, db{Space{2}}, dbeta{Space{2}}, dgamma{Space{2}};
  BNNSNDArrayDescriptor in_delta = vector_of(2, dx.data()), out_delta = vector_of(2, dy.data());
  BNNSNDArrayDescriptor deltas[4] = {matrix_of(2, 2, dw.data()), vector_of(2, db.data()),
                                     vector_of(2, dbeta.data()), vector_of(2, dgamma.data())};
  BNNSNDArrayDescriptor* slots[4] = {&deltas[0], &deltas[1], &deltas[2], &deltas[3]};
  BNNSNDArrayDescriptor *in_delta_pointer = &in_delta, *out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor** slots_pointer = slots;
  const void* y_pointer = out.data();
  size_t dx_stride = kStep, dy_stride = kStep;

  FusedBackward() { remake(); }
  // Anew, after the parameters were changed.
  void remake() {
    create();
    forward();
    for_outputs([](auto& memory) { memory.remember(); });
  }
  bool run() {
    return BNNSFusedFilterApplyBackwardBatch(filter.get(), batch, in_pointer, in_stride,
                                             in_delta_pointer, dx_stride, y_pointer, out_stride,
                                             out_delta_pointer, dy_stride, slots_pointer) == 0;
  }
  bool correct() const {
    const double right_dw[] = {-0.022171, -0.044374, 0.451390, -0.601852};
    bool right = near(dbeta[0], 0.3) && near(dbeta[1], 0.2) && near(dgamma[0], 0.421461) &&
                 near(dgamma[1], 0.043133) && near(db[0], 0) && near(db[1], 0) && dy.untouched() &&
                 out.untouched() && in.untouched() && mean.untouched();
    for (size_t i = 0; i < 4; ++i) right &= near(dw[i], right_dw[i]);
    return right && equal(dx, {-0.198302, -0.126543, 0.212869, 0.156876, -0.014567, -0.030333});
  }
  template <class F>
  void for_outputs(const F& f) {
    FusedCall::for_outputs(f);
    f(dy), f(dx), f(dw), f(db), f(dbeta), f(dgamma);
  }
};

struct FusedMultiCall : CallBase, FusedTensors {
  Guarded<float> a{1, -2, 77, 0.5f, 4, 77, -1, 1, 77}, c{2, 1, 77, -1, 0.5f, 77, 0.25f, 3, 77};
  Guarded<float> out{Space{kBatch * kStep}}, beta{0.1f, 0.2f}, gamma{2, 0.5f};
  BNNSArithmeticBinary fields = {};
  BNNSLayerParametersArithmetic first = {};
  BNNSLayerParametersNormalization second = {};
  BNNSFilterParameters options = client_pointers();
  const void* in[3] = {a.data(), c.data(), nullptr};
  size_t in_stride[3] = {kStep, kStep, 0};
  const void** in_pointer = in;
  const size_t* in_stride_pointer = in_stride;
  void* out_pointer = out.data();
  size_t batch = kBatch, inputs = 2, out_stride = kStep;
  Filter filter;

  FusedMultiCall() {
    fields.in1 = fields.in2 = fields.out = second.i_desc = second.o_desc = vector_of(2);
    fields.in1_type = fields.in2_type = fields.out_type = BNNSSample;
    first.arithmetic_function = BNNSArithmeticMultiply;
    first.arithmetic_function_fields = &fields;
    second.beta_desc = vector_of(2, beta.data());
    second.gamma_desc = vector_of(2, gamma.data());
    second.epsilon = 1e-3f;
    second.activation = activation(BNNSActivationFunctionRectifiedLinear);
  }
  FusedMultiCall(const FusedMultiCall&) = delete;

  bool create() {
    const BNNSFilterType types[] = {BNNSArithmetic, BNNSBatchNorm};
    const void* params[] = {&first, &second};
    filter = Filter(BNNSFilterCreateFusedLayer(2, types, params, &options));
    return static_cast<bool>(filter);
  }
  int forward() {
    return BNNSFusedFilterApplyMultiInputBatch(filter.get(), batch, inputs, in_pointer,
                                               in_stride_pointer, out_pointer, out_stride, true);
  }
  template <class F>
  void for_outputs(const F& f) {
    f(a), f(c), f(out), f(beta), f(gamma);
  }
};

struct FusedMultiForward : FusedMultiCall {
  static constexpr const char* function = "BNNSFusedFilterApplyMultiInputBatch";
  FusedMultiForward() { create(); }
  bool run() { return forward() == 0; }
  bool correct() const {
    return a.untouched() && c.untouched() && equal(out, {2.915634, 0, 0, 0.431430, 0, 0.662860});
  }
};

struct FusedMultiBackward : FusedMultiCall {
  static constexpr const char* function = "BNNSFusedFilterApplyBackwardMultiInputBatch";

  Guarded<float> dy{1, 0.5f, 77, -0.5f, 0.25f, 77, 0.75f, -1, 77};
  Guarded<float> da{Space{kBatch * kStep}}, dc{Space{kBatch * kStep}};
  Guarded<float> dbeta{Space{2}}, dgamma{Space{2}};
  BNNSNDArrayDescriptor out_delta = vector_of(2, dy.data());
  BNNSNDArrayDescriptor in_deltas[2] = {vector_of(2, da.data()), vector_of(2, dc.data())};
  BNNSNDArrayDescriptor deltas[2] = {vector_of(2, dbeta.data()), vector_of(2, dgamma.data())};
  BNNSNDArrayDescriptor *in_delta[2] = {&in_deltas[0], &in_deltas[1]},
                        *slots[2] = {&deltas[0], &deltas[1]};
  BNNSNDArrayDescriptor **in_delta_pointer = in_delta, **slots_pointer = slots;
  BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  size_t in_delta_stride[2] = {kStep, kStep};
  const size_t* in_delta_stride_pointer = in_delta_stride;
  const void* y_pointer = out.data();

  FusedMultiBackward() { remake(); }
  void remake() {
    create();
    forward();
    for_outputs([](auto& memory) { memory.remember(); });
  }
  bool run() {
    return BNNSFusedFilterApplyBackwardMultiInputBatch(
               filter.get(), batch, inputs, in_pointer, in_stride_pointer, in_delta_pointer,
               in_delta_stride_pointer, y_pointer, out_stride, out_delta_pointer, kStep,
               slots_pointer) == 0;
  }
  bool correct() const {
    return near(dbeta[0], 1) && near(dbeta[1], -0.75) && near(dgamma[0], 1.407817) &&
           near(dgamma[1], -0.810006) && dy.untouched() && out.untouched() && a.untouched() &&
           equal(da, {0.021401, -0.028910, -0.087400, 0.072319, -0.024525, -0.347183}) &&
           equal(dc, {0.010700, 0.057820, 0.043700, 0.578551, 0.098100, -0.115728});
  }
  template <class F>
  void for_outputs(const F& f) {
    FusedMultiCall::for_outputs(f);
    f(dy), f(da), f(dc), f(dbeta), f(dgamma);
  }
};

}  // namespace bnns::test

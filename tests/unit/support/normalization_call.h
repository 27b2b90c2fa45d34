// Valid calls on normalization filters, for tests that damage them: batch normalization with a
// rectifier of three samples of two channels, padded batch strides, parameters and moving
// statistics of the client; forward in training, and backward after it.
#pragma once

#include <cmath>

#include "support/call_table.h"

namespace bnns::test {

struct NormalizationCall : CallBase {
  static constexpr size_t kBatch = 3, kIn = 3, kOut = 4, kDx = 5, kDy = 3;

  BNNSFilterType type = BNNSBatchNorm;
  BNNSLayerParametersNormalization params = {};
  BNNSFilterParameters options = client_pointers();
  const BNNSLayerParametersNormalization* params_pointer = &params;
  Guarded<float> in{0.1f, 2.3f, 77, 1.85f, 2.05f, 77, -0.15f, 0.55f, 77, 77};
  Guarded<float> out{Space{kBatch * kOut + 4}};
  Guarded<float> beta{0.25f, -0.1f}, gamma{1.5f, 0.5f};
  Guarded<float> mean{0, 0}, variance{1, 1};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kIn, out_stride = kOut;
  bool training = true;
  Filter filter;

  NormalizationCall() {
    params.i_desc = params.o_desc = vector_of(2);
    params.beta_desc = vector_of(2, beta.data());
    params.gamma_desc = vector_of(2, gamma.data());
    params.moving_mean_desc = vector_of(2, mean.data());
    params.moving_variance_desc = vector_of(2, variance.data());
    params.momentum = 0.5f;
    params.epsilon = 1e-5f;
    params.activation = activation(BNNSActivationFunctionRectifiedLinear);
  }
  NormalizationCall(const NormalizationCall&) = delete;

  bool create() {
    filter = Filter(BNNSFilterCreateLayerNormalization(type, params_pointer, &options));
    return static_cast<bool>(filter);
  }
  int forward() {
    return BNNSNormalizationFilterApplyBatch(filter.get(), batch, in_pointer, in_stride,
                                             out_pointer, out_stride, training);
  }
  static bool near(float got, double expected) { return std::abs(double{got} - expected) < 2e-6; }
  bool forward_correct() const {
    const double y[] = {0, 0.331327, 2.357305, 0.169580, 0, 0};
    bool right = near(mean[0], 0.3) && near(variance[1], (1 + 0.597222) / 2);
    for (size_t i = 0; i < 6; ++i) right &= near(out[i / 2 * kOut + i % 2], y[i]);
    return right && out.untouched_except([](size_t i) { return i % kOut < 2 && i < 10; });
  }
  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
    f(beta);
    f(gamma);
    f(mean);
    f(variance);
  }
};

struct NormalizationCreate : NormalizationCall {
  static constexpr const char* function = "BNNSFilterCreateLayerNormalization";
  bool run() { return create(); }
  bool correct() { return forward() == 0 && forward_correct(); }
};

struct NormalizationForward : NormalizationCall {
  static constexpr const char* function = "BNNSNormalizationFilterApplyBatch";
  NormalizationForward() { create(); }
  bool run() { return forward() == 0; }
  bool correct() const { return forward_correct(); }
};

struct NormalizationBackward : NormalizationCall {
  static constexpr const char* function = "BNNSNormalizationFilterApplyBackwardBatch";

  Guarded<float> dy{0.1f, -0.2f, 77, 0.3f, 0.4f, 77, -0.5f, 0.6f, 77, 77};
  Guarded<float> dx{Space{kBatch * kDx + 4}}, dbeta{Space{4}}, dgamma{Space{4}};
  BNNSNDArrayDescriptor in_delta = vector_of(2, dx.data()), out_delta = vector_of(2, dy.data());
  BNNSNDArrayDescriptor beta_delta = vector_of(2, dbeta.data());
  BNNSNDArrayDescriptor gamma_delta = vector_of(2, dgamma.data());
  BNNSNDArrayDescriptor *in_delta_pointer = &in_delta, *out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor *beta_delta_pointer = &beta_delta, *gamma_delta_pointer = &gamma_delta;
  size_t dx_stride = kDx, dy_stride = kDy;
  const void* y_pointer = out.data();

  NormalizationBackward() {
    create();
    forward();
    out.remember();
  }
  // Anew, after the parameters were changed.
  void remake() {
    create();
    forward();
  }
  bool run() {
    return BNNSNormalizationFilterApplyBackwardBatch(
               filter.get(), batch, in_delta_pointer, dx_stride, y_pointer, out_stride,
               out_delta_pointer, dy_stride, beta_delta_pointer, gamma_delta_pointer) == 0;
  }
  bool correct() const {
    const double expected[] = {-0.035493, -0.180556, 0.004441, 0.210648, 0.031052, -0.030093};
    bool right = near(dbeta[0], 0.3) && near(dbeta[1], 0.2) && near(dgamma[0], 0.421461) &&
                 near(dgamma[1], 0.043133) && dy.untouched() && out.untouched();
    for (size_t i = 0; i < 6; ++i) right &= near(dx[i / 2 * kDx + i % 2], expected[i]);
    return right && dx.untouched_except([](size_t i) { return i % kDx < 2 && i < 12; });
  }
  template <class F>
  void for_outputs(const F& f) {
    NormalizationCall::for_outputs(f);
    f(dy);
    f(dx);
    f(dbeta);
    f(dgamma);
  }
};

}  // namespace bnns::test

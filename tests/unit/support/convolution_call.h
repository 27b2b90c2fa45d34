// Valid calls on convolution filters, for tests that damage them: two samples of two channels, 4x3,
// kernel 2x2, to three channels, 3x2, with bias, padded batch strides, Float32; forward and
// backward. Every weight of output channel o is o + 1, so that results are sums of windows.
#pragma once

#include <numeric>

#include "support/call_table.h"

namespace bnns::test {

inline BNNSNDArrayDescriptor image_of(size_t width, size_t height, size_t channels,
                                      void* data = nullptr) {
  return array(BNNSDataLayoutImageCHW, {width, height, channels}, data);
}

struct ConvolutionCall : CallBase {
  static constexpr size_t kBatch = 2, kIn = 24, kOut = 18, kWeights = 24;
  static constexpr size_t kInStep = 26, kOutStep = 21;

  BNNSLayerParametersConvolution params = {};
  BNNSLayerParametersConvolution* params_pointer = &params;
  BNNSFilterParameters options = {};
  Guarded<float> in{Space{kBatch * kInStep}}, weights{Space{kWeights}}, bias{10, 20, 30};
  Guarded<float> out{Space{kBatch * kOutStep}}, out_values{Space{kBatch * kOutStep}};
  Guarded<float> dy{Space{kBatch * kOutStep}}, dx{Space{kBatch * kInStep}}, dw{Space{kWeights}},
      db{Space{3}};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  const void* y_pointer = out_values.data();
  BNNSNDArrayDescriptor in_delta = image_of(4, 3, 2, dx.data());
  BNNSNDArrayDescriptor out_delta = image_of(3, 2, 3, dy.data());
  BNNSNDArrayDescriptor weights_delta =
      array(BNNSDataLayoutConvolutionWeightsOIHW, {2, 2, 2, 3}, dw.data());
  BNNSNDArrayDescriptor bias_delta = vector_of(3, db.data());
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  const BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor* weights_delta_pointer = &weights_delta;
  BNNSNDArrayDescriptor* bias_delta_pointer = &bias_delta;
  size_t batch = kBatch, in_stride = kInStep, out_stride = kOutStep;
  size_t in_delta_stride = kInStep, out_delta_stride = kOutStep;

  ConvolutionCall() {
    params.i_desc = image_of(4, 3, 2);
    params.o_desc = image_of(3, 2, 3);
    params.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {2, 2, 2, 3}, weights.data());
    params.bias = vector_of(3, bias.data());
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 5);
    for (size_t i = 0; i < kWeights; ++i) weights[i] = static_cast<float>(i / 8 + 1);
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = out_values[i] = 1;
    for (Guarded<float>* memory : {&in, &weights, &dy, &out_values}) memory->remember();
  }
  ConvolutionCall(const ConvolutionCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    for (Guarded<float>* memory : {&in, &weights, &bias, &out, &out_values, &dy, &dx, &dw, &db})
      f(*memory);
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerConvolution(params_pointer, &options)); }
  int forward(const Filter& filter) {
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride);
  }
  int backward(const Filter& filter) {
    return BNNSFilterApplyBackwardBatch(
        filter.get(), batch, in_pointer, in_stride, in_delta_pointer, in_delta_stride, y_pointer,
        out_stride, out_delta_pointer, out_delta_stride, weights_delta_pointer, bias_delta_pointer);
  }
  // The sum of a 2x2 window of both channels.
  float window(size_t b, size_t x, size_t y) const {
    float sum = 0;
    for (size_t i = 0; i < 8; ++i)
      sum += in[b * kInStep + i / 4 * 12 + (y + i / 2 % 2) * 4 + x + i % 2];
    return sum;
  }
  bool correct_output() const {
    bool right = in.untouched() && weights.untouched() && bias.untouched();
    for (size_t i = 0; i < kBatch * kOut; ++i) {
      const size_t b = i / kOut, o = i % kOut / 6;
      const float sum = window(b, i % 3, i % 6 / 3) * static_cast<float>(o + 1);
      right &= out[b * kOutStep + i % kOut] == sum + bias[o];
    }
    return right && out.untouched_except([](size_t i) { return i % kOutStep < kOut; });
  }
};

struct ConvolutionCreate : ConvolutionCall {
  const char* function = "BNNSFilterCreateLayerConvolution";
  bool run() {
    const Filter filter = make();
    return filter && forward(filter) == 0;
  }
  bool correct() const { return correct_output(); }
};

struct ConvolutionForward : ConvolutionCall {
  const char* function = "BNNSFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return forward(filter) == 0;
  }
  bool correct() const { return correct_output(); }
};

struct ConvolutionBackward : ConvolutionCall {
  const char* function = "BNNSFilterApplyBackwardBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return backward(filter) == 0;
  }
  // With dy = 1: dw(o, c, tap) is a sum of x, db counts the outputs, dx counts windows times 6.
  bool correct() const {
    bool right = true;
    for (size_t o = 0; o < 3; ++o) {
      right &= db[o] == 12;
      for (size_t i = 0; i < 8; ++i) {
        float sum = 0;
        for (size_t p = 0; p < 6 * kBatch; ++p) {
          sum += in[p / 6 * kInStep + i / 4 * 12 + (p % 6 / 3 + i / 2 % 2) * 4 + p % 3 + i % 2];
        }
        right &= dw[o * 8 + i] == sum;
      }
    }
    constexpr float kWindows[12] = {1, 2, 2, 1, 2, 4, 4, 2, 1, 2, 2, 1};
    for (size_t i = 0; i < kBatch * kIn; ++i)
      right &= dx[i / kIn * kInStep + i % kIn] == 6 * kWindows[i % 12];
    return right && dx.untouched_except([](size_t i) { return i % kInStep < kIn; });
  }
};

}  // namespace bnns::test

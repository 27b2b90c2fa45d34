// Valid calls on activation filters, for tests that damage them: a leaky rectifier over a batch of
// two images with padded batch strides; creation, apply, backward with all gradients, direct apply.
#pragma once

#include "support/call_table.h"

namespace bnns::test {

struct ActivationCall : CallBase {
  static constexpr size_t kCount = 12, kBatch = 2, kStride = 15;
  static constexpr float kSlope = 0.5f;

  BNNSLayerParametersActivation params = {};
  BNNSFilterParameters options = {};
  const BNNSLayerParametersActivation* params_pointer = &params;
  const BNNSFilterParameters* options_pointer = &options;
  Guarded<float> in{Space{kBatch * kStride + 4}}, out{Space{kBatch * kStride + 4}};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kStride, out_stride = kStride;

  ActivationCall() {
    params.i_desc = array(BNNSDataLayoutImageCHW, {3, 2, 2});
    params.o_desc = params.i_desc;
    params.activation = activation(BNNSActivationFunctionLeakyRectifiedLinear, kSlope);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7) - 3;
    in.remember();
  }
  ActivationCall(const ActivationCall&) = delete;

  // Index of element k of sample b in an array of the call's batch stride.
  static size_t at(size_t b, size_t k) { return b * kStride + k; }
  static bool is_element(size_t i) { return i < kBatch * kStride && i % kStride < kCount; }

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
  }
  bool correct_output() const {
    bool right = in.untouched() && out.untouched_except(is_element);
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t k = 0; k < kCount; ++k) {
        const float x = in[at(b, k)];
        right &= out[at(b, k)] == (x < 0 ? kSlope * x : x);
      }
    }
    return right;
  }
  Filter make() const {
    return Filter(BNNSFilterCreateLayerActivation(params_pointer, options_pointer));
  }
};

struct ActivationCreate : ActivationCall {
  const char* function = "BNNSFilterCreateLayerActivation";
  bool run() {
    const Filter filter = make();
    return filter && BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                          out_stride) == 0;
  }
  bool correct() const { return correct_output(); }
};

struct ActivationApply : ActivationCall {
  const char* function = "BNNSFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride) == 0;
  }
  bool correct() const { return correct_output(); }
};

struct ActivationDirect : ActivationCall {
  const char* function = "BNNSDirectApplyActivationBatch";
  ActivationDirect() {
    params.i_desc.data = in.data();
    params.o_desc.data = out.data();
  }
  bool run() {
    return BNNSDirectApplyActivationBatch(params_pointer, options_pointer, batch, in_stride,
                                          out_stride) == 0;
  }
  bool correct() const { return correct_output(); }
};

struct ActivationBackward : ActivationCall {
  const char* function = "BNNSFilterApplyBackwardBatch";
  Guarded<float> dx{Space{kBatch * kStride + 4}}, dy{Space{kBatch * kStride + 4}}, slope{Space{2}};
  BNNSNDArrayDescriptor in_delta = array(BNNSDataLayoutImageCHW, {3, 2, 2}, dx.data());
  BNNSNDArrayDescriptor out_delta = array(BNNSDataLayoutImageCHW, {3, 2, 2}, dy.data());
  BNNSNDArrayDescriptor slope_delta = vector_of(1, slope.data());
  BNNSNDArrayDescriptor bias_delta = vector_of(1);
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  const BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor* slope_delta_pointer = &slope_delta;
  BNNSNDArrayDescriptor* bias_delta_pointer = nullptr;
  size_t in_delta_stride = kStride, out_delta_stride = kStride;

  ActivationBackward() {
    for (size_t i = 0; i < dy.size(); ++i) {
      dy[i] = static_cast<float>(i % 5) - 2;
      out[i] = in[i] < 0 ? kSlope * in[i] : in[i];
    }
    dy.remember();
    out.remember();
  }
  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
    f(dx);
    f(dy);
    f(slope);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBackwardBatch(filter.get(), batch, in_pointer, in_stride,
                                        in_delta_pointer, in_delta_stride, out_pointer, out_stride,
                                        out_delta_pointer, out_delta_stride, slope_delta_pointer,
                                        bias_delta_pointer) == 0;
  }
  bool correct_in_delta() const {
    bool right =
        in.untouched() && out.untouched() && dy.untouched() && dx.untouched_except(is_element);
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t k = 0; k < kCount; ++k) {
        const size_t i = at(b, k);
        right &= dx[i] == (in[i] < 0 ? kSlope * dy[i] : dy[i]);
      }
    }
    return right;
  }
  bool correct() const {
    float sum = 0;
    for (size_t i = 0; i < in.size(); ++i) {
      if (is_element(i) && in[i] < 0) sum += in[i] * dy[i];
    }
    return correct_in_delta() && slope[0] == sum &&
           slope.untouched_except([](size_t i) { return i == 0; });
  }
};

}  // namespace bnns::test

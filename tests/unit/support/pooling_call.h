// Valid calls on pooling filters, for tests that damage them: two samples of two channels of 4 x 4
// with padded batch strides, windows of 2 x 2 at a stride of 2, a bias per channel.
#pragma once

#include "support/call_table.h"

namespace bnns::test {

inline BNNSNDArrayDescriptor image_of(size_t width, size_t height, size_t channels,
                                      void* data = nullptr,
                                      BNNSDataType type = BNNSDataTypeFloat32) {
  return array(BNNSDataLayoutImageCHW, {width, height, channels}, data, type);
}

struct PoolingCall : CallBase {
  static constexpr size_t kBatch = 2, kChannels = 2, kPlane = 16, kWindows = 4;
  static constexpr size_t kIn = 35, kOut = 10, kIndex = 9;

  BNNSLayerParametersPooling params = {};
  BNNSFilterParameters options = {};
  const BNNSLayerParametersPooling* params_pointer = &params;
  Guarded<float> bias{100, 200};
  Guarded<float> in{Space{kBatch * kIn}}, out{Space{kBatch * kOut}};
  Guarded<size_t> indices{Space{kBatch * kIndex}};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  void* indices_pointer = indices.data();
  BNNSDataType indices_type = BNNSDataTypeUInt64;
  size_t batch = kBatch, in_stride = kIn, out_stride = kOut, idx_stride = kIndex;

  PoolingCall() {
    params.i_desc = image_of(4, 4, kChannels);
    params.o_desc = image_of(2, 2, kChannels);
    params.bias = vector_of(kChannels, bias.data());
    params.pooling_function = BNNSPoolingFunctionMax;
    params.k_width = params.k_height = params.x_stride = params.y_stride = 2;
    for (size_t i = 0; i < in.size(); ++i) in[i] = value(i);
    in.remember();
  }
  PoolingCall(const PoolingCall&) = delete;

  // Ascending in the first sample, descending in the second.
  static float value(size_t i) {
    const float v = static_cast<float>(i % kIn);
    return i < kIn ? v : -v;
  }
  // The last cell of a window in the first sample, the first in the second.
  static size_t winner(size_t b, size_t window) {
    const size_t first = window / 2 * 8 + window % 2 * 2;
    return b == 0 ? first + 5 : first;
  }

  template <class F>
  void for_outputs(const F& f) {
    f(bias);
    f(in);
    f(out);
    f(indices);
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerPooling(params_pointer, &options)); }
  int forward(const Filter& filter) {
    return BNNSPoolingFilterApplyBatchEx(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                         out_stride, indices_type, indices_pointer, idx_stride);
  }
  bool correct() const {
    bool right = in.untouched() && bias.untouched();
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t k = 0; k < kChannels * kWindows; ++k) {
        const size_t c = k / kWindows, cell = winner(b, k % kWindows);
        right &= indices[b * kIndex + k] == cell;
        right &= out[b * kOut + k] == bias[c] + value(b * kIn + c * kPlane + cell);
      }
    }
    return right &&
           out.untouched_except([](size_t i) { return i % kOut < kChannels * kWindows; }) &&
           indices.untouched_except([](size_t i) { return i % kIndex < kChannels * kWindows; });
  }
};

struct PoolingCreate : PoolingCall {
  const char* function = "BNNSFilterCreateLayerPooling";
  bool run() {
    const Filter filter = make();
    return filter && forward(filter) == 0;
  }
};

struct PoolingForward : PoolingCall {
  const char* function = "BNNSPoolingFilterApplyBatchEx";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return forward(filter) == 0;
  }
};

// From given indices; out_delta counts the windows.
struct PoolingBackward : PoolingCall {
  static constexpr size_t kInDelta = 33, kOutDelta = 8;
  const char* function = "BNNSPoolingFilterApplyBackwardBatchEx";
  Guarded<float> dx{Space{kBatch * kInDelta}}, dy{Space{kBatch * kOutDelta}}, db{Space{kChannels}};
  BNNSNDArrayDescriptor in_delta = image_of(4, 4, kChannels, dx.data());
  BNNSNDArrayDescriptor out_delta = image_of(2, 2, kChannels, dy.data());
  BNNSNDArrayDescriptor bias_delta = vector_of(kChannels, db.data());
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor* bias_delta_pointer = &bias_delta;
  size_t in_delta_stride = kInDelta, out_delta_stride = kOutDelta;

  PoolingBackward() {
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i + 1);
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t k = 0; k < kChannels * kWindows; ++k)
        indices[b * kIndex + k] = winner(b, k % kWindows);
    }
    in_pointer = nullptr;
  }
  template <class F>
  void for_outputs(const F& f) {
    PoolingCall::for_outputs(f);
    f(dx);
    f(dy);
    f(db);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSPoolingFilterApplyBackwardBatchEx(
               filter.get(), batch, in_pointer, in_stride, in_delta_pointer, in_delta_stride,
               nullptr, out_stride, out_delta_pointer, out_delta_stride, bias_delta_pointer,
               indices_type, indices_pointer, idx_stride) == 0;
  }
  bool correct() const {
    bool right = true;
    float sums[kChannels] = {};
    for (size_t b = 0; b < kBatch; ++b) {
      float expected[kChannels * kPlane] = {};
      for (size_t k = 0; k < kChannels * kWindows; ++k) {
        const float g = dy[b * kOutDelta + k];
        expected[k / kWindows * kPlane + winner(b, k % kWindows)] = g;
        sums[k / kWindows] += g;
      }
      for (size_t i = 0; i < kChannels * kPlane; ++i) right &= dx[b * kInDelta + i] == expected[i];
    }
    for (size_t c = 0; c < kChannels; ++c) right &= db[c] == sums[c];
    return right && dx.untouched_except([](size_t i) { return i % kInDelta < kChannels * kPlane; });
  }
};

}  // namespace bnns::test

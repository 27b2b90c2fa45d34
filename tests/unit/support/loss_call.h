// Valid calls on loss filters, for tests that compare or damage them: two samples of three elements
// with padded batch strides, mean square error, one weight for all, sum; forward with gradient, and
// backward.
#pragma once

#include "support/call_table.h"

namespace bnns::test {

// Of all loss structures the longest; their common fields, and label_smooth and huber_delta, lie at
// the same offsets.
using LossParameters = BNNSLayerParametersLossYolo;

struct LossCall : CallBase {
  static constexpr size_t kCount = 3, kBatch = 2, kIn = 5, kLabels = 4, kDelta = 6;

  LossParameters params = {};
  BNNSFilterParameters options = {};
  const void* params_pointer = &params;
  Guarded<float> in{1, 2, 3, 77, 77, -1, 0, 2, 77, 77, 77, 77};
  Guarded<float> labels{0, 2, 6, 77, 1, 0, 0, 77, 77, 77, 77, 77};
  Guarded<float> weights{0.5f, 77, 77, 77, 77, 77};
  Guarded<float> out{Space{8}}, dx{Space{kBatch * kDelta + 4}};
  float anchors[4] = {1, 2, 3, 4};
  const void* in_pointer = in.data();
  const void* labels_pointer = labels.data();
  const void* weights_pointer = weights.data();
  void* out_pointer = out.data();
  BNNSNDArrayDescriptor in_delta = vector_of(kCount, dx.data());
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  size_t batch = kBatch, in_stride = kIn, labels_stride = kLabels, delta_stride = kDelta;
  size_t weights_size = 1;

  LossCall() {
    params.function = BNNSLossFunctionMeanSquareError;
    params.reduction = BNNSLossReductionSum;
    params.i_desc = vector_of(kCount);
    params.o_desc = vector_of(1);
  }
  LossCall(const LossCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(labels);
    f(weights);
    f(out);
    f(dx);
  }
  // Turns the call into one of a grid of one cell, one anchor and no class.
  void make_yolo() {
    params.function = BNNSLossFunctionYolo;
    params.i_desc = vector_of(5);
    params.number_of_grid_columns = params.number_of_grid_rows = 1;
    params.number_of_anchor_boxes = 1;
    params.anchor_box_size = 5;
    params.anchors_data = anchors;
    in_delta = vector_of(5, dx.data());
    weights_size = 0;
    batch = 1;
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerLoss(params_pointer, &options)); }
  int forward(const Filter& filter) {
    return BNNSLossFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, labels_pointer,
                                    labels_stride, weights_pointer, weights_size, out_pointer,
                                    in_delta_pointer, delta_stride);
  }
  bool correct_gradient(float upstream) const {
    constexpr float kGradient[kBatch][kCount] = {{1, 0, -3}, {-2, 0, 2}};
    bool right = in.untouched() && labels.untouched() && weights.untouched();
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t i = 0; i < kCount; ++i) right &= dx[b * kDelta + i] == upstream * kGradient[b][i];
    }
    return right && dx.untouched_except([](size_t i) { return i < 12 && i % kDelta < kCount; });
  }
};

struct LossCreate : LossCall {
  const char* function = "BNNSFilterCreateLayerLoss";
  bool run() {
    const Filter filter = make();
    return filter && forward(filter) == 0;
  }
  bool correct() const { return out[0] == 9 && correct_gradient(1); }
};

struct LossForward : LossCall {
  const char* function = "BNNSLossFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return forward(filter) == 0;
  }
  bool correct() const {
    return out[0] == 9 && out.untouched_except([](size_t i) { return i == 0; }) &&
           correct_gradient(1);
  }
};

struct LossBackward : LossCall {
  const char* function = "BNNSLossFilterApplyBackwardBatch";
  Guarded<float> dy{-3, 77, 77, 77, 77, 77, 77, 77, 77, 77};
  BNNSNDArrayDescriptor out_delta = vector_of(1, dy.data());
  const BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  size_t out_delta_stride = 0;

  template <class F>
  void for_outputs(const F& f) {
    LossCall::for_outputs(f);
    f(dy);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSLossFilterApplyBackwardBatch(filter.get(), batch, in_pointer, in_stride,
                                            in_delta_pointer, delta_stride, labels_pointer,
                                            labels_stride, weights_pointer, weights_size,
                                            out_delta_pointer, out_delta_stride) == 0;
  }
  bool correct() const { return out.untouched() && dy.untouched() && correct_gradient(-3); }
};

}  // namespace bnns::test

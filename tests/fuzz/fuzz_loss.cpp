// Loss filters: every structure of parameters, forward with and without the gradient, backward for
// upstream deltas of any strides, weights of every length.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSLossFunction kFunctions[] = {BNNSLossFunctionSoftmaxCrossEntropy,
                                           BNNSLossFunctionSigmoidCrossEntropy,
                                           BNNSLossFunctionMeanSquareError,
                                           BNNSLossFunctionHuber,
                                           BNNSLossFunctionYolo,
                                           BNNSLossFunctionLog,
                                           BNNSLossFunctionCosineDistance,
                                           BNNSLossFunctionHinge,
                                           BNNSLossFunctionMeanAbsoluteError,
                                           BNNSLossFunctionCategoricalCrossEntropy};

constexpr BNNSLossReductionFunction kReductions[] = {
    BNNSLossReductionSum, BNNSLossReductionNone, BNNSLossReductionWeightedMean,
    BNNSLossReductionMean, BNNSLossReductionNonZeroWeightMean};

// Losses of one sample: one, or one per element.
size_t entries_of(BNNSLossFunction function, const BNNSNDArrayDescriptor& d) {
  switch (function) {
    case BNNSLossFunctionSoftmaxCrossEntropy:
    case BNNSLossFunctionCategoricalCrossEntropy:
    case BNNSLossFunctionCosineDistance:
    case BNNSLossFunctionYolo:
      return 1;
    default:
      return model_of(d).count;
  }
}

struct Case {
  explicit Case(Provider& p);
  void choose_function(Provider& p);
  void choose_yolo(Provider& p);
  void place_tensors(Provider& p);

  BNNSLayerParametersLossYolo layer = {};  // of all structures of losses the longest
  float anchors[8] = {1, 2, 3, 4, 0.5f, 0.25f, 7, 5};
  Memory memory;
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {};
  Batch in_batch, labels_batch, in_delta_batch, out_delta_batch;
  size_t weights_size = 0;
  size_t in = kNowhere, labels = kNowhere, weights = kNowhere, out = kNowhere, dx = kNowhere,
         dy = kNowhere;
};

void Case::choose_yolo(Provider& p) {
  layer.reduction = p.constant(kReductions, 10);
  if (!p.one_in(6)) layer.reduction = BNNSLossReductionSum;
  layer.number_of_grid_columns = p.one_in(30) ? p.odd_size() : p.between(1, 4);
  layer.number_of_grid_rows = p.one_in(30) ? p.odd_size() : p.between(1, 3);
  layer.number_of_anchor_boxes = p.one_in(30) ? p.odd_size() : p.between(1, 4);
  layer.anchor_box_size = p.one_in(30) ? p.odd_size() : p.between(5, 9);
  layer.rescore = p.one_in(2);
  for (float* scale : {&layer.scale_xy, &layer.scale_wh, &layer.scale_object,
                       &layer.scale_no_object, &layer.scale_classification})
    *scale = p.one_in(8) ? p.scalar() : 1.0f;
  layer.object_minimum_iou = p.one_in(8) ? p.scalar() : 0.6f;
  layer.no_object_maximum_iou = p.one_in(8) ? p.scalar() : 0.4f;
  layer.anchors_data = p.one_in(30) ? nullptr : anchors;
  if (!p.one_in(8)) {
    layer.i_desc = vector_of(layer.number_of_grid_columns * layer.number_of_grid_rows *
                             layer.number_of_anchor_boxes * layer.anchor_box_size);
  }
}

void Case::choose_function(Provider& p) {
  layer.function = p.constant(kFunctions, 30);
  layer.reduction = p.constant(kReductions, 30);
  // label_smooth of other structures lies in the same place.
  layer.huber_delta = p.one_in(3) ? p.scalar() : 0.5f;
  layer.i_desc = p.one_in(4) ? descriptor(p, 20) : vector_of(p.extent());
  if (p.one_in(5)) choose_strides(p, layer.i_desc);
  if (layer.function == BNNSLossFunctionYolo) choose_yolo(p);
}

Case::Case(Provider& p) {
  choose_function(p);
  const Model m = model_of(layer.i_desc);
  const Batch batch = batch_of(p);
  const bool reduced = layer.reduction != BNNSLossReductionNone;
  const size_t per_sample = entries_of(layer.function, layer.i_desc);
  layer.o_desc = vector_of(reduced ? 1 : per_sample);
  if (!reduced && per_sample > 1 && p.one_in(2)) layer.o_desc = like(p, layer.i_desc);
  if (p.one_in(20)) layer.o_desc = descriptor(p, 5);
  static constexpr size_t kWeights[] = {0, 1, 2, 3};
  switch (p.pick(kWeights)) {
    case 0:
      break;
    case 1:
      weights_size = 1;
      break;
    case 2:
      weights_size = batch.size;
      break;
    default:
      weights_size = batch.size * per_sample;
  }
  if (p.one_in(30)) weights_size = p.odd_size();
  in_batch = with_stride(p, batch, m);
  labels_batch = with_stride(p, batch, m);
  in_delta = delta_of(p, layer.i_desc);
  out_delta = delta_of(p, layer.o_desc);
  in_delta_batch = with_stride(p, batch, model_of(in_delta));
  out_delta_batch = reduced ? Batch{} : with_stride(p, batch, model_of(out_delta));
  place_tensors(p);
}

void Case::place_tensors(Provider& p) {
  const Model m = model_of(layer.i_desc);
  std::vector<size_t> earlier;
  const auto add = [&](const Model& model, const Batch& batch) {
    const size_t t = place(p, memory, model, batch, earlier);
    if (t != kNowhere) earlier.push_back(t);
    return t;
  };
  in = add(m, in_batch);
  labels = add(m, labels_batch);
  if (weights_size > 0 && weights_size < 8192) weights = add(model_of(vector_of(weights_size)), {});
  const bool reduced = layer.reduction != BNNSLossReductionNone;
  // Entries lie one after the other, whatever o_desc says of a sample.
  const size_t entries = reduced ? 1 : entries_of(layer.function, layer.i_desc);
  out = add(model_of(vector_of(entries)), {.size = reduced ? 1 : in_batch.size});
  dx = add(model_of(in_delta), in_delta_batch);
  dy = add(model_of(out_delta), out_delta_batch);
  memory.allocate(p.number<uint16_t>());
  in_delta.data = address(memory, dx);
  out_delta.data = address(memory, dy);
  show("i_desc", layer.i_desc);
  show("o_desc", layer.o_desc);
  show("in_delta", in_delta);
  show("out_delta", out_delta);
  show("function", size_t{layer.function});
  show("reduction", size_t{layer.reduction});
  show("batch", in_batch.size);
  show("weights", weights_size);
}

// The pointer of a tensor, now and then NULL.
uint8_t* given(Provider& p, const Case& c, size_t tensor) {
  return tensor == kNowhere || p.one_in(40) ? nullptr : c.memory.data(tensor);
}

// A gradient whose descriptor has lost its data is not wanted, and not written.
uint32_t gradient_of(const Case& c) {
  return c.in_delta.data == nullptr ? 0 : mask_of(c.dx);
}

Promise promise_of(const Case& c, uint32_t read, uint32_t written) {
  Promise promise;
  promise.used = read | written;
  promise.written = c.in_batch.size == 0 ? 0 : written;
  promise.overwritten = promise.written & mask_of(c.out);
  if (c.in_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask_of(c.dx);
  promise.overwritten &= promise.written;
  promise.apart = mask_of(c.labels) | mask_of(c.weights);
  return promise;
}

void forward(Provider& p, Case& c, const Pair& filters) {
  const void *in = given(p, c, c.in), *labels = given(p, c, c.labels);
  const void* weights = given(p, c, c.weights);
  void* out = given(p, c, c.out);
  const bool want = c.dx != kNowhere && !p.one_in(3);
  const uint32_t read = mask_of(c.in) | mask_of(c.labels) | mask_of(c.weights);
  run("BNNSLossFilterApplyBatch", p, c.memory,
      promise_of(c, read, mask_of(c.out) | (want ? gradient_of(c) : 0)), [&](size_t k) {
        return BNNSLossFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride, labels,
                                        c.labels_batch.stride, weights, c.weights_size, out,
                                        want ? &c.in_delta : nullptr, c.in_delta_batch.stride) == 0;
      });
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const void *in = given(p, c, c.in), *labels = given(p, c, c.labels);
  const void* weights = given(p, c, c.weights);
  BNNSNDArrayDescriptor* in_delta = p.one_in(40) ? nullptr : &c.in_delta;
  const BNNSNDArrayDescriptor* out_delta = p.one_in(40) ? nullptr : &c.out_delta;
  const uint32_t read = mask_of(c.in) | mask_of(c.labels) | mask_of(c.weights) | mask_of(c.dy);
  run("BNNSLossFilterApplyBackwardBatch", p, c.memory, promise_of(c, read, gradient_of(c)),
      [&](size_t k) {
        return BNNSLossFilterApplyBackwardBatch(filters[k], c.in_batch.size, in, c.in_batch.stride,
                                                in_delta, c.in_delta_batch.stride, labels,
                                                c.labels_batch.stride, weights, c.weights_size,
                                                out_delta, c.out_delta_batch.stride) == 0;
      });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const void* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerLoss", p, parameters,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerLoss(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerLoss");
  if (!filters) return;
  expect(model_of(c.layer.i_desc).legal, "BNNSFilterCreateLayerLoss",
         "accepts an i_desc that must be refused");
  const size_t calls = p.between(1, 3);
  for (size_t i = 0; i < calls; ++i) {
    if (p.one_in(2)) {
      backward(p, c, filters);
    } else {
      forward(p, c, filters);
    }
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}

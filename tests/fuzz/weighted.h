// What cases of layers with weights and a bias have in common: tensors, gradients, and the calls.
#pragma once

#include <vector>

#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {

// A case chooses `layer`, `weights` and `bias`, then calls place_tensors(). Pointers become known
// with the memory: connect_tensors().
template <class Layer>
struct Weighted {
  explicit Weighted(Provider& p)
      : filter(filter_parameters(p)), client((filter.flags & BNNSFlagsUseClientPtr) != 0) {}

  void place_tensors(Provider& p);
  void connect_tensors(Provider& p);
  // What every layer of this kind must refuse.
  void check_descriptors(const char* function) const;
  // Memory that calls read while the weights are the client's.
  uint32_t parameters() const { return client ? weights.mask() | bias.mask() | constants : 0; }

  BNNSFilterParameters filter;
  bool client;
  Layer layer = {};
  Memory memory;
  Batch in_batch, out_batch, in_delta_batch, out_delta_batch;
  size_t in = kNowhere, out = kNowhere;
  Source weights, bias;
  uint32_t constants = 0;  // mask of further parameters
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {}, weights_delta = {}, bias_delta = {};
  size_t dx = kNowhere, dy = kNowhere, dw = kNowhere, db = kNowhere;
};

template <class Layer>
void Weighted<Layer>::place_tensors(Provider& p) {
  const Batch batch = batch_of(p);
  in_batch = with_stride(p, batch, model_of(layer.i_desc));
  out_batch = with_stride(p, batch, model_of(layer.o_desc));
  in_delta = delta_of(p, layer.i_desc);
  out_delta = delta_of(p, layer.o_desc);
  weights_delta = delta_of(p, layer.w_desc);
  bias_delta = delta_of(p, layer.bias);
  in_delta_batch = with_stride(p, batch, model_of(in_delta));
  out_delta_batch = with_stride(p, batch, model_of(out_delta));
  std::vector<size_t> earlier;
  const auto put = [&](size_t& t, const Model& m, const Batch& b) {
    t = place(p, memory, m, b, earlier);
    if (t != kNowhere) earlier.push_back(t);
  };
  // Gradients may lie over the client's weights.
  if (client && weights.data != kNowhere) earlier.push_back(weights.data);
  put(in, model_of(layer.i_desc), in_batch);
  put(out, model_of(layer.o_desc), out_batch);
  put(dy, model_of(out_delta), out_delta_batch);
  put(dx, model_of(in_delta), in_delta_batch);
  put(dw, model_of(weights_delta), {});
  put(db, model_of(bias_delta), {});
  memory.allocate(p.number<uint16_t>());
}

template <class Layer>
void Weighted<Layer>::connect_tensors(Provider& p) {
  weights.set(p, memory, layer.w_desc);
  bias.set(p, memory, layer.bias);
  in_delta.data = address(memory, dx);
  out_delta.data = address(memory, dy);
  weights_delta.data = address(memory, dw);
  bias_delta.data = address(memory, db);
  show(layer.activation);
  show("flags", filter.flags);
  show("i_desc", layer.i_desc);
  show("o_desc", layer.o_desc);
  show("w_desc", layer.w_desc);
  show("bias", layer.bias);
  show("in_delta", in_delta);
  show("out_delta", out_delta);
  show("weights_delta", weights_delta);
  show("bias_delta", bias_delta);
  show("batch", in_batch.size);
  show("in_stride", in_batch.stride);
  show("out_stride", out_batch.stride);
}

template <class Layer>
void Weighted<Layer>::check_descriptors(const char* function) const {
  const Model out_model = model_of(layer.o_desc);
  expect(model_of(layer.i_desc).legal && out_model.legal, function,
         "accepts an i_desc or o_desc it must refuse");
  expect(model_of(layer.w_desc).legal, function, "accepts a w_desc that must be refused");
  expect(layer.bias.data == nullptr || model_of(layer.bias).legal, function,
         "accepts a bias that must be refused");
  expect(!overlaps_itself(out_model), function, "accepts an o_desc with overlapping elements");
}

template <class Layer>
void forward(Provider& p, Weighted<Layer>& c, const Pair& filters) {
  const bool possible = c.in != kNowhere && c.out != kNowhere;
  const void* in = p.one_in(60) || !possible ? nullptr : c.memory.data(c.in);
  void* out = p.one_in(60) || !possible ? nullptr : c.memory.data(c.out);
  Promise promise;
  promise.written = c.in_batch.size == 0 ? 0 : mask_of(c.out);
  promise.overwritten = promise.written;
  promise.used = mask_of(c.in) | mask_of(c.out) | c.parameters();
  promise.apart = mask_of(c.in) | c.parameters();
  promise.repeatable = !is_random(c.layer.activation.function);
  run("BNNSFilterApplyBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride, out,
                                c.out_batch.stride) == 0;
  });
}

template <class Layer>
void backward(Provider& p, Weighted<Layer>& c, const Pair& filters) {
  const bool identity = c.layer.activation.function == BNNSActivationFunctionIdentity;
  const bool give_in = c.in != kNowhere && !p.one_in(20);
  const bool give_out = c.out != kNowhere && !p.one_in(20);
  const bool want_x = c.dx != kNowhere && !p.one_in(4);
  const bool want_w = c.dw != kNowhere && !p.one_in(4);
  const bool want_b = c.db != kNowhere && c.bias.data != kNowhere && !p.one_in(4);
  const bool no_dy = p.one_in(60);
  BNNSNDArrayDescriptor no_data = c.weights_delta;
  no_data.data = nullptr;

  Promise promise;
  if (want_x) promise.written |= mask_of(c.dx);
  if (want_w) promise.written |= mask_of(c.dw);
  if (want_b) promise.written |= mask_of(c.db);
  promise.used = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0) | (give_out ? mask_of(c.out) : 0) |
                 promise.written | c.parameters();
  if (c.in_batch.size == 0) promise.written = 0;
  const auto overwrite = [&](const BNNSNDArrayDescriptor& d, size_t t) {
    if (d.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask_of(t);
  };
  overwrite(c.in_delta, c.dx);
  overwrite(c.weights_delta, c.dw);
  overwrite(c.bias_delta, c.db);
  promise.overwritten &= promise.written;
  promise.apart = mask_of(c.dy);
  if (want_w) promise.apart |= mask_of(c.in);
  if (!identity) promise.apart |= mask_of(c.out);
  if (want_x && c.client) promise.apart |= mask_of(c.weights.data);
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(
               filters[k], c.in_batch.size, give_in ? c.memory.data(c.in) : nullptr,
               c.in_batch.stride, want_x ? &c.in_delta : nullptr, c.in_delta_batch.stride,
               give_out ? c.memory.data(c.out) : nullptr, c.out_batch.stride,
               no_dy ? nullptr : &c.out_delta, c.out_delta_batch.stride,
               want_w ? &c.weights_delta : &no_data, want_b ? &c.bias_delta : nullptr) == 0;
  });
}

inline void others(Provider& p, const Pair& filters) {
  if (p.one_in(4)) {
    const Watch watch("BNNSGetPointer");
    watch.done(BNNSGetPointer(filters[0], BNNSPointerSpecifierAlpha).data != nullptr);
    return;
  }
  const Watch watch("OpenBNNSFilterReserve");
  watch.done(OpenBNNSFilterReserve(filters[0], p.extent(), p.below(6)) == 0);
}

// Some calls of a filter that was made.
template <class Layer>
void some_calls(Provider& p, Weighted<Layer>& c, const Pair& filters) {
  const size_t calls = p.between(1, 4);
  for (size_t i = 0; i < calls; ++i) {
    switch (p.below(8)) {
      case 0:
      case 1:
      case 2:
        forward(p, c, filters);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        backward(p, c, filters);
        break;
      default:
        others(p, filters);
        break;
    }
  }
}

}  // namespace fuzz

// What cases of filters with one input and one output have in common: tensors, gradients, and the
// calls. A case chooses its layer and calls choose_deltas(), place_tensors() and
// connect_tensors() with the descriptors of that layer; in between it may add tensors of its own.
#ifndef OPENBNNS_FUZZ_ONE_INPUT_H
#define OPENBNNS_FUZZ_ONE_INPUT_H

#include <vector>

#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {

struct OneInput {
  void choose_deltas(Provider& p, const BNNSNDArrayDescriptor& i_desc,
                     const BNNSNDArrayDescriptor& o_desc) {
    in_delta = delta_of(p, i_desc);
    out_delta = delta_of(p, o_desc);
  }

  void place_tensors(Provider& p, const BNNSNDArrayDescriptor& i_desc,
                     const BNNSNDArrayDescriptor& o_desc) {
    const Batch batch = single ? Batch{.size = 1} : batch_of(p);
    in_batch = with_stride(p, batch, model_of(i_desc));
    out_batch = with_stride(p, batch, model_of(o_desc));
    in_delta_batch = with_stride(p, batch, model_of(in_delta));
    out_delta_batch = with_stride(p, batch, model_of(out_delta));
    in = add(p, i_desc, in_batch);
    out = add(p, o_desc, out_batch);
    dx = add(p, in_delta, in_delta_batch);
    dy = add(p, out_delta, out_delta_batch);
  }
  // Now and then over an earlier tensor.
  size_t add(Provider& p, const BNNSNDArrayDescriptor& d, const Batch& batch) {
    const size_t tensor = place(p, memory, model_of(d), batch, earlier);
    if (tensor != kNowhere) earlier.push_back(tensor);
    return tensor;
  }

  void connect_tensors(Provider& p, const BNNSNDArrayDescriptor& i_desc,
                       const BNNSNDArrayDescriptor& o_desc) {
    memory.allocate(p.number<uint16_t>());
    in_delta.data = address(memory, dx);
    out_delta.data = address(memory, dy);
    show("i_desc", i_desc);
    show("o_desc", o_desc);
    show("in_delta", in_delta);
    show("out_delta", out_delta);
    show("batch", in_batch.size);
  }

  // What every layer must refuse.
  static void check_descriptors(const char* function, const BNNSNDArrayDescriptor& i_desc,
                                const BNNSNDArrayDescriptor& o_desc) {
    const Model in_model = model_of(i_desc), out_model = model_of(o_desc);
    expect(in_model.legal && out_model.legal, function, "accepts a descriptor it must refuse");
    expect(!in_model.opaque && !out_model.opaque, function, "accepts an opaque layout");
    expect(!overlaps_itself(out_model), function, "accepts an o_desc with overlapping elements");
  }

  bool single = false;       // one sample, always
  bool reads_input = false;  // for the gradient
  bool in_place = false;     // is allowed where every element keeps its address
  bool repeatable = true;
  uint32_t parameters = 0;  // mask of memory that calls read besides their tensors

  Memory memory;
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {};
  Batch in_batch, out_batch, in_delta_batch, out_delta_batch;
  size_t in = kNowhere, out = kNowhere, dx = kNowhere, dy = kNowhere;
  std::vector<size_t> earlier;
};

inline void forward(Provider& p, OneInput& c, const Pair& filters) {
  const bool possible = c.in != kNowhere && c.out != kNowhere;
  const void* in = p.one_in(40) || !possible ? nullptr : c.memory.data(c.in);
  void* out = p.one_in(40) || !possible ? nullptr : c.memory.data(c.out);
  Promise promise;
  promise.used = mask_of(c.in) | mask_of(c.out) | c.parameters;
  promise.written = c.in_batch.size == 0 ? 0 : mask_of(c.out);
  promise.overwritten = promise.written;
  promise.apart = mask_of(c.in) | c.parameters;
  promise.in_place = c.in_place;
  promise.repeatable = c.repeatable;
  run("BNNSFilterApplyBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride, out,
                                c.out_batch.stride) == 0;
  });
}

// Of a backward call that writes in_delta if it is wanted.
inline Promise backward_promise(const OneInput& c, bool give_in, bool want) {
  Promise promise;
  promise.written = want && c.in_batch.size > 0 ? mask_of(c.dx) : 0;
  promise.apart = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0);
  promise.used = promise.apart | (want ? mask_of(c.dx) : 0);
  if (c.in_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten = promise.written;
  promise.in_place = c.in_place;
  promise.repeatable = c.repeatable;
  return promise;
}

// Of layers without parameters: weights_delta, given now and then, must be refused or ignored.
inline void backward(Provider& p, OneInput& c, const Pair& filters) {
  const bool give_in = c.reads_input && c.in != kNowhere && !p.one_in(20);
  const bool want = c.dx != kNowhere && !p.one_in(20);
  BNNSNDArrayDescriptor* weights_delta = p.one_in(30) ? &c.out_delta : nullptr;
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;
  const Promise promise = backward_promise(c, give_in, want);
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(
               filters[k], c.in_batch.size, give_in ? c.memory.data(c.in) : nullptr,
               c.in_batch.stride, want ? &c.in_delta : nullptr, c.in_delta_batch.stride, nullptr, 0,
               out_delta, c.out_delta_batch.stride, weights_delta, nullptr) == 0;
  });
}

}  // namespace fuzz
#endif

// What cases of products of matrices and contractions have in common: two operands, each an input
// or weights, or one; the output, gradients, and the calls.
#pragma once

#include <vector>

#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {

inline constexpr BNNSDataType kFloatTypes[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                               BNNSDataTypeBFloat16};

inline BNNSNDArrayDescriptor tensor_of(Provider& p, BNNSDataLayout layout,
                                       const std::vector<size_t>& size) {
  BNNSNDArrayDescriptor d = vector_of(1);
  d.layout = layout;
  std::copy(size.begin(), size.end(), d.size);
  d.data_type = p.one_in(4) ? p.constant(kFloatTypes) : BNNSDataTypeFloat32;
  if (p.one_in(3)) choose_strides(p, d);
  return d;
}

// A layout of the rank, by logical coordinates.
inline BNNSNDArrayDescriptor coordinates_of(Provider& p, std::vector<size_t> size) {
  const auto generic = static_cast<uint32_t>(size.size() << 16 | 0x8000 | p.below(2));
  auto layout = static_cast<BNNSDataLayout>(generic);
  if (size.size() == 2 && p.one_in(2)) {
    std::swap(size[0], size[1]);
    layout = BNNSDataLayoutRowMajorMatrix;
  }
  return tensor_of(p, layout, size);
}

enum class Roles { kTwo, kAWeights, kBWeights, kOne };

struct TwoInputs {
  explicit TwoInputs(Provider& p)
      : filter(filter_parameters(p)), client((filter.flags & BNNSFlagsUseClientPtr) != 0) {}

  void place_tensors(Provider& p);
  void check_descriptors(const char* function, float alpha, float beta) const;
  bool is_weights(size_t operand) const {
    return roles == (operand == 0 ? Roles::kAWeights : Roles::kBWeights);
  }
  bool exists(size_t operand) const { return operand == 0 || roles != Roles::kOne; }
  uint32_t read_by_calls(size_t operand) const {
    return is_weights(operand) && !client ? 0 : mask_of(data[operand]);
  }

  BNNSFilterParameters filter;
  bool client;
  Roles roles = Roles::kTwo;
  bool accumulates = false;
  BNNSNDArrayDescriptor operand[2] = {}, out = {};
  BNNSNDArrayDescriptor delta[2] = {}, out_delta = {};
  Memory memory;
  Batch batch[2], out_batch, delta_batch[2], out_delta_batch;
  size_t data[2] = {kNowhere, kNowhere}, result = kNowhere;
  size_t gradient[2] = {kNowhere, kNowhere}, dy = kNowhere;
};

inline void TwoInputs::place_tensors(Provider& p) {
  const Batch samples = batch_of(p);
  std::vector<size_t> earlier;
  const auto put = [&](size_t& t, const BNNSNDArrayDescriptor& d, const Batch& b) {
    t = place(p, memory, model_of(d), b, earlier);
    if (t != kNowhere) earlier.push_back(t);
  };
  out_batch = with_stride(p, samples, model_of(out));
  out_delta = delta_of(p, out);
  out_delta_batch = with_stride(p, samples, model_of(out_delta));
  for (size_t i = 0; i < 2; ++i) {
    if (!exists(i)) continue;
    delta[i] = delta_of(p, operand[i]);
    if (!is_weights(i)) {
      batch[i] = with_stride(p, samples, model_of(operand[i]));
      delta_batch[i] = with_stride(p, samples, model_of(delta[i]));
    }
    put(data[i], operand[i], batch[i]);
    put(gradient[i], delta[i], delta_batch[i]);
  }
  put(result, out, out_batch);
  put(dy, out_delta, out_delta_batch);
  memory.allocate(p.number<uint16_t>());
  for (size_t i = 0; i < 2; ++i) {
    if (is_weights(i) && !p.one_in(60)) operand[i].data = address(memory, data[i]);
    delta[i].data = address(memory, gradient[i]);
  }
  out_delta.data = address(memory, dy);
  show("iA_desc", operand[0]);
  show("iB_desc", operand[1]);
  show("o_desc", out);
  show("inA_delta", delta[0]);
  show("inB_delta", delta[1]);
  show("out_delta", out_delta);
  show("batch", out_batch.size);
}

inline void TwoInputs::check_descriptors(const char* function, float alpha, float beta) const {
  for (size_t i = 0; i < 2; ++i) {
    if (!exists(i)) continue;
    const Model m = model_of(operand[i]);
    expect(m.legal && !m.opaque, function, "accepts an operand it must refuse");
  }
  const Model m = model_of(out);
  expect(m.legal && !m.opaque, function, "accepts an o_desc it must refuse");
  expect(!overlaps_itself(m), function, "accepts an o_desc with overlapping elements");
  expect(alpha - alpha == 0, function, "accepts an alpha that is not finite");
  expect(beta == 0 || beta == 1, function, "accepts a beta that is neither 0 nor 1");
}

inline void forward(Provider& p, TwoInputs& c, const Pair& filters) {
  const void* in[2];
  for (size_t i = 0; i < 2; ++i)
    in[i] = p.one_in(60) || c.data[i] == kNowhere ? nullptr : c.memory.data(c.data[i]);
  void* out = p.one_in(60) || c.result == kNowhere ? nullptr : c.memory.data(c.result);
  Promise promise;
  promise.apart = c.read_by_calls(0) | c.read_by_calls(1);
  promise.used = promise.apart | mask_of(c.result);
  promise.written = c.out_batch.size == 0 ? 0 : mask_of(c.result);
  promise.overwritten = c.accumulates ? 0 : promise.written;
  const bool two = (c.roles == Roles::kTwo) != p.one_in(60);
  const size_t input = c.roles == Roles::kAWeights ? 1 : 0;
  run(two ? "BNNSFilterApplyTwoInputBatch" : "BNNSFilterApplyBatch", p, c.memory, promise,
      [&](size_t k) {
        if (two) {
          return BNNSFilterApplyTwoInputBatch(filters[k], c.out_batch.size, in[0],
                                              c.batch[0].stride, in[1], c.batch[1].stride, out,
                                              c.out_batch.stride) == 0;
        }
        return BNNSFilterApplyBatch(filters[k], c.out_batch.size, in[input], c.batch[input].stride,
                                    out, c.out_batch.stride) == 0;
      });
}

inline void backward(Provider& p, TwoInputs& c, const Pair& filters) {
  const void* in[2];
  BNNSNDArrayDescriptor* delta[2];
  Promise promise;
  const auto mask = [&](size_t i) { return mask_of(c.gradient[i]); };
  for (size_t i = 0; i < 2; ++i) {
    const bool give = c.data[i] != kNowhere && !p.one_in(20);
    const bool want = c.gradient[i] != kNowhere && !p.one_in(4);
    in[i] = give ? c.memory.data(c.data[i]) : nullptr;
    delta[i] = want ? &c.delta[i] : nullptr;
    if (want) promise.written |= mask(i);
    if (want && c.delta[i].flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask(i);
  }
  promise.used = mask_of(c.dy) | c.read_by_calls(0) | c.read_by_calls(1) | promise.written;
  promise.apart = mask_of(c.dy);
  for (size_t i = 0; i < 2; ++i) {
    if (delta[i] != nullptr && c.roles != Roles::kOne) promise.apart |= c.read_by_calls(1 - i);
  }
  if (c.out_batch.size == 0) promise.written = promise.overwritten = 0;
  const BNNSNDArrayDescriptor* dy = p.one_in(60) ? nullptr : &c.out_delta;
  if (c.roles == Roles::kTwo) {
    run("BNNSFilterApplyBackwardTwoInputBatch", p, c.memory, promise, [&](size_t k) {
      return BNNSFilterApplyBackwardTwoInputBatch(filters[k], c.out_batch.size, in[0],
                                                  c.batch[0].stride, delta[0],
                                                  c.delta_batch[0].stride, in[1], c.batch[1].stride,
                                                  delta[1], c.delta_batch[1].stride, nullptr, 0, dy,
                                                  c.out_delta_batch.stride, nullptr, nullptr) == 0;
    });
    return;
  }
  const size_t input = c.roles == Roles::kAWeights ? 1 : 0;
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(filters[k], c.out_batch.size, in[input],
                                        c.batch[input].stride, delta[input],
                                        c.delta_batch[input].stride, nullptr, 0, dy,
                                        c.out_delta_batch.stride, delta[1 - input], nullptr) == 0;
  });
}

}  // namespace fuzz

// The tensors that arrive with one call of a filter. Each is checked as it is read: NULL, type,
// alignment, batch stride; check_overlaps() then refuses a call that writes where it reads or
// writes already. Nothing is written before all of that has passed.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>

#include "core/batch.h"
#include "core/descriptor.h"

namespace bnns::impl {

// A delta that is NULL, or whose data is, is not wanted.
inline bool is_wanted(const BNNSNDArrayDescriptor* delta) {
  return delta != nullptr && delta->data != nullptr;
}

// ---- Single checks ----

// Sizes are powers of two; 0 for values below a byte, which have no alignment.
inline bool is_aligned(const void* data, BNNSDataType type) {
  const size_t bytes = type_bytes(type);
  return bytes == 0 || (reinterpret_cast<uintptr_t>(data) & (bytes - 1)) == 0;
}

inline void require_data(const void* data, BNNSDataType type, const char* name) {
  require(data != nullptr, name, " is NULL; it must point to data");
  require(is_aligned(data, type), name, " is ", data, "; it must be aligned to ", type_bytes(type),
          " bytes");
}

inline void require_trainable(const Descriptor& d, const char* field) {
  require(d.view.is_float(), field, ".data_type is ", d.type->name, "; training needs Float32");
}

// BNNSNDArrayDescriptor.flags of a gradient that is written.
inline void require_delta_flags(const BNNSNDArrayDescriptor& given, const char* field) {
  require(
      given.flags == BNNSNDArrayFlagBackpropSet || given.flags == BNNSNDArrayFlagBackpropAccumulate,
      field, ".flags is ", static_cast<uint32_t>(given.flags), "; that is no BNNSNDArrayFlags");
}

// Bytes that a tensor touches; nothing where there is none.
struct Range {
  const char* begin;
  const char* end;
};
inline Range range_of(const Batch& batch) {
  if (!batch) return {};
  const size_t values = batch.sample->span + (batch.size - 1) * batch.step;
  // In whole bytes also for values below a byte, without an overflow on the way.
  const size_t bits = static_cast<uint32_t>(batch.sample->type) & 0x7FFF;
  const size_t bytes =
      bits >= 8 ? values * (bits / 8) : values / 8 * bits + (values % 8 * bits + 7) / 8;
  const auto* begin = static_cast<const char*>(batch.data);
  return {.begin = begin, .end = begin + bytes};
}
inline Range range_of(const View& view) {
  return range_of(make_batch(view, view.data, 1, 0));
}

// Of a batch laid out like the descriptor.
inline Range range_of(const Descriptor& d, const Batch& batch) {
  const auto* begin = static_cast<const char*>(batch.data);
  if (batch.size != 1) return range_of(batch);
  return {.begin = begin, .end = begin + d.span_bytes};
}

inline bool overlap(const Range& a, const Range& b) {
  return (a.begin < b.end) & (b.begin < a.end);
}

inline void require_apart(const Range& a, const char* a_name, const Range& b, const char* b_name) {
  require(!overlap(a, b), a_name, " and ", b_name, " overlap in memory; they must be separate");
}

// Batch strides: 0, or at least one sample, so that samples do not overlap; or so small that all
// samples fit between two neighbouring elements of one sample (interleaved).
void require_batch_of_many(const View& sample, size_t size, size_t stride, const char* name);
inline void require_batch(const View& sample, size_t size, size_t stride, const char* name) {
  if (size > 1) require_batch_of_many(sample, size, stride, name);
}

// ---- A whole call ----

// How messages call an argument, and its batch stride.
struct Name {
  const char* data;
  const char* stride = nullptr;  // nullptr: it has no batch
};
inline constexpr Name kIn = {"in", "in_stride"}, kOut = {"out", "out_stride"};
inline constexpr Name kInDelta = {"in_delta", "in_delta_stride"};
inline constexpr Name kOutDelta = {"out_delta", "out_delta_stride"};

// What a gradient may look like beside its tensor: the same sizes in the same layout, or the same
// number of elements in another one.
struct DeltaRules {
  bool bfloat16 = false;     // BFloat16 as well as Float32
  bool same_layout = false;  // no other layout
};

// Pointer, alignment and batch stride of one tensor.
inline Batch read_batch(const View& sample, size_t size, const void* data, size_t stride,
                        const Name& name) {
  require_data(data, sample.type, name.data);
  require_batch(sample, size, stride, name.stride);
  return make_batch(sample, data, size, stride);
}

// The same for a tensor laid out as a descriptor of the filter: what can be known of it is.
inline Batch read_batch(const Descriptor& d, size_t size, const void* data, size_t stride,
                        const Name& name) {
  if (data == nullptr || (reinterpret_cast<uintptr_t>(data) & d.misaligned) != 0) [[unlikely]]
    require_data(data, d.view.type, name.data);
  require_batch(d.view, size, stride, name.stride);
  return make_batch(d.view, data, size, stride);
}

// Element-wise work may run in place: both tensors apart, or every element in its own place.
void require_same_place(const Batch& a, const char* a_name, const Batch& b, const char* b_name);
inline void require_apart_or_same(const Batch& a, const char* a_name, const Batch& b,
                                  const char* b_name) {
  if (overlap(range_of(a), range_of(b))) require_same_place(a, a_name, b, b_name);
}

class Call {
 public:
  explicit Call(size_t batch) : batch_(batch) {}

  // Raw pointers, laid out as a sample or as a descriptor of the filter.
  Batch reads(const View& sample, const void* data, size_t stride, const Name& name) {
    const Batch result = read_batch(sample, batch_, data, stride, name);
    reads(range_of(result), name.data);
    return result;
  }
  Batch writes(const View& sample, void* data, size_t stride, const Name& name) {
    const Batch result = read_batch(sample, batch_, data, stride, name);
    writes(range_of(result), name.data);
    return result;
  }
  Batch reads(const Descriptor& d, const void* data, size_t stride, const Name& name) {
    const Batch result = read_batch(d, batch_, data, stride, name);
    reads(range_of(d, result), name.data);
    return result;
  }
  Batch writes(const Descriptor& d, void* data, size_t stride, const Name& name) {
    const Batch result = read_batch(d, batch_, data, stride, name);
    writes(range_of(d, result), name.data);
    return result;
  }
  // A tensor that all samples share: weights of the client, a table of indices; or an empty range.
  void reads(const Range& range, const char* name) {
    assert(reads_ < kMost);
    read_[reads_] = {range, name};
    reads_ += range.begin != range.end;
  }
  void writes(const Range& range, const char* name) {
    assert(writes_ < kMost);
    written_[writes_] = {range, name};
    writes_ += range.begin != range.end;
  }

  // Gradients, laid out as their own descriptors; `frozen` is what the filter was made with, named
  // `frozen_field`. The result may point into this object and into `frozen`.
  Batch reads_delta(const BNNSNDArrayDescriptor* given, size_t stride, const Name& name,
                    const Descriptor& frozen, const char* frozen_field, DeltaRules rules = {});
  Gradient writes_delta(const BNNSNDArrayDescriptor& given, size_t stride, const Name& name,
                        const Descriptor& frozen, const char* frozen_field, DeltaRules rules = {});
  // Of a parameter, which has no batch; nothing, if it is not wanted. `read`: its descriptor, for
  // layers that look at more than the elements in the order of memory.
  Gradient writes_parameter_delta(const BNNSNDArrayDescriptor* given, const char* name,
                                  const Descriptor& frozen, const char* frozen_field,
                                  DeltaRules rules = {}, const Descriptor** read = nullptr);

  // What is written must not overlap anything else: inputs would change under the computation.
  void check_overlaps() const {
    bool clash = false;  // no branch per pair: a small layer is done in the time of a few
    for (const Named *w = written_, *end = w + writes_; w < end; ++w) {
      const Range range = w->range;
      for (const Named *r = read_, *last = r + reads_; r < last; ++r)
        clash |= overlap(range, r->range);
      for (const Named* o = w + 1; o < end; ++o) clash |= overlap(range, o->range);
    }
    if (clash) [[unlikely]]
      fail_overlap();
  }

 private:
  struct Named {
    Range range;
    const char* name;
  };
  [[noreturn]] void fail_overlap() const;
  // The descriptor that counts: `frozen`, or one of this object where `given` differs from it.
  const Descriptor& read_delta(const BNNSNDArrayDescriptor& given, const char* name,
                               const Descriptor& frozen, const char* frozen_field, Use use,
                               DeltaRules rules);

  // Arrays of fixed size that are not cleared: a call of a small layer takes some ten nanoseconds.
  static constexpr size_t kMost = 24, kMostDeltas = 16;
  static_assert(std::is_trivially_destructible_v<Descriptor>);

  size_t batch_;
  size_t writes_ = 0, reads_ = 0, deltas_ = 0;
  Named written_[kMost], read_[kMost];
  alignas(Descriptor) std::byte delta_[kMostDeltas][sizeof(Descriptor)];
};

// ---- Calls with many tensors ----

struct TensorRange {
  Range range;
  size_t tensor;  // whatever number the caller knows it by
  bool written;
};
struct Overlap {
  const TensorRange* first = nullptr;  // nullptr: there is none
  const TensorRange* second = nullptr;
};
// Two ranges that overlap although one of them is written. Sorts the ranges, so that thousands of
// tensors are no matter.
Overlap find_overlap(TensorRange* ranges, size_t count);

}  // namespace bnns::impl

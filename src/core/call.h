// The tensors that arrive with one call of a filter. Each is checked when it is read: NULL, type,
// alignment, batch stride. check_overlaps() then refuses a call that writes memory which it also
// reads, or writes as another tensor. Nothing is written before all checks have passed.
#pragma once

#include <cassert>
#include <cstddef>
#include <type_traits>

#include "core/batch.h"
#include "core/descriptor.h"

namespace bnns::impl {

// A client that does not want a delta passes NULL, or a descriptor whose data is NULL.
inline bool is_wanted(const BNNSNDArrayDescriptor* delta) {
  return delta != nullptr && delta->data != nullptr;
}

// ---- Single checks ----

// The sizes of types are powers of two, or 0 for types below a byte, which need no alignment.
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

// Checks BNNSNDArrayDescriptor.flags of a gradient that is written.
inline void require_delta_flags(const BNNSNDArrayDescriptor& given, const char* field) {
  require(
      given.flags == BNNSNDArrayFlagBackpropSet || given.flags == BNNSNDArrayFlagBackpropAccumulate,
      field, ".flags is ", static_cast<uint32_t>(given.flags), "; that is no BNNSNDArrayFlags");
}

// The bytes from the first to the last one that a tensor may access; empty if there is no tensor.
struct Range {
  const char* begin;
  const char* end;
};
inline Range range_of(const Batch& batch) {
  if (!batch) return {};
  const size_t values = batch.sample->span + (batch.size - 1) * batch.step;
  // For types below a byte the size is rounded up to whole bytes, without computing values * bits,
  // which might overflow.
  const size_t bits = static_cast<uint32_t>(batch.sample->type) & 0x7FFF;
  const size_t bytes =
      bits >= 8 ? values * (bits / 8) : values / 8 * bits + (values % 8 * bits + 7) / 8;
  const auto* begin = static_cast<const char*>(batch.data);
  return {.begin = begin, .end = begin + bytes};
}
inline Range range_of(const View& view) {
  return range_of(make_batch(view, view.data, 1, 0));
}

// The range of a batch whose samples have the layout of the descriptor.
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

// A batch stride must be 0, or at least one sample, so that samples do not overlap; or so small
// that all samples fit between two neighbouring elements of one sample (interleaved).
void require_batch_of_many(const View& sample, size_t size, size_t stride, const char* name);
inline void require_batch(const View& sample, size_t size, size_t stride, const char* name) {
  if (size > 1) require_batch_of_many(sample, size, stride, name);
}

// ---- A whole call ----

// The names that messages give to an argument and to its batch stride.
struct Name {
  const char* data;
  const char* stride = nullptr;  // nullptr: it has no batch
};
inline constexpr Name kIn = {"in", "in_stride"}, kOut = {"out", "out_stride"};
inline constexpr Name kInDelta = {"in_delta", "in_delta_stride"};
inline constexpr Name kOutDelta = {"out_delta", "out_delta_stride"};

// The gradients of weights and bias; a fused filter has other names for them.
struct ParameterDeltaNames {
  const char *weights = "weights_delta", *bias = "bias_delta";
};

// A gradient has the same sizes as its tensor in the same layout, or the same number of elements in
// another layout. These rules widen or narrow that.
struct DeltaRules {
  bool bfloat16 = false;  // BFloat16 is allowed beside Float32
  // Another layout is refused, unless it arranges memory alike or one of the two is a vector and
  // the gradient contiguous.
  bool same_layout = false;
};

// Checks pointer, alignment and batch stride of one tensor.
inline Batch read_batch(const View& sample, size_t size, const void* data, size_t stride,
                        const Name& name) {
  require_data(data, sample.type, name.data);
  require_batch(sample, size, stride, name.stride);
  return make_batch(sample, data, size, stride);
}

// The same for a tensor with the layout of one of the filter's descriptors, whose alignment mask
// was computed at creation.
inline Batch read_batch(const Descriptor& d, size_t size, const void* data, size_t stride,
                        const Name& name) {
  if (data == nullptr || (reinterpret_cast<uintptr_t>(data) & d.misaligned) != 0) [[unlikely]]
    require_data(data, d.view.type, name.data);
  require_batch(d.view, size, stride, name.stride);
  return make_batch(d.view, data, size, stride);
}

// Element-wise work may run in place: the two tensors must be apart, or every element must have the
// same address in both.
void require_same_place(const Batch& a, const char* a_name, const Batch& b, const char* b_name);
inline void require_apart_or_same(const Batch& a, const char* a_name, const Batch& b,
                                  const char* b_name) {
  if (overlap(range_of(a), range_of(b))) require_same_place(a, a_name, b, b_name);
}

class Call {
 public:
  explicit Call(size_t batch) : batch_(batch) {}

  // Tensors given by a raw pointer, with the layout of a view or of a descriptor of the filter.
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
  // A tensor that all samples share, such as weights of the client or a table of indices. An empty
  // range is ignored.
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

  // Gradients, which come with descriptors of their own. `frozen` is the descriptor of the tensor
  // that the filter was created with, named `frozen_field` in messages. The result may point into
  // this object and into `frozen`.
  Batch reads_delta(const BNNSNDArrayDescriptor* given, size_t stride, const Name& name,
                    const Descriptor& frozen, const char* frozen_field, DeltaRules rules = {});
  Gradient writes_delta(const BNNSNDArrayDescriptor& given, size_t stride, const Name& name,
                        const Descriptor& frozen, const char* frozen_field, DeltaRules rules = {});
  // The gradient of a parameter, which has no batch; empty if it is not wanted. `read` receives its
  // descriptor, for layers that need more than the elements in memory order.
  Gradient writes_parameter_delta(const BNNSNDArrayDescriptor* given, const char* name,
                                  const Descriptor& frozen, const char* frozen_field,
                                  DeltaRules rules = {}, const Descriptor** read = nullptr);

  // A written tensor must not overlap any other one: inputs would change during the computation.
  void check_overlaps() const {
    // One branch for all pairs: a small layer takes no longer than a few mispredicted branches.
    bool clash = false;
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
  // Returns the descriptor to use: `frozen`, or one stored in this object if `given` differs from
  // it.
  const Descriptor& read_delta(const BNNSNDArrayDescriptor& given, const char* name,
                               const Descriptor& frozen, const char* frozen_field, Use use,
                               DeltaRules rules);

  // The arrays have a fixed size and are not cleared: a call of a small layer takes only some ten
  // nanoseconds.
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
  size_t tensor;  // number by which the caller identifies the tensor
  bool written;
};
struct Overlap {
  const TensorRange* first = nullptr;  // nullptr: there is none
  const TensorRange* second = nullptr;
};
// Finds two ranges that overlap and of which at least one is written. It sorts the ranges, so that
// the time stays small for thousands of tensors.
Overlap find_overlap(TensorRange* ranges, size_t count);

}  // namespace bnns::impl

#include "core/call.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <numeric>

namespace bnns::impl {
namespace {

// The greatest common divisor of all strides: every offset in a sample is a multiple of it.
size_t common_stride(const View& view) {
  size_t common = 0;
  for (size_t k = 0; k < view.rank; ++k) {
    if (view.extent[k] > 1) common = std::gcd(common, view.stride[k]);
  }
  return common;
}

bool same_place(const View& a, const View& b) {
  bool same = a.data == b.data && a.type == b.type && a.rank == b.rank && !a.overlaps &&
              a.scaling.is_plain() && b.scaling.is_plain();
  for (size_t k = 0; same && k < a.rank; ++k)
    same = a.extent[k] == b.extent[k] && a.stride[k] == b.stride[k];
  return same;
}

// Fills the fields of the object that is returned. Returning a copy would cost some 10 ns: its wide
// loads would have to wait for the narrow stores just before them.
void set(Gradient& to, const View& sample, const BNNSNDArrayDescriptor& given, size_t size,
         size_t stride) {
  to.sample = &sample;
  to.data = given.data;
  to.size = size;
  to.step = batch_step(sample, stride);
  to.accumulate = given.flags == BNNSNDArrayFlagBackpropAccumulate;
}

// Whether both layouts arrange the same coordinates in memory in the same way, as ImageCHW and
// 3DLastMajor do. Their sizes may have another order, as those of RowMajorMatrix and 2DFirstMajor.
bool arranged_alike(const Descriptor& a, const Descriptor& b) {
  if (a.layout == b.layout) return true;
  bool alike = a.rank() == b.rank() && a.layout->rotated == b.layout->rotated;
  for (size_t i = 0; alike && i < a.rank(); ++i) {
    alike = a.logical_extent(i) == b.logical_extent(i) && a.memory_axis(i) == b.memory_axis(i);
  }
  return alike;
}

// Whether one of them is a vector and `delta` is contiguous, so that its elements can be counted in
// the order of memory.
bool is_flat(const Descriptor& delta, const Descriptor& frozen) {
  return (delta.rank() == 1 || frozen.rank() == 1) && !delta.view.overlaps &&
         delta.view.span == delta.view.count && !delta.layout->rotated && !frozen.layout->rotated;
}

// A contiguous gradient, described with the layout and the sizes of its tensor.
BNNSNDArrayDescriptor with_layout_of(const Descriptor& frozen, const BNNSNDArrayDescriptor& given) {
  BNNSNDArrayDescriptor result = given;
  result.layout = frozen.layout->layout;
  std::copy_n(frozen.size, kMaxRank, result.size);
  std::fill_n(result.stride, kMaxRank, 0);
  return result;
}

}  // namespace

void require_batch_of_many(const View& sample, size_t size, size_t stride, const char* name) {
  const size_t step = batch_step(sample, stride);
  // The packed step of an input whose own elements overlap may be shorter than its span.
  const bool packed = stride == 0 && sample.overlaps;
  require(packed || step >= sample.span || step <= common_stride(sample) / size, name, " is ", step,
          ", but one sample spans ", sample.span, " values; samples must not overlap");
  size_t bytes;
  const bool fits = !__builtin_mul_overflow(size - 1, step, &bytes) &&
                    !__builtin_add_overflow(bytes, sample.span, &bytes) &&
                    !__builtin_mul_overflow(bytes, sizeof(int64_t), &bytes) &&
                    bytes <= static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max());
  require(fits, "batch_size is ", size, " with ", name, " ", step,
          "; the batch is larger than an address space");
}

void require_same_place(const Batch& a, const char* a_name, const Batch& b, const char* b_name) {
  require(same_place(whole(a), whole(b)), a_name, " and ", b_name,
          " overlap in memory; they must be separate, or the same memory with the same type and "
          "strides");
}

const Descriptor& Call::read_delta(const BNNSNDArrayDescriptor& given, const char* name,
                                   const Descriptor& frozen, const char* frozen_field, Use use,
                                   DeltaRules rules) {
  if (use == Use::kOutput) require_delta_flags(given, name);
  const Descriptor* result = &frozen;
  const bool same = is_written_like(given, frozen);
  // The elements of an input may overlap, but here the tensor with this layout is an output.
  if (!same || (use == Use::kOutput && frozen.view.overlaps)) {
    assert(deltas_ < kMostDeltas);
    auto* read = new (delta_[deltas_++]) Descriptor(read_descriptor(given, name, use));
    result = read;
    if (!same) {
      require_same_elements(*read, name, frozen, frozen_field);
      require_plain_layout(*read, name);
      if (rules.same_layout && !arranged_alike(*read, frozen)) {
        require(is_flat(*read, frozen), name, ".layout is ", read->layout->name, ", ", frozen_field,
                ".layout is ", frozen.layout->name,
                "; they must be equal, or arrange memory alike");
        const size_t step = read->view.step;  // of a packed batch, as the client describes it
        *read = read_descriptor(with_layout_of(frozen, given), name, use);
        read->view.step = step;
      }
    }
  }
  const View& view = result->view;
  require(view.is_float() || (rules.bfloat16 && view.type == BNNSDataTypeBFloat16), name,
          ".data_type is ", result->type->name,
          rules.bfloat16 ? "; gradients are Float32 or BFloat16" : "; gradients are Float32");
  if (given.data == nullptr || (reinterpret_cast<uintptr_t>(given.data) & result->misaligned) != 0)
      [[unlikely]]
    require_data(given.data, view.type, Text(name, ".data").c_str());
  return *result;
}

Batch Call::reads_delta(const BNNSNDArrayDescriptor* given, size_t stride, const Name& name,
                        const Descriptor& frozen, const char* frozen_field, DeltaRules rules) {
  require(given != nullptr, name.data, " is NULL");
  const Descriptor& delta = read_delta(*given, name.data, frozen, frozen_field, Use::kInput, rules);
  return reads(delta, given->data, stride, name);
}

Gradient Call::writes_delta(const BNNSNDArrayDescriptor& given, size_t stride, const Name& name,
                            const Descriptor& frozen, const char* frozen_field, DeltaRules rules) {
  const Descriptor& delta = read_delta(given, name.data, frozen, frozen_field, Use::kOutput, rules);
  require_batch(delta.view, batch_, stride, name.stride);
  Gradient result;
  set(result, delta.view, given, batch_, stride);
  writes(range_of(delta, result), name.data);
  return result;
}

Gradient Call::writes_parameter_delta(const BNNSNDArrayDescriptor* given, const char* name,
                                      const Descriptor& frozen, const char* frozen_field,
                                      DeltaRules rules, const Descriptor** read) {
  Gradient result;
  if (!is_wanted(given)) return result;
  const Descriptor& delta = read_delta(*given, name, frozen, frozen_field, Use::kOutput, rules);
  if (read != nullptr) *read = &delta;
  set(result, delta.view, *given, 1, 0);
  writes(range_of(delta, result), name);
  return result;
}

void Call::fail_overlap() const {
  const auto apart = [](const Named& a, const Named& b) {
    require_apart(a.range, a.name, b.range, b.name);
  };
  for (size_t w = 0; w < writes_; ++w) {
    for (size_t r = 0; r < reads_; ++r) apart(written_[w], read_[r]);
    for (size_t o = w + 1; o < writes_; ++o) apart(written_[w], written_[o]);
  }
  fail("tensors overlap in memory; they must be separate");
}

// A range overlaps an earlier one exactly if it begins before the farthest end seen so far.
Overlap find_overlap(TensorRange* ranges, size_t count) {
  std::sort(ranges, ranges + count, [](const TensorRange& a, const TensorRange& b) {
    return a.range.begin < b.range.begin;
  });
  const TensorRange *farthest = nullptr, *farthest_written = nullptr;
  const auto extend = [](const TensorRange*& known, const TensorRange& r) {
    if (known == nullptr || r.range.end > known->range.end) known = &r;
  };
  for (size_t i = 0; i < count; ++i) {
    const TensorRange& r = ranges[i];
    const TensorRange* rival = r.written ? farthest : farthest_written;
    if (rival != nullptr && rival->range.end > r.range.begin) return {rival, &r};
    extend(farthest, r);
    if (r.written) extend(farthest_written, r);
  }
  return {};
}

}  // namespace bnns::impl

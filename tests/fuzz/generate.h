// Descriptors, activations and batches, mostly right and now and then wrong in one place.
#ifndef OPENBNNS_FUZZ_GENERATE_H
#define OPENBNNS_FUZZ_GENERATE_H

#include <optional>
#include <vector>

#include "memory.h"
#include "model.h"
#include "provider.h"

namespace fuzz {

inline size_t element_budget(Provider& p) {
  return p.one_in(12) ? 8192 : 600;
}

// Moves the slowest axis so that the span equals the count: elements overlap and leave gaps, but a
// test of "contiguous" that only compares the two numbers is deceived.
inline void stretch(BNNSNDArrayDescriptor& d) {
  const Model m = model_of(d);
  if (!m.small() || m.rank < 2 || m.extent[m.rank - 1] < 2) return;
  const size_t steps = m.extent[m.rank - 1] - 1;
  const size_t below = m.span - steps * m.stride[m.rank - 1];
  if (m.count > below && (m.count - below) % steps == 0)
    d.stride[m.rank - 1] = (m.count - below) / steps;
}

inline void choose_strides(Provider& p, BNNSNDArrayDescriptor& d) {
  const size_t rank = std::min<size_t>(rank_of(d.layout), 8);
  std::fill(d.stride, d.stride + 8, size_t{0});
  const size_t style = p.below(18);
  size_t packed = 1, last = 1;
  for (size_t k = 0; k < rank; ++k) {
    size_t stride = 0;
    if (style >= 6 && style < 8) stride = packed;  // said, not implied
    if (style >= 8 && style < 13) stride = p.one_in(3) ? 0 : packed + p.below(4);  // padded
    if (style == 13) stride = p.between(1, 9);  // overlapping or decreasing, as it happens
    if (style == 14) stride = packed * p.between(1, 3);
    if (style == 15 && p.one_in(3)) stride = p.odd_size();
    if (style >= 16) stride = last = last + p.below(3);  // overlapping: legal in what is only read
    d.stride[k] = stride;
    const size_t step = stride == 0 ? packed : stride;
    packed = step * d.size[axis_of_stride(d.layout, k) % 8];  // unknown layouts may have any rank
  }
  if (style == 17) stretch(d);
}

inline void choose_sizes(Provider& p, BNNSNDArrayDescriptor& d, size_t budget) {
  const size_t rank = std::min<size_t>(rank_of(d.layout), 8);
  if (p.one_in(2)) std::fill(d.size, d.size + 8, SIZE_MAX);  // behind the rank nobody looks
  size_t count = 1;
  for (size_t k = 0; k < rank; ++k) {
    d.size[k] =
        std::min(rank > 4 ? p.between(1, 3) : p.extent(), std::max<size_t>(budget / count, 1));
    count *= d.size[k];
  }
  if (rank > 0 && p.one_in(40)) d.size[p.below(rank)] = p.odd_size();
}

inline void choose_type(Provider& p, BNNSNDArrayDescriptor& d, size_t rarity) {
  d.data_type = p.one_in(rarity) ? p.constant(kTypes) : BNNSDataTypeFloat32;
  if (!is_integer(d.data_type)) return;
  static constexpr float kScales[] = {1.0f, 0.0f, 0.5f, -2.0f, 1e-20f};
  d.data_scale = p.one_in(20) ? p.scalar() : p.pick(kScales);
  d.data_bias = p.one_in(4) ? p.scalar() : 0.0f;
}

// One in `type_rarity` has another type than Float32.
inline BNNSNDArrayDescriptor descriptor(Provider& p, size_t type_rarity,
                                        std::optional<BNNSDataLayout> layout = {}) {
  BNNSNDArrayDescriptor d = {};
  const size_t budget = element_budget(p);
  d.layout = layout ? *layout : p.constant(kLayouts);
  choose_sizes(p, d, budget);
  choose_strides(p, d);
  choose_type(p, d, type_rarity);
  return d;
}

inline BNNSNDArrayDescriptor vector_of(size_t size) {
  BNNSNDArrayDescriptor d = {};
  d.layout = BNNSDataLayoutVector;
  d.size[0] = size;
  d.data_type = BNNSDataTypeFloat32;
  return d;
}

// A descriptor of the same elements: as it is, with other strides, in another layout of the rank,
// as a vector; or damaged.
inline BNNSNDArrayDescriptor like(Provider& p, const BNNSNDArrayDescriptor& other) {
  BNNSNDArrayDescriptor d = other;
  d.data = nullptr;
  const size_t rank = std::min<size_t>(rank_of(d.layout), 8);
  switch (p.below(16)) {
    case 8:
    case 9:
    case 10:
    case 11:
      choose_strides(p, d);
      break;
    case 12: {
      std::vector<BNNSDataLayout> same_rank;
      for (BNNSDataLayout layout : kLayouts) {
        if (rank_of(layout) == rank) same_rank.push_back(layout);
      }
      if (!same_rank.empty()) d.layout = same_rank[p.below(same_rank.size())];
      if (rank > 1 && p.one_in(2)) std::swap(d.size[0], d.size[p.below(rank)]);
      choose_strides(p, d);
      break;
    }
    case 13: {
      const BNNSDataType type = d.data_type;
      d = vector_of(model_of(other).count);
      d.data_type = type;
      choose_strides(p, d);
      break;
    }
    case 14:
      if (rank > 0) d.size[p.below(rank)] += p.below(2) == 0 ? 1 : size_t(-1);
      break;
    case 15:
      return descriptor(p, 8);
    default:
      break;
  }
  return d;
}

// The descriptor of a gradient.
inline BNNSNDArrayDescriptor delta_of(Provider& p, const BNNSNDArrayDescriptor& other) {
  static constexpr BNNSNDArrayFlags kFlags[] = {BNNSNDArrayFlagBackpropSet,
                                                BNNSNDArrayFlagBackpropAccumulate};
  BNNSNDArrayDescriptor d = like(p, other);
  if (p.one_in(60)) choose_type(p, d, 1);
  d.flags = p.constant(kFlags, 60);
  return d;
}

inline Batch batch_of(Provider& p) {
  static constexpr size_t kSizes[] = {1, 2, 3, 4, 7, 9, 1, 2, 0, 33};
  return {.size = p.one_in(60) ? p.odd_size() : p.pick(kSizes)};
}

// The distance of samples: packed, said, padded, interleaved, wrong.
inline Batch with_stride(Provider& p, Batch batch, const Model& m) {
  switch (p.below(16)) {
    case 8:
    case 9:
      batch.stride = m.span;
      break;
    case 10:
    case 11:
    case 12:
      batch.stride = m.span + p.between(1, 5);
      break;
    case 13:
      batch.stride = p.between(1, 4);
      break;
    case 14:
      batch.stride = m.span - 1;
      break;
    case 15:
      batch.stride = p.one_in(3) ? p.odd_size() : m.span + 64;
      break;
    default:
      break;
  }
  return batch;
}

inline BNNSActivation activation(Provider& p) {
  BNNSActivation a = {};
  a.function =
      static_cast<BNNSActivationFunction>(p.one_in(60) ? p.number<uint32_t>() : p.below(36));
  a.alpha = p.one_in(3) ? p.scalar() : 0.75f;
  a.beta = p.one_in(3) ? p.scalar() : 1.5f;
  a.iscale = p.one_in(3) ? p.number<int32_t>() : 3;
  a.ioffset = p.one_in(3) ? p.number<int32_t>() : -1;
  a.ishift = p.one_in(8) ? p.number<int32_t>() : static_cast<int32_t>(p.below(8));
  return a;
}

inline bool is_random(BNNSActivationFunction function) {
  return function == BNNSActivationFunctionGumbel || function == BNNSActivationFunctionGumbelMax;
}

inline bool is_integer_function(BNNSActivationFunction function) {
  return function == BNNSActivationFunctionIntegerLinearSaturate ||
         function == BNNSActivationFunctionIntegerLinearSaturatePerChannel;
}

// What the integer functions accept; any other type would only test the refusal.
inline BNNSDataType integer_type(Provider& p) {
  static constexpr BNNSDataType kIntegers[] = {
      BNNSDataTypeInt8,   BNNSDataTypeUInt8,  BNNSDataTypeInt16,
      BNNSDataTypeUInt16, BNNSDataTypeInt32,  BNNSDataTypeUInt32,
      BNNSDataTypeInt64,  BNNSDataTypeUInt64, BNNSDataTypeInt4};
  return p.pick(kIntegers);
}

// ---- Placing tensors ----

inline constexpr size_t kNowhere = SIZE_MAX;

// A tensor for the batch; kNowhere if it would be too large to exist. Now and then at an odd
// address or over an earlier one.
inline size_t place(Provider& p, Memory& memory, const Model& m, const Batch& batch,
                    const std::vector<size_t>& earlier) {
  if (!batch.small(m)) return kNowhere;
  if (!earlier.empty() && p.one_in(10)) {
    const size_t other = earlier[p.below(earlier.size())];
    const size_t distance = p.one_in(2) ? p.below(40) : 0;
    return memory.add_over(other, m, batch, distance * std::max<size_t>(m.bits / 8, 1));
  }
  return memory.add(m, batch, p.one_in(60) ? p.between(1, 7) : 0);
}

// What stands in for data that cannot exist: the call must be refused before it is touched.
inline void* address(const Memory& memory, size_t tensor) {
  return tensor == kNowhere ? nullptr : memory.data(tensor);
}

inline uint32_t mask_of(size_t tensor) {
  return tensor == kNowhere ? 0 : Memory::bit(tensor);
}

// Data and table of a descriptor that is read at creation.
struct Source {
  size_t data = kNowhere;
  size_t table = kNowhere;

  Source() = default;
  Source(Provider& p, Memory& memory, BNNSNDArrayDescriptor& d) {
    const Model m = model_of(d);
    if (m.small()) data = memory.add(m, {}, p.one_in(60) ? p.between(1, 7) : 0);
    if (!is_indexed(d.data_type) || !is_type(d.data_type)) return;
    static constexpr BNNSDataType kTables[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                               BNNSDataTypeBFloat16};
    d.table_data_type = p.constant(kTables, 30);
    BNNSNDArrayDescriptor values = vector_of(size_t{1} << bits_of(d.data_type));
    if (contains(kTables, d.table_data_type)) values.data_type = d.table_data_type;
    table = memory.add(model_of(values), {}, p.one_in(60) ? p.between(1, 3) : 0);
  }

  void set(Provider& p, const Memory& memory, BNNSNDArrayDescriptor& d) const {
    if (!p.one_in(60)) d.data = address(memory, data);
    if (!p.one_in(60)) d.table_data = address(memory, table);
  }
  uint32_t mask() const { return mask_of(data) | mask_of(table); }
};

// With OPENBNNS_FUZZ_SHOW in the environment: what a replayed input is about.
inline void show(const char* name, const BNNSNDArrayDescriptor& d) {
  static const bool wanted = std::getenv("OPENBNNS_FUZZ_SHOW") != nullptr;
  if (!wanted) return;
  std::fprintf(stderr, "%-10s layout 0x%x type 0x%x flags %u data %p scale %g bias %g\n", name,
               static_cast<unsigned>(d.layout), static_cast<unsigned>(d.data_type),
               static_cast<unsigned>(d.flags), d.data, double{d.data_scale}, double{d.data_bias});
  for (const size_t* values : {d.size, d.stride}) {
    std::fprintf(stderr, "           %s", values == d.size ? "size" : "stride");
    for (size_t k = 0; k < std::min<size_t>(rank_of(d.layout), 8); ++k)
      std::fprintf(stderr, " %zu", values[k]);
    std::fprintf(stderr, "\n");
  }
}
inline void show(const char* name, size_t value) {
  static const bool wanted = std::getenv("OPENBNNS_FUZZ_SHOW") != nullptr;
  if (wanted) std::fprintf(stderr, "%-10s %zu\n", name, value);
}
inline void show(const BNNSActivation& a) {
  static const bool wanted = std::getenv("OPENBNNS_FUZZ_SHOW") != nullptr;
  if (!wanted) return;
  std::fprintf(stderr, "activation %u alpha %g beta %g, integer %d %d %d\n",
               static_cast<unsigned>(a.function), double{a.alpha}, double{a.beta}, a.iscale,
               a.ioffset, a.ishift);
}

inline bool overlaps_itself(const Model& m) {
  if (!m.small() || m.packed32) return false;
  std::vector<size_t> offsets = offsets_of(m);
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

}  // namespace fuzz
#endif

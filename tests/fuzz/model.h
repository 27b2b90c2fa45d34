// What a descriptor says, worked out from the rules of the format alone: which descriptors must be
// refused, how many values one covers and where each element lies. The library's own reading is
// judged by this one, so nothing here comes from it.
#ifndef OPENBNNS_FUZZ_MODEL_H
#define OPENBNNS_FUZZ_MODEL_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <openbnns/bnns.h>

namespace fuzz {

inline constexpr size_t kMaxElements = size_t{1} << 16;
inline constexpr size_t kMaxSpan = size_t{1} << 17;

inline constexpr BNNSDataType kTypes[] = {
    BNNSDataTypeFloat32,  BNNSDataTypeFloat16,  BNNSDataTypeBFloat16, BNNSDataTypeInt8,
    BNNSDataTypeUInt8,    BNNSDataTypeInt16,    BNNSDataTypeUInt16,   BNNSDataTypeInt32,
    BNNSDataTypeUInt32,   BNNSDataTypeInt64,    BNNSDataTypeUInt64,   BNNSDataTypeBoolean,
    BNNSDataTypeIndexed8, BNNSDataTypeInt4,     BNNSDataTypeUInt4,    BNNSDataTypeIndexed4,
    BNNSDataTypeIndexed2, BNNSDataTypeIndexed1, BNNSDataTypeInt1,     BNNSDataTypeInt2,
    BNNSDataTypeUInt1,    BNNSDataTypeUInt2,    BNNSDataTypeUInt3,    BNNSDataTypeUInt6};

inline constexpr BNNSDataLayout kLayouts[] = {BNNSDataLayoutVector,
                                              BNNSDataLayoutImageCHW,
                                              BNNSDataLayoutRowMajorMatrix,
                                              BNNSDataLayoutColumnMajorMatrix,
                                              BNNSDataLayout1DLastMajor,
                                              BNNSDataLayout1DFirstMajor,
                                              BNNSDataLayout2DLastMajor,
                                              BNNSDataLayout2DFirstMajor,
                                              BNNSDataLayoutSNE,
                                              BNNSDataLayoutNSE,
                                              BNNSDataLayoutMHA_DHK,
                                              BNNSDataLayout3DLastMajor,
                                              BNNSDataLayout3DFirstMajor,
                                              BNNSDataLayoutConvolutionWeightsOIHW,
                                              BNNSDataLayoutConvolutionWeightsOIHrWr,
                                              BNNSDataLayoutConvolutionWeightsIOHrWr,
                                              BNNSDataLayoutConvolutionWeightsOIHW_Pack32,
                                              BNNSDataLayout4DLastMajor,
                                              BNNSDataLayout4DFirstMajor,
                                              BNNSDataLayout5DLastMajor,
                                              BNNSDataLayout5DFirstMajor,
                                              BNNSDataLayout6DLastMajor,
                                              BNNSDataLayout6DFirstMajor,
                                              BNNSDataLayout7DLastMajor,
                                              BNNSDataLayout7DFirstMajor,
                                              BNNSDataLayout8DLastMajor,
                                              BNNSDataLayout8DFirstMajor,
                                              BNNSDataLayoutFullyConnectedSparse};

template <class T, size_t N>
bool contains(const T (&values)[N], T value) {
  return std::find(values, values + N, value) != values + N;
}

inline bool is_type(BNNSDataType type) {
  return contains(kTypes, type);
}
inline bool is_layout(BNNSDataLayout layout) {
  return contains(kLayouts, layout);
}
inline size_t rank_of(BNNSDataLayout layout) {
  return static_cast<uint32_t>(layout) >> 16;
}
inline size_t bits_of(BNNSDataType type) {
  return static_cast<uint32_t>(type) & 0x7FFF;
}
inline bool is_indexed(BNNSDataType type) {
  return (static_cast<uint32_t>(type) & BNNSDataTypeIndexedBit) != 0;
}
inline bool is_integer(BNNSDataType type) {
  return (static_cast<uint32_t>(type) & (BNNSDataTypeIntBit | BNNSDataTypeUIntBit)) != 0;
}

// The entry of size[] that stride[k] steps along.
inline size_t axis_of_stride(BNNSDataLayout layout, size_t k) {
  if ((static_cast<uint32_t>(layout) & 0xFFFF) == 0x8001) return rank_of(layout) - 1 - k;
  if (layout == BNNSDataLayoutMHA_DHK) return (k + 1) % 3;
  return k;
}

// Sizes beyond this mean "does not fit an address space"; sums and products stop there.
using Big = unsigned __int128;
inline constexpr Big kTooBig = Big{1} << 63;
inline Big times(Big a, Big b) {
  if (a == 0 || b == 0) return 0;
  return a >= kTooBig || b >= kTooBig || a * b >= kTooBig ? kTooBig : a * b;
}
inline Big plus(Big a, Big b) {
  return std::min(a + b, kTooBig);
}

struct Model {
  bool legal = false;  // false: a call that reads the descriptor must refuse it
  bool packed32 = false;
  bool opaque = false;
  BNNSDataType type{};
  size_t bits = 0;
  size_t rank = 0;
  size_t extent[8] = {};  // in the order of stride[]
  size_t stride[8] = {};
  size_t count = 0, span = 0;
  Big step = 0;  // to the next sample of a packed batch: max(extent * stride)

  // Small enough to allocate and to apply.
  bool small() const { return legal && !opaque && count <= kMaxElements && span <= kMaxSpan; }
  // Of `values` values; their bits may be more than a size_t can count.
  size_t bytes(size_t values) const { return values / 8 * bits + (values % 8 * bits + 7) / 8; }
};

inline Model model_of(const BNNSNDArrayDescriptor& d) {
  Model m;
  if (!is_layout(d.layout) || !is_type(d.data_type)) return m;
  m.type = d.data_type;
  m.bits = bits_of(d.data_type);
  m.rank = rank_of(d.layout);
  m.packed32 = d.layout == BNNSDataLayoutConvolutionWeightsOIHW_Pack32;
  m.opaque = d.layout == BNNSDataLayoutFullyConnectedSparse;
  Big count = 1, span = 1, packed = 1;
  bool legal = true;
  for (size_t k = 0; k < m.rank; ++k) {
    m.extent[k] = d.size[axis_of_stride(d.layout, k)];
    const Big stride = d.stride[k] == 0 ? packed : Big{d.stride[k]};
    // A stride may be huge where the extent is 1; the packed one must at least be a number.
    legal &= m.extent[k] != 0 && stride <= SIZE_MAX && (k == 0 || stride >= m.stride[k - 1]);
    if (!legal) return m;
    m.stride[k] = static_cast<size_t>(stride);
    packed = stride * m.extent[k];
    m.step = std::max(m.step, packed);
    count = times(count, m.extent[k]);
    span = plus(span, times(Big{m.extent[k]} - 1, stride));
  }
  if (m.packed32) {
    legal = d.stride[0] <= 1;
    span = 32;
    for (size_t k = 0; k < 3; ++k) span = times(span, d.size[k]);
    span = times(span, Big{d.size[3]} / 32 + (d.size[3] % 32 != 0));
    m.step = span;
  }
  const bool fits = count < kTooBig && times(span, (m.bits + 7) / 8) < kTooBig;
  m.legal = legal && fits;
  m.count = static_cast<size_t>(count);
  m.span = static_cast<size_t>(span);
  return m;
}

// Offset in values of every element of one sample, in the order of memory. For small models.
inline std::vector<size_t> offsets_of(const Model& m) {
  std::vector<size_t> offsets(m.count);
  size_t index[8] = {};
  for (size_t& offset : offsets) {
    if (m.packed32) {
      const size_t cell =
          index[0] +
          m.extent[0] * (index[1] + m.extent[1] * (index[2] + m.extent[2] * (index[3] / 32)));
      offset = index[3] % 32 + 32 * cell;
    } else {
      for (size_t k = 0; k < m.rank; ++k) offset += index[k] * m.stride[k];
    }
    for (size_t k = 0; k < m.rank && ++index[k] == m.extent[k]; ++k) index[k] = 0;
  }
  return offsets;
}

// Batch of samples `stride` values apart (0: packed), as the apply functions take it.
struct Batch {
  size_t size = 1;
  size_t stride = 0;

  Big step(const Model& m) const { return stride == 0 ? m.step : Big{stride}; }
  // Values from the first to behind the last; kTooBig if that cannot be.
  Big values(const Model& m) const {
    return size <= 1 ? Big{m.span} : plus(m.span, times(Big{size} - 1, step(m)));
  }
  bool small(const Model& m) const {
    return m.small() && times(m.count, std::max<size_t>(size, 1)) <= kMaxElements &&
           values(m) <= kMaxSpan;
  }
};

}  // namespace fuzz
#endif

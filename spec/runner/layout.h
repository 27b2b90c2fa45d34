// Where the elements of a tensor are: the layouts' rank, pairing of strides with sizes, order of
// storage and coordinate tuple.
//
// size[] index:  one index per entry of size[].
// Storage order: the order in which a dense array of the layout holds its elements in memory.
// Logical tuple: the coordinates a formula speaks of, e.g. (row, col) or (kx, ky, in, out).
#ifndef OPENBNNS_SPEC_LAYOUT_H
#define OPENBNNS_SPEC_LAYOUT_H

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include <openbnns/bnns.h>

namespace spec {

using Index = std::vector<size_t>;

struct Shape {
  BNNSDataLayout layout;
  Index size;

  size_t rank() const { return size.size(); }
  size_t count() const {
    size_t n = 1;
    for (size_t s : size) n *= s;
    return n;
  }
};

struct LayoutInfo {
  BNNSDataLayout layout;
  const char* name;
};

inline constexpr LayoutInfo kLayouts[] = {
    {BNNSDataLayoutVector, "Vector"},
    {BNNSDataLayout1DLastMajor, "1DLastMajor"},
    {BNNSDataLayout1DFirstMajor, "1DFirstMajor"},
    {BNNSDataLayoutRowMajorMatrix, "RowMajorMatrix"},
    {BNNSDataLayoutColumnMajorMatrix, "ColumnMajorMatrix"},
    {BNNSDataLayout2DLastMajor, "2DLastMajor"},
    {BNNSDataLayout2DFirstMajor, "2DFirstMajor"},
    {BNNSDataLayoutImageCHW, "ImageCHW"},
    {BNNSDataLayoutSNE, "SNE"},
    {BNNSDataLayoutNSE, "NSE"},
    {BNNSDataLayoutMHA_DHK, "MHA_DHK"},
    {BNNSDataLayout3DLastMajor, "3DLastMajor"},
    {BNNSDataLayout3DFirstMajor, "3DFirstMajor"},
    {BNNSDataLayoutConvolutionWeightsOIHW, "ConvolutionWeightsOIHW"},
    {BNNSDataLayoutConvolutionWeightsOIHrWr, "ConvolutionWeightsOIHrWr"},
    {BNNSDataLayoutConvolutionWeightsIOHrWr, "ConvolutionWeightsIOHrWr"},
    {BNNSDataLayoutConvolutionWeightsOIHW_Pack32, "ConvolutionWeightsOIHW_Pack32"},
    {BNNSDataLayout4DLastMajor, "4DLastMajor"},
    {BNNSDataLayout4DFirstMajor, "4DFirstMajor"},
    {BNNSDataLayout5DLastMajor, "5DLastMajor"},
    {BNNSDataLayout5DFirstMajor, "5DFirstMajor"},
    {BNNSDataLayout6DLastMajor, "6DLastMajor"},
    {BNNSDataLayout6DFirstMajor, "6DFirstMajor"},
    {BNNSDataLayout7DLastMajor, "7DLastMajor"},
    {BNNSDataLayout7DFirstMajor, "7DFirstMajor"},
    {BNNSDataLayout8DLastMajor, "8DLastMajor"},
    {BNNSDataLayout8DFirstMajor, "8DFirstMajor"},
};

inline const char* layout_name(BNNSDataLayout layout) {
  for (const LayoutInfo& row : kLayouts)
    if (row.layout == layout) return row.name;
  return "?";
}

inline BNNSDataLayout last_major(size_t rank) {
  return static_cast<BNNSDataLayout>((rank << 16) | 0x8000);
}
inline BNNSDataLayout first_major(size_t rank) {
  return static_cast<BNNSDataLayout>((rank << 16) | 0x8001);
}
inline bool is_pack32(BNNSDataLayout layout) {
  return layout == BNNSDataLayoutConvolutionWeightsOIHW_Pack32;
}
inline bool is_rotated(BNNSDataLayout layout) {
  return layout == BNNSDataLayoutConvolutionWeightsOIHrWr ||
         layout == BNNSDataLayoutConvolutionWeightsIOHrWr;
}

// The entry of size[] that stride[k] steps along.
inline size_t paired_axis(const Shape& shape, size_t k) {
  if ((static_cast<uint32_t>(shape.layout) & 0xFFFFu) == 0x8001u) return shape.rank() - 1 - k;
  if (shape.layout == BNNSDataLayoutMHA_DHK) return (k + 1) % 3;
  return k;
}

inline Index dense_strides(const Shape& shape) {
  Index stride(shape.rank());
  size_t next = 1;
  for (size_t k = 0; k < shape.rank(); ++k) {
    stride[k] = next;
    next *= shape.size[paired_axis(shape, k)];
  }
  return stride;
}

// Coordinates by entry of size[] of the k-th element in storage order.
inline Index size_index(const Shape& shape, size_t k) {
  Index index(shape.rank());
  for (size_t s = 0; s < shape.rank(); ++s) {
    const size_t axis = paired_axis(shape, s);
    index[axis] = k % shape.size[axis];
    k /= shape.size[axis];
  }
  return index;
}

// The entry of size[] that the t-th logical coordinate counts.
inline size_t logical_axis(const Shape& shape, size_t t) {
  if (shape.layout == BNNSDataLayoutRowMajorMatrix) return 1 - t;
  if (shape.layout == BNNSDataLayoutConvolutionWeightsIOHrWr && t >= 2) return 5 - t;
  return t;
}

inline Index logical_size(const Shape& shape) {
  Index size(shape.rank());
  for (size_t t = 0; t < shape.rank(); ++t) size[t] = shape.size[logical_axis(shape, t)];
  return size;
}

// Position in storage order = origin + sum over t of coordinate[t] * step[t].
struct LogicalMap {
  ptrdiff_t origin = 0;
  std::vector<ptrdiff_t> step;
};

inline LogicalMap logical_map(const Shape& shape) {
  const Index dense = dense_strides(shape);
  LogicalMap map{.origin = 0, .step = std::vector<ptrdiff_t>(shape.rank())};
  for (size_t t = 0; t < shape.rank(); ++t) {
    const size_t axis = logical_axis(shape, t);
    for (size_t k = 0; k < shape.rank(); ++k)
      if (paired_axis(shape, k) == axis) map.step[t] = static_cast<ptrdiff_t>(dense[k]);
    if (is_rotated(shape.layout) && t < 2) {
      map.origin += static_cast<ptrdiff_t>(shape.size[axis] - 1) * map.step[t];
      map.step[t] = -map.step[t];
    }
  }
  return map;
}

// The offset of every element, in elements, listed in storage order.
inline Index element_offsets(const Shape& shape, const Index& stride) {
  Index offsets(shape.count());
  for (size_t k = 0; k < offsets.size(); ++k) {
    const Index i = size_index(shape, k);
    if (is_pack32(shape.layout)) {
      const size_t cell =
          i[0] + shape.size[0] * (i[1] + shape.size[1] * (i[2] + shape.size[2] * (i[3] / 32)));
      offsets[k] = i[3] % 32 + 32 * cell;
      continue;
    }
    for (size_t s = 0; s < shape.rank(); ++s) offsets[k] += i[paired_axis(shape, s)] * stride[s];
  }
  return offsets;
}

// Elements from the first one to the last one inclusive, padding between them counted.
inline size_t span_of(const Shape& shape, const Index& stride) {
  if (is_pack32(shape.layout))
    return 32 * shape.size[0] * shape.size[1] * shape.size[2] * ((shape.size[3] + 31) / 32);
  size_t span = 1;
  for (size_t s = 0; s < shape.rank(); ++s)
    span += (shape.size[paired_axis(shape, s)] - 1) * stride[s];
  return span;
}

// The step to the next sample with a batch stride of 0: the outermost axis goes on, so the next
// sample begins behind the padding of the last row.
inline size_t packed_step(const Shape& shape, const Index& stride) {
  if (is_pack32(shape.layout)) return span_of(shape, stride);
  size_t step = 1;
  for (size_t s = 0; s < shape.rank(); ++s)
    step = std::max(step, shape.size[paired_axis(shape, s)] * stride[s]);
  return step;
}

}  // namespace spec
#endif

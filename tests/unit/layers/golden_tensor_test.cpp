// Copy, transpose and size queries against the address formula of every layout, written down here a
// second time: which size[] and which stride[] entry belongs to coordinate i of an element.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Index = std::vector<size_t>;

struct Formula {
  BNNSDataLayout layout;
  size_t rank;
  Index size_of, stride_of;  // by coordinate
  bool rotated = false;      // the first two coordinates run backwards
};

Formula last_major(BNNSDataLayout layout, size_t rank) {
  Formula f = {layout, rank, {}, {}};
  for (size_t i = 0; i < rank; ++i) f.size_of.push_back(i), f.stride_of.push_back(i);
  return f;
}
Formula first_major(BNNSDataLayout layout, size_t rank) {
  Formula f = last_major(layout, rank);
  std::reverse(f.stride_of.begin(), f.stride_of.end());
  return f;
}

const std::vector<Formula>& formulas() {
  static const std::vector<Formula> all = {
      last_major(BNNSDataLayoutVector, 1),
      last_major(BNNSDataLayout1DLastMajor, 1),
      last_major(BNNSDataLayout1DFirstMajor, 1),
      {BNNSDataLayoutRowMajorMatrix, 2, {1, 0}, {1, 0}},
      last_major(BNNSDataLayoutColumnMajorMatrix, 2),
      last_major(BNNSDataLayout2DLastMajor, 2),
      first_major(BNNSDataLayout2DFirstMajor, 2),
      last_major(BNNSDataLayoutImageCHW, 3),
      last_major(BNNSDataLayoutSNE, 3),
      last_major(BNNSDataLayoutNSE, 3),
      {BNNSDataLayoutMHA_DHK, 3, {0, 1, 2}, {2, 0, 1}},
      last_major(BNNSDataLayout3DLastMajor, 3),
      first_major(BNNSDataLayout3DFirstMajor, 3),
      last_major(BNNSDataLayoutConvolutionWeightsOIHW, 4),
      {BNNSDataLayoutConvolutionWeightsOIHrWr, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, true},
      {BNNSDataLayoutConvolutionWeightsIOHrWr, 4, {0, 1, 3, 2}, {0, 1, 3, 2}, true},
      last_major(BNNSDataLayout4DLastMajor, 4),
      first_major(BNNSDataLayout4DFirstMajor, 4),
      last_major(BNNSDataLayout5DLastMajor, 5),
      first_major(BNNSDataLayout5DFirstMajor, 5),
      last_major(BNNSDataLayout6DLastMajor, 6),
      first_major(BNNSDataLayout6DFirstMajor, 6),
      last_major(BNNSDataLayout7DLastMajor, 7),
      first_major(BNNSDataLayout7DFirstMajor, 7),
      last_major(BNNSDataLayout8DLastMajor, 8),
      first_major(BNNSDataLayout8DFirstMajor, 8),
  };
  return all;
}

// A tensor of `extent` by coordinate; `padding` values are left out behind each axis of memory.
struct Tensor {
  const Formula& f;
  Index extent, stride;  // stride by entry of stride[]
  size_t span = 1;

  Tensor(const Formula& formula, const Index& extents, size_t padding)
      : f(formula), extent(extents) {
    size_t step = 1 + padding;
    for (size_t k = 0; k < f.rank; ++k) {
      size_t coordinate = 0;
      while (f.stride_of[coordinate] != k) ++coordinate;
      stride.push_back(step);
      span += (extent[coordinate] - 1) * step;
      step = step * extent[coordinate] + padding;
    }
  }
  size_t at(const Index& tuple) const {
    size_t offset = 0;
    for (size_t i = 0; i < f.rank; ++i) {
      const bool backwards = f.rotated && i < 2;
      offset += (backwards ? extent[i] - 1 - tuple[i] : tuple[i]) * stride[f.stride_of[i]];
    }
    return offset;
  }
  BNNSNDArrayDescriptor descriptor(void* data, BNNSDataType type, bool default_strides) const {
    BNNSNDArrayDescriptor d = array(f.layout, {}, data, type);
    for (size_t i = 0; i < f.rank; ++i) d.size[f.size_of[i]] = extent[i];
    for (size_t k = 0; k < f.rank && !default_strides; ++k) d.stride[k] = stride[k];
    return d;
  }
};

template <class Body>
void for_tuples(const Index& extent, const Body& body) {
  Index tuple(extent.size());
  while (true) {
    body(tuple);
    size_t i = 0;
    while (i < extent.size() && ++tuple[i] == extent[i]) tuple[i++] = 0;
    if (i == extent.size()) return;
  }
}

Index extents(size_t rank) {
  static const size_t kSizes[8] = {3, 2, 4, 2, 1, 3, 2, 2};
  return Index(kSizes, kSizes + rank);
}

TEST(Golden, CopyBetweenAllLayouts) {
  for (const Formula& a : formulas()) {
    for (const Formula& b : formulas()) {
      if (a.rank != b.rank) continue;
      for (const size_t padding : {0, 1}) {
        SCOPED_TRACE(testing::Message()
                     << std::hex << a.layout << " to " << b.layout << " " << padding);
        const Tensor from(a, extents(a.rank), 2 * padding), to(b, extents(a.rank), padding);
        Guarded<float> src(Space{from.span}), dest(Space{to.span});
        for (size_t i = 0; i < from.span; ++i) src[i] = static_cast<float>(i);
        const auto s = from.descriptor(src.data(), BNNSDataTypeFloat32, padding == 0);
        auto d = to.descriptor(dest.data(), BNNSDataTypeFloat32, padding == 0);
        ASSERT_EQ(BNNSCopy(&d, &s, nullptr), 0) << OpenBNNSGetLastError();
        std::vector<bool> element(to.span);
        for_tuples(from.extent, [&](const Index& tuple) {
          element[to.at(tuple)] = true;
          EXPECT_EQ(dest[to.at(tuple)], src[from.at(tuple)]);
        });
        EXPECT_TRUE(dest.untouched_except([&](size_t i) { return element[i]; }));
      }
    }
  }
}

// Blocks of 32 output channels, innermost.
TEST(Golden, CopyToAndFromPackedWeights) {
  const Formula plain = last_major(BNNSDataLayoutConvolutionWeightsOIHW, 4);
  const Index extent = {3, 2, 2, 33};
  const Tensor from(plain, extent, 0);
  const size_t blocks = 2, count = 32 * 3 * 2 * 2 * blocks;
  Guarded<float> src(Space{from.span}), packed(Space{count}), back(Space{from.span});
  for (size_t i = 0; i < from.span; ++i) src[i] = static_cast<float>(i) + 1;
  const auto s = from.descriptor(src.data(), BNNSDataTypeFloat32, true);
  auto p = array(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, {3, 2, 2, 33}, packed.data());
  EXPECT_EQ(BNNSNDArrayGetDataSize(&p), count * sizeof(float));
  ASSERT_EQ(BNNSCopy(&p, &s, nullptr), 0) << OpenBNNSGetLastError();
  for_tuples(extent, [&](const Index& t) {
    const size_t at = t[3] % 32 + 32 * (t[0] + 3 * (t[1] + 2 * (t[2] + 2 * (t[3] / 32))));
    EXPECT_EQ(packed[at], src[from.at(t)]);
  });
  auto b = from.descriptor(back.data(), BNNSDataTypeFloat32, true);
  ASSERT_EQ(BNNSCopy(&b, &p, nullptr), 0) << OpenBNNSGetLastError();
  for (size_t i = 0; i < from.span; ++i) EXPECT_EQ(back[i], src[i]);
  EXPECT_TRUE(packed.untouched_except([](size_t) { return true; }));
}

TEST(Golden, CopyConvertsTypes) {
  Guarded<float> src{1, -2, 0.5f, 65504};
  Guarded<uint16_t> half(Space{4});
  Guarded<int32_t> whole(Space{4});
  const auto s = vector_of(4, src.data());
  auto h = vector_of(4, half.data(), BNNSDataTypeFloat16);
  auto w = vector_of(4, whole.data(), BNNSDataTypeInt32);
  ASSERT_EQ(BNNSCopy(&h, &s, nullptr), 0) << OpenBNNSGetLastError();
  ASSERT_EQ(BNNSCopy(&w, &s, nullptr), 0) << OpenBNNSGetLastError();
  const uint16_t halves[4] = {0x3C00, 0xC000, 0x3800, 0x7BFF};
  const int32_t wholes[4] = {1, -2, 0, 65504};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(half[i], halves[i]);
    EXPECT_EQ(whole[i], wholes[i]);
  }
}

// Axes count entries of size[]; every pair of axes, in every plain layout, for elements of 1 to 8
// bytes.
template <class T>
void expect_transposed(const Formula& f, size_t axis0, size_t axis1, BNNSDataType type) {
  SCOPED_TRACE(testing::Message() << std::hex << f.layout << " axes " << axis0 << " " << axis1);
  const auto coordinate = [&](size_t axis) {
    return static_cast<size_t>(std::find(f.size_of.begin(), f.size_of.end(), axis) -
                               f.size_of.begin());
  };
  const size_t i0 = coordinate(axis0), i1 = coordinate(axis1);
  Index swapped = extents(f.rank);
  std::swap(swapped[i0], swapped[i1]);
  const Tensor from(f, extents(f.rank), 1), to(f, swapped, 2);
  Guarded<T> src(Space{from.span}), dest(Space{to.span});
  for (size_t i = 0; i < from.span; ++i) src[i] = static_cast<T>(i * 37 + 1);
  const auto s = from.descriptor(src.data(), type, false);
  auto d = to.descriptor(dest.data(), type, false);
  ASSERT_EQ(BNNSTranspose(&d, &s, axis0, axis1, nullptr), 0) << OpenBNNSGetLastError();
  std::vector<bool> element(to.span);
  for_tuples(from.extent, [&](const Index& tuple) {
    Index there = tuple;
    std::swap(there[i0], there[i1]);
    element[to.at(there)] = true;
    EXPECT_EQ(dest[to.at(there)], src[from.at(tuple)]);
  });
  EXPECT_TRUE(dest.untouched_except([&](size_t i) { return element[i]; }));
}

TEST(Golden, Transpose) {
  for (const Formula& f : formulas()) {
    if (f.rotated) continue;
    for (size_t axis0 = 0; axis0 < f.rank; ++axis0) {
      for (size_t axis1 = 0; axis1 < f.rank; ++axis1) {
        expect_transposed<uint8_t>(f, axis0, axis1, BNNSDataTypeBoolean);
        expect_transposed<uint16_t>(f, axis0, axis1, BNNSDataTypeFloat16);
        expect_transposed<float>(f, axis0, axis1, BNNSDataTypeFloat32);
        expect_transposed<int64_t>(f, axis0, axis1, BNNSDataTypeInt64);
      }
    }
  }
}

TEST(Golden, RankOfEveryLayout) {
  for (const Formula& f : formulas()) EXPECT_EQ(BNNSDataLayoutGetRank(f.layout), f.rank);
  EXPECT_EQ(BNNSDataLayoutGetRank(BNNSDataLayoutFullyConnectedSparse), 2u);
  EXPECT_EQ(BNNSDataLayoutGetRank(BNNSDataLayoutConvolutionWeightsOIHW_Pack32), 4u);
}

struct TypeSize {
  BNNSDataType type;
  size_t bytes;  // 0: below a byte
};
const TypeSize kTypes[] = {
    {BNNSDataTypeFloat32, 4},  {BNNSDataTypeFloat16, 2},  {BNNSDataTypeBFloat16, 2},
    {BNNSDataTypeInt8, 1},     {BNNSDataTypeInt16, 2},    {BNNSDataTypeInt32, 4},
    {BNNSDataTypeInt64, 8},    {BNNSDataTypeUInt8, 1},    {BNNSDataTypeUInt16, 2},
    {BNNSDataTypeUInt32, 4},   {BNNSDataTypeUInt64, 8},   {BNNSDataTypeBoolean, 1},
    {BNNSDataTypeIndexed8, 1}, {BNNSDataTypeInt1, 0},     {BNNSDataTypeInt2, 0},
    {BNNSDataTypeInt4, 0},     {BNNSDataTypeUInt1, 0},    {BNNSDataTypeUInt2, 0},
    {BNNSDataTypeUInt3, 0},    {BNNSDataTypeUInt4, 0},    {BNNSDataTypeUInt6, 0},
    {BNNSDataTypeIndexed1, 0}, {BNNSDataTypeIndexed2, 0}, {BNNSDataTypeIndexed4, 0},
};

TEST(Golden, DataSize) {
  float table[256] = {};
  char data[8] = {};
  for (const Formula& f : formulas()) {
    for (const TypeSize& t : kTypes) {
      for (const size_t padding : {0, 3}) {
        SCOPED_TRACE(testing::Message() << std::hex << f.layout << " " << t.type);
        const Tensor tensor(f, extents(f.rank), padding);
        auto d = tensor.descriptor(data, t.type, padding == 0);
        d.table_data = table;
        d.table_data_type = BNNSDataTypeFloat32;
        EXPECT_EQ(BNNSNDArrayGetDataSize(&d), tensor.span * t.bytes);
        d.data = nullptr;
        EXPECT_EQ(BNNSNDArrayGetDataSize(&d), 0u);
      }
    }
  }
}

TEST(Golden, AllocationSize) {
  for (const TypeSize& t : kTypes) {
    if (t.bytes == 0) continue;
    BNNSTensor tensor = {};
    tensor.data_type = t.type;
    EXPECT_EQ(BNNSTensorGetAllocationSize(&tensor), t.bytes);
    tensor.rank = 3;
    const ssize_t shape[3] = {2, 3, 4}, stride[3] = {20, 5, 1};
    std::copy(shape, shape + 3, tensor.shape);
    std::copy(stride, stride + 3, tensor.stride);
    EXPECT_EQ(BNNSTensorGetAllocationSize(&tensor), (1 + 20 + 10 + 3) * t.bytes);
    tensor.stride[0] = 0;
    EXPECT_EQ(BNNSTensorGetAllocationSize(&tensor), (1 + 10 + 3) * t.bytes);
    tensor.shape[0] = -1;
    EXPECT_EQ(BNNSTensorGetAllocationSize(&tensor), SIZE_MAX);
  }
}

}  // namespace
}  // namespace bnns::test

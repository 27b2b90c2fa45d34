// Axes: at() and collapsed() against plain enumeration of the elements of several tensors, over
// many extents, strides and roles; the joins that must and must not happen.
#include "core/axes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace bnns::impl {
namespace {

Axes make_axes(const std::vector<Axis>& list) {
  Axes axes;
  for (const Axis& axis : list) axes.push(axis);
  return axes;
}

// Offsets of all elements, the fastest axis first.
std::vector<AxesOffsets> enumerate(const std::vector<Axis>& list) {
  std::vector<AxesOffsets> offsets = {{}};
  for (const Axis& axis : list) {
    const std::vector<AxesOffsets> below = offsets;
    offsets.clear();
    for (size_t i = 0; i < axis.extent; ++i) {
      for (AxesOffsets at : below) {
        for (size_t t = 0; t < at.size(); ++t) at[t] += static_cast<ptrdiff_t>(i) * axis.stride[t];
        offsets.push_back(at);
      }
    }
  }
  return offsets;
}

std::vector<AxesOffsets> walk(const Axes& axes) {
  std::vector<AxesOffsets> offsets;
  for (size_t i = 0; i < axes.count(); ++i) offsets.push_back(axes.at(i));
  return offsets;
}

bool is_line(const Axis& a, const Axis& b) {
  bool line = a.reduced == b.reduced;
  for (size_t t = 0; t < kMaxAxesTensors; ++t)
    line &= b.stride[t] == a.stride[t] * static_cast<ptrdiff_t>(a.extent);
  return line;
}

TEST(Axes, OfNothingHaveOneElement) {
  const Axes axes;
  EXPECT_EQ(axes.rank(), 0u);
  EXPECT_EQ(axes.count(), 1u);
  EXPECT_EQ(axes.at(0), AxesOffsets());
  EXPECT_EQ(axes.at(0, {1, 2, 3, 4}), (AxesOffsets{1, 2, 3, 4}));
}

TEST(Axes, AreWalkedInRuns) {
  const Axes axes = make_axes({{.extent = 3, .reduced = true, .stride = {1, 0, 1, -1}},
                               {.extent = 2, .reduced = false, .stride = {3, 1, 0, -3}},
                               {.extent = 4, .reduced = false, .stride = {6, 2, 3, 0}}});
  for (size_t first = 0; first < axes.count(); ++first) {
    for (const size_t most : {size_t{1}, size_t{2}, size_t{3}}) {
      AxesWalker<kMaxAxesTensors> walker(axes, first);
      for (size_t i = first; i < axes.count();) {
        EXPECT_EQ(walker.offsets(), axes.at(i));
        EXPECT_EQ(walker.run(), 3 - i % 3);
        const size_t n = std::min(most, walker.run());
        walker.advance(n);
        i += n;
      }
    }
  }
  const Axes none;
  EXPECT_EQ(AxesWalker<kMaxAxesTensors>(none, 0).run(), 1u);
}

TEST(Axes, GiveTheOffsetsOfEveryTensor) {
  // Rows of three; broadcast along the rows, along the columns, and backwards.
  const Axes axes = make_axes({{.extent = 3, .reduced = true, .stride = {1, 0, 1, -1}},
                               {.extent = 2, .reduced = false, .stride = {3, 1, 0, -3}}});
  EXPECT_EQ(axes.count(), 6u);
  EXPECT_EQ(axes.at(0), AxesOffsets());
  EXPECT_EQ(axes.at(2), (AxesOffsets{2, 0, 2, -2}));
  EXPECT_EQ(axes.at(4), (AxesOffsets{4, 1, 1, -4}));
  EXPECT_EQ(axes.at(5, {10, 20, 30, 40}), (AxesOffsets{15, 21, 32, 35}));
}

TEST(Axes, CollapseToOneLine) {
  const Axes axes = collapsed(make_axes({{.extent = 1, .reduced = true, .stride = {9, 9, 9}},
                                         {.extent = 3, .reduced = false, .stride = {1, 0, -1}},
                                         {.extent = 1, .reduced = true, .stride = {7, 7, 7}},
                                         {.extent = 2, .reduced = false, .stride = {3, 0, -3}}}));
  ASSERT_EQ(axes.rank(), 1u);
  EXPECT_EQ(axes.count(), 6u);
  EXPECT_EQ(axes[0].extent, 6u);
  EXPECT_FALSE(axes[0].reduced);
  EXPECT_EQ(axes[0].stride, (AxesOffsets{1, 0, -1}));
}

TEST(Axes, OfOneElementCollapseToNone) {
  const Axes axes = collapsed(make_axes({{.extent = 1, .reduced = true, .stride = {1}},
                                         {.extent = 1, .reduced = false, .stride = {1}}}));
  EXPECT_EQ(axes.rank(), 0u);
  EXPECT_EQ(axes.count(), 1u);
}

TEST(Axes, StayApartWhereTheyFormNoLine) {
  const Axis first = {.extent = 3, .reduced = false, .stride = {1, 1}};
  const auto rank_with = [&](const Axis& second) {
    return collapsed(make_axes({first, second})).rank();
  };
  EXPECT_EQ(rank_with({.extent = 2, .reduced = false, .stride = {3, 3}}), 1u);
  EXPECT_EQ(rank_with({.extent = 2, .reduced = true, .stride = {3, 3}}), 2u);   // other role
  EXPECT_EQ(rank_with({.extent = 2, .reduced = false, .stride = {4, 3}}), 2u);  // padded
  EXPECT_EQ(rank_with({.extent = 2, .reduced = false, .stride = {3, 0}}), 2u);  // broadcast
  EXPECT_EQ(rank_with({.extent = 2, .reduced = false, .stride = {3, -3}}), 2u);
}

TEST(Axes, CollapsedHaveTheSameElementsInTheSameOrder) {
  std::mt19937 random(7);
  const auto pick = [&](size_t n) { return static_cast<size_t>(random()) % n; };
  size_t joins = 0;
  for (int round = 0; round < 2000; ++round) {
    std::vector<Axis> list(pick(kMaxRank + 2));
    AxesOffsets packed = {1, 1, -1, 1};
    bool reduced = pick(2) == 1;
    for (Axis& axis : list) {
      reduced ^= pick(3) == 0;
      axis = {.extent = 1 + pick(3), .reduced = reduced, .stride = {}};
      for (size_t t = 0; t < kMaxAxesTensors; ++t) {
        if (pick(8) == 0) packed[t] += packed[t] < 0 ? -1 : 1;
        axis.stride[t] = t == 3 && reduced ? 0 : packed[t];
        packed[t] =
            axis.stride[t] == 0 ? packed[t] : packed[t] * static_cast<ptrdiff_t>(axis.extent);
      }
    }
    const Axes axes = make_axes(list), fewer = collapsed(axes);
    const std::vector<AxesOffsets> expected = enumerate(list);
    ASSERT_EQ(walk(axes), expected);
    ASSERT_EQ(walk(fewer), expected);
    size_t longer = 0;
    for (const Axis& axis : list) longer += axis.extent > 1 ? 1 : 0;
    joins += longer - fewer.rank();
    for (size_t k = 0; k < fewer.rank(); ++k) {
      ASSERT_GT(fewer[k].extent, 1u);
      ASSERT_FALSE(k > 0 && is_line(fewer[k - 1], fewer[k]));
    }
  }
  EXPECT_GT(joins, 1000u);
}

TEST(Axes, OfOneTensorAreAView) {
  // The second tensor is padded; the first one alone is a line.
  const Axes axes = make_axes({{.extent = 3, .reduced = true, .stride = {1, 1}},
                               {.extent = 1, .reduced = true, .stride = {5, 5}},
                               {.extent = 2, .reduced = true, .stride = {3, 4}}});
  ASSERT_EQ(collapsed(axes).rank(), 2u);
  const View line = view_of(axes, 0), rows = view_of(axes, 1);
  EXPECT_EQ(line.rank, 1u);
  EXPECT_EQ(line.extent[0], 6u);
  EXPECT_EQ(line.count, 6u);
  ASSERT_EQ(rows.rank, 2u);
  EXPECT_EQ(rows.extent[0], 3u);
  EXPECT_EQ(rows.extent[1], 2u);
  EXPECT_EQ(rows.stride[0], 1u);
  EXPECT_EQ(rows.stride[1], 4u);
  EXPECT_EQ(rows.count, 6u);
}

}  // namespace
}  // namespace bnns::impl

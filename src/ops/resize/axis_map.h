// The map of one resized axis as a sparse matrix: target t is the sum of weight times source over a
// range of neighbouring sources. Of the forward map that is one cell or two,
//   nearest  source floor(t S / T), between corners round(t (S - 1) / (T - 1))
//   linear   the cells around p = (t + 1/2) S / T - 1/2 within [0, S - 1], or p = t (S - 1) / (T -
//   1)
// for S sources and T targets; the backward map is its transpose. Positions are computed in
// integers, so that no rounding moves one into the wrong cell. A weight is never 0: what lies at a
// cell does not read the next one, whose value may be infinite.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory.h"

namespace bnns::impl {

struct ResizeRule {
  bool linear = false;
  bool corners = false;  // the first and last cells of both grids coincide
};

// How a row along the axis is computed; the special kinds serve factors of 2.
enum class ResizeRow : uint8_t {
  kCells,       // each target is one source
  kGather2,     // at most two sources for each target
  kGather4,     // at most four
  kSums,        // any number of sources
  kRepeat,      // nearest, twice as many targets
  kRepeatBack,  // its transpose
  kTwice,       // linear between cell centres, twice as many targets
  kTwiceBack,   // its transpose
};
constexpr size_t kResizeRows = 8;

// Longer axes are refused: products of two extents and a few bits fit 64 bits, indices 32.
constexpr size_t kLongestResizedAxis = size_t{1} << 30;

// Target t reads the sources begin[t] + i with the weights weight[offset[t] + i], for
// offset[t] + i < offset[t + 1]. Begins and ends do not decrease with t.
struct AxisMap {
  size_t sources = 0, targets = 0;
  size_t widest = 0;  // the largest number of sources of one target
  size_t stride = 0;  // the largest distance between the first sources of neighbouring targets
  ResizeRow row = ResizeRow::kCells;
  Array<uint32_t> begin, offset;
  Array<float> weight;
  // Rows that gather: weight i of target t at i * targets + t, or 0 if there is no such source.
  Array<float> dense;

  explicit operator bool() const { return targets != 0; }
  size_t taps(size_t t) const { return offset[t + 1] - offset[t]; }
  size_t end(size_t t) const { return begin[t] + taps(t); }
};

AxisMap forward_map(const Memory& memory, const ResizeRule& rule, size_t sources, size_t targets);
AxisMap transposed_map(const Memory& memory, const AxisMap& forward);

}  // namespace bnns::impl

#include "ops/resize/axis_map.h"

#include <algorithm>

namespace bnns::impl {
namespace {

// A position between two sources, with their weights; the first one is never 0.
struct Position {
  size_t cell;
  float first = 1, second = 0;
};

Position nearest(const ResizeRule& rule, size_t sources, size_t targets, size_t t) {
  if (!rule.corners) return {.cell = t * sources / targets};
  if (targets == 1) return {.cell = 0};
  const size_t steps = targets - 1;
  return {.cell = (2 * t * (sources - 1) + steps) / (2 * steps)};
}

Position linear(const ResizeRule& rule, size_t sources, size_t targets, size_t t) {
  size_t numerator = 0, denominator = 1;
  if (rule.corners) {
    numerator = t * (sources - 1);
    denominator = std::max<size_t>(targets - 1, 1);
  } else {
    const size_t middle = (2 * t + 1) * sources;
    numerator = middle < targets ? 0 : middle - targets;
    denominator = 2 * targets;
  }
  const size_t cell = numerator / denominator;
  if (cell >= sources - 1) return {.cell = sources - 1};
  const auto whole = static_cast<double>(denominator);
  const size_t rest = numerator % denominator;
  return {.cell = cell,
          .first = static_cast<float>(static_cast<double>(denominator - rest) / whole),
          .second = static_cast<float>(static_cast<double>(rest) / whole)};
}

ResizeRow row_of(const ResizeRule& rule, const AxisMap& map) {
  const bool twice = map.targets == 2 * map.sources && !rule.corners;
  if (!rule.linear) return twice ? ResizeRow::kRepeat : ResizeRow::kCells;
  return twice ? ResizeRow::kTwice : ResizeRow::kGather2;
}

ResizeRow transposed_row(ResizeRow forward, size_t widest) {
  if (forward == ResizeRow::kRepeat) return ResizeRow::kRepeatBack;
  if (forward == ResizeRow::kTwice) return ResizeRow::kTwiceBack;
  if (widest <= 2) return ResizeRow::kGather2;
  return widest <= 4 ? ResizeRow::kGather4 : ResizeRow::kSums;
}

void set_dense(const Memory& memory, AxisMap& map) {
  const size_t most = map.row == ResizeRow::kGather2 ? 2 : map.row == ResizeRow::kGather4 ? 4 : 0;
  if (most == 0) return;
  map.dense = Array<float>(memory, most * map.targets);
  for (size_t i = 0; i < most; ++i)
    for (size_t t = 0; t < map.targets; ++t)
      map.dense[i * map.targets + t] = i < map.taps(t) ? map.weight[map.offset[t] + i] : 0;
}

void measure(AxisMap& map) {
  for (size_t t = 0; t < map.targets; ++t) {
    map.widest = std::max(map.widest, map.taps(t));
    if (t > 0) map.stride = std::max<size_t>(map.stride, map.begin[t] - map.begin[t - 1]);
  }
}

AxisMap empty_map(const Memory& memory, size_t sources, size_t targets, size_t weights) {
  AxisMap map;
  map.sources = sources;
  map.targets = targets;
  map.begin = Array<uint32_t>(memory, targets);
  map.offset = Array<uint32_t>(memory, targets + 1);
  map.weight = Array<float>(memory, weights);
  return map;
}

}  // namespace

AxisMap forward_map(const Memory& memory, const ResizeRule& rule, size_t sources, size_t targets) {
  AxisMap map = empty_map(memory, sources, targets, rule.linear ? 2 * targets : targets);
  uint32_t weights = 0;
  for (size_t t = 0; t < targets; ++t) {
    const Position p =
        rule.linear ? linear(rule, sources, targets, t) : nearest(rule, sources, targets, t);
    map.begin[t] = static_cast<uint32_t>(p.cell);
    map.offset[t] = weights;
    map.weight[weights++] = p.first;
    if (p.second != 0) map.weight[weights++] = p.second;
  }
  map.offset[targets] = weights;
  measure(map);
  map.row = row_of(rule, map);
  set_dense(memory, map);
  return map;
}

// The targets of the forward map that read source s are neighbours, because positions do not
// decrease: they become the sources of target s.
AxisMap transposed_map(const Memory& memory, const AxisMap& forward) {
  const size_t sources = forward.targets, targets = forward.sources;
  AxisMap map = empty_map(memory, sources, targets, forward.offset[sources]);
  std::fill_n(map.offset.data(), targets + 1, uint32_t{0});
  for (size_t t = 0; t < sources; ++t)
    for (size_t s = forward.begin[t]; s < forward.end(t); ++s)
      if (map.offset[s + 1]++ == 0) map.begin[s] = static_cast<uint32_t>(t);
  uint32_t end = 0;
  for (size_t s = 0; s < targets; ++s) {
    if (map.offset[s + 1] == 0) map.begin[s] = end;  // nobody reads this source
    end = map.begin[s] + map.offset[s + 1];
    map.offset[s + 1] += map.offset[s];
  }
  for (size_t t = 0; t < sources; ++t)
    for (size_t i = 0; i < forward.taps(t); ++i) {
      const size_t s = forward.begin[t] + i;
      map.weight[map.offset[s] + t - map.begin[s]] = forward.weight[forward.offset[t] + i];
    }
  measure(map);
  map.row = transposed_row(forward.row, map.widest);
  set_dense(memory, map);
  return map;
}

}  // namespace bnns::impl

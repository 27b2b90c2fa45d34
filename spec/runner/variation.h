// The variations of memory, numbers and flags that the runner applies to every case.
#ifndef OPENBNNS_SPEC_VARIATION_H
#define OPENBNNS_SPEC_VARIATION_H

#include <vector>

#include "runner/case.h"
#include "runner/placement.h"

namespace spec {

enum class Numbers { kRandom, kIntegers, kWide, kSpecial };

struct Variation {
  const char* suffix;
  Arrangement memory;
  Numbers numbers = Numbers::kRandom;
  bool accumulate = false;
  bool client_pointers = false;
  bool in_place = false;
};

inline const std::vector<Variation>& all_variations() {
  using enum Strides;
  using B = BatchStride;
  static const std::vector<Variation> rows = {
      {.suffix = "", .memory = {kDense, B::kZero, Edge::kEnd}},
      {.suffix = "_start",
       .memory = {kDense, B::kTight, Edge::kStart},
       .accumulate = true,
       .client_pointers = true},
      {.suffix = "_padded", .memory = {kPadded, B::kPadded, Edge::kEnd}, .client_pointers = true},
      {.suffix = "_packed", .memory = {kPadded, B::kZero, Edge::kStart}, .accumulate = true},
      {.suffix = "_strided", .memory = {kStrided, B::kPadded, Edge::kEnd}},
      {.suffix = "_odd", .memory = {kDense, B::kPadded, Edge::kStart, 1}, .accumulate = true},
      {.suffix = "_integers",
       .memory = {kDense, B::kZero, Edge::kEnd},
       .numbers = Numbers::kIntegers},
      {.suffix = "_integers_padded",
       .memory = {kPadded, B::kPadded, Edge::kEnd},
       .numbers = Numbers::kIntegers,
       .accumulate = true,
       .client_pointers = true},
      {.suffix = "_inplace", .memory = {kDense, B::kZero, Edge::kEnd}, .in_place = true},
      {.suffix = "_inplace_padded", .memory = {kPadded, B::kTight, Edge::kEnd}, .in_place = true},
      {.suffix = "_wide", .memory = {kDense, B::kZero, Edge::kEnd}, .numbers = Numbers::kWide},
      {.suffix = "_special",
       .memory = {kDense, B::kZero, Edge::kEnd},
       .numbers = Numbers::kSpecial},
  };
  return rows;
}

inline bool fits(const Variation& v, const Case& c, const TypeSet& t) {
  if (v.numbers == Numbers::kIntegers && !c.integers_are_exact) return false;
  const bool wide = v.numbers == Numbers::kWide || v.numbers == Numbers::kSpecial;
  if (wide && (!c.wide || t.types[0].info().kind != Kind::kFloat)) return false;
  if (v.in_place && (!c.in_place || t.types[0].type != t.types[1].type)) return false;
  return true;
}

// A thorough case runs with all variations. Every other one runs with the first, with one chosen by
// a hash of its name, and with integers if those must be exact.
inline std::vector<Variation> variations_of(const Case& c, const TypeSet& t) {
  std::vector<Variation> fitting, chosen;
  for (const Variation& v : all_variations())
    if (fits(v, c, t)) fitting.push_back(v);
  if (c.thorough) return fitting;
  chosen.push_back(fitting[0]);
  chosen.push_back(fitting[1 + hash(c.name() + t.name) % (fitting.size() - 1)]);
  for (const Variation& v : fitting)
    if (v.numbers == Numbers::kIntegers && v.suffix != chosen[1].suffix) chosen.push_back(v);
  return chosen;
}

}  // namespace spec
#endif

// Choice of the SIMD target. Highway compiles every kernel once per target; a filter takes its
// table of kernels at creation and keeps it, so a later OpenBNNSSetTarget affects later filters
// only. The choice is our own object: other users of Highway in the process are not affected.
#pragma once

#include <cstddef>

#include "hwy/targets.h"

namespace bnns::impl {

// Throws for a name that is unknown, not built in or not supported by this CPU; nullptr: the best.
void set_target(const char* name);
const char* target_name();
// The names of the targets, best first, ended by nullptr.
const char* const* supported_targets();

const hwy::ChosenTarget& chosen_target();

// The entry of a table made by HWY_EXPORT that belongs to the chosen target.
template <class Function, size_t N>
Function pick(Function const (&table)[N]) {
  return table[N == 1 ? 0 : chosen_target().GetIndex()];
}

}  // namespace bnns::impl

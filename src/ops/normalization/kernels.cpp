// The table of kernels of each SIMD target; the formulas stand in the files included. Sums run in
// four vectors over blocks of kSumBlock values; blocks are joined in double. The last, incomplete
// vector goes through a buffer on the stack.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/normalization/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/normalization/backward-inl.h"
#include "ops/normalization/forward-inl.h"
#include "ops/normalization/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
using namespace norm;

const NormalizationKernels* NormalizationTable() {
  static constexpr NormalizationKernels kTable = {
      .moments = StretchMoments,
      .add = AddRows,
      .deviations = Deviations,
      .flush = Flush,
      .join = Join,
      .normalize = {{Normalize<kNone, false>, Normalize<kNone, true>},
                    {Normalize<kAffine, false>, Normalize<kAffine, true>},
                    {Normalize<kAll, false>, Normalize<kAll, true>}},
      .normalize_sets = {NormalizeOwn<false>, NormalizeOwn<true>},
      .sums = {Sums<false>, Sums<true>},
      .weighted_sums = {WeightedSums<false>, WeightedSums<true>},
      .collect = {Collect<false>, Collect<true>},
      .map = {{{Map<kNone, false, false>, Map<kNone, false, true>},
               {Map<kNone, true, false>, Map<kNone, true, true>}},
              {{Map<kAffine, false, false>, Map<kAffine, false, true>},
               {Map<kAffine, true, false>, Map<kAffine, true, true>}},
              {{Map<kAll, false, false>, Map<kAll, false, true>},
               {Map<kAll, true, false>, Map<kAll, true, true>}}},
      .map_sets = {{MapSets<false, false>, MapSets<false, true>},
                   {MapSets<true, false>, MapSets<true, true>}}};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(NormalizationTable);
const NormalizationKernels* normalization_kernels() {
  return pick(HWY_DISPATCH_TABLE(NormalizationTable))();
}

}  // namespace bnns::impl
#endif

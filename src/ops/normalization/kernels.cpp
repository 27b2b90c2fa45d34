// The table of kernels of each SIMD target; the formulas are in the included files. Sums run in
// four vector accumulators over blocks of kSumBlock values, and blocks are joined in double. The
// tail of a row goes through a buffer on the stack.
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
      .normalize_groups = {NormalizeOwn<false>, NormalizeOwn<true>},
      .sums = {Sums<false>, Sums<true>},
      .weighted_sums = {WeightedSums<false>, WeightedSums<true>},
      .collect = {Collect<false>, Collect<true>},
      .map = {{{Map<kNone, false, false>, Map<kNone, false, true>},
               {Map<kNone, true, false>, Map<kNone, true, true>}},
              {{Map<kAffine, false, false>, Map<kAffine, false, true>},
               {Map<kAffine, true, false>, Map<kAffine, true, true>}},
              {{Map<kAll, false, false>, Map<kAll, false, true>},
               {Map<kAll, true, false>, Map<kAll, true, true>}}},
      .map_groups = {{MapGroups<false, false>, MapGroups<false, true>},
                     {MapGroups<true, false>, MapGroups<true, true>}}};
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

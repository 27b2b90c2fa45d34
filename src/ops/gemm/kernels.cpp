// The table of kernels of each SIMD target; the formulas are in the included files.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/gemm/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "ops/gemm/axpy-inl.h"
#include "ops/gemm/direct-inl.h"
#include "ops/gemm/kernels.h"
#include "ops/gemm/pack-inl.h"
#include "ops/gemm/tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

const GemmKernels* GemmTable() {
  static constexpr GemmKernels kTable = {.mr = gemm::kRows,
                                         .nr = gemm::kColumns,
                                         .tile = gemm::Tile,
                                         .pack_along = gemm::PackAlong,
                                         .pack_across = gemm::PackAcross,
                                         .pack_wide = gemm::PackWide,
                                         .dot = gemm::Dot,
                                         .axpy = gemm::Axpy,
                                         .column_sums = gemm::ColumnSums};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(GemmTable);
const GemmKernels* gemm_kernels() {
  return pick(HWY_DISPATCH_TABLE(GemmTable))();
}

}  // namespace bnns::impl
#endif

// Sizes of slabs, blocks and groups, see plan.h.
#include "ops/gemm/plan.h"

#include <algorithm>
#include <numeric>

#include "core/parallel.h"

namespace bnns::impl {
namespace {

// Packed slabs: 4 MB stay in a third-level cache beside the rest.
constexpr size_t kSlab = size_t{1} << 20;
// A grain's own block: 1 MB at most, of which each pass reads a block of depth. If little is
// shared, reading that again costs less than a block that leaves the second-level cache: 256 KB.
constexpr size_t kBlock = size_t{1} << 18, kSmallBlock = size_t{1} << 16;
constexpr size_t kBlockLines = 240, kLeastBlockLines = 96, kLeastSmallLines = 32;
constexpr size_t kLittleShared = size_t{1} << 16;
constexpr size_t kSlabDepth = 4 * kGemmDepth;
// Grains of one product: enough for the threads of a large machine to share them out.
constexpr size_t kGrains = 16, kLeastGrains = 8;
constexpr size_t kGroupRows = 120, kGroupColumns = 64;
// Up to this depth, writing C decides.
constexpr size_t kFlat = 64;

// Packing a value takes as long as multiplying it with 5 (B) to 10 (A) others: an operand that
// meets no more lines of the other one than these is better read where it lies.
constexpr size_t kFewRows = 64, kFewColumns = 128;

// Cache lines, one of each row of a matrix, that the first-level cache holds: rows whose distance
// is a multiple of many cache lines share few of its 64 sets.
size_t resident_lines(size_t row) {
  constexpr size_t kLine = kAlignment / sizeof(float), kSets = 64, kWays = 8;
  const size_t sets = row % kLine != 0 ? kSets : kSets / std::gcd(row / kLine, kSets);
  return row == 0 ? 1 : sets * kWays;
}

bool stays_in_place(const GemmOperand& operand) {
  return operand.packed == nullptr && operand.is_plain();
}

size_t round_up(size_t n, size_t to) {
  return div_up(n, to) * to;
}
// Floats of working memory, in whole cache lines.
size_t padded(size_t floats) {
  return round_up(floats, kAlignment / sizeof(float));
}
size_t round_down(size_t n, size_t to) {
  return std::max(to, n / to * to);
}

}  // namespace

GemmForm gemm_form(const GemmShape& shape, const GemmOperand& a, const GemmOperand& b) {
  // Beyond these, packing pays.
  constexpr size_t kDotRows = 8, kAxpyRows = 6, kAxpyTerms = 8, kSmall = 16 * 1024;
  if (!a.is_plain() || !b.is_plain()) return GemmForm::kPacked;
  const bool small = shape.m * shape.k <= kSmall && shape.m * shape.n * shape.k <= kSmall;
  if (b.transposed) {
    const bool possible = !a.transposed && (shape.m <= kDotRows || small);
    return possible ? GemmForm::kDot : GemmForm::kPacked;
  }
  const bool direct = shape.m <= kAxpyRows || shape.k <= kAxpyTerms || small;
  return direct ? GemmForm::kAxpy : GemmForm::kPacked;
}

double gemm_nanoseconds(const GemmShape& shape) {
  // About 30 multiplications and additions each nanosecond.
  return static_cast<double>(shape.m) * static_cast<double>(shape.n) *
         static_cast<double>(shape.k) / 30;
}

GemmPlan::GemmPlan(const GemmKernels& kernels, const GemmShape& shape, const GemmOperand& a,
                   const GemmOperand& b)
    : group_a(kGroupRows / kernels.mr), group_b(std::max<size_t>(1, kGroupColumns / kernels.nr)) {
  // Shared is what lies packed; otherwise the operand with fewer lines.
  own_is_a = b.packed != nullptr || (a.packed == nullptr && shape.m >= shape.n);
  own_lines = own_is_a ? shape.m : shape.n;
  shared_lines = own_is_a ? shape.n : shape.m;
  if (shape.k <= kSlabDepth) {
    a_in_place = stays_in_place(a) && !a.transposed && shape.n <= kFewColumns &&
                 resident_lines(a.row) > kernels.mr;
    b_in_place = stays_in_place(b) && !b.transposed && shape.m <= kFewRows &&
                 shape.n % (kernels.nr / 2) == 0 && resident_lines(b.row) >= 2 * shape.k;
  }
  const auto ready = [&](bool is_a) {
    return is_a ? a.packed != nullptr || a_in_place : b.packed != nullptr || b_in_place;
  };
  const bool shared_packed = ready(!own_is_a), own_packed = ready(own_is_a);
  const size_t own_width = own_is_a ? kernels.mr : kernels.nr;
  const size_t shared_width = own_is_a ? kernels.nr : kernels.mr;
  depth_slab = std::min(shape.k, kSlabDepth);
  const bool many_slabs = depth_slab < shape.k;

  shared_slab = round_up(shared_lines, shared_width);
  if (!shared_packed || many_slabs)
    shared_slab = std::min(shared_slab, round_down(kSlab / depth_slab, shared_width));
  if (!shared_packed) shared_floats = padded(shared_slab * depth_slab);

  const bool little = shared_slab * depth_slab <= kLittleShared;
  const size_t fitting = std::min((little ? kSmallBlock : kBlock) / depth_slab, kBlockLines);
  block = std::max(std::min(fitting, div_up(own_lines, kGrains)),
                   little && shape.k > kFlat ? kLeastSmallLines : kLeastBlockLines);
  block = round_down(std::min(block, round_up(own_lines, own_width)), own_width);
  const size_t own_all = round_up(own_lines, own_width);
  local = !own_packed && (own_lines > kLeastGrains * block || own_all > kSlab / depth_slab);
  own_slab = own_all;
  if (many_slabs) own_slab = std::min(own_slab, round_down(kSlab / shared_slab, block));
  if (local) block_floats = padded(block * depth_slab);
  if (!local && !own_packed) own_floats = padded(own_slab * depth_slab);

  const size_t sum_size = 2 * kernels.mr * kernels.nr;
  sum_rows = (own_is_a ? own_slab : shared_slab) / kernels.mr;
  if (many_slabs) {
    sum_floats = sum_rows * ((own_is_a ? shared_slab : own_slab) / kernels.nr) * sum_size;
  } else if (shape.k > kGemmDepth) {
    group_floats = group_a * group_b * sum_size;
  }
}

}  // namespace bnns::impl

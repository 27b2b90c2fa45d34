// Sizes of slabs, blocks and groups, see plan.h; and how panels are filled.
#include "ops/gemm/plan.h"

#include <algorithm>
#include <numeric>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/convert.h"
#include "math/half.h"

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
  return operand.packed == nullptr && operand.has_plain();
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

// One line of values, or the values of neighbouring lines.
void to_float(const ConvertKernels& convert, const GemmMatrix& from, size_t offset, size_t n,
              float* to) {
  const auto scaled = [&](const auto* values) {
    for (size_t i = 0; i < n; ++i)
      to[i] = from.scale * static_cast<float>(values[offset + i]) + from.bias;
  };
  switch (from.type) {
    case BNNSDataTypeFloat16:
      return convert.half_to_float(static_cast<const uint16_t*>(from.data) + offset, n, to);
    case BNNSDataTypeBFloat16:
      for (size_t i = 0; i < n; ++i)
        to[i] = bfloat_to_float(static_cast<const uint16_t*>(from.data)[offset + i]);
      return;
    case BNNSDataTypeInt8:
      return scaled(static_cast<const int8_t*>(from.data));
    default:
      return scaled(static_cast<const uint8_t*>(from.data));
  }
}

// Other types than Float32 in pieces that fit the stack.
void pack_converted(const GemmKernels& kernels, const GemmMatrix& from, bool along, size_t first,
                    size_t count, size_t k0, size_t depth, size_t width, float* panel) {
  constexpr size_t kPiece = 64, kMostLines = 64;
  const ConvertKernels& convert = *convert_kernels();
  float values[kMostLines * kPiece];
  const size_t step = along ? kPiece : std::min(kPiece, depth);
  for (size_t k = 0; k < depth; k += step) {
    const size_t n = std::min(step, depth - k);
    if (along) {
      for (size_t line = 0; line < count; ++line)
        to_float(convert, from, (first + line) * from.row + k0 + k, n, values + line * kPiece);
      kernels.pack_along(values, kPiece, count, n, width, panel + k * width);
    } else {
      for (size_t i = 0; i < n; ++i)
        to_float(convert, from, (k0 + k + i) * from.row + first, count, values + i * kMostLines);
      kernels.pack_across(values, kMostLines, count, n, width, panel + k * width);
    }
  }
}

void pack_block(const GemmKernels& kernels, GemmSide side, const GemmOperand& from, size_t first,
                size_t count, size_t k0, size_t depth, size_t width, float* panel) {
  if (from.packer != nullptr)
    return from.packer->pack(from.packer->context, first, count, k0, depth, panel);
  const GemmMatrix& matrix = from.matrix;
  const bool along = matrix.transposed == (side == GemmSide::kB);
  if (matrix.type != BNNSDataTypeFloat32)
    return pack_converted(kernels, matrix, along, first, count, k0, depth, width, panel);
  const auto* data = static_cast<const float*>(matrix.data);
  if (along) {
    kernels.pack_along(data + first * matrix.row + k0, matrix.row, count, depth, width, panel);
  } else {
    kernels.pack_across(data + k0 * matrix.row + first, matrix.row, count, depth, width, panel);
  }
}

}  // namespace

GemmForm gemm_form(const GemmShape& shape, const GemmOperand& a, const GemmOperand& b) {
  // Beyond these, packing pays.
  constexpr size_t kDotRows = 8, kAxpyRows = 6, kAxpyTerms = 8, kSmall = 16 * 1024;
  if (!a.has_plain() || !b.has_plain()) return GemmForm::kPacked;
  const bool small = shape.m * shape.k <= kSmall && shape.m * shape.n * shape.k <= kSmall;
  if (b.matrix.transposed) {
    const bool possible = !a.matrix.transposed && (shape.m <= kDotRows || small);
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

void pack_group(const GemmKernels& kernels, GemmSide side, const GemmOperand& from,
                const GemmPanels& to, size_t group, size_t line0, size_t k0) {
  const size_t panel0 = group * kGemmPackPanels;
  const size_t panel1 = std::min(to.panels, panel0 + kGemmPackPanels);
  const GemmMatrix& matrix = from.matrix;
  const bool wide = side == GemmSide::kB && from.packer == nullptr && !matrix.transposed &&
                    matrix.type == BNNSDataTypeFloat32 &&
                    to.first(panel1) - to.first(panel0) == kGemmPackPanels * to.width;
  for (size_t k = 0; k < to.depth; k += kGemmDepth) {
    const size_t depth = std::min(kGemmDepth, to.depth - k);
    if (wide) {
      kernels.pack_wide(
          static_cast<const float*>(matrix.data) + (k0 + k) * matrix.row + line0 + to.first(panel0),
          matrix.row, depth, depth * to.width, to.at(panel0, k));
      continue;
    }
    for (size_t panel = panel0; panel < panel1; ++panel) {
      pack_block(kernels, side, from, line0 + to.first(panel), to.count(panel), k0 + k, depth,
                 to.width, to.at(panel, k));
    }
  }
}

GemmPlan::GemmPlan(const GemmKernels& kernels, const GemmShape& shape, const GemmOperand& a,
                   const GemmOperand& b, GemmPacking packing)
    : group_a(kGroupRows / kernels.mr),
      group_b(std::max<size_t>(1, kGroupColumns / kernels.nr)),
      work(gemm_nanoseconds(shape)) {
  // Shared is what lies packed; otherwise the operand with fewer lines.
  own_is_a = b.packed != nullptr || (a.packed == nullptr && shape.m >= shape.n);
  own_lines = own_is_a ? shape.m : shape.n;
  shared_lines = own_is_a ? shape.n : shape.m;
  if (packing == GemmPacking::kWherePays && shape.k <= kSlabDepth) {
    a_in_place = stays_in_place(a) && !a.matrix.transposed && shape.n <= kFewColumns &&
                 resident_lines(a.matrix.row) > kernels.mr;
    b_in_place = stays_in_place(b) && !b.matrix.transposed && shape.m <= kFewRows &&
                 shape.n % (kernels.nr / 2) == 0 && resident_lines(b.matrix.row) >= 2 * shape.k;
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

GemmPanels::GemmPanels(float* to, const GemmKernels& kernels, GemmSide side, size_t n_lines,
                       size_t n_depth)
    : data(to),
      lines(n_lines),
      depth(n_depth),
      width(side == GemmSide::kA ? kernels.mr : kernels.nr),
      panels(div_up(n_lines, width)),
      least(side == GemmSide::kA ? n_lines / std::max<size_t>(1, panels) : width),
      longer(side == GemmSide::kA ? n_lines - panels * least : 0) {}

PackedMatrix::PackedMatrix(const Memory& memory, const GemmKernels& kernels, GemmSide side,
                           size_t lines, size_t depth)
    : panels_(nullptr, kernels, side, lines, depth), side_(side) {
  const size_t rows = checked_mul(panels_.panels, panels_.width, "a packed matrix");
  memory_ = Array<float>(memory, checked_mul(rows, depth, "a packed matrix"));
  panels_.data = memory_.data();
}

void PackedMatrix::pack(const GemmKernels& kernels, size_t threads, const GemmOperand& from) {
  const double work = static_cast<double>(panels_.size()) / 2;
  parallel_for(useful_threads(threads, work), pack_groups(panels_), [&](size_t group, size_t) {
    pack_group(kernels, side_, from, panels_, group, 0, 0);
  });
}

}  // namespace bnns::impl

// How panels are filled from matrices of any supported type.
#include "ops/gemm/operand.h"

#include <algorithm>
#include <cstdint>

#include "core/checked.h"
#include "core/parallel.h"
#include "math/half.h"
#include "ops/convert/convert.h"

namespace bnns::impl {
namespace {

// One line of values, or the values of neighbouring lines.
void to_float(const ConvertKernels& convert, const GemmSource& from, size_t offset, size_t n,
              float* to) {
  const auto scaled = [&](const auto* values) {
    for (size_t i = 0; i < n; ++i)
      to[i] = from.operand.scale * static_cast<float>(values[offset + i]) + from.operand.bias;
  };
  switch (from.operand.type) {
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
void pack_converted(const GemmKernels& kernels, const GemmSource& from, bool along, size_t first,
                    size_t count, size_t k0, size_t depth, size_t width, float* panel) {
  constexpr size_t kPiece = 64, kMostLines = 64;
  const ConvertKernels& convert = *convert_kernels();
  float values[kMostLines * kPiece];
  const size_t step = along ? kPiece : std::min(kPiece, depth);
  for (size_t k = 0; k < depth; k += step) {
    const size_t n = std::min(step, depth - k);
    if (along) {
      for (size_t line = 0; line < count; ++line)
        to_float(convert, from, (first + line) * from.operand.row + k0 + k, n,
                 values + line * kPiece);
      kernels.pack_along(values, kPiece, count, n, width, panel + k * width);
    } else {
      for (size_t i = 0; i < n; ++i)
        to_float(convert, from, (k0 + k + i) * from.operand.row + first, count,
                 values + i * kMostLines);
      kernels.pack_across(values, kMostLines, count, n, width, panel + k * width);
    }
  }
}

void pack_block(const GemmKernels& kernels, const GemmSource& from, size_t first, size_t count,
                size_t k0, size_t depth, size_t width, float* panel) {
  const GemmOperand& operand = from.operand;
  if (operand.packer != nullptr)
    return operand.packer->pack(operand.packer->context, first, count, k0, depth, panel);
  const bool along = operand.transposed == (from.side == GemmSide::kB);
  const size_t row = operand.row;
  if (operand.type != BNNSDataTypeFloat32)
    return pack_converted(kernels, from, along, first, count, k0, depth, width, panel);
  if (along) {
    kernels.pack_along(from.floats() + first * row + k0, row, count, depth, width, panel);
  } else {
    kernels.pack_across(from.floats() + k0 * row + first, row, count, depth, width, panel);
  }
}

}  // namespace

size_t pack_groups(const GemmPanels& to) {
  return div_up(to.panels, kGemmPackPanels);
}

void pack_group(const GemmKernels& kernels, const GemmSource& from, const GemmPanels& to,
                size_t group, size_t line0, size_t k0) {
  const size_t panel0 = group * kGemmPackPanels;
  const size_t panel1 = std::min(to.panels, panel0 + kGemmPackPanels);
  const GemmOperand& operand = from.operand;
  const bool wide = from.side == GemmSide::kB && operand.packer == nullptr && !operand.transposed &&
                    operand.type == BNNSDataTypeFloat32 &&
                    to.first(panel1) - to.first(panel0) == kGemmPackPanels * to.width;
  for (size_t k = 0; k < to.depth; k += kGemmDepth) {
    const size_t depth = std::min(kGemmDepth, to.depth - k);
    if (wide) {
      kernels.pack_wide(from.floats() + (k0 + k) * operand.row + line0 + to.first(panel0),
                        operand.row, depth, depth * to.width, to.at(panel0, k));
      continue;
    }
    for (size_t panel = panel0; panel < panel1; ++panel) {
      pack_block(kernels, from, line0 + to.first(panel), to.count(panel), k0 + k, depth, to.width,
                 to.at(panel, k));
    }
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
    : memory_(memory, floats(kernels, side, lines, depth)),
      panels_(memory_.data(), kernels, side, lines, depth),
      side_(side) {}

PackedMatrix::PackedMatrix(float* memory, const GemmKernels& kernels, GemmSide side, size_t lines,
                           size_t depth)
    : panels_(memory, kernels, side, lines, depth), side_(side) {}

size_t PackedMatrix::floats(const GemmKernels& kernels, GemmSide side, size_t lines, size_t depth) {
  const GemmPanels panels(nullptr, kernels, side, lines, depth);
  const size_t rows = checked_mul(panels.panels, panels.width, "a packed matrix");
  return checked_mul(rows, depth, "a packed matrix");
}

void PackedMatrix::pack(const GemmKernels& kernels, size_t threads, const GemmOperand& from,
                        const void* data) {
  const GemmSource source = {.side = side_, .operand = from, .data = data};
  const double work = static_cast<double>(panels_.size()) / 2;
  parallel_for(useful_threads(threads, work), pack_groups(panels_),
               [&](size_t group, size_t) { pack_group(kernels, source, panels_, group, 0, 0); });
}

}  // namespace bnns::impl

// Operands of a matrix product: how they lie, and panels of them.
//   Panels: A in panels of mr rows, panel[k * mr + m]; B in panels of nr columns, panel[k * nr +
//   n], zeros behind the last row or column. A kernel multiplies two panels into a tile of C.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/memory.h"
#include "core/types.h"
#include "ops/gemm/kernels.h"

namespace bnns::impl {

// M rows and N columns of C, K summed.
struct GemmShape {
  size_t m, n, k;
};

// An operand that packs itself: fills ONE panel with `count` rows of A (columns of B) from `first`
// on, depth k0 to k0 + depth. The width of the panel is kernels.mr for A and kernels.nr for B; what
// lies behind `count` must be filled with zeros. `count` rows of A may be any number up to mr,
// columns of B are nr but for the last panel. Called from several threads at once.
struct GemmPacker {
  void (*pack)(const void* context, size_t first, size_t count, size_t k0, size_t depth,
               float* panel);
  const void* context;
};

class PackedMatrix;

// How an operand lies; where it lies comes with each run. A(m, k) at data[m * row + k], B(k, n) at
// data[k * row + n]; transposed: A(m, k) at data[k * row + m], B(k, n) at data[n * row + k]. Types:
// Float32, Float16, BFloat16, Int8 and UInt8 (scale * x + bias), converted while packing.
struct GemmOperand {
  size_t row = 0;  // distance of rows in values; 0: not known yet, the operand will be packed
  bool transposed = false;
  BNNSDataType type = BNNSDataTypeFloat32;
  float scale = 1, bias = 0;
  const GemmPacker* packer = nullptr;    // instead of a matrix
  const PackedMatrix* packed = nullptr;  // panels that were filled before
  // Whether the matrix itself is there as well as its panels: shapes that are faster without
  // packing then use that.
  bool has_matrix = true;

  bool is_plain() const { return packer == nullptr && has_matrix && type == BNNSDataTypeFloat32; }
};

enum class GemmSide { kA, kB };

// An operand and the place of its matrix.
struct GemmSource {
  GemmSide side;
  const GemmOperand& operand;
  const void* data;

  const float* floats() const { return static_cast<const float*>(data); }
};

// Where panels of one operand lie: blocks of depth one after the other, in a block panel by panel.
// Rows of A are shared out evenly (32 rows at mr = 6: 6, 6, 5, 5, 5, 5), columns of B fill panels.
struct GemmPanels {
  float* data = nullptr;
  size_t lines = 0;  // rows of A or columns of B
  size_t depth = 0;
  size_t width = 0;  // mr or nr
  size_t panels = 0;
  size_t least = 0, longer = 0;  // lines of a panel; so many panels have one more

  GemmPanels() = default;
  GemmPanels(float* to, const GemmKernels& kernels, GemmSide side, size_t n_lines, size_t n_depth);
  size_t size() const { return panels * width * depth; }
  size_t first(size_t panel) const {
    return std::min(lines, panel * least + std::min(panel, longer));
  }
  size_t count(size_t panel) const { return first(panel + 1) - first(panel); }
  // k0 is a multiple of kGemmDepth.
  float* at(size_t panel, size_t k0) const {
    return data + (panels * k0 + panel * std::min(kGemmDepth, depth - k0)) * width;
  }
};

// An operand packed once and used for many products. Reading it needs no lock.
class PackedMatrix {
 public:
  PackedMatrix() = default;
  // Room for `lines` rows of A or columns of B, `depth` deep; throws where the hooks fail.
  PackedMatrix(const Memory& memory, const GemmKernels& kernels, GemmSide side, size_t lines,
               size_t depth);
  // The same in memory of the caller, floats() of it, which must outlive this object.
  PackedMatrix(float* memory, const GemmKernels& kernels, GemmSide side, size_t lines,
               size_t depth);
  static size_t floats(const GemmKernels& kernels, GemmSide side, size_t lines, size_t depth);
  void pack(const GemmKernels& kernels, size_t threads, const GemmOperand& from, const void* data);

  const GemmPanels& panels() const { return panels_; }
  explicit operator bool() const { return panels_.data != nullptr; }

 private:
  Array<float> memory_;
  GemmPanels panels_;
  GemmSide side_ = GemmSide::kA;
};

// Panels are packed in groups of up to kGemmPackPanels.
size_t pack_groups(const GemmPanels& to);
// Fills the panels of group `group` of `to` from lines line0 + to.first(panel) on, depth k0 to k0 +
// to.depth.
void pack_group(const GemmKernels& kernels, const GemmSource& from, const GemmPanels& to,
                size_t group, size_t line0, size_t k0);

}  // namespace bnns::impl

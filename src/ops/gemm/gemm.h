// C = epilogue(alpha A B + beta C + bias) in single precision: M rows and N columns of C (columns
// contiguous), K summed; all four cases of transposed operands, 16-bit and 8-bit operands too.
//   Panels: A in panels of mr rows, panel[k * mr + m]; B in panels of nr columns, panel[k * nr +
//   n], zeros behind the last row or column. A kernel multiplies two panels into a tile of C.
//   Depth: K is cut into blocks of kGemmDepth. Inside a block, chains of kGemmChain products are
//   joined pairwise; blocks are joined with a compensated sum (hi, lo).
//   Threads: grains, panels and the order of sums follow from the problem alone, so the bits do
//   not depend on the number of threads; they depend on the SIMD target.
// Nothing here allocates: gemm_scratch() tells how many floats of working memory a run needs.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/memory.h"
#include "core/view.h"
#include "ops/gemm/kernels.h"

namespace bnns::impl {

struct GemmShape {
  size_t m, n, k;
};

// A plain matrix. A(m, k) at data[m * row + k], B(k, n) at data[k * row + n]; transposed: A(m, k)
// at data[k * row + m], B(k, n) at data[n * row + k]. Types: Float32, Float16, BFloat16, Int8 and
// UInt8 (scale * x + bias), converted while packing.
struct GemmMatrix {
  const void* data = nullptr;
  size_t row = 0;  // distance of rows in values
  bool transposed = false;
  BNNSDataType type = BNNSDataTypeFloat32;
  float scale = 1, bias = 0;
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

// One of the three. A packed operand may tell where its plain matrix lies, too: shapes that are
// faster without packing then use that.
struct GemmOperand {
  GemmMatrix matrix = {};
  const GemmPacker* packer = nullptr;
  const PackedMatrix* packed = nullptr;

  bool has_plain() const {
    return packer == nullptr && (packed == nullptr || matrix.data != nullptr) &&
           matrix.type == BNNSDataTypeFloat32;
  }
};

enum class GemmSide { kA, kB };

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
  void pack(const GemmKernels& kernels, size_t threads, const GemmOperand& from);

  const GemmPanels& panels() const { return panels_; }
  explicit operator bool() const { return panels_.data != nullptr; }

 private:
  Array<float> memory_;
  GemmPanels panels_;
  GemmSide side_ = GemmSide::kA;
};

// A part of C: rows [m0, m1) x columns [n0, n1).
struct GemmTile {
  size_t m0, m1, n0, n1;
};

// Called once on every part of C when it is complete and still in the cache, e.g. to apply an
// activation to it; from several threads at once, the parts do not overlap.
struct GemmEpilogue {
  void (*finish)(const void* context, const GemmTile& tile) = nullptr;
  const void* context = nullptr;
};

// Floats of working memory that run_gemm() needs for these arguments with up to `threads` threads,
// aligned to kAlignment; 0 for the shapes that are not packed. Bounded: at most a few megabytes
// and some hundred kilobytes a thread, whatever the shape. Only what kind of operand a and b are
// matters here, not their data.
size_t gemm_scratch(const GemmKernels& kernels, size_t threads, const GemmShape& shape,
                    const GemmOperand& a, const GemmOperand& b);

void run_gemm(const GemmKernels& kernels, size_t threads, const GemmShape& shape,
              const GemmOperand& a, const GemmOperand& b, const GemmTarget& c,
              const GemmEpilogue& epilogue, float* scratch);

// `count` products of one shape with plain operands: of product i everything lies i steps further.
// Products are the grains; scratch is `threads` times that of one product with one thread.
struct GemmSteps {
  size_t a, b, c;  // in values
};
void run_gemm_batch(const GemmKernels& kernels, size_t threads, size_t count,
                    const GemmShape& shape, const GemmOperand& a, const GemmOperand& b,
                    const GemmTarget& c, const GemmSteps& steps, float* scratch);

}  // namespace bnns::impl

// Decisions of the matrix product that follow from the shape and the kind of its operands alone.
#pragma once

#include <cstddef>

#include "ops/gemm/operand.h"

namespace bnns::impl {

// How a product is computed.
enum class GemmForm { kPacked, kDot, kAxpy };
GemmForm gemm_form(const GemmShape& shape, const GemmOperand& a, const GemmOperand& b);

// On one core, about.
double gemm_nanoseconds(const GemmShape& shape);

// Slabs, blocks and groups of a product that is packed. Lines are rows of A or columns of B. An
// operand that is used few times is read where it lies, which never takes more memory.
struct GemmPlan {
  GemmPlan(const GemmKernels& kernels, const GemmShape& shape, const GemmOperand& a,
           const GemmOperand& b);

  bool own_is_a;  // the grains pack A, B is shared; or the other way round
  bool a_in_place = false, b_in_place = false;
  bool local;  // grains pack their block themselves; otherwise it is packed before
  size_t own_lines, shared_lines;
  size_t own_slab, shared_slab;  // lines that are worked on together
  size_t depth_slab;             // K is summed in slabs of so many, or all of it
  size_t block;                  // own lines of a grain
  size_t group_a, group_b;       // panels whose tiles are computed together
  size_t sum_rows;               // panels of A in the sums of a slab
  size_t shared_floats = 0, own_floats = 0, sum_floats = 0, block_floats = 0;
  size_t group_floats = 0;  // sums of a group

  size_t worker_floats() const { return block_floats + group_floats; }
  size_t floats(size_t threads) const {
    return shared_floats + own_floats + sum_floats + threads * worker_floats();
  }
};

}  // namespace bnns::impl

// Padding of any axes of a tensor, whose values stay where they are relative to each other:
//   constant   y outside x is a fixed pattern of bits
//   reflect    y goes on as the mirror image of x, the edge not repeated:  C B A B C
//   symmetric  the same with the edge repeated:                            B A A B
// A mirror image that is not long enough goes on with its own mirror image.
//   backward   dx(p) = the sum of dy over the cells that are copies of x(p), in float, in an order
//              that follows from the axes alone
// Work is cut into rows along the fastest axis of the tensor that is written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/axes.h"
#include "ops/convert/convert.h"
#include "ops/movement/move.h"

namespace bnns::impl {

enum class PaddingKind : uint8_t { kConstant, kReflect, kSymmetric };

struct PaddingAxis {
  size_t extent;         // of x
  size_t before, after;  // cells that are added
  size_t in, out;        // strides in values

  size_t out_extent() const { return before + extent + after; }
  bool is_padded() const { return before + after > 0; }
};

// The axes in memory order of the output, a batch among them. A mirrored axis that is padded has
// two elements or more if its edge is not repeated.
struct PaddingProblem {
  PaddingKind kind = PaddingKind::kConstant;
  unsigned char fill[sizeof(uint64_t)] = {};  // begins with the bits of the constant
  size_t rank = 0;
  PaddingAxis axis[kMaxRank + 1];

  PaddingProblem() {}
  void push(const PaddingAxis& a) { axis[rank++] = a; }
};

void run_padding(size_t threads, size_t bytes, const PaddingProblem& problem, const void* in,
                 void* out);

// dx = or += the gradient; Float32 or BFloat16.
void run_padding_backward(const MoveKernels& kernels, const ConvertKernels& convert, size_t threads,
                          const PaddingProblem& problem, const AxesTensor& dx, const AxesTensor& dy,
                          bool accumulate);

}  // namespace bnns::impl

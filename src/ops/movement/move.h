// Moves stored values between two strided tensors that have the same axes in different orders of
// memory: copies, transpositions, permutations, repetitions. Bits are moved as they are, so that
// only the size of a value matters.
//   Rows: both tensors have the same fastest axis, or the source repeats a value along it.
//   Turned: the target's fastest axis is another one than the source's. The plane of both axes is
//   cut into blocks that fit the first-level cache, and those are transposed in registers.
// A grain is a number of blocks. Nothing is summed, so any order gives the same bits.
#pragma once

#include <cstddef>

#include "core/axes.h"
#include "core/view.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

struct MoveAxis {
  size_t extent;
  size_t from, to;  // strides in values; `from` may be 0, which repeats
};

// The axes in any order. A tensor and the repetitions of each of its axes, and a batch.
struct Move {
  static constexpr size_t kMaxAxes = 2 * kMaxRank + 1;

  size_t rank = 0;
  MoveAxis axis[kMaxAxes];

  Move() {}
  void push(const MoveAxis& a) { axis[rank++] = a; }
  size_t count() const {
    size_t n = 1;
    for (size_t k = 0; k < rank; ++k) n *= axis[k].extent;
    return n;
  }
};

// The axes of two collapsed views whose elements are paired in order. False if no common axes
// describe both.
bool pair_axes(const View& from, const View& to, Move& move);

// Indexed by the binary logarithm of the size of a value.
struct MoveKernels {
  // to[i + k * to_row] = from[i * from_row + k] for i < width, k < height; strides in values.
  using Turn = void (*)(const void* from, size_t from_row, void* to, size_t to_row, size_t width,
                        size_t height);
  Turn turn[4];
};
const MoveKernels* move_kernels();

// Elements of the target must not overlap each other or the source.
void run_move(const MoveKernels& kernels, size_t threads, size_t bytes, const Move& move,
              const void* from, void* to);

// to += from, or to = from with conversion; floating-point types, at most kMaxRank + 1 axes.
void run_move_converted(const ConvertKernels& kernels, size_t threads, const Move& move,
                        const AxesTensor& from, const AxesTensor& to, bool accumulate);

// A gradient: a plain move where it is one.
void run_gradient_move(const MoveKernels& kernels, const ConvertKernels& convert, size_t threads,
                       const Move& move, const AxesTensor& from, const AxesTensor& to,
                       bool accumulate);

}  // namespace bnns::impl

// y = act(b + W x) for a batch and a sparse matrix W, of which each row lists its stored elements:
//   y(o) = b(o) + sum over the elements (i, w) of row o of w x(i)
//   A few samples are computed one by one, with vectors of elements whose x(i) are gathered. More
// are computed in blocks of one or two vectors of samples: x is transposed first, so that one
// element meets all samples of a block in one multiply-add each.
// Parallel over blocks and groups of rows. A sum belongs to one group and its order depends on the
// row and the size of the block, not on threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/batch.h"
#include "core/scratch_pool.h"
#include "ops/activation/fused.h"
#include "ops/convert/convert.h"
#include "ops/sparse/pack.h"

namespace bnns::impl {

// Row r has elements [start[r], start[r] + count[r]), and behind them zeros up to a multiple of
// the vector length, whose column is the one behind the last.
struct SparseRows {
  const float* value;
  const int32_t* column;
  const size_t* start;
  const uint32_t* count;
  const float* bias;  // NULL: none
};

struct SparseKernels {
  size_t lanes;
  // Rows [first, first + n) for one sample; x has a zero behind its last value.
  void (*one)(const SparseRows& w, size_t first, size_t n, const float* x, float* y);
  // Column i of `samples` rows of x goes to to[(i - first) * width], for i in [first, first + n).
  // Samples are filled up to `width` with zeros.
  void (*transpose)(const float* x, size_t x_step, size_t samples, size_t width, size_t first,
                    size_t n, float* to);
  // Rows [first, first + n) for up to one or two vectors of samples, n at most kMostRows; x is
  // transposed. Sample s goes to y + s * y_step.
  void (*block[2])(const SparseRows& w, size_t first, size_t n, const float* x, size_t samples,
                   float* y, size_t y_step);
};
const SparseKernels* sparse_kernels();

constexpr size_t kMostSparseRows = 64;

struct SparseProblem {
  size_t in_size, out_size;
  View in, out;  // one sample, not collapsed
  FusedActivation activation;
};

class SparseFullyConnectedOp {
 public:
  static constexpr size_t kChunk = 128;  // samples that are computed at a time

  // `scaling` is that of the packed values.
  SparseFullyConnectedOp(const Memory& memory, size_t threads, const SparseProblem& problem,
                         const SparsePack& pack, const Scaling& scaling);

  // A bias as it lies with the client, of any readable type: copied, or read at every call.
  void own_bias(const View& bias);
  void use_bias(const View& bias);

  void forward(const Batch& in, const Batch& out, uint64_t random_stream);
  void reserve(size_t batch, size_t callers);

  const FusedActivation& activation() const { return problem_.activation; }
  size_t nonzeros() const { return nonzeros_; }

 private:
  struct Scratch {
    Array<float> x, y, turned, bias;
  };
  struct Block;

  Block block_at(size_t first, size_t samples) const;
  size_t turned_floats(size_t samples) const;
  void turn(const float* x, size_t x_step, size_t samples, float* turned) const;
  void multiply(const SparseRows& w, const float* turned, size_t samples, float* y,
                size_t y_step) const;
  const float* ready_bias(Scratch& scratch) const;
  void grow(Scratch& scratch, size_t samples) const;

  Memory memory_;
  size_t threads_;
  SparseProblem problem_;
  const SparseKernels* kernels_ = sparse_kernels();
  const ConvertKernels* convert_ = convert_kernels();
  bool in_direct_, out_direct_;  // contiguous Float32 samples
  size_t nonzeros_;
  Array<float> value_, own_bias_;
  Array<int32_t> column_;
  Array<size_t> start_;
  Array<uint32_t> count_;
  View bias_;  // data NULL: none, or copied
  ScratchPool<Scratch> scratch_;
};

}  // namespace bnns::impl

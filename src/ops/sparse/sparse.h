// y = act(b + W x) for a batch and a sparse matrix W, of which each row lists its stored elements:
//   y(o) = b(o) + sum over the elements (i, w) of row o of w x(i)
// Rows are stored in groups of eight that have about as many elements, the first elements of all
// eight before the second ones: kernels add one element of each row per step. A block of samples is
// transposed first, so that one element meets all of its samples in one or two multiply-adds.
// Parallel over blocks and 64 rows at a time. Sums are kept in float, in partial sums of 64
// elements in their order, which depends neither on the number of samples nor on threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/batch.h"
#include "core/scratch_pool.h"
#include "ops/activation/fused.h"
#include "ops/convert/convert.h"
#include "ops/sparse/pack.h"

namespace bnns::impl {

constexpr size_t kSparseGroup = 8;
constexpr size_t kMostSparseRows = 64;  // of one call of a kernel, and that are sorted

// Every 64 rows are sorted by their number of elements, and each eight of them are a group. Element
// j of place k of group g is number start[g] + 8 j + k. Shorter rows are filled up with zeros,
// whose column is the one behind the last.
struct SparseRows {
  const float* value;
  const uint64_t* column;  // two each, the first one in the lower half: fewer loads
  const size_t* start;     // of a group
  const uint32_t* count;   // of a group: elements of its longest row
  const uint8_t* place;    // which of the 64 rows it is: eight for each group
  const float* bias;       // NULL: none
};

struct SparseKernels {
  size_t most_samples;  // of a block, a power of two
  // Column i of `samples` rows of x goes to to[(i - first) * width], for i in [first, first + n).
  // Samples are filled up to `width` with zeros.
  void (*transpose)(const float* x, size_t x_step, size_t samples, size_t width, size_t first,
                    size_t n, float* to);
  // rows[k]: rows [first, first + n) for up to 2^k samples; `first` is a multiple of 64, n at most
  // 64. x is transposed with width 2^k, and has zeros behind its last column. Sample s goes to
  // y + s * y_step.
  void (*rows[6])(const SparseRows& w, size_t first, size_t n, const float* x, size_t samples,
                  float* y, size_t y_step);
};
const SparseKernels* sparse_kernels();

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
  size_t sort_rows(const Array<uint32_t>& count);
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
  Array<uint64_t> column_;
  Array<size_t> start_;
  Array<uint32_t> count_;
  Array<uint8_t> place_;
  View bias_;  // data NULL: none, or copied
  ScratchPool<Scratch> scratch_;
};

}  // namespace bnns::impl

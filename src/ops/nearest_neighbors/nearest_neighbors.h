// The nearest of n samples with F features each, by Euclidean distance:
//   d^2(i, j) = sum over f of (x_if - x_jf)^2
// Differences are squared and added in float, feature by feature, in partial sums of 64 terms:
// equal samples are at distance 0, and distances are symmetric. If squares of the samples may
// overflow or vanish, the sums of the table are in double. Neighbours are ordered by d^2, or by d
// from double rounded to float, NaN last, and equal ones by their index; a sample is its own first
// neighbour. Groups of samples are the grains.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/memory.h"
#include "ops/convert/convert.h"
#include "ops/top_k/selection.h"

namespace bnns::impl {

// Samples are stored in blocks, feature by feature: x[block][feature][sample of the block].
constexpr size_t kBlockSamples = 16;
// The samples of a group, whose distances are computed together; a block is whole groups.
constexpr size_t kGroupSamples = 8;

struct DistanceKernels {
  struct Of {
    // out[q * row + s] = that of sample q of the group and sample s of the blocks. The group is
    // given by the address of its first feature.
    void (*group)(const float* group, const float* blocks, size_t count, size_t features,
                  float* out, size_t row);
    // The same for one sample.
    void (*one)(const float* sample, const float* blocks, size_t count, size_t features,
                float* out);
  };
  Of squares;  // squared distances, from sums in float
  Of roots;    // distances, from sums in double
};
const DistanceKernels* distance_kernels();

// Where the results go: `neighbors` entries per sample. Missing neighbours are index -1 at
// infinity.
struct NeighborsOut {
  int32_t* indices = nullptr;  // nullptr: not wanted
  void* distances = nullptr;   // nullptr: not wanted
};

class NearestNeighborsOp {
 public:
  NearestNeighborsOp(const Memory& memory, size_t threads, size_t max_samples, size_t features,
                     size_t neighbors, BNNSDataType type);

  size_t count() const { return count_; }
  size_t max_samples() const { return max_samples_; }
  size_t neighbors() const { return neighbors_; }
  BNNSDataType type() const { return type_; }

  // Adds rows of values of the type; there must be room.
  void load(size_t n, const void* rows);

  // Packed numbers that queries of all samples, or of one, need as working memory.
  size_t scratch(bool all) const;
  void query(size_t sample, const NeighborsOut& out, uint64_t* scratch) const;
  void query_all(const NeighborsOut& out, uint64_t* scratch) const;

 private:
  size_t wanted() const { return neighbors_ < count_ ? neighbors_ : count_; }
  size_t list_size() const;
  size_t threads_for_all() const;
  bool is_wide() const;
  const DistanceKernels::Of& kernels() const {
    return is_wide() ? kernels_->roots : kernels_->squares;
  }
  const float* block(size_t index) const {
    return samples_.data() + index * kBlockSamples * features_;
  }
  void query_group(size_t group, const NeighborsOut& out, uint64_t* lists) const;
  void write(size_t row, Selection& selection, const NeighborsOut& out) const;

  const SelectionKernels* selection_ = selection_kernels();
  const DistanceKernels* kernels_ = distance_kernels();
  const ConvertKernels* convert_ = convert_kernels();
  size_t threads_, max_samples_, features_, neighbors_;
  BNNSDataType type_;
  size_t count_ = 0;
  // Magnitudes of the values that are neither 0 nor infinite.
  float largest_ = 0, smallest_ = std::numeric_limits<float>::infinity();
  Array<float> samples_;
};

}  // namespace bnns::impl

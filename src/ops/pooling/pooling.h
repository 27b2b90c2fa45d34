// Pooling: y = act(bias + pooled), pooled over windows that slide over each plane of an image.
//   Max        the largest cell; its position in the plane is the index
//   Average    sum / (taps of the window), or / (cells of the window inside the plane)
//   L2Norm     sqrt(sum of squares)
//   UnMax      y[index] = x, 0 elsewhere: windows and cells exchange their roles
// Backward, with g = dy act'(y): each g goes to the cell of its maximum; g / divisor to each cell
// of the window; x g / p with p the norm; or dx = g[index]. db = sum of g per channel.
// Windows without a cell inside give 0, index 0 and no gradient.
// The work is parallel over planes. Where db is wanted it is parallel over channels, so that one
// thread sums the db of a channel over the batch in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/checked.h"
#include "core/scratch_pool.h"
#include "ops/activation/fused.h"
#include "ops/pooling/kernels.h"
#include "ops/pooling/planes.h"
#include "ops/pooling/special.h"
#include "ops/softmax/softmax.h"

namespace bnns::impl {

enum class PoolingKind { kMax, kAverage, kAverageInside, kUnMax, kL2Norm };

struct PoolingProblem {
  PoolingKind kind;
  PoolingAxis x, y;
  size_t channels;
  View in, out;  // one sample each, not collapsed
  FusedActivation activation;

  bool un_max() const { return kind == PoolingKind::kUnMax; }
  // Whether there is one window, which covers the whole plane.
  bool is_global() const {
    return windows() == 1 && real_taps(x, 0).count == x.cells && real_taps(y, 0).count == y.cells;
  }
  size_t cells() const { return x.cells * y.cells; }
  size_t windows() const { return x.windows * y.windows; }
  size_t in_size() const { return un_max() ? windows() : cells(); }
  size_t out_size() const { return un_max() ? cells() : windows(); }
};

// What is known of the indices of a plane:
//   kOutside  some index is outside the plane
//   kPlane    all indices are inside the plane
//   kStrip    Max: no index is behind the last row of cells that its strip, some rows of windows,
//             reaches. The indices of a forward pass are like that.
//   kWindow   Max: each index is inside its own window, and its offset there was computed
enum class PoolingIndexRange : uint8_t { kOutside, kPlane, kStrip, kWindow };

class PoolingOp {
 public:
  PoolingOp(const Memory& memory, size_t threads, const PoolingProblem& problem);

  // The bias has one value per channel, of any readable type. own_bias copies it, use_bias lets
  // every call read it.
  void own_bias(const View& bias);
  void use_bias(const View& bias) { client_bias_ = collapsed(bias); }

  // The indices, one per window, have the layout of the tensor with one element per window (the
  // output of Max, the input of UnMax). Their type is UInt32 or UInt64.
  const View& index_view(BNNSDataType type) const {
    return type == BNNSDataTypeUInt32 ? index_view_32_ : index_view_64_;
  }

  // Max writes the indices if they are given, UnMax reads them.
  void forward(const Batch& in, const Batch& out, const Batch& indices, uint64_t random_stream);

  struct Gradients {
    Batch in;   // needed by Max without indices and by L2Norm
    Batch out;  // needed unless the activation is the identity
    Batch dy;
    Gradient dx, db;
    Batch indices;
  };
  // False if an index is outside its plane; then nothing is written.
  bool backward(const Gradients& gradients);

  // Whether all indices are inside their planes.
  bool are_inside(const Batch& indices) const;

  void reserve(size_t batch, size_t callers);

  const FusedActivation& activation() const { return problem_.activation; }
  // The names of the chosen kernels (see special.h).
  const char* forward_choice() const { return forward_choice_.name; }
  const char* backward_choice() const { return backward_choice_.name; }

 private:
  // Sizes of the buffers of one worker, in values.
  struct Sizes {
    size_t x, y, g, dx;   // one plane of each tensor
    size_t columns;       // padded rows of cells, reduced over the rows of a window
    size_t divisor;       // one row of windows
    size_t padded;        // padded rows of windows
    size_t rows;          // the gradient of each row of windows, spread over a row of cells
    size_t cells, index;  // the cells of the maxima in `columns`; an index per window

    size_t floats() const { return x + y + g + dx + columns + divisor + padded + rows; }
    size_t integers() const { return cells + index; }
  };
  struct Work {
    float *x, *y, *g, *dx, *columns, *divisor, *padded, *rows;
    int32_t *cells, *index;
  };
  struct Scratch {
    Array<float> floats, channels;
    Array<int32_t> integers;
    // The ranges and offsets of Max's indices, for all planes of a call: the indices are checked
    // before anything is written, and the same reading yields their offsets.
    Array<PoolingIndexRange> ranges;
    Array<uint16_t> offsets;
    Array<uint32_t> origin_cells;  // PoolingOrigins of the windows of a plane
    Array<uint16_t> origin_columns;
  };
  struct ForwardCall;
  struct BackwardCall;

  Planes in_planes(const Batch& images) const;
  Planes out_planes(const Batch& images) const;
  // Whether kernels can use tensors with the layout given at creation in place.
  bool in_is_direct() const { return in_planes(make_batch(problem_.in, nullptr, 1, 0)).direct(); }
  bool out_is_direct() const {
    return out_planes(make_batch(problem_.out, nullptr, 1, 0)).direct();
  }
  Sizes forward_sizes(bool in_direct, bool out_direct) const;
  Sizes backward_sizes(bool dx_direct) const;
  void prepare(Scratch& scratch, const Sizes& sizes, size_t workers) const;
  void prepare_offsets(Scratch& scratch, size_t planes, bool offsets) const;
  Work work_of(const Scratch& scratch, const Sizes& sizes, size_t worker) const;
  void fill_constants(const Sizes& sizes, const Work& work) const;
  const float* bias_of(Scratch& scratch) const;
  size_t threads_for(size_t planes) const;
  size_t planes_of_grain() const;

  void forward_plane(const ForwardCall& call, size_t plane, const Work& work) const;
  void pool_rows(const Plane& x, size_t first, size_t count, float bias, const Work& work,
                 const Plane& y, int32_t* index) const;
  void max_rows(const Plane& x, size_t first, size_t count, float bias, const Work& work,
                const Plane& y, int32_t* index) const;
  void sum_rows(const Plane& x, size_t first, size_t count, float bias, const Work& work,
                const Plane& y) const;
  void mend_empty(float bias, float* y, int32_t* index) const;
  void max_row_apart(const float* columns, const int32_t* cells, float bias, float* y,
                     int32_t* index) const;
  void sum_row_apart(const float* columns, const float* divisor, float factor, float bias,
                     float* y) const;
  float sum_of_plane(const Plane& x) const;
  float divisor_of_plane() const;
  void average_planes(const ForwardCall& call, size_t first, size_t end) const;
  void pool_planes(const ForwardCall& call, size_t first, size_t end) const;
  void un_max_plane(const ForwardCall& call, size_t plane, float bias, const Plane& y,
                    const Work& work) const;
  void activate(const Plane& y) const;

  void write_index(const Batch& indices, size_t plane, size_t first, size_t count,
                   const int32_t* from) const;
  void read_index(const Batch& indices, size_t plane, int32_t* to) const;
  size_t index_offset(const Batch& indices, size_t plane, size_t row) const;
  template <class T>
  PoolingPlane<const T> index_plane(const Batch& indices, size_t plane) const {
    return {indices.at<const T>(0) + index_offset(indices, plane, 0), indices.sample->stride[1]};
  }
  size_t rows_of_strip() const;
  size_t cells_reached(size_t end) const;
  bool are_below(const Batch& indices, size_t plane, bool strips) const;
  template <class Check>
  bool all_planes(size_t batch, const Check& check) const;
  template <class T>
  bool encode(const PoolingPlane<const T>& index, const PoolingOrigins& origins,
              uint16_t* offsets) const;
  void use_offsets(Scratch& scratch, size_t planes, BackwardCall& call) const;
  PoolingIndexRange range_of(const BackwardCall& call, size_t plane) const;
  bool check_indices(const BackwardCall& call) const;

  void backward_plane(const BackwardCall& call, size_t plane, const Work& work,
                      double* bias_sum) const;
  Plane gradient_plane(const BackwardCall& call, size_t plane, const Work& work) const;
  double plane_sum(const Plane& g) const;
  void max_backward(const BackwardCall& call, size_t plane, const Plane& g, const Work& work) const;
  PlaneAxes axes() const { return {.x = problem_.x, .y = problem_.y}; }
  template <class T>
  void scatter(const BackwardCall& call, size_t plane, const Plane& g, const Work& work,
               const PoolingPlane<const T>& index, bool in_strips) const;
  template <class T>
  void scatter_row(size_t j, const T* cells, const float* g, float* dx) const;
  void fill_planes(const BackwardCall& call, size_t first, size_t end) const;
  void spread_planes(const BackwardCall& call, size_t first, size_t end) const;
  void sum_backward(const BackwardCall& call, size_t plane, const Plane& g, const Work& work) const;
  void divide_rows(const Plane& g, const Plane& x, const Work& work) const;
  void spread_rows(const Work& work) const;
  // The rows of windows, `pitch` apart, that contain a row of cells.
  PoolingRows rows_reaching(size_t cell_row, const float* rows, size_t pitch, size_t& low,
                            size_t& high) const;
  void un_max_backward(const BackwardCall& call, size_t plane, const Plane& g,
                       const Work& work) const;

  Memory memory_;
  size_t threads_;
  PoolingProblem problem_;
  View index_view_32_, index_view_64_;
  const PoolingKernels* kernels_ = pooling_kernels();
  const PoolingBackwardKernels* backward_kernels_ = pooling_backward_kernels();
  const PoolingOffsetKernels* offset_kernels_ = pooling_offset_kernels();
  const PoolingChoice<PoolingForwardSpecial>& forward_choice_;
  const PoolingChoice<PoolingBackwardSpecial>& backward_choice_;
  const PoolingForwardSpecial* forward_special_;
  const PoolingBackwardSpecial* backward_special_;
  const SoftmaxKernels* sums_ = softmax_kernels();
  ElementRun run_;
  bool global_;                                    // one window covers the whole plane
  bool regular_;                                   // padded rows have a reasonable length
  bool may_be_empty_;                              // some window may have no cell inside
  size_t columns_size_, padded_size_, row_pitch_;  // length of one row of these buffers
  size_t rows_at_once_;                            // rows of windows computed together
  Array<float> own_bias_;
  View client_bias_;
  ScratchPool<Scratch> scratch_;
};

}  // namespace bnns::impl

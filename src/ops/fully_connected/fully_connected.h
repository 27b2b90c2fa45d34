// y = act(b + W x) for a batch, and with g = dy act'(y):
//   dx = W^T g,  dW = sum over the batch of g x^T,  db = sum over the batch of g.
// Rows that are contiguous Float32 are used where they lie. Others are converted in chunks of
// kChunk samples (g of kGradientChunk), so that the working memory does not depend on the batch.
// Sums over the batch run in the order of the samples, chunk by chunk.
#pragma once

#include <cstddef>

#include "core/batch.h"
#include "core/scratch_pool.h"
#include "ops/activation/fused.h"
#include "ops/convert/convert.h"
#include "ops/fully_connected/small.h"
#include "ops/gemm/gemm.h"
#include "ops/normalization/kernels.h"

namespace bnns::impl {

struct FullyConnectedProblem {
  size_t in_size, out_size;
  View in, out;  // one sample, not collapsed
  bool has_bias;
  FusedActivation activation;
};

// W(o, i) at data[o * out_stride + i * in_stride].
struct FullyConnectedMatrix {
  float* data;
  size_t out_stride, in_stride;
};

class FullyConnectedOp {
 public:
  static constexpr size_t kChunk = 64;
  // Where nothing but g is converted: each chunk packs the weights and adds to all of their
  // gradient.
  static constexpr size_t kGradientChunk = 256;

  FullyConnectedOp(const Memory& memory, size_t threads, const FullyConnectedProblem& problem);

  // Weights and bias as they lie with the client, of any readable type; prepared on each call, or
  // once with own_weights().
  struct Weights {
    View matrix;                   // collapsed is not needed: two axes, any order
    size_t out_stride, in_stride;  // of matrix, in values
    View bias;                     // data NULL: none
  };
  void own_weights(const Weights& weights);
  void use_weights(const Weights& weights);

  // Samples as FullyConnectedProblem describes them.
  // `channels`: what follows the bias, by output.
  void forward(const Batch& in, const Batch& out, uint64_t random_stream,
               const ChannelEpilogue& channels = {});
  // One sample of a small layer. False, and nothing done, for all others.
  bool forward_small(const Batch& in, const Batch& out) const {
    if (in.size != 1 || !small_) return false;
    small_.forward(in.at<float>(0), out.at<float>(0));
    return true;
  }

  // Tensors of a backward call; those that are not wanted are empty.
  struct Gradients {
    Batch in;   // empty unless dw is wanted
    Batch out;  // empty for the identity
    Batch dy;
    Gradient dx, db;
    FullyConnectedMatrix dw;  // data NULL: not wanted
    bool dw_accumulate;
  };
  void backward(const Gradients& gradients);

  void reserve(size_t batch, size_t callers);

  bool uses_client_weights() const { return !own_matrix_; }
  const FusedActivation& activation() const { return problem_.activation; }

 private:
  // Buffers of one caller, made when first needed.
  struct Scratch {
    Array<float> x, y, g, dx, weights, bias, dw, db, product;
  };
  struct Ready {
    FullyConnectedMatrix w;
    const float* bias;
  };
  const FusedActivation& activation_of(const ChannelEpilogue& channels) const {
    return channels.activation == nullptr ? problem_.activation : *channels.activation;
  }
  Ready ready_weights(Scratch& scratch);
  void make_small(size_t dw_row);
  // The strides ready_weights() will give.
  FullyConnectedMatrix ready_matrix() const {
    return ready_known_ ? ready_.w : FullyConnectedMatrix{nullptr, problem_.in_size, 1};
  }
  float* buffer(Array<float>& array, size_t rows, size_t width);
  void store(const View& to, float* values, bool accumulate) const;
  View matrix_view(const View& like, size_t out_stride, size_t in_stride) const;
  void convert_matrix(const Weights& weights, float* to) const;
  // The three products of so many samples, whose rows lie so far apart (0: not known yet).
  GemmOperand forward_weights(const FullyConnectedMatrix& w) const;
  GemmOp forward_product(size_t samples, const FullyConnectedMatrix& w, size_t x_step,
                         size_t y_step, const FusedActivation& activation) const;
  GemmOp input_product(size_t samples, const FullyConnectedMatrix& w, size_t g_step = 0,
                       size_t dx_step = 0) const;
  GemmOp weights_product(size_t samples, const FullyConnectedMatrix& dw, size_t g_step = 0,
                         size_t x_step = 0) const;

  void product(const GemmOp& op, size_t samples, const float* x, float* y, size_t y_step,
               const Ready& ready, const ChannelEpilogue& channels, uint64_t random_stream,
               float* memory);
  void gradient_rows(const Gradients& p, size_t first, size_t samples, float* g);
  void input_gradient(const Gradients& p, size_t first, size_t samples, const float* g,
                      size_t g_step, const FullyConnectedMatrix& w, float* buffer, float* memory);
  bool backward_small(const Gradients& gradients) const;
  void backward_direct(const Gradients& gradients);
  void backward_chunks(const Gradients& gradients);
  void weights_gradient(size_t samples, const float* g, size_t g_step, const float* x,
                        size_t x_step, const FullyConnectedMatrix& dw, bool accumulate,
                        float* memory);

  Memory memory_;
  size_t threads_;
  FullyConnectedProblem problem_;
  const GemmKernels* gemm_ = gemm_kernels();
  const NormalizationKernels* statistics_ = normalization_kernels();
  ElementRun run_;
  bool in_direct_, out_direct_;  // contiguous Float32 samples
  Array<float> own_matrix_, own_bias_;
  PackedMatrix own_panels_;  // the copied weights once more, as the forward product wants them
  Weights client_ = {};
  Ready ready_ = {};
  bool ready_known_ = false;  // weights are used where they lie: copied, or Float32 of the client
  SmallFullyConnected small_;
  ScratchPool<Scratch> scratch_;
};

}  // namespace bnns::impl

// Convolution and transposed convolution with bias and fused activation (see geometry.h):
//   convolution  out = act(bias + the large image carried to the small one)
//   transposed   out = act(bias + the small image carried to the large one)
// and with g = dy act'(y):  dx: g carried the other way,  dw: dot products of small and large image
// summed over the batch,  db: sums of g.
// A grain computes a block of output rows; an output is summed by one grain in an order that
// depends on the geometry alone. For dw a grain owns some channels of both images and runs over the
// batch. With an activation, g is computed for a few samples at a time, and all passes read it
// before g of the next samples is computed.
// Each caller needs working memory for the packed weights, the sums of dw and g of some samples,
// each thread for a buffer of padded rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/scratch_pool.h"
#include "ops/convolution/weight_gradient.h"
#include "ops/convolution/pass.h"
#include "ops/convolution/weights.h"

namespace bnns::impl {

struct ConvolutionProblem {
  ConvolutionGeometry geometry;
  bool transposed;
  View in, out;  // one sample each, with the axes x, y, channel
  bool has_bias;
  FusedActivation activation;
};

class ConvolutionOp {
 public:
  ConvolutionOp(const Memory& memory, size_t threads, const ConvolutionProblem& problem);

  // The client's weights and bias in their own layout, of any readable type.
  struct Parameters {
    ConvolutionWeights weights;
    View bias;  // data NULL: none
  };
  void own_parameters(const Parameters& parameters);
  void use_parameters(const Parameters& parameters) { client_ = parameters; }

  // `channels`: what follows the bias, by output channel.
  void forward(const Batch& in, const Batch& out, uint64_t random_stream,
               const ChannelEpilogue& channels = {});

  struct Gradients {
    Batch in, out;  // input and output of the forward pass, where they are needed
    Batch dy;
    Gradient dx, db;
    ConvolutionWeights dw;  // view.data NULL: not wanted
    bool dw_accumulate;
  };
  void backward(const Gradients& gradients);

  // Also for calls that want moments, of batches of at most this size.
  void reserve(size_t callers, size_t batch_of_moments = 0);

  bool uses_client_weights() const { return !own_weights_; }
  const FusedActivation& activation() const { return problem_.activation; }
  // Bytes of working memory per thread.
  size_t bytes_per_thread() const { return per_thread_ * sizeof(float); }

 private:
  // Buffers of one caller, allocated when they are first needed.
  struct Scratch {
    Array<float> weights, panels, bias, work;
    Array<float> gradient, weight_sums;  // g of some samples; the sums of dw
    Array<double> bias_sums;
    Array<Moments> moments;  // of the parts of a batch
  };
  // A plan with its direction.
  struct Way {
    const ConvolutionPlan& plan;
    ConvolutionDirection direction;
  };
  Way to_small() const { return {to_small_, ConvolutionDirection::kToSmall}; }
  Way to_large() const { return {to_large_, ConvolutionDirection::kToLarge}; }
  Way forward_way() const { return problem_.transposed ? to_large() : to_small(); }
  Way backward_way() const { return problem_.transposed ? to_small() : to_large(); }

  size_t plan_scratch() const;
  template <class T>
  T* buffer(Array<T>& array, size_t size);
  Moments* moment_buffer(Scratch& scratch, size_t batch);
  Batch gradient_buffer(Scratch& scratch);
  void make_gradient(const SampleRange& range, const Gradients& p, const Batch& g) const;
  ConvolutionWork work(Scratch& scratch);
  const float* ready_weights(Scratch& scratch);
  const float* ready_panels(Scratch& scratch, const Way& way);
  const float* ready_bias(Scratch& scratch);

  Memory memory_;
  ConvolutionProblem problem_;
  ConvolutionContext context_;
  ConvolutionPlan to_small_, to_large_;
  ConvolutionWeightGradientPlan weight_gradient_;
  size_t per_thread_;
  View gradient_;   // one sample of g, packed
  size_t samples_;  // number of samples whose g is computed at a time
  Array<float> own_weights_, own_panels_, own_bias_;
  Parameters client_ = {};
  ScratchPool<Scratch> scratch_;
};

}  // namespace bnns::impl

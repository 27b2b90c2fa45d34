// The parameters of normalization, for its filter and for filters that contain one, and the maker.
#pragma once

#include "core/call.h"
#include "core/filter.h"
#include "ops/normalization/normalization.h"

namespace bnns::impl {

struct NormalizationParameters {
  NormalizationKind kind = NormalizationKind::kBatch;
  Descriptor in, out;
  Descriptor beta, gamma, moving_mean, moving_variance;
  bool has_beta = false, has_gamma = false, has_moving_mean = false, has_moving_variance = false;
  NormalizationProblem problem;
};

// Reads and checks all parameters. Descriptors that are absent are not read.
NormalizationParameters read_normalization(BNNSFilterType type,
                                           const BNNSLayerParametersNormalization* parameters);

struct NormalizationForwardArgs {
  ForwardArgs filter;
  bool training;
};

struct NormalizationBackwardArgs {
  size_t batch;
  BNNSNDArrayDescriptor* in_delta;
  size_t in_delta_stride;
  const void* out;
  size_t out_stride;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
  BNNSNDArrayDescriptor* beta_delta;
  BNNSNDArrayDescriptor* gamma_delta;
};

// ---- The tensors of a call, checked; also for filters that end with a normalization ----

// The names of the two gradients in messages.
struct AffineNames {
  const char *beta = "beta_delta", *gamma = "gamma_delta";
};

// Reads all but dx: dy, y where the activation needs it, dbeta and dgamma.
void read_normalization_gradients(const NormalizationParameters& p,
                                  const NormalizationBackwardArgs& args, const AffineNames& names,
                                  Call& call, NormalizationOp::Gradients& g);

// Refuses parameters of the client that overlap what a call writes: the output and, in training,
// the moving statistics. `in` are the ranges that the call reads.
void check_normalization_parameters(const NormalizationParameters& p, const Range* in,
                                    size_t inputs, const Range& out, bool training);

// ---- The filter ----

class NormalizationCalls {
 public:
  virtual void apply_normalization(const NormalizationForwardArgs& args) = 0;
  virtual void apply_normalization_backward(const NormalizationBackwardArgs& args) = 0;

 protected:
  ~NormalizationCalls() = default;
};

const char* normalization_name(NormalizationKind kind);

BNNSFilter make_normalization_filter(BNNSFilterType type,
                                     const BNNSLayerParametersNormalization* parameters,
                                     const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl

// Convolution and transposed convolution: the makers of their filters.
#pragma once

#include "core/filter.h"
#include "layers/convolution_read.h"
#include "openbnns/bnns.h"
#include "ops/convolution/convolution.h"

namespace bnns::impl {

// ---- For its filter, and for filters that begin with a convolution ----

ConvolutionProblem describe_problem(const ConvolutionParameters& convolution,
                                    const BNNSActivation& activation);
// Lets the op copy the client's weights and bias, or read them at every call.
void set_parameters(ConvolutionOp& op, const ConvolutionParameters& convolution, bool client);

// Refuses a layer that is not of Float32.
void require_trainable(const ConvolutionParameters& convolution);
// The gradients that a backward call writes, and the input where that of the weights is wanted.
void read_convolution_gradients(const ConvolutionParameters& convolution, bool client,
                                const BackwardArgs& args, const ParameterDeltaNames& names,
                                Call& call, ConvolutionOp::Gradients& g);

// ---- The filters ----

BNNSFilter make_convolution_filter(const BNNSLayerParametersConvolution* parameters,
                                   const BNNSFilterParameters* filter_parameters, bool transposed);

// A convolution of integers with a fused IntegerLinearSaturate; it has no gradient.
BNNSFilter make_integer_convolution_filter(const FilterOptions& options,
                                           const ConvolutionParameters& convolution,
                                           const BNNSActivation& activation);

}  // namespace bnns::impl

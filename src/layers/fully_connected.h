#pragma once

#include "core/filter.h"
#include "layers/fully_connected_read.h"
#include "openbnns/bnns.h"
#include "ops/fully_connected/fully_connected.h"

namespace bnns::impl {

// ---- For its filter, and for filters that begin with a fully connected layer ----

// Functions along axes run over the axis of o_desc.size[0].
FusedActivation fused_activation(const FullyConnectedParameters& p,
                                 const BNNSActivation& activation);
FullyConnectedProblem describe_problem(const FullyConnectedParameters& p,
                                       const BNNSActivation& activation);
FullyConnectedOp::Weights weights_of(const FullyConnectedParameters& p);

// Refuses a layer that is not of Float32.
void require_trainable(const FullyConnectedParameters& p);
// The gradients that a backward call writes, and the input where that of the weights is wanted.
// `client` says whether the filter reads the client's weights.
void read_fully_connected_gradients(const FullyConnectedParameters& p, bool client,
                                    const BackwardArgs& args, const ParameterDeltaNames& names,
                                    Call& call, FullyConnectedOp::Gradients& g);

// ---- The filter ----

BNNSFilter make_fully_connected_filter(const BNNSLayerParametersFullyConnected* parameters,
                                       const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl

// Parameters of normalization as the filter, and filters that contain one, read them; the maker.
#pragma once

#include "core/descriptor.h"
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

// Every check of the parameters. Descriptors that are absent are not looked at.
NormalizationParameters read_normalization(BNNSFilterType type,
                                           const BNNSLayerParametersNormalization* parameters);

const char* normalization_name(NormalizationKind kind);

BNNSFilter make_normalization_filter(BNNSFilterType type,
                                     const BNNSLayerParametersNormalization* parameters,
                                     const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl

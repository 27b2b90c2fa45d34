// Quantization: its parameters, for the direct call and for fused filters that end with it.
#pragma once

#include "core/call.h"
#include "core/filter.h"
#include "openbnns/bnns.h"
#include "ops/quantize/quantize.h"

namespace bnns::impl {

struct QuantizerParameters {
  Descriptor in, out, scale, bias;
  bool has_scale = false, has_bias = false;
  bool by_batch = false;  // one scale and bias per sample
  QuantizeProblem problem;
};

// Reads and checks all parameters.
QuantizerParameters read_quantizer(const BNNSLayerParametersQuantization* parameters);

// The batch of a call must be as large as there are scales by sample.
void require_batch_of_scales(const QuantizerParameters& p, size_t batch);

void apply_quantizer(const BNNSLayerParametersQuantization* parameters,
                     const BNNSFilterParameters* filter_parameters, size_t batch, size_t in_stride,
                     size_t out_stride);

}  // namespace bnns::impl

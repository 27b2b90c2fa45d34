// The parameters of a pooling layer, read and checked.
#pragma once

#include "core/call.h"
#include "layers/activation.h"
#include "ops/pooling/pooling.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

struct PoolingParameters {
  const char* name;  // name of the function
  const ActivationInfo* activation;
  Descriptor in, out, bias;
  bool has_bias;
  PoolingProblem problem;
  size_t fitting[2];  // windows in width and height that lie inside the padded image
};

PoolingParameters read_pooling(const BNNSLayerParametersPooling* p);

}  // namespace bnns::impl

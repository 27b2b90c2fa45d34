// A part of a convolution for the reference: some of its samples, inputs and outputs.
#pragma once

#include "spec/layers/convolution.h"
#include "workloads/convolution.h"
#include "workloads/reference.h"

namespace bench {

// The positions are those of its elements in the tensors of the whole.
struct PartialConvolution {
  PartialConvolution(const Convolution& p, const Part& part);

  spec::reference::Convolution layer;
  Indices in, out, weights;
  Tensors values;
};

}  // namespace bench

// The right results of every workload: the references of spec/layers, run on numbers that carry
// their error bound (spec/runner/tolerance.h).
// A layer whose reference would take long is checked in part: the reference computes a smaller
// layer that has only some of the samples, inputs and outputs, spread over all of them.
#pragma once

#include <openbnns/bnns.h>

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <string>
#include <vector>

#include "harness/harness.h"
#include "spec/runner/array.h"
#include "workloads/workloads.h"

namespace spec::reference {
struct Normalization;
}

namespace bench {

class Random;

using Tensor = spec::Array<spec::Bounded>;
using Tensors = spec::Values<spec::Bounded>;

// Some indices of an axis, or positions in a tensor, in ascending order.
using Indices = std::vector<size_t>;

Indices all_of(size_t n);
// `count` of n indices at equal distances, with the first and the last one.
Indices some_of(size_t n, size_t count);

struct Axis {
  size_t size;
  Indices chosen;
};
// Positions of the chosen elements in a row-major tensor with these axes.
Indices positions(const std::vector<Axis>& axes);

// The part of a layer that is computed to check one tensor.
struct Part {
  Indices samples, inputs, outputs;
};

// A layer whose outputs are sums over all inputs: fully connected or a convolution without groups.
struct SumLayer {
  size_t batch, inputs, outputs;
  size_t products;  // for one sample, input and output

  // A part must have all terms of the sums that it is made for: all inputs for "out", all outputs
  // for "in_delta", all samples for "weights_delta" and "bias_delta".
  Part part_for_out() const;
  Part part_for_in_delta() const;
  Part part_for_weights_delta() const;
};

// The chosen elements of a buffer as samples of this shape.
Tensor gather(const spec::Shape& shape, const Buffer& from, const Indices& at);
Tensor gather(const spec::Shape& shape, const Buffer& from);

// Peers may approximate activation functions: kApproximation (1 + |value|) is added to the spec's
// bound. This admits the approximations in use and no other function.
inline constexpr double kApproximation = 4e-6;

// What a tensor of `size` elements must hold at these positions.
Expected expect(const std::string& tensor, const Tensor& right, size_t size, Indices at,
                double approximation = 0);
// The same for a whole tensor.
Expected expect(const std::string& tensor, const Tensor& right, double approximation = 0);

// What a layer with weights moves and computes, in bytes and operations of one pass.
struct LayerCost {
  double in, out, weights;
  double flops;
};
// The right results of its passes.
struct LayerResults {
  std::function<Expected()> out, in_delta;
  std::function<void(std::vector<Expected>&)> append_parameter_deltas;
};
// The row of one operation: fwd, bwd_data, bwd_weights, bwd (both of these) or fwd+bwd. Only
// results that the operation computes are asked for.
Row layer_row(const std::string& op, const LayerCost& cost, const LayerResults& results);

BNNSActivation activation_of(Fused f);
BNNSActivation activation_of(Function f);
// Of a forward pass with this activation.
double approximation_of(Fused f);

// For the gradient of a normalization with a rectifier: where rounding decides on which side of the
// kink a value lies, the gradient behind the activation is anything between 0 and dy.
void admit_both_sides(const spec::reference::Normalization& layer, Tensors& values);

// Draws a layer's output, for backward passes that take the slope of the activation from it.
void fill_output(Fused f, Random& random, const Buffer& out);

}  // namespace bench

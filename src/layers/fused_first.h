// The first layer of a fused filter. The three classes have the same members: the tensors of a call
// are read and checked first, then computed with. What a layer computes, z, is not the client's: it
// is packed whatever the strides between the two layers are, and Float32 also where the type
// between them is one of 16 bits. Integers are stored as such: they are rounded and saturated.
#pragma once

#include "core/call.h"
#include "layers/arithmetic.h"
#include "layers/convolution.h"
#include "layers/fully_connected.h"
#include "layers/fused.h"
#include "ops/normalization/normalization.h"
#include "ops/random/random.h"

namespace bnns::impl {

struct FusedInputs {
  Batch in[kMaxArithmeticInputs];
};

// One sample of z.
inline View packed_between(const Descriptor& out) {
  View view = out.view;
  view.data = nullptr;
  if (!out.type->is_integer()) {
    view.type = BNNSDataTypeFloat32;
    view.scaling = {};
  }
  view.overlaps = false;
  size_t step = 1;
  for (size_t k = 0; k < view.rank; ++k) {
    view.stride[k] = step;
    step *= view.extent[k];
  }
  view.span = view.step = view.count;
  return view;
}

// The gradient of the parameter in a slot of BNNSFusedFilterApplyBackwardBatch's last argument.
inline BNNSNDArrayDescriptor* slot(const FusedBackwardArgs& args, size_t index) {
  return args.parameters == nullptr ? nullptr : args.parameters[index];
}

// The arguments of the first layer's own backward call.
inline BackwardArgs first_args(const FusedBackwardArgs& a) {
  return {.batch = a.batch,
          .in = a.in == nullptr ? nullptr : a.in[0],
          .in_stride = a.in_stride == nullptr ? 0 : a.in_stride[0],
          .in_delta = a.in_delta == nullptr ? nullptr : a.in_delta[0],
          .in_delta_stride = a.in_delta_stride == nullptr ? 0 : a.in_delta_stride[0],
          .out = nullptr,
          .out_stride = 0,
          .out_delta = nullptr,
          .out_delta_stride = 0,
          .weights_delta = slot(a, 0),
          .bias_delta = slot(a, 1)};
}

inline constexpr ParameterDeltaNames kFirstSlots = {.weights = "delta_parameters[0]",
                                                    .bias = "delta_parameters[1]"};

// A convolution or fully connected layer: one input, weights and bias.
template <class Parameters, class Op>
class WeightedFirst {
 public:
  using Gradients = typename Op::Gradients;
  static constexpr size_t kSlots = 2;  // weights, bias
  static constexpr bool kMayAlias = false;

  size_t inputs() const { return 1; }
  const Descriptor& out() const { return p_.out; }
  const FusedActivation& activation() const { return op_.activation(); }
  bool has_parameters() const { return true; }

  void read_inputs(const FusedForwardArgs& args, FusedInputs& to) const {
    to.in[0] = read_batch(p_.in, args.batch, args.in[0], args.in_stride[0], kIn);
  }
  // What a call reads of the client's memory besides its inputs.
  void read_client(Call& call) const {
    if (!client_) return;
    call.reads(range_of(p_.weights.view), "w_desc.data");
    if (p_.has_bias) call.reads(range_of(p_.bias.view), "bias.data");
  }
  void forward(const FusedInputs& inputs, const Batch& z, const ChannelEpilogue& channels) {
    const uint64_t stream = op_.activation().is_random() ? streams_.next(z.size) : 0;
    op_.forward(inputs.in[0], z, stream, channels);
  }

  bool wants(const FusedBackwardArgs& args) const {
    const BackwardArgs a = first_args(args);
    return is_wanted(a.in_delta) || is_wanted(a.weights_delta) || is_wanted(a.bias_delta);
  }
  void check_trainable() const { require_trainable(p_); }
  void backward(Gradients& g, const Batch& dz) {
    g.dy = dz;
    op_.backward(g);
  }

 protected:
  WeightedFirst(const FilterOptions& options, const Parameters& parameters,
                const BNNSActivation& activation)
      : p_(parameters),
        client_(options.use_client_pointer),
        op_(options.memory, options.threads, describe_problem(packed(parameters), activation)),
        streams_(op_.activation().is_random()) {}

  static Parameters packed(Parameters p) {
    p.out.view = packed_between(p.out);
    return p;
  }

  Parameters p_;
  bool client_;
  Op op_;
  RandomStreams streams_;
};

class ConvolutionFirst : public WeightedFirst<ConvolutionParameters, ConvolutionOp> {
 public:
  ConvolutionFirst(const FilterOptions& options, const ConvolutionParameters& parameters,
                   const BNNSActivation& activation)
      : WeightedFirst(options, parameters, activation) {
    set_parameters(op_, parameters, options.use_client_pointer);
  }
  // Moments by channel of the image.
  bool gives_moments(const NormalizationProblem&) const { return true; }
  void read_gradients(const FusedBackwardArgs& args, Call& call, Gradients& g) const {
    read_convolution_gradients(p_, client_, first_args(args), kFirstSlots, call, g);
  }
  void reserve(size_t batch, size_t callers) { op_.reserve(callers, batch); }
};

class FullyConnectedFirst : public WeightedFirst<FullyConnectedParameters, FullyConnectedOp> {
 public:
  FullyConnectedFirst(const FilterOptions& options, const FullyConnectedParameters& parameters,
                      const BNNSActivation& activation)
      : WeightedFirst(options, parameters, activation) {
    const FullyConnectedOp::Weights weights = weights_of(parameters);
    options.use_client_pointer ? op_.use_weights(weights) : op_.own_weights(weights);
  }
  // Moments by output, which are those of channels only where a channel is one value.
  bool gives_moments(const NormalizationProblem& next) const { return next.plane() == 1; }
  void read_gradients(const FusedBackwardArgs& args, Call& call, Gradients& g) const {
    read_fully_connected_gradients(p_, client_, first_args(args), kFirstSlots, call, g);
  }
  void reserve(size_t batch, size_t callers) { op_.reserve(batch, callers); }
};

class ArithmeticFirst {
 public:
  using Gradients = ArithmeticOp::Gradients;
  static constexpr size_t kSlots = 0;
  // An input that is given twice has one gradient: the rules of arithmetic take the place of "what
  // is written overlaps nothing".
  static constexpr bool kMayAlias = true;

  ArithmeticFirst(const FilterOptions& options, const ArithmeticParameters& parameters)
      : p_(parameters),
        op_(options.memory, options.threads, packed(parameters)),
        streams_(op_.activation().is_random()) {}

  size_t inputs() const { return p_.inputs(); }
  const Descriptor& out() const { return p_.out; }
  const FusedActivation& activation() const { return op_.activation(); }
  bool has_parameters() const { return false; }
  bool gives_moments(const NormalizationProblem&) const { return false; }

  void read_inputs(const FusedForwardArgs& args, FusedInputs& to) const {
    read_arithmetic_inputs(p_, args, to.in);
  }
  void read_client(Call&) const {}
  void forward(const FusedInputs& inputs, const Batch& z, const ChannelEpilogue&) {
    ArithmeticOp::Values values;
    for (size_t k = 0; k < p_.inputs(); ++k) values.in[k] = inputs.in[k];
    values.out = z;
    op_.forward(values, op_.activation().is_random() ? streams_.next(z.size) : 0);
  }

  bool wants(const FusedBackwardArgs& args) const {
    return arithmetic_deltas_wanted(p_, args) != 0;
  }
  void check_trainable() const {
    for (size_t k = 0; k < p_.inputs(); ++k)
      if (p_.in[k].type->kind == TypeClass::kFloat) require_trainable(p_.in[k], p_.field(k));
    require_trainable(p_.out, "out");
  }
  void read_gradients(const FusedBackwardArgs& args, Call& call, Gradients& g) const {
    read_arithmetic_gradients(p_, op_, args, arithmetic_deltas_wanted(p_, args), call, g);
    check_arithmetic_overlaps(p_, args, g);
  }
  // Against what the second layer reads and writes.
  static void check_apart(const Gradients& g, const Range& range, const char* name, bool written) {
    for (size_t k = 0; k < kMaxArithmeticInputs; ++k) {
      require_apart(range_of(g.in_delta[k]), kDeltaNames[k], range, name);
      if (written) require_apart(range_of(g.in[k]), kInputNames[k], range, name);
    }
  }
  void backward(Gradients& g, const Batch& dz) {
    g.dy = dz;
    op_.backward(g);
  }
  void reserve(size_t batch, size_t callers) { op_.reserve(batch, callers); }

 private:
  static constexpr const char* kInputNames[] = {"in[0]", "in[1]", "in[2]"};
  static constexpr const char* kDeltaNames[] = {"in_delta[0]", "in_delta[1]", "in_delta[2]"};

  static ArithmeticProblem packed(const ArithmeticParameters& parameters) {
    ArithmeticProblem problem = parameters.problem;
    problem.out = packed_between(parameters.out);
    return problem;
  }
  ArithmeticParameters p_;
  ArithmeticOp op_;
  RandomStreams streams_;
};

}  // namespace bnns::impl

// The fully connected filter: y = act(b + W x). W(o, i) is read through any two-dimensional layout,
// row = output, column = input; input and output are taken in the order of memory.
#include "layers/fully_connected.h"

#include "core/call.h"
#include "core/filter.h"
#include "layers/activation.h"
#include "layers/integer_constants.h"
#include "ops/fully_connected/integer.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

class FullyConnectedFilter final : public Filter {
 public:
  FullyConnectedFilter(const FilterOptions& options, const FullyConnectedParameters& problem,
                       const BNNSActivation& activation);

  void apply(const ForwardArgs& args) override;
  void apply_backward(const BackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override {
    return Text(problem_.in.view.count, " to ", problem_.out.view.count, ", ",
                problem_.activation->name, ", ", problem_.weights.type->name, " weights ",
                op_.uses_client_weights() ? "of the client" : "copied");
  }

 private:
  void copy_integer_weights(const FilterOptions& options);
  void check_trainable(const BackwardArgs& args, bool want_weights) const;
  FullyConnectedOp::Gradients read_gradients(const BackwardArgs& args, Call& call) const;

  FullyConnectedParameters problem_;
  FullyConnectedOp op_;
  IntegerConstants constants_;
  IntegerFullyConnected integer_ = {};
  Array<char> integer_weights_, integer_bias_;
  RandomStreams streams_;
  Range client_weights_ = {}, client_bias_ = {};  // empty where they were copied
};

FullyConnectedFilter::FullyConnectedFilter(const FilterOptions& options,
                                           const FullyConnectedParameters& problem,
                                           const BNNSActivation& activation)
    : Filter("a fully connected filter", options),
      problem_(problem),
      op_(options.memory, options.threads, describe_problem(problem, activation)),
      streams_(op_.activation().is_random()) {
  const FullyConnectedOp::Weights weights = weights_of(problem);
  if (problem.integer()) {
    constants_ = IntegerConstants(options, activation, problem.out.view.count, 1);
    integer_ = {.in_size = problem.in.view.count,
                .out_size = problem.out.view.count,
                .weights = problem.weights.view,
                .bias = problem.has_bias ? collapsed(problem.bias.view) : View()};
    integer_.weights.extent[0] = integer_.in_size;
    integer_.weights.stride[0] = weights.in_stride;
    integer_.weights.extent[1] = integer_.out_size;
    integer_.weights.stride[1] = weights.out_stride;
    if (!options.use_client_pointer) copy_integer_weights(options);
  } else if (options.use_client_pointer) {
    op_.use_weights(weights);
  } else {
    op_.own_weights(weights);
  }
  if (options.use_client_pointer) {
    client_weights_ = range_of(problem.weights.view);
    if (problem.has_bias) client_bias_ = range_of(problem.bias.view);
  }
}

void FullyConnectedFilter::copy_integer_weights(const FilterOptions& options) {
  integer_weights_ = copy_stored(options.memory, integer_.weights);
  if (problem_.has_bias) integer_bias_ = copy_stored(options.memory, integer_.bias);
}

void FullyConnectedFilter::apply(const ForwardArgs& args) {
  if (args.batch == 0) return;
  const Batch in = read_batch(problem_.in, args.batch, args.in, args.in_stride, kIn);
  const Batch out = read_batch(problem_.out, args.batch, args.out, args.out_stride, kOut);
  const Range written = range_of(problem_.out, out);
  require_apart(written, "out", range_of(problem_.in, in), "in");
  require_apart(written, "out", client_weights_, "w_desc.data");
  require_apart(written, "out", client_bias_, "bias.data");
  if (op_.forward_small(in, out)) return;
  if (problem_.integer()) {
    return run_integer_fully_connected(integer_, constants_.function(), threads(), args.batch,
                                       whole(in), whole(out));
  }
  // A call uses one stream per chunk of samples.
  const uint64_t stream = op_.activation().is_random() ? streams_.next(args.batch) : 0;
  op_.forward(in, out, stream);
}

void FullyConnectedFilter::check_trainable(const BackwardArgs& args, bool want_weights) const {
  require_trainable(problem_);
  require(args.out_delta != nullptr, "out_delta is NULL");
  if (want_weights) require_data(args.in, BNNSDataTypeFloat32, "in");
  if (op_.activation().is_identity()) return;
  require_slope_from_output(op_.activation());
  require_data(args.out, BNNSDataTypeFloat32, "out");
}

FullyConnectedOp::Gradients FullyConnectedFilter::read_gradients(const BackwardArgs& args,
                                                                 Call& call) const {
  FullyConnectedOp::Gradients g = {};
  g.dy = call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, problem_.out, "o_desc");
  if (!op_.activation().is_identity())
    g.out = call.reads(problem_.out, args.out, args.out_stride, kOut);
  read_fully_connected_gradients(problem_, client_weights_.begin != nullptr, args, {}, call, g);
  return g;
}

void FullyConnectedFilter::apply_backward(const BackwardArgs& args) {
  const bool want_weights = is_wanted(args.weights_delta);
  if (!is_wanted(args.in_delta) && !want_weights && !is_wanted(args.bias_delta)) return;
  check_trainable(args, want_weights);
  if (args.batch == 0) return;
  Call call(args.batch);
  const FullyConnectedOp::Gradients gradients = read_gradients(args, call);
  call.check_overlaps();
  if (want_weights && client_weights_.begin == nullptr)
    warn_of_copy("BNNSFilterApplyBackwardBatch", "weights_delta", "weights");
  op_.backward(gradients);
}

void FullyConnectedFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  if (!problem_.integer()) op_.reserve(batch, callers);
}

FullyConnectedMatrix read_weights_delta(const FullyConnectedParameters& p,
                                        const BNNSNDArrayDescriptor* given, const char* name,
                                        Call& call) {
  const Descriptor* dw = nullptr;
  const Gradient delta = call.writes_parameter_delta(given, name, p.weights, "w_desc", {}, &dw);
  const bool matrix = dw->rank() == 2 && dw->logical_extent(0) == p.out.view.count &&
                      dw->logical_extent(1) == p.in.view.count;
  if (!matrix) {
    fail(name, " is ", describe(*dw), ", but w_desc is ", describe(p.weights),
         "; they must have the same rows and columns");
  }
  return {delta.at<float>(0), dw->logical_stride(0), dw->logical_stride(1)};
}

}  // namespace

FusedActivation fused_activation(const FullyConnectedParameters& p,
                                 const BNNSActivation& activation) {
  uint32_t axes = 0;
  for (size_t k = 0; k < p.out.view.rank; ++k)
    if (p.out.layout->pair[k] == 0) axes |= 1u << k;
  return {*p.activation, coefficients_of(activation), axes};
}

FullyConnectedProblem describe_problem(const FullyConnectedParameters& p,
                                       const BNNSActivation& activation) {
  return {.in_size = p.in.view.count,
          .out_size = p.out.view.count,
          .in = p.in.view,
          .out = p.out.view,
          .has_bias = p.has_bias,
          .activation = fused_activation(p, activation)};
}

FullyConnectedOp::Weights weights_of(const FullyConnectedParameters& p) {
  return {.matrix = p.weights.view,
          .out_stride = p.weights.logical_stride(0),
          .in_stride = p.weights.logical_stride(1),
          .bias = p.bias.view};
}

void require_trainable(const FullyConnectedParameters& p) {
  require_trainable(p.in, "i_desc");
  require_trainable(p.weights, "w_desc");
  require_trainable(p.out, "o_desc");
  if (p.has_bias) require_trainable(p.bias, "bias");
}

void read_fully_connected_gradients(const FullyConnectedParameters& p, bool client,
                                    const BackwardArgs& args, const ParameterDeltaNames& names,
                                    Call& call, FullyConnectedOp::Gradients& g) {
  if (is_wanted(args.in_delta)) {
    g.dx = call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p.in, "i_desc");
    if (client) call.reads(range_of(p.weights.view), "w_desc.data");
  }
  if (is_wanted(args.weights_delta)) {
    g.in = call.reads(p.in, args.in, args.in_stride, kIn);
    g.dw = read_weights_delta(p, args.weights_delta, names.weights, call);
    g.dw_accumulate = args.weights_delta->flags == BNNSNDArrayFlagBackpropAccumulate;
  }
  if (is_wanted(args.bias_delta)) {
    require(p.has_bias, names.bias, " is given; the filter has no bias");
    g.db = call.writes_parameter_delta(args.bias_delta, names.bias, p.bias, "bias");
  }
}

BNNSFilter make_fully_connected_filter(const BNNSLayerParametersFullyConnected* parameters,
                                       const BNNSFilterParameters* filter_parameters) {
  const FullyConnectedParameters problem = read_fully_connected(parameters);
  return make_filter<FullyConnectedFilter>(FilterOptions(filter_parameters), problem,
                                           parameters->activation);
}

}  // namespace bnns::impl

// The fully connected filter: y = act(b + W x). W(o, i) is read through any two-dimensional layout,
// row = output, column = input; input and output are taken in the order of memory.
#include "layers/fully_connected.h"

#include <atomic>

#include "core/descriptor.h"
#include "core/filter.h"
#include "layers/activation.h"
#include "layers/integer_constants.h"
#include "ops/fully_connected.h"
#include "ops/integer_fully_connected.h"

namespace bnns::impl {
namespace {

struct Problem {
  const ActivationRow* activation;
  Descriptor in, out, weights, bias;
  bool has_bias;

  bool integer() const { return activation->kind == ActivationClass::kInteger; }
};

void require_number(const Descriptor& d, const char* field) {
  const bool number = d.type->kind == TypeClass::kFloat ||
                      (d.type->is_integer() && d.type->bits >= 8 && d.type->bits <= 32);
  require(number, field, ".data_type is ", d.type->name,
          "; a fully connected layer takes floating-point types and integers of 8 to 32 bits");
  require_plain_layout(d, field);
}

void check_weights(const Problem& p) {
  const Descriptor& w = p.weights;
  if (w.layout->opaque) fail_unsupported("w_desc.layout is ", w.layout->name, "; not implemented");
  require(w.rank() == 2 && !w.layout->packed32, "w_desc.layout is ", w.layout->name,
          "; it must be a two-dimensional layout");
  require(w.type->kind != TypeClass::kBoolean && w.type->bits <= 32, "w_desc.data_type is ",
          w.type->name, "; weights are floating-point, indexed or integers of at most 32 bits");
  require(w.logical_extent(0) == p.out.view.count, "w_desc has ", w.logical_extent(0),
          " rows, o_desc has ", p.out.view.count, " elements; they must be equal");
  require(w.logical_extent(1) == p.in.view.count, "w_desc has ", w.logical_extent(1),
          " columns, i_desc has ", p.in.view.count, " elements; they must be equal");
  require_data(w.view.data, w.view.type, "w_desc.data");
}

void check_bias(const Problem& p) {
  if (!p.has_bias) return;
  require_plain_layout(p.bias, "bias");
  require(p.bias.type->kind != TypeClass::kBoolean && p.bias.type->bits <= 32, "bias.data_type is ",
          p.bias.type->name,
          "; a bias is floating-point, indexed or an integer of at most 32 bits");
  require(p.bias.view.count == p.out.view.count, "bias has ", p.bias.view.count,
          " elements, o_desc has ", p.out.view.count, "; they must be equal");
  require_data(p.bias.view.data, p.bias.view.type, "bias.data");
}

void check_activation(const Problem& p) {
  require(p.activation->kind != ActivationClass::kChannel, "activation.function is ",
          p.activation->name, "; it exists only as an activation filter of its own");
  if (!p.integer()) return;
  const bool integers = p.in.type->is_integer() && p.out.type->is_integer() &&
                        p.weights.type->is_integer() && (!p.has_bias || p.bias.type->is_integer());
  require(integers, "activation.function is ", p.activation->name, "; i_desc (", p.in.type->name,
          "), w_desc (", p.weights.type->name, "), o_desc (", p.out.type->name,
          ") and bias must have integer types");
}

Problem read(const BNNSLayerParametersFullyConnected* p) {
  require(p != nullptr, "layer_params is NULL");
  Problem problem = {.activation = &read_activation(p->activation),
                     .in = read_descriptor(p->i_desc, "i_desc", Use::kInput),
                     .out = read_descriptor(p->o_desc, "o_desc", Use::kOutput),
                     .weights = read_descriptor(p->w_desc, "w_desc", Use::kInput),
                     .bias = {},
                     .has_bias = p->bias.data != nullptr};
  if (problem.has_bias) problem.bias = read_descriptor(p->bias, "bias", Use::kInput);
  require_number(problem.in, "i_desc");
  require_number(problem.out, "o_desc");
  check_weights(problem);
  check_bias(problem);
  check_activation(problem);
  return problem;
}

// Functions along axes run over the axis of o_desc.size[0]; the output sample is packed.
SoftmaxAxes output_axes(const Descriptor& out) {
  SoftmaxAxes axes;
  axes.rank = out.view.rank;
  size_t packed = 1;
  for (size_t k = 0; k < axes.rank; ++k) {
    axes.extent[k] = out.view.extent[k];
    axes.reduced[k] = out.layout->pair[k] == 0;
    for (auto& stride : axes.stride) stride[k] = packed;
    packed *= axes.extent[k];
  }
  return axes;
}

FullyConnectedProblem describe_problem(const Problem& p, const BNNSActivation& activation) {
  return {.in_size = p.in.view.count,
          .out_size = p.out.view.count,
          .in = p.in.view,
          .out = p.out.view,
          .has_bias = p.has_bias,
          .activation = ElementActivation(*p.activation, parameters_of(activation)),
          .activation_class = p.activation->kind,
          .activation_axes = output_axes(p.out)};
}

// What a backward call is given; the op's part points into the deltas.
struct Gradients {
  Delta dy, dx, dw, db;
  FullyConnectedOp::Gradients op = {};
};

std::atomic<uint64_t> next_stream{uint64_t{1} << 31};

class FullyConnectedFilter final : public Filter {
 public:
  FullyConnectedFilter(const FilterOptions& options, const Problem& problem,
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
  void apply_integer(const ForwardArgs& args);
  void copy_integer_weights(const FilterOptions& options);
  void check_trainable(const BackwardArgs& args, bool want_weights) const;
  void read_gradients(const BackwardArgs& args, Gradients& g) const;
  void read_weights_delta(const BackwardArgs& args, Gradients& g) const;
  void check_overlaps(const BackwardArgs& args, const Gradients& g) const;

  Problem problem_;
  FullyConnectedOp op_;
  IntegerConstants constants_;
  IntegerFullyConnected integer_ = {};
  Array<char> integer_weights_, integer_bias_;
  std::atomic<uint64_t> stream_;
  bool use_client_pointer_;
};

FullyConnectedFilter::FullyConnectedFilter(const FilterOptions& options, const Problem& problem,
                                           const BNNSActivation& activation)
    : Filter("a fully connected filter", options),
      problem_(problem),
      op_(options.memory, options.threads, describe_problem(problem, activation)),
      stream_(next_stream.fetch_add(1, std::memory_order_relaxed) << 32),
      use_client_pointer_(options.use_client_pointer) {
  const FullyConnectedOp::Weights weights = {.matrix = problem.weights.view,
                                             .out_stride = problem.weights.logical_stride(0),
                                             .in_stride = problem.weights.logical_stride(1),
                                             .bias = problem.bias.view};
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
}

void FullyConnectedFilter::copy_integer_weights(const FilterOptions& options) {
  const auto copy = [&](View& view, Array<char>& to) {
    const size_t bits = view.span * find_type(view.type)->bits;
    to = Array<char>(options.memory, div_up(bits, 8));
    std::copy_n(static_cast<const char*>(view.data), to.size(), to.data());
    view.data = to.data();
  };
  copy(integer_.weights, integer_weights_);
  if (problem_.has_bias) copy(integer_.bias, integer_bias_);
}

void FullyConnectedFilter::apply(const ForwardArgs& args) {
  if (args.batch == 0) return;
  const View &in = problem_.in.view, &out = problem_.out.view;
  require_data(args.in, in.type, "in");
  require_data(args.out, out.type, "out");
  require_batch(in, args.batch, args.in_stride, "in_stride");
  require_batch(out, args.batch, args.out_stride, "out_stride");
  const Range written = range_of(out, args.out, args.batch, args.out_stride);
  require_apart(range_of(in, args.in, args.batch, args.in_stride), "in", written, "out");
  if (use_client_pointer_) {
    const View &weights = problem_.weights.view, &bias = problem_.bias.view;
    require_apart(range_of(weights, weights.data, 1, 0), "w_desc.data", written, "out");
    if (problem_.has_bias)
      require_apart(range_of(bias, bias.data, 1, 0), "bias.data", written, "out");
  }
  if (problem_.integer()) return apply_integer(args);
  const bool random =
      problem_.activation->uses_alpha && (problem_.activation->kind == ActivationClass::kRandom ||
                                          problem_.activation->kind == ActivationClass::kAxis);
  // Streams of one filter are 2^32 apart from those of the next; a call uses one per chunk.
  const uint64_t stream =
      random ? stream_.fetch_add(args.batch, std::memory_order_relaxed) : uint64_t{0};
  op_.forward(args.batch, {args.in, args.in_stride}, {args.out, args.out_stride}, stream);
}

void FullyConnectedFilter::apply_integer(const ForwardArgs& args) {
  run_integer_fully_connected(integer_, constants_.function(), threads(), args.batch,
                              batched(problem_.in.view, args.in, args.batch, args.in_stride),
                              batched(problem_.out.view, args.out, args.batch, args.out_stride));
}

void FullyConnectedFilter::check_trainable(const BackwardArgs& args, bool want_weights) const {
  const auto require_float = [](const Descriptor& d, const char* field) {
    require(d.view.is_float(), field, ".data_type is ", d.type->name, "; training needs Float32");
  };
  require_float(problem_.in, "i_desc");
  require_float(problem_.weights, "w_desc");
  require_float(problem_.out, "o_desc");
  if (problem_.has_bias) require_float(problem_.bias, "bias");
  require(args.out_delta != nullptr, "out_delta is NULL");
  const ActivationRow& row = *problem_.activation;
  if (want_weights) require_data(args.in, BNNSDataTypeFloat32, "in");
  if (row.function == BNNSActivationFunctionIdentity) return;
  require(row.from_output, "activation is ", row.name,
          "; its slope cannot be had from the output, so that it cannot be trained fused");
  require(op_.slope_known(), "activation is ", row.name, " with alpha ", double{op_.alpha()},
          "; its slope cannot be had from the output, so that it cannot be trained fused");
  require_data(args.out, BNNSDataTypeFloat32, "out");
}

bool is_wanted(const BNNSNDArrayDescriptor* delta) {
  return delta != nullptr && delta->data != nullptr;
}

void FullyConnectedFilter::read_gradients(const BackwardArgs& args, Gradients& g) const {
  const auto pass = [](const Delta& delta, FullyConnectedOp::Delta& to, size_t stride) {
    to = {.view = &delta.view(),
          .data = delta.data(),
          .stride = stride,
          .accumulate = delta.accumulate()};
  };
  g.dy.read(*args.out_delta, "out_delta", problem_.out, "o_desc", Use::kInput);
  require_batch(g.dy.view(), args.batch, args.out_delta_stride, "out_delta_stride");
  pass(g.dy, g.op.dy, args.out_delta_stride);
  if (problem_.activation->function != BNNSActivationFunctionIdentity) {
    require_batch(problem_.out.view, args.batch, args.out_stride, "out_stride");
    g.op.out = {args.out, args.out_stride};
  }
  if (is_wanted(args.in_delta)) {
    g.dx.read(*args.in_delta, "in_delta", problem_.in, "i_desc", Use::kOutput);
    require_batch(g.dx.view(), args.batch, args.in_delta_stride, "in_delta_stride");
    pass(g.dx, g.op.dx, args.in_delta_stride);
  }
  if (is_wanted(args.weights_delta)) read_weights_delta(args, g);
  if (is_wanted(args.bias_delta)) {
    require(problem_.has_bias, "bias_delta is given; the filter has no bias");
    g.db.read(*args.bias_delta, "bias_delta", problem_.bias, "bias", Use::kOutput);
    pass(g.db, g.op.db, 0);
  }
}

void FullyConnectedFilter::read_weights_delta(const BackwardArgs& args, Gradients& g) const {
  require_batch(problem_.in.view, args.batch, args.in_stride, "in_stride");
  g.op.in = {args.in, args.in_stride};
  g.dw.read(*args.weights_delta, "weights_delta", problem_.weights, "w_desc", Use::kOutput);
  const Descriptor& dw = g.dw.descriptor();
  const bool matrix = dw.rank() == 2 && dw.logical_extent(0) == problem_.out.view.count &&
                      dw.logical_extent(1) == problem_.in.view.count;
  if (!matrix) {
    fail("weights_delta is ", describe(dw), ", but w_desc is ", describe(problem_.weights),
         "; they must have the same rows and columns");
  }
  g.op.dw = {static_cast<float*>(g.dw.data()), dw.logical_stride(0), dw.logical_stride(1)};
  g.op.dw_accumulate = g.dw.accumulate();
}

// What is written must not overlap anything else: inputs would change under the computation.
void FullyConnectedFilter::check_overlaps(const BackwardArgs& args, const Gradients& g) const {
  struct Named {
    Range range;
    const char* name;
  };
  Named written[3], read[5];
  size_t writes = 0, reads = 0;
  const auto range = [&](const Delta& delta, size_t batch, size_t stride) {
    return range_of(delta.view(), delta.data(), batch, stride);
  };
  const auto &in = g.op.in, &out = g.op.out;
  if (g.op.dx.wanted())
    written[writes++] = {range(g.dx, args.batch, args.in_delta_stride), "in_delta"};
  if (g.op.dw.data != nullptr) written[writes++] = {range(g.dw, 1, 0), "weights_delta"};
  if (g.op.db.wanted()) written[writes++] = {range(g.db, 1, 0), "bias_delta"};
  read[reads++] = {range(g.dy, args.batch, args.out_delta_stride), "out_delta"};
  if (in.data != nullptr)
    read[reads++] = {range_of(problem_.in.view, in.data, args.batch, in.stride), "in"};
  if (out.data != nullptr)
    read[reads++] = {range_of(problem_.out.view, out.data, args.batch, out.stride), "out"};
  const View& weights = problem_.weights.view;
  if (op_.uses_client_weights() && g.op.dx.wanted())
    read[reads++] = {range_of(weights, weights.data, 1, 0), "w_desc.data"};
  for (size_t w = 0; w < writes; ++w) {
    for (size_t r = 0; r < reads; ++r)
      require_apart(written[w].range, written[w].name, read[r].range, read[r].name);
    for (size_t o = w + 1; o < writes; ++o)
      require_apart(written[w].range, written[w].name, written[o].range, written[o].name);
  }
}

void FullyConnectedFilter::apply_backward(const BackwardArgs& args) {
  const bool want_weights = is_wanted(args.weights_delta);
  if (!is_wanted(args.in_delta) && !want_weights && !is_wanted(args.bias_delta)) return;
  check_trainable(args, want_weights);
  if (args.batch == 0) return;
  Gradients gradients;
  read_gradients(args, gradients);
  check_overlaps(args, gradients);
  op_.backward(args.batch, gradients.op);
}

void FullyConnectedFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  if (!problem_.integer()) op_.reserve(batch, callers);
}

}  // namespace

BNNSFilter make_fully_connected_filter(const BNNSLayerParametersFullyConnected* parameters,
                                       const BNNSFilterParameters* filter_parameters) {
  const Problem problem = read(parameters);
  return make_filter<FullyConnectedFilter>(FilterOptions(filter_parameters), problem,
                                           parameters->activation);
}

}  // namespace bnns::impl

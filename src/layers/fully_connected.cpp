// The fully connected filter: y = act(b + W x). W(o, i) is read through any two-dimensional layout,
// row = output, column = input; input and output are taken in the order of memory.
#include "layers/fully_connected.h"

#include <atomic>

#include "core/descriptor.h"
#include "core/filter.h"
#include "layers/activation.h"
#include "layers/fully_connected_problem.h"
#include "layers/integer_constants.h"
#include "ops/fully_connected.h"
#include "ops/integer_fully_connected.h"

namespace bnns::impl {
namespace {

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

FullyConnectedProblem describe_problem(const FullyConnectedDescription& p,
                                       const BNNSActivation& activation) {
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
  FullyConnectedFilter(const FilterOptions& options, const FullyConnectedDescription& problem,
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
  void apply_small(const ForwardArgs& args) const;
  void apply_integer(const ForwardArgs& args);
  void copy_integer_weights(const FilterOptions& options);
  void check_trainable(const BackwardArgs& args, bool want_weights) const;
  void read_gradients(const BackwardArgs& args, Gradients& g) const;
  void read_weights_delta(const BackwardArgs& args, Gradients& g) const;
  void check_overlaps(const BackwardArgs& args, const Gradients& g) const;
  bool can_train_small() const;
  bool apply_backward_small(const BackwardArgs& args) const;

  FullyConnectedDescription problem_;
  FullyConnectedOp op_;
  IntegerConstants constants_;
  IntegerFullyConnected integer_ = {};
  Array<char> integer_weights_, integer_bias_;
  std::atomic<uint64_t> stream_;
  Range client_weights_, client_bias_;  // empty where they were copied
  bool trains_small_;
};

FullyConnectedFilter::FullyConnectedFilter(const FilterOptions& options,
                                           const FullyConnectedDescription& problem,
                                           const BNNSActivation& activation)
    : Filter("a fully connected filter", options),
      problem_(problem),
      op_(options.memory, options.threads, describe_problem(problem, activation)),
      stream_(next_stream.fetch_add(1, std::memory_order_relaxed) << 32) {
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
  if (options.use_client_pointer) {
    client_weights_ = range_of(problem.weights.view, problem.weights.view.data, 1, 0);
    if (problem.has_bias) client_bias_ = range_of(problem.bias.view, problem.bias.view.data, 1, 0);
  }
  trains_small_ = can_train_small();
}

void FullyConnectedFilter::copy_integer_weights(const FilterOptions& options) {
  integer_weights_ = copy_stored(options.memory, integer_.weights);
  if (problem_.has_bias) integer_bias_ = copy_stored(options.memory, integer_.bias);
}

void FullyConnectedFilter::apply(const ForwardArgs& args) {
  if (args.batch == 1 && op_.small()) return apply_small(args);
  if (args.batch == 0) return;
  const Range written = require_forward(args, problem_.in.view, problem_.out.view);
  require_apart(client_weights_, "w_desc.data", written, "out");
  require_apart(client_bias_, "bias.data", written, "out");
  if (problem_.integer()) return apply_integer(args);
  const bool random =
      problem_.activation->uses_alpha && (problem_.activation->kind == ActivationClass::kRandom ||
                                          problem_.activation->kind == ActivationClass::kAxis);
  // Streams of one filter are 2^32 apart from those of the next; a call uses one per chunk.
  const uint64_t stream =
      random ? stream_.fetch_add(args.batch, std::memory_order_relaxed) : uint64_t{0};
  op_.forward(args.batch, {args.in, args.in_stride}, {args.out, args.out_stride}, stream);
}

void FullyConnectedFilter::apply_small(const ForwardArgs& args) const {
  require_data(args.in, BNNSDataTypeFloat32, "in");
  require_data(args.out, BNNSDataTypeFloat32, "out");
  const auto* x = static_cast<const float*>(args.in);
  auto* y = static_cast<float*>(args.out);
  const Range written = range_of(y, problem_.out.view.count);
  require_apart(range_of(x, problem_.in.view.count), "in", written, "out");
  require_apart(client_weights_, "w_desc.data", written, "out");
  require_apart(client_bias_, "bias.data", written, "out");
  op_.small().forward(x, y);
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
  if (g.op.dx.wanted()) read[reads++] = {client_weights_, "w_desc.data"};
  for (size_t w = 0; w < writes; ++w) {
    for (size_t r = 0; r < reads; ++r)
      require_apart(written[w].range, written[w].name, read[r].range, read[r].name);
    for (size_t o = w + 1; o < writes; ++o)
      require_apart(written[w].range, written[w].name, written[o].range, written[o].name);
  }
}

bool FullyConnectedFilter::can_train_small() const {
  const View& weights = problem_.weights.view;
  const bool floats =
      problem_.in.view.is_float() && problem_.out.view.is_float() && weights.is_float() &&
      (!problem_.has_bias || (problem_.bias.view.is_float() && problem_.bias.view.is_dense()));
  return op_.small() && floats && !weights.overlaps && problem_.weights.logical_stride(1) == 1 &&
         (problem_.activation->function == BNNSActivationFunctionIdentity ||
          (problem_.activation->from_output && op_.slope_known()));
}

// A delta that is not wanted, or one that needs no further check.
bool is_plain(const BNNSNDArrayDescriptor* given, const Descriptor& frozen, SmallDelta& delta) {
  if (!is_wanted(given)) return true;
  delta = {.data = static_cast<float*>(given->data),
           .accumulate = given->flags == BNNSNDArrayFlagBackpropAccumulate};
  return is_written_like(*given, frozen) && is_aligned(given->data, BNNSDataTypeFloat32) &&
         (delta.accumulate || given->flags == BNNSNDArrayFlagBackpropSet);
}

// The gradients of one sample, where nothing is unusual about the arguments. False, and nothing
// done, where something is: the general way then tells what, or does it.
bool FullyConnectedFilter::apply_backward_small(const BackwardArgs& args) const {
  const size_t in_size = problem_.in.view.count, out_size = problem_.out.view.count;
  const bool identity = problem_.activation->function == BNNSActivationFunctionIdentity;
  SmallDelta dy;
  SmallGradients g;
  if (!is_plain(args.in_delta, problem_.in, g.dx) ||
      !is_plain(args.weights_delta, problem_.weights, g.dw) ||
      (is_wanted(args.bias_delta) && !problem_.has_bias) ||
      !is_plain(args.bias_delta, problem_.bias, g.db) ||
      !is_plain(args.out_delta, problem_.out, dy) || dy.data == nullptr)
    return false;
  g.dy = dy.data;
  if (g.dw.data != nullptr) g.x = static_cast<const float*>(args.in);
  if (!identity) g.y = static_cast<const float*>(args.out);
  if ((g.dw.data != nullptr && g.x == nullptr) || (!identity && g.y == nullptr) ||
      !is_aligned(g.x, BNNSDataTypeFloat32) || !is_aligned(g.y, BNNSDataTypeFloat32))
    return false;
  const Range written[] = {range_of(g.dx.data, in_size),
                           range_of(g.dw.data, problem_.weights.view.span),
                           range_of(g.db.data, out_size)};
  const Range reads[] = {range_of(g.dy, out_size), range_of(g.x, in_size), range_of(g.y, out_size),
                         client_weights_};
  bool clash = overlap(written[0], written[1]);  // no branches: |= instead of ||
  clash |= overlap(written[0], written[2]);
  clash |= overlap(written[1], written[2]);
  for (const Range& w : written) {
    for (const Range& r : reads) clash |= overlap(w, r);
  }
  if (clash) return false;
  op_.small().backward(g);
  return true;
}

void FullyConnectedFilter::apply_backward(const BackwardArgs& args) {
  const bool want_weights = is_wanted(args.weights_delta);
  if (!is_wanted(args.in_delta) && !want_weights && !is_wanted(args.bias_delta)) return;
  if (args.batch == 1 && trains_small_ && apply_backward_small(args)) return;
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
  const FullyConnectedDescription problem = read_fully_connected(parameters);
  return make_filter<FullyConnectedFilter>(FilterOptions(filter_parameters), problem,
                                           parameters->activation);
}

}  // namespace bnns::impl

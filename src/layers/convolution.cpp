// The convolution filters: y = act(b + W x) with W the windows of a convolution, or its transpose.
// Images are ImageCHW; weights have any of the four layouts of convolution weights.
#include "layers/convolution.h"

#include "core/call.h"
#include "core/filter.h"
#include "layers/activation.h"
#include "layers/convolution_read.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

constexpr DeltaRules kImage = {.same_layout = true};

class ConvolutionFilter final : public Filter {
 public:
  ConvolutionFilter(const FilterOptions& options, const ConvolutionParameters& convolution,
                    const BNNSActivation& activation);

  void apply(const ForwardArgs& args) override;
  void apply_backward(const BackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override;

 private:
  void check_trainable(const BackwardArgs& args) const;
  ConvolutionOp::Gradients read_gradients(const BackwardArgs& args, Call& call) const;
  bool is_identity() const {
    return convolution_.activation->function == BNNSActivationFunctionIdentity;
  }

  ConvolutionParameters convolution_;
  ConvolutionOp op_;
  RandomStreams streams_;
  bool use_client_pointer_;
};

ConvolutionFilter::ConvolutionFilter(const FilterOptions& options,
                                     const ConvolutionParameters& convolution,
                                     const BNNSActivation& activation)
    : Filter(convolution.transposed ? "a transposed convolution filter" : "a convolution filter",
             options),
      convolution_(convolution),
      op_(options.memory, options.threads, describe_problem(convolution, activation)),
      streams_(op_.activation().is_random()),
      use_client_pointer_(options.use_client_pointer) {
  set_parameters(op_, convolution, options.use_client_pointer);
}

Text ConvolutionFilter::plan() const {
  const ConvolutionGeometry& g = convolution_.geometry;
  Text text(convolution_.in.size[2], " to ", convolution_.out.size[2], " channels, kernel ");
  text.add(Text(g.x.taps, "x", g.y.taps, ", ", g.groups, g.groups == 1 ? " group, " : " groups, ",
                convolution_.activation->name, ", ", convolution_.weights.type->name, " weights ",
                use_client_pointer_ ? "of the client, " : "copied, ", op_.bytes_per_thread(),
                " bytes of buffer a thread"));
  return text;
}

void ConvolutionFilter::apply(const ForwardArgs& args) {
  if (args.batch == 0) return;
  const ConvolutionTensors tensors = check_forward(args, convolution_, use_client_pointer_);
  const uint64_t stream = op_.activation().is_random() ? streams_.next() : 0;
  op_.forward(tensors.in, tensors.out, stream);
}

void ConvolutionFilter::check_trainable(const BackwardArgs& args) const {
  require_trainable(convolution_);
  require(args.out_delta != nullptr, "out_delta is NULL");
  if (is_wanted(args.weights_delta)) require_data(args.in, BNNSDataTypeFloat32, "in");
  if (is_identity()) return;
  require_slope_from_output(op_.activation());
  require_data(args.out, BNNSDataTypeFloat32, "out");
}

ConvolutionOp::Gradients ConvolutionFilter::read_gradients(const BackwardArgs& args,
                                                           Call& call) const {
  ConvolutionOp::Gradients g = {};
  g.dy = call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, convolution_.out,
                          "o_desc", kImage);
  if (!is_identity()) g.out = call.reads(convolution_.out, args.out, args.out_stride, kOut);
  read_convolution_gradients(convolution_, use_client_pointer_, args, {}, call, g);
  return g;
}

void ConvolutionFilter::apply_backward(const BackwardArgs& args) {
  const bool want_weights = is_wanted(args.weights_delta);
  if (!is_wanted(args.in_delta) && !want_weights && !is_wanted(args.bias_delta)) return;
  check_trainable(args);
  if (args.batch == 0) return;
  Call call(args.batch);
  const ConvolutionOp::Gradients gradients = read_gradients(args, call);
  call.check_overlaps();
  if (want_weights && !use_client_pointer_)
    warn_of_copy("BNNSFilterApplyBackwardBatch", "weights_delta", "weights");
  op_.backward(gradients);
}

void ConvolutionFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  op_.reserve(callers);
}

}  // namespace

ConvolutionProblem describe_problem(const ConvolutionParameters& c,
                                    const BNNSActivation& activation) {
  return {.geometry = c.geometry,
          .transposed = c.transposed,
          .in = c.in.view,
          .out = c.out.view,
          .has_bias = c.has_bias,
          .activation = FusedActivation(*c.activation, coefficients_of(activation))};
}

void set_parameters(ConvolutionOp& op, const ConvolutionParameters& c, bool client) {
  const ConvolutionOp::Parameters parameters = {.weights = map_weights(c.weights, c.transposed),
                                                .bias = c.bias.view};
  client ? op.use_parameters(parameters) : op.own_parameters(parameters);
}

void require_trainable(const ConvolutionParameters& c) {
  require_trainable(c.in, "i_desc");
  require_trainable(c.weights, "w_desc");
  require_trainable(c.out, "o_desc");
  if (c.has_bias) require_trainable(c.bias, "bias");
}

void read_convolution_gradients(const ConvolutionParameters& c, bool client,
                                const BackwardArgs& args, const ParameterDeltaNames& names,
                                Call& call, ConvolutionOp::Gradients& g) {
  if (is_wanted(args.in_delta)) {
    g.dx =
        call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, c.in, "i_desc", kImage);
    if (client) call.reads(range_of(c.weights.view), "w_desc.data");
  }
  if (is_wanted(args.weights_delta)) {
    g.in = call.reads(c.in, args.in, args.in_stride, kIn);
    const Descriptor dw = read_weights_delta(*args.weights_delta, names.weights, c);
    call.writes(range_of(dw.view), names.weights);
    g.dw = map_weights(dw, c.transposed);
    g.dw_accumulate = dw.accumulate;
  }
  if (is_wanted(args.bias_delta)) {
    require(c.has_bias, names.bias, " is given; the filter has no bias");
    g.db = call.writes_parameter_delta(args.bias_delta, names.bias, c.bias, "bias");
  }
}

BNNSFilter make_convolution_filter(const BNNSLayerParametersConvolution* parameters,
                                   const BNNSFilterParameters* filter_parameters, bool transposed) {
  const ConvolutionParameters convolution = read_convolution(parameters, transposed);
  const FilterOptions options(filter_parameters);
  if (convolution.integer())
    return make_integer_convolution_filter(options, convolution, parameters->activation);
  return make_filter<ConvolutionFilter>(options, convolution, parameters->activation);
}

}  // namespace bnns::impl

// The pooling filter: y = act(bias + pooled), with the positions of the maxima as indices. in and
// out have the layouts of i_desc and o_desc. The indices have the layout of the tensor with one
// element per window: the output, or the input of UnMax. The formulas are in ops/pooling/pooling.h.
#include "layers/pooling.h"

#include "core/call.h"
#include "core/log.h"
#include "layers/pooling_read.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

constexpr Name kIndices = {"indices", "idx_stride"};

class PoolingFilter final : public Filter, public PoolingCalls {
 public:
  PoolingFilter(const FilterOptions& options, const PoolingParameters& parameters);

  void apply(const ForwardArgs& args) override {
    apply_pooling({.filter = args,
                   .indices_type = BNNSDataTypeUInt64,
                   .indices = nullptr,
                   .indices_stride = 0});
  }
  void apply_backward(const BackwardArgs& args) override {
    apply_pooling_backward({.filter = args,
                            .indices_type = BNNSDataTypeUInt64,
                            .indices = nullptr,
                            .indices_stride = 0});
  }
  void apply_pooling(const PoolingForwardArgs& args) override;
  void apply_pooling_backward(const PoolingBackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override;

 private:
  bool is(PoolingKind kind) const { return parameters_.problem.kind == kind; }
  bool un_max() const { return is(PoolingKind::kUnMax); }
  bool identity() const { return parameters_.problem.activation.is_identity(); }
  const View* index_view(const void* indices, BNNSDataType type) const;
  [[noreturn]] void fail_outside() const;
  void check_trainable(const PoolingBackwardArgs& args, bool want_x) const;
  void read_in_delta(const PoolingBackwardArgs& args, Call& call, PoolingOp::Gradients& g) const;
  PoolingOp::Gradients read_gradients(const PoolingBackwardArgs& args, Call& call) const;

  PoolingParameters parameters_;
  PoolingOp op_;
  RandomStreams streams_;
  bool use_client_pointer_;
};

PoolingFilter::PoolingFilter(const FilterOptions& options, const PoolingParameters& parameters)
    : Filter("a pooling filter", options),
      parameters_(parameters),
      op_(options.memory, options.threads, parameters.problem),
      streams_(op_.activation().is_random()),
      use_client_pointer_(options.use_client_pointer) {
  if (!parameters.has_bias) return;
  if (options.use_client_pointer) {
    op_.use_bias(parameters.bias.view);
  } else {
    op_.own_bias(parameters.bias.view);
  }
}

Text PoolingFilter::plan() const {
  const PoolingAxis &x = parameters_.problem.x, &y = parameters_.problem.y;
  Text text(parameters_.name, ", ", describe(parameters_.in), " to ", describe(parameters_.out),
            " ", parameters_.in.type->name, ", kernel ", x.taps, "x", y.taps, ", stride ", x.stride,
            "x", y.stride);
  text.add(Text(", ", parameters_.activation->name, ", forward for ", op_.forward_choice(),
                ", backward for ", op_.backward_choice()));
  return text;
}

// ---- Indices ----

// The view of one sample's indices; NULL if there are none, or if the function does not use them.
const View* PoolingFilter::index_view(const void* indices, BNNSDataType type) const {
  if (indices == nullptr) return nullptr;
  require(type == BNNSDataTypeUInt32 || type == BNNSDataTypeUInt64, "indices_data_type is ",
          find_type(type) == nullptr ? "unknown" : type_name(type),
          "; it must be UInt32 or UInt64");
  return un_max() || is(PoolingKind::kMax) ? &op_.index_view(type) : nullptr;
}

void PoolingFilter::fail_outside() const {
  const Descriptor& cells = un_max() ? parameters_.out : parameters_.in;
  fail("indices has one that is not below ", parameters_.problem.cells(), ", the elements of a ",
       "plane of ", describe(cells), "; all must be inside");
}

// ---- Forward ----

void PoolingFilter::apply_pooling(const PoolingForwardArgs& args) {
  const ForwardArgs& a = args.filter;
  if (a.batch == 0) return;
  Call call(a.batch);
  const Batch in = call.reads(parameters_.in, a.in, a.in_stride, kIn);
  const Batch out = call.writes(parameters_.out, a.out, a.out_stride, kOut);
  require(!un_max() || args.indices != nullptr, "indices is NULL; UnMax needs them");
  Batch indices;
  if (const View* view = index_view(args.indices, args.indices_type); view != nullptr) {
    indices = un_max() ? call.reads(*view, args.indices, args.indices_stride, kIndices)
                       : call.writes(*view, args.indices, args.indices_stride, kIndices);
  }
  if (use_client_pointer_ && parameters_.has_bias)
    call.reads(range_of(parameters_.bias.view), "bias.data");
  call.check_overlaps();
  if (un_max() && !op_.are_inside(indices)) fail_outside();
  const uint64_t stream = op_.activation().is_random() ? streams_.next() : 0;
  op_.forward(in, out, indices, stream);
}

// ---- Backward ----

void PoolingFilter::check_trainable(const PoolingBackwardArgs& args, bool want_x) const {
  const BackwardArgs& a = args.filter;
  require_trainable(parameters_.in, "i_desc");
  if (parameters_.has_bias) require_trainable(parameters_.bias, "bias");
  require(a.out_delta != nullptr, "out_delta is NULL");
  require(!want_x || !un_max() || args.indices != nullptr,
          "indices is NULL; the gradient of UnMax needs them");
  require(!want_x || !is(PoolingKind::kMax) || args.indices != nullptr || a.in != nullptr,
          "in and indices are NULL; the gradient of Max needs one of them");
  require(!want_x || !is(PoolingKind::kL2Norm) || a.in != nullptr,
          "in is NULL; the gradient of L2Norm needs it");
  if (identity()) return;
  require_slope_from_output(op_.activation());
  require_data(a.out, BNNSDataTypeFloat32, "out");
}

void PoolingFilter::read_in_delta(const PoolingBackwardArgs& args, Call& call,
                                  PoolingOp::Gradients& g) const {
  const BackwardArgs& a = args.filter;
  g.dx = call.writes_delta(*a.in_delta, a.in_delta_stride, kInDelta, parameters_.in, "i_desc");
  if (const View* view = index_view(args.indices, args.indices_type); view != nullptr)
    g.indices = call.reads(*view, args.indices, args.indices_stride, kIndices);
  if (is(PoolingKind::kL2Norm) || (is(PoolingKind::kMax) && !g.indices))
    g.in = call.reads(parameters_.in, a.in, a.in_stride, kIn);
}

PoolingOp::Gradients PoolingFilter::read_gradients(const PoolingBackwardArgs& args,
                                                   Call& call) const {
  const BackwardArgs& a = args.filter;
  PoolingOp::Gradients g = {};
  g.dy = call.reads_delta(a.out_delta, a.out_delta_stride, kOutDelta, parameters_.out, "o_desc");
  if (!identity()) g.out = call.reads(parameters_.out, a.out, a.out_stride, kOut);
  if (is_wanted(a.in_delta)) read_in_delta(args, call, g);
  if (is_wanted(a.bias_delta)) {
    require(parameters_.has_bias, "bias_delta is given; the filter has no bias");
    g.db = call.writes_parameter_delta(a.bias_delta, "bias_delta", parameters_.bias, "bias");
  }
  return g;
}

void PoolingFilter::apply_pooling_backward(const PoolingBackwardArgs& args) {
  const BackwardArgs& a = args.filter;
  require(!is_wanted(a.weights_delta), "weights_delta is given; a pooling filter has no weights");
  const bool want_x = is_wanted(a.in_delta);
  if (!want_x && !is_wanted(a.bias_delta)) return;
  check_trainable(args, want_x);
  if (a.batch == 0) return;
  Call call(a.batch);
  const PoolingOp::Gradients gradients = read_gradients(args, call);
  call.check_overlaps();
  if (!op_.backward(gradients)) fail_outside();
}

void PoolingFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  op_.reserve(batch, callers);
}

// Fewer windows than fit are legal, but often a mistake in the size of o_desc.
void log_uncovered_cells(const PoolingParameters& p) {
  const size_t width = p.problem.x.windows, height = p.problem.y.windows;
  if (width >= p.fitting[0] && height >= p.fitting[1]) return;
  if (!log_wants(OpenBNNSLogLevelInfo)) return;
  const bool un_max = p.problem.un_max();
  const Text text("BNNSFilterCreateLayerPooling: ", un_max ? "i_desc" : "o_desc", " has ", width,
                  "x", height, " windows, ", p.fitting[0], "x", p.fitting[1], " fit ",
                  un_max ? "o_desc" : "i_desc",
                  "; the cells behind the last window are not covered");
  log_message(OpenBNNSLogLevelInfo, text.c_str());
}

}  // namespace

BNNSFilter make_pooling_filter(const BNNSLayerParametersPooling* parameters,
                               const BNNSFilterParameters* filter_parameters) {
  const PoolingParameters read = read_pooling(parameters);
  log_uncovered_cells(read);
  return make_filter<PoolingFilter>(FilterOptions(filter_parameters), read);
}

}  // namespace bnns::impl

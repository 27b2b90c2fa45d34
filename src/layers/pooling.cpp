// The pooling filter: y = act(bias + pooled), with the positions of the maxima as indices. in and
// out are laid out as i_desc and o_desc; indices as the tensor that has one element per window:
// the output, for UnMax the input. The formulas are in ops/pooling/pooling.h.
#include "layers/pooling.h"

#include "core/call.h"
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
  Text plan() const override {
    return Text(parameters_.name, ", ", describe(parameters_.in), " to ", describe(parameters_.out),
                " ", parameters_.in.type->name, ", ", parameters_.activation->name,
                ", forward for ", op_.forward_choice(), ", backward for ", op_.backward_choice());
  }

 private:
  bool is(PoolingKind kind) const { return parameters_.problem.kind == kind; }
  bool un_max() const { return is(PoolingKind::kUnMax); }
  bool identity() const { return parameters_.problem.activation.is_identity(); }
  PoolingIndices read_indices(const void* data, BNNSDataType type, size_t stride,
                              size_t batch) const;
  Range range_of_indices(const PoolingIndices& indices, size_t batch) const;
  View index_view(BNNSDataType type) const;
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

// ---- Indices ----

// Functions that have no indices ignore them.
PoolingIndices PoolingFilter::read_indices(const void* data, BNNSDataType type, size_t stride,
                                           size_t batch) const {
  if (data == nullptr) return {};
  require(type == BNNSDataTypeUInt32 || type == BNNSDataTypeUInt64, "indices_data_type is ",
          find_type(type) == nullptr ? "unknown" : type_name(type),
          "; it must be UInt32 or UInt64");
  if (!un_max() && !is(PoolingKind::kMax)) return {};
  const View view = index_view(type);
  const Batch indices = read_batch(view, batch, data, stride, kIndices);
  return {.data = indices.data, .stride = indices.step, .type = type};
}

View PoolingFilter::index_view(BNNSDataType type) const {
  View view = un_max() ? parameters_.in.view : parameters_.out.view;
  view.type = type;
  return view;
}

Range PoolingFilter::range_of_indices(const PoolingIndices& indices, size_t batch) const {
  const View view = index_view(indices.type);
  return range_of(make_batch(view, indices.data, batch, indices.stride));
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
  const Batch in = call.reads(parameters_.in.view, a.in, a.in_stride, kIn);
  const Batch out = call.writes(parameters_.out.view, a.out, a.out_stride, kOut);
  require(!un_max() || args.indices != nullptr, "indices is NULL; UnMax needs them");
  const PoolingIndices indices =
      read_indices(args.indices, args.indices_type, args.indices_stride, a.batch);
  const Range index_range = range_of_indices(indices, a.batch);
  if (un_max()) {
    call.reads(index_range, "indices");
  } else {
    call.writes(index_range, "indices");
  }
  if (use_client_pointer_ && parameters_.has_bias)
    call.reads(range_of(parameters_.bias.view), "bias.data");
  call.check_overlaps();
  if (un_max() && !op_.are_inside(a.batch, indices)) fail_outside();
  const uint64_t stream = op_.activation().is_random() ? streams_.next() : 0;
  op_.forward(a.batch, {in.data, in.step}, {out.data, out.step}, indices, stream);
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
  const Gradient dx =
      call.writes_delta(*a.in_delta, a.in_delta_stride, kInDelta, parameters_.in, "i_desc");
  g.dx = *dx.sample;
  g.dx.data = dx.data;
  g.dx_stride = dx.step;
  g.dx_accumulate = dx.accumulate;
  g.indices = read_indices(args.indices, args.indices_type, args.indices_stride, a.batch);
  call.reads(range_of_indices(g.indices, a.batch), "indices");
  const bool needs_in =
      is(PoolingKind::kL2Norm) || (is(PoolingKind::kMax) && g.indices.data == nullptr);
  if (!needs_in) return;
  const Batch in = call.reads(parameters_.in.view, a.in, a.in_stride, kIn);
  g.in = {in.data, in.step};
}

PoolingOp::Gradients PoolingFilter::read_gradients(const PoolingBackwardArgs& args,
                                                   Call& call) const {
  const BackwardArgs& a = args.filter;
  PoolingOp::Gradients g = {};
  const Batch dy =
      call.reads_delta(a.out_delta, a.out_delta_stride, kOutDelta, parameters_.out, "o_desc");
  g.dy = *dy.sample;
  g.dy.data = dy.data;
  g.dy_stride = dy.step;
  if (!identity()) {
    const Batch out = call.reads(parameters_.out.view, a.out, a.out_stride, kOut);
    g.out = {out.data, out.step};
  }
  if (is_wanted(a.in_delta)) read_in_delta(args, call, g);
  if (is_wanted(a.bias_delta)) {
    require(parameters_.has_bias, "bias_delta is given; the filter has no bias");
    const Gradient db =
        call.writes_parameter_delta(a.bias_delta, "bias_delta", parameters_.bias, "bias");
    g.db = whole(db);
    g.db_accumulate = db.accumulate;
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
  if (!op_.backward(a.batch, gradients)) fail_outside();
}

void PoolingFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  op_.reserve(batch, callers);
}

}  // namespace

BNNSFilter make_pooling_filter(const BNNSLayerParametersPooling* parameters,
                               const BNNSFilterParameters* filter_parameters) {
  const PoolingParameters read = read_pooling(parameters);
  return make_filter<PoolingFilter>(FilterOptions(filter_parameters), read);
}

}  // namespace bnns::impl

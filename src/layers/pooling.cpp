// The pooling filter: y = act(bias + pooled), with the positions of the maxima as indices. in and
// out are laid out as i_desc and o_desc; indices as the tensor that has one element per window:
// the output, for UnMax the input. The formulas are in ops/pooling/pooling.h.
#include "layers/pooling.h"

#include <atomic>

#include "core/filter.h"
#include "layers/pooling_problem.h"

namespace bnns::impl {
namespace {

std::atomic<uint64_t> next_stream{uint64_t{1} << 30};

bool wanted(const BNNSNDArrayDescriptor* d) {
  return d != nullptr && d->data != nullptr;
}

struct Named {
  Range range;
  const char* name;
};

class PoolingFilter final : public Filter {
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
                " ", parameters_.in.type->name, ", ", parameters_.activation->name);
  }

 private:
  bool is(PoolingKind kind) const { return parameters_.problem.kind == kind; }
  bool un_max() const { return is(PoolingKind::kUnMax); }
  bool identity() const { return parameters_.problem.activation.is_identity(); }
  PoolingIndices read_indices(const void* data, BNNSDataType type, size_t stride,
                              size_t batch) const;
  View index_view(const PoolingIndices& indices) const;
  [[noreturn]] void fail_outside() const;
  void check_trainable(const PoolingBackwardArgs& args, bool want_x) const;
  PoolingOp::Gradients read_gradients(const PoolingBackwardArgs& args, bool want_x,
                                      bool want_b) const;
  void check_overlaps(size_t batch, const PoolingOp::Gradients& g) const;

  PoolingParameters parameters_;
  PoolingOp op_;
  std::atomic<uint64_t> stream_;
  bool use_client_pointer_;
};

PoolingFilter::PoolingFilter(const FilterOptions& options, const PoolingParameters& parameters)
    : Filter("a pooling filter", options),
      parameters_(parameters),
      op_(options.memory, options.threads, parameters.problem),
      stream_(next_stream.fetch_add(1, std::memory_order_relaxed) << 32),
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
  const PoolingIndices indices = {.data = const_cast<void*>(data), .stride = stride, .type = type};
  require_data(data, type, "indices");
  require_batch(index_view(indices), batch, stride, "idx_stride");
  return indices;
}

View PoolingFilter::index_view(const PoolingIndices& indices) const {
  View view = un_max() ? parameters_.in.view : parameters_.out.view;
  view.type = indices.type;
  return view;
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
  const View &in = parameters_.in.view, &out = parameters_.out.view;
  require_data(a.in, in.type, "in");
  require_data(a.out, out.type, "out");
  require_batch(in, a.batch, a.in_stride, "in_stride");
  require_batch(out, a.batch, a.out_stride, "out_stride");
  require(!un_max() || args.indices != nullptr, "indices is NULL; UnMax needs them");
  const PoolingIndices indices =
      read_indices(args.indices, args.indices_type, args.indices_stride, a.batch);
  const Range written = range_of(out, a.out, a.batch, a.out_stride);
  const Range read = range_of(in, a.in, a.batch, a.in_stride);
  require_apart(read, "in", written, "out");
  if (indices.data != nullptr) {
    const Range cells = range_of(index_view(indices), indices.data, a.batch, indices.stride);
    require_apart(cells, "indices", written, "out");
    if (!un_max()) require_apart(cells, "indices", read, "in");
  }
  if (use_client_pointer_ && parameters_.has_bias) {
    const View& bias = parameters_.bias.view;
    const Range range = range_of(bias, bias.data, 1, 0);
    require_apart(range, "bias.data", written, "out");
    if (indices.data != nullptr && !un_max()) {
      require_apart(range, "bias.data",
                    range_of(index_view(indices), indices.data, a.batch, indices.stride),
                    "indices");
    }
  }
  if (un_max() && !op_.are_inside(a.batch, indices)) fail_outside();
  const bool random = parameters_.activation->kind == ActivationClass::kRandom ||
                      parameters_.activation->function == BNNSActivationFunctionGumbelMax;
  const uint64_t stream = random ? stream_.fetch_add(1, std::memory_order_relaxed) : uint64_t{0};
  op_.forward(a.batch, {a.in, a.in_stride}, {a.out, a.out_stride}, indices, stream);
}

// ---- Backward ----

void PoolingFilter::check_trainable(const PoolingBackwardArgs& args, bool want_x) const {
  const BackwardArgs& a = args.filter;
  const Descriptor& in = parameters_.in;
  require(in.view.is_float(), "i_desc.data_type is ", in.type->name, "; training needs Float32");
  require(!parameters_.has_bias || parameters_.bias.view.is_float(), "bias.data_type is ",
          parameters_.has_bias ? parameters_.bias.type->name : "", "; training needs Float32");
  require(a.out_delta != nullptr, "out_delta is NULL");
  require(!want_x || !un_max() || args.indices != nullptr,
          "indices is NULL; the gradient of UnMax needs them");
  require(!want_x || !is(PoolingKind::kMax) || args.indices != nullptr || a.in != nullptr,
          "in and indices are NULL; the gradient of Max needs one of them");
  require(!want_x || !is(PoolingKind::kL2Norm) || a.in != nullptr,
          "in is NULL; the gradient of L2Norm needs it");
  if (identity()) return;
  const ActivationRow& row = *parameters_.activation;
  require(row.from_output, "activation is ", row.name,
          "; its slope cannot be had from the output, so that it cannot be trained fused");
  require(op_.slope_known(), "activation is ", row.name, " with alpha ", double{op_.alpha()},
          "; its slope cannot be had from the output, so that it cannot be trained fused");
  require_data(a.out, BNNSDataTypeFloat32, "out");
}

PoolingOp::Gradients PoolingFilter::read_gradients(const PoolingBackwardArgs& args, bool want_x,
                                                   bool want_b) const {
  const BackwardArgs& a = args.filter;
  PoolingOp::Gradients g = {};
  const Descriptor dy =
      read_delta(*a.out_delta, "out_delta", parameters_.out, "o_desc", Use::kInput);
  require_batch(dy.view, a.batch, a.out_delta_stride, "out_delta_stride");
  g.dy = dy.view;
  g.dy_stride = a.out_delta_stride;
  if (!identity()) {
    require_batch(parameters_.out.view, a.batch, a.out_stride, "out_stride");
    g.out = {a.out, a.out_stride};
  }
  if (want_x) {
    const Descriptor dx =
        read_delta(*a.in_delta, "in_delta", parameters_.in, "i_desc", Use::kOutput);
    require_batch(dx.view, a.batch, a.in_delta_stride, "in_delta_stride");
    g.dx = dx.view;
    g.dx_stride = a.in_delta_stride;
    g.dx_accumulate = dx.accumulate;
    g.indices = read_indices(args.indices, args.indices_type, args.indices_stride, a.batch);
    const bool needs_in =
        is(PoolingKind::kL2Norm) || (is(PoolingKind::kMax) && g.indices.data == nullptr);
    if (needs_in) {
      require_data(a.in, BNNSDataTypeFloat32, "in");
      require_batch(parameters_.in.view, a.batch, a.in_stride, "in_stride");
      g.in = {a.in, a.in_stride};
    }
  }
  if (want_b) {
    require(parameters_.has_bias, "bias_delta is given; the filter has no bias");
    const Descriptor db =
        read_delta(*a.bias_delta, "bias_delta", parameters_.bias, "bias", Use::kOutput);
    g.db = db.view;
    g.db_accumulate = db.accumulate;
  }
  return g;
}

// What is written must not overlap anything else: inputs would change under the computation.
void PoolingFilter::check_overlaps(size_t batch, const PoolingOp::Gradients& g) const {
  Named written[2], read[4];
  size_t writes = 0, reads = 0;
  if (g.dx.data != nullptr)
    written[writes++] = {range_of(g.dx, g.dx.data, batch, g.dx_stride), "in_delta"};
  if (g.db.data != nullptr) written[writes++] = {range_of(g.db, g.db.data, 1, 0), "bias_delta"};
  read[reads++] = {range_of(g.dy, g.dy.data, batch, g.dy_stride), "out_delta"};
  if (g.in.data != nullptr)
    read[reads++] = {range_of(parameters_.in.view, g.in.data, batch, g.in.stride), "in"};
  if (g.out.data != nullptr)
    read[reads++] = {range_of(parameters_.out.view, g.out.data, batch, g.out.stride), "out"};
  if (g.indices.data != nullptr) {
    read[reads++] = {range_of(index_view(g.indices), g.indices.data, batch, g.indices.stride),
                     "indices"};
  }
  for (size_t w = 0; w < writes; ++w) {
    for (size_t r = 0; r < reads; ++r)
      require_apart(written[w].range, written[w].name, read[r].range, read[r].name);
  }
  if (writes == 2)
    require_apart(written[0].range, written[0].name, written[1].range, written[1].name);
}

void PoolingFilter::apply_pooling_backward(const PoolingBackwardArgs& args) {
  const BackwardArgs& a = args.filter;
  require(!wanted(a.weights_delta), "weights_delta is given; a pooling filter has no weights");
  const bool want_x = wanted(a.in_delta), want_b = wanted(a.bias_delta);
  if (!want_x && !want_b) return;
  check_trainable(args, want_x);
  if (a.batch == 0) return;
  const PoolingOp::Gradients gradients = read_gradients(args, want_x, want_b);
  check_overlaps(a.batch, gradients);
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

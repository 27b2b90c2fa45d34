// The stand-alone activation filter: y = f(x), dx = f'(x or y) dy, and the gradient of a trainable
// slope, dalpha = sum over x < 0 of dy x. Input and output have equal counts; elements pair up in
// the order of memory, so that differing layouts reshape and differing types convert. GumbelMax may
// have an output of size 1 along its axes, which then receives the index of the maximum.
#include "layers/activation.h"

#include <cmath>
#include <initializer_list>

#include "core/call.h"
#include "core/parallel.h"
#include "layers/activation_read.h"
#include "layers/integer_constants.h"
#include "ops/copy.h"
#include "ops/random/random.h"
#include "ops/softmax/softmax.h"

namespace bnns::impl {
namespace {

constexpr BNNSActivationFunction kIdentity = BNNSActivationFunctionIdentity;

// A tensor whose elements are visited along the axes of i_desc. It has the same extents; or it has
// one element per row, and those of the other axes in the same order of memory; or it is
// contiguous, with as many elements.
struct AlongAxes {
  const Batch& batch;
  bool same;
  bool one_per_row;

  AlongAxes(const Batch& tensor, const View& in, const char* field, bool gives_index = false)
      : batch(tensor), same(gives_index), one_per_row(gives_index) {
    if (gives_index) return;
    const View& view = *tensor.sample;
    same = view.rank == in.rank;
    for (size_t k = 0; same && k < in.rank; ++k) same = view.extent[k] == in.extent[k];
    if (same || view.is_dense()) return;
    fail_unsupported(field,
                     " has other axes than i_desc and is not contiguous; softmax needs one "
                     "or the other");
  }
};

// The stride of the n-th axis that has more than one element, in the order of memory.
size_t wide_stride(const View& view, size_t n) {
  for (size_t k = 0; k < view.rank; ++k) {
    if (view.extent[k] > 1 && n-- == 0) return view.stride[k];
  }
  return 0;
}

BNNSNDArrayDescriptor float_vector(size_t size, float* data) {
  BNNSNDArrayDescriptor d = {};
  d.layout = BNNSDataLayoutVector;
  d.size[0] = size;
  d.data_type = BNNSDataTypeFloat32;
  d.data = data;
  d.data_scale = 1;
  return d;
}

class ActivationFilter final : public Filter, public PointerCalls {
 public:
  ActivationFilter(const FilterOptions& options, const ActivationParameters& problem,
                   const BNNSActivation& activation);

  void apply(const ForwardArgs& args) override;
  void apply_backward(const BackwardArgs& args) override;
  BNNSNDArrayDescriptor pointer(BNNSPointerSpecifier target) override;
  Text plan() const override {
    return Text(problem_.info->name, ", ", describe(problem_.in), " ", problem_.in.type->name,
                " to ", describe(problem_.out), " ", problem_.out.type->name,
                flat_ ? ", on contiguous rows" : ", through views");
  }

 private:
  bool per_channel() const { return problem_.info->kind == ActivationClass::kChannel; }
  Axes axes_of(std::initializer_list<AlongAxes> tensors) const;
  SoftmaxKind softmax_kind() const {
    return problem_.info->function == BNNSActivationFunctionSoftmax ? SoftmaxKind::kSoftmax
                                                                    : SoftmaxKind::kLogSoftmax;
  }
  bool slope_known_from_output() const;
  Slope choose_slope(const BackwardArgs& args) const;
  void apply_axes(const Batch& x, const Batch& y);
  void backward_axes(Slope slope, const Batch& known, const Batch& dy, const Gradient& dx);
  void backward_alpha(const Batch& x, const Batch& dy, const Gradient& alpha);

  ActivationParameters problem_;
  bool flat_;            // element-wise on contiguous Float32, for which no views are needed
  size_t serial_count_;  // most elements that a flat call computes on the calling thread alone
  ElementActivation function_;
  ElementRun run_;
  SoftmaxRun softmax_run_;
  Array<float> alphas_;    // one slope per channel
  Descriptor alpha_desc_;  // the descriptor that weights_delta must match
  IntegerConstants integer_;
  RandomStreams streams_;  // every call takes a new stream
};

ActivationFilter::ActivationFilter(const FilterOptions& options,
                                   const ActivationParameters& problem,
                                   const BNNSActivation& activation)
    : Filter("an activation filter", options),
      problem_(problem),
      flat_(problem.info->kind == ActivationClass::kElement && problem.in.view.is_dense() &&
            problem.in.view.is_float() && problem.out.view.is_dense() &&
            problem.out.view.is_float()),
      function_(*problem.info, coefficients_of(activation)),
      run_(options.threads),
      softmax_run_(options.threads),
      streams_(is_random(*problem.info)) {
  const double serial = kSerialNanoseconds / double{problem.info->nanoseconds};
  serial_count_ = !flat_ ? 0 : options.threads == 1 ? SIZE_MAX : static_cast<size_t>(serial);
  if (per_channel()) {
    alphas_ = Array<float>(options.memory, problem.channels);
    std::fill_n(alphas_.data(), problem.channels, activation.alpha);
  }
  if (problem.info->kind == ActivationClass::kInteger) {
    integer_ = IntegerConstants(options, activation, problem.channels, problem.plane);
  }
  const size_t slopes = per_channel() ? problem.channels : 1;
  alpha_desc_ = read_descriptor(float_vector(slopes, nullptr), "alpha", Use::kInput);
}

void ActivationFilter::apply(const ForwardArgs& args) {
  if (args.batch == 0) return;
  const View &in = problem_.in.view, &out = problem_.out.view;
  const Batch x_batch = read_batch(problem_.in, args.batch, args.in, args.in_stride, kIn);
  const Batch y_batch = read_batch(problem_.out, args.batch, args.out, args.out_stride, kOut);
  if (overlap(range_of(problem_.in, x_batch), range_of(problem_.out, y_batch)))
    require_same_place(y_batch, "out", x_batch, "in");
  const bool packed = args.batch == 1 || (x_batch.step == in.span && y_batch.step == out.span);
  const size_t n = in.count * args.batch;
  if (packed && n <= serial_count_)
    return function_.forward(x_batch.at<const float>(0), y_batch.at<float>(0), n);
  const View x = whole(x_batch), y = whole(y_batch);
  switch (problem_.info->kind) {
    case ActivationClass::kElement:
      if (problem_.info->function == kIdentity) return run_copy(*run_.convert, threads(), x, y);
      return run_forward(run_, function_, x, y);
    case ActivationClass::kChannel:
      return run_forward_channels(run_, function_, alphas_.data(), problem_.channels,
                                  problem_.plane, x, y);
    case ActivationClass::kAxis:
      return apply_axes(x_batch, y_batch);
    case ActivationClass::kInteger:
      return run_integer_linear(integer_.function(), threads(), x, y);
    case ActivationClass::kRandom:
      return run_gumbel(run_, function_, streams_.next(), y);
  }
}

// The axes of i_desc and the batch as the last axis, with the strides of all tensors.
Axes ActivationFilter::axes_of(std::initializer_list<AlongAxes> tensors) const {
  const View& in = problem_.in.view;
  Axes axes;
  size_t packed = 1, kept = 0;  // `kept`: wide axes below this one that are not reduced
  for (size_t k = 0; k <= in.rank; ++k) {
    const bool is_batch = k == in.rank;
    const size_t flag = is_batch ? k : problem_.in.layout->pair[k];
    Axis axis = {.extent = is_batch ? tensors.begin()->batch.size : in.extent[k],
                 .reduced = (problem_.axis_flags >> flag & 1) != 0,
                 .stride = {}};
    const bool is_row = !axis.reduced && axis.extent > 1;
    size_t t = 0;
    for (const auto& [batch, same, one_per_row] : tensors) {
      const View& view = *batch.sample;
      size_t stride = same ? view.stride[k] : packed;
      if (one_per_row) stride = is_row ? wide_stride(view, kept) : 0;
      axis.stride[t++] = static_cast<ptrdiff_t>(is_batch ? batch.step : stride);
    }
    kept += is_row;
    packed *= axis.extent;
    axes.push_collapsed(axis);
  }
  return axes;
}

void ActivationFilter::apply_axes(const Batch& x_batch, const Batch& y_batch) {
  const View &in = problem_.in.view, &out = problem_.out.view;
  const Axes axes =
      axes_of({{x_batch, in, "i_desc"}, {y_batch, in, "o_desc", problem_.gives_index}});
  const AxesTensor x = {x_batch.data, in.type, in.scaling};
  const AxesTensor y = {y_batch.data, out.type, out.scaling};
  if (problem_.info->function == BNNSActivationFunctionGumbelMax) {
    const ActivationCoefficients& p = function_.coefficients();
    const auto run = problem_.gives_index ? run_gumbel_index : run_gumbel_max;
    run(softmax_run_, axes, p.alpha, p.beta, streams_.next(), x, y);
  } else {
    run_softmax(softmax_run_, softmax_kind(), axes, x, y);
  }
}

bool ActivationFilter::slope_known_from_output() const {
  if (!problem_.info->from_output) return false;
  bool known = slope_from_output(*problem_.info, function_.coefficients());
  for (size_t c = 0; per_channel() && c < problem_.channels; ++c) known &= alphas_[c] > 0;
  return known;
}

Slope ActivationFilter::choose_slope(const BackwardArgs& args) const {
  const char* name = problem_.info->name;
  require(problem_.info->from_input, "activation is ", name, "; it has no gradient");
  // This function is not injective, so that y does not determine x: the slope is computed from x if
  // the client gives it.
  const bool prefer_input =
      problem_.info->function == BNNSActivationFunctionGELUApproximationSigmoid &&
      args.in != nullptr;
  if (args.out != nullptr && !prefer_input && slope_known_from_output()) return Slope::kFromOutput;
  require(
      args.in != nullptr, "in is NULL; the gradient of ", name,
      args.out == nullptr ? " needs in or out" : " with these parameters cannot be had from out");
  return Slope::kFromInput;
}

void ActivationFilter::apply_backward(const BackwardArgs& args) {
  const bool want_x = is_wanted(args.in_delta), want_alpha = is_wanted(args.weights_delta);
  require(!is_wanted(args.bias_delta), "bias_delta is given; an activation filter has no bias");
  if (!want_x && !want_alpha) return;
  const bool has_slope = problem_.info->function == BNNSActivationFunctionLeakyRectifiedLinear ||
                         problem_.info->function == BNNSActivationFunctionPReLUPerChannel;
  require(!want_alpha || has_slope, "weights_delta is given; ", problem_.info->name,
          " has no trainable slope");
  require(args.out_delta != nullptr, "out_delta is NULL");
  require(problem_.in.view.is_float() && problem_.out.view.is_float(), "i_desc.data_type is ",
          problem_.in.type->name, ", o_desc.data_type is ", problem_.out.type->name,
          "; training needs Float32");
  const Slope slope = choose_slope(args);
  require(!want_alpha || args.in != nullptr, "in is NULL; the gradient of the slope needs it");
  if (args.batch == 0) return;

  Call call(args.batch);
  const bool from_input = slope == Slope::kFromInput, need_x = from_input || want_alpha;
  const Batch dy =
      call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, problem_.out, "o_desc");
  Batch x, y;
  if (need_x) x = call.reads(problem_.in, args.in, args.in_stride, kIn);
  if (!from_input) y = read_batch(problem_.out, args.batch, args.out, args.out_stride, kOut);
  const Gradient alpha =
      call.writes_parameter_delta(args.weights_delta, "weights_delta", alpha_desc_, "alpha");
  if (want_alpha) call.check_overlaps();  // without in_delta, which may be out_delta, in or out
  Gradient dx;
  const Batch& known = from_input ? x : y;
  if (want_x) {
    dx = call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, problem_.in, "i_desc");
    require_apart_or_same(dx, "in_delta", dy, "out_delta");
    require_apart_or_same(dx, "in_delta", known, from_input ? "in" : "out");
    if (need_x) require_apart_or_same(dx, "in_delta", x, "in");
    require_apart(range_of(alpha), "weights_delta", range_of(dx), "in_delta");
  }
  // The slope's gradient comes first: in_delta may be the memory of in or out_delta.
  if (want_alpha) backward_alpha(x, dy, alpha);
  if (!want_x) return;
  if (problem_.info->kind == ActivationClass::kAxis) {
    backward_axes(slope, known, dy, dx);
  } else if (per_channel()) {
    run_backward_channels(run_, function_, slope, alphas_.data(), problem_.channels, problem_.plane,
                          whole(known), whole(dy), whole(dx), dx.accumulate);
  } else {
    run_backward(run_, function_, slope, whole(known), whole(dy), whole(dx), dx.accumulate);
  }
}

void ActivationFilter::backward_alpha(const Batch& x, const Batch& dy, const Gradient& alpha) {
  auto* gradient = alpha.at<float>(0);
  if (per_channel()) {
    run_leaky_gradient_channels(run_, problem_.channels, problem_.plane, whole(x), whole(dy),
                                gradient, alpha.sample->inner_stride(), alpha.accumulate);
  } else {
    const float sum = run_leaky_gradient(run_, whole(x), whole(dy));
    *gradient = (alpha.accumulate ? *gradient : 0) + sum;
  }
}

void ActivationFilter::backward_axes(Slope slope, const Batch& known, const Batch& dy,
                                     const Gradient& dx) {
  const bool from_input = slope == Slope::kFromInput;
  const View& in = problem_.in.view;
  const Axes axes = axes_of(
      {{known, in, from_input ? "i_desc" : "o_desc"}, {dy, in, "out_delta"}, {dx, in, "in_delta"}});
  run_softmax_backward(softmax_run_, softmax_kind(), axes, from_input, known.at<const float>(0),
                       dy.at<const float>(0), dx.at<float>(0), dx.accumulate);
}

BNNSNDArrayDescriptor ActivationFilter::pointer(BNNSPointerSpecifier target) {
  require(target == BNNSPointerSpecifierAlpha || target == BNNSPointerSpecifierBeta, "target is ",
          static_cast<uint32_t>(target), "; that is no BNNSPointerSpecifier");
  const bool alpha = target == BNNSPointerSpecifierAlpha;
  require(alpha ? problem_.info->uses_alpha : problem_.info->uses_beta, "target is ",
          alpha ? "Alpha" : "Beta", "; ", problem_.info->name, " has none");
  if (per_channel()) return float_vector(problem_.channels, alphas_.data());
  ActivationCoefficients& p = function_.coefficients();
  return float_vector(1, alpha ? &p.alpha : &p.beta);
}

}  // namespace

void require_slope_from_output(const FusedActivation& f) {
  constexpr const char* kRule =
      "; its slope cannot be had from the output, so that it cannot be trained fused: use a "
      "separate activation layer";
  require(f.info().from_output, "activation is ", f.info().name, kRule);
  require(f.slope_known(), "activation is ", f.info().name, " with alpha ",
          double{f.coefficients().alpha}, kRule);
}

BNNSFilter make_activation_filter(const BNNSLayerParametersActivation* parameters,
                                  const BNNSFilterParameters* filter_parameters) {
  const ActivationParameters problem = read_activation_layer(parameters);
  return make_filter<ActivationFilter>(FilterOptions(filter_parameters), problem,
                                       parameters->activation);
}

void apply_activation(const BNNSLayerParametersActivation* parameters,
                      const BNNSFilterParameters* filter_parameters, size_t batch, size_t in_stride,
                      size_t out_stride) {
  const ActivationParameters problem = read_activation_layer(parameters);
  ActivationFilter filter(FilterOptions(filter_parameters), problem, parameters->activation);
  filter.apply({.batch = batch,
                .in = parameters->i_desc.data,
                .in_stride = in_stride,
                .out = parameters->o_desc.data,
                .out_stride = out_stride});
}

}  // namespace bnns::impl

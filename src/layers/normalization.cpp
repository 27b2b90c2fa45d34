// The normalization filter. A filter has one training state: what backward needs of the last
// training forward pass. A lock guards it, so that calls from several threads are safe; backward
// uses the state of the last forward pass. Inference neither uses the state nor takes the lock.
#include "layers/normalization.h"

#include "layers/activation.h"

namespace bnns::impl {
namespace {

constexpr DeltaRules kRules = {.bfloat16 = true};

class NormalizationFilter final : public Filter, public NormalizationCalls {
 public:
  NormalizationFilter(const FilterOptions& options, const NormalizationParameters& parameters)
      : Filter("a normalization filter", options),
        p_(parameters),
        use_client_pointer_(options.use_client_pointer),
        op_(options.memory, options.threads, parameters.problem, options.use_client_pointer) {}

  void apply_normalization(const NormalizationForwardArgs& args) override;
  void apply_normalization_backward(const NormalizationBackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override {
    return Text(normalization_name(p_.kind), " of ", describe(p_.in), ", ",
                p_.problem.activation.info().name, ", parameters ",
                use_client_pointer_ ? "of the client" : "copied");
  }

 private:
  void check_trainable(const NormalizationBackwardArgs& args) const;
  NormalizationOp::Gradients read_gradients(const NormalizationBackwardArgs& args) const;

  NormalizationParameters p_;
  bool use_client_pointer_;
  NormalizationOp op_;
};

void NormalizationFilter::apply_normalization(const NormalizationForwardArgs& args) {
  const ForwardArgs& a = args.filter;
  if (a.batch == 0) return;
  const Batch in = read_batch(p_.in, a.batch, a.in, a.in_stride, kIn);
  const Batch out = read_batch(p_.out, a.batch, a.out, a.out_stride, kOut);
  require_apart_or_same(out, "out", in, "in");
  if (use_client_pointer_) {
    const Range read = range_of(in);
    check_normalization_parameters(p_, &read, 1, range_of(out), args.training);
  }
  if (!args.training) return op_.forward(a.batch, whole(in), whole(out), false);
  const auto lock = op_.training().lock();
  op_.forward(a.batch, whole(in), whole(out), true);
}

void NormalizationFilter::check_trainable(const NormalizationBackwardArgs& args) const {
  require(args.out_delta != nullptr, "out_delta is NULL");
  if (p_.problem.activation.is_identity()) return;
  require_slope_from_output(p_.problem.activation);
  require_data(args.out, p_.out.view.type, "out");
}

NormalizationOp::Gradients NormalizationFilter::read_gradients(
    const NormalizationBackwardArgs& args) const {
  NormalizationOp::Gradients g = {};
  Call call(args.batch);
  read_normalization_gradients(p_, args, {}, call, g);
  if (is_wanted(args.in_delta)) {
    const Gradient dx =
        call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.in, "i_desc", kRules);
    g.dx = whole(dx);
    g.dx_accumulate = dx.accumulate;
  }
  if (use_client_pointer_ && p_.has_gamma) call.reads(range_of(p_.gamma.view), "gamma_desc.data");
  call.check_overlaps();
  return g;
}

void NormalizationFilter::apply_normalization_backward(const NormalizationBackwardArgs& args) {
  if (!is_wanted(args.in_delta) && !is_wanted(args.beta_delta) && !is_wanted(args.gamma_delta))
    return;
  check_trainable(args);
  if (args.batch == 0) return;
  const auto lock = op_.training().lock();
  op_.training().require_trained(args.batch);
  const NormalizationOp::Gradients gradients = read_gradients(args);
  const bool want_gamma = is_wanted(args.gamma_delta);
  if (!use_client_pointer_ && (want_gamma || is_wanted(args.beta_delta)))
    warn_of_copy("BNNSNormalizationFilterApplyBackwardBatch",
                 want_gamma ? "gamma_delta" : "beta_delta", "beta and gamma");
  op_.backward(gradients);
}

void NormalizationFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  const auto lock = op_.training().lock();
  op_.reserve(batch, callers);
}

}  // namespace

void read_normalization_gradients(const NormalizationParameters& p,
                                  const NormalizationBackwardArgs& args, const AffineNames& names,
                                  Call& call, NormalizationOp::Gradients& g) {
  g.dy = whole(
      call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, p.out, "o_desc", kRules));
  if (!p.problem.activation.is_identity())
    g.y = whole(call.reads(p.out, args.out, args.out_stride, kOut));
  const auto read_affine = [&](const BNNSNDArrayDescriptor* delta, const char* field, bool given,
                               const Descriptor& frozen, const char* frozen_field, View& view,
                               bool& accumulate) {
    if (!is_wanted(delta)) return;
    require(given, field, " is given; the filter has no ", frozen_field);
    const Gradient d = call.writes_parameter_delta(delta, field, frozen, frozen_field, kRules);
    view = whole(d);
    accumulate = d.accumulate;
  };
  read_affine(args.beta_delta, names.beta, p.has_beta, p.beta, "beta_desc", g.dbeta,
              g.dbeta_accumulate);
  read_affine(args.gamma_delta, names.gamma, p.has_gamma, p.gamma, "gamma_desc", g.dgamma,
              g.dgamma_accumulate);
}

void check_normalization_parameters(const NormalizationParameters& p, const Range* in,
                                    size_t inputs, const Range& out, bool training) {
  const Range mean = range_of(p.moving_mean.view), variance = range_of(p.moving_variance.view);
  const auto reads_affine = [&](Call& call) {
    call.reads(range_of(p.beta.view), "beta_desc.data");
    call.reads(range_of(p.gamma.view), "gamma_desc.data");
  };
  Call output(1), statistics(1);
  output.writes(out, "out");
  reads_affine(output);
  output.reads(mean, "moving_mean_desc.data");
  output.reads(variance, "moving_variance_desc.data");
  output.check_overlaps();
  if (!training) return;
  statistics.writes(mean, "moving_mean_desc.data");
  statistics.writes(variance, "moving_variance_desc.data");
  for (size_t k = 0; k < inputs; ++k) statistics.reads(in[k], "in");
  reads_affine(statistics);
  statistics.check_overlaps();
}

BNNSFilter make_normalization_filter(BNNSFilterType type,
                                     const BNNSLayerParametersNormalization* parameters,
                                     const BNNSFilterParameters* filter_parameters) {
  const NormalizationParameters read = read_normalization(type, parameters);
  return make_filter<NormalizationFilter>(FilterOptions(filter_parameters), read);
}

}  // namespace bnns::impl

// The normalization filter. A filter has one training state: what backward needs of the last
// training forward pass. A lock guards it, so that calls from several threads are safe; backward
// uses the state of the last forward pass. Inference neither uses the state nor takes the lock.
#include "layers/normalization.h"

#include "layers/activation.h"

namespace bnns::impl {
namespace {

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
  void check_client_parameters(const Batch& in, const Batch& out, bool training) const;
  void check_trainable(const NormalizationBackwardArgs& args) const;
  NormalizationOp::Gradients read_gradients(const NormalizationBackwardArgs& args) const;

  NormalizationParameters p_;
  bool use_client_pointer_;
  NormalizationOp op_;
};

// Checks that the client's parameters do not overlap what the call writes: the output and, in
// training, the moving statistics.
void NormalizationFilter::check_client_parameters(const Batch& in, const Batch& out,
                                                  bool training) const {
  const Range mean = range_of(p_.moving_mean.view), variance = range_of(p_.moving_variance.view);
  const auto reads_affine = [&](Call& call) {
    call.reads(range_of(p_.beta.view), "beta_desc.data");
    call.reads(range_of(p_.gamma.view), "gamma_desc.data");
  };
  Call output(out.size), statistics(out.size);
  output.writes(range_of(out), "out");
  reads_affine(output);
  output.reads(mean, "moving_mean_desc.data");
  output.reads(variance, "moving_variance_desc.data");
  output.check_overlaps();
  if (!training) return;
  statistics.writes(mean, "moving_mean_desc.data");
  statistics.writes(variance, "moving_variance_desc.data");
  statistics.reads(range_of(in), "in");
  reads_affine(statistics);
  statistics.check_overlaps();
}

void NormalizationFilter::apply_normalization(const NormalizationForwardArgs& args) {
  const ForwardArgs& a = args.filter;
  if (a.batch == 0) return;
  const Batch in = read_batch(p_.in, a.batch, a.in, a.in_stride, kIn);
  const Batch out = read_batch(p_.out, a.batch, a.out, a.out_stride, kOut);
  require_apart_or_same(out, "out", in, "in");
  if (use_client_pointer_) check_client_parameters(in, out, args.training);
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
  constexpr DeltaRules kRules = {.bfloat16 = true};
  NormalizationOp::Gradients g = {};
  Call call(args.batch);
  g.dy = whole(
      call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, p_.out, "o_desc", kRules));
  if (!p_.problem.activation.is_identity())
    g.y = whole(call.reads(p_.out, args.out, args.out_stride, kOut));
  if (is_wanted(args.in_delta)) {
    const Gradient dx =
        call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.in, "i_desc", kRules);
    g.dx = whole(dx);
    g.dx_accumulate = dx.accumulate;
  }
  const auto read_affine = [&](const BNNSNDArrayDescriptor* delta, const char* field, bool given,
                               const Descriptor& frozen, const char* frozen_field, View& view,
                               bool& accumulate) {
    if (!is_wanted(delta)) return;
    require(given, field, " is given; the filter has no ", frozen_field);
    const Gradient d = call.writes_parameter_delta(delta, field, frozen, frozen_field, kRules);
    view = whole(d);
    accumulate = d.accumulate;
  };
  read_affine(args.beta_delta, "beta_delta", p_.has_beta, p_.beta, "beta_desc", g.dbeta,
              g.dbeta_accumulate);
  read_affine(args.gamma_delta, "gamma_delta", p_.has_gamma, p_.gamma, "gamma_desc", g.dgamma,
              g.dgamma_accumulate);
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
  op_.backward(read_gradients(args));
}

void NormalizationFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  const auto lock = op_.training().lock();
  op_.reserve(batch, callers);
}

}  // namespace

BNNSFilter make_normalization_filter(BNNSFilterType type,
                                     const BNNSLayerParametersNormalization* parameters,
                                     const BNNSFilterParameters* filter_parameters) {
  const NormalizationParameters read = read_normalization(type, parameters);
  return make_filter<NormalizationFilter>(FilterOptions(filter_parameters), read);
}

}  // namespace bnns::impl

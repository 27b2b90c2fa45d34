// The normalization filter. Its training state (what backward needs of the last training forward
// pass) is one per filter and guarded by a lock: calls from several threads are safe, the last
// forward pass counts. Inference takes no part in that.
#include "layers/normalization.h"

#include <mutex>

namespace bnns::impl {
namespace {

struct Named {
  Range range;
  const char* name;
};

// What a call writes and reads; what is written must not overlap anything else.
class Ranges {
 public:
  void writes(const View& sample, const void* data, size_t batch, size_t stride, const char* name) {
    if (data != nullptr) written_[writes_++] = {range_of(sample, data, batch, stride), name};
  }
  void reads(const View& sample, const void* data, size_t batch, size_t stride, const char* name) {
    if (data != nullptr) read_[reads_++] = {range_of(sample, data, batch, stride), name};
  }
  void check() const {
    for (size_t w = 0; w < writes_; ++w) {
      for (size_t r = 0; r < reads_; ++r) apart(written_[w], read_[r]);
      for (size_t o = w + 1; o < writes_; ++o) apart(written_[w], written_[o]);
    }
  }

 private:
  static void apart(const Named& a, const Named& b) {
    require_apart(a.range, a.name, b.range, b.name);
  }

  Named written_[4], read_[4];
  size_t writes_ = 0, reads_ = 0;
};

bool wanted(const BNNSNDArrayDescriptor* d) {
  return d != nullptr && d->data != nullptr;
}

class NormalizationFilter final : public Filter {
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
                p_.problem.activation.row().name, ", parameters ",
                use_client_pointer_ ? "of the client" : "copied");
  }

 private:
  void check_forward(const NormalizationForwardArgs& args) const;
  void check_in_place(const NormalizationForwardArgs& args) const;
  void check_trainable(const NormalizationBackwardArgs& args) const;
  void check_trained(size_t batch) const;
  NormalizationOp::Gradients read_gradients(const NormalizationBackwardArgs& args) const;

  NormalizationParameters p_;
  bool use_client_pointer_;
  std::mutex training_;
  NormalizationOp op_;
};

// out may be in, if every element keeps its place.
void NormalizationFilter::check_in_place(const NormalizationForwardArgs& args) const {
  const View &in = p_.in.view, &out = p_.out.view;
  const Range read = range_of(in, args.in, args.batch, args.in_stride);
  const Range written = range_of(out, args.out, args.batch, args.out_stride);
  if (!overlap(read, written)) return;
  const size_t in_step = args.in_stride == 0 ? in.span : args.in_stride;
  const size_t out_step = args.out_stride == 0 ? out.span : args.out_stride;
  bool same = args.in == args.out && in.type == out.type && !in.overlaps &&
              (args.batch == 1 || in_step == out_step);
  for (size_t k = 0; k < in.rank; ++k) same &= in.extent[k] == 1 || in.stride[k] == out.stride[k];
  require(same, "in and out overlap in memory; they must be separate, or the same memory with the ",
          "same type and strides");
}

void NormalizationFilter::check_forward(const NormalizationForwardArgs& args) const {
  const View &in = p_.in.view, &out = p_.out.view;
  require_data(args.in, in.type, "in");
  require_data(args.out, out.type, "out");
  require_batch(in, args.batch, args.in_stride, "in_stride");
  require_batch(out, args.batch, args.out_stride, "out_stride");
  check_in_place(args);
  if (!use_client_pointer_) return;
  const View &mean = p_.moving_mean.view, &variance = p_.moving_variance.view;
  Ranges output, statistics;
  output.writes(out, args.out, args.batch, args.out_stride, "out");
  output.reads(p_.beta.view, p_.beta.view.data, 1, 0, "beta_desc.data");
  output.reads(p_.gamma.view, p_.gamma.view.data, 1, 0, "gamma_desc.data");
  output.reads(mean, mean.data, 1, 0, "moving_mean_desc.data");
  output.reads(variance, variance.data, 1, 0, "moving_variance_desc.data");
  output.check();
  if (!args.training) return;
  statistics.writes(mean, mean.data, 1, 0, "moving_mean_desc.data");
  statistics.writes(variance, variance.data, 1, 0, "moving_variance_desc.data");
  statistics.reads(in, args.in, args.batch, args.in_stride, "in");
  statistics.reads(p_.beta.view, p_.beta.view.data, 1, 0, "beta_desc.data");
  statistics.reads(p_.gamma.view, p_.gamma.view.data, 1, 0, "gamma_desc.data");
  statistics.check();
}

void NormalizationFilter::apply_normalization(const NormalizationForwardArgs& args) {
  if (args.batch == 0) return;
  check_forward(args);
  const View x = batched(p_.in.view, args.in, args.batch, args.in_stride);
  const View y = batched(p_.out.view, args.out, args.batch, args.out_stride);
  if (!args.training) return op_.forward(args.batch, x, y, false);
  const std::lock_guard lock(training_);
  op_.forward(args.batch, x, y, true);
}

void NormalizationFilter::check_trainable(const NormalizationBackwardArgs& args) const {
  require(args.out_delta != nullptr, "out_delta is NULL");
  const ElementActivation& f = p_.problem.activation;
  if (f.is_identity()) return;
  require(f.row().from_output, "activation is ", f.row().name,
          "; its slope cannot be had from the output, so that it cannot be trained fused");
  require(slope_from_output(f.row(), f.parameters()), "activation is ", f.row().name,
          " with alpha ", double{f.parameters().alpha},
          "; its slope cannot be had from the output, so that it cannot be trained fused");
  require_data(args.out, p_.out.view.type, "out");
}

void NormalizationFilter::check_trained(size_t batch) const {
  const size_t trained = op_.trained_batch();
  require(trained != 0,
          "the filter was not applied with training = true; backward needs what that keeps");
  require(batch == trained, "batch_size is ", batch, ", but the last training forward pass had ",
          trained, "; they must be equal");
}

NormalizationOp::Gradients NormalizationFilter::read_gradients(
    const NormalizationBackwardArgs& args) const {
  constexpr DeltaTypes kTypes = DeltaTypes::kFloat32OrBFloat16;
  NormalizationOp::Gradients g = {};
  Ranges ranges;
  const size_t batch = args.batch;
  const Descriptor dy =
      read_delta(*args.out_delta, "out_delta", p_.out, "o_desc", Use::kInput, kTypes);
  require_batch(dy.view, batch, args.out_delta_stride, "out_delta_stride");
  g.dy = batched(dy.view, dy.view.data, batch, args.out_delta_stride);
  ranges.reads(dy.view, dy.view.data, batch, args.out_delta_stride, "out_delta");
  if (!p_.problem.activation.is_identity()) {
    require_batch(p_.out.view, batch, args.out_stride, "out_stride");
    g.y = batched(p_.out.view, args.out, batch, args.out_stride);
    ranges.reads(p_.out.view, args.out, batch, args.out_stride, "out");
  }
  if (wanted(args.in_delta)) {
    const Descriptor dx =
        read_delta(*args.in_delta, "in_delta", p_.in, "i_desc", Use::kOutput, kTypes);
    require_batch(dx.view, batch, args.in_delta_stride, "in_delta_stride");
    g.dx = batched(dx.view, dx.view.data, batch, args.in_delta_stride);
    g.dx_accumulate = dx.accumulate;
    ranges.writes(dx.view, dx.view.data, batch, args.in_delta_stride, "in_delta");
  }
  const auto read_affine = [&](const BNNSNDArrayDescriptor* delta, const char* field, bool given,
                               const Descriptor& frozen, const char* frozen_field, View& view,
                               bool& accumulate) {
    if (!wanted(delta)) return;
    require(given, field, " is given; the filter has no ", frozen_field);
    const Descriptor d = read_delta(*delta, field, frozen, frozen_field, Use::kOutput, kTypes);
    view = collapsed(d.view);
    accumulate = d.accumulate;
    ranges.writes(d.view, d.view.data, 1, 0, field);
  };
  read_affine(args.beta_delta, "beta_delta", p_.has_beta, p_.beta, "beta_desc", g.dbeta,
              g.dbeta_accumulate);
  read_affine(args.gamma_delta, "gamma_delta", p_.has_gamma, p_.gamma, "gamma_desc", g.dgamma,
              g.dgamma_accumulate);
  if (use_client_pointer_ && p_.has_gamma)
    ranges.reads(p_.gamma.view, p_.gamma.view.data, 1, 0, "gamma_desc.data");
  ranges.check();
  return g;
}

void NormalizationFilter::apply_normalization_backward(const NormalizationBackwardArgs& args) {
  if (!wanted(args.in_delta) && !wanted(args.beta_delta) && !wanted(args.gamma_delta)) return;
  check_trainable(args);
  if (args.batch == 0) return;
  const std::lock_guard lock(training_);
  check_trained(args.batch);
  op_.backward(read_gradients(args));
}

void NormalizationFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  const std::lock_guard lock(training_);
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

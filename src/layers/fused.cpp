// Fused filters: z of the first layer goes to the second one without passing through the client's
// memory.
//   training, normalization   z is put into the normalization's own cache. Where it is computed
//                             tile by tile, its moments are collected before the tile leaves the
//                             cache, so that z is written once and read once.
//   inference                 with moving statistics scale and shift become part of the epilogue of
//                             the first layer, and there is no z at all. Without them z lies in
//                             working memory.
// z is Float32 also where the type between the two layers is one of 16 bits: it is rounded once, at
// the end. Before a quantization it may be of an integer type; then it is rounded to that.
#include "layers/fused.h"

#include <algorithm>

#include "layers/activation.h"
#include "layers/fused_first.h"
#include "layers/fused_read.h"
#include "layers/normalization.h"
#include "layers/quantizer.h"

namespace bnns::impl {
namespace {

void require_inputs(size_t given, size_t inputs) {
  require(given == inputs, "number_of_inputs is ", given, "; the filter has ", inputs);
}

// Moving statistics, which training writes, must not be parameters of the first layer.
template <class First>
void check_statistics(const First& first, const NormalizationParameters& p) {
  Call call(1);
  call.writes(range_of(p.moving_mean.view), "moving_mean_desc.data");
  call.writes(range_of(p.moving_variance.view), "moving_variance_desc.data");
  first.read_client(call);
  call.check_overlaps();
}

// The ranges that a forward call reads, checked against what it writes.
template <class First>
size_t check_output(const First& first, const FusedInputs& inputs, const Batch& out, Range* read) {
  Call call(out.size);
  call.writes(range_of(out), "out");
  for (size_t k = 0; k < first.inputs(); ++k) {
    read[k] = range_of(inputs.in[k]);
    call.reads(read[k], "in");
  }
  first.read_client(call);
  call.check_overlaps();
  return first.inputs();
}

// The first layer, and what it gives to the second.
template <class First>
class FusedFilter : public Filter, public FusedCalls {
 protected:
  template <class... Arguments>
  explicit FusedFilter(const FilterOptions& options, const Arguments&... first)
      : Filter("a fused filter", options),
        first_(options, first...),
        client_(options.use_client_pointer),
        z_(packed_between(first_.out())) {}

  template <class T>
  T* buffer(Array<T>& array, size_t size) const {
    if (array.size() < size) array = Array<T>(memory(), size);
    return array.data();
  }
  float* buffer_of_z(Array<float>& z, size_t batch) const {
    return buffer(z, checked_mul(batch, z_.count, "the values between the layers"));
  }

  First first_;
  bool client_;
  View z_;  // one sample of what lies between the layers
};

// ---- Followed by a normalization ----

template <class First>
class FusedNormalizationFilter final : public FusedFilter<First> {
  using Base = FusedFilter<First>;
  using Base::first_, Base::client_, Base::z_, Base::buffer, Base::buffer_of_z;

 public:
  template <class... Arguments>
  FusedNormalizationFilter(const FilterOptions& options, const NormalizationParameters& second,
                           const Arguments&... first)
      : Base(options, first...),
        p_(second),
        op_(options.memory, options.threads, second.problem, options.use_client_pointer),
        scratch_(options.memory) {}

  void apply_fused(const FusedForwardArgs& args) override;
  void apply_fused_backward(const FusedBackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override {
    return Text(describe(first_.out()), " between the layers, then ", normalization_name(p_.kind),
                ", ", p_.problem.activation.info().name,
                collects_moments() ? ", moments collected with the sums" : "");
  }

 private:
  // Working memory of one caller, made when first needed.
  struct Scratch {
    Array<float> z, fold;
    Array<Moments> moments;
  };
  bool collects_moments() const {
    return p_.kind == NormalizationKind::kBatch && first_.gives_moments(p_.problem);
  }
  // Whether the first layer may write the final result where the client wants it.
  bool may_fold() const {
    return p_.has_moving_mean && p_.has_moving_variance && first_.has_parameters() &&
           first_.gives_moments(p_.problem) && first_.activation().is_identity() &&
           !p_.problem.activation.is_random() && p_.out.view.is_float() && p_.out.view.is_dense();
  }
  void run(const FusedInputs& inputs, const Batch& out, bool training, Scratch& scratch);
  void run_folded(const FusedInputs& inputs, const Batch& out, Scratch& scratch);
  void check_trainable(const FusedBackwardArgs& args) const;
  static bool wants_parameters(const FusedBackwardArgs& args) {
    bool any = false;
    for (size_t k = 0; k < First::kSlots + 2; ++k) any |= is_wanted(slot(args, k));
    return any;
  }

  NormalizationParameters p_;
  NormalizationOp op_;
  ScratchPool<Scratch> scratch_;
};

template <class First>
void FusedNormalizationFilter<First>::run(const FusedInputs& inputs, const Batch& out,
                                          bool training, Scratch& scratch) {
  const size_t batch = out.size;
  float* values = training ? op_.input_of_training(batch) : buffer_of_z(scratch.z, batch);
  // z takes the place of what an earlier pass has left for backward.
  if (training) op_.training().remember(0);
  const Batch z = make_batch(z_, values, batch, 0);
  const bool moving = !training && p_.has_moving_mean && p_.has_moving_variance;
  Moments* moments =
      collects_moments() && !moving ? buffer(scratch.moments, p_.problem.channels) : nullptr;
  first_.forward(inputs, z, {.moments = moments});
  op_.apply(batch, whole(z), whole(out), training, moments);
}

template <class First>
void FusedNormalizationFilter<First>::run_folded(const FusedInputs& inputs, const Batch& out,
                                                 Scratch& scratch) {
  const size_t channels = p_.problem.channels;
  float* scale = buffer(scratch.fold, 2 * channels);
  op_.fold(scale, scale + channels);
  first_.forward(inputs, out,
                 {.scale = scale, .shift = scale + channels, .activation = &p_.problem.activation});
}

template <class First>
void FusedNormalizationFilter<First>::apply_fused(const FusedForwardArgs& args) {
  require_inputs(args.inputs, first_.inputs());
  if (args.training) {
    require(first_.activation().is_identity(), "training is true, and the first layer has ",
            first_.activation().info().name, " as its activation; training needs Identity there");
  }
  if (args.batch == 0) return;
  FusedInputs inputs;
  first_.read_inputs(args, inputs);
  const Batch out = read_batch(p_.out, args.batch, args.out, args.out_stride, kOut);
  Range read[kMaxArithmeticInputs];
  const size_t count = check_output(first_, inputs, out, read);
  if (client_) check_normalization_parameters(p_, read, count, range_of(out), args.training);
  if (client_ && args.training) check_statistics(first_, p_);

  const auto scratch = scratch_.take();
  if (args.training) {
    const auto lock = op_.training().lock();
    run(inputs, out, true, *scratch);
  } else if (may_fold()) {
    run_folded(inputs, out, *scratch);
  } else {
    run(inputs, out, false, *scratch);
  }
}

template <class First>
void FusedNormalizationFilter<First>::check_trainable(const FusedBackwardArgs& args) const {
  first_.check_trainable();
  require(args.out_delta != nullptr, "out_delta is NULL");
  if (p_.problem.activation.is_identity()) return;
  require_slope_from_output(p_.problem.activation);
  require_data(args.out, p_.out.view.type, "out");
}

template <class First>
void FusedNormalizationFilter<First>::apply_fused_backward(const FusedBackwardArgs& args) {
  static constexpr const char* kSlotNames[] = {"delta_parameters[0]", "delta_parameters[1]",
                                               "delta_parameters[2]", "delta_parameters[3]"};
  constexpr AffineNames kNames = {kSlotNames[First::kSlots], kSlotNames[First::kSlots + 1]};
  require_inputs(args.inputs, first_.inputs());
  const NormalizationBackwardArgs second = {.batch = args.batch,
                                            .in_delta = nullptr,
                                            .in_delta_stride = 0,
                                            .out = args.out,
                                            .out_stride = args.out_stride,
                                            .out_delta = args.out_delta,
                                            .out_delta_stride = args.out_delta_stride,
                                            .beta_delta = slot(args, First::kSlots),
                                            .gamma_delta = slot(args, First::kSlots + 1)};
  const bool wants_first = first_.wants(args);
  if (!wants_first && !is_wanted(second.beta_delta) && !is_wanted(second.gamma_delta)) return;
  check_trainable(args);
  if (args.batch == 0) return;

  const auto lock = op_.training().lock();
  op_.training().require_trained(args.batch);
  Call call(args.batch), aliasing(args.batch);
  NormalizationOp::Gradients g = {};
  typename First::Gradients first = {};
  read_normalization_gradients(p_, second, kNames, call, g);
  if (client_ && p_.has_gamma) call.reads(range_of(p_.gamma.view), "gamma_desc.data");
  if (wants_first) first_.read_gradients(args, First::kMayAlias ? aliasing : call, first);
  call.check_overlaps();
  if constexpr (First::kMayAlias) {
    First::check_apart(first, range_of(g.dy), "out_delta", false);
    First::check_apart(first, range_of(g.y), "out", false);
    First::check_apart(first, range_of(g.dbeta), kNames.beta, true);
    First::check_apart(first, range_of(g.dgamma), kNames.gamma, true);
    if (client_) First::check_apart(first, range_of(p_.gamma.view), "gamma_desc.data", false);
  }
  if (!client_ && wants_parameters(args))
    this->warn_of_copy(args.function, "an entry of delta_parameters", "parameters");

  const auto scratch = scratch_.take();
  Batch dz;
  if (wants_first) {
    dz = make_batch(z_, buffer_of_z(scratch->z, args.batch), args.batch, 0);
    g.dx = whole(dz);
  }
  // The first layer may still lack working memory: the gradients of the second are stored last.
  const NormalizationOp::Sums sums = op_.backward_to_sums(g);
  if (wants_first) first_.backward(first, dz);
  op_.store_sums(g, sums);
}

template <class First>
void FusedNormalizationFilter<First>::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  first_.reserve(batch, callers);
  {
    const auto lock = op_.training().lock();
    op_.reserve(batch, callers);
  }
  scratch_.reserve(callers, [&](Scratch& s) {
    buffer_of_z(s.z, batch);
    buffer(s.fold, 2 * p_.problem.channels);
    if (collects_moments()) buffer(s.moments, p_.problem.channels);
  });
}

// ---- Followed by a quantization ----

template <class First>
class FusedQuantizationFilter final : public FusedFilter<First> {
  using Base = FusedFilter<First>;
  using Base::first_, Base::client_, Base::z_, Base::buffer_of_z;

 public:
  template <class... Arguments>
  FusedQuantizationFilter(const FilterOptions& options, const QuantizerParameters& second,
                          const Arguments&... first)
      : Base(options, first...),
        p_(second),
        op_(options.memory, options.threads, second.problem, options.use_client_pointer),
        scratch_(options.memory) {}

  void apply_fused(const FusedForwardArgs& args) override;
  void apply_fused_backward(const FusedBackwardArgs&) override {
    fail("the filter ends with a quantization, which has no gradient");
  }
  void reserve(size_t batch, size_t callers) override {
    Filter::reserve(batch, callers);
    first_.reserve(batch, callers);
    op_.reserve(callers);
    scratch_.reserve(callers, [&](Array<float>& z) { buffer_of_z(z, batch); });
  }
  Text plan() const override {
    return Text(describe(first_.out()), " between the layers, then quantization to ",
                p_.out.type->name);
  }

 private:
  QuantizerParameters p_;
  QuantizeOp op_;
  ScratchPool<Array<float>> scratch_;
};

template <class First>
void FusedQuantizationFilter<First>::apply_fused(const FusedForwardArgs& args) {
  require_inputs(args.inputs, first_.inputs());
  if (args.batch == 0) return;
  require_batch_of_scales(p_, args.batch);
  FusedInputs inputs;
  first_.read_inputs(args, inputs);
  const Batch out = read_batch(p_.out, args.batch, args.out, args.out_stride, kOut);
  Range read[kMaxArithmeticInputs];
  check_output(first_, inputs, out, read);
  if (client_ && p_.has_scale)
    require_apart(range_of(out), "out", range_of(p_.scale.view), "scale.data");
  if (client_ && p_.has_bias)
    require_apart(range_of(out), "out", range_of(p_.bias.view), "bias.data");
  const auto scratch = scratch_.take();
  const Batch z = make_batch(z_, buffer_of_z(*scratch, args.batch), args.batch, 0);
  first_.forward(inputs, z, {});
  op_.run(whole(z), whole(out));
}

template <class First, class... Arguments>
BNNSFilter make_with(const FilterOptions& options, const FusedSecond& second,
                     const Arguments&... first) {
  if (const auto* p = std::get_if<NormalizationParameters>(&second))
    return make_filter<FusedNormalizationFilter<First>>(options, *p, first...);
  return make_filter<FusedQuantizationFilter<First>>(options, std::get<QuantizerParameters>(second),
                                                     first...);
}

}  // namespace

BNNSFilter make_fused_filter(size_t count, const BNNSFilterType* types,
                             const void* const* parameters,
                             const BNNSFilterParameters* filter_parameters) {
  const FusedParameters p = read_fused(count, types, parameters);
  const FilterOptions options(filter_parameters);
  if (const auto* c = std::get_if<ConvolutionParameters>(&p.first))
    return make_with<ConvolutionFirst>(options, p.second, *c, p.activation);
  if (const auto* f = std::get_if<FullyConnectedParameters>(&p.first))
    return make_with<FullyConnectedFirst>(options, p.second, *f, p.activation);
  return make_with<ArithmeticFirst>(options, p.second, std::get<ArithmeticParameters>(p.first));
}

}  // namespace bnns::impl

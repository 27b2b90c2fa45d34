// The dropout filter: y = m x / (1 - rate), dx = m dy / (1 - rate), m(k) = 0 with probability
// `rate` and else 1. Each forward call draws its own m from the next stream; the filter keeps that
// of the last one, for the whole batch, and backward uses it. As each call replaces it, calls hold
// the filter's lock and run one after the other. Elements pair up in the order of memory.
#include "layers/dropout.h"

#include <algorithm>
#include <mutex>

#include "core/call.h"
#include "core/filter.h"
#include "core/training_state.h"
#include "ops/dropout/dropout.h"

namespace bnns::impl {
namespace {

struct DropoutParameters {
  Descriptor in, out;
  uint32_t shared;  // axes of in.view
  float rate;
  uint32_t seed;
};

void require_float(const Descriptor& d, const char* field) {
  require(d.type->kind == TypeClass::kFloat, field, ".data_type is ", d.type->name,
          "; dropout takes floating-point types");
  require_plain_layout(d, field);
}

// Only the low four bits of `control` count; bits of axes that the tensor does not have share
// nothing.
DropoutParameters read_dropout(const BNNSLayerParametersDropout* p) {
  require(p != nullptr, "layer_params is NULL");
  DropoutParameters d = {.in = read_descriptor(p->i_desc, "i_desc", Use::kInput),
                         .out = read_descriptor(p->o_desc, "o_desc", Use::kOutput),
                         .shared = 0,
                         .rate = p->rate,
                         .seed = p->seed};
  require_float(d.in, "i_desc");
  require_float(d.out, "o_desc");
  require_same_elements(d.out, "o_desc", d.in, "i_desc");
  require(p->rate >= 0 && p->rate < 1, "rate is ", double{p->rate},
          "; it must be at least 0 and below 1");
  for (size_t k = 0; k < d.in.rank(); ++k) {
    const uint32_t bit = d.in.layout->pair[k];
    if (bit < 4 && (p->control >> bit & 1) != 0) d.shared |= 1u << k;
  }
  return d;
}

class DropoutFilter final : public Filter {
 public:
  DropoutFilter(const FilterOptions& options, const DropoutParameters& p)
      : Filter("a dropout filter", options),
        p_(p),
        op_(options.threads, {.in = p.in.view, .shared = p.shared, .rate = p.rate}),
        streams_(p.seed == 0 ? RandomStreams(true) : RandomStreams::of_seed(p.seed)) {}

  void apply(const ForwardArgs& args) override {
    if (args.batch == 0) return;
    const Batch x = read_batch(p_.in, args.batch, args.in, args.in_stride, kIn);
    const Batch y = read_batch(p_.out, args.batch, args.out, args.out_stride, kOut);
    require_apart_or_same(y, "out", x, "in");

    const auto lock = state_.lock();
    Array<uint32_t>& mask = state_.buffers;
    mask.grow(memory(), op_.mask_words(args.batch));
    state_.remember(args.batch);
    const RandomUse use = p_.seed == 0 ? RandomUse::kFilter : RandomUse::kSeed;
    op_.draw(use, streams_.next(), args.batch, mask.data());
    op_.apply(mask.data(), args.batch, whole(x), whole(y), false);
  }

  void apply_backward(const BackwardArgs& args) override {
    constexpr DeltaRules kRules = {.bfloat16 = true};
    require(!is_wanted(args.weights_delta), "weights_delta has data; dropout has no weights");
    require(!is_wanted(args.bias_delta), "bias_delta has data; dropout has no bias");
    if (args.batch == 0 || !is_wanted(args.in_delta)) return;
    Call call(args.batch);
    const Batch dy = call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, p_.out,
                                      "o_desc", kRules);
    const Gradient dx =
        call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.in, "i_desc", kRules);
    require_apart_or_same(dx, "in_delta", dy, "out_delta");

    const auto lock = state_.lock();
    require(state_.batch() != 0,
            "the filter was not applied; backward needs the decisions of a forward call");
    require(state_.batch() == args.batch, "batch_size is ", args.batch,
            ", but the last forward call had ", state_.batch(), "; they must be equal");
    op_.apply(state_.buffers.data(), args.batch, whole(dy), whole(dx), dx.accumulate);
  }

  // Keeps the decisions that a backward call may still need.
  void reserve(size_t batch, size_t callers) override {
    Filter::reserve(batch, callers);
    const size_t words = op_.mask_words(batch);
    const auto lock = state_.lock();
    Array<uint32_t>& mask = state_.buffers;
    if (words <= mask.size()) return;
    Array<uint32_t> larger(memory(), words);
    std::copy_n(mask.data(), mask.size(), larger.data());
    mask = std::move(larger);
  }

  Text plan() const override {
    return Text(describe(p_.in), ", rate ", double{p_.rate}, ", ", op_.mask_words(1) * 4,
                " bytes of decisions for each sample");
  }

 private:
  DropoutParameters p_;
  DropoutOp op_;
  RandomStreams streams_;
  TrainingState<Array<uint32_t>> state_;
};

}  // namespace

BNNSFilter make_dropout_filter(const BNNSLayerParametersDropout* parameters,
                               const BNNSFilterParameters* filter_parameters) {
  return make_filter<DropoutFilter>(FilterOptions(filter_parameters), read_dropout(parameters));
}

}  // namespace bnns::impl

// The reduction filter, and the call without a filter: the axes along which o_desc has the size 1
// are reduced. Formulas, threads and types are those of ops/reduction, whose plan is made in each
// call, as it depends on the strides of the call.
#include "layers/reduction.h"

#include <algorithm>

#include "core/checked.h"
#include "core/filter.h"
#include "core/scratch_pool.h"
#include "layers/reduction_read.h"
#include "ops/copy.h"

namespace bnns::impl {
namespace {

constexpr DeltaRules kDeltaRules = {.bfloat16 = true, .same_layout = true};
constexpr DeltaRules kWeightRules = {.same_layout = true};
constexpr size_t kMostStates = size_t{1} << 16;  // 1 MB of them

// The same axes without gaps.
View dense(const View& view, BNNSDataType type) {
  View result = view;
  size_t next = 1;
  for (size_t k = 0; k < view.rank; ++k) {
    result.stride[k] = next;
    next *= view.extent[k];
  }
  result.span = result.step = next;
  result.overlaps = false;
  result.type = type;
  return result;
}

class ReductionFilter final : public Filter {
 public:
  ReductionFilter(const FilterOptions& options, const ReductionParameters& p)
      : Filter("a reduction filter", options),
        p_(p),
        run_(options.threads),
        scratch_(options.memory) {
    if (!p_.weighted) return;
    weights_ = p_.weights.view;
    if (options.use_client_pointer) return;
    weights_ = dense(weights_, p_.is_float() ? BNNSDataTypeFloat32 : p_.weights.view.type);
    copied_ = Array<char>(options.memory, checked_mul(weights_.count, type_bytes(weights_.type),
                                                      "the copy of w_desc in bytes"));
    weights_.data = copied_.data();
    run_copy(*run_.convert, 1, collapsed(p_.weights.view), collapsed(weights_));
  }

  void apply(const ForwardArgs& args) override {
    if (args.batch == 0) return;
    Call call(args.batch);
    ReductionTensors tensors = {};
    tensors[kReduceX] = {&p_.in, call.reads(p_.in, args.in, args.in_stride, kIn)};
    tensors[kReduceY] = {&p_.out, call.writes(p_.out, args.out, args.out_stride, kOut)};
    add_weights(tensors, call);
    call.check_overlaps();
    const ReduceProblem problem = reduction_problem(p_, tensors, args.batch);
    with_scratch(reduce_scratch(problem),
                 [&](ReduceState* scratch) { run_reduce(run_, problem, scratch); });
  }

  void apply_backward(const BackwardArgs& args) override {
    const bool wants_in = is_wanted(args.in_delta), wants_weights = is_wanted(args.weights_delta);
    require(!is_wanted(args.bias_delta), "bias_delta has data; a reduction has no bias");
    require(p_.weighted || !wants_weights, "weights_delta has data; w_desc has none");
    if (!wants_in && !wants_weights) return;
    require(p_.info->gradient(), wants_in ? "in_delta" : "weights_delta", " has data; ",
            p_.info->name, " has no gradient");
    require(p_.is_float(), "i_desc.data_type is ", p_.in.type->name,
            "; training needs Float32, Float16 or BFloat16");
    if (args.batch == 0) return;
    Call call(args.batch);
    ReductionTensors tensors = {};
    ReduceAccumulate accumulate;
    if (p_.info->from_x() || wants_weights)
      tensors[kReduceX] = {&p_.in, call.reads(p_.in, args.in, args.in_stride, kIn)};
    tensors[kReduceY] = {&p_.out, call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta,
                                                   p_.out, "o_desc", kDeltaRules)};
    if (p_.info->from_out() && args.out != nullptr && p_.out.view.is_float())
      tensors[kReduceOut] = {&p_.out, call.reads(p_.out, args.out, args.out_stride, kOut)};
    add_weights(tensors, call);
    if (wants_in) {
      const Gradient dx = call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.in,
                                            "i_desc", kDeltaRules);
      tensors[kReduceDx] = {&p_.in, dx};
      accumulate.dx = dx.accumulate;
    }
    if (wants_weights) {
      const Gradient dw = call.writes_parameter_delta(args.weights_delta, "weights_delta",
                                                      p_.weights, "w_desc", kWeightRules);
      tensors[kReduceDw] = {&p_.weights, dw};
      accumulate.dw = dw.accumulate;
    }
    call.check_overlaps();
    if (wants_weights && copied_)
      warn_of_copy("BNNSFilterApplyBackwardBatch", "weights_delta", "weights");
    run_backward(tensors, accumulate, args.batch);
  }

  void reserve(size_t batch, size_t callers) override {
    Filter::reserve(batch, callers);
    const size_t samples = std::max<size_t>(1, batch), groups = p_.out.view.count;
    size_t states = p_.is_float() ? reduce_most_scratch(checked_mul(groups, samples, "batch_size"),
                                                        p_.in.view.count / groups)
                                  : 0;
    if (p_.info->gradient() && p_.is_float()) states = std::max(states, backward_scratch(samples));
    scratch_.reserve(callers, [&](Array<ReduceState>& set) { set.grow(memory(), states); });
  }

  Text plan() const override {
    return Text(p_.info->name, " of ", describe(p_.in), " to ", describe(p_.out));
  }

 private:
  void add_weights(ReductionTensors& tensors, Call& call) const {
    if (!p_.weighted) return;
    tensors[kReduceW] = {&p_.weights, make_batch(weights_, weights_.data, 1, 0)};
    if (!copied_) call.reads(range_of(weights_), "w_desc.data");
  }

  template <class Body>
  void with_scratch(size_t states, const Body& body) {
    if (states == 0) return body(nullptr);
    const auto scratch = scratch_.take();
    scratch->grow(memory(), states);
    body(scratch->data());
  }

  // Samples whose gradients are computed together: as many as have a bounded number of groups. The
  // gradient of weights is a sum over the batch, in order.
  size_t samples_at_once(size_t batch) const {
    return std::clamp<size_t>(kMostStates / p_.out.view.count, 1, batch);
  }

  void run_backward(const ReductionTensors& all, ReduceAccumulate accumulate, size_t batch) {
    const size_t most = all[kReduceDw].shape != nullptr ? 1 : samples_at_once(batch);
    with_scratch(backward_scratch(batch), [&](ReduceState* scratch) {
      for (size_t b = 0; b < batch; b += most) {
        ReductionTensors tensors;
        const size_t n = std::min(most, batch - b);
        for (size_t t = 0; t < kReduceTensors; ++t) {
          tensors[t] = all[t];
          Batch& part = tensors[t].batch;
          if (part && part.size > 1) part = part.part(b, n);
        }
        run_reduce_backward(run_, reduction_problem(p_, tensors, n), accumulate, scratch);
        accumulate.dw = true;
      }
    });
  }

  // Enough for any strides of the gradients.
  size_t backward_scratch(size_t batch) const {
    const size_t groups = p_.out.view.count;
    return reduce_backward_scratch(*p_.info, p_.weighted, samples_at_once(batch) * groups,
                                   p_.in.view.count / groups);
  }

  ReductionParameters p_;
  ReduceRun run_;
  Array<char> copied_;  // weights that are not the client's
  View weights_;
  ScratchPool<Array<ReduceState>> scratch_;
};

}  // namespace

BNNSFilter make_reduction_filter(const BNNSLayerParametersReduction* parameters,
                                 const BNNSFilterParameters* filter_parameters) {
  return make_filter<ReductionFilter>(FilterOptions(filter_parameters), read_reduction(parameters));
}

void apply_reduction(const BNNSLayerParametersReduction* parameters,
                     const BNNSFilterParameters* filter_parameters) {
  const FilterOptions options(filter_parameters);
  const ReductionParameters p = read_reduction(parameters);
  Call call(1);
  ReductionTensors tensors = {};
  tensors[kReduceX] = {&p.in, call.reads(p.in, p.in.view.data, 0, Name{"i_desc.data"})};
  tensors[kReduceY] = {&p.out, call.writes(p.out, p.out.view.data, 0, Name{"o_desc.data"})};
  if (p.weighted)
    tensors[kReduceW] = {&p.weights,
                         call.reads(p.weights, p.weights.view.data, 0, Name{"w_desc.data"})};
  call.check_overlaps();
  const ReduceProblem problem = reduction_problem(p, tensors, 1);
  Array<ReduceState> scratch;
  const size_t states = reduce_scratch(problem);
  if (states > 0) scratch = Array<ReduceState>(options.memory, states);
  run_reduce(ReduceRun(options.threads), problem, scratch.data());
}

}  // namespace bnns::impl

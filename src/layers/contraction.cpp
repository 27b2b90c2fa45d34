// The filter of matrix products and contractions of tensors. Over the indices of the operation:
//   C = beta C + alpha sum of A B     dA = alpha sum of dC B     dB = alpha sum of A dC
// where a gradient is summed over the indices that its operand does not have, and over the batch if
// the operand is weights. B may be A, which then receives both gradients, or missing. Sums, threads
// and types are those of ops/contraction, whose plan is made when the batch is known.
#include "layers/contraction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <new>
#include <optional>
#include <type_traits>

#include "core/scratch_pool.h"
#include "layers/two_inputs.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

constexpr Name kInA = {"inA", "inA_stride"}, kInB = {"inB", "inB_stride"};
constexpr Name kInADelta = {"inA_delta", "inA_delta_stride"};
constexpr Name kInBDelta = {"inB_delta", "inB_delta_stride"};
constexpr DeltaRules kDeltaRules = {.bfloat16 = true, .same_layout = true};

// A tensor of a call; a step of 0: all samples share it.
struct Tensor {
  const View* view = nullptr;
  void* data = nullptr;
  size_t step = 0;
};
Tensor tensor_of(const Batch& batch) {
  return {.view = batch.sample, .data = batch.data, .step = batch.step};
}

// One contraction: which tensors of the operation its operands and its result are.
struct Task {
  ContractionTensor role[kContractionTensors];
  Tensor tensor[kContractionTensors];
  bool accumulate;
};
constexpr size_t kMostTasks = 2;  // of one call

// The ops of a call, in memory that is not cleared: that would take longer than a small product.
class Ops {
 public:
  static_assert(std::is_trivially_destructible_v<ContractionOp>);

  Ops() {}
  template <class... Arguments>
  const ContractionOp& add(const Arguments&... arguments) {
    return *new (memory_[count_++]) ContractionOp(arguments...);
  }
  const ContractionOp& operator[](size_t i) const {
    return *std::launder(reinterpret_cast<const ContractionOp*>(memory_[i]));
  }

 private:
  size_t count_ = 0;
  alignas(ContractionOp) std::byte memory_[kMostTasks][sizeof(ContractionOp)];
};

class ContractionFilter final : public Filter, public TwoInputCalls {
 public:
  ContractionFilter(const FilterOptions& options, const ContractionParameters& p);

  void apply(const ForwardArgs& args) override;
  void apply_backward(const BackwardArgs& args) override;
  void apply_two_inputs(const TwoInputForwardArgs& args) override;
  void apply_two_inputs_backward(const TwoInputBackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override {
    if (!p_.has(kRight))
      return Text(describe(p_.tensor[kLeft]), " to ", describe(p_.tensor[kResult]));
    return Text(describe(p_.tensor[kLeft]), " and ", describe(p_.tensor[kRight]), " to ",
                describe(p_.tensor[kResult]));
  }

 private:
  // The one operand that arrives with a call of a filter with one input.
  ContractionTensor input() const { return p_.a_is_weights ? kRight : kLeft; }
  ContractionTensor weights() const { return p_.a_is_weights ? kLeft : kRight; }
  void require_inputs(bool two) const;
  Tensor read_weights(Call& call) const;
  Tensor second_of(const Tensor& in, Call& call) const;
  ContractionProblem problem(const Task& task, size_t batch) const;
  void run(const Task* tasks, size_t count, size_t batch);
  void run_rounded(Task* tasks, size_t count, size_t batch, const Gradient& to);

  ContractionParameters p_;
  const GemmKernels* gemm_ = gemm_kernels();
  const ConvertKernels* convert_ = convert_kernels();
  Array<float> copied_;  // weights that are not the client's
  View weights_view_;
  ScratchPool<Array<float>> scratch_;
};

ContractionFilter::ContractionFilter(const FilterOptions& options, const ContractionParameters& p)
    : Filter(p.kind, options), p_(p), scratch_(options.memory) {
  if (!p.is_weights(weights())) return;
  const Descriptor& w = p.tensor[weights()];
  weights_view_ = w.view;
  if (options.use_client_pointer) return;
  copied_ = Array<float>(options.memory, w.view.count);
  read_values(*convert_, collapsed(w.view), 0, w.view.count, copied_.data());
  weights_view_ = dense_floats(w.view);
  weights_view_.data = copied_.data();
}

void ContractionFilter::require_inputs(bool two) const {
  require(!two || p_.has_two_inputs(), "filter is ", kind(),
          " of one input; it must be applied with one");
  require(two || !p_.has_two_inputs(), "filter is ", kind(),
          " of two inputs; it must be applied with both");
}

Tensor ContractionFilter::read_weights(Call& call) const {
  if (!copied_)
    call.reads(range_of(weights_view_), weights() == kLeft ? "iA_desc.data" : "iB_desc.data");
  return {.view = &weights_view_, .data = weights_view_.data};
}

// The other operand of a filter with one input.
Tensor ContractionFilter::second_of(const Tensor& in, Call& call) const {
  static const float kOne = 1;
  static const View kScalar = {};
  if (p_.a_is_weights || p_.b_source == ContractionSource::kWeights) return read_weights(call);
  if (p_.b_source == ContractionSource::kSame) return in;
  return {.view = &kScalar, .data = const_cast<float*>(&kOne)};
}

ContractionProblem ContractionFilter::problem(const Task& task, size_t batch) const {
  ContractionView views[kContractionTensors];
  for (size_t t = 0; t < kContractionTensors; ++t)
    views[t] = {.view = task.tensor[t].view, .step = task.tensor[t].step};
  return contraction_problem(p_, batch, task.role, views);
}

// All memory comes before anything is written.
void ContractionFilter::run(const Task* tasks, size_t count, size_t batch) {
  Ops ops;
  size_t floats = 0;
  for (size_t i = 0; i < count; ++i)
    floats =
        std::max(floats, ops.add(*gemm_, *convert_, threads(), problem(tasks[i], batch)).scratch());
  std::optional<ScratchPool<Array<float>>::Borrowed> scratch;
  if (floats > 0) {
    scratch.emplace(scratch_.take());
    (**scratch).grow(memory(), floats);
  }
  for (size_t i = 0; i < count; ++i) {
    const Tensor(&t)[kContractionTensors] = tasks[i].tensor;
    ops[i].run({.a = t[kLeft].data,
                .b = t[kRight].data,
                .c = t[kResult].data,
                .accumulate = tasks[i].accumulate},
               scratch ? (**scratch).data() : nullptr);
  }
}

// The same for several tasks with one result that is not Float32: it is rounded once, when the sum
// of a sample is complete.
void ContractionFilter::run_rounded(Task* tasks, size_t count, size_t batch, const Gradient& to) {
  const View dense = dense_floats(*to.sample);
  Ops ops;
  size_t floats = 0;
  for (size_t i = 0; i < count; ++i) {
    tasks[i].tensor[kResult] = {.view = &dense, .data = nullptr, .step = 0};
    floats =
        std::max(floats, ops.add(*gemm_, *convert_, threads(), problem(tasks[i], 1)).scratch());
  }
  const auto scratch = scratch_.take();
  const size_t size = checked_add(floats, dense.count, "the working memory");
  scratch->grow(memory(), size);
  float* sums = scratch->data() + floats;
  for (size_t sample = 0; sample < batch; ++sample) {
    const auto moved = [&](const Tensor& t) {
      return static_cast<char*>(t.data) + sample * t.step * type_bytes(t.view->type);
    };
    for (size_t i = 0; i < count; ++i) {
      const Tensor(&t)[kContractionTensors] = tasks[i].tensor;
      ops[i].run({.a = moved(t[kLeft]), .b = moved(t[kRight]), .c = sums, .accumulate = i > 0},
                 scratch->data());
    }
    const View target = whole(to.part(sample, 1));
    const float* from = sums;
    for_blocks(*convert_, std::array{Operand{target, Operand::kUpdate}}, 0, target.count,
               [&](const auto& rows, size_t n) {
                 for (size_t i = 0; i < n; ++i)
                   rows[0][i] = to.accumulate ? rows[0][i] + from[i] : from[i];
                 from += n;
               });
  }
}

void ContractionFilter::apply(const ForwardArgs& args) {
  require_inputs(false);
  if (args.batch == 0) return;
  Call call(args.batch);
  const Tensor in = tensor_of(call.reads(p_.tensor[input()], args.in, args.in_stride, kIn));
  const Tensor other = second_of(in, call);
  const Tensor out = tensor_of(call.writes(p_.tensor[kResult], args.out, args.out_stride, kOut));
  call.check_overlaps();
  const bool first = input() == kLeft;
  const Task task = {.role = {kLeft, kRight, kResult},
                     .tensor = {first ? in : other, first ? other : in, out},
                     .accumulate = p_.accumulate};
  run(&task, 1, args.batch);
}

void ContractionFilter::apply_two_inputs(const TwoInputForwardArgs& args) {
  require_inputs(true);
  if (args.batch == 0) return;
  Call call(args.batch);
  const Batch a = call.reads(p_.tensor[kLeft], args.in_a, args.in_a_stride, kInA);
  const Batch b = call.reads(p_.tensor[kRight], args.in_b, args.in_b_stride, kInB);
  const Batch out = call.writes(p_.tensor[kResult], args.out, args.out_stride, kOut);
  call.check_overlaps();
  const Task task = {.role = {kLeft, kRight, kResult},
                     .tensor = {tensor_of(a), tensor_of(b), tensor_of(out)},
                     .accumulate = p_.accumulate};
  run(&task, 1, args.batch);
}

// dA and dB: the result's gradient takes the place of the operand that is looked for.
Task gradient_of(ContractionTensor target, const Tensor& other, const Tensor& out_delta,
                 const Gradient& to) {
  Tensor result = tensor_of(to);
  if (to.size == 1) result.step = 0;  // a parameter, or one sample
  if (target == kLeft) return {{kResult, kRight, kLeft}, {out_delta, other, result}, to.accumulate};
  return {{kLeft, kResult, kRight}, {other, out_delta, result}, to.accumulate};
}

void ContractionFilter::apply_backward(const BackwardArgs& args) {
  require_inputs(false);
  const bool has_weights = p_.is_weights(weights());
  const bool same = p_.b_source == ContractionSource::kSame;
  const bool wants_in = is_wanted(args.in_delta), wants_weights = is_wanted(args.weights_delta);
  require(!is_wanted(args.bias_delta), "bias_delta has data; ", kind(), " has no bias");
  require(has_weights || !wants_weights, "weights_delta has data; this filter has no weights");
  require(has_weights || wants_in,
          "in_delta is missing; a filter without weights has no other "
          "gradient");
  if (args.batch == 0 || (!wants_in && !wants_weights)) return;
  Call call(args.batch);
  Tensor in;
  if (same || wants_weights)
    in = tensor_of(call.reads(p_.tensor[input()], args.in, args.in_stride, kIn));
  const Tensor out_delta =
      tensor_of(call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta,
                                 p_.tensor[kResult], contraction_field(kResult), kDeltaRules));
  Task tasks[kMostTasks];
  size_t count = 0;
  Gradient in_delta;
  if (wants_in) {
    const Tensor other = second_of(in, call);
    in_delta = call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.tensor[input()],
                                 contraction_field(input()), kDeltaRules);
    tasks[count++] = gradient_of(input(), other, out_delta, in_delta);
  }
  if (wants_weights) {
    const Gradient delta =
        call.writes_parameter_delta(args.weights_delta, "weights_delta", p_.tensor[weights()],
                                    contraction_field(weights()), kDeltaRules);
    tasks[count++] = gradient_of(weights(), in, out_delta, delta);
  }
  call.check_overlaps();
  if (same) {
    tasks[count++] = gradient_of(kRight, in, out_delta, in_delta);
    tasks[1].accumulate = true;
    if (!in_delta.sample->is_float()) return run_rounded(tasks, count, args.batch, in_delta);
  }
  run(tasks, count, args.batch);
}

void ContractionFilter::apply_two_inputs_backward(const TwoInputBackwardArgs& args) {
  require_inputs(true);
  const bool wants_a = is_wanted(args.in_a_delta), wants_b = is_wanted(args.in_b_delta);
  require(!is_wanted(args.weights_delta),
          "weights_delta has data; a filter of two inputs has no "
          "weights");
  require(!is_wanted(args.bias_delta), "bias_delta has data; ", kind(), " has no bias");
  if (args.batch == 0 || (!wants_a && !wants_b)) return;
  Call call(args.batch);
  const Tensor out_delta =
      tensor_of(call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta,
                                 p_.tensor[kResult], contraction_field(kResult), kDeltaRules));
  Task tasks[kMostTasks];
  size_t count = 0;
  if (wants_a) {
    const Batch b = call.reads(p_.tensor[kRight], args.in_b, args.in_b_stride, kInB);
    const Gradient delta =
        call.writes_delta(*args.in_a_delta, args.in_a_delta_stride, kInADelta, p_.tensor[kLeft],
                          contraction_field(kLeft), kDeltaRules);
    tasks[count++] = gradient_of(kLeft, tensor_of(b), out_delta, delta);
  }
  if (wants_b) {
    const Batch a = call.reads(p_.tensor[kLeft], args.in_a, args.in_a_stride, kInA);
    const Gradient delta =
        call.writes_delta(*args.in_b_delta, args.in_b_delta_stride, kInBDelta, p_.tensor[kRight],
                          contraction_field(kRight), kDeltaRules);
    tasks[count++] = gradient_of(kRight, tensor_of(a), out_delta, delta);
  }
  call.check_overlaps();
  run(tasks, count, args.batch);
}

// For samples one behind the other and for samples with a gap, which may take another form.
void ContractionFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  if (batch == 0) return;
  size_t floats = 0;
  for (const size_t gap : {0, 16}) {
    Tensor t[kContractionTensors];
    for (const ContractionTensor i : {kLeft, kRight, kResult}) {
      t[i] = {.view = &p_.descriptor(i).view};
      const bool shared =
          p_.is_weights(i) || (i == kRight && p_.b_source == ContractionSource::kNothing);
      if (p_.is_weights(i)) t[i].view = &weights_view_;
      if (!shared) t[i].step = checked_add(t[i].view->step, gap, "a batch stride");
    }
    const Task tasks[] = {{{kLeft, kRight, kResult}, {t[kLeft], t[kRight], t[kResult]}, true},
                          {{kResult, kRight, kLeft}, {t[kResult], t[kRight], t[kLeft]}, true},
                          {{kLeft, kResult, kRight}, {t[kLeft], t[kResult], t[kRight]}, true}};
    for (const Task& task : tasks) {
      if (task.role[kResult] == kRight && p_.b_source == ContractionSource::kNothing) continue;
      const ContractionOp op(*gemm_, *convert_, threads(), problem(task, batch));
      floats = std::max(floats, op.scratch());
    }
  }
  if (floats == 0) return;
  scratch_.reserve(callers, [&](Array<float>& set) { set.grow(memory(), floats); });
}

}  // namespace

const char* contraction_field(ContractionTensor t) {
  static constexpr const char* kFields[] = {"iA_desc", "iB_desc", "o_desc"};
  return kFields[t];
}

Descriptor read_contraction_tensor(const BNNSNDArrayDescriptor& given, const char* field, Use use,
                                   size_t least_rank) {
  const Descriptor d = read_descriptor(given, field, use);
  require_plain_layout(d, field);
  require(d.rank() >= least_rank && !d.layout->rotated, field, ".layout is ", d.layout->name,
          "; it must have ", least_rank == 1 ? "one axis" : "two axes",
          " or more, none of them rotated");
  require(d.type->kind == TypeClass::kFloat, field, ".data_type is ", d.type->name,
          "; it must be a floating-point type");
  return d;
}

void check_contraction_scalars(float alpha, float beta) {
  require(std::isfinite(alpha), "alpha is ", double{alpha}, "; it must be finite");
  require(beta == 0 || beta == 1, "beta is ", double{beta}, "; it must be 0 or 1");
}

View dense_floats(const View& view) {
  View dense = view;
  dense.type = BNNSDataTypeFloat32;
  dense.overlaps = false;
  size_t step = 1;
  for (size_t k = 0; k < view.rank; ++k) {
    dense.stride[k] = step;
    step *= view.extent[k];
  }
  dense.span = dense.step = step;
  return dense;
}

uint8_t view_axis(const LayoutInfo& layout, size_t i) {
  uint8_t axis = 0;
  while (layout.pair[axis] != layout.tuple[i]) ++axis;
  return axis;
}

ContractionProblem contraction_problem(const ContractionParameters& p, size_t batch,
                                       const ContractionTensor (&roles)[kContractionTensors],
                                       const ContractionView (&views)[kContractionTensors]) {
  ContractionProblem problem;
  problem.alpha = p.alpha;
  for (size_t t = 0; t < kContractionTensors; ++t) problem.type[t] = views[t].view->type;
  for (size_t i = 0; i < p.indices; ++i) {
    ContractionAxis axis = {.extent = p.index[i].extent, .stride = {}};
    for (size_t t = 0; t < kContractionTensors; ++t) {
      const uint8_t at = p.index[i].axis[roles[t]];
      if (at != ContractionIndex::kNoAxis) axis.stride[t] = views[t].view->stride[at];
    }
    problem.axes.push(axis);
  }
  if (batch > 1) {
    problem.axes.push({.extent = batch, .stride = {views[0].step, views[1].step, views[2].step}});
  }
  return problem;
}

BNNSFilter make_contraction_filter(const FilterOptions& options, const ContractionParameters& p) {
  for (const ContractionTensor t : {kLeft, kRight}) {
    if (!p.is_weights(t)) continue;
    const View& view = p.tensor[t].view;
    require_data(view.data, view.type, t == kLeft ? "iA_desc.data" : "iB_desc.data");
  }
  return make_filter<ContractionFilter>(options, p);
}

}  // namespace bnns::impl

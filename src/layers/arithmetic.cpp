// The arithmetic filter: y = act(f(in1, in2, in3)). The formulas are in ops/arithmetic. A call may
// be given the same tensor twice, and may write its result over an input; gradients may be written
// over that of the output where the function allows it.
#include "layers/arithmetic.h"

#include "layers/activation.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

constexpr Name kInputs[] = {
    {"in[0]", "in_stride[0]"}, {"in[1]", "in_stride[1]"}, {"in[2]", "in_stride[2]"}};
constexpr Name kDeltas[] = {{"in_delta[0]", "in_delta_stride[0]"},
                            {"in_delta[1]", "in_delta_stride[1]"},
                            {"in_delta[2]", "in_delta_stride[2]"}};

void require_inputs(const ArithmeticParameters& p, size_t given) {
  require(given == p.inputs(), "number_of_inputs is ", given, "; ", p.problem.function->name,
          " takes ", p.inputs());
}

// Constants and the condition of Select, if it is Boolean, have no gradient.
bool has_gradient(const ArithmeticParameters& p, size_t input) {
  return p.problem.in_type[input] != BNNSConstant && p.in[input].type->kind == TypeClass::kFloat;
}

const void* input_of(const ArithmeticBackwardArgs& args, size_t input) {
  return args.in == nullptr ? nullptr : args.in[input];
}

class ArithmeticFilter final : public Filter, public ArithmeticCalls {
 public:
  ArithmeticFilter(const FilterOptions& options, const ArithmeticParameters& parameters)
      : Filter("an arithmetic filter", options),
        p_(parameters),
        op_(options.memory, options.threads, parameters.problem),
        streams_(op_.activation().is_random()) {}

  void apply_arithmetic(const ArithmeticForwardArgs& args) override;
  void apply_arithmetic_backward(const ArithmeticBackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override {
    Filter::reserve(batch, callers);
    op_.reserve(batch, callers);
  }
  Text plan() const override {
    return Text(p_.problem.function->name, " to ", describe(p_.out), " ", p_.out.type->name, ", ",
                op_.activation().info().name);
  }

 private:
  void check_in_place(const ArithmeticOp::Values& values, size_t batch) const;

  ArithmeticParameters p_;
  ArithmeticOp op_;
  RandomStreams streams_;
};

// The result may be written over an input of the same role, type, sizes and strides.
void ArithmeticFilter::check_in_place(const ArithmeticOp::Values& values, size_t batch) const {
  const ArithmeticProblem& problem = p_.problem;
  for (size_t k = 0; k < p_.inputs(); ++k) {
    if (!overlap(range_of(values.out), range_of(values.in[k]))) continue;
    require_same_place(values.out, "out", values.in[k], kInputs[k].data);
    require(batch == 1 || problem.in_type[k] == problem.out_type, "out and ", kInputs[k].data,
            " are the same memory, but ", p_.field(k), "_type is ",
            static_cast<uint32_t>(problem.in_type[k]), " and out_type is ",
            static_cast<uint32_t>(problem.out_type), "; in place they must be equal");
  }
}

void ArithmeticFilter::apply_arithmetic(const ArithmeticForwardArgs& args) {
  require_inputs(p_, args.inputs);
  if (args.batch == 0) return;
  ArithmeticOp::Values values;
  read_arithmetic_inputs(p_, args, values.in);
  values.out = read_batch(p_.out, p_.problem.samples(args.batch), args.out, args.out_stride, kOut);
  check_in_place(values, args.batch);
  op_.forward(values, op_.activation().is_random() ? streams_.next() : 0);
}

void ArithmeticFilter::apply_arithmetic_backward(const ArithmeticBackwardArgs& args) {
  require_inputs(p_, args.inputs);
  const uint32_t wanted = arithmetic_deltas_wanted(p_, args);
  require(args.out_delta != nullptr, "out_delta is NULL");
  const bool identity = op_.activation().is_identity();
  if (!identity) {
    require_slope_from_output(op_.activation());
    require(args.out != nullptr, "out is NULL; the gradient of the activation needs it");
  }
  if (wanted == 0 || args.batch == 0) return;
  const size_t samples = p_.problem.samples(args.batch);
  Call call(samples);
  ArithmeticOp::Gradients g;
  g.dy = call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, p_.out, "out",
                          {.same_layout = true});
  if (!identity || op_.reads_result(args.out != nullptr))
    g.out = call.reads(p_.out, args.out, args.out_stride, kOut);
  read_arithmetic_gradients(p_, op_, args, wanted, call, g);
  check_arithmetic_overlaps(p_, args, g);
  op_.backward(g);
}

// Two gradients in one buffer: those of an input that is given twice.
void check_shared(const ArithmeticParameters& p, const ArithmeticBackwardArgs& args,
                  const ArithmeticOp::Gradients& g, size_t i, size_t j) {
  const Gradient &a = g.in_delta[i], &b = g.in_delta[j];
  const char *first = kDeltas[i].data, *second = kDeltas[j].data;
  require_same_place(a, first, b, second);
  const void *x = input_of(args, i), *y = input_of(args, j);
  require(x == y || x == nullptr || y == nullptr, first, " and ", second,
          " are the same memory, but ", kInputs[i].data, " and ", kInputs[j].data,
          " are not; only an input that is given twice has one gradient");
  require(p.problem.in_type[i] == p.problem.in_type[j] && a.accumulate == b.accumulate, first,
          " and ", second,
          " are the same memory; their types of descriptors and their flags must be equal");
}

}  // namespace

void read_arithmetic_inputs(const ArithmeticParameters& p, const ArithmeticForwardArgs& args,
                            Batch (&in)[kMaxArithmeticInputs]) {
  require(args.in != nullptr, "in is NULL; it must point to ", p.inputs(), " inputs");
  require(args.in_stride != nullptr, "in_stride is NULL; it must point to ", p.inputs(),
          " strides");
  for (size_t k = 0; k < p.inputs(); ++k) {
    in[k] = read_batch(p.in[k], p.problem.samples_of(k, args.batch), args.in[k], args.in_stride[k],
                       kInputs[k]);
  }
}

uint32_t arithmetic_deltas_wanted(const ArithmeticParameters& p,
                                  const ArithmeticBackwardArgs& args) {
  require(args.in_delta != nullptr, "in_delta is NULL; it must point to ", p.inputs(),
          " descriptors");
  require(args.in_delta_stride != nullptr, "in_delta_stride is NULL; it must point to ", p.inputs(),
          " strides");
  uint32_t wanted = 0;
  for (size_t k = 0; k < p.inputs(); ++k) {
    if (!has_gradient(p, k)) continue;
    require(args.in_delta[k] != nullptr, kDeltas[k].data,
            " is NULL; a gradient that is not wanted has a descriptor whose data is NULL");
    if (is_wanted(args.in_delta[k])) wanted |= 1u << k;
  }
  return wanted;
}

void read_arithmetic_gradients(const ArithmeticParameters& p, const ArithmeticOp& op,
                               const ArithmeticBackwardArgs& args, uint32_t wanted, Call& call,
                               ArithmeticOp::Gradients& g) {
  const ArithmeticInfo& function = *p.problem.function;
  const uint32_t read = op.inputs_read(wanted, static_cast<bool>(g.out));
  for (size_t k = 0; k < p.inputs(); ++k) {
    if ((read >> k & 1) == 0) continue;
    const char* rule =
        function.from_result && op.activation().is_identity() ? " needs it, or out" : " needs it";
    require(input_of(args, k) != nullptr, args.in == nullptr ? "in" : kInputs[k].data,
            " is NULL; the gradient of ", function.name, rule);
    g.in[k] = read_batch(p.in[k], p.problem.samples_of(k, args.batch), args.in[k],
                         args.in_stride == nullptr ? 0 : args.in_stride[k], kInputs[k]);
  }
  constexpr DeltaRules kRules = {.same_layout = true};
  for (size_t k = 0; k < p.inputs(); ++k) {
    if ((wanted >> k & 1) == 0) continue;
    g.in_delta[k] = p.problem.is_sample(k)
                        ? call.writes_delta(*args.in_delta[k], args.in_delta_stride[k], kDeltas[k],
                                            p.in[k], p.field(k), kRules)
                        : call.writes_parameter_delta(args.in_delta[k], kDeltas[k].data, p.in[k],
                                                      p.field(k), kRules);
  }
}

void check_arithmetic_overlaps(const ArithmeticParameters& p, const ArithmeticBackwardArgs& args,
                               const ArithmeticOp::Gradients& g) {
  const ArithmeticProblem& problem = p.problem;
  const GradientInPlace rule = problem.function->in_place;
  const bool in_place =
      rule == GradientInPlace::kAlways ||
      (rule == GradientInPlace::kWithIdentity && problem.activation.is_identity());
  for (size_t k = 0; k < p.inputs(); ++k) {
    const Gradient& d = g.in_delta[k];
    for (size_t j = k + 1; j < p.inputs(); ++j) {
      const void *x = input_of(args, k), *y = input_of(args, j);
      if (x != nullptr && x == y && has_gradient(p, k) && has_gradient(p, j)) {
        require(args.in_delta[k]->data == args.in_delta[j]->data, kInputs[k].data, " and ",
                kInputs[j].data, " are the same tensor, but ", kDeltas[k].data, " and ",
                kDeltas[j].data, " are not the same memory; they must be");
      }
      if (overlap(range_of(d), range_of(g.in_delta[j]))) check_shared(p, args, g, k, j);
    }
    if (!d) continue;
    const Range range = range_of(d);
    const char* name = kDeltas[k].data;
    for (size_t j = 0; j < p.inputs(); ++j)
      require_apart(range, name, range_of(g.in[j]), kInputs[j].data);
    require_apart(range, name, range_of(g.out), "out");
    if (!overlap(range, range_of(g.dy))) continue;
    if (!in_place) {
      fail(name, " and out_delta overlap in memory; the gradient of ", problem.function->name,
           rule == GradientInPlace::kWithIdentity ? " with an activation" : "",
           " cannot be written in place");
    }
    require_same_place(d, name, g.dy, "out_delta");
  }
}

BNNSFilter make_arithmetic_filter(const BNNSLayerParametersArithmetic* parameters,
                                  const BNNSFilterParameters* filter_parameters) {
  const ArithmeticParameters read = read_arithmetic(parameters);
  return make_filter<ArithmeticFilter>(FilterOptions(filter_parameters), read);
}

}  // namespace bnns::impl

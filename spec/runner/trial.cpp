// Drawing numbers, running the reference and judging what the library left in memory.
#include "runner/trial.h"

#include <cmath>
#include <cstdio>
#include <limits>

#include <openbnns/openbnns.h>

namespace spec {

Trial::Trial(const Case& c, const TypeSet& types, const Variation& variation,
             const Options& options, Report& report)
    : case_(c),
      types_(types),
      variation_(variation),
      options_(options),
      report_(report),
      name_(c.name() + variation.suffix + "/" + types.name) {}

double Trial::draw_number(const Operand& operand, const ElementType& type, Random& random) const {
  const TypeInfo& row = type.info();
  if (variation_.numbers == Numbers::kIntegers && row.kind != Kind::kIndexed)
    return row.kind == Kind::kBoolean ? random.integer(0, 1)
                                      : random.integer(row.lo < 0 ? -4 : 0, 4);
  if (!operand.fill.choices.empty()) return stored_nearest(operand.fill.draw(random), row);
  if (row.kind == Kind::kInteger)
    return random.integer(static_cast<int64_t>(std::max(row.lo, -100.0)), 100);
  if (row.kind == Kind::kIndexed) return random.integer(0, 255);
  Fill fill = operand.fill;
  if (variation_.numbers == Numbers::kWide && operand.role == Role::kIn) {
    fill.lo = -30;
    fill.hi = 30;
  }
  return stored_nearest(fill.draw(random), row);
}

Trial::Stored Trial::draw_operand(const Operand& operand, const ElementType& type, size_t samples,
                                  Random& random) const {
  Stored stored(operand.shape.count() * samples);
  for (double& v : stored) v = draw_number(operand, type, random);
  if (variation_.numbers == Numbers::kSpecial && operand.role == Role::kIn) {
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    const double smallest = std::ldexp(1.0, type.info().min_exponent - type.info().precision + 1);
    const double special[] = {
        nan, inf, -inf, 0.0, -0.0, smallest, -smallest, type.info().hi, type.info().lo, 1 / 64.0};
    for (size_t i = 0; i < stored.size(); i += 2) stored[i] = special[random.next() % 10];
  }
  return stored;
}

void Trial::load(size_t operand, const ElementType& type, const Stored& stored,
                 std::vector<Array<double>>& to) {
  for (size_t i = 0; i < stored.size(); ++i) to[operand].data()[i] = type.to_real(stored[i]);
}

void Trial::draw() {
  Random random(name_);
  const size_t n = case_.operands.size();
  drawn_ = make_values<double>(case_);
  stored_.resize(n);
  stored_delta_.resize(n);
  old_delta_.resize(n);
  for (size_t i = 0; i < n; ++i) {
    const Operand& o = case_.operands[i];
    const ElementType& type = types_.types[i];
    if (is_input(i)) {
      stored_[i] = draw_operand(o, type, samples(i), random);
      load(i, type, stored_[i], drawn_.value);
    }
    if (case_.backward.empty() || !o.has_delta) continue;
    const Operand plain{.name = o.name, .role = Role::kOut, .shape = o.shape};
    const ElementType delta = types_.delta_type(i);
    stored_delta_[i] = draw_operand(plain, delta, samples(i), random);
    old_delta_[i] = draw_operand(plain, delta, samples(i), random);
    load(i, delta, stored_delta_[i], drawn_.delta);
  }
}

namespace {

// The inputs of a float computation are exact: their bounds are 0.
Values<Bounded> exact_numbers(const Values<double>& from) {
  Values<Bounded> to{.batch = from.batch, .value = {}, .delta = {}};
  const auto convert = [](const Array<double>& a) {
    Array<Bounded> b(a.shape(), a.samples());
    for (size_t i = 0; i < a.data().size(); ++i) b.data()[i] = Bounded(a.data()[i], 0);
    return b;
  };
  for (const auto& a : from.value) to.value.push_back(convert(a));
  for (const auto& a : from.delta) to.delta.push_back(convert(a));
  return to;
}

}  // namespace

Values<Bounded> Trial::reference_forward() const {
  if (variation_.numbers == Numbers::kIntegers) {
    Values<double> v = drawn_;
    case_.forward.exact(v);
    return exact_numbers(v);
  }
  Values<Bounded> v = exact_numbers(drawn_);
  case_.forward.bounded(v);
  return v;
}

Values<Bounded> Trial::reference_backward(const Backward& backward) const {
  if (!backward.reference) return {};
  if (variation_.numbers == Numbers::kIntegers) {
    Values<double> v = drawn_;
    backward.reference.exact(v);
    return exact_numbers(v);
  }
  Values<Bounded> v = exact_numbers(drawn_);
  backward.reference.bounded(v);
  return v;
}

void Trial::place() {
  const size_t n = case_.operands.size();
  value_ = std::vector<Placement>(n);
  delta_ = std::vector<Placement>(n);
  for (size_t i = 0; i < n; ++i) {
    const Operand& o = case_.operands[i];
    // Every operand has a padding of its own, so that using another operand's strides is noticed.
    Arrangement memory = variation_.memory;
    memory.padding = variation_.in_place || o.like_in ? 1 : 1 + i;
    if (o.like_in) memory.gap += i;
    if (o.contiguous || o.packed) memory.strides = Strides::kDense;
    if (o.packed) memory.batch_stride = BatchStride::kZero;
    if (!o.read_through_pointer) memory = {};
    value_[i].place(o.shape, types_.types[i], samples(i), memory);
    memory = variation_.memory;
    memory.padding = 3 + 2 * i;
    if (!case_.backward.empty() && o.has_delta)
      delta_[i].place(o.shape, types_.delta_type(i), samples(i), memory);
  }
}

void Trial::run() {
  set_current_name(name_);
  draw();
  expected_ = reference_forward();
  // Backward gets the output as a correct library would have stored it.
  for (size_t i = 0; i < case_.operands.size(); ++i) {
    if (is_input(i)) continue;
    stored_[i].clear();
    for (const Bounded& y : expected_.value[i].data())
      stored_[i].push_back(types_.types[i].to_stored(y.value));
    load(i, types_.types[i], stored_[i], drawn_.value);
  }
  const bool backward = types_.backward != Need::kNone && !variation_.in_place &&
                        variation_.numbers != Numbers::kSpecial;
  if (backward)
    for (const Backward& b : case_.backward) expected_backward_.push_back(reference_backward(b));
  place();
  for (const char* const* target = OpenBNNSGetSupportedTargets(); *target; ++target)
    if (options_.selects(name_ + "/" + *target)) run_target(*target);
}

std::string Trial::compare(const Placement& placement, const Array<Bounded>& expected,
                           const Stored* added_to, const std::string& what) {
  placement.read(scratch_);
  for (size_t i = 0; i < scratch_.size(); ++i) {
    Bounded e = expected.data()[i];
    // Nothing is promised at infinity for a function that has no limit there.
    if (variation_.numbers == Numbers::kSpecial && std::isnan(e.value) &&
        !std::isnan(drawn_.value[0].data()[i]))
      continue;
    if (added_to) {
      const bool exact = e.error == 0 && variation_.numbers == Numbers::kIntegers;
      const double sum = e.value + (*added_to)[i];
      e = {sum, exact ? 0 : e.error + kArithmetic * (std::abs(sum) + std::abs(e.value))};
    }
    const Judgement verdict = judge(placement.type(), e, scratch_[i]);
    if (verdict.ok) continue;
    char text[200];
    std::snprintf(text, sizeof text, "%s[%zu] is %.9g, reference %.9g, bound %.3g", what.c_str(), i,
                  scratch_[i], verdict.expected, verdict.bound);
    return text;
  }
  return "";
}

// Results of several threads must have the bits of one thread, whose numbers were judged already.
std::string Trial::compare_once(const std::string& mode, const Placement& placement,
                                const Array<Bounded>& expected, const Stored* added_to,
                                const std::string& what) {
  std::vector<std::byte> bits;
  placement.read_bytes(bits);
  const auto first = verdicts_.find(mode + what);
  if (first != verdicts_.end())
    return first->second.bits == bits ? first->second.problem
                                      : what + ": bits differ from those of one thread";
  const std::string problem = compare(placement, expected, added_to, what);
  if (options_.digest) report_.add_to_digest(case_.layer + "/" + target_, bits);
  verdicts_[mode + what] = {.bits = std::move(bits), .problem = problem};
  return problem;
}

std::string Trial::inputs_changed(bool backward) const {
  for (size_t i = 0; i < value_.size(); ++i) {
    const bool aliased = variation_.in_place && i == 0;
    if ((is_input(i) || backward) && !aliased && !value_[i].unchanged())
      return case_.operands[i].name + " was modified";
  }
  return "";
}

void Trial::conclude(const std::string& name, const std::string& problem) {
  if (problem.empty())
    report_.pass();
  else
    report_.fail(name, problem);
}

}  // namespace spec

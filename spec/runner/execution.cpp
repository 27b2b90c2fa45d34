// Fills dense tensors with random numbers and calls the library on them.
#include "runner/execution.h"

#include <cmath>
#include <iterator>
#include <limits>

namespace spec {

Execution::Execution(const Case& c, const TypeSet& types, size_t threads)
    : case_(c), value_(c.operands.size()), delta_(c.operands.size()) {
  call_.batch = c.batch;
  call_.parameters.n_threads = threads;
  Random random(c.name());
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const Operand& o = c.operands[i];
    const size_t samples = o.samples(c.batch);
    for (Placement* p : {&value_[i], &delta_[i]}) {
      const ElementType type = p == &value_[i] ? types.types[i] : types.delta_type(i);
      const TypeInfo& row = type.info();
      p->place(o.shape, type, samples, {.edge = Edge::kStart});
      std::vector<double> numbers(p->elements());
      for (double& v : numbers)
        v = row.kind == Kind::kFloat ? stored_nearest(o.fill.draw(random), row)
                                     : static_cast<double>(random.integer(0, 1));
      p->write(numbers);
    }
    call_.value.push_back({.desc = value_[i].descriptor(), .given = true});
    call_.delta.push_back({.desc = delta_[i].descriptor()});
  }
}

Execution::~Execution() {
  BNNSFilterDestroy(call_.filter);
}

void Execution::sprinkle_special(uint64_t one_of) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const double payload = std::nan("0x1400000000000");
  const double special[] = {nan, -nan, payload, -payload, inf, -inf};
  Random random(case_.name() + " special");
  const auto sprinkle = [&](Placement& p) {
    if (p.type().info().kind != Kind::kFloat) return;
    std::vector<double> numbers;
    p.read(numbers);
    for (double& v : numbers)
      if (random.next() % one_of == 0) v = special[random.next() % std::size(special)];
    p.write(numbers);
  };
  for (size_t i = 0; i < value_.size(); ++i) {
    if (case_.operands[i].role != Role::kOut) sprinkle(value_[i]);
    sprinkle(delta_[i]);
  }
}

bool Execution::create() {
  if (case_.create) call_.filter = case_.create(call_);
  return !case_.create || call_.filter;
}

bool Execution::forward() {
  for (Argument& v : call_.value) v.given = true;
  for (Argument& d : call_.delta) d.given = false;
  return case_.apply(call_) == 0;
}

bool Execution::backward(const Backward& way) {
  call_.value[0].given = way.pass_in;
  call_.value[1].given = way.pass_out;
  for (size_t i = 0; i < call_.delta.size(); ++i)
    call_.delta[i].given = case_.operands[i].role == Role::kOut;
  for (size_t i : way.deltas) call_.delta[i].given = true;
  return case_.apply_backward(call_) == 0;
}

double Execution::bytes() const {
  double sum = 0;
  for (size_t i = 0; i < value_.size(); ++i) {
    const double size = static_cast<double>(value_[i].elements() * value_[i].bytes());
    sum += (call_.value[i].given ? size : 0) + (call_.delta[i].given ? size : 0);
  }
  return sum;
}

void Execution::read_bytes(std::vector<std::vector<std::byte>>& to) const {
  for (const std::vector<Placement>* list : {&value_, &delta_})
    for (const Placement& p : *list) p.read_bytes(to.emplace_back());
}

}  // namespace spec

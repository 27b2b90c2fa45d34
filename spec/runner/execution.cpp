// Fills dense tensors with random numbers and calls the library on them.
#include "runner/execution.h"

namespace spec {

Execution::Execution(const Case& c, const TypeSet& types, size_t threads)
    : case_(c), value_(c.operands.size()), delta_(c.operands.size()) {
  call_.batch = c.batch;
  call_.parameters.n_threads = threads;
  Random random(c.name());
  for (size_t i = 0; i < c.operands.size(); ++i) {
    const Operand& o = c.operands[i];
    const TypeInfo& row = types.types[i].info();
    const size_t samples = o.samples(c.batch);
    for (Placement* p : {&value_[i], &delta_[i]}) {
      p->place(o.shape, types.types[i], samples, {.edge = Edge::kStart});
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

}  // namespace spec

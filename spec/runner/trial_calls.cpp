// The calls of a trial: create, forward, forward with changed parameters, backward with every
// choice of deltas.
#include <openbnns/openbnns.h>

#include "runner/trial.h"

namespace spec {
namespace {

std::string failed_with(int status) {
  return "returned " + std::to_string(status) + " (" + OpenBNNSGetLastError() + ")";
}

}  // namespace

void Trial::run_target(const std::string& target) {
  const std::string name = name_ + "/" + target;
  if (OpenBNNSSetTarget(target.c_str()) != 0)
    return report_.fail(name, std::string("target not set: ") + OpenBNNSGetLastError());
  verdicts_.clear();
  target_ = target;
  for (size_t threads = 1; threads <= 3; ++threads)
    run_threads(threads, name + "/t" + std::to_string(threads));
}

Call Trial::make_call(size_t threads) {
  Call call{.batch = case_.batch};
  call.parameters.n_threads = threads;
  if (variation_.client_pointers) call.parameters.flags = BNNSFlagsUseClientPtr;
  for (size_t i = 0; i < value_.size(); ++i) {
    const Placement& v = variation_.in_place && !is_input(i) ? value_[0] : value_[i];
    call.value.push_back({.desc = v.descriptor(), .stride = v.batch_argument(), .given = true});
    Argument delta = {};
    if (delta_[i].elements())
      delta = {.desc = delta_[i].descriptor(), .stride = delta_[i].batch_argument()};
    call.delta.push_back(delta);
  }
  return call;
}

void Trial::run_threads(size_t threads, const std::string& name) {
  set_current_name(name);
  for (size_t i = 0; i < value_.size(); ++i) {
    value_[i].clear();
    if (is_input(i)) value_[i].write(stored_[i]);
  }
  Call call = make_call(threads);
  if (!create(call, name)) return;
  if (case_.create && !variation_.client_pointers)
    for (size_t i = 0; i < value_.size(); ++i)
      if (case_.operands[i].role == Role::kParameter) value_[i].destroy_contents();
  for (Placement& v : value_) v.remember();
  const bool forward = run_forward(call, expected_, name, "forward");
  if (forward && variation_.client_pointers && case_.create) run_changed_parameters(call, name);
  if (forward) run_backward_ways(call, threads, name);
  BNNSFilterDestroy(call.filter);
}

bool Trial::create(Call& call, const std::string& name) {
  if (!case_.create) return true;
  call.filter = case_.create(call);
  if (call.filter) return true;
  if (types_.forward == Need::kOptional)
    report_.refused();
  else
    report_.fail(name + "/create", failed_with(-1));
  return false;
}

// False if the library refused an optional combination or failed.
bool Trial::run_forward(Call& call, const Values<Bounded>& expected, const std::string& name,
                        const std::string& mode) {
  for (size_t i = 0; i < value_.size(); ++i)
    if (!is_input(i) && !variation_.in_place) value_[i].clear();
  if (variation_.in_place) value_[0].write(stored_[0]);
  const int status = case_.apply(call);
  if (status != 0 && types_.forward == Need::kOptional) {
    report_.refused();
    return false;
  }
  std::string problem = status == 0 ? "" : failed_with(status);
  for (size_t i = 0; i < value_.size() && problem.empty(); ++i) {
    if (is_input(i)) continue;
    Placement& out = out_memory(i);
    const std::string& operand = case_.operands[i].name;
    problem = compare_once(mode, out, expected.value[i], nullptr, operand);
    if (problem.empty() && !out.padding_untouched())
      problem = "memory around " + operand + " was written";
  }
  if (problem.empty()) problem = inputs_changed(false);
  conclude(name + "/" + mode, problem);
  return status == 0;
}

// A filter with client pointers reads the parameters at every call.
void Trial::run_changed_parameters(Call& call, const std::string& name) {
  bool changed = false;
  const Values<double> drawn = drawn_;
  Random random(name_ + " changed");
  for (size_t i = 0; i < value_.size(); ++i) {
    const Operand& o = case_.operands[i];
    if (o.role != Role::kParameter || !o.read_through_pointer) continue;
    const Stored other = draw_operand(o, types_.types[i], 1, random);
    load(i, types_.types[i], other, drawn_.value);
    value_[i].write(other);
    value_[i].remember();
    changed = true;
  }
  if (changed) run_forward(call, reference_forward(), name, "forward-changed");
  drawn_ = drawn;
  for (size_t i = 0; i < value_.size(); ++i) {
    if (case_.operands[i].role != Role::kParameter) continue;
    value_[i].write(stored_[i]);
    value_[i].remember();
  }
  if (changed && case_.remembers) case_.apply(call);
}

std::vector<Trial::Subset> Trial::subsets(const Backward& backward, size_t threads) const {
  Subset all(value_.size());
  for (size_t i : backward.deltas) all[i] = true;
  const bool every = threads == 1 && !backward.refused && !backward.needs_all && case_.thorough;
  if (!every) return {all};
  std::vector<Subset> result;
  for (size_t mask = 0; mask < (size_t{1} << backward.deltas.size()); ++mask) {
    Subset wanted(value_.size());
    for (size_t d = 0; d < backward.deltas.size(); ++d)
      wanted[backward.deltas[d]] = (mask >> d & 1) != 0;
    result.push_back(wanted);
  }
  return result;
}

bool Trial::run_backward_ways(Call& call, size_t threads, const std::string& name) {
  for (size_t way = 0; way < expected_backward_.size(); ++way)
    for (const Subset& wanted : subsets(case_.backward[way], threads))
      if (!run_backward(call, way, wanted, name)) return false;
  return true;
}

std::string Trial::subset_name(const Backward& backward, const Subset& wanted) const {
  std::string names;
  size_t count = 0;
  for (size_t i : backward.deltas) {
    if (!wanted[i]) continue;
    names += (names.empty() ? ":" : "+") + case_.operands[i].name;
    ++count;
  }
  if (count == backward.deltas.size()) return backward.name;
  return backward.name + (names.empty() ? ":none" : names);
}

// Deltas of outputs are inputs of the call. A delta that is not wanted is passed as a null pointer
// or as a descriptor without data.
void Trial::fill_deltas(Call& call, const Backward& backward, const Subset& wanted) {
  for (size_t i = 0; i < delta_.size(); ++i) {
    Argument& delta = call.delta[i];
    delta.given = false;
    if (!delta_[i].elements()) continue;
    delta_[i].clear();
    const bool incoming = !is_input(i);
    delta.given = incoming || wanted[i] || variation_.client_pointers;
    delta.desc.data = incoming || wanted[i] ? delta_[i].data() : nullptr;
    delta.desc.flags =
        variation_.accumulate ? BNNSNDArrayFlagBackpropAccumulate : BNNSNDArrayFlagBackpropSet;
    if (incoming)
      delta_[i].write(stored_delta_[i]);
    else if (variation_.accumulate && wanted[i] && !backward.refused)
      delta_[i].write(old_delta_[i]);
    delta_[i].remember();
  }
}

std::string Trial::check_deltas(size_t way, const Subset& wanted, const std::string& mode) {
  for (size_t i = 0; i < delta_.size(); ++i) {
    if (!delta_[i].elements()) continue;
    const std::string operand = case_.operands[i].name + "_delta";
    if (!wanted[i] || case_.backward[way].refused) {
      if (!delta_[i].unchanged()) return operand + " was modified";
      continue;
    }
    std::string problem = compare_once(mode, delta_[i], expected_backward_[way].delta[i],
                                       variation_.accumulate ? &old_delta_[i] : nullptr, operand);
    if (problem.empty() && !delta_[i].padding_untouched())
      problem = "memory around " + operand + " was written";
    if (!problem.empty()) return problem;
  }
  return inputs_changed(true);
}

bool Trial::run_backward(Call& call, size_t way, const Subset& wanted, const std::string& name) {
  const Backward& backward = case_.backward[way];
  const std::string mode = subset_name(backward, wanted);
  set_current_name(name + "/" + mode);
  const int needs = backward.in_needed_by;
  call.value[0].given = backward.pass_in && (needs < 0 || wanted[static_cast<size_t>(needs)]);
  call.value[1].given = backward.pass_out;
  value_[1].clear();
  value_[1].write(stored_[1]);
  value_[1].remember();
  fill_deltas(call, backward, wanted);
  const int status = case_.apply_backward(call);
  if (status != 0 && !backward.refused && types_.backward == Need::kOptional) {
    report_.refused();
    return false;
  }
  std::string problem;
  if (backward.refused && status == 0) problem = "accepted, must be refused";
  if (!backward.refused && status != 0) problem = failed_with(status);
  if (problem.empty()) problem = check_deltas(way, wanted, mode);
  conclude(name + "/" + mode, problem);
  return true;
}

}  // namespace spec

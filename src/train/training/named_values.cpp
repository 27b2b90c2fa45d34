#include "train/training/named_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace bnns::train::impl {

NamedValues values_of(const TrainingOptions& options) {
  const OptimizerOptions& o = options.optimizer;
  const Schedule& s = options.schedule;
  NamedValues values;
  const auto add = [&](const char* name, const auto& value) {
    values.emplace_back(name, fmt::format("{}", value));
  };
  add("seed", options.seed);
  add("shards", options.shards);
  add("batch", options.batch_size);
  add("loss", static_cast<int>(options.loss));
  add("label smoothing", options.label_smoothing);
  add("huber delta", options.huber_delta);
  add("class weights", options.class_weights);
  add("optimizer", static_cast<int>(o.kind));
  add("learning rate", o.learning_rate);
  add("momentum", o.momentum);
  add("nesterov", o.nesterov);
  add("beta1", o.beta1);
  add("beta2", o.beta2);
  add("alpha", o.alpha);
  add("epsilon", o.epsilon);
  add("weight decay", o.weight_decay);
  add("clip norm", o.clip_norm);
  add("clip value", o.clip_value);
  add("schedule", static_cast<int>(s.kind));
  add("warm-up", s.warm_up_steps);
  add("step epochs", s.step_epochs);
  add("step factor", s.step_factor);
  add("least", s.least);
  add("shift", options.augmentation.max_shift);
  add("flip", options.augmentation.flip);
  // Only the cosine knows how long the run is.
  if (s.kind == Schedule::Kind::cosine) add("epochs", options.epochs);
  return values;
}

NamedValues values_of(const std::string& part, const Data& data) {
  return {{part + " samples", fmt::format("{}", data.size())},
          {part + " checksum", fmt::format("{:016x}", data.checksum())}};
}

void append(NamedValues& values, const NamedValues& more) {
  values.insert(values.end(), more.begin(), more.end());
}

std::optional<Difference> difference_of(const NamedValues& first, const NamedValues& second) {
  for (const auto& [name, value] : first) {
    const auto other = std::ranges::find(second, name, &NamedValues::value_type::first);
    if (other == second.end()) return Difference{name, value, "nothing"};
    if (other->second != value) return Difference{name, value, other->second};
  }
  return {};
}

}  // namespace bnns::train::impl

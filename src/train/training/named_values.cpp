#include "train/training/named_values.h"

#include <fmt/format.h>

#include <algorithm>

namespace bnns::train::impl {
namespace {

// In the order of their enumerations.
constexpr const char* kLosses[] = {"automatic",
                                   "softmax cross entropy",
                                   "sigmoid cross entropy",
                                   "categorical",
                                   "mean square error",
                                   "mean absolute error",
                                   "huber",
                                   "hinge",
                                   "log",
                                   "cosine distance"};
constexpr const char* kOptimizers[] = {"adam", "adamw", "rmsprop", "sgd"};
constexpr const char* kSchedules[] = {"constant", "step", "cosine"};

template <std::size_t count, typename Enum>
const char* name_of(const char* const (&names)[count], Enum value) {
  return names[static_cast<std::size_t>(value)];
}

// A long text is cut to what lies around `place`, at the borders of its characters.
std::string shown(const std::string& text, std::size_t place) {
  constexpr std::size_t kBefore = 30, kShown = 80;
  if (text.size() <= kShown) return text;
  const auto is_inside_character = [&](std::size_t at) {
    return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0) == 0x80;
  };
  std::size_t begin = place - std::min(place, kBefore);
  std::size_t end = std::min(text.size(), begin + kShown);
  while (begin > 0 && is_inside_character(begin)) --begin;
  while (is_inside_character(end)) ++end;
  return fmt::format("{}{}{}", begin > 0 ? "..." : "", text.substr(begin, end - begin),
                     end < text.size() ? "..." : "");
}

}  // namespace

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
  add("loss", name_of(kLosses, options.loss));
  add("label smoothing", options.label_smoothing);
  add("huber delta", options.huber_delta);
  add("class weights", options.class_weights);
  add("optimizer", name_of(kOptimizers, o.kind));
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
  add("schedule", name_of(kSchedules, s.kind));
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
    if (other == second.end()) return Difference{name, shown(value, 0), "nothing"};
    if (other->second == value) continue;
    const auto place = std::ranges::mismatch(value, other->second).in1 - value.begin();
    return Difference{name, shown(value, static_cast<std::size_t>(place)),
                      shown(other->second, static_cast<std::size_t>(place))};
  }
  return {};
}

}  // namespace bnns::train::impl

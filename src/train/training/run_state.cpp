#include "train/training/run_state.h"

#include <algorithm>

namespace bnns::train::impl {
namespace {

// Smaller is better: errors of classes, then the loss settles ties; or the loss alone.
bool is_better(const Metrics& a, const Metrics& b) {
  if (a.right != b.right) return a.right > b.right;
  return a.loss < b.loss;
}

std::vector<float> copy_of(const Tensor& tensor) {
  return {tensor.values().begin(), tensor.values().end()};
}

}  // namespace

void RunState::begin_epoch(std::size_t next) {
  epoch = next;
  step = 0;
  loss = seconds = 0;
  right = samples = timed_samples = 0;
}

bool RunState::is_best(const EpochRecord& record) const {
  return !has_best() || is_better(record.validation, records[best_epoch - 1].validation);
}

void RunState::keep_best(const EpochRecord& record) {
  best_epoch = record.epoch;
  best_weights_ = copy_of(parameters_.weights());
  best_state_ = copy_of(parameters_.state());
}

void RunState::restore_best() {
  parameters_.weights().copy_from(best_weights_);
  parameters_.state().copy_from(best_state_);
}

}  // namespace bnns::train::impl

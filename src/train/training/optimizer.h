// One step of the chosen optimizer on all trained parameters, and the learning rate of a step.
#ifndef OPENBNNS_TRAIN_TRAINING_OPTIMIZER_H
#define OPENBNNS_TRAIN_TRAINING_OPTIMIZER_H

#include <vector>

#include "openbnns/train/options.hpp"
#include "train/network/parameters.h"

namespace bnns::train::impl {

// `step` counts from 0 over all epochs.
double learning_rate(const TrainingOptions& options, std::size_t step, std::size_t steps_per_epoch);

class Optimizer {
 public:
  Optimizer(const TrainingOptions& options, ParameterSet& parameters);

  // The gradients in `parameters` are sums; their mean is that times `scale`.
  void step(std::size_t step, double learning_rate, double scale);

  // First moments, second moments, ... each like ParameterSet::weights(): what a checkpoint keeps.
  std::vector<Tensor>& moments() noexcept { return moments_; }

 private:
  OptimizerOptions options_;
  std::size_t threads_;
  DescriptorList values_, gradients_, accumulators_;
  std::vector<Tensor> moments_;
};

}  // namespace bnns::train::impl

#endif

// The loss of a shard: a sum over its samples, with its gradient.
#ifndef OPENBNNS_TRAIN_TRAINING_LOSS_H
#define OPENBNNS_TRAIN_TRAINING_LOSS_H

#include <span>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "openbnns/train/data.hpp"
#include "openbnns/train/options.hpp"

namespace bnns::train::impl {

class ShardLoss {
 public:
  ShardLoss(const DataDescription& data, const TrainingOptions& options, std::size_t outputs,
            std::size_t batch_size);

  // The mean loss of n samples is the sum divided by n times this.
  double entries_per_sample() const noexcept { return entries_; }
  // Per class; samples count as much as their class says.
  void set_class_weights(std::vector<float> weights) { class_weights_ = std::move(weights); }

  // `targets` are those of `samples` samples, as Data gives them. `delta` is set if it is wanted.
  double apply(std::size_t samples, const Tensor& scores, std::span<const float> targets,
               Tensor* delta);

 private:
  Task task_;
  double entries_;
  Tensor labels_, weights_, sum_;
  std::vector<float> class_weights_;
  LossLayer layer_;
};

// How many of the scores have their largest value at the target.
std::size_t count_right(std::size_t samples, const Tensor& scores, std::span<const float> targets);

}  // namespace bnns::train::impl

#endif

// A training step as a sum over shards of the batch. A batch of n samples is cut into S shards, the
// s-th one from floor(s n / S) to floor((s + 1) n / S); each is computed as a unit, statistics of
// normalization included, and shards are added in a fixed binary tree with the lower one on the
// left. An empty shard is absent from the sum. Who computes a shard makes no difference.
#ifndef OPENBNNS_TRAIN_TRAINING_SHARDS_H
#define OPENBNNS_TRAIN_TRAINING_SHARDS_H

#include <vector>

#include "train/network/runner.h"
#include "train/training/batches.h"
#include "train/training/loss.h"

namespace bnns::train::impl {

struct ShardSum {
  double loss = 0;
  std::size_t right = 0;
  std::size_t shards = 0;  // that had samples
};

class Shards {
 public:
  Shards(Network& network, const DataDescription& data, const TrainingOptions& options);

  // Leaves the summed gradients and the new moving statistics in the network's parameters.
  // Throws Error::Kind::training if the loss is not finite.
  ShardSum run(const Batch& batch, std::uint64_t epoch);

  ShardLoss& loss() noexcept { return loss_; }
  std::vector<Sequence::StageTime> times() const { return runner_.times(); }

 private:
  struct Slot {
    Tensor gradients, state;
    ShardSum sum;
  };
  ShardSum run_shard(const Batch& batch, std::size_t first, std::size_t samples);
  // The sum of shards [first, last) goes to slots_[slot]; slots behind it are working memory.
  void run_tree(const Batch& batch, std::size_t first, std::size_t last, std::size_t slot);

  const TrainingOptions options_;
  Task task_;
  std::uint64_t epoch_ = 0;
  std::size_t width_, targets_;
  ParameterSet& parameters_;
  Runner runner_;
  ShardLoss loss_;
  std::vector<float> state_before_;
  std::vector<Slot> slots_;  // one per level of the tree
};

}  // namespace bnns::train::impl

#endif

// The shards of a training step: forward and backward pass of each that this rank has. ShardTree
// adds them.
#ifndef OPENBNNS_TRAIN_TRAINING_SHARDS_H
#define OPENBNNS_TRAIN_TRAINING_SHARDS_H

#include <vector>

#include "train/network/runner.h"
#include "train/training/batches.h"
#include "train/training/loss.h"
#include "train/training/shard_tree.h"

namespace bnns::train::impl {

class Shards {
 public:
  Shards(Network& network, const DataDescription& data, const TrainingOptions& options);

  // Leaves the summed gradients and the new moving statistics in the network's parameters.
  // Throws Error::Kind::training if the loss is not finite.
  ShardSum run(const Batch& batch, std::uint64_t epoch);

  ShardLoss& loss() noexcept { return loss_; }
  std::vector<Sequence::StageTime> times() const { return runner_.times(); }

 private:
  ShardSum run_shard(const Batch& batch, std::size_t shard, const ShardTree::Done& done);

  const TrainingOptions options_;
  Task task_;
  std::uint64_t epoch_ = 0;
  std::size_t width_, targets_;
  Runner runner_;
  ShardLoss loss_;
  ShardTree tree_;
};

}  // namespace bnns::train::impl

#endif

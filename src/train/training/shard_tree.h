// A training step as a sum over shards of the batch. A batch of n samples is cut into S shards, the
// s-th one from floor(s n / S) to floor((s + 1) n / S); each is computed as a unit, statistics of
// normalization included, and shards are added in a fixed binary tree with the lower one on the
// left. An empty shard is absent from the sum. Who computes a shard makes no difference.
//
// Several ranks share the tree: a node belongs to the rank of its lowest shard, which receives the
// right half where another rank has it. Gradients travel in segments, the last layer's first, so
// that they are on their way while the layers below are still at work. At the end rank 0 has the
// sum and gives it to all.
#ifndef OPENBNNS_TRAIN_TRAINING_SHARD_TREE_H
#define OPENBNNS_TRAIN_TRAINING_SHARD_TREE_H

#include <cstdint>
#include <functional>
#include <vector>

#include "train/network/parameters.h"
#include "train/network/sequence.h"
#include "train/training/ranks.h"

namespace bnns::train::impl {

struct ShardSum {
  double loss = 0;
  std::uint64_t right = 0;
  std::uint64_t shards = 0;  // that had samples
};

class ShardTree {
 public:
  // Called with the number of a segment whose gradients are complete.
  using Done = std::function<void(std::size_t segment)>;
  // Leaves the gradients and the moving statistics of a shard in the parameters.
  using RunShard = std::function<ShardSum(std::size_t shard, const Done& done)>;

  ShardTree(ParameterSet& parameters, std::vector<Sequence::Segment> segments, const Ranks& ranks,
            std::size_t shards);

  // Leaves the summed gradients and the mean of the new moving statistics in the parameters.
  ShardSum run(std::size_t samples, const RunShard& run_shard);

 private:
  struct Slot {
    Tensor gradients, state;
    ShardSum sum;
  };
  // A right half that comes from another rank, or goes to one.
  struct Incoming {
    std::size_t first, last;
    Slot slot;
    std::vector<Communicator::Transfer> transfers = {};
  };
  Slot make_slot() const;
  void find_transfers(std::size_t first, std::size_t last);
  bool is_empty(std::size_t first, std::size_t last) const;
  std::span<float> segment(Slot& slot, std::size_t number) const;

  // The sum of shards [first, last) goes to slots_[slot], if this rank has the first of them; slots
  // behind it are working memory. With `streaming` each segment of the sum is completed up to
  // slots_[stream_root_] and sent as soon as the last shard has it.
  void run_tree(std::size_t first, std::size_t last, std::size_t slot, bool streaming);
  void run_leaf(std::size_t shard, std::size_t slot, bool streaming);
  void run_sent(std::size_t first, std::size_t last, std::size_t slot, std::size_t to);
  void send_segment(std::size_t number, std::size_t leaf);
  void join(Slot& left, Slot& right, bool has_gradients) const;
  void begin_receives();
  Slot& received(std::size_t first);
  void broadcast_sum();
  void keep_frozen_state();

  ParameterSet& parameters_;
  std::vector<Sequence::Segment> segments_;
  Ranks ranks_;
  std::size_t shards_;
  std::vector<Slot> slots_;  // one per level of the tree
  std::vector<Incoming> incoming_;
  std::vector<Slot> outgoing_;  // memory that stays as it is until it was sent

  // Of the current step.
  const RunShard* run_shard_ = nullptr;
  std::size_t samples_ = 0, sent_ = 0;
  std::size_t stream_root_ = 0, stream_to_ = 0;
  std::vector<float> state_before_;
  std::vector<Communicator::Transfer> sends_;
};

}  // namespace bnns::train::impl

#endif

#include "train/training/shard_tree.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace bnns::train::impl {
namespace {

// The lowest shard of the right half of a node.
std::size_t middle_of(std::size_t first, std::size_t last) {
  return first + std::bit_floor(last - first - 1);
}

void add(std::span<float> sum, std::span<const float> summand) {
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += summand[i];
}

std::span<const std::byte> bytes_of(std::span<const float> values) {
  return std::as_bytes(values);
}

}  // namespace

ShardTree::ShardTree(ParameterSet& parameters, std::vector<Sequence::Segment> segments,
                     const Ranks& ranks, std::size_t shards)
    : parameters_(parameters), segments_(std::move(segments)), ranks_(ranks), shards_(shards) {
  if (shards == 1) return;
  const std::size_t levels = 1 + static_cast<std::size_t>(std::bit_width(shards - 1));
  for (std::size_t k = 0; k < levels; ++k) slots_.push_back(make_slot());
  if (!ranks_.alone()) find_transfers(0, shards);
}

ShardTree::Slot ShardTree::make_slot() const {
  return {Tensor(parameters_.weights().shape()), Tensor(parameters_.state().shape()), ShardSum{}};
}

// In the order in which the messages of one rank are sent.
void ShardTree::find_transfers(std::size_t first, std::size_t last) {
  if (last - first == 1 || !ranks_.owns_any(first, last)) return;
  const std::size_t middle = middle_of(first, last);
  find_transfers(first, middle);
  find_transfers(middle, last);
  if (ranks_.owner(first) == ranks_.owner(middle)) return;
  if (ranks_.owns(first)) incoming_.push_back({.first = middle, .last = last, .slot = make_slot()});
  if (ranks_.owns(middle)) outgoing_.push_back(make_slot());
}

bool ShardTree::is_empty(std::size_t first, std::size_t last) const {
  return first * samples_ / shards_ == last * samples_ / shards_;
}

std::span<float> ShardTree::segment(Slot& slot, std::size_t number) const {
  const auto [begin, end] = segments_[number];
  return slot.gradients.values().subspan(begin, end - begin);
}

ShardSum ShardTree::run(std::size_t samples, const RunShard& run_shard) {
  if (shards_ == 1) return run_shard(0, {});
  run_shard_ = &run_shard;
  samples_ = samples;
  sent_ = 0;
  const auto state = parameters_.state().values();
  state_before_.assign(state.begin(), state.end());
  begin_receives();
  run_tree(0, shards_, 0, false);
  if (!ranks_.alone()) broadcast_sum();

  const Slot& all = slots_[0];
  parameters_.gradients().copy_from(all.gradients.values());
  const float count = static_cast<float>(all.sum.shards);
  std::ranges::transform(all.state.values(), parameters_.state().data(),
                         [&](float sum) { return sum / count; });
  keep_frozen_state();
  return all.sum;
}

// Of n equal statistics the mean need not be the same number: 3 x / 3 may be another float than x.
void ShardTree::keep_frozen_state() {
  for (const ParameterSet::Entry& entry : parameters_.entries()) {
    if (!entry.rule.is_state || !entry.frozen) continue;
    std::ranges::copy(std::span(state_before_).subspan(entry.offset, entry.count),
                      parameters_.values(entry).data());
  }
}

void ShardTree::run_tree(std::size_t first, std::size_t last, std::size_t slot, bool streaming) {
  if (!ranks_.owns_any(first, last)) return;
  if (last - first == 1) return run_leaf(first, slot, streaming);
  const std::size_t middle = middle_of(first, last);
  run_tree(first, middle, slot, false);
  const std::size_t owner = ranks_.owner(first);
  if (owner != ranks_.rank() && ranks_.owns(middle)) {
    return run_sent(middle, last, slot + 1, owner);
  }
  run_tree(middle, last, slot + 1, streaming);
  if (owner != ranks_.rank()) return;
  join(slots_[slot], ranks_.owns(middle) ? slots_[slot + 1] : received(middle), streaming);
}

void ShardTree::run_leaf(std::size_t shard, std::size_t slot, bool streaming) {
  Slot& own = slots_[slot];
  own.sum = {};
  if (is_empty(shard, shard + 1)) return;
  parameters_.state().copy_from(state_before_);
  const std::span<const float> gradients = parameters_.gradients().values();
  std::size_t left = segments_.size();  // segments below this one are not complete yet
  const auto complete = [&](std::size_t number) {
    while (left > number) {
      --left;
      const auto [begin, end] = segments_[left];
      std::ranges::copy(gradients.subspan(begin, end - begin), segment(own, left).data());
      send_segment(left, slot);
    }
  };
  Done done;
  if (!ranks_.alone()) {
    done = [&](std::size_t number) {
      if (streaming) complete(number);
      ranks_.communicator().progress();
    };
  }
  own.sum = (*run_shard_)(shard, done);
  if (streaming) {
    complete(0);
  } else {
    own.gradients.copy_from(gradients);
  }
  own.state.copy_from(parameters_.state().values());
}

// Adds the segment to the sums on its left, from the leaf to the root of what is sent, and sends
// it.
void ShardTree::send_segment(std::size_t number, std::size_t leaf) {
  for (std::size_t k = leaf; k-- > stream_root_;) {
    add(segment(slots_[k], number), segment(slots_[k + 1], number));
  }
  const std::span<float> sum = segment(slots_[stream_root_], number);
  if (sum.empty()) return;
  sends_.push_back(ranks_.communicator().begin_send(bytes_of(sum), stream_to_));
}

// A right half whose sum another rank needs.
void ShardTree::run_sent(std::size_t first, std::size_t last, std::size_t slot, std::size_t to) {
  std::swap(slots_[slot], outgoing_[sent_]);
  // With an empty shard there are sums that are moved and not added.
  const bool streaming = ranks_.owns(last - 1) && samples_ >= shards_;
  stream_root_ = slot;
  stream_to_ = to;
  run_tree(first, last, slot, streaming);
  const bool empty = is_empty(first, last);
  if (!empty && !streaming) {
    stream_root_ = slot;
    stream_to_ = to;
    for (std::size_t k = segments_.size(); k-- > 0;) send_segment(k, slot);
  }
  Slot& sum = outgoing_[sent_++];
  std::swap(slots_[slot], sum);
  if (empty) return;
  Communicator& ranks = ranks_.communicator();
  sends_.push_back(ranks.begin_send(bytes_of(sum.state.values()), to));
  sends_.push_back(ranks.begin_send(std::as_bytes(std::span(&sum.sum, 1)), to));
}

void ShardTree::join(Slot& left, Slot& right, bool has_gradients) const {
  if (right.sum.shards == 0) return;
  if (left.sum.shards == 0) {
    std::swap(left, right);
    return;
  }
  if (!has_gradients) add(left.gradients.values(), right.gradients.values());
  add(left.state.values(), right.state.values());
  left.sum.loss += right.sum.loss;
  left.sum.right += right.sum.right;
  left.sum.shards += right.sum.shards;
}

void ShardTree::begin_receives() {
  for (Incoming& node : incoming_) {
    node.slot.sum = {};
    if (is_empty(node.first, node.last)) continue;
    Communicator& ranks = ranks_.communicator();
    const std::size_t from = ranks_.owner(node.first);
    const auto receive = [&](std::span<std::byte> bytes) {
      node.transfers.push_back(ranks.begin_receive(bytes, from));
    };
    for (std::size_t k = segments_.size(); k-- > 0;) {
      const std::span<float> values = segment(node.slot, k);
      if (!values.empty()) receive(std::as_writable_bytes(values));
    }
    receive(std::as_writable_bytes(node.slot.state.values()));
    receive(std::as_writable_bytes(std::span(&node.slot.sum, 1)));
  }
}

ShardTree::Slot& ShardTree::received(std::size_t first) {
  Incoming& node = *std::ranges::find(incoming_, first, &Incoming::first);
  for (const Communicator::Transfer transfer : node.transfers) {
    ranks_.communicator().wait(transfer);
  }
  node.transfers.clear();
  return node.slot;
}

void ShardTree::broadcast_sum() {
  Communicator& ranks = ranks_.communicator();
  for (const Communicator::Transfer transfer : sends_) ranks.wait(transfer);
  sends_.clear();
  Slot& all = slots_[0];
  broadcast_values(ranks, all.gradients.values());
  broadcast_values(ranks, all.state.values());
  broadcast(ranks, all.sum);
}

}  // namespace bnns::train::impl

// Which rank of a training computes which shards, and messages between ranks. Without a
// communicator there is one rank, and the messages cost nothing.
#ifndef OPENBNNS_TRAIN_TRAINING_RANKS_H
#define OPENBNNS_TRAIN_TRAINING_RANKS_H

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "openbnns/train/communicator.hpp"

namespace bnns::train::impl {

class Ranks {
 public:
  Ranks(Communicator* communicator, std::size_t shards)
      : communicator_(communicator), shards_(shards) {
    if (communicator) rank_ = communicator->rank(), size_ = communicator->size();
  }

  std::size_t rank() const noexcept { return rank_; }
  std::size_t size() const noexcept { return size_; }
  bool alone() const noexcept { return size_ == 1; }
  Communicator& communicator() const noexcept { return *communicator_; }

  // Rank r computes shards [floor(r S / R), floor((r + 1) S / R)).
  std::size_t first_shard(std::size_t rank) const noexcept { return rank * shards_ / size_; }
  std::size_t owner(std::size_t shard) const noexcept {
    return ((shard + 1) * size_ - 1) / shards_;
  }
  bool owns(std::size_t shard) const noexcept { return owner(shard) == rank_; }
  bool owns_any(std::size_t first, std::size_t last) const noexcept {
    return owner(first) <= rank_ && rank_ <= owner(last - 1);
  }

 private:
  Communicator* communicator_;
  std::size_t shards_;
  std::size_t rank_ = 0, size_ = 1;
};

// ---- Messages of values, of text ----

template <typename T>
void broadcast(Communicator& ranks, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  ranks.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
}
template <typename T>
void broadcast_values(Communicator& ranks, std::span<T> values) {
  if (!values.empty()) ranks.broadcast(std::as_writable_bytes(values), 0);
}
// The text of rank 0 becomes everybody's.
void broadcast_text(Communicator& ranks, std::string& text);
// Counts of all ranks, added element by element; all ranks get the sums.
void add_counts(Communicator& ranks, std::span<std::size_t> counts);
// Rank 0 gets the texts of all ranks, its own first; others get nothing.
std::vector<std::string> gather_texts(Communicator& ranks, const std::string& text);

}  // namespace bnns::train::impl

#endif

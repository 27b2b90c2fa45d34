// What a filter remembers of its last training forward pass for the backward one: the size of the
// batch and the layer's own buffers. Training calls, forward and backward, hold its lock and run
// one after the other; the last forward pass counts. Calls that do not train do without it.
#pragma once

#include <cstddef>
#include <mutex>

#include "core/error.h"

namespace bnns::impl {

template <class Buffers>
class TrainingState {
 public:
  [[nodiscard]] std::unique_lock<std::mutex> lock() { return std::unique_lock(mutex_); }

  // All that follows is for who holds the lock.
  Buffers buffers = {};

  void remember(size_t batch) { batch_ = batch; }
  size_t batch() const { return batch_; }  // 0: no training pass yet

  void require_trained(size_t batch) const {
    require(batch_ != 0,
            "the filter was not applied with training = true; backward needs what that keeps");
    require(batch == batch_, "batch_size is ", batch, ", but the last training forward pass had ",
            batch_, "; they must be equal");
  }

 private:
  std::mutex mutex_;
  size_t batch_ = 0;
};

}  // namespace bnns::impl

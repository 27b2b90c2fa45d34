#include "mps/progress.h"

#include "mps/error.h"

namespace bnns::impl::mps {

template <class Reached>
void Progress::wait(const Reached& reached) {
  std::unique_lock lock(mutex_);
  if (reached()) return;
  const bool own = std::this_thread::get_id() == runner_;
  if (own) {
    lock.unlock();
    fail(ErrorCode::InvalidState,
         "CommandBuffer: a handler waits for a buffer of its own queue, which runs after it");
  }
  changed_.wait(lock, reached);
}

void Progress::wait_until_scheduled() {
  wait([this] { return status() >= CommandBufferStatus::Scheduled; });
}

void Progress::wait_until_executed() {
  wait([this] { return executed(); });
}

void Progress::wait_until_finished() {
  wait([this] { return finished(); });
}

}  // namespace bnns::impl::mps

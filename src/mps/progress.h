// How far a command buffer has come, for whoever waits for it: its own callers, and images that it
// uses. "Executed": the work is done and the status final. "Finished": the handlers have run too.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "openbnns/mps.hpp"

namespace bnns::impl::mps {

using MTL::CommandBufferStatus;

class Progress {
 public:
  CommandBufferStatus status() const { return status_; }
  std::optional<MTL::ExecutionError> error() const {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  bool executed() const { return is_final(status()); }
  bool finished() const { return finished_; }

  void advance(CommandBufferStatus status) {
    const std::lock_guard lock(mutex_);
    status_ = status;
    changed_.notify_all();
  }
  void finish_work(std::optional<MTL::ExecutionError> error) {
    const std::lock_guard lock(mutex_);
    const bool failed = error.has_value();
    error_ = std::move(error);
    status_ = failed ? CommandBufferStatus::Error : CommandBufferStatus::Completed;
    changed_.notify_all();
  }
  void finish() {
    const std::lock_guard lock(mutex_);
    finished_ = true;
    changed_.notify_all();
  }

  // A wait on the thread that runs the buffer would never end: these throw InvalidState there.
  void wait_until_scheduled();
  void wait_until_executed();
  void wait_until_finished();

  void set_runner(std::thread::id id) {
    const std::lock_guard lock(mutex_);
    runner_ = id;
  }

 private:
  static bool is_final(CommandBufferStatus status) {
    return status == CommandBufferStatus::Completed || status == CommandBufferStatus::Error;
  }
  template <class Reached>
  void wait(const Reached& reached);

  // What others see without the lock is changed with it, for those that wait.
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<CommandBufferStatus> status_ = CommandBufferStatus::NotEnqueued;
  std::atomic<bool> finished_ = false;
  std::optional<MTL::ExecutionError> error_;
  std::thread::id runner_;  // the thread of the queue
};

}  // namespace bnns::impl::mps

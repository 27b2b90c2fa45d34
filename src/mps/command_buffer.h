// A command buffer: recorded work, handlers and progress. Recording and committing are for one
// thread at a time; waiting and status for any.
#pragma once

#include <memory>
#include <vector>

#include "mps/progress.h"
#include "mps/queue.h"
#include "mps/work.h"

namespace bnns::impl::mps {

class CommandBufferImpl final : public MTL::CommandBuffer {
 public:
  CommandBufferImpl(std::shared_ptr<Queue> queue, std::weak_ptr<MTL::CommandQueue> handle);
  ~CommandBufferImpl() override;

  std::shared_ptr<MTL::Device> device() const override { return queue_->device(); }
  std::shared_ptr<MTL::CommandQueue> commandQueue() const override;
  void enqueue() override;
  void commit() override;
  void waitUntilScheduled() override;
  void waitUntilCompleted() override;
  CommandBufferStatus status() const override { return progress_->status(); }
  std::optional<MTL::ExecutionError> error() const override { return progress_->error(); }
  void addScheduledHandler(Handler handler) override;
  void addCompletedHandler(Handler handler) override;

  bool committed() const { return progress_->status() >= CommandBufferStatus::Committed; }
  uint64_t id() const { return id_; }
  // `images`: everything that the work reads or writes; `cleared`: those that are filled with zeros
  // before.
  void record(Work work, std::vector<StoragePtr> images, std::vector<StoragePtr> cleared);
  // The memory of the temporary images of this buffer.
  const std::shared_ptr<TemporaryPool>& temporaries();

  bool has_handlers() const { return !scheduled_handlers_.empty() || !completed_handlers_.empty(); }
  // True if somebody wants to hear of the buffer, or if its work takes longer than it takes to wake
  // the queue's thread.
  bool is_urgent() const { return has_handlers() || bytes_ > (size_t{1} << 20); }
  void run() noexcept;  // by the queue, see Queue::help

 private:
  void require_not_committed(const char* call) const;
  void add_handler(std::vector<Handler>& handlers, Handler handler, const char* call);
  std::optional<MTL::ExecutionError> execute() noexcept;
  void call(std::vector<Handler>& handlers) noexcept;

  std::shared_ptr<Queue> queue_;
  std::weak_ptr<MTL::CommandQueue> handle_;
  uint64_t id_;  // unique in the process: temporary objects name the buffer that they belong to
  std::shared_ptr<Progress> progress_ = std::make_shared<Progress>();
  struct Command {
    Work work;
    std::vector<StoragePtr> cleared;
  };
  std::vector<Command> commands_;
  std::vector<StoragePtr> images_;
  size_t bytes_ = 0;                            // of all of them
  std::shared_ptr<TemporaryPool> temporaries_;  // if there are any
  std::vector<Handler> scheduled_handlers_, completed_handlers_;
};

// The buffer as our class, which belongs to `device`; otherwise DeviceMismatch.
CommandBufferImpl& impl_of(MTL::CommandBuffer& buffer, const MTL::Device& device,
                           const char* where);

}  // namespace bnns::impl::mps

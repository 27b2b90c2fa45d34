#include "mps/command_buffer.h"

#include <atomic>
#include <cstring>
#include <new>

#include "mps/error.h"
#include "mps/image_storage.h"

namespace bnns::impl::mps {
namespace {

std::atomic<uint64_t> next_id{1};

}  // namespace

CommandBufferImpl::CommandBufferImpl(std::shared_ptr<Queue> queue,
                                     std::weak_ptr<MTL::CommandQueue> handle)
    : queue_(std::move(queue)), handle_(std::move(handle)), id_(next_id++) {
  progress_->set_runner(queue_->thread_id());
}

CommandBufferImpl::~CommandBufferImpl() {
  if (status() == CommandBufferStatus::Enqueued) queue_->forget(*this);
  if (temporaries_ != nullptr) temporaries_->close();
}

std::shared_ptr<MTL::CommandQueue> CommandBufferImpl::commandQueue() const {
  if (auto handle = handle_.lock()) return handle;
  return make_handle(queue_);
}

void CommandBufferImpl::require_not_committed(const char* call) const {
  require(!committed(), ErrorCode::InvalidState, "CommandBuffer::", call,
          ": the buffer is already committed");
}

void CommandBufferImpl::enqueue() {
  require_not_committed("enqueue");
  if (status() == CommandBufferStatus::Enqueued) return;
  queue_->enqueue(*this);
  progress_->advance(CommandBufferStatus::Enqueued);
}

void CommandBufferImpl::commit() {
  require_not_committed("commit");
  enqueue();
  for (const StoragePtr& image : images_) image->add_user(progress_);
  progress_->advance(CommandBufferStatus::Committed);
  queue_->submit(std::static_pointer_cast<CommandBufferImpl>(shared_from_this()));
}

void CommandBufferImpl::waitUntilScheduled() {
  require(committed(), ErrorCode::InvalidState,
          "CommandBuffer::waitUntilScheduled: the buffer is not committed");
  progress_->wait_until_scheduled();
}

void CommandBufferImpl::waitUntilCompleted() {
  require(committed(), ErrorCode::InvalidState,
          "CommandBuffer::waitUntilCompleted: the buffer is not committed");
  if (!progress_->finished()) queue_->help(*this);
  progress_->wait_until_finished();
}

void CommandBufferImpl::add_handler(std::vector<Handler>& handlers, Handler handler,
                                    const char* call) {
  require_not_committed(call);
  require(handler != nullptr, ErrorCode::InvalidArgument, "CommandBuffer::", call,
          ": the handler is empty");
  handlers.push_back(std::move(handler));
}

void CommandBufferImpl::addScheduledHandler(Handler handler) {
  add_handler(scheduled_handlers_, std::move(handler), "addScheduledHandler");
}

void CommandBufferImpl::addCompletedHandler(Handler handler) {
  add_handler(completed_handlers_, std::move(handler), "addCompletedHandler");
}

const std::shared_ptr<TemporaryPool>& CommandBufferImpl::temporaries() {
  if (temporaries_ == nullptr) temporaries_ = std::make_shared<TemporaryPool>(queue_->device());
  return temporaries_;
}

void CommandBufferImpl::record(Work work, std::vector<StoragePtr> images,
                               std::vector<StoragePtr> cleared) {
  // Room first, so that nothing is recorded if there is not enough memory.
  commands_.reserve(commands_.size() + 1);
  images_.reserve(images_.size() + images.size());
  commands_.push_back({std::move(work), std::move(cleared)});
  for (StoragePtr& image : images) {
    bytes_ += image->bytes();
    images_.push_back(std::move(image));
  }
}

std::optional<MTL::ExecutionError> CommandBufferImpl::execute() noexcept {
  try {
    for (const Command& command : commands_) {
      for (const StoragePtr& image : command.cleared) {
        with_bytes(image->memory(), true,
                   [&](std::byte* bytes) { std::memset(bytes, 0, image->bytes()); });
      }
      queue_->device()->execute(command.work);
    }
    return std::nullopt;
  } catch (const std::bad_alloc&) {
    return MTL::ExecutionError{MTL::CommandBufferError::OutOfMemory, "out of memory"};
  } catch (const MPS::Error& error) {
    const bool memory = error.code() == ErrorCode::OutOfMemory;
    return MTL::ExecutionError{
        memory ? MTL::CommandBufferError::OutOfMemory : MTL::CommandBufferError::Internal,
        error.what()};
  } catch (const std::exception& error) {
    return MTL::ExecutionError{MTL::CommandBufferError::Internal, error.what()};
  }
}

// What a handler captured goes here too, so that a buffer that captures itself is no cycle.
void CommandBufferImpl::call(std::vector<Handler>& handlers) noexcept {
  for (const Handler& handler : handlers) {
    try {
      handler(*this);
    } catch (...) {  // A handler's exception has nobody to go to.
    }
  }
  handlers.clear();
}

void CommandBufferImpl::run() noexcept {
  progress_->advance(CommandBufferStatus::Scheduled);
  call(scheduled_handlers_);
  std::optional<MTL::ExecutionError> error = execute();
  commands_.clear();
  images_.clear();
  if (temporaries_ != nullptr) temporaries_->close();
  progress_->finish_work(std::move(error));
  call(completed_handlers_);
  progress_->finish();
}

CommandBufferImpl& impl_of(MTL::CommandBuffer& buffer, const MTL::Device& device,
                           const char* where) {
  auto* impl = dynamic_cast<CommandBufferImpl*>(&buffer);
  require(impl != nullptr && impl->device().get() == &device, ErrorCode::DeviceMismatch, where,
          ": the command buffer belongs to another device");
  return *impl;
}

}  // namespace bnns::impl::mps

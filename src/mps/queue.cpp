#include "mps/queue.h"

#include <algorithm>
#include <chrono>
#include <system_error>

#include "mps/command_buffer.h"
#include "mps/error.h"

namespace bnns::impl::mps {
namespace {

class QueueHandle final : public MTL::CommandQueue {
 public:
  explicit QueueHandle(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
  ~QueueHandle() override {
    if (!queue_->on_own_thread()) queue_->wait_until_idle();
  }
  std::shared_ptr<MTL::Device> device() const override { return queue_->device(); }
  std::shared_ptr<MTL::CommandBuffer> commandBuffer() override {
    return std::make_shared<CommandBufferImpl>(queue_, weak_from_this());
  }

 private:
  std::shared_ptr<Queue> queue_;
};

}  // namespace

Queue::Queue(std::shared_ptr<DeviceBase> device) : device_(std::move(device)) {
  try {
    thread_ = std::thread(
        [line = line_, may_doze = device_->callers_may_execute()] { run(line, may_doze); });
  } catch (const std::system_error& error) {
    fail(ErrorCode::DeviceError, "CommandQueue: its thread cannot be started: ", error.what());
  }
}

Queue::~Queue() {
  {
    const std::lock_guard lock(line_->mutex);
    line_->stopped = true;
    line_->to_do.notify_all();
  }
  if (on_own_thread()) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void Queue::enqueue(CommandBufferImpl& buffer) {
  const std::lock_guard lock(line_->mutex);
  line_->places.push_back({.key = &buffer});
}

void Queue::submit(std::shared_ptr<CommandBufferImpl> buffer) {
  const std::lock_guard lock(line_->mutex);
  auto& places = line_->places;
  const auto place = std::find_if(places.begin(), places.end(),
                                  [&](const Place& p) { return p.key == buffer.get(); });
  const bool urgent = buffer->is_urgent();
  place->committed = std::move(buffer);
  ++line_->commits;
  line_->wake(urgent);
}

void Queue::forget(const CommandBufferImpl& buffer) {
  const std::lock_guard lock(line_->mutex);
  std::erase_if(line_->places, [&](const Place& p) { return p.key == &buffer; });
  line_->wake(true);
}

void Queue::wait_until_idle() {
  std::unique_lock lock(line_->mutex);
  line_->idle.wait(lock, [&] { return !line_->ready(); });
}

void Queue::Line::wake(bool urgent) {
  if (startable() && (urgent || !dozing)) to_do.notify_one();
  if (!ready()) idle.notify_all();
}

void Queue::Line::run_first(std::unique_lock<std::mutex>& lock) {
  std::shared_ptr<CommandBufferImpl> buffer = places.front().committed;
  running = true;
  lock.unlock();
  buffer->run();
  lock.lock();
  running = false;
  places.pop_front();
  wake(ready() && places.front().committed->is_urgent());
  // The buffer may hold the last reference to the queue, which then ends here.
  lock.unlock();
  buffer.reset();
  lock.lock();
}

void Queue::Line::wait_for_work(std::unique_lock<std::mutex>& lock, bool may_doze) {
  constexpr std::chrono::microseconds kInterval{100};
  constexpr int kIntervals = 20;
  const auto reached = [this] { return startable() || (stopped && !ready()); };
  uint64_t seen = commits;
  for (int left = may_doze ? kIntervals : 0; left > 0 && !reached(); --left) {
    dozing = true;
    to_do.wait_for(lock, kInterval);
    if (commits != seen) left = kIntervals;
    seen = commits;
  }
  dozing = false;
  to_do.wait(lock, reached);
}

void Queue::run(const std::shared_ptr<Line>& line, bool may_doze) {
  std::unique_lock lock(line->mutex);
  for (;;) {
    line->wait_for_work(lock, may_doze);
    if (!line->ready()) return;
    line->run_first(lock);
  }
}

void Queue::help(const CommandBufferImpl& wanted) {
  if (!device_->callers_may_execute() || on_own_thread()) return;
  const std::shared_ptr<Line> line = line_;
  std::unique_lock lock(line->mutex);
  while (line->startable() && !line->places.front().committed->has_handlers()) {
    const bool last = line->places.front().key == &wanted;
    line->run_first(lock);
    if (last) return;
  }
}

std::shared_ptr<MTL::CommandQueue> make_queue(std::shared_ptr<DeviceBase> device) {
  return make_handle(std::make_shared<Queue>(std::move(device)));
}

std::shared_ptr<MTL::CommandQueue> make_handle(std::shared_ptr<Queue> queue) {
  return std::make_shared<QueueHandle>(std::move(queue));
}

}  // namespace bnns::impl::mps

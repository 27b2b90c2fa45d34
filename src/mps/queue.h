// A command queue: one thread that runs committed buffers in the order in which they were enqueued.
// On some devices a caller that waits for a buffer may run what has not started in place of the
// thread, which spares two changes of threads; handlers run on the queue's own thread only. Because
// waking a thread costs as much as a small buffer, the thread dozes for a while after a commit: it
// looks at short intervals whether a small buffer has been left for it, and nobody wakes it for
// one. The handle that the client holds and the queue itself are two objects: the queue lives as
// long as a handle or a buffer needs it, and a handle waits for committed buffers when it goes.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include "mps/device.h"

namespace bnns::impl::mps {

class CommandBufferImpl;

class Queue {
 public:
  explicit Queue(std::shared_ptr<DeviceBase> device);
  ~Queue();

  const std::shared_ptr<DeviceBase>& device() const { return device_; }
  std::thread::id thread_id() const { return thread_.get_id(); }
  bool on_own_thread() const { return std::this_thread::get_id() == thread_id(); }

  void enqueue(CommandBufferImpl& buffer);  // reserves a place
  void submit(std::shared_ptr<CommandBufferImpl> buffer);
  void forget(const CommandBufferImpl& buffer);  // an enqueued buffer that was never committed
  void wait_until_idle();                        // no committed buffer can run
  // Runs buffers on the calling thread, in their order, until `wanted` has run, one of them is
  // being run by somebody else, or one has handlers.
  void help(const CommandBufferImpl& wanted);

 private:
  // A place in the order; the queue holds the buffer from its commit on.
  struct Place {
    const CommandBufferImpl* key;
    std::shared_ptr<CommandBufferImpl> committed;
  };
  // Shared with the thread, which may outlive the queue for a moment: the last reference to a queue
  // can go on its own thread, which then cannot be joined.
  struct Line {
    std::mutex mutex;
    std::condition_variable to_do, idle;
    std::deque<Place> places;
    bool running = false;  // the buffer at the first place
    bool stopped = false;
    bool dozing = false;  // the thread looks for work by itself
    uint64_t commits = 0;

    bool ready() const { return !places.empty() && places.front().committed != nullptr; }
    bool startable() const { return ready() && !running; }
    // Runs the buffer at the first place, which is startable, while the lock is released.
    void run_first(std::unique_lock<std::mutex>& lock);
    // Wakes whoever can go on; `urgent`: the thread even if it dozes.
    void wake(bool urgent);
    void wait_for_work(std::unique_lock<std::mutex>& lock, bool may_doze);
  };
  static void run(const std::shared_ptr<Line>& line, bool may_doze);

  std::shared_ptr<DeviceBase> device_;
  std::shared_ptr<Line> line_ = std::make_shared<Line>();
  std::thread thread_;
};

std::shared_ptr<MTL::CommandQueue> make_queue(std::shared_ptr<DeviceBase> device);
// A further handle of a queue whose first one is gone.
std::shared_ptr<MTL::CommandQueue> make_handle(std::shared_ptr<Queue> queue);

}  // namespace bnns::impl::mps

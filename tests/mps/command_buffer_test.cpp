// Queues and command buffers: order, status, handlers, waiting, lifetime, many threads.
#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>

#include "support.h"

namespace mps_test {
namespace {

using Status = MTL::CommandBufferStatus;

TEST(CommandBuffer, StatusAndHandlers) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const auto buffer = queue->commandBuffer();
  EXPECT_EQ(buffer->device(), device);
  EXPECT_EQ(buffer->commandQueue(), queue);
  EXPECT_EQ(queue->device(), device);
  std::vector<int> calls;
  const auto self = std::this_thread::get_id();
  buffer->addScheduledHandler([&](MTL::CommandBuffer& b) {
    EXPECT_EQ(b.status(), Status::Scheduled);
    EXPECT_NE(std::this_thread::get_id(), self);
    calls.push_back(1);
  });
  buffer->addCompletedHandler([&](MTL::CommandBuffer& b) {
    EXPECT_EQ(b.status(), Status::Completed);
    EXPECT_NE(std::this_thread::get_id(), self);
    calls.push_back(2);
    throw 1;
  });
  buffer->addCompletedHandler([&](MTL::CommandBuffer& b) {
    calls.push_back(3);
    EXPECT_EQ(code_of([&] { b.waitUntilCompleted(); }), Code::InvalidState);
  });
  EXPECT_EQ(buffer->status(), Status::NotEnqueued);
  buffer->enqueue();
  EXPECT_EQ(buffer->status(), Status::Enqueued);
  buffer->commit();
  buffer->waitUntilScheduled();
  buffer->waitUntilCompleted();
  buffer->waitUntilCompleted();
  EXPECT_EQ(buffer->status(), Status::Completed);
  EXPECT_FALSE(buffer->error().has_value());
  EXPECT_EQ(calls, (std::vector<int>{1, 2, 3}));
}

TEST(CommandBuffer, RunsInTheOrderOfEnqueue) {
  const auto queue = test_device()->newCommandQueue();
  std::vector<int> order;
  std::vector<std::shared_ptr<MTL::CommandBuffer>> buffers;
  for (int i = 0; i < 5; ++i) {
    buffers.push_back(queue->commandBuffer());
    buffers[i]->addCompletedHandler([&order, i](auto&) { order.push_back(i); });
  }
  for (const int i : {3, 1}) buffers[i]->enqueue();
  for (const int i : {1, 0, 2, 4}) buffers[i]->commit();
  EXPECT_LT(buffers[1]->status(), Status::Scheduled) << "waits for the place before it";
  buffers[3]->commit();
  for (const auto& buffer : buffers) buffer->waitUntilCompleted();
  EXPECT_EQ(order, (std::vector<int>{3, 1, 0, 2, 4}));
}

TEST(CommandBuffer, AnEnqueuedBufferThatGoesLeavesItsPlace) {
  const auto queue = test_device()->newCommandQueue();
  auto first = queue->commandBuffer();
  const auto second = queue->commandBuffer();
  first->enqueue();
  second->commit();
  first.reset();
  second->waitUntilCompleted();
}

TEST(CommandBuffer, AHandlerMayCommitOthers) {
  const auto queue = test_device()->newCommandQueue();
  const auto buffer = queue->commandBuffer(), next = queue->commandBuffer();
  buffer->addCompletedHandler([&](auto&) {
    next->commit();
    EXPECT_EQ(code_of([&] { next->waitUntilCompleted(); }), Code::InvalidState);
  });
  buffer->commit();
  buffer->waitUntilCompleted();
  next->waitUntilCompleted();
}

TEST(CommandBuffer, AQueueThatGoesWaitsForItsBuffers) {
  std::atomic<int> finished{0};
  {
    const auto queue = test_device()->newCommandQueue();
    for (int i = 0; i < 3; ++i) {
      const auto buffer = queue->commandBuffer();
      buffer->addCompletedHandler([&](auto&) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        ++finished;
      });
      buffer->commit();
    }
  }
  EXPECT_EQ(finished, 3);
}

TEST(CommandBuffer, ABufferOutlivesItsQueue) {
  auto queue = test_device()->newCommandQueue();
  const auto buffer = queue->commandBuffer();
  queue.reset();
  ASSERT_NE(buffer->commandQueue(), nullptr);
  buffer->commit();
  buffer->waitUntilCompleted();
  EXPECT_EQ(buffer->status(), Status::Completed);
}

// The last reference to the queue goes in a handler, on the queue's own thread.
TEST(CommandBuffer, AQueueMayEndInAHandler) {
  std::atomic<bool> called{false};
  {
    auto queue = test_device()->newCommandQueue();
    auto buffer = queue->commandBuffer();
    auto holder = std::make_shared<std::shared_ptr<MTL::CommandQueue>>(queue);
    buffer->addCompletedHandler([holder, &called](auto&) {
      holder->reset();
      called = true;
    });
    buffer->commit();
  }
  while (!called) std::this_thread::yield();
}

TEST(CommandBuffer, WaitingFromManyThreads) {
  const auto queue = test_device()->newCommandQueue();
  const auto buffer = queue->commandBuffer();
  buffer->commit();
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      buffer->waitUntilCompleted();
      EXPECT_EQ(buffer->status(), Status::Completed);
    });
  }
  for (auto& thread : threads) thread.join();
}

// Whoever runs them, buffers run in the order of the queue, each of them once, and handlers on the
// thread of the queue. Every buffer counts on: its sources are the results of the one before.
TEST(CommandBuffer, WaitingCallersRunBuffersInOrder) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const Extent extent{2, 1, 3};
  MPS::CNNLossDescriptor loss(Type::MeanAbsoluteError, Reduction::None);
  loss.weight = 1;
  const MPS::NNForwardLoss kernel(device, loss);
  const auto minus_one = images(device, 1, extent, Format::Float32, -1);
  for (int round = 0; round < 50; ++round) {
    constexpr int kBuffers = 8;
    std::vector<MPS::ImageBatch> values;
    for (int i = 0; i <= kBuffers; ++i) values.push_back(images(device, 1, extent));
    std::vector<std::shared_ptr<MTL::CommandBuffer>> buffers;
    std::atomic<int> handled = 0;
    std::vector<std::thread::id> callers;
    for (int i = 0; i < kBuffers; ++i) {
      buffers.push_back(queue->commandBuffer());
      kernel.encodeBatch(*buffers[i], values[i], minus_one, {}, {}, values[i + 1]);
      if (i == round % kBuffers) {
        buffers[i]->addCompletedHandler([&](auto&) {
          callers.push_back(std::this_thread::get_id());
          ++handled;
        });
      }
      buffers[i]->commit();
    }
    std::vector<std::thread> threads;
    for (const int last : {kBuffers - 1, kBuffers / 2}) {
      threads.emplace_back([&, last] {
        buffers[last]->waitUntilCompleted();
        EXPECT_EQ(buffers[last]->status(), Status::Completed);
      });
    }
    buffers.back()->waitUntilCompleted();
    EXPECT_EQ(handled, 1);
    for (const std::thread& thread : threads) EXPECT_NE(callers[0], thread.get_id());
    EXPECT_NE(callers[0], std::this_thread::get_id());
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(values[kBuffers][0]->toFloats().back(), kBuffers);
  }
}

// Nobody waits: the thread of the queue finds small buffers by itself, also while it dozes.
TEST(CommandBuffer, RunsWithoutAWaitingCaller) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const MPS::NNInitialGradient ones(device);
  const auto source = image(device, {}), destination = image(device, {});
  for (int i = 0; i < 20; ++i) {
    const auto buffer = queue->commandBuffer();
    ones.encode(*buffer, source, destination);
    buffer->commit();
    while (buffer->status() != Status::Completed) std::this_thread::yield();
    if (i % 5 == 4) std::this_thread::sleep_for(std::chrono::milliseconds(4));
  }
}

// Reading an image waits for the committed buffers that use it.
TEST(CommandBuffer, ReadingWaits) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const auto source = image(device, {64, 64, 4});
  const auto destination = image(device, {64, 64, 4});
  const MPS::NNInitialGradient ones(device);
  for (int i = 0; i < 20; ++i) {
    destination->fromFloats(std::vector<float>(64 * 64 * 4, 0));
    const auto buffer = queue->commandBuffer();
    buffer->addScheduledHandler(
        [](auto&) { std::this_thread::sleep_for(std::chrono::microseconds(200)); });
    ones.encode(*buffer, source, destination);
    buffer->commit();
    EXPECT_EQ(destination->toFloats().back(), 1);
  }
}

// Eight threads encode on one device, with kernels of their own and shared sources; the buffers are
// committed by other threads.
TEST(CommandBuffer, EightThreads) {
  const auto device = test_device();
  const auto shared_queue = device->newCommandQueue();
  const Extent extent{16, 16, 8};
  const auto sources = images(device, 4, extent, Format::Float32, 0.5f);
  const auto labels = images(device, 4, extent, Format::Float32, 1);
  const MPS::NNLossGradient original(
      device, MPS::CNNLossDescriptor(Type::SigmoidCrossEntropy, Reduction::Mean));
  std::mutex mutex;
  std::vector<std::shared_ptr<MTL::CommandBuffer>> waiting;
  std::atomic<int> encoders{8};
  const auto encode = [&](int thread) {
    const auto queue = thread % 2 == 0 ? shared_queue : device->newCommandQueue();
    const MPS::NNForwardLoss forward(
        device, MPS::CNNLossDescriptor(Type::SigmoidCrossEntropy, Reduction::Mean));
    const auto gradient = original.copy();
    const MPS::NNInitialGradient ones(device);
    for (int i = 0; i < 10; ++i) {
      const auto results = images(device, 4, extent);
      const auto buffer = queue->commandBuffer();
      const auto losses = forward.encodeBatch(*buffer, sources, labels);
      gradient->encodeBatch(*buffer, ones.encodeBatch(*buffer, losses), sources, labels, {}, {},
                            results);
      {
        const std::lock_guard lock(mutex);
        waiting.push_back(buffer);
      }
      while (buffer->status() < Status::Committed) std::this_thread::yield();
      const float expected = (1 / (1 + std::exp(-0.5f)) - 1) / (16 * 16 * 8);
      EXPECT_NEAR(results[3]->toFloats().back(), expected, 1e-8);
    }
    --encoders;
  };
  const auto commit = [&] {
    while (encoders > 0) {
      std::shared_ptr<MTL::CommandBuffer> buffer;
      {
        const std::lock_guard lock(mutex);
        if (!waiting.empty()) {
          buffer = waiting.back();
          waiting.pop_back();
        }
      }
      if (buffer == nullptr) {
        std::this_thread::yield();
        continue;
      }
      buffer->commit();
      buffer->waitUntilCompleted();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(encode, i);
  for (int i = 0; i < 2; ++i) threads.emplace_back(commit);
  for (auto& thread : threads) thread.join();
}

}  // namespace
}  // namespace mps_test

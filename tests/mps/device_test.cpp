// Devices that fail, and the same bits for any number of threads. Linked with the objects, because
// the failing device is made here.
#include <cmath>
#include <cstring>
#include <new>
#include <stdexcept>

#include "mps/device.h"
#include "openbnns/openbnns.h"
#include "support.h"

namespace mps_test {
namespace {

using impl::mps::DeviceBase;
using impl::mps::Memory;
using impl::mps::Work;

// The CPU device, except that it runs out of memory or fails to execute when it is told to.
class FailingDevice final : public DeviceBase {
 public:
  explicit FailingDevice(std::size_t cached_bytes = 0) : DeviceBase(cached_bytes) {}
  std::string name() const override { return "failing"; }
  MTL::Backend backend() const override { return MTL::Backend::Cpu; }
  std::unique_ptr<Memory> allocate(std::size_t bytes) override {
    if (allocations-- <= 0) return nullptr;
    return cpu_->allocate(bytes);
  }
  void execute(const Work& work) override {
    switch (failure) {
      case Failure::kNone:
        return cpu_->execute(work);
      case Failure::kMemory:
        throw std::bad_alloc();
      case Failure::kOther:
        throw std::runtime_error("the device is gone");
    }
  }

  enum class Failure { kNone, kMemory, kOther } failure = Failure::kNone;
  int allocations = 1000;

 private:
  std::shared_ptr<DeviceBase> cpu_ = impl::mps::make_cpu_device();
};

TEST(Device, FailedExecutionIsTheErrorOfItsBuffer) {
  const auto device = std::make_shared<FailingDevice>();
  const auto queue = device->newCommandQueue();
  const MPS::NNInitialGradient ones(device);
  const auto source = image(device, {});
  using Failure = FailingDevice::Failure;
  const struct {
    Failure failure;
    MTL::CommandBufferError code;
  } cases[] = {{Failure::kMemory, MTL::CommandBufferError::OutOfMemory},
               {Failure::kOther, MTL::CommandBufferError::Internal}};
  for (const auto& [failure, code] : cases) {
    device->failure = failure;
    const auto buffer = queue->commandBuffer();
    bool handled = false;
    buffer->addCompletedHandler(
        [&](MTL::CommandBuffer& b) { handled = b.status() == MTL::CommandBufferStatus::Error; });
    ones.encode(*buffer, source);
    buffer->commit();
    buffer->waitUntilCompleted();
    EXPECT_TRUE(handled);
    ASSERT_TRUE(buffer->error().has_value());
    EXPECT_EQ(buffer->error()->code, code);
    EXPECT_NE(buffer->error()->message, "");
    device->failure = Failure::kNone;
    const auto destination = image(device, {});
    run(queue, [&](MTL::CommandBuffer& next) { ones.encode(next, source, destination); });
    EXPECT_EQ(destination->toFloats()[0], 1) << "later buffers still run";
  }
}

TEST(Device, FailedAllocationsChangeNothing) {
  const auto device = std::make_shared<FailingDevice>();
  const auto queue = device->newCommandQueue();
  const auto buffer = queue->commandBuffer();
  const MPS::ImageDescriptor d{Format::Float32, 2, 2, 3, 1};
  const auto labels = images(device, 2, {2, 2, 3}), gradients = images(device, 2, {});
  const auto source = MPS::TemporaryImage::create(*buffer, d);
  const MPS::NNLossGradient kernel(device, MPS::CNNLossDescriptor(Type::Huber, Reduction::Sum));
  for (const int room : {0, 1}) {
    device->allocations = room;
    EXPECT_EQ(code_of([&] {
                kernel.encodeBatch(*buffer, gradients, {source, source}, labels);
              }),
              Code::OutOfMemory);
    EXPECT_EQ(source->readCount(), 1u);
  }
  device->allocations = 10;
  kernel.encodeBatch(*buffer, gradients, {source, source}, labels);
  EXPECT_EQ(source->readCount(), 0u);
  buffer->commit();
  buffer->waitUntilCompleted();
  EXPECT_EQ(buffer->status(), MTL::CommandBufferStatus::Completed);
}

// A chain of temporary images needs no more memory than two of them have, and buffers leave it to
// each other if the device keeps memory.
TEST(Device, TemporaryImagesShareMemory) {
  const auto device = std::make_shared<FailingDevice>(std::size_t{1} << 20);
  const auto queue = device->newCommandQueue();
  const MPS::NNInitialGradient ones(device);
  const auto source = image(device, {8, 8, 8});
  const int before = device->allocations;
  for (int round = 0; round < 3; ++round) {
    const auto buffer = queue->commandBuffer();
    std::shared_ptr<MPS::Image> last = source;
    for (int i = 0; i < 10; ++i) last = ones.encode(*buffer, last);
    const auto kept = std::static_pointer_cast<MPS::TemporaryImage>(last);
    EXPECT_EQ(kept->readCount(), 1u);
    kept->setReadCount(0);
    const auto next = MPS::TemporaryImage::create(*buffer, {Format::Float32, 8, 8, 8, 1});
    EXPECT_EQ(next->readCount(), 1u);
    buffer->commit();
    buffer->waitUntilCompleted();
    EXPECT_EQ(buffer->status(), MTL::CommandBufferStatus::Completed);
    EXPECT_EQ(before - device->allocations, 2);
  }
}

// What a kernel does not write of a temporary image is 0, also in memory that others have used, and
// so is an image that nobody has written.
TEST(Device, TemporaryImagesBeginWithZeros) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const Extent extent{4, 4, 4};
  const MPS::NNInitialGradient ones(device);
  const MPS::NNForwardLoss copy(device,
                                MPS::CNNLossDescriptor(Type::MeanAbsoluteError, Reduction::None));
  const auto source = image(device, extent), part = image(device, {2, 3, 4});
  const auto zeros = images(device, 1, extent);
  for (int round = 0; round < 2; ++round) {
    const auto results = images(device, 2, extent, Format::Float32, 7);
    run(queue, [&](MTL::CommandBuffer& buffer) {
      const MPS::ImageDescriptor d{Format::Float32, 4, 4, 4, 1};
      for (int i = 0; i < 2; ++i) {
        const auto used =
            std::static_pointer_cast<MPS::TemporaryImage>(ones.encode(buffer, source));
        used->setReadCount(0);
      }
      const auto partly = MPS::TemporaryImage::create(buffer, d);
      ones.encode(buffer, part, partly);
      copy.encodeBatch(buffer, {partly}, zeros, {}, {}, {results[0]});
      const auto unwritten = MPS::TemporaryImage::create(buffer, d);
      copy.encodeBatch(buffer, {unwritten}, zeros, {}, {}, {results[1]});
    });
    const auto is = results[0]->toFloats();
    for (std::size_t i = 0; i < is.size(); ++i)
      EXPECT_EQ(is[i], i / 4 % 4 < 2 && i / 16 < 3 ? 1 : 0) << i;
    EXPECT_EQ(results[1]->toFloats(), std::vector<float>(extent.elements(), 0));
  }
}

TEST(Device, ACopyOnAnotherDeviceComputesTheSame) {
  const auto first = test_device(),
             second = std::shared_ptr<MTL::Device>(impl::mps::make_cpu_device());
  MPS::NNLossGradient kernel(first, MPS::CNNLossDescriptor(Type::Huber, Reduction::Mean));
  kernel.setDelta(0.25f);
  kernel.setComputeLabelGradients(true);
  const auto copy = kernel.copy(second);
  EXPECT_EQ(copy->device(), second);
  EXPECT_EQ(kernel.copy()->device(), first);
  EXPECT_EQ(copy->encode(), kernel.encode());
  const auto result = [](const MPS::NNLossGradient& k) {
    const Extent e{3, 2, 1};
    const auto device = k.device();
    const MPS::ImageBatch source{image(device, e, Format::Float32, {0, 1, 2, -1, 0.5f, 0.125f})};
    const auto destination = images(device, 1, e);
    run(device->newCommandQueue(), [&](MTL::CommandBuffer& buffer) {
      k.encodeBatch(buffer, images(device, 1, {}, Format::Float32, 1), source, images(device, 1, e),
                    {}, {}, destination);
    });
    return destination[0]->toFloats();
  };
  EXPECT_EQ(result(*copy), result(kernel));
  EXPECT_EQ(code_of([&] {
              struct Foreign final : MTL::Device {
                std::string name() const override { return "foreign"; }
                MTL::Backend backend() const override { return MTL::Backend::Cpu; }
                std::shared_ptr<MTL::CommandQueue> newCommandQueue() override { return nullptr; }
              };
              kernel.copy(std::make_shared<Foreign>());
            }),
            Code::DeviceMismatch);
}

TEST(Device, TheReasonOfARefusalIsTheLastError) {
  try {
    MTL::Device::create("nothing");
    FAIL();
  } catch (const MPS::Error& error) {
    EXPECT_STREQ(error.what(), OpenBNNSGetLastError());
    EXPECT_NE(std::string(error.what()).find("nothing"), std::string::npos);
  }
}

// Every loss, forward and gradient, with one, two and three threads.
TEST(Device, SameBitsForAnyNumberOfThreads) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const Extent extent{61, 47, 5};
  std::vector<float> y(extent.elements()), t(y.size()), w(y.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = 0.5f + 0.49f * std::sin(static_cast<float>(i));
    t[i] = 0.5f + 0.49f * std::cos(0.7f * static_cast<float>(i));
    w[i] = static_cast<float>(i % 7) / 4;
  }
  const MPS::ImageBatch sources(3, image(device, extent, Format::Float32, y)),
      labels(3, image(device, extent, Format::Float32, t)),
      weights(3, image(device, extent, Format::Float32, w)),
      ones = images(device, 3, {}, Format::Float32, 1);
  for (int type = 0; type < 10; ++type) {
    const auto reduction = type == static_cast<int>(Type::CosineDistance)
                               ? Reduction::Sum
                               : Reduction::SumByNonZeroWeights;
    const MPS::CNNLossDescriptor loss(static_cast<Type>(type), reduction);
    const MPS::NNForwardLoss forward(device, loss);
    const MPS::NNLossGradient gradient(device, loss);
    std::vector<float> first;
    for (const std::size_t threads : {1, 2, 3}) {
      ASSERT_EQ(OpenBNNSSetDefaultThreads(threads), 0);
      const auto losses = images(device, 3, {}), results = images(device, 3, extent);
      run(queue, [&](MTL::CommandBuffer& buffer) {
        forward.encodeBatch(buffer, sources, labels, weights, {}, losses);
        gradient.encodeBatch(buffer, ones, sources, labels, weights, {}, results);
      });
      std::vector<float> all = results[2]->toFloats();
      all.push_back(losses[2]->toFloats()[0]);
      if (threads == 1) first = all;
      EXPECT_EQ(std::memcmp(all.data(), first.data(), all.size() * sizeof(float)), 0)
          << "type " << type << ", " << threads << " threads";
    }
  }
  OpenBNNSSetDefaultThreads(0);
}

}  // namespace
}  // namespace mps_test

// What the tests of the MPS classes share: the device that they run on, images from numbers, one
// call and its end, the code of a refusal.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <optional>
#include <vector>

#include "openbnns/mps.hpp"

namespace mps_test {

using namespace bnns;
using Format = MPS::ImageFeatureChannelFormat;
using Code = MPS::ErrorCode;
using Type = MPS::CNNLossType;
using Reduction = MPS::CNNReductionType;

// The device under test: "cpu", or what OPENBNNS_TEST_DEVICE names.
inline const char* test_device_name() {
  const char* const name = std::getenv("OPENBNNS_TEST_DEVICE");
  return name == nullptr ? "cpu" : name;
}
inline std::shared_ptr<MTL::Device> test_device() {
  return MTL::Device::create(test_device_name());
}

// Holds the device while the program runs, so that it is made once. Skips all tests if there is no
// such device, with the reason; OPENBNNS_REQUIRE_OPENCL makes that a failure.
class DeviceUnderTest final : public testing::Environment {
 public:
  void SetUp() override {
    const std::string reason = MTL::Device::unavailableReason(test_device_name());
    if (reason.empty()) {
      device_ = test_device();
      return;
    }
    if (std::getenv("OPENBNNS_REQUIRE_OPENCL") != nullptr)
      FAIL() << test_device_name() << " is not available: " << reason;
    std::printf("no device: %s is not available: %s\n", test_device_name(), reason.c_str());
    GTEST_SKIP();
  }
  void TearDown() override { device_.reset(); }

 private:
  std::shared_ptr<MTL::Device> device_;
};
inline testing::Environment* const device_under_test =
    testing::AddGlobalTestEnvironment(new DeviceUnderTest);

struct Extent {
  std::size_t width = 1, height = 1, channels = 1;
  std::size_t elements() const { return width * height * channels; }
};

inline std::shared_ptr<MPS::Image> image(const std::shared_ptr<MTL::Device>& device, Extent e,
                                         Format format = Format::Float32,
                                         const std::vector<float>& values = {}) {
  auto made = MPS::Image::create(device, {format, e.width, e.height, e.channels, 1});
  if (!values.empty()) made->fromFloats(values);
  return made;
}

inline MPS::ImageBatch images(const std::shared_ptr<MTL::Device>& device, std::size_t count,
                              Extent e, Format format = Format::Float32, float value = 0) {
  MPS::ImageBatch batch;
  for (std::size_t i = 0; i < count; ++i)
    batch.push_back(image(device, e, format, std::vector<float>(e.elements(), value)));
  return batch;
}

// Records with `encode` on a new buffer and waits until it is done.
inline void run(const std::shared_ptr<MTL::CommandQueue>& queue,
                const std::function<void(MTL::CommandBuffer&)>& encode) {
  const auto buffer = queue->commandBuffer();
  encode(*buffer);
  buffer->commit();
  buffer->waitUntilCompleted();
  ASSERT_EQ(buffer->status(), MTL::CommandBufferStatus::Completed);
}

// The code of the refusal, or nothing if the call succeeds.
template <class Call>
std::optional<Code> code_of(const Call& call) {
  try {
    call();
  } catch (const MPS::Error& error) {
    EXPECT_NE(std::string(error.what()), "");
    return error.code();
  }
  return std::nullopt;
}

}  // namespace mps_test

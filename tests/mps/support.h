// What the tests of the MPS classes share: images from numbers, one call and its end, the code of a
// refusal.
#pragma once

#include <gtest/gtest.h>

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

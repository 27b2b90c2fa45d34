// What the kernels of the CPU device share: images in host memory, rows of pixels as floats, grains
// on the threads of the core library.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/private.h"
#include "mps/image_storage.h"

namespace bnns::impl::mps {

class HostMemory final : public Memory {
 public:
  explicit HostMemory(std::byte* bytes) : bytes_(bytes) {}
  ~HostMemory() override;
  std::byte* map() override { return bytes_; }
  void unmap(bool) override {}

 private:
  std::byte* bytes_;
};

// The pixels of an image, by index, rows one after the other. Channels are taken from a range.
class Pixels {
 public:
  explicit Pixels(const ImageStorage& image)
      : format_(&image.format()), bytes_(image.memory().map()), channels_(image.channels()) {}

  void load(size_t pixel, size_t count, size_t channel, size_t n, float* to) const {
    for_each(pixel, count, channel, n,
             [&](std::byte* at, size_t first, size_t m) { format_->load(at, m, to + first); });
  }
  void store(size_t pixel, size_t count, size_t channel, size_t n, const float* from) const {
    for_each(pixel, count, channel, n,
             [&](std::byte* at, size_t first, size_t m) { format_->store(from + first, m, at); });
  }

  // The elements where they are, if they are contiguous floats; otherwise nullptr.
  float* in_place(size_t pixel, size_t count, size_t channel, size_t n) const {
    const bool contiguous = n == channels_ || count == 1;
    if (!contiguous || format_->format != ImageFeatureChannelFormat::Float32) return nullptr;
    return reinterpret_cast<float*>(bytes_) + pixel * channels_ + channel;
  }
  // The elements where they are, or converted to `buffer`.
  const float* read(size_t pixel, size_t count, size_t channel, size_t n, float* buffer) const {
    if (const float* at = in_place(pixel, count, channel, n)) return at;
    load(pixel, count, channel, n, buffer);
    return buffer;
  }

 private:
  // One piece if whole pixels are taken, otherwise one per pixel.
  template <class Body>
  void for_each(size_t pixel, size_t count, size_t channel, size_t n, const Body& body) const {
    std::byte* at = bytes_ + (pixel * channels_ + channel) * format_->bytes;
    if (n == channels_) return body(at, 0, count * n);
    for (size_t i = 0; i < count; ++i) body(at + i * channels_ * format_->bytes, i * n, n);
  }

  const FormatInfo* format_;
  std::byte* bytes_;
  size_t channels_;
};

// Calls body(grain) for every grain; `nanoseconds` is the time of all of them on one core. body
// must not throw.
template <class Body>
void run_grains(size_t grains, double nanoseconds, const Body& body) {
  OpenBNNSPrivateRun(
      grains, nanoseconds,
      [](void* context, size_t grain, size_t) { (*static_cast<const Body*>(context))(grain); },
      const_cast<Body*>(&body));
}

// The number of weights that are not 0, of the first `channels` channels.
size_t count_nonzero(const ImageStorage& weights, size_t channels);

// Divisors of a batch: one per image, the same for all images of a batch that is combined.
std::vector<double> divisors_of(MPS::CNNReductionType reduction, bool across_batch,
                                std::span<const LossItem> items, double mean_divisor);
// Writes the forward values: totals[n] / divisors[n], or the total of the batch to image 0 and 0 to
// the others. A divisor of 0 makes the value 0.
void store_reduced(std::span<const LossItem> items, bool across_batch,
                   std::span<const double> totals, std::span<const double> divisors);

void run_cpu(const LossWork& work);
void run_cpu(const YoloWork& work);
void run_cpu(const OnesWork& work);

}  // namespace bnns::impl::mps

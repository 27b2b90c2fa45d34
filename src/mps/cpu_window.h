// Blocks of pixels, as a window of an image shows them, on the CPU device.
#pragma once

#include <memory>

#include "mps/cpu.h"

namespace bnns::impl::mps {

// Most blocks have at most so many elements; only a soft-max over more channels has more.
constexpr size_t kBlock = 1024;

// Consecutive pixels of a row and a range of their channels.
struct Chunk {
  size_t x, y, pixels, channel, channels;
  size_t elements() const { return pixels * channels; }
};

// How a region is divided into blocks: whole pixels, or, if they have more than kBlock channels and
// need not stay together, parts of one pixel. In the order of the elements.
class Blocks {
 public:
  Blocks(size_t width, size_t height, size_t channels, bool keeps_pixels)
      : width_(width),
        channels_(channels),
        part_(keeps_pixels ? channels : std::min(channels, kBlock)),
        step_(std::max<size_t>(1, kBlock / part_)),
        parts_((channels + part_ - 1) / part_),
        per_row_((width + step_ - 1) / step_ * parts_),
        count_(per_row_ * height) {}

  size_t count() const { return count_; }
  size_t elements() const { return part_ * step_; }  // of the largest
  Chunk at(size_t block) const {
    const size_t place = block % per_row_, x = place / parts_ * step_, c = place % parts_ * part_;
    return {.x = x,
            .y = block / per_row_,
            .pixels = std::min(step_, width_ - x),
            .channel = c,
            .channels = std::min(part_, channels_ - c)};
  }

 private:
  size_t width_, channels_, part_, step_, parts_, per_row_, count_;
};

// Rows of floats for blocks that cannot be used where they are.
class BlockBuffers {
 public:
  explicit BlockBuffers(size_t elements) : elements_(elements) {}

  // May throw std::bad_alloc if the blocks are larger than kBlock.
  float* row(size_t i) {
    if (elements_ <= kBlock) return small_[i];
    if (large_ == nullptr) large_ = std::make_unique<float[]>(elements_ * kRows);
    return large_.get() + i * elements_;
  }

 private:
  static constexpr size_t kRows = 5;
  size_t elements_;
  std::unique_ptr<float[]> large_;
  alignas(64) float small_[kRows][kBlock];
};

inline int64_t saturating_add(int64_t a, size_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// Reads pixels of an image as a window shows them. A flat image is one row of all its pixels.
class WindowReader {
 public:
  WindowReader(const ImageStorage& image, const ReadWindow& window, bool flat)
      : pixels_(image),
        window_(window),
        width_(static_cast<int64_t>(flat ? image.width() * image.height() : image.width())),
        height_(static_cast<int64_t>(flat ? 1 : image.height())) {}

  bool has(size_t x, size_t y) const {
    return window_.clamp || (inside(saturating_add(window_.x, x), width_) &&
                             inside(saturating_add(window_.y, y), height_));
  }
  // True if all pixels are inside of the image.
  bool complete(const Chunk& c) const {
    const int64_t first = saturating_add(window_.x, c.x);
    return inside(first, width_) && inside(saturating_add(first, c.pixels - 1), width_) &&
           inside(saturating_add(window_.y, c.y), height_);
  }

  // The elements where they are, or in row i of `buffers`. Pixels that do not exist are 0.
  const float* read(const Chunk& c, BlockBuffers& buffers, size_t i) const {
    const int64_t first = saturating_add(window_.x, c.x), row = saturating_add(window_.y, c.y);
    const size_t channel = window_.channel + c.channel;
    if (complete(c)) {
      const size_t pixel = index(first, row);
      if (const float* at = pixels_.in_place(pixel, c.pixels, channel, c.channels)) return at;
      float* const to = buffers.row(i);
      pixels_.load(pixel, c.pixels, channel, c.channels, to);
      return to;
    }
    float* const to = buffers.row(i);
    std::fill_n(to, c.elements(), 0.0f);
    for (size_t p = 0; p < c.pixels; ++p) {
      if (!has(c.x + p, c.y)) continue;
      const int64_t column = std::clamp<int64_t>(saturating_add(first, p), 0, width_ - 1);
      pixels_.load(index(column, std::clamp<int64_t>(row, 0, height_ - 1)), 1, channel, c.channels,
                   to + p * c.channels);
    }
    return to;
  }

 private:
  static bool inside(int64_t i, int64_t n) { return i >= 0 && i < n; }
  size_t index(int64_t x, int64_t y) const { return static_cast<size_t>(y * width_ + x); }

  Pixels pixels_;
  ReadWindow window_;
  int64_t width_, height_;
};

}  // namespace bnns::impl::mps

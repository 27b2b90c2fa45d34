// The planes of a batch of images. They are used in place if their rows are contiguous Float32,
// otherwise they are read into a buffer and written from it.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/batch.h"
#include "ops/activation/activation.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

struct Plane {
  float* data;
  size_t row;  // values from row to row
};

class Planes {
 public:
  Planes() = default;
  Planes(const Batch& images, size_t width, size_t height, size_t channels)
      : images_(images), width_(width), height_(height), channels_(channels) {
    const View& sample = *images.sample;
    // The tensor of a gradient may have another shape with the same number of elements.
    const bool image = sample.rank == 3 && sample.extent[0] == width &&
                       sample.extent[1] == height && sample.extent[2] == channels;
    row_ = image ? sample.stride[1] : 0;
    channel_ = image ? sample.stride[2] : 0;
    direct_ = image && sample.is_float() && (sample.stride[0] == 1 || width == 1);
    if (!direct_) view_ = whole(images);
  }

  bool direct() const { return direct_; }
  bool packed() const { return direct_ && row_ == width_; }
  size_t row() const { return row_; }
  size_t channel() const { return channel_; }
  size_t size() const { return width_ * height_; }

  // Requires direct().
  Plane at(size_t plane) const {
    return {images_.at<float>(plane / channels_) + plane % channels_ * channel_, row_};
  }

  // The plane in place, or a copy in the buffer.
  Plane read(const ConvertKernels& convert, size_t plane, float* buffer) const {
    if (direct_) return at(plane);
    read_values(convert, view_, plane * size(), size(), buffer);
    return {buffer, width_};
  }

  Plane place(size_t plane, float* buffer) const {
    return direct_ ? at(plane) : Plane{buffer, width_};
  }

  // Writes or adds a packed plane. Accumulation may overwrite the values of `packed`.
  void write(const ElementRun& run, size_t plane, float* packed, bool accumulate) const {
    if (direct_) {
      const Plane to = at(plane);
      for (size_t y = 0; y < height_; ++y) {
        const float* from = packed + y * width_;
        if (accumulate) {
          run.alpha->add(from, to.data + y * to.row, width_);
        } else {
          std::copy_n(from, width_, to.data + y * to.row);
        }
      }
      return;
    }
    float old[256];
    for (size_t i = 0; accumulate && i < size(); i += std::size(old)) {
      const size_t n = std::min(std::size(old), size() - i);
      read_values(*run.convert, view_, plane * size() + i, n, old);
      run.alpha->add(old, packed + i, n);
    }
    write_values(*run.convert, view_, plane * size(), size(), packed);
  }

 private:
  Batch images_;
  size_t width_ = 0, height_ = 0, channels_ = 1;
  size_t channel_ = 0, row_ = 0;
  bool direct_ = false;
  View view_;  // all images of the batch, unless they are direct
};

}  // namespace bnns::impl

// How a window moves over an image: its size, its steps, and the padding around the image. One
// number stands for both directions: `.stride = 2` is `.stride = {2, 2}`.
#ifndef OPENBNNS_LAYERS_WINDOW_HPP
#define OPENBNNS_LAYERS_WINDOW_HPP

#include <cstddef>

#include "../required.hpp"

namespace bnns {

struct WindowSize {
  // Does not compile where it is used: the window of a layer must be given.
  template <bool given = false>
  constexpr WindowSize() : WindowSize(0) {
    field::kernel_size::require<given>();
  }
  constexpr WindowSize(std::size_t both) : width(both), height(both) {}
  constexpr WindowSize(std::size_t w, std::size_t h) : width(w), height(h) {}

  std::size_t width;
  std::size_t height;
};

struct WindowStride {
  constexpr WindowStride(std::size_t both) : x(both), y(both) {}
  constexpr WindowStride(std::size_t x_step, std::size_t y_step) : x(x_step), y(y_step) {}

  std::size_t x;
  std::size_t y;
};

class ConvolutionPadding {
 public:
  constexpr ConvolutionPadding() = default;
  // The same on all four sides.
  constexpr ConvolutionPadding(std::size_t all) : x_(all), y_(all) {}

  static constexpr ConvolutionPadding symmetric(std::size_t x, std::size_t y) {
    ConvolutionPadding padding;
    padding.x_ = x;
    padding.y_ = y;
    return padding;
  }
  static constexpr ConvolutionPadding asymmetric(std::size_t left, std::size_t right,
                                                 std::size_t up, std::size_t down) {
    ConvolutionPadding padding;
    padding.sides_[0] = left;
    padding.sides_[1] = right;
    padding.sides_[2] = up;
    padding.sides_[3] = down;
    return padding;
  }
  static constexpr ConvolutionPadding zero() { return {}; }

  // Into the fields x_padding, y_padding and pad of a parameter structure.
  template <typename Parameters>
  void write_to(Parameters& parameters) const {
    parameters.x_padding = x_;
    parameters.y_padding = y_;
    for (std::size_t i = 0; i < 4; ++i) parameters.pad[i] = sides_[i];
  }

 private:
  std::size_t x_ = 0, y_ = 0;
  std::size_t sides_[4] = {};
};

}  // namespace bnns

#endif

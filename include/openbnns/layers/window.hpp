// How a window moves over an image: its size, its steps, and the padding around the image.
#ifndef OPENBNNS_LAYERS_WINDOW_HPP
#define OPENBNNS_LAYERS_WINDOW_HPP

#include <cstddef>

namespace bnns {

struct WindowSize {
  std::size_t width;
  std::size_t height;
};

struct WindowStride {
  std::size_t x = 1;
  std::size_t y = 1;
};

class ConvolutionPadding {
 public:
  static ConvolutionPadding symmetric(std::size_t x, std::size_t y) {
    ConvolutionPadding padding;
    padding.x_ = x;
    padding.y_ = y;
    return padding;
  }
  static ConvolutionPadding asymmetric(std::size_t left, std::size_t right, std::size_t up,
                                       std::size_t down) {
    ConvolutionPadding padding;
    padding.sides_[0] = left;
    padding.sides_[1] = right;
    padding.sides_[2] = up;
    padding.sides_[3] = down;
    return padding;
  }
  static ConvolutionPadding zero() { return {}; }

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

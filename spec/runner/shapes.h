// Helpers that make shapes, and their text in the name of a case.
#ifndef OPENBNNS_SPEC_SHAPES_H
#define OPENBNNS_SPEC_SHAPES_H

#include <string>

#include "runner/layout.h"

namespace spec {

inline Shape vector_of(size_t n) {
  return {BNNSDataLayoutVector, {n}};
}
inline Shape image(size_t width, size_t height, size_t channels) {
  return {BNNSDataLayoutImageCHW, {width, height, channels}};
}

// "v37", "chw5x4x3", "2dfirstmajor3x4"
inline std::string tag(const Shape& shape) {
  std::string text = layout_name(shape.layout);
  if (shape.layout == BNNSDataLayoutVector) text = "v";
  if (shape.layout == BNNSDataLayoutImageCHW) text = "chw";
  const char* separator = "";
  for (size_t n : shape.size) {
    text += separator + std::to_string(n);
    separator = "x";
  }
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

inline std::string tag(const Shape& shape, size_t batch) {
  return tag(shape) + "_b" + std::to_string(batch);
}

}  // namespace spec
#endif

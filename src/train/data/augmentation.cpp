#include "train/data/augmentation.h"

#include <algorithm>
#include <cstddef>

namespace bnns::train::impl {
namespace {

// In [-most, most].
std::ptrdiff_t draw_shift(std::size_t most, const CounterRandom& random, std::uint64_t i) {
  return static_cast<std::ptrdiff_t>(random.below(2 * most + 1, i)) -
         static_cast<std::ptrdiff_t>(most);
}

// Moves elements by shift places, to the back if it is positive, and sets the others to 0.
void move_elements(std::span<float> values, std::ptrdiff_t shift) {
  const std::size_t distance = std::min(static_cast<std::size_t>(std::abs(shift)), values.size());
  if (shift > 0) {
    std::move_backward(values.begin(), values.end() - static_cast<std::ptrdiff_t>(distance),
                       values.end());
    std::ranges::fill(values.first(distance), 0.0f);
  } else if (shift < 0) {
    std::move(values.begin() + static_cast<std::ptrdiff_t>(distance), values.end(), values.begin());
    std::ranges::fill(values.last(distance), 0.0f);
  }
}

}  // namespace

void augment(std::span<float> values, const SampleShape& shape, const Augmentation& augmentation,
             const CounterRandom& random) {
  const std::ptrdiff_t x = draw_shift(augmentation.max_shift, random, 0);
  const std::ptrdiff_t y = draw_shift(augmentation.max_shift, random, 1);
  const bool mirrored = augmentation.flip && random.below(2, 2) == 1;
  const std::size_t plane = shape.width * shape.height;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    const std::span<float> channel = values.subspan(c * plane, plane);
    for (std::size_t row = 0; row < shape.height; ++row) {
      const std::span<float> pixels = channel.subspan(row * shape.width, shape.width);
      if (mirrored) std::ranges::reverse(pixels);
      move_elements(pixels, x);
    }
    move_elements(channel, y * static_cast<std::ptrdiff_t>(shape.width));
  }
}

}  // namespace bnns::train::impl

#include "train/data/resample.h"

#include <algorithm>
#include <cmath>

namespace bnns::train::impl {
namespace {

constexpr float kWhite = 65535.0f;

PixelWeights area_weights(std::size_t from, std::size_t to, std::size_t i) {
  const double size = static_cast<double>(from) / static_cast<double>(to);
  const double begin = static_cast<double>(i) * size, end = static_cast<double>(i + 1) * size;
  PixelWeights result{.first = static_cast<std::size_t>(begin)};
  for (std::size_t j = result.first; j < from; ++j) {
    const double low = std::max(begin, static_cast<double>(j));
    const double high = std::min(end, static_cast<double>(j + 1));
    if (high <= low) break;
    result.weights.push_back(static_cast<float>((high - low) / size));
  }
  return result;
}

PixelWeights linear_weights(std::size_t from, std::size_t to, std::size_t i) {
  const double size = static_cast<double>(from) / static_cast<double>(to);
  const double place =
      std::clamp((static_cast<double>(i) + 0.5) * size - 0.5, 0.0, static_cast<double>(from - 1));
  const double first = std::floor(place), share = place - first;
  PixelWeights result{.first = static_cast<std::size_t>(first)};
  result.weights.push_back(static_cast<float>(1 - share));
  if (share > 0) result.weights.push_back(static_cast<float>(share));
  return result;
}

}  // namespace

std::vector<PixelWeights> axis_weights(std::size_t from, std::size_t to) {
  std::vector<PixelWeights> result;
  result.reserve(to);
  for (std::size_t i = 0; i < to; ++i) {
    result.push_back(from >= to ? area_weights(from, to, i) : linear_weights(from, to, i));
  }
  return result;
}

void Resampler::begin(SampleShape from) {
  from_ = from;
  columns_ = axis_weights(from.width, shape_.width);
  rows_ = axis_weights(from.height, shape_.height);
  converted_.resize(from.width * shape_.channels);
  narrow_.resize(shape_.width * shape_.channels);
  std::ranges::fill(values_, 0.0f);
}

void Resampler::convert(std::span<const std::uint16_t> values) {
  for (std::size_t x = 0; x < from_.width; ++x) {
    const std::uint16_t* pixel = &values[x * from_.channels];
    for (std::size_t c = 0; c < shape_.channels; ++c) {
      float value = static_cast<float>(pixel[from_.channels == 1 ? 0 : c]) / kWhite;
      if (shape_.channels == 1 && from_.channels == 3) {
        value = (0.299f * static_cast<float>(pixel[0]) + 0.587f * static_cast<float>(pixel[1]) +
                 0.114f * static_cast<float>(pixel[2])) /
                kWhite;
      }
      converted_[c * from_.width + x] = value;
    }
  }
}

void Resampler::row(std::span<const std::uint16_t> values) {
  convert(values);
  for (std::size_t c = 0; c < shape_.channels; ++c) {
    const float* old = &converted_[c * from_.width];
    for (std::size_t x = 0; x < shape_.width; ++x) {
      const PixelWeights& column = columns_[x];
      float sum = 0;
      for (std::size_t k = 0; k < column.weights.size(); ++k) {
        sum += column.weights[k] * old[column.first + k];
      }
      narrow_[c * shape_.width + x] = sum;
    }
  }
  // New rows use old ones in ascending order.
  while (first_open_ < rows_.size() &&
         rows_[first_open_].first + rows_[first_open_].weights.size() <= next_row_) {
    ++first_open_;
  }
  for (std::size_t y = first_open_; y < rows_.size() && rows_[y].first <= next_row_; ++y) {
    const std::size_t k = next_row_ - rows_[y].first;
    if (k >= rows_[y].weights.size()) continue;
    for (std::size_t c = 0; c < shape_.channels; ++c) {
      float* to = &values_[(c * shape_.height + y) * shape_.width];
      for (std::size_t x = 0; x < shape_.width; ++x) {
        to[x] += rows_[y].weights[k] * narrow_[c * shape_.width + x];
      }
    }
  }
  ++next_row_;
  if (next_row_ == from_.height) {
    // Rounding of the weights must not lead out of the range.
    for (float& value : values_) value = std::clamp(value, 0.0f, 1.0f);
  }
}

}  // namespace bnns::train::impl

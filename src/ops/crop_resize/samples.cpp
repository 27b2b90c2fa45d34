#include "ops/crop_resize/samples.h"

#include <algorithm>
#include <cmath>

namespace bnns::impl {
namespace {

constexpr CropSample kNone = {{CropSample::kOutside, CropSample::kOutside}, {1, 0}};

double offset_in_box(BNNSLinearSamplingMode mode, double extent, double n, double i) {
  const double grid = extent + 1;
  switch (mode) {
    case BNNSLinearSamplingDefault:
      return n == 1 ? 0 : i * (grid - grid / n) / (n - 1);
    case BNNSLinearSamplingAlignCorners:
      return n == 1 ? extent / 2 : i * extent / (n - 1);
    case BNNSLinearSamplingUnalignCorners:
      return (i + 0.5) * grid / n - 0.5;
    case BNNSLinearSamplingStrictAlignCorners:
      return n == 1 ? 0 : i * extent / (n - 1);
    default:
      return (i + 0.5) * std::max(1.0, extent) / n;
  }
}

CropSample sample_at(double position, size_t cells) {
  // Nothing is converted to an integer before it is known to be small.
  if (!(position > -1 && position < static_cast<double>(cells))) return kNone;
  const double floor = std::floor(position);
  const auto cell = static_cast<ptrdiff_t>(floor);
  const double weight = position - floor;
  const auto second = static_cast<float>(weight);
  const auto inside = [&](ptrdiff_t c) {
    return c >= 0 && c < static_cast<ptrdiff_t>(cells) ? c : CropSample::kOutside;
  };
  return {{inside(cell), second == 0 ? CropSample::kOutside : inside(cell + 1)},
          {static_cast<float>(1 - weight), second}};
}

}  // namespace

void sample_box(BNNSLinearSamplingMode mode, const CropBox& box, size_t cells, size_t n,
                CropSample* samples) {
  if (!std::isfinite(box.start) || !std::isfinite(box.end)) {
    std::fill_n(samples, n, kNone);
    return;
  }
  const double extent = box.end - box.start;
  for (size_t i = 0; i < n; ++i) {
    const double p = offset_in_box(mode, extent, static_cast<double>(n), static_cast<double>(i));
    samples[i] = sample_at(box.start + std::min(extent, std::max(0.0, p)), cells);
  }
}

}  // namespace bnns::impl

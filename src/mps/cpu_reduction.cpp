// Divisors and totals of the reductions on the CPU device. Totals are added in the order of the
// batch, in double.
#include "mps/cpu.h"

namespace bnns::impl::mps {
namespace {

// Without a weights image every element has the scalar weight.
double nonzero_weights(const LossItem& item) {
  if (item.weights != nullptr)
    return static_cast<double>(count_nonzero(*item.weights, item.source->channels()));
  return item.values.weight != 0 ? static_cast<double>(item.source->elements()) : 0;
}

}  // namespace

size_t count_nonzero(const ImageStorage& weights, size_t channels) {
  const Pixels pixels(weights);
  const auto count_of = OpenBNNSPrivateImageKernels()->count_nonzero;
  constexpr size_t kBlock = 512;
  float buffer[kBlock];
  size_t count = 0;
  const size_t all = weights.width() * weights.height();
  const size_t step = std::max<size_t>(1, kBlock / channels);
  for (size_t p = 0; p < all; p += step) {
    const size_t taken = std::min(step, all - p);
    for (size_t c = 0; c < channels; c += kBlock) {
      const size_t n = std::min(kBlock, channels - c);
      count += count_of(pixels.read(p, taken, c, n, buffer), taken * n);
    }
  }
  return count;
}

std::vector<double> divisors_of(MPS::CNNReductionType reduction, bool across_batch,
                                std::span<const LossItem> items, double mean_divisor) {
  std::vector<double> divisors(items.size(), 1);
  if (reduction == MPS::CNNReductionType::Mean) {
    divisors.assign(items.size(),
                    across_batch ? mean_divisor * static_cast<double>(items.size()) : mean_divisor);
  } else if (reduction == MPS::CNNReductionType::SumByNonZeroWeights) {
    double elements = 0;
    for (const LossItem& item : items) elements += static_cast<double>(item.source->elements());
    run_grains(items.size(), elements, [&](size_t n) { divisors[n] = nonzero_weights(items[n]); });
    double all = 0;
    for (const double count : divisors) all += count;
    if (across_batch) divisors.assign(items.size(), all);
  }
  return divisors;
}

void store_reduced(std::span<const LossItem> items, bool across_batch,
                   std::span<const double> totals, std::span<const double> divisors) {
  double all = 0;
  for (const double total : totals) all += total;
  for (size_t n = 0; n < items.size(); ++n) {
    double value = across_batch ? (n == 0 ? all : 0) : totals[n];
    value = divisors[n] == 0 || (across_batch && n > 0) ? 0 : value / divisors[n];
    const auto stored = static_cast<float>(value);
    Pixels(*items[n].loss).store(0, 1, 0, 1, &stored);
  }
}

}  // namespace bnns::impl::mps

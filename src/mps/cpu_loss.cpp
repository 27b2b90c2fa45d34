// A loss on the CPU device.
//   forward    L = w omega l(y, t), summed by image or by batch and divided
//   gradient   G w omega l'(y, t) / D in a window of the destination
// Elements are taken in blocks of whole pixels, at most kBlock elements, or of parts of one pixel
// that has more channels. Blocks are the grains; each has its own sum in double, and the sums are
// added in the order of the blocks, so that results do not depend on the number of threads.
#include <cmath>

#include "mps/cpu.h"
#include "mps/loss_elements.h"

namespace bnns::impl::mps {
namespace {

constexpr size_t kBlock = 1024;
constexpr double kNanosecondsPerElement = 15;

// log(softmax) of the channels of one pixel is y - max - log(sum of exp(y - max)).
struct Normalizer {
  double max = -INFINITY, sum = 0;

  void see(const double* y, size_t n) {
    for (size_t i = 0; i < n; ++i) max = y[i] > max ? y[i] : max;
  }
  void add(const double* y, size_t n) {
    for (size_t i = 0; i < n; ++i) sum += std::exp(y[i] - max);
  }
  void apply(double* y, size_t n) const {
    const double log_sum = std::log(sum);
    for (size_t i = 0; i < n; ++i) y[i] = (y[i] - max) - log_sum;
  }
};

// Consecutive pixels and a range of their channels.
struct Chunk {
  size_t pixel, pixels, channel, channels;
  size_t elements() const { return pixels * channels; }
};

size_t pixels_per_block(size_t channels) {
  return std::max<size_t>(1, kBlock / channels);
}

// Calls load(chunk, y) and use(chunk, y) over `pixels` pixels, at most pixels_per_block. With
// soft-max, y is log(softmax) when it is used.
template <class Load, class Use>
void for_each_chunk(bool softmax, size_t pixels, size_t channels, const Load& load,
                    const Use& use) {
  double y[kBlock];
  if (channels <= kBlock) {
    const Chunk all{0, pixels, 0, channels};
    load(all, y);
    for (size_t p = 0; softmax && p < pixels; ++p) {
      Normalizer normalizer;
      normalizer.see(y + p * channels, channels);
      normalizer.add(y + p * channels, channels);
      normalizer.apply(y + p * channels, channels);
    }
    return use(all, y);
  }
  const auto for_each_part = [&](const auto& body) {
    for (size_t c = 0; c < channels; c += kBlock) {
      const Chunk part{0, 1, c, std::min(kBlock, channels - c)};
      load(part, y);
      body(part);
    }
  };
  Normalizer normalizer;
  if (softmax) {
    for_each_part([&](const Chunk& part) { normalizer.see(y, part.channels); });
    for_each_part([&](const Chunk& part) { normalizer.add(y, part.channels); });
  }
  for_each_part([&](const Chunk& part) {
    if (softmax) normalizer.apply(y, part.channels);
    use(part, y);
  });
}

bool is_softmax(const LossFormula& formula) {
  return formula.type == MPS::CNNLossType::SoftMaxCrossEntropy;
}

// ---- Forward ----

// The losses of the pixels of one block: stored without a reduction, added up with one.
double run_block(const LossWork& work, const LossItem& item, size_t first, size_t pixels) {
  const Pixels source(*item.source), labels(*item.labels);
  const ElementConstants constants = constants_of(work.formula, item.values);
  const ElementTable& table = element_table(work.formula.type);
  double sum = 0;
  for_each_chunk(
      is_softmax(work.formula), pixels, item.source->channels(),
      [&](const Chunk& c, double* y) {
        source.load(first + c.pixel, c.pixels, c.channel, c.channels, y);
      },
      [&](const Chunk& c, const double* y) {
        double t[kBlock], omega[kBlock], losses[kBlock];
        labels.load(first, c.pixels, c.channel, c.channels, t);
        if (item.weights != nullptr)
          Pixels(*item.weights).load(first, c.pixels, c.channel, c.channels, omega);
        table.loss(y, t, item.weights == nullptr ? nullptr : omega, c.elements(), constants,
                   losses);
        if (work.formula.reduced()) {
          for (size_t i = 0; i < c.elements(); ++i) sum += losses[i];
          return;
        }
        for (size_t i = 0; i < c.elements(); ++i) losses[i] *= item.values.weight;
        // The destination may be wider than the source, so that rows are stored one by one.
        const size_t width = item.source->width();
        const Pixels destination(*item.loss);
        for (size_t p = 0; p < c.pixels; ++p) {
          const size_t x = (first + p) % width, y_row = (first + p) / width;
          destination.store(y_row * item.loss->width() + x, 1, c.channel, c.channels,
                            losses + p * c.channels);
        }
      });
  return sum;
}

void run_forward(const LossWork& work, std::span<const double> divisors) {
  const ImageStorage& source = *work.items[0].source;
  const size_t pixels = source.width() * source.height();
  const size_t step = pixels_per_block(source.channels());
  const size_t blocks = (pixels + step - 1) / step;
  std::vector<double> sums(work.items.size() * blocks);
  run_grains(sums.size(),
             kNanosecondsPerElement * static_cast<double>(source.elements() * work.items.size()),
             [&](size_t grain) {
               const size_t first = grain % blocks * step;
               sums[grain] = run_block(work, work.items[grain / blocks], first,
                                       std::min(step, pixels - first));
             });
  if (!work.formula.reduced()) return;
  const bool cosine = work.formula.type == MPS::CNNLossType::CosineDistance;
  std::vector<double> totals;
  for (size_t n = 0; n < work.items.size(); ++n) {
    double total = cosine ? 1 : 0;
    for (size_t b = 0; b < blocks; ++b) total += sums[n * blocks + b];
    totals.push_back(total * work.items[n].values.weight);
  }
  store_reduced(work.items, work.formula.across_batch, totals, divisors);
}

// ---- Gradient ----

int64_t saturating_add(int64_t a, size_t b) {
  int64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

// Reads pixels of an image as a window shows them.
class WindowReader {
 public:
  WindowReader(const ImageStorage& image, const ReadWindow& window)
      : pixels_(image),
        window_(window),
        width_(static_cast<int64_t>(image.width())),
        height_(static_cast<int64_t>(image.height())) {}

  bool has(size_t x, size_t y) const {
    return window_.clamp || (inside(saturating_add(window_.x, x), width_) &&
                             inside(saturating_add(window_.y, y), height_));
  }

  // Pixels from (x, y) on along the row; those that do not exist are 0.
  void load(size_t x, size_t y, const Chunk& c, double* to) const {
    const int64_t first = saturating_add(window_.x, x), row = saturating_add(window_.y, y);
    const size_t channel = window_.channel + c.channel;
    const int64_t last = saturating_add(first, c.pixels - 1);
    if (inside(first, width_) && inside(last, width_) && inside(row, height_))
      return pixels_.load(index(first, row), c.pixels, channel, c.channels, to);
    std::fill_n(to, c.elements(), 0.0);
    for (size_t p = 0; p < c.pixels; ++p) {
      if (!has(x + p, y)) continue;
      const int64_t column = std::clamp<int64_t>(saturating_add(first, p), 0, width_ - 1);
      pixels_.load(index(column, std::clamp<int64_t>(row, 0, height_ - 1)), 1, channel, c.channels,
                   to + p * c.channels);
    }
  }

 private:
  static bool inside(int64_t i, int64_t n) { return i >= 0 && i < n; }
  size_t index(int64_t x, int64_t y) const { return static_cast<size_t>(y * width_ + x); }

  Pixels pixels_;
  ReadWindow window_;
  int64_t width_, height_;
};

// One image of a gradient: w / D, or with a reduction G w / D, is the same for all its elements.
struct GradientRun {
  const LossWork& work;
  const LossItem& item;
  double scale;
  bool by_element;
  bool vanishes;  // the divisor is 0, and so are all results

  void run(size_t x, size_t y, size_t pixels) const;
  void finish(size_t x, size_t y, const Chunk& c, const double* omega, double* results) const;
};

// Multiplies the derivatives by their factors. A weight of 0, and a pixel that does not exist, give
// exactly 0 even where a factor is not finite.
void GradientRun::finish(size_t x, size_t y, const Chunk& c, const double* omega,
                         double* results) const {
  const GradientWindow& w = work.window;
  const WindowReader source(*item.source, w.source);
  double upstream[kBlock];
  if (by_element) WindowReader(*item.upstream, w.upstream).load(x, y, c, upstream);
  for (size_t i = 0; i < c.elements(); ++i) {
    const double factor = by_element ? upstream[i] * scale : scale;
    results[i] = omega != nullptr && omega[i] == 0 ? 0 : results[i] * factor;
  }
  for (size_t p = 0; p < c.pixels; ++p) {
    const bool exists = source.has(x + p, y) &&
                        (!by_element || WindowReader(*item.upstream, w.upstream).has(x + p, y));
    if (!exists) std::fill_n(results + p * c.channels, c.channels, 0.0);
  }
}

void GradientRun::run(size_t x, size_t y, size_t pixels) const {
  const GradientWindow& w = work.window;
  const WindowReader source(*item.source, w.source), labels(*item.labels, w.source);
  const ElementConstants constants = constants_of(work.formula, item.values);
  const ElementTable& table = element_table(work.formula.type);
  const auto derivative = work.label_gradients ? table.by_t : table.by_y;
  const size_t at = (w.y + y) * item.gradient->width() + w.x + x;
  for_each_chunk(
      is_softmax(work.formula), pixels, w.channels,
      [&](const Chunk& c, double* values) { source.load(x, y, c, values); },
      [&](const Chunk& c, const double* values) {
        double t[kBlock], omega[kBlock], results[kBlock];
        labels.load(x, y, c, t);
        const bool weighted = item.weights != nullptr;
        if (weighted) WindowReader(*item.weights, w.source).load(x, y, c, omega);
        derivative(values, t, weighted ? omega : nullptr, c.elements(), constants, results);
        finish(x, y, c, weighted ? omega : nullptr, results);
        if (vanishes) std::fill_n(results, c.elements(), 0.0);
        Pixels(*item.gradient)
            .store(at, c.pixels, w.destination_channel + c.channel, c.channels, results);
      });
}

// The incoming gradient of an image, if it is a single value.
double upstream_of(const LossWork& work, size_t n) {
  const LossItem& item = work.items[work.formula.across_batch ? 0 : n];
  if (item.upstream == nullptr || !work.formula.reduced()) return 1;
  double g;
  Pixels(*item.upstream).load(0, 1, 0, 1, &g);
  return g;
}

void run_gradient(const LossWork& work, std::span<const double> divisors) {
  const GradientWindow& w = work.window;
  if (w.width == 0 || w.height == 0 || w.channels == 0) return;
  std::vector<GradientRun> runs;
  for (size_t n = 0; n < work.items.size(); ++n) {
    const LossItem& item = work.items[n];
    const double divisor = work.divides ? divisors[n] : 1;
    const double factor = upstream_of(work, n) * item.values.weight;
    runs.push_back({.work = work,
                    .item = item,
                    .scale = factor / divisor,
                    .by_element = item.upstream != nullptr && !work.formula.reduced(),
                    .vanishes = divisor == 0});
  }
  const size_t step = pixels_per_block(w.channels);
  run_grains(
      runs.size() * w.height,
      kNanosecondsPerElement * static_cast<double>(runs.size() * w.height * w.width * w.channels),
      [&](size_t grain) {
        const size_t y = grain % w.height;
        for (size_t x = 0; x < w.width; x += step)
          runs[grain / w.height].run(x, y, std::min(step, w.width - x));
      });
}

}  // namespace

void run_cpu(const LossWork& work) {
  const ImageStorage& source = *work.items[0].source;
  const size_t pixels = source.width() * source.height();
  const auto mean =
      static_cast<double>(is_softmax(work.formula) ? pixels : pixels * source.channels());
  const std::vector<double> divisors =
      divisors_of(work.formula.reduction, work.formula.across_batch, work.items, mean);
  if (work.items[0].loss != nullptr) run_forward(work, divisors);
  if (work.items[0].gradient != nullptr) run_gradient(work, divisors);
}

}  // namespace bnns::impl::mps

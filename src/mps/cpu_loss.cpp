// A loss on the CPU device.
//   forward    L = w omega l(y, t), summed by image or by batch and divided
//   gradient   G w omega l'(y, t) / D in a window of the destination
// The kernels of the core library compute blocks of elements. Each block has its own sum in double,
// and the sums are added in the order of the blocks, so that results do not depend on the number of
// threads.
#include <atomic>
#include <new>
#include <optional>

#include "mps/cpu_window.h"
#include "mps/loss_elements.h"

namespace bnns::impl::mps {
namespace {

constexpr double kNanosecondsPerElement = 0.5;
constexpr size_t kElementsPerGrain = 8192;

bool is_softmax(const LossFormula& formula) {
  return formula.type == MPS::CNNLossType::SoftMaxCrossEntropy;
}

// The part of a destination that is written.
struct Target {
  Pixels pixels;
  size_t first, width, channel;  // first pixel, pixels from row to row, first channel
};

// One image. `scale` multiplies what is stored; `vanishes`: all results are 0.
struct ImageRun {
  ImageLossKernel kernel;
  ImageLossConstants constants;
  float scale;
  bool vanishes;
  WindowReader source, labels;
  std::optional<WindowReader> weights, upstream;
  std::optional<Target> target;

  // Returns the sum of the block, if the kernel has one.
  double run(const Chunk& c, BlockBuffers& buffers) const;
  double compute(const Chunk& c, BlockBuffers& buffers, float* results) const;
  void clear_missing(const WindowReader& reader, const Chunk& c, float* results) const;
};

// A pixel that does not exist has the result 0.
void ImageRun::clear_missing(const WindowReader& reader, const Chunk& c, float* results) const {
  if (reader.complete(c)) return;
  for (size_t p = 0; p < c.pixels; ++p) {
    if (!reader.has(c.x + p, c.y)) std::fill_n(results + p * c.channels, c.channels, 0.0f);
  }
}

double ImageRun::compute(const Chunk& c, BlockBuffers& buffers, float* results) const {
  const double sum = kernel({.y = source.read(c, buffers, 0),
                             .t = labels.read(c, buffers, 1),
                             .weights = weights ? weights->read(c, buffers, 2) : nullptr,
                             .upstream = upstream ? upstream->read(c, buffers, 3) : nullptr,
                             .scale = scale,
                             .results = results,
                             .rows = c.pixels,
                             .n = c.channels},
                            constants);
  if (results != nullptr) {
    clear_missing(source, c, results);
    if (upstream) clear_missing(*upstream, c, results);
  }
  return sum;
}

double ImageRun::run(const Chunk& c, BlockBuffers& buffers) const {
  if (!target) return compute(c, buffers, nullptr);
  const size_t pixel = target->first + c.y * target->width + c.x;
  const size_t channel = target->channel + c.channel;
  float* const in_place = target->pixels.in_place(pixel, c.pixels, channel, c.channels);
  float* const results = in_place != nullptr ? in_place : buffers.row(4);
  double sum = 0;
  if (vanishes)
    std::fill_n(results, c.elements(), 0.0f);
  else
    sum = compute(c, buffers, results);
  if (in_place == nullptr) target->pixels.store(pixel, c.pixels, channel, c.channels, results);
  return sum;
}

// Runs the blocks of all images; sums[image * blocks + block] receives their sums.
void run_blocks(const std::vector<ImageRun>& runs, const Blocks& blocks,
                std::vector<double>* sums) {
  const size_t per_grain = std::max<size_t>(1, kElementsPerGrain / blocks.elements());
  const size_t all = runs.size() * blocks.count();
  std::atomic<bool> out_of_memory = false;
  run_grains(
      (all + per_grain - 1) / per_grain,
      kNanosecondsPerElement * static_cast<double>(all * blocks.elements()), [&](size_t grain) {
        try {
          BlockBuffers buffers(blocks.elements());
          for (size_t b = grain * per_grain; b < std::min(all, (grain + 1) * per_grain); ++b) {
            const double sum = runs[b / blocks.count()].run(blocks.at(b % blocks.count()), buffers);
            if (sums != nullptr) (*sums)[b] = sum;
          }
        } catch (const std::bad_alloc&) {
          out_of_memory = true;
        }
      });
  if (out_of_memory) throw std::bad_alloc();
}

// ---- Forward ----

// Without a reduction the losses are stored, in a destination that may be wider than the source.
void run_forward(const LossWork& work, std::span<const double> divisors) {
  const ImageStorage& source = *work.items[0].source;
  const bool reduced = work.formula.reduced();
  const bool flat = reduced || work.items[0].loss->width() == source.width();
  const Blocks blocks(flat ? source.width() * source.height() : source.width(),
                      flat ? 1 : source.height(), source.channels(), is_softmax(work.formula));
  const ImageLossKernel kernel = kernels_of(work.formula).loss;
  std::vector<ImageRun> runs;
  runs.reserve(work.items.size());
  for (const LossItem& item : work.items) {
    const auto reader = [&](const StoragePtr& image) { return WindowReader(*image, {}, flat); };
    runs.push_back({.kernel = kernel,
                    .constants = kernel_constants(work.formula, item.values),
                    .scale = item.values.weight,
                    .vanishes = false,
                    .source = reader(item.source),
                    .labels = reader(item.labels)});
    if (item.weights != nullptr) runs.back().weights = reader(item.weights);
    if (!reduced) runs.back().target = Target{Pixels(*item.loss), 0, item.loss->width(), 0};
  }
  if (!reduced) return run_blocks(runs, blocks, nullptr);
  std::vector<double> sums(runs.size() * blocks.count());
  run_blocks(runs, blocks, &sums);
  const bool cosine = work.formula.type == MPS::CNNLossType::CosineDistance;
  std::vector<double> totals;
  for (size_t n = 0; n < runs.size(); ++n) {
    double total = cosine ? 1 : 0;
    for (size_t b = 0; b < blocks.count(); ++b) total += sums[n * blocks.count() + b];
    totals.push_back(total * work.items[n].values.weight);
  }
  store_reduced(work.items, work.formula.across_batch, totals, divisors);
}

// ---- Gradient ----

// The incoming gradient of an image, if it is a single value.
double upstream_of(const LossWork& work, size_t n) {
  const LossItem& item = work.items[work.formula.across_batch ? 0 : n];
  if (item.upstream == nullptr || !work.formula.reduced()) return 1;
  float g;
  Pixels(*item.upstream).load(0, 1, 0, 1, &g);
  return g;
}

bool begins_at_zero(const ReadWindow& window) {
  return window.x == 0 && window.y == 0;
}

// True if the rows of the window follow each other without gaps in all images.
bool is_flat(const LossWork& work) {
  const GradientWindow& w = work.window;
  const LossItem& item = work.items[0];
  return begins_at_zero(w.source) && begins_at_zero(w.upstream) &&
         w.width == item.source->width() && w.height <= item.source->height() && w.x == 0 &&
         w.width == item.gradient->width();
}

// G w / D, or w / D if G is different for every element, is the scale of an image.
ImageRun gradient_run(const LossWork& work, size_t n, double divisor, bool flat,
                      ImageLossKernel kernel) {
  const GradientWindow& w = work.window;
  const LossItem& item = work.items[n];
  const size_t width = item.gradient->width();
  ImageRun run{
      .kernel = kernel,
      .constants = kernel_constants(work.formula, item.values),
      .scale = static_cast<float>(upstream_of(work, n) * item.values.weight / divisor),
      .vanishes = divisor == 0,
      .source = WindowReader(*item.source, w.source, flat),
      .labels = WindowReader(*item.labels, w.source, flat),
      .target = Target{Pixels(*item.gradient), w.y * width + w.x, width, w.destination_channel}};
  if (item.weights != nullptr) run.weights = WindowReader(*item.weights, w.source, flat);
  if (item.upstream != nullptr && !work.formula.reduced())
    run.upstream = WindowReader(*item.upstream, w.upstream, flat);
  return run;
}

void run_gradient(const LossWork& work, std::span<const double> divisors) {
  const GradientWindow& w = work.window;
  if (w.width == 0 || w.height == 0 || w.channels == 0) return;
  const bool flat = is_flat(work);
  const LossKernelSet kernels = kernels_of(work.formula);
  std::vector<ImageRun> runs;
  runs.reserve(work.items.size());
  for (size_t n = 0; n < work.items.size(); ++n)
    runs.push_back(gradient_run(work, n, work.divides ? divisors[n] : 1, flat,
                                work.label_gradients ? kernels.by_t : kernels.by_y));
  run_blocks(runs,
             Blocks(flat ? w.width * w.height : w.width, flat ? 1 : w.height, w.channels,
                    is_softmax(work.formula)),
             nullptr);
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

// The YOLO loss on the CPU device, with its gradient. Images are the grains; the cells of an image
// are added in their order, in double.
//   box   x = sigmoid(raw), width = anchor exp(raw)
//   the anchor that fits the true box best is responsible for it: XY, WH and class losses
//   confidence   towards the IOU of box and true box, or 1; towards 0 where there is no object;
//                between the two bounds on the IOU it does not count
#include <cmath>

#include "mps/cpu.h"
#include "mps/loss_elements.h"

namespace bnns::impl::mps {
namespace {

double sigmoid(double y) {
  if (y >= 0) return 1 / (1 + std::exp(-y));
  const double e = std::exp(y);
  return e / (1 + e);
}

enum : size_t { kX, kY, kWidth, kHeight, kConfidence, kClasses };

struct Interval {
  double centre, size;
};

double common_length(Interval a, Interval b) {
  const double low = std::max(a.centre - a.size / 2, b.centre - b.size / 2);
  const double high = std::min(a.centre + a.size / 2, b.centre + b.size / 2);
  return high > low ? high - low : 0;
}

// Intersection over union with a true box b; 0 if that has no area.
double iou_of(Interval ax, Interval ay, Interval bx, Interval by) {
  if (!(bx.size > 0 && by.size > 0)) return 0;
  const double common = common_length(ax, bx) * common_length(ay, by);
  return common / (ax.size * ay.size + bx.size * by.size - common);
}

// A part of the loss with its kernels.
struct Part {
  explicit Part(const YoloPart& part)
      : kernels(kernels_of(part.formula)),
        constants(kernel_constants(part.formula, part.values)),
        weight(part.values.weight) {}

  LossKernelSet kernels;
  ImageLossConstants constants;
  float weight;
};
struct Parts {
  explicit Parts(const YoloWork& work)
      : xy(work.xy), wh(work.wh), confidence(work.confidence), classes(work.classes) {}
  Part xy, wh, confidence, classes;
};

// One cell: predictions, labels, weights, and what becomes of them.
struct Cell {
  const YoloWork& work;
  const Parts& parts;
  const float *y, *t, *omega;  // omega may be nullptr
  float *losses, *gradients;

  size_t box() const { return 5 + work.number_of_classes; }
  double anchor(size_t a, size_t axis) const { return work.anchors[2 * a + axis]; }

  double anchor_fit(size_t a) const {
    const float* truth = t + a * box();
    return iou_of({0, anchor(a, 0)}, {0, anchor(a, 1)}, {0, truth[kWidth]}, {0, truth[kHeight]});
  }
  void run() const;
  void run_object(size_t a) const;
  void run_confidence(size_t a, bool responsible) const;
  void add(const Part& part, size_t first, size_t n, float scale, const float* values,
           const float* targets) const;
};

// The losses of n values against their targets, for the elements from `first` on. With a scale of 0
// they stay 0 whatever the values are.
void Cell::add(const Part& part, size_t first, size_t n, float scale, const float* values,
               const float* targets) const {
  if (scale * part.weight == 0) return;
  ImageLossRows rows{.y = values,
                     .t = targets,
                     .weights = omega == nullptr ? nullptr : omega + first,
                     .upstream = nullptr,
                     .scale = scale * part.weight,
                     .results = losses + first,
                     .rows = 1,
                     .n = n};
  part.kernels.loss(rows, part.constants);
  rows.results = gradients + first;
  part.kernels.by_y(rows, part.constants);
}

void Cell::run_object(size_t a) const {
  const size_t base = a * box();
  float values[2], targets[2];
  for (const size_t i : {kX, kY}) values[i] = static_cast<float>(sigmoid(y[base + i]));
  add(parts.xy, base, 2, work.scale_xy, values, t + base);
  for (const size_t i : {kX, kY}) {
    const double s = sigmoid(y[base + i]);
    float& gradient = gradients[base + i];
    // A weight of 0 stays 0 even if the slope is NaN.
    if (gradient != 0) gradient = static_cast<float>(gradient * (s * (1 - s)));
  }
  for (const size_t i : {size_t{0}, size_t{1}})
    targets[i] = static_cast<float>(std::log(t[base + kWidth + i] / anchor(a, i)));
  add(parts.wh, base + kWidth, 2, work.scale_wh, y + base + kWidth, targets);
  if (work.number_of_classes > 0)
    add(parts.classes, base + kClasses, work.number_of_classes, work.scale_class,
        y + base + kClasses, t + base + kClasses);
}

void Cell::run_confidence(size_t a, bool responsible) const {
  const size_t base = a * box();
  const float *raw = y + base, *truth = t + base;
  const bool object = truth[kConfidence] > 0;
  const double iou = iou_of({sigmoid(raw[kX]), std::exp(raw[kWidth]) * anchor(a, 0)},
                            {sigmoid(raw[kY]), std::exp(raw[kHeight]) * anchor(a, 1)},
                            {truth[kX], truth[kWidth]}, {truth[kY], truth[kHeight]});
  float scale = work.scale_no_object, target = 0;
  if (responsible || (object && iou > work.min_iou)) {
    scale = work.scale_object;
    target = work.rescore ? static_cast<float>(iou) : 1;
  } else if (object && iou >= work.max_iou) {
    scale = 0;
  }
  add(parts.confidence, base + kConfidence, 1, scale, raw + kConfidence, &target);
}

void Cell::run() const {
  const size_t anchors = work.anchors.size() / 2;
  std::fill_n(losses, anchors * box(), 0.0f);
  std::fill_n(gradients, anchors * box(), 0.0f);
  size_t best = 0;
  for (size_t a = 1; a < anchors; ++a) {
    if (anchor_fit(a) > anchor_fit(best)) best = a;
  }
  for (size_t a = 0; a < anchors; ++a) {
    const bool responsible = a == best && t[a * box() + kConfidence] > 0;
    if (responsible) run_object(a);
    run_confidence(a, responsible);
  }
}

// `scratch`: five rows of the channels of a pixel. Returns the sum of the losses.
double run_image(const YoloWork& work, const Parts& parts, const LossItem& item, float* scratch) {
  const size_t channels = item.source->channels(), width = item.source->width();
  float *y = scratch, *t = y + channels, *omega = t + channels, *losses = omega + channels,
        *gradients = losses + channels;
  const bool weighted = item.weights != nullptr;
  const Cell cell{work, parts, y, t, weighted ? omega : nullptr, losses, gradients};
  double sum = 0;
  for (size_t p = 0; p < width * item.source->height(); ++p) {
    Pixels(*item.source).load(p, 1, 0, channels, y);
    Pixels(*item.labels).load(p, 1, 0, channels, t);
    if (weighted) Pixels(*item.weights).load(p, 1, 0, channels, omega);
    cell.run();
    const size_t at = p / width * item.gradient->width() + p % width;
    Pixels(*item.gradient).store(at, 1, 0, channels, gradients);
    if (work.reduction == MPS::CNNReductionType::None)
      Pixels(*item.loss).store(p, 1, 0, channels, losses);
    for (size_t c = 0; c < channels; ++c) sum += losses[c];
  }
  return sum;
}

}  // namespace

void run_cpu(const YoloWork& work) {
  constexpr double kNanosecondsPerElement = 40;
  const size_t images = work.items.size(), channels = work.items[0].source->channels();
  const auto elements = static_cast<double>(work.items[0].source->elements());
  const Parts parts(work);
  std::vector<float> scratch(images * 5 * channels);
  std::vector<double> totals(images);
  run_grains(images, kNanosecondsPerElement * elements * static_cast<double>(images),
             [&](size_t n) {
               totals[n] = run_image(work, parts, work.items[n], scratch.data() + n * 5 * channels);
             });
  if (work.reduction == MPS::CNNReductionType::None) return;
  store_reduced(work.items, work.across_batch, totals,
                divisors_of(work.reduction, work.across_batch, work.items, elements));
}

}  // namespace bnns::impl::mps

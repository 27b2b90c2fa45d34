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

// One cell: predictions, labels, weights, and what becomes of them.
struct Cell {
  const YoloWork& work;
  const double *y, *t, *omega;  // omega may be nullptr
  double *losses, *gradients;

  size_t box() const { return 5 + work.number_of_classes; }
  double anchor(size_t a, size_t axis) const { return work.anchors[2 * a + axis]; }

  double anchor_fit(size_t a) const {
    const double* truth = t + a * box();
    return iou_of({0, anchor(a, 0)}, {0, anchor(a, 1)}, {0, truth[kWidth]}, {0, truth[kHeight]});
  }
  void run() const;
  void run_object(size_t a) const;
  void run_confidence(size_t a, bool responsible) const;
  void add(const YoloPart& part, size_t i, double scale, double value, double target,
           double slope) const;
  void add_classes(size_t first) const;
};

// Element i has the loss of `value` against `target`; `slope` is the derivative of value.
void Cell::add(const YoloPart& part, size_t i, double scale, double value, double target,
               double slope) const {
  const double factor = scale * part.values.weight * (omega == nullptr ? 1 : omega[i]);
  const ElementConstants constants = constants_of(part.formula, part.values);
  const ElementTable& table = element_table(part.formula.type);
  double loss, gradient;
  table.loss(&value, &target, nullptr, 1, constants, &loss);
  table.by_y(&value, &target, nullptr, 1, constants, &gradient);
  losses[i] = term(factor, loss);
  gradients[i] = term(factor, gradient * slope);
}

void Cell::add_classes(size_t first) const {
  const bool softmax = work.classes.formula.type == MPS::CNNLossType::SoftMaxCrossEntropy;
  double max = -INFINITY, sum = 0;
  for (size_t k = 0; k < work.number_of_classes; ++k) max = std::max(max, y[first + k]);
  for (size_t k = 0; k < work.number_of_classes; ++k) sum += std::exp(y[first + k] - max);
  for (size_t k = 0; k < work.number_of_classes; ++k) {
    const double raw = y[first + k];
    add(work.classes, first + k, work.scale_class, softmax ? (raw - max) - std::log(sum) : raw,
        t[first + k], 1);
  }
}

void Cell::run_object(size_t a) const {
  const size_t base = a * box();
  for (const size_t i : {kX, kY}) {
    const double s = SigmoidCrossEntropy::sigmoid(y[base + i]);
    add(work.xy, base + i, work.scale_xy, s, t[base + i], s * (1 - s));
  }
  for (const size_t i : {kWidth, kHeight})
    add(work.wh, base + i, work.scale_wh, y[base + i],
        std::log(t[base + i] / anchor(a, i - kWidth)), 1);
  add_classes(base + kClasses);
}

void Cell::run_confidence(size_t a, bool responsible) const {
  const size_t base = a * box();
  const double *raw = y + base, *truth = t + base;
  const bool object = truth[kConfidence] > 0;
  const double iou =
      iou_of({SigmoidCrossEntropy::sigmoid(raw[kX]), std::exp(raw[kWidth]) * anchor(a, 0)},
             {SigmoidCrossEntropy::sigmoid(raw[kY]), std::exp(raw[kHeight]) * anchor(a, 1)},
             {truth[kX], truth[kWidth]}, {truth[kY], truth[kHeight]});
  double scale = work.scale_no_object, target = 0;
  if (responsible || (object && iou > work.min_iou)) {
    scale = work.scale_object;
    target = work.rescore ? iou : 1;
  } else if (object && iou >= work.max_iou) {
    scale = 0;
  }
  add(work.confidence, base + kConfidence, scale, raw[kConfidence], target, 1);
}

void Cell::run() const {
  const size_t anchors = work.anchors.size() / 2;
  std::fill_n(losses, anchors * box(), 0.0);
  std::fill_n(gradients, anchors * box(), 0.0);
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
double run_image(const YoloWork& work, const LossItem& item, double* scratch) {
  const size_t channels = item.source->channels(), width = item.source->width();
  double *y = scratch, *t = y + channels, *omega = t + channels, *losses = omega + channels,
         *gradients = losses + channels;
  const bool weighted = item.weights != nullptr;
  const Cell cell{work, y, t, weighted ? omega : nullptr, losses, gradients};
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
  std::vector<double> scratch(images * 5 * channels), totals(images);
  run_grains(images, kNanosecondsPerElement * elements * static_cast<double>(images),
             [&](size_t n) {
               totals[n] = run_image(work, work.items[n], scratch.data() + n * 5 * channels);
             });
  if (work.reduction == MPS::CNNReductionType::None) return;
  store_reduced(work.items, work.across_batch, totals,
                divisors_of(work.reduction, work.across_batch, work.items, elements));
}

}  // namespace bnns::impl::mps

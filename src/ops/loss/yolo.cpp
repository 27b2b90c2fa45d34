#include "ops/loss/yolo.h"

#include <algorithm>
#include <cmath>

#include "core/checked.h"
#include "core/parallel.h"

namespace bnns::impl {
namespace {

constexpr size_t kMaxPartials = 256;
constexpr size_t kGrainValues = 1024;
constexpr double kLogEpsilon = 1e-5;

enum : size_t { kX, kY, kWidth, kHeight, kConfidence, kClasses };

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

// log(1 + e^x) without overflow.
double softplus(double x) {
  return std::fmax(x, 0) + std::log1p(std::exp(-std::abs(x)));
}

struct Span {
  double centre, size;
};

double common_length(Span a, Span b) {
  const double low = std::max(a.centre - a.size / 2, b.centre - b.size / 2);
  const double high = std::min(a.centre + a.size / 2, b.centre + b.size / 2);
  return high > low ? high - low : 0;
}

// Intersection over union; 0 for two empty boxes.
double overlap_of(Span ax, Span ay, Span bx, Span by) {
  const double common = common_length(ax, bx) * common_length(ay, by);
  const double all = ax.size * ay.size + bx.size * by.size - common;
  return common == 0 ? 0 : common / all;
}

}  // namespace

// The predictions, labels and gradients of one cell.
struct YoloOp::Cell {
  const float* x;
  const float* t;
  float* gradient;     // of the whole sample, or nullptr
  const View* layout;  // one sample of the gradient
  size_t first;        // index of x[0] in its sample
  bool accumulate;
  double upstream;

  void add_gradient(size_t i, double value) const {
    if (gradient == nullptr) return;
    float& to = gradient[offset_of(*layout, first + i)];
    const float g = static_cast<float>(upstream * value);
    to = accumulate ? to + g : g;
  }
};

YoloOp::YoloOp(const Memory& memory, size_t threads, const YoloProblem& problem,
               const float* anchor_sizes)
    : threads_(threads), problem_(problem), anchor_sizes_(memory, 2 * problem.anchors) {
  std::copy_n(anchor_sizes, anchor_sizes_.size(), anchor_sizes_.data());
}

// The IOU of an anchor and the true box when both have the same centre.
double YoloOp::anchor_fit(const Cell& cell, size_t anchor) const {
  const float* t = cell.t + anchor * problem_.box;
  return overlap_of({0, anchor_sizes_[2 * anchor]}, {0, anchor_sizes_[2 * anchor + 1]},
                    {0, t[kWidth]}, {0, t[kHeight]});
}

// The losses of position, size and classes of an obj anchor, and their gradients.
double YoloOp::run_object(const Cell& cell, size_t anchor) const {
  const size_t base = anchor * problem_.box;
  const float *x = cell.x + base, *t = cell.t + base;
  double loss = 0;
  for (size_t i : {kX, kY}) {
    const double s = sigmoid(x[i]), e = s - t[i];
    loss += problem_.scale_xy * e * e;
    cell.add_gradient(base + i, 2 * problem_.scale_xy * e * s * (1 - s));
  }
  for (size_t i : {kWidth, kHeight}) {
    const double e =
        x[i] - std::log(t[i] / double{anchor_sizes_[2 * anchor + i - kWidth]} + kLogEpsilon);
    const double delta = problem_.huber_delta, a = std::abs(e), m = a > delta ? delta : a;
    loss += problem_.scale_wh * m * (a - m / 2);
    cell.add_gradient(base + i, problem_.scale_wh * std::copysign(m, e));
  }
  const size_t classes = problem_.box - kClasses;
  if (classes == 0) return loss;
  const float *z = x + kClasses, *labels = t + kClasses;
  const double max = *std::max_element(z, z + classes);
  double sum = 0, total = 0, product = 0;
  for (size_t i = 0; i < classes; ++i) {
    sum += std::exp(z[i] - max);
    total += labels[i];
    if (labels[i] != 0) product += labels[i] * (z[i] - max);
  }
  for (size_t i = 0; i < classes; ++i) {
    const double g = std::exp(z[i] - max) / sum * total - labels[i];
    cell.add_gradient(base + kClasses + i, problem_.scale_classification * g);
  }
  return loss + problem_.scale_classification * (std::log(sum) * total - product);
}

double YoloOp::run_box(const Cell& cell, size_t anchor, double best_fit) const {
  const size_t base = anchor * problem_.box;
  const float *x = cell.x + base, *t = cell.t + base;
  const double fit = anchor_fit(cell, anchor);
  // !(fit < best_fit) instead of fit >= best_fit: a true box with NaN is obj, so that the NaN
  // reaches the loss.
  const bool object =
      t[kConfidence] == 1 && (!(fit < best_fit) || fit > double{problem_.object_minimum_iou});
  double loss = 0, target = 0, scale = 0;
  if (object) {
    loss = run_object(cell, anchor);
    scale = problem_.scale_object;
    target = 1;
    if (problem_.rescore) {
      const double width = anchor_sizes_[2 * anchor] * std::exp(double{x[kWidth]});
      const double height = anchor_sizes_[2 * anchor + 1] * std::exp(double{x[kHeight]});
      target = overlap_of({sigmoid(x[kX]), width}, {sigmoid(x[kY]), height}, {t[kX], t[kWidth]},
                          {t[kY], t[kHeight]});
    }
  } else {
    if (fit < double{problem_.no_object_maximum_iou}) scale = problem_.scale_no_object;
    for (size_t i = 0; i < problem_.box; ++i) {
      if (i != kConfidence) cell.add_gradient(base + i, 0);
    }
  }
  const double c = x[kConfidence];
  cell.add_gradient(base + kConfidence, scale == 0 ? 0 : scale * (sigmoid(c) - target));
  return scale == 0 ? loss : loss + scale * (softplus(c) - c * target);
}

double YoloOp::run_cell(const LossTensors& call, size_t cell) const {
  const size_t values = problem_.anchors * problem_.box;
  const size_t b = cell / problem_.cells, first = cell % problem_.cells * values;
  const Cell at = {.x = call.in.at<const float>(b) + first,
                   .t = call.labels.at<const float>(b) + first,
                   .gradient = call.in_delta ? call.in_delta.at<float>(b) : nullptr,
                   .layout = call.in_delta.sample,
                   .first = first,
                   .accumulate = call.in_delta.accumulate,
                   .upstream = call.upstream};
  double best = 0, loss = 0;
  for (size_t a = 0; a < problem_.anchors; ++a) best = std::fmax(best, anchor_fit(at, a));
  for (size_t a = 0; a < problem_.anchors; ++a) loss += run_box(at, a, best);
  return loss;
}

void YoloOp::run(const LossTensors& call) const {
  const size_t cells = problem_.cells * call.batch(), values = problem_.anchors * problem_.box;
  const size_t grain = std::max({size_t{1}, kGrainValues / values, div_up(cells, kMaxPartials)});
  double partials[kMaxPartials];
  const double cost = 10.0 * static_cast<double>(cells) * static_cast<double>(values);
  parallel_for(useful_threads(threads_, cost), div_up(cells, grain), [&](size_t g, size_t) {
    partials[g] = 0;
    for (size_t c = g * grain; c < std::min(cells, (g + 1) * grain); ++c)
      partials[g] += run_cell(call, c);
  });
  if (call.out == nullptr) return;
  double sum = 0;
  for (size_t g = 0; g < div_up(cells, grain); ++g) sum += partials[g];
  *call.out = static_cast<float>(sum);
}

}  // namespace bnns::impl

// Losses and optimizers: input data and right results, in double by plain loops. The gradient of a
// loss is the difference of an activation and a label, and may be off by 4e-6 times their sum; its
// value, and parameters after an optimizer's step, by 4e-6 (1 + |value|). Where k values are added,
// 4 sqrt(k) 2^-24 comes on top, as for products.
#include <algorithm>
#include <cmath>

#include "harness/random.h"
#include "workloads/workloads.h"

namespace bench {
namespace {

constexpr double kElementError = 4e-6;

double rounding(size_t terms) {
  return 4 * std::sqrt(double(terms)) * 0x1p-24;
}

// Of one element: its loss, the gradient, and the size of what the gradient is the difference of.
struct Element {
  double loss, slope, scale;
};

Element sigmoid_cross_entropy(double x, double t) {
  const double p = 1 / (1 + std::exp(-x));
  return {std::max(x, 0.0) - x * t + std::log1p(std::exp(-std::abs(x))), p - t, p + t};
}

Element mean_square(double x, double t) {
  return {(x - t) * (x - t), 2 * (x - t), 2 * (std::abs(x) + std::abs(t))};
}

Element huber(double x, double t) {
  const double d = double(Loss::kHuberDelta), e = x - t, size = std::abs(e);
  return {size <= d ? e * e / 2 : d * (size - d / 2), std::clamp(e, -d, d),
          std::abs(x) + std::abs(t)};
}

struct LossInfo {
  const char* name;
  double low, high;                        // of the labels
  Element (*element)(double x, double t);  // nullptr: the loss is made from whole rows
};

// In the order of LossFunction.
constexpr LossInfo kLosses[] = {
    {"softmax-ce", 0, 0, nullptr},
    {"sigmoid-ce", 0, 1, sigmoid_cross_entropy},
    {"mse", -4, 4, mean_square},
    {"huber", -4, 4, huber},
};

// Appends the gradient of one row, not yet divided by the number of rows; returns the row's loss.
double softmax_row(const float* x, const float* t, size_t n, Expected& delta) {
  const double highest = double(*std::max_element(x, x + n));
  double sum = 0, loss = 0;
  for (size_t i = 0; i < n; ++i) sum += std::exp(double(x[i]) - highest);
  for (size_t i = 0; i < n; ++i) {
    const double log_p = double(x[i]) - highest - std::log(sum), label = double(t[i]);
    const double p = std::exp(log_p);
    loss -= label * log_p;
    delta.value.push_back(p - label);
    delta.bound.push_back((kElementError + rounding(n)) * (p + label));
  }
  return loss;
}

struct AlgorithmInfo {
  const char* name;
  double states;  // tensors of the parameters' size
};

// In the order of Algorithm.
constexpr AlgorithmInfo kAlgorithms[] = {{"adam", 2}, {"adamw", 2}, {"sgd-momentum", 1}};

// One element of a parameter and its state.
struct Trained {
  double w, m = 0, v = 0;

  void adam(double g, int step, double decay) {
    using O = Optimizer;
    m = O::kBeta1 * m + (1 - O::kBeta1) * g;
    v = O::kBeta2 * v + (1 - O::kBeta2) * g * g;
    const double mean = m / (1 - std::pow(O::kBeta1, step));
    const double square = v / (1 - std::pow(O::kBeta2, step));
    w -= O::kRate * (mean / (std::sqrt(square) + O::kEpsilon) + decay * w);
  }
  void momentum(double g) {
    m = Optimizer::kMomentum * m + g;
    w -= Optimizer::kRate * m;
  }
};

Workload loss(LossFunction f, size_t count, size_t width, const std::string& size) {
  return {.family = "loss",
          .name = kLosses[size_t(f)].name + (" " + size),
          .ops = {"fwd+bwd"},
          .make = [=] { return std::make_unique<Loss>(f, count, width); }};
}

Workload optimizer(Algorithm a, size_t tensors, size_t size, const std::string& label) {
  return {.family = "optimizer",
          .name = kAlgorithms[size_t(a)].name + (" " + label),
          .ops = {"step"},
          .make = [=] { return std::make_unique<Optimizer>(a, tensors, size); }};
}

}  // namespace

Loss::Loss(LossFunction f, size_t row_count, size_t row_width)
    : function(f), count(row_count), width(row_width), in(count * width), labels(count * width) {
  Random random(uint64_t(f) + 11);
  random.fill(in, -4, 4);
  const LossInfo& info = kLosses[size_t(f)];
  if (info.element != nullptr) {
    random.fill(labels, info.low, info.high);
    return;
  }
  for (size_t r = 0; r < count; ++r) {
    classes.push_back(int64_t(random.next() * double(width)));
    labels.data()[r * width + size_t(classes.back())] = 1;
  }
}

size_t Loss::terms() const {
  return kLosses[size_t(function)].element == nullptr ? count : count * width;
}

Row Loss::row(const std::string& op) const {
  const size_t n = count * width;
  const double bytes = 4.0 * double(n), mean = 1 / double(terms());
  Expected delta{.tensor = "in_delta", .value = {}, .bound = {}};
  const LossInfo& info = kLosses[size_t(function)];
  double sum = 0;
  for (size_t r = 0; r < count && info.element == nullptr; ++r) {
    sum += softmax_row(in.data() + r * width, labels.data() + r * width, width, delta);
  }
  for (size_t i = 0; i < n && info.element != nullptr; ++i) {
    const Element e = info.element(double(in.data()[i]), double(labels.data()[i]));
    sum += e.loss;
    delta.value.push_back(e.slope);
    delta.bound.push_back(kElementError * e.scale);
  }
  for (double& v : delta.value) v *= mean;
  for (double& b : delta.bound) b *= mean;
  const double value = sum * mean;
  const double error = kElementError + rounding(info.element == nullptr ? count + width : n);
  Row row{.op = op, .read_bytes = 2 * bytes, .write_bytes = bytes, .working_set = 3 * bytes};
  row.expected.push_back({.tensor = "out", .value = {value}, .bound = {error * (1 + value)}});
  row.expected.push_back(std::move(delta));
  return row;
}

Optimizer::Optimizer(Algorithm a, size_t tensor_count, size_t tensor_size)
    : algorithm(a),
      tensors(tensor_count),
      size(tensor_size),
      start(tensors * size),
      gradient(tensors * size) {
  Random random(uint64_t(a) + 21);
  random.fill(start, -1, 1);
  random.fill(gradient, -1, 1);
}

void Optimizer::reverse(float* gradient, size_t n) {
  std::reverse(gradient, gradient + n);
}

Row Optimizer::row(const std::string& op) const {
  const size_t n = tensors * size;
  const double bytes = 4.0 * double(n), states = kAlgorithms[size_t(algorithm)].states;
  const double decay = algorithm == Algorithm::kAdamW ? kDecay : 0;
  Expected e{.tensor = "parameters", .value = {}, .bound = {}};
  for (size_t i = 0; i < n; ++i) {
    Trained t{.w = double(start.data()[i])};
    for (int step = 1; step <= 2; ++step) {
      const double g = double(gradient.data()[step == 1 ? i : n - 1 - i]);
      algorithm == Algorithm::kMomentum ? t.momentum(g) : t.adam(g, step, decay);
    }
    e.value.push_back(t.w);
    e.bound.push_back(kElementError * (1 + std::abs(t.w)));
  }
  Row row{.op = op,
          .read_bytes = (2 + states) * bytes,
          .write_bytes = (1 + states) * bytes,
          .working_set = (2 + states) * bytes};
  row.expected.push_back(std::move(e));
  return row;
}

void append_training(std::vector<Workload>& list, bool quick) {
  const auto softmax = [&](size_t count, size_t width) {
    std::string size = std::to_string(count);
    size.append("x").append(std::to_string(width));
    list.push_back(loss(LossFunction::kSoftmaxCrossEntropy, count, width, size));
  };
  softmax(256, 10);
  softmax(quick ? 32 : 256, 1000);
  if (!quick) softmax(32, 32000);
  for (LossFunction f :
       {LossFunction::kSigmoidCrossEntropy, LossFunction::kMeanSquare, LossFunction::kHuber}) {
    list.push_back(quick ? loss(f, 1, 1 << 16, "64K") : loss(f, 1, 1 << 20, "1M"));
  }
  for (Algorithm a : {Algorithm::kAdam, Algorithm::kAdamW, Algorithm::kMomentum}) {
    list.push_back(quick ? optimizer(a, 1, 1 << 16, "64K") : optimizer(a, 1, 10'000'000, "10M"));
  }
  list.push_back(optimizer(Algorithm::kAdam, 200, 1000, "200x1000"));
}

}  // namespace bench

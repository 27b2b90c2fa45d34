// Losses and optimizers: input data and right results.
#include <algorithm>
#include <cmath>

#include "harness/random.h"
#include "spec/layers/loss.h"
#include "spec/layers/optimizer.h"
#include "workloads/reference.h"
#include "workloads/workloads.h"

namespace bench {
namespace {

struct LossInfo {
  const char* name;
  BNNSLossFunction function;
  double low, high;  // of the labels; equal: one of a row is 1, the others are 0
};

// In the order of LossFunction.
constexpr LossInfo kLosses[] = {
    {"softmax-ce", BNNSLossFunctionSoftmaxCrossEntropy, 0, 0},
    {"sigmoid-ce", BNNSLossFunctionSigmoidCrossEntropy, 0, 1},
    {"mse", BNNSLossFunctionMeanSquareError, -4, 4},
    {"huber", BNNSLossFunctionHuber, -4, 4},
};

std::vector<Expected> expected_loss(const Loss& p) {
  using namespace spec::reference;
  const spec::reference::Loss layer{{.function = kLosses[size_t(p.function)].function,
                                     .reduction = BNNSLossReductionMean,
                                     .delta = bench::Loss::kHuberDelta}};
  const Tensor x = gather(spec::vector_of(p.width), p.in);
  const Tensor labels = gather(spec::vector_of(p.width), p.labels);
  const Tensor value(spec::vector_of(1), 1);
  Tensors values{.batch = p.count, .value = {x, value, labels}, .delta = {x, value, labels}};
  layer.forward(values);
  layer.backward(values, true);
  return {expect("out", values.value[kLossOut]), expect("in_delta", values.delta[kLossIn])};
}

struct AlgorithmInfo {
  const char* name;
  double states;  // tensors of the parameters' size
};

// In the order of Algorithm.
constexpr AlgorithmInfo kAlgorithms[] = {{"adam", 2}, {"adamw", 2}, {"sgd-momentum", 1}};

spec::OptimizerSettings settings_of(Algorithm a, int step) {
  using O = Optimizer;
  if (a == Algorithm::kMomentum)
    return {.function = BNNSOptimizerFunctionSGDMomentum,
            .learning_rate = float(O::kRate),
            .momentum = float(O::kMomentum),
            .variant = BNNSSGDMomentumVariant1,
            .steps = 1};
  // BNNS adds epsilon to the root before its bias is corrected.
  const double correction = std::sqrt(1 - std::pow(O::kBeta2, step));
  return {
      .function = a == Algorithm::kAdam ? BNNSOptimizerFunctionAdam : BNNSOptimizerFunctionAdamW,
      .learning_rate = float(O::kRate),
      .beta1 = float(O::kBeta1),
      .beta2 = float(O::kBeta2),
      .time_step = float(step),
      .epsilon = float(O::kEpsilon * correction),
      .regularization_scale = float(O::kDecay),
      .steps = 1};
}

// Elements do not depend on each other, so some of them are a smaller problem.
constexpr size_t kCheckedParameters = size_t{1} << 18;

Expected expected_parameters(const Optimizer& p) {
  const size_t n = p.start.size();
  const Indices at = some_of(n, kCheckedParameters);
  Indices mirrored;
  for (size_t i : at) mirrored.push_back(n - 1 - i);
  const spec::Shape shape = spec::vector_of(at.size());
  const size_t states = settings_of(p.algorithm, 1).states();
  // The parameters, the gradient and the states; then the parameters and the states after the step.
  Tensors values{.batch = 1, .value = {}, .delta = {}};
  values.value.assign(3 + 2 * states, Tensor(shape, 1));
  values.value[0] = gather(shape, p.start, at);
  for (int step = 1; step <= 2; ++step) {
    values.value[1] = gather(shape, p.gradient, step == 1 ? at : mirrored);
    spec::reference::optimizer(values, settings_of(p.algorithm, step), 1);
    values.value[0] = values.value[2 + states];
    for (size_t s = 0; s < states; ++s) values.value[2 + s] = values.value[3 + states + s];
  }
  return expect("parameters", values.value[0], n, at);
}

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
  if (info.low < info.high) {
    random.fill(labels, info.low, info.high);
    return;
  }
  for (size_t r = 0; r < count; ++r) {
    classes.push_back(int64_t(random.next() * double(width)));
    labels.data()[r * width + size_t(classes.back())] = 1;
  }
}

Row Loss::row(const std::string& op) const {
  const double bytes = 4.0 * double(count * width);
  return {.op = op,
          .read_bytes = 2 * bytes,
          .write_bytes = bytes,
          .working_set = 3 * bytes,
          .expected = expected_loss(*this)};
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
  const double bytes = 4.0 * double(tensors * size), states = kAlgorithms[size_t(algorithm)].states;
  return {.op = op,
          .read_bytes = (2 + states) * bytes,
          .write_bytes = (1 + states) * bytes,
          .working_set = (2 + states) * bytes,
          .expected = {expected_parameters(*this)}};
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

#include "mps/loss_elements.h"

namespace bnns::impl::mps {
namespace {

template <auto kFunction>
void rows(const double* y, const double* t, const double* weights, size_t n,
          const ElementConstants& constants, double* results) {
  if (weights == nullptr) {
    for (size_t i = 0; i < n; ++i) results[i] = kFunction(y[i], t[i], constants);
    return;
  }
  for (size_t i = 0; i < n; ++i) results[i] = term(weights[i], kFunction(y[i], t[i], constants));
}

template <class F>
constexpr ElementTable table() {
  return {rows<F::loss>, rows<F::by_y>, rows<F::by_t>};
}

// By the value of CNNLossType.
constexpr ElementTable kTables[] = {
    table<MeanAbsoluteError>(),
    table<MeanSquaredError>(),
    table<SoftMaxCrossEntropy>(),
    table<SigmoidCrossEntropy>(),
    table<CategoricalCrossEntropy>(),
    table<Hinge>(),
    table<Huber>(),
    table<CosineDistance>(),
    table<LogLoss>(),
    table<KullbackLeibler>(),
};

}  // namespace

const ElementTable& element_table(MPS::CNNLossType type) {
  return kTables[static_cast<size_t>(type)];
}

ElementConstants constants_of(const LossFormula& formula, const LossValues& values) {
  ElementConstants k{
      .epsilon = values.epsilon, .delta = values.delta, .as_printed = formula.as_printed};
  const double s = values.labelSmoothing;
  const bool softmax = formula.type == MPS::CNNLossType::SoftMaxCrossEntropy;
  const bool sigmoid = formula.type == MPS::CNNLossType::SigmoidCrossEntropy;
  if (s > 0 && (softmax || sigmoid)) {
    k.keep = 1 - s;
    k.added = softmax ? s / static_cast<double>(formula.classes) : 0.5 * s;
  }
  return k;
}

}  // namespace bnns::impl::mps

#include "mps/loss_elements.h"

namespace bnns::impl::mps {

static_assert(kImageSoftmaxCrossEntropy == size_t(MPS::CNNLossType::SoftMaxCrossEntropy) &&
              kImageKullbackLeibler == size_t(MPS::CNNLossType::KullbackLeiblerDivergence) &&
              kImageLosses == size_t(MPS::CNNLossType::Count));

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

ImageLossConstants kernel_constants(const LossFormula& formula, const LossValues& values) {
  const ElementConstants k = constants_of(formula, values);
  return {.keep = static_cast<float>(k.keep),
          .added = static_cast<float>(k.added),
          .epsilon = static_cast<float>(k.epsilon),
          .delta = static_cast<float>(k.delta)};
}

LossKernelSet kernels_of(const LossFormula& formula) {
  const ImageKernels& kernels = *OpenBNNSPrivateImageKernels();
  const auto type = static_cast<size_t>(formula.type);
  return {.loss = kernels.loss[type],
          .by_y = formula.as_printed ? kernels.by_y_as_printed[type] : kernels.by_y[type],
          .by_t = kernels.by_t[type]};
}

}  // namespace bnns::impl::mps

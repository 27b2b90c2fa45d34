// The cases of fused filters: every first layer with every second one.
#ifndef OPENBNNS_SPEC_FUSED_CASES_H
#define OPENBNNS_SPEC_FUSED_CASES_H

#include "layers/fused.h"

namespace spec {

// A 3 x 3 kernel with a border of one, so that images keep their size.
inline ConvolutionSize same_size(bool transposed, size_t in, size_t out, size_t width,
                                 size_t height, size_t batch) {
  const auto axis = [](size_t n) {
    return ConvolutionAxisSize{.large = n, .small = n, .kernel = 3, .before = 1, .after = 1};
  };
  return {.transposed = transposed,
          .in_channels = in,
          .out_channels = out,
          .batch = batch,
          .x = axis(width),
          .y = axis(height)};
}

inline std::vector<FusedFirst> fused_firsts(size_t batch) {
  const Shape shape = image(3, 2, 4);
  return {
      fused_convolution(same_size(false, 2, 4, 3, 2, batch), true),
      fused_convolution(same_size(true, 2, 4, 3, 2, batch), true),
      fused_fully_connected({5, 8, batch}, true),
      fused_arithmetic(BNNSArithmeticExp, {shape}, batch),
      fused_arithmetic(BNNSArithmeticAdd, {shape, image(1, 1, 4)}, batch,
                       {BNNSSample, BNNSParameter}),
      fused_arithmetic(BNNSArithmeticMultiply, {shape, shape}, batch),
      fused_arithmetic(BNNSArithmeticMultiplyAdd, {shape, shape, shape}, batch,
                       {BNNSSample, BNNSConstant, BNNSSample}),
  };
}

inline const ActivationInfo& fused_activation_row(size_t i) {
  constexpr BNNSActivationFunction kFunctions[] = {BNNSActivationFunctionIdentity,
                                                   BNNSActivationFunctionTanh,
                                                   BNNSActivationFunctionRectifiedLinear};
  return activation_row(kFunctions[i % 3]);
}

// Training, with gradients by differences, and inference, on small shapes.
inline void add_fused_pairs(Suite& suite) {
  size_t i = 0;
  for (const FusedFirst& first : fused_firsts(3)) {
    for (const BNNSFilterType type : kNormalizations) {
      // A channel of a vector is one value, which has no gradient.
      if (first.type == BNNSFullyConnected && type == BNNSInstanceNorm) continue;
      const size_t setting = first.type == BNNSFullyConnected ? 0 : i;
      NormalizationSettings s = normalization_settings(type, first.out(), setting);
      Case& c = suite.cases.emplace_back(
          fused_normalization_case(first, s, i % 2 == 0, fused_activation_row(i)));
      c.gradient = true;
      c.thorough = i % 3 == 0;
      s.training = false;
      suite.cases.emplace_back(fused_normalization_case(first, s, i % 2 != 0)).thorough = false;
      if (type == BNNSBatchNorm || type == BNNSInstanceNorm) {
        s.moving = true;
        Case& moving = suite.cases.emplace_back(
            fused_normalization_case(first, s, i % 2 == 0, fused_activation_row(i + 1)));
        moving.thorough = type == BNNSBatchNorm;
      }
      ++i;
    }
  }
}

// Every activation behind a convolution; an activation of the first layer, which inference allows.
inline void add_fused_activations(Suite& suite) {
  const FusedFirst first = fused_convolution(same_size(false, 2, 2, 3, 2, 2), false);
  for (const ActivationInfo& row : activation_rows()) {
    if (row.function == BNNSActivationFunctionPReLUPerChannel || is_softmax(row.function)) continue;
    NormalizationSettings s = normalization_settings(BNNSBatchNorm, first.out(), 0);
    Case& c = suite.cases.emplace_back(fused_normalization_case(first, s, true, row));
    c.thorough = false;
    // Left of its minimum this one cannot be told from y.
    c.gradient = row.function != BNNSActivationFunctionGELUApproximationSigmoid;
  }
  const FusedFirst bent = fused_convolution(same_size(false, 3, 4, 5, 3, 2), true,
                                            activation_row(BNNSActivationFunctionTanh));
  for (const bool moving : {false, true}) {
    NormalizationSettings s = normalization_settings(BNNSBatchNorm, bent.out(), 0);
    s.training = false;
    s.moving = moving;
    suite.cases.emplace_back(fused_normalization_case(bent, s)).thorough = false;
  }
}

// Channels and planes around the vector widths and the sizes of tiles.
inline void add_fused_sizes(Suite& suite) {
  for (size_t n = 1; n <= 34; n += n < 18 ? 1 : 4) {
    const size_t batch = 2 + n % 2;
    const FusedFirst firsts[] = {
        fused_convolution(same_size(n % 5 == 4, 3, n, 3 + n % 7, 4, batch), n % 3 != 0),
        fused_fully_connected({7 + n, n + 1, batch + 1}, n % 3 != 1),
        fused_arithmetic(BNNSArithmeticMultiply, {image(n, 3, 2), image(n, 3, 2)}, batch)};
    for (size_t f = 0; f < 3; ++f) {
      for (const BNNSFilterType type : kNormalizations) {
        if (f == 1 && type == BNNSInstanceNorm) continue;
        if ((n + f + type) % 2 == 0 && type != BNNSBatchNorm) continue;
        NormalizationSettings s = normalization_settings(type, firsts[f].out(), f == 1 ? 0 : n);
        s.affine = (n + f) % 5 != 0;
        suite.cases
            .emplace_back(fused_normalization_case(firsts[f], s, n % 2 == 0,
                                                   fused_activation_row(n + f + type)))
            .thorough = false;
      }
      NormalizationSettings s = normalization_settings(BNNSBatchNorm, firsts[f].out(), 0);
      s.training = false;
      s.moving = true;
      suite.cases
          .emplace_back(
              fused_normalization_case(firsts[f], s, n % 2 == 0, fused_activation_row(n + f)))
          .thorough = false;
    }
  }
}

// Worth several threads.
inline void add_fused_large(Suite& suite) {
  const FusedFirst firsts[] = {
      fused_convolution(same_size(false, 8, 24, 20, 17, 5), true),
      fused_fully_connected({150, 130, 70}, true),
      fused_arithmetic(BNNSArithmeticAdd, {image(31, 20, 16), image(31, 20, 16)}, 6)};
  for (const FusedFirst& first : firsts) {
    for (const BNNSFilterType type : kNormalizations) {
      if (first.type == BNNSFullyConnected && type == BNNSInstanceNorm) continue;
      const NormalizationSettings s = normalization_settings(type, first.out(), 0);
      suite.cases.emplace_back(fused_normalization_case(first, s, true, fused_activation_row(2)))
          .thorough = false;
    }
  }
  FusedFirst timed = fused_convolution(same_size(false, 32, 64, 14, 14, 16), true);
  Case& c = suite.cases.emplace_back(fused_normalization_case(
      timed, normalization_settings(BNNSBatchNorm, timed.out(), 0), true, fused_activation_row(2)));
  c.speed = true;
}

inline void add_fused_cases(Suite& suite) {
  add_fused_pairs(suite);
  add_fused_activations(suite);
  add_fused_sizes(suite);
  add_fused_large(suite);
  for (const bool by_channel : {false, true}) {
    for (const bool transposed : {false, true}) {
      suite.cases.push_back(fused_quantization_case(
          fused_convolution(same_size(transposed, 3, 5, 7, 4, 3), true), by_channel));
    }
    suite.cases.push_back(
        fused_quantization_case(fused_fully_connected({9, 17, 3}, true), by_channel));
    Case& large = suite.cases.emplace_back(fused_quantization_case(
        fused_convolution(same_size(false, 8, 16, 20, 17, 4), true), by_channel));
    large.thorough = false;
  }
}

}  // namespace spec
#endif

// Activation layers, what a reference cannot say: published vectors, random functions by their
// distribution, pointers to parameters, the first-generation creator.
#ifndef OPENBNNS_SPEC_ACTIVATION_CHECKS_H
#define OPENBNNS_SPEC_ACTIVATION_CHECKS_H

#include "layers/activation.h"
#include "runner/published.h"

namespace spec {

inline BNNSFilter activation_filter(size_t n, const BNNSActivation& a) {
  const BNNSLayerParametersActivation p = {.i_desc = describe(vector_of(n), nullptr),
                                           .o_desc = describe(vector_of(n), nullptr),
                                           .activation = a};
  return BNNSFilterCreateLayerActivation(&p, nullptr);
}

inline std::string check_leaky_alpha() {
  BNNSFilter f = activation_filter(
      2, {.function = BNNSActivationFunctionLeakyRectifiedLinear, .alpha = 0.25f});
  if (!f) return failure();
  const std::vector<float> x = {-4, 2};
  std::vector<float> y(2);
  BNNSFilterApply(f, x.data(), y.data());
  std::string problem = expect("out", y, {-1, 2});
  const BNNSNDArrayDescriptor alpha = BNNSGetPointer(f, BNNSPointerSpecifierAlpha);
  if (problem.empty() && (!alpha.data || alpha.layout != BNNSDataLayoutVector ||
                          alpha.size[0] != 1 || alpha.data_type != BNNSDataTypeFloat32))
    problem = "alpha is not a vector of one float";
  if (problem.empty()) {
    *static_cast<float*>(alpha.data) = 0.5f;
    BNNSFilterApply(f, x.data(), y.data());
    problem = expect("out", y, {-2, 2});
  }
  BNNSFilterDestroy(f);
  return problem;
}

inline std::string check_prelu_alpha() {
  const BNNSLayerParametersActivation p = {
      .i_desc = describe(image(2, 2, 5), nullptr),
      .o_desc = describe(image(2, 2, 5), nullptr),
      .activation = {.function = BNNSActivationFunctionPReLUPerChannel, .alpha = 0.125f}};
  BNNSFilter f = BNNSFilterCreateLayerActivation(&p, nullptr);
  if (!f) return failure();
  const BNNSNDArrayDescriptor alpha = BNNSGetPointer(f, BNNSPointerSpecifierAlpha);
  std::string problem;
  if (!alpha.data || alpha.layout != BNNSDataLayoutVector || alpha.size[0] != 5) {
    problem = "alpha is not a vector of one float per channel";
  } else {
    const float* a = static_cast<const float*>(alpha.data);
    problem = expect("alpha", std::vector<float>(a, a + 5), {.125, .125, .125, .125, .125});
  }
  BNNSFilterDestroy(f);
  return problem;
}

inline std::string check_clamp() {
  BNNSFilter f =
      activation_filter(5, {.function = BNNSActivationFunctionClamp, .alpha = -1, .beta = 2});
  if (!f) return failure();
  const std::vector<float> x = {-5, -1, 0.5f, 2, 7};
  std::vector<float> y(5);
  BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  return expect("out", y, {-1, -1, 0.5, 2, 2});
}

inline std::string check_softmax() {
  BNNSFilter f = activation_filter(7, {.function = BNNSActivationFunctionSoftmax});
  if (!f) return failure();
  const std::vector<float> x = {3, 5, 1, 6, 2, 1, 4};
  std::vector<float> y(7);
  BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  return expect(
      "out", y,
      {0.031415492, 0.23213086, 0.004251625, 0.63099706, 0.011557114, 0.004251625, 0.08539616},
      1e-7);
}

inline std::string check_float_to_int() {
  const BNNSLayerParametersActivation p = {
      .i_desc = describe(vector_of(4), nullptr),
      .o_desc = describe(vector_of(4), nullptr, BNNSDataTypeInt32),
      .activation = {.function = BNNSActivationFunctionIdentity}};
  BNNSFilter f = BNNSFilterCreateLayerActivation(&p, nullptr);
  if (!f) return failure();
  const std::vector<float> x = {1.5f, -2.5f, 300.25f, 4};
  std::vector<int32_t> y(4);
  BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  return expect("out", y, {2, -2, 300, 4});
}

inline std::string check_first_generation_activation() {
  BNNSVectorDescriptor d = {};
  d.size = 3;
  d.data_type = BNNSDataTypeFloat32;
  const BNNSActivation a = {.function = BNNSActivationFunctionRectifiedLinear};
  BNNSFilter f = BNNSFilterCreateVectorActivationLayer(&d, &d, &a, nullptr);
  if (!f) return failure();
  const std::vector<float> x = {-1, 2, -3, 4, -5, 6};
  std::vector<float> y(6);
  BNNSFilterApplyBatch(f, 2, x.data(), 3, y.data(), 3);
  BNNSFilterDestroy(f);
  return expect("out", y, {0, 2, 0, 4, 0, 6});
}

inline std::string check_empty_batch() {
  BNNSFilter f = activation_filter(3, {.function = BNNSActivationFunctionTanh});
  if (!f) return failure();
  const std::vector<float> x = {1, 2, 3};
  std::vector<float> y = {-7, -7, -7};
  const int status = BNNSFilterApplyBatch(f, 0, x.data(), 3, y.data(), 3);
  BNNSFilterDestroy(f);
  return status == 0 ? expect("out", y, {-7, -7, -7}) : failure();
}

inline constexpr float kGumbelEpsilon = 1e-7f;

// With a = 1 and a tiny b, -ln(-ln U) has the distribution exp(-exp(-y)).
inline std::string check_gumbel() {
  constexpr size_t kCount = 100000;
  BNNSFilter f = activation_filter(
      kCount, {.function = BNNSActivationFunctionGumbel, .alpha = 1, .beta = kGumbelEpsilon});
  if (!f) return failure();
  const std::vector<float> x(kCount, 50.0f);
  std::vector<float> first(kCount), second(kCount);
  const bool ok = BNNSFilterApply(f, x.data(), first.data()) == 0 &&
                  BNNSFilterApply(f, x.data(), second.data()) == 0;
  BNNSFilterDestroy(f);
  if (!ok) return failure();
  if (first == second) return "two calls draw the same numbers";
  first.insert(first.end(), second.begin(), second.end());
  return expect_distribution(std::vector<double>(first.begin(), first.end()),
                             [](double y) { return std::exp(-std::exp(-y)); });
}

// The maximum of x_j + g_j over a row is Gumbel around ln sum e^{x_j}; every element of the row
// holds it.
inline std::string check_gumbel_max() {
  constexpr size_t kWidth = 6, kRows = 20000;
  BNNSFilter f = activation_filter(
      kWidth, {.function = BNNSActivationFunctionGumbelMax, .alpha = 1, .beta = kGumbelEpsilon});
  if (!f) return failure();
  const float row[kWidth] = {0.5f, -1, 2, 0, 1.5f, -3};
  double sum = 0;
  for (float v : row) sum += std::exp(double{v});
  std::vector<float> x, y(kWidth * kRows);
  for (size_t r = 0; r < kRows; ++r) x.insert(x.end(), row, row + kWidth);
  const int status = BNNSFilterApplyBatch(f, kRows, x.data(), kWidth, y.data(), kWidth);
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  std::vector<double> sample;
  for (size_t r = 0; r < kRows; ++r) {
    for (size_t j = 1; j < kWidth; ++j)
      if (y[r * kWidth + j] != y[r * kWidth]) return "elements of one row differ";
    sample.push_back(y[r * kWidth]);
  }
  return expect_distribution(sample, [sum](double v) { return std::exp(-sum * std::exp(-v)); });
}

// In an output of one element per row it is the index of that maximum: i with probability
// e^x_i / sum e^x_j. Seven standard errors are exceeded less than once in 1e11 runs.
inline std::string check_gumbel_index() {
  constexpr size_t kWidth = 6, kRows = 20000;
  const BNNSLayerParametersActivation p = {
      .i_desc = describe(vector_of(kWidth), nullptr),
      .o_desc = describe(vector_of(1), nullptr),
      .activation = {
          .function = BNNSActivationFunctionGumbelMax, .alpha = 1, .beta = kGumbelEpsilon}};
  BNNSFilter f = BNNSFilterCreateLayerActivation(&p, nullptr);
  if (!f) return failure();
  const float row[kWidth] = {0.5f, -1, 2, 0, 1.5f, -3};
  double sum = 0, counts[kWidth] = {};
  for (float v : row) sum += std::exp(double{v});
  std::vector<float> x, y(kRows);
  for (size_t r = 0; r < kRows; ++r) x.insert(x.end(), row, row + kWidth);
  const int status = BNNSFilterApplyBatch(f, kRows, x.data(), kWidth, y.data(), 1);
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  for (const float index : y) {
    for (size_t i = 0; i < kWidth; ++i) counts[i] += index == static_cast<float>(i);
  }
  for (size_t i = 0; i < kWidth; ++i) {
    const double share = std::exp(double{row[i]}) / sum,
                 error = std::sqrt(share * (1 - share) / kRows);
    if (std::abs(counts[i] / kRows - share) > 7 * error)
      return "index " + std::to_string(i) + " comes " + std::to_string(counts[i]) + " times, " +
             std::to_string(share * kRows) + " expected";
  }
  return "";
}

// In eps: the sum 1, as every sum; exponentials above and below the line 2 each; differences from
// the maximum 0.25 each; the quotient 1, as reciprocal and product.
inline std::string check_long_softmax() {
  constexpr size_t kCount = 60000;
  constexpr double kBound = 1 + 2 * 2 + 2 * 0.25 + 1;
  BNNSFilter f = activation_filter(kCount, {.function = BNNSActivationFunctionSoftmax});
  if (!f) return failure();
  Random random("long softmax");
  std::vector<float> x(kCount), y(kCount);
  for (float& v : x) v = static_cast<float>(random.uniform(0, 1));
  BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  double sum = 0, worst = 0;
  for (float v : x) sum += std::exp(double{v});
  for (size_t i = 0; i < kCount; ++i) {
    const double exact = std::exp(double{x[i]}) / sum;
    worst = std::max(worst, std::abs(y[i] - exact) / exact * 0x1p23);
  }
  return worst <= kBound ? "" : "error " + std::to_string(worst) + " eps";
}

inline void add_activation_checks(Suite& suite) {
  suite.checks.insert(suite.checks.end(),
                      {{"activation/accuracy/long_softmax", check_long_softmax},
                       {"activation/published/leaky_alpha", check_leaky_alpha},
                       {"activation/published/clamp", check_clamp},
                       {"activation/published/softmax", check_softmax},
                       {"activation/published/float_to_int", check_float_to_int},
                       {"activation/pointer/prelu_alpha", check_prelu_alpha},
                       {"activation/batch/empty", check_empty_batch},
                       {"activation/first_generation/relu", check_first_generation_activation},
                       {"activation/distribution/gumbel", check_gumbel},
                       {"activation/distribution/gumbel_max", check_gumbel_max},
                       {"activation/distribution/gumbel_index", check_gumbel_index}});
}

}  // namespace spec
#endif

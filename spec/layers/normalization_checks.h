// Normalization: published vectors, and the moving statistics, which are written by a forward call.
#ifndef OPENBNNS_SPEC_NORMALIZATION_CHECKS_H
#define OPENBNNS_SPEC_NORMALIZATION_CHECKS_H

#include "layers/normalization.h"
#include "runner/published.h"

namespace spec {

inline std::string check_published_instance() {
  std::vector<float> x, y(27), gamma = {1, 1, 1};
  for (float scale : {1.0f, 10.0f, 100.0f})
    for (float i = 1; i <= 9; ++i) x.push_back(i * scale);
  BNNSLayerParametersNormalization p = {};
  p.i_desc = p.o_desc = describe(image(9, 1, 3), nullptr);
  p.gamma_desc = describe(vector_of(3), gamma.data());
  BNNSFilter f = BNNSFilterCreateLayerNormalization(BNNSInstanceNorm, &p, nullptr);
  if (!f) return failure();
  BNNSNormalizationFilterApplyBatch(f, 1, x.data(), 0, y.data(), 0, false);
  BNNSFilterDestroy(f);
  std::vector<double> published;
  for (int c = 0; c < 3; ++c)
    for (double v : {-1.549, -1.162, -0.775, -0.387, 0.0, 0.387, 0.775, 1.162, 1.549})
      published.push_back(v);
  return expect("out", y, published, 0.0005);
}

inline std::string check_published_layer() {
  std::vector<float> x = {1, 2, 3, 4}, y(4), dy = {1, 0, 0, 0}, dx(4);
  BNNSLayerParametersNormalization p = {};
  p.i_desc = p.o_desc = describe(image(4, 1, 1), nullptr);
  BNNSFilter f = BNNSFilterCreateLayerNormalization(BNNSLayerNorm, &p, nullptr);
  if (!f) return failure();
  BNNSNormalizationFilterApplyBatch(f, 1, x.data(), 0, y.data(), 0, true);
  BNNSNDArrayDescriptor in_delta = describe(image(4, 1, 1), dx.data()),
                        out_delta = describe(image(4, 1, 1), dy.data());
  const int status = BNNSNormalizationFilterApplyBackwardBatch(f, 1, &in_delta, 0, nullptr, 0,
                                                               &out_delta, 0, nullptr, nullptr);
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  const double root = std::sqrt(1.25);
  std::vector<double> k, gradient;
  for (size_t i = 0; i < 4; ++i) {
    k.push_back((static_cast<double>(i) - 1.5) / root);
    gradient.push_back((double{dy[i]} - 0.25 - k[i] * (-1.5 / (4 * root))) / root);
  }
  const std::string problem = expect("out", y, k, 1e-6);
  return problem.empty() ? expect("in_delta", dx, gradient, 1e-6) : problem;
}

// moving = momentum moving + (1 - momentum) current, in the client's memory.
inline std::string check_moving_statistics() {
  std::vector<float> x = {1, 3, 10, 30, 5, 7, 50, 70}, y(8), mean = {0, 0}, variance = {1, 1};
  BNNSLayerParametersNormalization p = {};
  p.i_desc = p.o_desc = describe(image(2, 1, 2), nullptr);
  p.moving_mean_desc = describe(vector_of(2), mean.data());
  p.moving_variance_desc = describe(vector_of(2), variance.data());
  p.momentum = 0.75f;
  p.epsilon = 1;
  BNNSFilterParameters parameters = {};
  parameters.flags = BNNSFlagsUseClientPtr;
  BNNSFilter f = BNNSFilterCreateLayerNormalization(BNNSBatchNorm, &p, &parameters);
  if (!f) return failure();
  BNNSNormalizationFilterApplyBatch(f, 2, x.data(), 0, y.data(), 0, true);
  std::string problem = expect("moving_mean", mean, {1, 10});
  if (problem.empty()) problem = expect("moving_variance", variance, {2, 125.75});
  BNNSNormalizationFilterApplyBatch(f, 2, x.data(), 0, y.data(), 0, false);
  BNNSFilterDestroy(f);
  if (problem.empty()) problem = expect("moving_mean after inference", mean, {1, 10});
  const double r = 1 / std::sqrt(3.0), s = 1 / std::sqrt(126.75);
  return problem.empty()
             ? expect("out", y, {0, 2 * r, 0, 20 * s, 4 * r, 6 * r, 40 * s, 60 * s}, 1e-5)
             : problem;
}

inline void add_normalization_checks(Suite& suite) {
  suite.checks.insert(suite.checks.end(),
                      {{"normalization/published/instance", check_published_instance},
                       {"normalization/published/layer", check_published_layer},
                       {"normalization/moving/client", check_moving_statistics}});
}

}  // namespace spec
#endif

// Fully connected layers: published vectors and the first-generation creator.
#ifndef OPENBNNS_SPEC_FULLY_CONNECTED_CHECKS_H
#define OPENBNNS_SPEC_FULLY_CONNECTED_CHECKS_H

#include "layers/fully_connected.h"
#include "runner/published.h"

namespace spec {

inline BNNSFilter fully_connected_filter(std::vector<float>& w, std::vector<float>& b, size_t in) {
  const size_t out = w.size() / in;
  const BNNSLayerParametersFullyConnected p = {
      .i_desc = describe(vector_of(in), nullptr),
      .w_desc = describe({BNNSDataLayoutRowMajorMatrix, {in, out}}, w.data()),
      .o_desc = describe(vector_of(out), nullptr),
      .bias = b.empty() ? BNNSNDArrayDescriptor{} : describe(vector_of(out), b.data())};
  return BNNSFilterCreateLayerFullyConnected(&p, nullptr);
}

inline std::string check_fully_connected_batch() {
  std::vector<float> w = {3, 4}, b = {5}, x = {1, 2, 10, 20}, y(2);
  const std::vector<float> padded = {1, 2, 99, 10, 20, 99};
  BNNSFilter f = fully_connected_filter(w, b, 2);
  if (!f) return failure();
  BNNSFilterApplyBatch(f, 2, x.data(), 2, y.data(), 1);
  std::string problem = expect("out", y, {16, 115});
  y = {0, 0};
  BNNSFilterApplyBatch(f, 2, x.data(), 0, y.data(), 0);
  if (problem.empty()) problem = expect("out with strides 0", y, {16, 115});
  y = {0, 0};
  BNNSFilterApplyBatch(f, 2, padded.data(), 3, y.data(), 1);
  if (problem.empty()) problem = expect("out of a padded input", y, {16, 115});
  BNNSFilterDestroy(f);
  return problem;
}

inline std::string check_fully_connected_backward() {
  std::vector<float> w = {3, 4}, b = {5}, x = {1, 2, 10, 20}, dy = {1, 2};
  std::vector<float> dx(4, -99), dw(2, -99), db(1, -99);
  BNNSFilter f = fully_connected_filter(w, b, 2);
  if (!f) return failure();
  BNNSNDArrayDescriptor in_delta = describe(vector_of(2), dx.data());
  BNNSNDArrayDescriptor out_delta = describe(vector_of(1), dy.data());
  BNNSNDArrayDescriptor weights_delta = describe({BNNSDataLayoutRowMajorMatrix, {2, 1}}, dw.data());
  BNNSNDArrayDescriptor bias_delta = describe(vector_of(1), db.data());
  const int status = BNNSFilterApplyBackwardBatch(f, 2, x.data(), 2, &in_delta, 2, nullptr, 1,
                                                  &out_delta, 1, &weights_delta, &bias_delta);
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  std::string problem = expect("in_delta", dx, {3, 4, 6, 8});
  if (problem.empty()) problem = expect("weights_delta", dw, {21, 42});
  if (problem.empty()) problem = expect("bias_delta", db, {3});
  return problem;
}

inline std::string check_fully_connected_matrix() {
  std::vector<float> w = {1, 2, 3, 4, 5, 6}, b = {0.5f, -1}, y(4);
  const std::vector<float> x = {1, 1, 1, 1, 0, -1};
  BNNSFilter f = fully_connected_filter(w, b, 3);
  if (!f) return failure();
  BNNSFilterApplyBatch(f, 2, x.data(), 3, y.data(), 2);
  BNNSFilterDestroy(f);
  std::string problem = expect("out", y, {6.5, 14, -1.5, -3});
  if (!problem.empty()) return problem;
  w = {10, 20, 30, 40, 100, 200, 300, 400, 1000, 2000, 3000, 4000};
  b.clear();
  f = fully_connected_filter(w, b, 4);
  if (!f) return failure();
  const std::vector<float> x2 = {1, 2, 3, 4};
  BNNSFilterApply(f, x2.data(), y.data());
  BNNSFilterDestroy(f);
  return expect("out", y, {300, 3000, 30000});
}

inline std::string check_first_generation_fully_connected() {
  std::vector<float> w = {1, 2, 3, 4, 5, 6}, b = {0.5f, -1}, y(2);
  const std::vector<float> x = {1, 1, 1};
  BNNSVectorDescriptor in = {}, out = {};
  in.size = 3;
  out.size = 2;
  in.data_type = out.data_type = BNNSDataTypeFloat32;
  BNNSFullyConnectedLayerParameters p = {};
  p.in_size = 3;
  p.out_size = 2;
  p.weights.data = w.data();
  p.weights.data_type = BNNSDataTypeFloat32;
  p.bias.data = b.data();
  p.bias.data_type = BNNSDataTypeFloat32;
  BNNSFilter f = BNNSFilterCreateFullyConnectedLayer(&in, &out, &p, nullptr);
  if (!f) return failure();
  BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  return expect("out", y, {6.5, 14});
}

// The error of long sums on uniform numbers, in eps of the sum of absolute products: at most one,
// as lanes summed apart reach it and a single running sum does not.
inline std::string check_sums() {
  constexpr size_t kOut = 16, kBatch = 8;
  for (size_t n : {size_t{25}, size_t{288}, size_t{4608}, size_t{60000}}) {
    Random random("sums" + std::to_string(n));
    std::vector<float> w(n * kOut), no_bias, x(n * kBatch), y(kOut * kBatch);
    for (float& v : w) v = static_cast<float>(random.uniform(-1, 1));
    for (float& v : x) v = static_cast<float>(random.uniform(-1, 1));
    BNNSFilter f = fully_connected_filter(w, no_bias, n);
    if (!f) return failure();
    BNNSFilterApplyBatch(f, kBatch, x.data(), n, y.data(), kOut);
    BNNSFilterDestroy(f);
    double worst = 0;
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t o = 0; o < kOut; ++o) {
        double sum = 0, magnitude = 0;
        for (size_t i = 0; i < n; ++i) {
          const double product = double{w[o * n + i]} * x[b * n + i];
          sum += product;
          magnitude += std::abs(product);
        }
        worst = std::max(worst, std::abs(y[b * kOut + o] - sum) / magnitude * 0x1p23);
      }
    }
    if (worst > 1) return std::to_string(n) + " terms: error " + std::to_string(worst) + " eps";
  }
  return "";
}

inline void add_fully_connected_checks(Suite& suite) {
  suite.checks.insert(
      suite.checks.end(),
      {{"fully_connected/accuracy/sums", check_sums},
       {"fully_connected/published/batch", check_fully_connected_batch},
       {"fully_connected/published/backward", check_fully_connected_backward},
       {"fully_connected/published/matrix", check_fully_connected_matrix},
       {"fully_connected/first_generation/matrix", check_first_generation_fully_connected}});
}

}  // namespace spec
#endif

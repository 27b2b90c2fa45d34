// Published numbers of pooling, and what a reference in numbers cannot say: positions of maxima,
// NaN.
#ifndef OPENBNNS_SPEC_POOLING_CHECKS_H
#define OPENBNNS_SPEC_POOLING_CHECKS_H

#include <limits>

#include "layers/pooling.h"
#include "runner/published.h"

namespace spec {

inline BNNSFilter pooling_filter(BNNSPoolingFunction function, const PoolingSize& s,
                                 size_t threads = 1) {
  const bool un_max = function == BNNSPoolingFunctionUnMax;
  const reference::Pooling layer{function, s};
  Call call;
  call.parameters.n_threads = threads;
  call.value = {{.desc = describe(un_max ? s.windows_shape() : s.cells_shape(), nullptr)},
                {.desc = describe(un_max ? s.cells_shape() : s.windows_shape(), nullptr)}};
  return create_pooling(layer, false, call);
}

inline std::string check_pooling_padded_max() {
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(9);
  BNNSFilter f = pooling_filter(
      BNNSPoolingFunctionMax,
      {.width = 2, .height = 2, .channels = 1, .batch = 1, .kernel = {2, 2}, .pad = {1, 1, 1, 1}});
  if (!f) return failure();
  const int status = BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  return expect("out", y, {1, 2, 2, 3, 4, 4, 3, 4, 4});
}

inline std::string check_pooling_padded_average() {
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(4);
  BNNSFilter f = pooling_filter(BNNSPoolingFunctionAverage, {.width = 2,
                                                             .height = 2,
                                                             .channels = 1,
                                                             .batch = 1,
                                                             .kernel = {2, 2},
                                                             .stride = {2, 2},
                                                             .pad = {1, 1, 1, 1}});
  if (!f) return failure();
  const int status = BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  return expect("out", y, {0.25, 0.5, 0.75, 1});
}

inline std::string check_pooling_indices() {
  const PoolingSize size = {
      .width = 4, .height = 4, .channels = 1, .batch = 2, .kernel = {2, 2}, .stride = {2, 2}};
  std::vector<float> x(32), y(8), dy = {1, 2, 3, 4}, dx(16, -99);
  for (size_t i = 0; i < 16; ++i) x[i] = static_cast<float>(i + 1), x[i + 16] = -x[i];
  std::vector<size_t> indices(8);
  std::vector<uint32_t> small(8);
  BNNSFilter f = pooling_filter(BNNSPoolingFunctionMax, size);
  if (!f) return failure();
  int status = BNNSPoolingFilterApplyBatch(f, 2, x.data(), 16, y.data(), 4, indices.data(), 4);
  status |= BNNSPoolingFilterApplyBatchEx(f, 2, x.data(), 0, y.data(), 0, BNNSDataTypeUInt32,
                                          small.data(), 0);
  BNNSNDArrayDescriptor in_delta = describe(size.cells_shape(), dx.data());
  BNNSNDArrayDescriptor out_delta = describe(size.windows_shape(), dy.data());
  status |= BNNSPoolingFilterApplyBackwardBatch(f, 1, nullptr, 0, &in_delta, 0, nullptr, 0,
                                                &out_delta, 0, nullptr, indices.data(), 0);
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  const std::vector<double> cells = {5, 7, 13, 15, 0, 2, 8, 10};
  std::string problem = expect("out", y, {6, 8, 14, 16, -1, -3, -9, -11});
  if (problem.empty()) problem = expect("indices", indices, cells);
  if (problem.empty()) problem = expect("indices of 32 bits", small, cells);
  if (problem.empty())
    problem = expect("in_delta", dx, {0, 0, 0, 0, 0, 1, 0, 2, 0, 0, 0, 0, 0, 3, 0, 4});
  return problem;
}

inline std::string check_pooling_un_max() {
  const PoolingSize size = {.width = 4, .height = 4, .channels = 1, .batch = 1, .kernel = {2, 2}};
  const std::vector<float> x = {1, 1, 1, 9, 1, 9, 9, 1, 1, 1, 1, 1, 1, 9, 1, 9};
  std::vector<float> y(9), again(16, -99);
  std::vector<size_t> indices(9);
  BNNSFilter max = pooling_filter(BNNSPoolingFunctionMax, size);
  BNNSFilter un_max = pooling_filter(BNNSPoolingFunctionUnMax, size);
  if (!max || !un_max) return failure();
  int status = BNNSPoolingFilterApplyBatch(max, 1, x.data(), 0, y.data(), 0, indices.data(), 0);
  status |= BNNSPoolingFilterApplyBatch(un_max, 1, y.data(), 0, again.data(), 0, indices.data(), 0);
  BNNSFilterDestroy(max);
  BNNSFilterDestroy(un_max);
  if (status != 0) return failure();
  return expect("out", again, {0, 0, 0, 9, 0, 9, 9, 0, 0, 0, 0, 0, 0, 9, 0, 9});
}

// Few different numbers, so that ties are everywhere; NaN and the infinities among them. NaN is
// above all others, and the first of equals wins.
inline size_t first_maximum(const std::vector<float>& x, const PoolingSize& s, size_t plane,
                            const std::vector<reference::Pooling::Cell>& window) {
  size_t best = 0;
  bool found = false;
  for (const auto& p : window) {
    const size_t cell = p.x + p.y * s.width;
    const float v = x[plane * s.width * s.height + cell];
    const float top = x[plane * s.width * s.height + best];
    const bool better = std::isnan(v) ? !std::isnan(top) : v > top;
    if (!found || better) best = cell;
    found = true;
  }
  return best;
}

inline std::string check_pooling_positions_of(size_t i) {
  const PoolingSize s = random_pooling_size(i, 8 + i / 4);
  Random random("positions" + std::to_string(i));
  const float inf = std::numeric_limits<float>::infinity();
  const float numbers[] = {0, 1, -1, -inf, inf, std::nanf("")};
  const size_t kinds = i % 3 == 0 ? 3 : i % 3 == 1 ? 4 : 6;
  std::vector<float> x(s.cells_shape().count() * s.batch);
  for (float& v : x) v = numbers[random.next() % kinds];
  const size_t count = s.windows_shape().count();
  std::vector<float> y(count * s.batch), plain(count * s.batch);
  std::vector<size_t> indices(count * s.batch);
  BNNSFilter f = pooling_filter(BNNSPoolingFunctionMax, s, 1 + i % 3);
  if (!f) return failure();
  int status = BNNSPoolingFilterApplyBatch(f, s.batch, x.data(), 0, y.data(), 0, indices.data(), 0);
  status |= BNNSFilterApplyBatch(f, s.batch, x.data(), 0, plain.data(), 0);
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  const reference::Pooling layer{BNNSPoolingFunctionMax, s};
  const size_t width = s.windows()[0], windows = width * s.windows()[1];
  const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  for (size_t k = 0; k < y.size(); ++k) {
    const auto window = layer.cells(k % windows % width, k % windows / width);
    const size_t best = first_maximum(x, s, k / windows, window);
    const float value = window.empty() ? 0 : x[k / windows * s.width * s.height + best];
    const std::string where = pooling_tag(s) + " element " + std::to_string(k);
    if (indices[k] != best)
      return where + ": index " + std::to_string(indices[k]) + ", not " + std::to_string(best);
    if (!same(y[k], value) || !same(plain[k], value))
      return where + ": " + std::to_string(y[k]) + " and " + std::to_string(plain[k]) + ", not " +
             std::to_string(value);
  }
  return "";
}

inline std::string check_pooling_positions() {
  for (size_t i = 0; i < 400; ++i) {
    const std::string problem = check_pooling_positions_of(i);
    if (!problem.empty()) return problem;
  }
  return "";
}

inline std::string check_pooling_of_2016() {
  const std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
  std::vector<float> y(2), bias = {10, 20};
  BNNSImageStackDescriptor in = {}, out = {};
  in.width = in.height = in.channels = out.channels = 2;
  in.row_stride = 2;
  in.image_stride = 4;
  out.width = out.height = out.row_stride = out.image_stride = 1;
  in.data_type = out.data_type = BNNSDataTypeFloat32;
  BNNSPoolingLayerParameters p = {};
  p.x_stride = p.y_stride = p.k_width = p.k_height = p.in_channels = p.out_channels = 2;
  p.pooling_function = BNNSPoolingFunctionAverage;
  p.bias.data = bias.data();
  p.bias.data_type = BNNSDataTypeFloat32;
  BNNSFilter f = BNNSFilterCreatePoolingLayer(&in, &out, &p, nullptr);
  if (!f) return failure();
  const int status = BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  return expect("out", y, {12.5, 26.5});
}

inline void add_pooling_checks(Suite& suite) {
  suite.checks.insert(suite.checks.end(),
                      {{"pooling/published/padded_max", check_pooling_padded_max},
                       {"pooling/published/padded_average", check_pooling_padded_average},
                       {"pooling/published/indices", check_pooling_indices},
                       {"pooling/published/un_max", check_pooling_un_max},
                       {"pooling/positions", check_pooling_positions},
                       {"pooling/first_generation/average", check_pooling_of_2016}});
}

}  // namespace spec
#endif

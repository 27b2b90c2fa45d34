// Published numbers of permute, padding, tile, shuffle and band part.
#ifndef OPENBNNS_SPEC_MOVEMENT_CHECKS_H
#define OPENBNNS_SPEC_MOVEMENT_CHECKS_H

#include <bit>
#include <numeric>

#include "runner/case.h"
#include "runner/published.h"
#include "runner/shapes.h"

namespace spec {

inline std::vector<float> counting(size_t n) {
  std::vector<float> x(n);
  std::iota(x.begin(), x.end(), 1.0f);
  return x;
}

inline std::string check_published_permute() {
  std::vector<int8_t> x = {1, 2, 3, 4, 10, 20, 30, 40}, y(8);
  BNNSLayerParametersPermute p = {.i_desc = describe(image(2, 2, 2), nullptr, BNNSDataTypeInt8),
                                  .o_desc = describe(image(2, 2, 2), nullptr, BNNSDataTypeInt8),
                                  .permutation = {2, 1, 0}};
  BNNSFilter filter = BNNSFilterCreateLayerPermute(&p, nullptr);
  const int status = BNNSFilterApply(filter, x.data(), y.data());
  BNNSFilterDestroy(filter);
  if (status != 0) return failure();
  return expect("out", y, {1, 10, 3, 30, 2, 20, 4, 40});
}

inline std::string check_published_permute_backward() {
  std::vector<float> dy = counting(6), dx(6);
  const Shape in = {BNNSDataLayout2DFirstMajor, {2, 3}}, out = {in.layout, {3, 2}};
  BNNSLayerParametersPermute p = {
      .i_desc = describe(in, nullptr), .o_desc = describe(out, nullptr), .permutation = {1, 0}};
  BNNSFilter filter = BNNSFilterCreateLayerPermute(&p, nullptr);
  BNNSNDArrayDescriptor in_delta = describe(in, dx.data());
  const BNNSNDArrayDescriptor out_delta = describe(out, dy.data());
  const int status = BNNSPermuteFilterApplyBackwardBatch(filter, 1, &in_delta, 0, &out_delta, 0);
  BNNSFilterDestroy(filter);
  if (status != 0) return failure();
  return expect("in_delta", dx, {1, 3, 5, 2, 4, 6});
}

inline std::string expect_padding(std::vector<float> x, size_t before, size_t after,
                                  BNNSPaddingMode mode, float value,
                                  const std::vector<double>& published) {
  std::vector<float> y(x.size() + before + after);
  BNNSLayerParametersPadding p = {};
  p.i_desc = describe(vector_of(x.size()), nullptr);
  p.o_desc = describe(vector_of(y.size()), nullptr);
  p.padding_size[0][0] = before;
  p.padding_size[0][1] = after;
  p.padding_mode = mode;
  p.padding_value = std::bit_cast<uint32_t>(value);
  BNNSFilter filter = BNNSFilterCreateLayerPadding(&p, nullptr);
  const int status = BNNSFilterApply(filter, x.data(), y.data());
  BNNSFilterDestroy(filter);
  if (status != 0) return failure();
  return expect("out", y, published);
}

inline std::string check_published_padding() {
  const std::vector<float> x = {0, 1, 2, 3, 4, 5, 7, 8, 9};
  std::string problem =
      expect_padding({1, 2, 3}, 1, 2, BNNSPaddingModeConstant, 7, {7, 1, 2, 3, 7, 7});
  if (problem.empty())
    problem = expect_padding(x, 2, 4, BNNSPaddingModeConstant, 99,
                             {99, 99, 0, 1, 2, 3, 4, 5, 7, 8, 9, 99, 99, 99, 99});
  if (problem.empty())
    problem = expect_padding(x, 2, 4, BNNSPaddingModeReflect, 0,
                             {2, 1, 0, 1, 2, 3, 4, 5, 7, 8, 9, 8, 7, 5, 4});
  if (problem.empty())
    problem = expect_padding(x, 2, 4, BNNSPaddingModeSymmetric, 0,
                             {1, 0, 0, 1, 2, 3, 4, 5, 7, 8, 9, 9, 8, 7, 5});
  return problem;
}

inline std::string expect_tile(const Shape& from, const Shape& to,
                               const std::vector<double>& published) {
  std::vector<float> x = counting(from.count()), y(to.count());
  const BNNSNDArrayDescriptor input = describe(from, x.data());
  BNNSNDArrayDescriptor output = describe(to, y.data());
  if (BNNSTile(&input, &output, nullptr) != 0) return failure();
  return expect("output", y, published);
}

inline std::string check_published_tile() {
  const auto matrix = [](size_t a, size_t b) { return Shape{BNNSDataLayout2DFirstMajor, {a, b}}; };
  std::string problem = expect_tile(matrix(3, 1), matrix(3, 2), {1, 2, 3, 1, 2, 3});
  if (problem.empty()) problem = expect_tile(matrix(1, 3), matrix(2, 3), {1, 1, 2, 2, 3, 3});
  if (problem.empty())
    problem = expect_tile(matrix(2, 3), matrix(4, 3), {1, 2, 1, 2, 3, 4, 3, 4, 5, 6, 5, 6});
  if (problem.empty())
    problem = expect_tile(matrix(2, 3), matrix(2, 6), {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6});
  if (!problem.empty()) return problem;
  std::vector<double> rows;
  for (size_t turn = 0; turn < 3; ++turn)
    rows.insert(rows.end(), {1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6});
  return expect_tile({BNNSDataLayoutRowMajorMatrix, {2, 3}}, {BNNSDataLayoutRowMajorMatrix, {6, 6}},
                     rows);
}

inline std::string check_published_tile_backward() {
  std::vector<float> dy = {1, 2, 3, 10, 20, 30}, dx(3);
  BNNSNDArrayDescriptor in_delta = describe({BNNSDataLayout2DFirstMajor, {1, 3}}, dx.data());
  const BNNSNDArrayDescriptor out_delta = describe({BNNSDataLayout2DFirstMajor, {2, 3}}, dy.data());
  if (BNNSTileBackward(&in_delta, &out_delta, nullptr) != 0) return failure();
  return expect("in_delta", dx, {11, 22, 33});
}

inline std::string check_published_shuffle() {
  std::vector<float> x = counting(16), y(16);
  const BNNSNDArrayDescriptor input =
      describe({BNNSDataLayout4DFirstMajor, {1, 4, 2, 2}}, x.data());
  BNNSNDArrayDescriptor output = describe({BNNSDataLayout4DFirstMajor, {1, 1, 4, 4}}, y.data());
  if (BNNSShuffle(BNNSShuffleTypePixelShuffleNCHW, &input, &output, nullptr) != 0) return failure();
  return expect("output", y, {1, 5, 2, 6, 9, 13, 10, 14, 3, 7, 4, 8, 11, 15, 12, 16});
}

inline std::string check_published_band() {
  std::vector<float> x = counting(16), y(16);
  const Shape square = {BNNSDataLayout2DFirstMajor, {4, 4}};
  const BNNSNDArrayDescriptor input = describe(square, x.data());
  BNNSNDArrayDescriptor output = describe(square, y.data());
  if (BNNSBandPart(1, 1, &input, &output, nullptr) != 0) return failure();
  return expect("output", y, {1, 2, 0, 0, 5, 6, 7, 0, 0, 10, 11, 12, 0, 0, 15, 16});
}

inline void add_movement_checks(Suite& suite) {
  suite.checks.insert(suite.checks.end(),
                      {{"permute/published/forward", check_published_permute},
                       {"permute/published/backward", check_published_permute_backward},
                       {"padding/published/modes", check_published_padding},
                       {"tile/published/forward", check_published_tile},
                       {"tile/published/backward", check_published_tile_backward},
                       {"shuffle/published/pixels", check_published_shuffle},
                       {"band_part/published/tridiagonal", check_published_band}});
}

}  // namespace spec
#endif

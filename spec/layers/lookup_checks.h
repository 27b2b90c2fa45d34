// Published numbers of embeddings, gather and scatter, and statuses.
#ifndef OPENBNNS_SPEC_LOOKUP_CHECKS_H
#define OPENBNNS_SPEC_LOOKUP_CHECKS_H

#include <cstdint>
#include <limits>

#include "runner/case.h"
#include "runner/published.h"
#include "runner/shapes.h"

namespace spec {

// Item k has the values 10 k + 1 ... 10 k + 5. The padding item, 0, is not looked up.
inline std::string check_published_embedding() {
  std::vector<float> items, out(15);
  for (int k = 0; k < 7; ++k)
    for (int i = 1; i <= 5; ++i) items.push_back(static_cast<float>(10 * k + i));
  const std::vector<int8_t> indices = {1, 5, 2};
  BNNSLayerParametersEmbedding p = {};
  p.i_desc = describe(vector_of(3), nullptr, BNNSDataTypeInt8);
  p.o_desc = describe({BNNSDataLayout2DLastMajor, {5, 3}}, nullptr);
  p.dictionary = describe({BNNSDataLayout2DLastMajor, {5, 7}}, items.data());
  BNNSFilter filter = BNNSFilterCreateLayerEmbedding(&p, nullptr);
  const int status = BNNSFilterApply(filter, indices.data(), out.data());
  BNNSFilterDestroy(filter);
  if (status != 0) return failure();
  return expect("out", out, {11, 12, 13, 14, 15, 51, 52, 53, 54, 55, 21, 22, 23, 24, 25});
}

inline std::string check_published_max_norm() {
  std::vector<float> items = {1, 3, 5, 2, 4, 6, 60, 50, 40, 30, 20, 10}, out(12);
  const std::vector<int32_t> indices = {0, 1};
  BNNSLayerParametersEmbedding p = {};
  p.i_desc = describe(vector_of(2), nullptr, BNNSDataTypeInt32);
  p.o_desc = describe({BNNSDataLayout2DLastMajor, {6, 2}}, nullptr);
  p.dictionary = describe({BNNSDataLayout2DLastMajor, {6, 2}}, items.data());
  p.padding_idx = SIZE_MAX;
  p.max_norm = 0.6f;
  p.norm_type = std::numeric_limits<float>::infinity();
  BNNSFilter filter = BNNSFilterCreateLayerEmbedding(&p, nullptr);
  const int status = BNNSFilterApply(filter, indices.data(), out.data());
  BNNSFilterDestroy(filter);
  if (status != 0) return failure();
  return expect("out", out, {0.1, 0.3, 0.5, 0.2, 0.4, 0.6, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1}, 1e-7);
}

inline std::string check_published_gather() {
  std::vector<float> in = {10, 20, 30, 40, 50, 60, 70, 80, 90}, out(6);
  std::vector<int32_t> index = {0, 1, 2, 0, 1, 1};
  const Shape rows{BNNSDataLayoutRowMajorMatrix, {2, 3}};
  const BNNSNDArrayDescriptor input = describe({BNNSDataLayoutRowMajorMatrix, {3, 3}}, in.data());
  const BNNSNDArrayDescriptor indices = describe(rows, index.data(), BNNSDataTypeInt32);
  BNNSNDArrayDescriptor output = describe(rows, out.data());
  if (BNNSGather(1, &input, &indices, &output, nullptr) != 0) return failure();
  std::string problem = expect("output", out, {10, 20, 60, 40, 80, 80});
  if (!problem.empty()) return problem;
  index[3] = 3;
  const int status = BNNSGather(1, &input, &indices, &output, nullptr);
  problem = expect("status", std::vector<int>{status}, {-1005});
  return problem.empty() ? expect("output", out, {10, 20, 60, 40, 80, 80}) : problem;
}

inline std::string check_published_scatter() {
  std::vector<float> in = {1, 2, 3}, out = {100, 200, 300};
  std::vector<int32_t> index = {0, 0, 2};
  const BNNSNDArrayDescriptor input = describe(vector_of(3), in.data());
  const BNNSNDArrayDescriptor indices = describe(vector_of(3), index.data(), BNNSDataTypeInt32);
  BNNSNDArrayDescriptor output = describe(vector_of(3), out.data());
  if (BNNSScatter(0, BNNSReduceFunctionSum, &input, &indices, &output, nullptr) != 0)
    return failure();
  return expect("output", out, {103, 200, 303});
}

// Coordinates of axes with different lengths; an inconsistent shape.
inline std::string check_coordinates() {
  std::vector<float> in = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, out(3);
  std::vector<uint16_t> index = {1, 4, 0, 3, 1, 0};
  const BNNSNDArrayDescriptor input = describe({BNNSDataLayout2DFirstMajor, {2, 5}}, in.data());
  BNNSNDArrayDescriptor indices =
      describe({BNNSDataLayout2DFirstMajor, {3, 2}}, index.data(), BNNSDataTypeUInt16);
  BNNSNDArrayDescriptor output = describe(vector_of(3), out.data());
  if (BNNSGatherND(&input, &indices, &output, nullptr) != 0) return failure();
  std::string problem = expect("output", out, {10, 4, 6});
  if (!problem.empty()) return problem;
  indices.size[0] = 2;
  const int status = BNNSGatherND(&input, &indices, &output, nullptr);
  return expect("status", std::vector<int>{status}, {-1003});
}

// Sums in Int8 saturate once; of floats they are rounded once.
inline std::string check_scatter_sums() {
  std::vector<int8_t> in = {100, 100, -90, 50}, out = {20, -100};
  std::vector<int64_t> index = {0, 0, 0, 1};
  const BNNSNDArrayDescriptor indices = describe(vector_of(4), index.data(), BNNSDataTypeInt64);
  BNNSNDArrayDescriptor input = describe(vector_of(4), in.data(), BNNSDataTypeInt8);
  BNNSNDArrayDescriptor output = describe(vector_of(2), out.data(), BNNSDataTypeInt8);
  if (BNNSScatter(0, BNNSReduceFunctionSum, &input, &indices, &output, nullptr) != 0)
    return failure();
  std::string problem = expect("output", out, {127, -50});
  if (!problem.empty()) return problem;
  std::vector<float> large = {0x1p30f, 1, -0x1p30f, 2}, sums = {0, 1};
  input = describe(vector_of(4), large.data());
  output = describe(vector_of(2), sums.data());
  if (BNNSScatter(0, BNNSReduceFunctionSum, &input, &indices, &output, nullptr) != 0)
    return failure();
  return expect("output", sums, {1, 3});
}

// A gradient of more than 8 MB, which is cleared past the caches. It begins at any float.
inline std::string check_large_gradient() {
  constexpr size_t kWidth = 257, kItems = 8300, kFirst = 3;
  const std::vector<int32_t> indices = {8299, 17, 0, 17, 4000};
  std::vector<float> items(kWidth * kItems), delta, dy(kWidth * indices.size());
  for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % 31);
  std::vector<float> right(kFirst + items.size());
  for (size_t j = 0; j < indices.size(); ++j)
    for (size_t i = 0; i < kWidth; ++i)
      right[kFirst + static_cast<size_t>(indices[j]) * kWidth + i] += dy[j * kWidth + i];
  const Shape rows{BNNSDataLayoutRowMajorMatrix, {kWidth, indices.size()}};
  BNNSLayerParametersEmbedding p = {};
  p.i_desc = describe(vector_of(indices.size()), nullptr, BNNSDataTypeInt32);
  p.o_desc = describe(rows, nullptr);
  p.dictionary = describe({BNNSDataLayoutRowMajorMatrix, {kWidth, kItems}}, items.data());
  p.padding_idx = SIZE_MAX;
  const BNNSNDArrayDescriptor out_delta = describe(rows, dy.data());
  for (const char* const* target = OpenBNNSGetSupportedTargets(); *target != nullptr; ++target) {
    OpenBNNSSetTarget(*target);
    for (const size_t threads : {1, 3}) {
      delta.assign(right.size(), -99);
      std::fill_n(delta.begin(), kFirst, 0.0f);
      BNNSNDArrayDescriptor weights_delta = p.dictionary;
      weights_delta.data = delta.data() + kFirst;
      const BNNSFilterParameters options = {BNNSFlagsUseClientPtr, threads, nullptr, nullptr};
      BNNSFilter filter = BNNSFilterCreateLayerEmbedding(&p, &options);
      const int status =
          BNNSFilterApplyBackwardBatch(filter, 1, indices.data(), 0, nullptr, 0, nullptr, 0,
                                       &out_delta, 0, &weights_delta, nullptr);
      BNNSFilterDestroy(filter);
      if (status != 0) return failure();
      if (delta != right) return std::string("wrong with target ") + *target;
    }
  }
  OpenBNNSSetTarget(nullptr);
  return "";
}

inline void add_lookup_checks(Suite& suite) {
  suite.checks.insert(suite.checks.end(),
                      {{"embedding/published/rows", check_published_embedding},
                       {"embedding/published/max_norm", check_published_max_norm},
                       {"embedding/large_gradient", check_large_gradient},
                       {"gather/published/gather", check_published_gather},
                       {"gather/published/scatter", check_published_scatter},
                       {"gather/coordinates", check_coordinates},
                       {"gather/sums", check_scatter_sums}});
}

}  // namespace spec
#endif

// Published numbers of clipping and norms.
#ifndef OPENBNNS_SPEC_CLIP_CHECKS_H
#define OPENBNNS_SPEC_CLIP_CHECKS_H

#include "runner/case.h"
#include "runner/published.h"
#include "runner/shapes.h"

namespace spec {

inline std::string check_published_clip_value() {
  std::vector<float> x = {-2, -0.5f, 0.5f, 3}, y(4);
  const BNNSNDArrayDescriptor src = describe(vector_of(4), x.data());
  BNNSNDArrayDescriptor dest = describe(vector_of(4), y.data());
  if (BNNSClipByValue(&dest, &src, -1, 1) != 0) return failure();
  return expect("dest", y, {-1, -0.5, 0.5, 1});
}

inline std::string check_published_clip_norm() {
  std::vector<float> x = {3, 4}, y(2);
  const BNNSNDArrayDescriptor src = describe(vector_of(2), x.data());
  BNNSNDArrayDescriptor dest = describe(vector_of(2), y.data());
  if (BNNSClipByNorm(&dest, &src, 2.5f, 0) != 0) return failure();
  const std::string problem = expect("dest", y, {1.5, 2});
  if (!problem.empty()) return problem;
  if (BNNSClipByNorm(&dest, &src, 10, 0) != 0) return failure();
  return expect("dest", y, {3, 4});
}

inline std::string check_published_clip_rows() {
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8, 9}, y(9);
  const Shape shape{BNNSDataLayoutRowMajorMatrix, {3, 3}};
  const BNNSNDArrayDescriptor src = describe(shape, x.data());
  BNNSNDArrayDescriptor dest = describe(shape, y.data());
  if (BNNSClipByNorm(&dest, &src, 10, 2) != 0) return failure();
  return expect("dest", y, {1, 2, 3, 4, 5, 6, 5.0257, 5.7437, 6.4616}, 0.5e-4);
}

inline std::string check_published_clip_global() {
  std::vector<float> x = {3, 4, 12}, y(3);
  const BNNSNDArrayDescriptor src[] = {describe(vector_of(2), x.data()),
                                       describe(vector_of(1), x.data() + 2)};
  BNNSNDArrayDescriptor dest[] = {describe(vector_of(2), y.data()),
                                  describe(vector_of(1), y.data() + 2)};
  const BNNSNDArrayDescriptor* from[] = {&src[0], &src[1]};
  BNNSNDArrayDescriptor* to[] = {&dest[0], &dest[1]};
  if (BNNSClipByGlobalNorm(to, from, 2, 6.5f, 0) != 0) return failure();
  const std::string problem = expect("dest", y, {1.5, 2, 6});
  if (!problem.empty()) return problem;
  if (BNNSClipByGlobalNorm(to, from, 2, 6.5f, 26) != 0) return failure();
  return expect("dest", y, {0.75, 1, 3});
}

inline std::string check_published_norms() {
  std::vector<float> x;
  for (float factor : {1.0f, 10.0f, 100.0f, 1000.0f})
    for (float v : {1.0f, 2.0f, 3.0f, 4.0f, 5.0f, 6.0f}) x.push_back(factor * v);
  const BNNSNDArrayDescriptor src = describe(image(3, 2, 4), x.data());
  // Beside the printed digits, half an ulp of the float itself.
  const auto wrong = [&](uint32_t axis_flags, const Shape& shape, double digits,
                         const std::vector<double>& published) {
    std::vector<float> y(published.size());
    BNNSNDArrayDescriptor dest = describe(shape, y.data());
    if (BNNSComputeNorm(&dest, &src, BNNSL2Norm, axis_flags) != 0) return failure();
    return expect("dest", y, published, digits + 0.0005);
  };
  std::string problem = wrong(7, vector_of(1), 0.5e-2, {9587.45});
  if (problem.empty())
    problem = wrong(4, {BNNSDataLayout2DLastMajor, {3, 2}}, 0.5e-2,
                    {1005.04, 2010.08, 3015.11, 4020.15, 5025.19, 6030.23});
  if (problem.empty()) problem = wrong(5, vector_of(2), 0.5e-3, {3760.507, 8819.171});
  if (!problem.empty()) return problem;
  std::vector<float> square = {3, 4, 12, 5}, y(2);
  const BNNSNDArrayDescriptor matrix =
      describe({BNNSDataLayout2DFirstMajor, {2, 2}}, square.data());
  BNNSNDArrayDescriptor dest = describe(vector_of(2), y.data());
  if (BNNSComputeNorm(&dest, &matrix, BNNSL2Norm, 1) != 0) return failure();
  problem = expect("dest", y, {12.369317, 6.4031243}, 0.5e-6);
  if (!problem.empty()) return problem;
  if (BNNSComputeNorm(&dest, &matrix, BNNSL2Norm, 2) != 0) return failure();
  return expect("dest", y, {5, 13});
}

inline std::string check_published_norm_backward() {
  std::vector<float> x = {3, 4}, y = {5}, dy = {2}, dx(2);
  BNNSNDArrayDescriptor in_delta = describe(vector_of(2), dx.data());
  const BNNSNDArrayDescriptor out_delta = describe(vector_of(1), dy.data());
  if (BNNSComputeNormBackward(x.data(), &in_delta, y.data(), &out_delta, BNNSL2Norm, 0) != 0)
    return failure();
  return expect("in_delta", dx, {1.2f, 1.6f});
}

inline void add_clip_checks(Suite& suite) {
  suite.checks.insert(suite.checks.end(),
                      {{"clip/published/value", check_published_clip_value},
                       {"clip/published/norm", check_published_clip_norm},
                       {"clip/published/rows", check_published_clip_rows},
                       {"clip/published/global", check_published_clip_global},
                       {"clip/published/compute_norm", check_published_norms},
                       {"clip/published/compute_norm_backward", check_published_norm_backward}});
}

}  // namespace spec
#endif

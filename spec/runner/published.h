// Small helpers for checks of published numbers and of statistics.
#ifndef OPENBNNS_SPEC_PUBLISHED_H
#define OPENBNNS_SPEC_PUBLISHED_H

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <openbnns/openbnns.h>

#include "runner/layout.h"

namespace spec {

inline BNNSNDArrayDescriptor describe(const Shape& shape, void* data,
                                      BNNSDataType type = BNNSDataTypeFloat32) {
  BNNSNDArrayDescriptor d = {};
  d.layout = shape.layout;
  std::copy(shape.size.begin(), shape.size.end(), d.size);
  d.data = data;
  d.data_type = type;
  d.data_scale = 1;
  return d;
}

inline std::string failure() {
  return std::string("failed: ") + OpenBNNSGetLastError();
}

// `digits` is the number of digits that the published numbers were printed with.
template <class T>
std::string expect(const char* what, const std::vector<T>& got,
                   const std::vector<double>& published, double digits = 0) {
  for (size_t i = 0; i < published.size(); ++i) {
    const double g = static_cast<double>(got[i]);
    if (std::abs(g - published[i]) <= digits) continue;
    char text[160];
    std::snprintf(text, sizeof text, "%s[%zu] is %.9g, published %.9g", what, i, g, published[i]);
    return text;
  }
  return "";
}

// Kolmogorov-Smirnov: the largest distance between the sample's distribution and F. The limit is
// exceeded once in 1e9 runs by a correct generator.
template <class F>
std::string expect_distribution(std::vector<double> sample, F distribution) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0;
  for (size_t i = 0; i < sample.size(); ++i) {
    const double f = distribution(sample[i]);
    const double below = static_cast<double>(i) / n;
    distance = std::max({distance, std::abs(f - below), std::abs(f - below - 1 / n)});
  }
  const double limit = std::sqrt(std::log(2e9) / 2 / n);
  if (distance <= limit) return "";
  char text[120];
  std::snprintf(text, sizeof text, "distribution is off by %.4f, limit %.4f", distance, limit);
  return text;
}

}  // namespace spec
#endif

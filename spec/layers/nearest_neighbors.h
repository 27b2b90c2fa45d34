// Nearest neighbours: of every sample i the k samples j of the smallest
//   d(i, j) = sqrt(sum over f of (x_if - x_jf)^2)
// in ascending order, of equal distances the lower index first, but i itself always first. Missing
// ones have index -1 and distance infinity.
#ifndef OPENBNNS_SPEC_NEAREST_NEIGHBORS_H
#define OPENBNNS_SPEC_NEAREST_NEIGHBORS_H

#include <limits>
#include <numeric>

#include "runner/case.h"
#include "runner/published.h"
#include "runner/shapes.h"

namespace spec::reference {

// Operands samples, distances, indices; the last one may be missing.
template <class T>
void nearest_neighbors(Values<T>& v) {
  const Array<T>& x = v.value[0];
  const size_t features = x.shape().size[0], n = x.shape().size[1];
  const size_t k = v.value[1].shape().size[0];
  for (size_t i = 0; i < n; ++i) {
    std::vector<T> distance(n);
    for (size_t j = 0; j < n; ++j) {
      Sum<T> sum;
      for (size_t f = 0; f < features; ++f) {
        const T difference = x.at(0, {i, f}) - x.at(0, {j, f});
        sum.add(difference, difference);
      }
      using std::sqrt;
      distance[j] = sqrt(sum.get());
    }
    std::vector<size_t> order(n);
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return b != i && (a == i || distance[a] < distance[b]);
    });
    for (size_t j = 0; j < k; ++j) {
      const bool found = j < n;
      v.value[1](0, i * k + j) =
          found ? distance[order[j]] : T(std::numeric_limits<double>::infinity());
      if (v.value.size() > 2)
        v.value[2](0, i * k + j) = T(found ? static_cast<double>(order[j]) : -1.0);
    }
  }
}

}  // namespace spec::reference

namespace spec {

// One sample in the first call, the others in the second, in a table with `spare` further places;
// asked for all at once, or one after the other.
inline int ask_neighbors(Call& call, size_t features, size_t n, size_t k, size_t spare, bool all,
                         bool indices) {
  const Argument &x = call.value[0], &distances = call.value[1];
  const size_t bytes = type_info(x.desc.data_type).bytes;
  auto* rows = static_cast<std::byte*>(x.desc.data);
  auto* to = static_cast<std::byte*>(distances.desc.data);
  int* places = indices ? static_cast<int*>(call.value[2].desc.data) : nullptr;
  const auto number = [](size_t value) { return static_cast<unsigned>(value); };
  BNNSNearestNeighbors knn = BNNSCreateNearestNeighbors(
      number(n + spare), number(features), number(k), x.desc.data_type, &call.parameters);
  if (knn == nullptr) return -1;
  int status = BNNSNearestNeighborsLoad(knn, 1, rows);
  if (status == 0) status = BNNSNearestNeighborsLoad(knn, number(n - 1), rows + features * bytes);
  if (all && status == 0) status = BNNSNearestNeighborsGetInfo(knn, -1, places, to);
  for (size_t i = 0; i < n && !all && status == 0; ++i) {
    status = BNNSNearestNeighborsGetInfo(
        knn, static_cast<int>(i), places == nullptr ? nullptr : places + i * k, to + i * k * bytes);
  }
  BNNSDestroyNearestNeighbors(knn);
  return status;
}

// Whole numbers, whose distances are exact, many of them equal, or any numbers, of which distances
// alone are compared: rounding may exchange neighbours.
inline Case neighbors_case(size_t n, size_t features, size_t k, bool whole, bool all) {
  Case c{.layer = "nearest_neighbors", .function = all ? "all" : "one"};
  c.shape = "n" + std::to_string(n) + "_f" + std::to_string(features) + "_k" + std::to_string(k) +
            (whole ? "_whole" : "");
  const Shape samples{BNNSDataLayoutRowMajorMatrix, {features, n}};
  const Shape results{BNNSDataLayoutRowMajorMatrix, {k, n}};
  c.operands = {{.name = "samples", .role = Role::kIn, .shape = samples, .packed = true},
                {.name = "distances", .role = Role::kOut, .shape = results, .packed = true}};
  if (whole) {
    c.operands[0].fill.choices = {-2, -1, 0, 1, 2};
    c.operands.push_back({.name = "indices", .role = Role::kOut, .shape = results, .packed = true});
  }
  c.forward = [](auto& v) { reference::nearest_neighbors(v); };
  c.apply = [=](Call& call) { return ask_neighbors(call, features, n, k, n % 3 * 7, all, whole); };
  for (BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16}) {
    TypeSet set = same_type(c, type, Need::kNone);
    if (whole) set.types[2] = {.type = BNNSDataTypeInt32};
    c.types.push_back(set);
  }
  c.thorough = false;
  return c;
}

inline std::string check_published_neighbors() {
  const float samples[] = {0, 1, 2, 10, 11};
  std::vector<int> indices(3);
  std::vector<float> distances(3);
  BNNSNearestNeighbors knn = BNNSCreateNearestNeighbors(5, 1, 3, BNNSDataTypeFloat32, nullptr);
  if (knn == nullptr) return failure();
  const bool ok = BNNSNearestNeighborsLoad(knn, 5, samples) == 0 &&
                  BNNSNearestNeighborsGetInfo(knn, 3, indices.data(), distances.data()) == 0;
  BNNSDestroyNearestNeighbors(knn);
  if (!ok) return failure();
  const std::string problem = expect("indices", indices, {3, 4, 2});
  return problem.empty() ? expect("distances", distances, {0, 1, 8}) : problem;
}

inline void add_nearest_neighbors(Suite& suite) {
  for (const bool all : {true, false}) {
    for (const bool whole : {true, false}) {
      for (size_t n = 1; n <= 40; n += n < 18 ? 1 : 5) {
        for (const size_t features : {size_t{1}, 1 + n % 7 * 5})
          for (const size_t k : {size_t{1}, 1 + n / 3, n + 2})
            suite.cases.push_back(neighbors_case(n, features, k, whole, all));
      }
      for (const size_t k : {5, 32, 33, 310})
        suite.cases.push_back(neighbors_case(300, 2, k, whole, all));
      // Several partial sums.
      for (const size_t features : {64, 65, 1100})
        suite.cases.push_back(neighbors_case(20, features, 4, whole, all));
    }
  }
  // Worth several threads.
  suite.cases.push_back(neighbors_case(600, 30, 6, true, true));
  suite.checks.push_back({"nearest_neighbors/published/line", check_published_neighbors});
}

}  // namespace spec
#endif

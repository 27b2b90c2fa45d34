// Top k and nearest neighbours: input data and right results.
#include "workloads/top_k.h"

#include <algorithm>
#include <cmath>

#include "harness/random.h"
#include "spec/layers/top_k.h"
#include "workloads/reference.h"

namespace bench {

TopK::TopK(size_t line_count, size_t column_count, size_t best, bool by_column)
    : lines(line_count),
      columns(column_count),
      k(best),
      along_columns(by_column),
      in(line_count * column_count) {
  // Values that differ: of equal ones, libraries choose as they like.
  Random random(lines + columns);
  const size_t n = in.size();
  for (size_t i = 0; i < n; ++i) in.data()[i] = float(i) / float(n) - 0.5f;
  for (size_t i = n; i > 1; --i)
    std::swap(in.data()[i - 1], in.data()[size_t(random.next() * double(i))]);
}

Row TopK::row(const std::string& op) const {
  const spec::Shape shape = {BNNSDataLayoutRowMajorMatrix, {columns, lines}};
  const spec::Shape best = {BNNSDataLayoutRowMajorMatrix,
                            {along_columns ? columns : k, along_columns ? k : lines}};
  const Tensor x = gather(shape, in), y(best, 1);
  Tensors values = {.batch = 1, .value = {x, y, y}, .delta = {}};
  spec::reference::top_k(values, along_columns ? 0 : 1, k);
  const double read = 4.0 * double(in.size()), written = 8.0 * double(results());
  Row row{.op = op, .read_bytes = read, .write_bytes = written, .working_set = read + written};
  row.expected.push_back(expect("values", values.value[1]));
  row.expected.push_back(expect("indices", values.value[2]));
  return row;
}

Neighbors::Neighbors(size_t sample_count, size_t feature_count, size_t neighbors)
    : samples(sample_count),
      features(feature_count),
      k(neighbors),
      in(sample_count * feature_count) {
  Random random(samples + features);
  random.fill(in, -1, 1);
}

// Some samples are checked. Products instead of differences, which libtorch sums, leave of small
// distances no more than the root of the rounding error.
Row Neighbors::row(const std::string& op) const {
  constexpr double kRelative = 1e-4, kOfZero = 0.01;
  const double read = 4.0 * double(in.size()), written = 8.0 * double(samples * k);
  Row row{.op = op,
          .flops = 3.0 * double(samples) * double(samples) * double(features),
          .read_bytes = read,
          .write_bytes = written,
          .working_set = read + written};
  Expected right{.tensor = "distances", .size = samples * k, .at = {}, .value = {}, .bound = {}};
  for (const size_t i : some_of(samples, std::min<size_t>(samples, 32))) {
    std::vector<double> distances(samples);
    for (size_t j = 0; j < samples; ++j) {
      double sum = 0;
      for (size_t f = 0; f < features; ++f) {
        const double d = double(in.data()[i * features + f]) - double(in.data()[j * features + f]);
        sum += d * d;
      }
      distances[j] = std::sqrt(sum);
    }
    std::sort(distances.begin(), distances.end());
    for (size_t j = 0; j < k; ++j) {
      right.at.push_back(i * k + j);
      right.value.push_back(distances[j]);
      right.bound.push_back(j == 0 ? kOfZero : kRelative * distances[j]);
    }
  }
  row.expected.push_back(std::move(right));
  return row;
}

namespace {

Workload top_k(size_t rows, size_t columns, size_t k, bool by_column) {
  const std::string size = std::to_string(rows) + "x" + std::to_string(columns);
  return {.family = "topk",
          .name = std::to_string(k) + " of " + (by_column ? "columns " : "rows ") + size,
          .ops = {"fwd"},
          .make = [=] { return std::make_unique<TopK>(rows, columns, k, by_column); }};
}

Workload neighbors(size_t samples, size_t features, size_t k) {
  return {.family = "topk",
          .name = "neighbors " + std::to_string(k) + " of " + std::to_string(samples) + "x" +
                  std::to_string(features),
          .ops = {"all"},
          .make = [=] { return std::make_unique<Neighbors>(samples, features, k); }};
}

}  // namespace

void append_top_k(std::vector<Workload>& list, bool quick) {
  list.push_back(top_k(256, 1000, 5, false));
  list.push_back(top_k(256, 1000, 1, false));
  list.push_back(top_k(256, 1000, 100, false));
  list.push_back(top_k(1000, 256, 5, true));
  list.push_back(neighbors(quick ? 512 : 4096, 64, 8));
}

}  // namespace bench

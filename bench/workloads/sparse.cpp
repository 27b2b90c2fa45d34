// Sparse weights: the matrix, and its elements that are not 0.
#include "workloads/sparse.h"

#include "harness/random.h"

namespace bench {

Sparse::Sparse(size_t batch_size, size_t in_size, size_t out_size, int percent_zeros)
    : dense(batch_size, in_size, out_size) {
  Random random(in_size + size_t(percent_zeros));
  for (size_t o = 0; o < out_size; ++o) {
    starts.push_back(int32_t(values.size()));
    for (size_t i = 0; i < in_size; ++i) {
      float& w = dense.weights.data()[o * in_size + i];
      if (100 * random.next() < percent_zeros) w = 0;
      if (w == 0) continue;
      values.push_back(w);
      columns.push_back(int32_t(i));
    }
  }
  starts.push_back(int32_t(values.size()));
}

Row Sparse::row(const std::string& op) const {
  Row row = dense.row(op);
  const double weights = double(values.size());
  const double saved = 4.0 * double(dense.weights.size()) - 8 * weights;
  row.flops = 2 * weights * double(dense.batch);
  row.read_bytes -= saved;
  row.working_set -= saved;
  return row;
}

void append_sparse(std::vector<Workload>& list, bool quick) {
  const auto append = [&](size_t batch, size_t n, int zeros) {
    std::string name = "b" + std::to_string(batch);
    name += " " + std::to_string(n) + "->" + std::to_string(n);
    name += " " + std::to_string(zeros) + "% zeros";
    list.push_back({.family = "sparse", .name = name, .ops = {"fwd"}, .make = [=] {
                      return std::make_unique<Sparse>(batch, n, n, zeros);
                    }});
  };
  if (quick) {
    for (const size_t batch : {1, 4, 32}) append(batch, 256, 95);
    return;
  }
  for (const size_t n : {256, 512, 2048})
    for (const size_t batch : {1, 4, 32}) append(batch, n, 90);
  for (const int zeros : {90, 95, 99})
    for (const size_t batch : {1, 4, 32, 256}) append(batch, 1024, zeros);
}

}  // namespace bench

// The family reduction: out = sum, mean, maximum, Euclidean norm or ln sum e^x of the rows or
// columns of a matrix, or of all of it. Operations: fwd, bwd; of the maximum, whose
// gradient needs to know where it is: fwd, fwd+bwd.
#pragma once

#include "workloads/workloads.h"

namespace bench {

enum class ReductionFunction { kSum, kMean, kMax, kL2Norm, kLogSumExp };

struct Reduction final : Problem {
  // Axis 0 counts rows: reducing it leaves one value for each column.
  Reduction(ReductionFunction f, bool rows, bool columns, size_t row_count, size_t column_count);
  void offer(Peer& peer, Rows& rows) const override { peer.reduction(*this, rows); }
  Row row(const std::string& op) const override;

  size_t out_height() const { return over_rows ? 1 : height; }
  size_t out_width() const { return over_columns ? 1 : width; }

  ReductionFunction function;
  bool over_rows, over_columns;
  size_t height, width;
  Buffer in, out_delta;
};

void append_reductions(std::vector<Workload>& list, bool quick);

void add_our_reduction(const Reduction& p, int threads, Rows& rows);
void add_torch_reduction(const Reduction& p, Rows& rows);

}  // namespace bench

// Reductions: input data and right results.
#include "workloads/reduction.h"

#include "harness/random.h"
#include "spec/layers/reduction.h"
#include "workloads/reference.h"

namespace bench {
namespace {

constexpr const char* kNames[] = {"sum", "mean", "max", "l2", "logsumexp"};
constexpr BNNSReduceFunction kFunctions[] = {BNNSReduceFunctionSum, BNNSReduceFunctionMean,
                                             BNNSReduceFunctionMax, BNNSReduceFunctionL2Norm,
                                             BNNSReduceFunctionLogSumExp};

spec::Shape matrix(size_t height, size_t width) {
  return {BNNSDataLayoutRowMajorMatrix, {width, height}};
}

}  // namespace

Reduction::Reduction(ReductionFunction f, bool rows, bool columns, size_t row_count,
                     size_t column_count)
    : function(f),
      over_rows(rows),
      over_columns(columns),
      height(row_count),
      width(column_count),
      in(height * width),
      out_delta(out_height() * out_width()) {
  Random random(height + width + size_t(f));
  random.fill(in, -1, 1);
  random.fill(out_delta, -1, 1);
}

Row Reduction::row(const std::string& op) const {
  const bool forward = op == "fwd";
  const double x = 4.0 * double(in.size()), y = 4.0 * double(out_delta.size());
  Row row{.op = op,
          .flops = double(in.size()),
          .read_bytes = forward ? x : x + y,
          .write_bytes = forward ? y : x,
          .working_set = forward ? x + y : 2 * x + y};
  const spec::Shape all = matrix(height, width), kept = matrix(out_height(), out_width());
  const Tensor values = gather(all, in), delta = gather(kept, out_delta);
  Tensors tensors = {.batch = 1, .value = {values, delta}, .delta = {values, delta}};
  const spec::reference::Reduction layer(kFunctions[size_t(function)], all, kept, false);
  if (op != "bwd") {
    layer.forward(tensors);
    row.expected.push_back(expect("out", tensors.value[1]));
  }
  if (!forward) {
    layer.backward(tensors);
    row.expected.push_back(expect("in_delta", tensors.delta[0]));
  }
  return row;
}

void append_reductions(std::vector<Workload>& list, bool quick) {
  const size_t side = quick ? 256 : 1024;
  const std::string text = std::to_string(side);
  const std::string size = " " + text + "x" + text + " ";
  for (const auto f : {ReductionFunction::kSum, ReductionFunction::kMean, ReductionFunction::kMax,
                       ReductionFunction::kL2Norm, ReductionFunction::kLogSumExp}) {
    const auto add = [&](const char* axes, bool rows, bool columns) {
      list.push_back(
          {.family = "reduction",
           .name = kNames[size_t(f)] + size + axes,
           .ops = {"fwd", f == ReductionFunction::kMax ? "fwd+bwd" : "bwd"},
           .make = [=] { return std::make_unique<Reduction>(f, rows, columns, side, side); }});
    };
    add("inner", false, true);
    add("outer", true, false);
    add("all", true, true);
  }
}

}  // namespace bench

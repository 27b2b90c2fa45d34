#include "ops/resize/resize.h"

#include "ops/resize/pass.h"

namespace bnns::impl {

ResizeOp::ResizeOp(const Memory& memory, size_t threads, const ResizeProblem& problem)
    : threads_(threads),
      rank_(problem.rank),
      kernels_(resize_kernels()),
      convert_(convert_kernels()) {
  for (size_t k = 0; k < rank_; ++k) {
    Axis& axis = axis_[k];
    axis.in = problem.in_axis[k];
    const size_t sources = problem.in[axis.in], targets = problem.out[k];
    if (sources == targets) continue;
    axis.forward = forward_map(memory, problem.rule, sources, targets);
    axis.backward = transposed_map(memory, axis.forward);
  }
}

namespace {

ResizePass pass_of(const Batch& from, const Batch& to, bool accumulate) {
  return {.kernels = nullptr,
          .convert = nullptr,
          .from = from.data,
          .to = to.data,
          .from_type = from.sample->type,
          .to_type = to.sample->type,
          .accumulate = accumulate,
          .rank = 0,
          .axis = {}};
}

ResizeAxis axis_of(const View& from, size_t source, const View& to, size_t target,
                   const AxisMap& map) {
  return {.targets = to.extent[target],
          .sources = from.extent[source],
          .to_stride = to.stride[target],
          .from_stride = from.stride[source],
          .map = map ? &map : nullptr};
}

// The batch is the slowest axis. A pass has at least one axis.
void run(ResizePass& pass, const Batch& from, const Batch& to, size_t threads) {
  pass.push({.targets = to.size,
             .sources = to.size,
             .to_stride = to.step,
             .from_stride = from.step,
             .map = nullptr});
  if (pass.rank == 0) pass.axis[pass.rank++] = {1, 1, 1, 1, nullptr};
  pass.run(threads);
}

}  // namespace

void ResizeOp::forward(const Batch& x, const Batch& y) const {
  ResizePass pass = pass_of(x, y, false);
  pass.kernels = kernels_;
  pass.convert = convert_;
  for (size_t k = 0; k < rank_; ++k)
    pass.push(axis_of(*x.sample, axis_[k].in, *y.sample, k, axis_[k].forward));
  run(pass, x, y, threads_);
}

void ResizeOp::backward(const Batch& dy, const Gradient& dx) const {
  ResizePass pass = pass_of(dy, dx, dx.accumulate);
  pass.kernels = kernels_;
  pass.convert = convert_;
  for (size_t i = 0; i < rank_; ++i) {
    size_t k = 0;
    while (axis_[k].in != i) ++k;
    pass.push(axis_of(*dy.sample, k, *dx.sample, i, axis_[k].backward));
  }
  run(pass, dy, dx, threads_);
}

}  // namespace bnns::impl

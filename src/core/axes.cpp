#include "core/axes.h"

namespace bnns::impl {

void Axes::push_collapsed(const Axis& axis) {
  if (axis.extent == 1) return;
  if (rank_ > 0) {
    Axis& last = axis_[rank_ - 1];
    bool line = axis.reduced == last.reduced;
    for (size_t t = 0; t < kMaxAxesTensors; ++t)
      line &= axis.stride[t] == last.stride[t] * static_cast<ptrdiff_t>(last.extent);
    if (line) {
      last.extent *= axis.extent;
      count_ *= axis.extent;
      return;
    }
  }
  push(axis);
}

Axes collapsed(const Axes& axes) {
  Axes result;
  for (size_t k = 0; k < axes.rank(); ++k) result.push_collapsed(axes[k]);
  return result;
}

View view_of(const Axes& axes, size_t tensor) {
  View view;
  view.rank = axes.rank();
  view.count = axes.count();
  for (size_t k = 0; k < view.rank; ++k) {
    view.extent[k] = axes[k].extent;
    view.stride[k] = static_cast<size_t>(axes[k].stride[tensor]);
  }
  return collapsed(view);
}

}  // namespace bnns::impl

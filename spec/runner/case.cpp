// Drawing the numbers of an operand, and the generic filter calls.
#include "runner/case.h"

#include <cmath>

namespace spec {

bool Fill::near_kink(double v, double margin) const {
  for (double kink : kinks)
    if (std::abs(v - kink) < margin) return true;
  return false;
}

double Fill::draw(Random& random) const {
  if (!choices.empty()) return choices[random.next() % choices.size()];
  double v = random.uniform(lo, hi);
  while (near_kink(v)) v = random.uniform(lo, hi);
  return v;
}

int apply_filter(Call& call) {
  const Argument& in = call.value[0];
  const Argument& out = call.value[1];
  if (call.batch == 1) return BNNSFilterApply(call.filter, in.data(), out.data());
  return BNNSFilterApplyBatch(call.filter, call.batch, in.data(), in.stride, out.data(),
                              out.stride);
}

int apply_filter_backward(Call& call) {
  const Argument& in = call.value[0];
  const Argument& out = call.value[1];
  const bool has_weights = call.delta.size() > 2, has_bias = call.delta.size() > 3;
  return BNNSFilterApplyBackwardBatch(call.filter, call.batch, in.data(), in.stride,
                                      call.delta[0].pointer(), call.delta[0].stride, out.data(),
                                      out.stride, call.delta[1].pointer(), call.delta[1].stride,
                                      has_weights ? call.delta[2].pointer() : nullptr,
                                      has_bias ? call.delta[3].pointer() : nullptr);
}

}  // namespace spec

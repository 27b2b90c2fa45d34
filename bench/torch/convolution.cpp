// Convolution with libtorch's operators, which return fresh tensors; autograd off.
#include <tuple>

#include "workloads/convolution.h"
#include "torch/entry.h"

namespace bench {
namespace {

using at::Tensor;

struct Call {
  Tensor x, w, b, dy, y;
  std::vector<int64_t> stride, pad, one, none;
  int64_t groups;
  Fused fused;

  Tensor forward() const {
    return activate(fused, at::convolution(x, w, b, stride, pad, one, false, none, groups));
  }
  std::tuple<Tensor, Tensor, Tensor> backward(bool to_input, bool to_weights) const {
    return at::convolution_backward(times_slope(fused, dy, y), x, w, b.sizes(), stride, pad, one,
                                    false, none, groups, {to_input, to_weights, to_weights});
  }
};

Entry entry(const Call& c, bool forward, bool to_input, bool to_weights) {
  const auto run = [=] {
    Tensor y;
    std::tuple<Tensor, Tensor, Tensor> deltas;
    if (forward) y = c.forward();
    if (to_input || to_weights) deltas = c.backward(to_input, to_weights);
    return std::make_tuple(y, deltas);
  };
  return {.who = "torch",
          .run = without_autograd(run),
          .results =
              [=] {
                c10::InferenceMode guard;
                const auto [y, deltas] = run();
                std::vector<Result> list;
                if (forward) list.push_back(to_result("out", y));
                if (to_input) list.push_back(to_result("in_delta", std::get<0>(deltas)));
                if (to_weights) {
                  list.push_back(to_result("weights_delta", std::get<1>(deltas)));
                  list.push_back(to_result("bias_delta", std::get<2>(deltas)));
                }
                return list;
              },
          .note = ""};
}

}  // namespace

void add_torch_convolution(const Convolution& p, Rows& rows) {
  const ConvolutionShape& s = p.shape;
  const int64_t n = int64_t(s.batch), k = int64_t(s.kernel), side = int64_t(s.side),
                o = int64_t(s.out_side());
  const Call c = {
      .x = view(p.in, {n, int64_t(s.inputs), side, side}),
      .w = view(p.weights, {int64_t(s.outputs), int64_t(s.inputs / s.groups), k, k}),
      .b = view(p.bias, {int64_t(s.outputs)}),
      .dy = view(p.out_delta, {n, int64_t(s.outputs), o, o}),
      .y = s.fused == Fused::kNone ? Tensor() : view(p.out, {n, int64_t(s.outputs), o, o}),
      .stride = std::vector<int64_t>(2, int64_t(s.stride)),
      .pad = std::vector<int64_t>(2, int64_t(s.pad)),
      .one = {1, 1},
      .none = {0, 0},
      .groups = int64_t(s.groups),
      .fused = s.fused};
  rows.add("fwd", entry(c, true, false, false));
  if (s.fused != Fused::kNone) return rows.add("bwd", entry(c, false, true, true));
  rows.add("bwd_data", entry(c, false, true, false));
  rows.add("bwd_weights", entry(c, false, false, true));
  rows.add("fwd+bwd", entry(c, true, true, true));
}

}  // namespace bench

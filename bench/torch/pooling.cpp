// Pooling with libtorch's operators into tensors made beforehand, autograd off.
#include "workloads/pooling.h"
#include "torch/entry.h"

namespace bench {

using at::Tensor;

void add_torch_pooling(const Pooling& p, Rows& rows) {
  c10::InferenceMode guard;
  const PoolingWindow& w = p.window;
  const int64_t n = int64_t(p.batch), c = int64_t(p.channels), s = int64_t(p.side),
                o = int64_t(p.out_side());
  const Tensor x = view(p.in, {n, c, s, s}), dy = view(p.out_delta, {n, c, o, o});
  const std::vector<int64_t> kernel(2, int64_t(w.kernel)), stride(2, int64_t(w.stride)),
      pad(2, int64_t(w.pad)), one(2, 1);
  const Fused f = w.fused;
  const Tensor right = f == Fused::kNone ? Tensor() : view(p.out, {n, c, o, o});
  Tensor y = at::empty({n, c, o, o}), dx = at::empty({n, c, s, s});
  if (w.max) {
    Tensor index = at::empty({n, c, o, o}, at::kLong);
    const auto forward = [=]() mutable {
      at::max_pool2d_with_indices_out(y, index, x, kernel, stride, pad, one, false);
      activate(f, y);
    };
    auto first = forward;
    first();
    rows.add("fwd", into({{"out", y}}, forward));
    rows.add("bwd", into({{"in_delta", dx}}, [=]() mutable {
               at::max_pool2d_with_indices_backward_out(dx, times_slope(f, dy, right), x, kernel,
                                                        stride, pad, one, false, index);
             }));
    return;
  }
  rows.add("fwd", into({{"out", y}}, [=]() mutable {
             at::avg_pool2d_out(y, x, kernel, stride, pad, false, true);
             activate(f, y);
           }));
  rows.add("bwd", into({{"in_delta", dx}}, [=]() mutable {
             at::avg_pool2d_backward_out(dx, times_slope(f, dy, right), x, kernel, stride, pad,
                                         false, true, c10::nullopt);
           }));
}

}  // namespace bench

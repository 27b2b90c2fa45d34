// Resizing with libtorch's operators into tensors made beforehand, autograd off.
#include "workloads/resize.h"
#include "torch/entry.h"

namespace bench {

using at::Tensor;

void add_torch_resize(const Resize& p, Rows& rows) {
  c10::InferenceMode guard;
  const int64_t n = int64_t(p.batch), c = int64_t(p.channels), s = int64_t(p.side),
                o = int64_t(p.out_side());
  const Tensor x = view(p.in, {n, c, s, s}), dy = view(p.out_delta, {n, c, o, o});
  const std::vector<int64_t> in = {n, c, s, s}, out = {o, o};
  Tensor y = at::empty({n, c, o, o}), dx = at::empty({n, c, s, s});
  const bool linear = p.linear;
  rows.add("fwd", into({{"out", y}}, [=]() mutable {
             if (linear) {
               at::upsample_bilinear2d_out(y, x, out, false);
             } else {
               at::upsample_nearest2d_out(y, x, out);
             }
           }));
  rows.add("bwd", into({{"in_delta", dx}}, [=]() mutable {
             if (linear) {
               at::upsample_bilinear2d_backward_out(dx, dy, out, in, false);
             } else {
               at::upsample_nearest2d_backward_out(dx, dy, out, in);
             }
           }));
}

}  // namespace bench

// Products of matrices with lib_turnedorch: bmm into given tensors.
#include "workloads/matmul.h"

#include "torch/entry.h"

namespace bench {

void add_torch_matmul(const MatMul& p, Rows& rows) {
  const auto count = int64_t(p.count), n = int64_t(p.size);
  const at::Tensor a = view(p.a, {count, n, n}), b = view(p.b, {count, n, n}),
                   dc = view(p.out_delta, {count, n, n});
  const at::Tensor a_turned = a.transpose(1, 2), b_turned = b.transpose(1, 2);
  at::Tensor out = at::empty({count, n, n}), da = at::empty({count, n, n}),
             db = at::empty({count, n, n});
  rows.add("fwd", into({{"out", out}}, [=]() mutable { at::bmm_out(out, a, b); }));
  rows.add("bwd", into({{"a_delta", da}, {"b_delta", db}}, [=]() mutable {
             at::bmm_out(da, dc, b_turned);
             at::bmm_out(db, a_turned, dc);
           }));
}

}  // namespace bench

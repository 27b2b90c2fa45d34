// A linear layer with sparse weights in libtorch: the product of a matrix in compressed rows and
// the transposed samples.
#include "workloads/sparse.h"

#include "torch/entry.h"

namespace bench {

using at::Tensor;

void add_torch_sparse(const Sparse& p, Rows& rows) {
  const FullyConnected& d = p.dense;
  const int64_t batch = int64_t(d.batch), ni = int64_t(d.inputs), no = int64_t(d.outputs);
  const Tensor x = view(d.in, {batch, ni}), b = view(d.bias, {no});
  const Tensor bias = b.unsqueeze(1).expand({no, batch}), xt = x.t();
  const int64_t count = int64_t(p.values.size());
  const Tensor rows_of_w =
      at::sparse_csr_tensor(at::tensor(p.starts, at::kInt), at::tensor(p.columns, at::kInt),
                            at::from_blob(const_cast<float*>(p.values.data()), {count}, at::kFloat),
                            {no, ni}, at::TensorOptions().dtype(at::kFloat).layout(at::kSparseCsr));
  const auto product = [=] { return at::addmm(bias, rows_of_w, xt).t(); };
  rows.add("fwd", {.who = "torch",
                   .run = without_autograd(product),
                   .results =
                       [=] {
                         c10::InferenceMode guard;
                         return std::vector<Result>{to_result("out", product())};
                       },
                   .note = ""});
}

}  // namespace bench

// Top k and nearest neighbours with libtorch's operators, autograd off. Distances come from
// products of matrices ("torch"), as libtorch chooses for so many, or from differences
// ("torch-exact").
#include "workloads/top_k.h"
#include "torch/entry.h"

namespace bench {

using at::Tensor;

void add_torch_top_k(const TopK& p, Rows& rows) {
  c10::InferenceMode guard;
  const int64_t k = int64_t(p.k), dim = p.along_columns ? 0 : 1;
  const Tensor x = view(p.in, {int64_t(p.lines), int64_t(p.columns)});
  Tensor values = at::empty({0}), indices = at::empty({0}, at::kLong);
  auto call = [=]() mutable { at::topk_out(values, indices, x, k, dim, true, true); };
  rows.add("fwd", {.who = "torch-out",
                   .run = without_autograd(call),
                   .results =
                       [=]() mutable {
                         c10::InferenceMode inner;
                         call();
                         return std::vector<Result>{to_result("values", values),
                                                    to_result("indices", indices.to(at::kFloat))};
                       },
                   .note = ""});
}

void add_torch_neighbors(const Neighbors& p, Rows& rows) {
  const Tensor x = view(p.in, {int64_t(p.samples), int64_t(p.features)});
  const int64_t k = int64_t(p.k);
  for (const bool exact : {false, true}) {
    const int64_t mode = exact ? 2 : 0;
    const auto call = [=] { return at::topk(at::cdist(x, x, 2, mode), k, 1, false, true); };
    rows.add("all", {.who = exact ? "torch-exact" : "torch",
                     .run = without_autograd(call),
                     .results =
                         [=] {
                           c10::InferenceMode inner;
                           return std::vector<Result>{to_result("distances", std::get<0>(call()))};
                         },
                     .note = ""});
  }
}

}  // namespace bench

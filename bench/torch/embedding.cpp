// Embeddings and gather with libtorch: its operators, and the same into given tensors.
#include "workloads/embedding.h"

#include "torch/entry.h"

namespace bench {

namespace {

template <class F>
Entry fresh(const char* tensor, F call) {
  return {.who = "torch",
          .run = without_autograd(call),
          .results =
              [=] {
                c10::InferenceMode guard;
                return std::vector<Result>{to_result(tensor, call())};
              },
          .note = ""};
}

}  // namespace

void add_torch_embedding(const Embedding& p, Rows& rows) {
  const auto n = int64_t(p.indices.size()), items = int64_t(p.items), width = int64_t(p.width);
  const at::Tensor table = view(p.dictionary, {items, width}), dy = view(p.out_delta, {n, width});
  const at::Tensor indices = at::from_blob(const_cast<int64_t*>(p.indices.data()), {n}, at::kLong);
  at::Tensor out = at::empty({n, width}), delta = at::empty({items, width});
  if (p.layer) {
    rows.add("fwd", fresh("out", [=] { return at::embedding(table, indices); }));
    rows.add("bwd", fresh("weights_delta", [=] {
               return at::embedding_dense_backward(dy, indices, items, -1, false);
             }));
    rows.add("bwd", into({{"weights_delta", delta}}, [=]() mutable {
               delta.zero_();
               delta.index_add_(0, indices, dy);
             }));
  } else {
    rows.add("fwd", fresh("out", [=] { return at::index_select(table, 0, indices); }));
  }
  rows.add("fwd",
           into({{"out", out}}, [=]() mutable { at::index_select_out(out, table, 0, indices); }));
}

}  // namespace bench

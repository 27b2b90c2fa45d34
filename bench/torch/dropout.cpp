// Dropout with libtorch: the operator of training, which returns output and mask, and its gradient;
// and the same as operators into tensors made beforehand.
#include "workloads/dropout.h"

#include "torch/entry.h"

namespace bench {
namespace {
using at::Tensor;

constexpr double kRate = double(Dropout::kRate), kScale = 1 / (1 - kRate);

template <class F>
Entry entry(const Dropout& p, const char* who, const Buffer& from, F call) {
  return {.who = who,
          .run = without_autograd(call),
          .results =
              [call, &p, &from]() mutable {
                c10::InferenceMode guard;
                return p.results(from, Tensor(call()).contiguous().data_ptr<float>());
              },
          .note = ""};
}

}  // namespace

void add_torch_dropout(const Dropout& p, Rows& rows) {
  const int64_t n = int64_t(p.n);
  const Tensor x = view(p.in, {n}), dy = view(p.out_delta, {n});
  const Tensor kept = std::get<1>(at::native_dropout(x, kRate, true));
  Tensor y = at::empty_like(x), dx = at::empty_like(x), mask = at::empty_like(x);
  mask.bernoulli_(1 - kRate).mul_(kScale);
  rows.add("fwd", entry(p, "torch", p.in,
                        [=] { return std::get<0>(at::native_dropout(x, kRate, true)); }));
  rows.add("fwd", entry(p, "torch-out", p.in, [=]() mutable -> Tensor {
             mask.bernoulli_(1 - kRate).mul_(kScale);
             return at::mul_out(y, x, mask);
           }));
  rows.add("bwd", entry(p, "torch", p.out_delta,
                        [=] { return at::native_dropout_backward(dy, kept, kScale); }));
  rows.add("bwd", entry(p, "torch-out", p.out_delta,
                        [=]() mutable -> Tensor { return at::mul_out(dx, dy, mask); }));
}

}  // namespace bench

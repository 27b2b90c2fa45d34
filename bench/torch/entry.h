// What the files that call libtorch share: tensors over the user's memory, and entries.
#pragma once

#include <ATen/ATen.h>
#include <c10/core/InferenceMode.h>

#include <functional>
#include <string>
#include <vector>

#include "harness/harness.h"
#include "workloads/workloads.h"

namespace bench {

inline at::Tensor view(const Buffer& buffer, at::IntArrayRef sizes) {
  return at::from_blob(buffer.data(), sizes, at::kFloat);
}

inline Result to_result(const char* tensor, const at::Tensor& value) {
  const at::Tensor dense = value.contiguous();
  const float* data = dense.data_ptr<float>();
  return {.tensor = tensor, .value = {data, data + dense.numel()}};
}

// A fused activation, applied in place; and dy times its slope, taken from the output.
inline at::Tensor activate(Fused f, at::Tensor z) {
  if (f == Fused::kRelu) z.relu_();
  if (f == Fused::kTanh) z.tanh_();
  return z;
}
inline at::Tensor times_slope(Fused f, const at::Tensor& dy, const at::Tensor& y) {
  if (f == Fused::kNone) return dy;
  return f == Fused::kRelu ? at::threshold_backward(dy, y, 0) : at::tanh_backward(dy, y);
}

template <class F>
std::function<void(long)> without_autograd(F call) {
  return [call](long n) mutable {
    c10::InferenceMode guard;
    for (long i = 0; i < n; ++i) call();
  };
}

struct Named {
  const char* tensor;
  at::Tensor value;
};

// `call` writes into the given tensors.
template <class F>
Entry into(std::vector<Named> outputs, F call, std::string who = "torch-out") {
  return {.who = std::move(who),
          .run = without_autograd(call),
          .results =
              [call, outputs]() mutable {
                c10::InferenceMode guard;
                call();
                std::vector<Result> results;
                for (const Named& o : outputs) results.push_back(to_result(o.tensor, o.value));
                return results;
              },
          .note = ""};
}

void add_torch_dropout(const Dropout& p, Rows& rows);
void add_torch_loss(const Loss& p, Rows& rows);
void add_torch_image_loss(const ImageLoss& p, Rows& rows);
void add_torch_optimizer(const Optimizer& p, Rows& rows);
void add_torch_sparse(const Sparse& p, Rows& rows);

}  // namespace bench

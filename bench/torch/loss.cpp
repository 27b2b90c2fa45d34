// Losses with libtorch, each as operators into tensors made beforehand and through autograd. The
// softmax loss takes the dense labels everybody has and, as "torch-index", class numbers: less to
// read, the same result.
#include "torch/entry.h"
#include "workloads/image_loss.h"
#include "workloads/workloads.h"

namespace bench {
namespace {
using at::Tensor;

constexpr int64_t kMean = at::Reduction::Mean;
constexpr int64_t kNoIgnoredClass = -100;

template <class F>
Entry autograd(const Tensor& x, F loss, std::string who) {
  const Tensor xg = x.detach().set_requires_grad(true);
  const auto step = [=] {
    xg.mutable_grad().reset();
    const Tensor value = loss(xg);
    value.backward();
    return value;
  };
  return {.who = std::move(who),
          .run = repeated([=] { step(); }),
          .results =
              [=] {
                const Tensor value = step();
                return std::vector<Result>{to_result("out", value.detach()),
                                           to_result("in_delta", xg.grad())};
              },
          .note = ""};
}

void add_softmax(const Loss& p, Rows& rows) {
  const int64_t count = int64_t(p.count), width = int64_t(p.width);
  const Tensor x = view(p.in, {count, width}), t = view(p.labels, {count, width});
  const double mean = 1 / double(p.count);
  const Tensor classes = at::tensor(p.classes, at::kLong), one = at::ones({});
  const Tensor flat_labels = t.view({-1});
  Tensor log_p = at::empty_like(x), flat_log_p = log_p.view({-1}), dx = at::empty_like(x);
  Tensor loss = at::empty({}), total = at::empty({}), dlog_p = at::empty_like(x);
  rows.add("fwd+bwd", into({{"out", loss}, {"in_delta", dx}}, [=]() mutable {
             at::_log_softmax_out(log_p, x, 1, false);
             at::dot_out(loss, flat_log_p, flat_labels).mul_(-mean);
             at::exp_out(dx, log_p).sub_(t).mul_(mean);
           }));
  rows.add("fwd+bwd", autograd(
                          x, [=](const Tensor& in) { return at::cross_entropy_loss(in, t); },
                          "torch-autograd"));
  rows.add("fwd+bwd", into(
                          {{"out", loss}, {"in_delta", dx}},
                          [=]() mutable {
                            at::_log_softmax_out(log_p, x, 1, false);
                            at::nll_loss_forward_out(loss, total, log_p, classes, {}, kMean,
                                                     kNoIgnoredClass);
                            at::nll_loss_backward_out(dlog_p, one, log_p, classes, {}, kMean,
                                                      kNoIgnoredClass, total);
                            at::_log_softmax_backward_data_out(dx, dlog_p, log_p, 1, at::kFloat);
                          },
                          "torch-index"));
  rows.add("fwd+bwd", autograd(
                          x, [=](const Tensor& in) { return at::cross_entropy_loss(in, classes); },
                          "torch-index-autograd"));
}

// `both` keeps the loss of each element in in_delta until the gradient replaces it: a reduction
// inside the operators would allocate that tensor at every call.
struct Operators {
  Tensor (*loss)(const Tensor& in, const Tensor& labels);  // for autograd
  void (*both)(Tensor& out, Tensor& in_delta, const Tensor& in, const Tensor& labels,
               const Tensor& one);
};

constexpr double kHuberDelta = double(Loss::kHuberDelta);

constexpr Operators kOperators[] = {
    // in the order of LossFunction, from the second on
    {[](const Tensor& x, const Tensor& t) { return at::binary_cross_entropy_with_logits(x, t); },
     // mean(softplus(x) - x t): fewer passes than the operator made for it
     [](Tensor& y, Tensor& dx, const Tensor& x, const Tensor& t, const Tensor&) {
       const double mean = 1 / double(x.numel());
       at::mean_out(y, at::softplus_out(dx, x), at::IntArrayRef{});
       y.sub_(at::dot(x, t), mean);
       at::sigmoid_out(dx, x).sub_(t).mul_(mean);
     }},
    {[](const Tensor& x, const Tensor& t) { return at::mse_loss(x, t); },
     [](Tensor& y, Tensor& dx, const Tensor& x, const Tensor& t, const Tensor& one) {
       at::mean_out(y, at::mse_loss_out(dx, x, t, at::Reduction::None), at::IntArrayRef{});
       at::mse_loss_backward_out(dx, one, x, t, kMean);
     }},
    {[](const Tensor& x, const Tensor& t) { return at::huber_loss(x, t, kMean, kHuberDelta); },
     [](Tensor& y, Tensor& dx, const Tensor& x, const Tensor& t, const Tensor& one) {
       at::mean_out(y, at::huber_loss_out(dx, x, t, at::Reduction::None, kHuberDelta),
                    at::IntArrayRef{});
       at::huber_loss_backward_out(dx, one, x, t, kMean, kHuberDelta);
     }},
};

}  // namespace

// The gradient alone, of all images as one tensor: soft-max minus labels, and through autograd.
void add_torch_image_loss(const ImageLoss& image, Rows& rows) {
  const Loss& p = image.loss;
  const int64_t count = int64_t(p.count), width = int64_t(p.width);
  const Tensor x = view(p.in, {count, width}), t = view(p.labels, {count, width});
  const double mean = 1 / double(p.count);
  Tensor dx = at::empty_like(x);
  rows.add("bwd", into({{"in_delta", dx}}, [=]() mutable {
             at::_softmax_out(dx, x, 1, false);
             dx.sub_(t).mul_(mean);
           }));
  const Tensor xg = x.detach().set_requires_grad(true);
  const auto step = [=] {
    xg.mutable_grad().reset();
    at::cross_entropy_loss(xg, t).backward();
  };
  rows.add("bwd", {.who = "torch-autograd",
                   .run = repeated([=] { step(); }),
                   .results =
                       [=] {
                         step();
                         return std::vector<Result>{to_result("in_delta", xg.grad())};
                       },
                   .note = ""});
}

void add_torch_loss(const Loss& p, Rows& rows) {
  if (p.function == LossFunction::kSoftmaxCrossEntropy) return add_softmax(p, rows);
  const int64_t n = int64_t(p.count * p.width);
  const Tensor x = view(p.in, {n}), t = view(p.labels, {n}), one = at::ones({});
  const Operators f = kOperators[size_t(p.function) - 1];
  Tensor out = at::empty({}), dx = at::empty_like(x);
  rows.add("fwd+bwd",
           into({{"out", out}, {"in_delta", dx}}, [=]() mutable { f.both(out, dx, x, t, one); }));
  rows.add("fwd+bwd", autograd(
                          x, [=](const Tensor& in) { return f.loss(in, t); }, "torch-autograd"));
}

}  // namespace bench

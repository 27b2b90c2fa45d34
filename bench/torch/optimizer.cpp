// Optimizers with libtorch:
//   torch          the classes of torch::optim, as a training loop calls them
//   torch-out      the same formulas as in-place operators, nothing allocated, one pass less
//   torch-foreach  the same again with operators that take lists of tensors
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/sgd.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <tuple>

#include "torch/entry.h"
#include "workloads/workloads.h"

namespace bench {
namespace {
using at::Tensor;
using Tensors = std::vector<Tensor>;

Tensors split(const Buffer& buffer, const Optimizer& p) {
  Tensors list;
  for (size_t t = 0; t < p.tensors; ++t) {
    list.push_back(at::from_blob(buffer.data() + t * p.size, {int64_t(p.size)}, at::kFloat));
  }
  return list;
}

// Every entry has parameters and gradients of its own, because a step changes them.
struct Training {
  explicit Training(const Optimizer& p)
      : algorithm(p.algorithm),
        parameters(p.start.size()),
        gradients(p.start.size()),
        w(split(parameters, p)),
        g(split(gradients, p)) {
    std::copy_n(p.start.data(), p.start.size(), parameters.data());
    std::copy_n(p.gradient.data(), p.gradient.size(), gradients.data());
  }
  virtual ~Training() = default;
  virtual void step() = 0;

  Algorithm algorithm;
  Buffer parameters, gradients;
  Tensors w, g;
};

Entry entry(const char* who, const std::shared_ptr<Training>& training) {
  return {.who = who,
          .run = repeated([=] { training->step(); }),
          .results =
              [=] {
                training->step();
                Optimizer::reverse(training->gradients.data(), training->gradients.size());
                training->step();
                return std::vector<Result>{
                    {.tensor = "parameters", .value = training->parameters.copy()}};
              },
          .note = ""};
}

struct Classes final : Training {
  explicit Classes(const Optimizer& p) : Training(p) {
    for (size_t i = 0; i < w.size(); ++i) {
      w[i].set_requires_grad(true);
      w[i].mutable_grad() = g[i];
    }
    using namespace torch::optim;
    const std::tuple betas(Optimizer::kBeta1, Optimizer::kBeta2);
    if (algorithm == Algorithm::kAdam) {
      optimizer = std::make_unique<Adam>(
          w, AdamOptions(Optimizer::kRate).betas(betas).eps(Optimizer::kEpsilon));
    } else if (algorithm == Algorithm::kAdamW) {
      optimizer = std::make_unique<AdamW>(w, AdamWOptions(Optimizer::kRate)
                                                 .betas(betas)
                                                 .eps(Optimizer::kEpsilon)
                                                 .weight_decay(Optimizer::kDecay));
    } else {
      optimizer =
          std::make_unique<SGD>(w, SGDOptions(Optimizer::kRate).momentum(Optimizer::kMomentum));
    }
  }
  void step() override { optimizer->step(); }

  std::unique_ptr<torch::optim::Optimizer> optimizer;
};

// Adam's bias corrections folded into the rate, and epsilon scaled to match the uncorrected root.
struct Rates {
  explicit Rates(int step) {
    const double root = std::sqrt(1 - std::pow(Optimizer::kBeta2, step));
    rate = Optimizer::kRate * root / (1 - std::pow(Optimizer::kBeta1, step));
    epsilon = Optimizer::kEpsilon * root;
  }
  double rate, epsilon;
};

struct WithState : Training {
  explicit WithState(const Optimizer& p) : Training(p) {
    for (const Tensor& t : w) {
      m.push_back(at::zeros_like(t));
      v.push_back(at::zeros_like(t));
      root.push_back(at::empty_like(t));
    }
  }
  Tensors m, v, root;
  int steps = 0;
};

struct InPlace final : WithState {
  using WithState::WithState;
  void step() override {
    c10::InferenceMode guard;
    const Rates r(++steps);
    for (size_t i = 0; i < w.size(); ++i) {
      if (algorithm == Algorithm::kMomentum) {
        w[i].add_(m[i].mul_(Optimizer::kMomentum).add_(g[i]), -Optimizer::kRate);
        continue;
      }
      if (algorithm == Algorithm::kAdamW) w[i].mul_(1 - Optimizer::kRate * Optimizer::kDecay);
      m[i].lerp_(g[i], 1 - Optimizer::kBeta1);
      v[i].mul_(Optimizer::kBeta2).addcmul_(g[i], g[i], 1 - Optimizer::kBeta2);
      at::sqrt_out(root[i], v[i]).add_(r.epsilon);
      w[i].addcdiv_(m[i], root[i], -r.rate);
    }
  }
};

struct ForEach final : WithState {
  using WithState::WithState;
  void step() override {
    c10::InferenceMode guard;
    const Rates r(++steps);
    if (algorithm == Algorithm::kMomentum) {
      at::_foreach_mul_(m, Optimizer::kMomentum);
      at::_foreach_add_(m, g);
      at::_foreach_add_(w, m, -Optimizer::kRate);
      return;
    }
    if (algorithm == Algorithm::kAdamW) {
      at::_foreach_mul_(w, 1 - Optimizer::kRate * Optimizer::kDecay);
    }
    at::_foreach_mul_(m, Optimizer::kBeta1);
    at::_foreach_add_(m, g, 1 - Optimizer::kBeta1);
    at::_foreach_mul_(v, Optimizer::kBeta2);
    at::_foreach_addcmul_(v, g, g, 1 - Optimizer::kBeta2);
    at::_foreach_sqrt_out(root, v);
    at::_foreach_add_(root, r.epsilon);
    at::_foreach_addcdiv_(w, m, root, -r.rate);
  }
};

}  // namespace

void add_torch_optimizer(const Optimizer& p, Rows& rows) {
  rows.add("step", entry("torch", std::make_shared<Classes>(p)));
  rows.add("step", entry("torch-out", std::make_shared<InPlace>(p)));
  rows.add("step", entry("torch-foreach", std::make_shared<ForEach>(p)));
}

}  // namespace bench

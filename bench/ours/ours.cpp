// OpenBNNS through its public C functions, as an application calls them. Forward passes run on
// weights the filter copied ("ours") and on weights it reads at every call ("ours-client", what
// training needs); all backward passes use the client's weights.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "workloads/arithmetic.h"
#include "workloads/convolution.h"
#include "workloads/fused.h"
#include "workloads/gram.h"
#include "workloads/image_loss.h"
#include "workloads/matmul.h"
#include "workloads/normalization.h"
#include "workloads/pooling.h"
#include "workloads/reference.h"
#include "workloads/top_k.h"
#include "workloads/workloads.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

using Filter = std::shared_ptr<void>;

Filter own(BNNSFilter filter) {
  if (filter == nullptr) throw std::runtime_error(OpenBNNSGetLastError());
  return {filter, BNNSFilterDestroy};
}

BNNSNDArrayDescriptor vector(size_t n, float* data) {
  return {
      .layout = BNNSDataLayoutVector, .size = {n}, .data = data, .data_type = BNNSDataTypeFloat32};
}

BNNSNDArrayDescriptor matrix(size_t rows, size_t columns, float* data) {
  return {.layout = BNNSDataLayoutRowMajorMatrix,
          .size = {columns, rows},
          .data = data,
          .data_type = BNNSDataTypeFloat32};
}

struct NamedBuffer {
  const char* tensor;
  std::shared_ptr<Buffer> buffer;
};

template <class F>
Entry entry(const char* who, std::vector<NamedBuffer> outputs, F call) {
  return {.who = who,
          .run = repeated(call),
          .results =
              [call, outputs]() mutable {
                call();
                std::vector<Result> results;
                for (const NamedBuffer& o : outputs) {
                  results.push_back({.tensor = o.tensor, .value = o.buffer->copy()});
                }
                return results;
              },
          .note = ""};
}

std::shared_ptr<Buffer> buffer(size_t n) {
  return std::make_shared<Buffer>(n);
}

class Ours final : public Peer {
 public:
  explicit Ours(int threads) : threads_(size_t(threads)) {}

  std::string describe() const override {
    return std::string("OpenBNNS ") + OpenBNNSGetVersion() + ", target " + OpenBNNSGetTarget() +
           ", n_threads " + std::to_string(threads_);
  }

  void activation(const Activation& p, Rows& rows) override;
  void fused(const FusedConvolution& p, Rows& rows) override {
    add_our_fused(p, int(threads_), rows);
  }
  void convolution(const Convolution& p, Rows& rows) override {
    add_our_convolution(p, int(threads_), rows);
  }
  void fully_connected(const FullyConnected& p, Rows& rows) override;
  void arithmetic(const Arithmetic& p, Rows& rows) override {
    add_our_arithmetic(p, int(threads_), rows);
  }
  void gram(const Gram& p, Rows& rows) override { add_our_gram(p, int(threads_), rows); }
#ifdef OPENBNNS_BENCH_MPS
  void image_loss(const ImageLoss& p, Rows& rows) override {
    add_our_image_loss(p, int(threads_), rows);
  }
#endif
  void loss(const Loss& p, Rows& rows) override;
  void matmul(const MatMul& p, Rows& rows) override {
    add_our_matmul(p, int(threads_), rows);
  }
  void optimizer(const Optimizer& p, Rows& rows) override;
  void normalization(const Normalization& p, Rows& rows) override {
    add_our_normalization(p, int(threads_), rows);
  }
  void pooling(const Pooling& p, Rows& rows) override {
    add_our_pooling(p, int(threads_), rows);
  }
  void neighbors(const Neighbors& p, Rows& rows) override {
    add_our_neighbors(p, int(threads_), rows);
  }
  void top_k(const TopK& p, Rows& rows) override {
    add_our_top_k(p, int(threads_), rows);
  }

 private:
  BNNSFilterParameters parameters(uint32_t flags) const {
    return {.flags = flags, .n_threads = threads_, .alloc_memory = nullptr, .free_memory = nullptr};
  }

  size_t threads_;
};

void Ours::activation(const Activation& p, Rows& rows) {
  const BNNSLayerParametersActivation layer{
      .i_desc = vector(p.n, nullptr),
      .o_desc = vector(p.n, nullptr),
      .activation = activation_of(p.function),
  };
  const BNNSFilterParameters settings = parameters(0);
  const Filter filter = own(BNNSFilterCreateLayerActivation(&layer, &settings));
  const float *in = p.in.data(), *out_right = p.out.data();
  const size_t n = p.n;

  const auto out = buffer(n);
  rows.add("fwd", entry("ours", {{"out", out}}, [=] {
             require_success(BNNSFilterApplyBatch(filter.get(), 1, in, n, out->data(), n));
           }));

  const auto delta = buffer(n);
  BNNSNDArrayDescriptor in_delta = vector(n, delta->data());
  const BNNSNDArrayDescriptor out_delta = vector(n, p.out_delta.data());
  rows.add(
      "bwd", entry("ours", {{"in_delta", delta}}, [=]() mutable {
        require_success(BNNSFilterApplyBackwardBatch(
            filter.get(), 1, in, n, &in_delta, n, out_right, n, &out_delta, n, nullptr, nullptr));
      }));
}

void Ours::fully_connected(const FullyConnected& p, Rows& rows) {
  const BNNSLayerParametersFullyConnected layer{
      .i_desc = vector(p.inputs, nullptr),
      .w_desc = matrix(p.outputs, p.inputs, p.weights.data()),
      .o_desc = vector(p.outputs, nullptr),
      .bias = vector(p.outputs, p.bias.data()),
      .activation = activation_of(p.fused),
  };
  const BNNSFilterParameters copying = parameters(0), borrowing = parameters(BNNSFlagsUseClientPtr);
  const Filter copied = own(BNNSFilterCreateLayerFullyConnected(&layer, &copying));
  const Filter client = own(BNNSFilterCreateLayerFullyConnected(&layer, &borrowing));
  const size_t batch = p.batch, ni = p.inputs, no = p.outputs;
  const float *in = p.in.data(), *out = p.fused == Fused::kNone ? nullptr : p.out.data();

  const auto y = buffer(batch * no), dx = buffer(batch * ni), dw = buffer(ni * no), db = buffer(no);
  const auto forward = [=](const Filter& filter) {
    require_success(BNNSFilterApplyBatch(filter.get(), batch, in, ni, y->data(), no));
  };
  // The descriptors are made once and reused, as in a training loop.
  struct Deltas {
    BNNSNDArrayDescriptor in, weights, bias, out;
  };
  const auto deltas = std::make_shared<Deltas>(Deltas{.in = vector(ni, dx->data()),
                                                      .weights = matrix(no, ni, dw->data()),
                                                      .bias = vector(no, db->data()),
                                                      .out = vector(no, p.out_delta.data())});
  const auto backward = [=](bool to_input, bool to_weights) {
    require_success(BNNSFilterApplyBackwardBatch(
        client.get(), batch, in, ni, to_input ? &deltas->in : nullptr, ni, out, no, &deltas->out,
        no, to_weights ? &deltas->weights : nullptr, to_weights ? &deltas->bias : nullptr));
  };
  rows.add("fwd", entry("ours", {{"out", y}}, [=] { forward(copied); }));
  rows.add("fwd", entry("ours-client", {{"out", y}}, [=] { forward(client); }));
  if (p.fused != Fused::kNone) {
    return rows.add("bwd",
                    entry("ours", {{"in_delta", dx}, {"weights_delta", dw}, {"bias_delta", db}},
                          [=] { backward(true, true); }));
  }
  rows.add("bwd_data", entry("ours", {{"in_delta", dx}}, [=] { backward(true, false); }));
  rows.add("bwd_weights", entry("ours", {{"weights_delta", dw}, {"bias_delta", db}},
                                [=] { backward(false, true); }));
  rows.add(
      "fwd+bwd",
      entry("ours", {{"out", y}, {"in_delta", dx}, {"weights_delta", dw}, {"bias_delta", db}}, [=] {
        forward(client);
        backward(true, true);
      }));
}

constexpr BNNSLossFunction kLossFunctions[] = {  // in the order of LossFunction
    BNNSLossFunctionSoftmaxCrossEntropy, BNNSLossFunctionSigmoidCrossEntropy,
    BNNSLossFunctionMeanSquareError, BNNSLossFunctionHuber};

void Ours::loss(const Loss& p, Rows& rows) {
  // The parameters of the four losses begin alike and end in one number: delta or smoothing.
  const BNNSLayerParametersLossHuber layer{
      .function = kLossFunctions[size_t(p.function)],
      .i_desc = vector(p.width, nullptr),
      .o_desc = vector(1, nullptr),
      .reduction = BNNSLossReductionMean,
      .huber_delta = p.function == LossFunction::kHuber ? Loss::kHuberDelta : 0};
  const BNNSFilterParameters settings = parameters(0);
  const Filter filter = own(BNNSFilterCreateLayerLoss(&layer, &settings));
  const float *in = p.in.data(), *labels = p.labels.data();
  const size_t count = p.count, n = p.width;
  const auto out = buffer(1), delta = buffer(count * n);
  BNNSNDArrayDescriptor in_delta = vector(n, delta->data());
  rows.add("fwd+bwd", entry("ours", {{"out", out}, {"in_delta", delta}}, [=]() mutable {
             require_success(BNNSLossFilterApplyBatch(filter.get(), count, in, n, labels, n,
                                                      nullptr, 0, out->data(), &in_delta, n));
           }));
}

// Parameters, gradients and state, each as descriptors of consecutive tensors and as the arrays of
// pointers that a step takes.
class Training {
 public:
  Training(const Optimizer& p, const BNNSFilterParameters& settings)
      : algorithm_(p.algorithm), tensors_(p.tensors), settings_(settings) {
    for (size_t role = 0; role < std::size(memory_); ++role) {
      memory_[role] = buffer(p.start.size());
      for (size_t t = 0; t < tensors_; ++t) {
        descriptors_.push_back(vector(p.size, memory_[role]->data() + t * p.size));
      }
    }
    std::copy_n(p.start.data(), p.start.size(), memory_[0]->data());
    std::copy_n(p.gradient.data(), p.gradient.size(), memory_[1]->data());
    for (BNNSNDArrayDescriptor& d : descriptors_) pointers_.push_back(&d);
    gradients_.assign(pointers_.begin() + ptrdiff_t(tensors_),
                      pointers_.begin() + ptrdiff_t(2 * tensors_));
  }

  void step() {
    ++steps_;
    if (algorithm_ == Algorithm::kMomentum) {
      const BNNSOptimizerSGDMomentumFields fields{.learning_rate = float(Optimizer::kRate),
                                                  .momentum = float(Optimizer::kMomentum),
                                                  .gradient_scale = 1,
                                                  .sgd_momentum_variant = BNNSSGDMomentumVariant1};
      return call(BNNSOptimizerFunctionSGDMomentum, &fields);
    }
    const bool decays = algorithm_ == Algorithm::kAdamW;
    // BNNS adds epsilon to the root before its bias correction; the scale makes up for that.
    const double correction = std::sqrt(1 - std::pow(Optimizer::kBeta2, steps_));
    const BNNSOptimizerAdamFields fields{
        .learning_rate = float(Optimizer::kRate),
        .beta1 = float(Optimizer::kBeta1),
        .beta2 = float(Optimizer::kBeta2),
        .time_step = float(steps_),
        .epsilon = float(Optimizer::kEpsilon * correction),
        .gradient_scale = 1,
        .regularization_scale = decays ? float(Optimizer::kDecay) : 0};
    call(decays ? BNNSOptimizerFunctionAdamW : BNNSOptimizerFunctionAdam, &fields);
  }

  std::vector<Result> first_two_steps() {
    step();
    Optimizer::reverse(memory_[1]->data(), memory_[1]->size());
    step();
    return {{.tensor = "parameters", .value = memory_[0]->copy()}};
  }

 private:
  void call(BNNSOptimizerFunction function, const void* fields) {
    require_success(BNNSOptimizerStep(function, fields, tensors_, pointers_.data(),
                                      gradients_.data(), pointers_.data() + 2 * tensors_,
                                      &settings_));
  }

  Algorithm algorithm_;
  size_t tensors_;
  BNNSFilterParameters settings_;
  std::shared_ptr<Buffer> memory_[4];  // parameters, gradients, two states
  std::vector<BNNSNDArrayDescriptor> descriptors_;
  std::vector<BNNSNDArrayDescriptor*> pointers_;
  std::vector<const BNNSNDArrayDescriptor*> gradients_;
  double steps_ = 0;
};

void Ours::optimizer(const Optimizer& p, Rows& rows) {
  const auto training = std::make_shared<Training>(p, parameters(0));
  rows.add("step", {.who = "ours",
                    .run = repeated([=] { training->step(); }),
                    .results = [=] { return training->first_two_steps(); },
                    .note = ""});
}

}  // namespace

std::unique_ptr<Peer> make_ours(int threads) {
  return std::make_unique<Ours>(threads);
}

}  // namespace bench

// Normalization through the C functions: parameters and moving statistics of the client, as in
// training.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/normalization.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor vector(size_t n, float* data) {
  return {
      .layout = BNNSDataLayoutVector, .size = {n}, .data = data, .data_type = BNNSDataTypeFloat32};
}

// The filter, its memory and its calls.
class Layer {
 public:
  Layer(const Normalization& p, int threads)
      : p_(p),
        mean_(p.channels),
        variance_(p.channels),
        out_(p.size()),
        in_delta_(p.size()),
        beta_delta_(p.channels),
        gamma_delta_(p.channels) {
    BNNSLayerParametersNormalization layer = {};
    layer.i_desc = layer.o_desc = sample(nullptr);
    layer.beta_desc = vector(p.channels, p.beta.data());
    layer.gamma_desc = vector(p.channels, p.gamma.data());
    if (!p.by_row()) {
      layer.moving_mean_desc = vector(p.channels, mean_.data());
      layer.moving_variance_desc = vector(p.channels, variance_.data());
      layer.activation.function = BNNSActivationFunctionRectifiedLinear;
    }
    layer.momentum = 0.9f;
    layer.epsilon = Normalization::kEpsilon;
    const BNNSFilterParameters settings{.flags = BNNSFlagsUseClientPtr,
                                        .n_threads = size_t(threads),
                                        .alloc_memory = nullptr,
                                        .free_memory = nullptr};
    filter_ = BNNSFilterCreateLayerNormalization(p.by_row() ? BNNSLayerNorm : BNNSBatchNorm, &layer,
                                                 &settings);
    if (filter_ == nullptr) throw std::runtime_error(OpenBNNSGetLastError());
    dx_ = sample(in_delta_.data());
    dy_ = sample(p.out_delta.data());
    dbeta_ = vector(p.channels, beta_delta_.data());
    dgamma_ = vector(p.channels, gamma_delta_.data());
    forward();
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  ~Layer() { BNNSFilterDestroy(filter_); }

  void forward() {
    require_success(BNNSNormalizationFilterApplyBatch(filter_, p_.batch, p_.in.data(), 0,
                                                      out_.data(), 0, true));
  }
  void backward() {
    require_success(BNNSNormalizationFilterApplyBackwardBatch(
        filter_, p_.batch, &dx_, 0, out_.data(), 0, &dy_, 0, &dbeta_, &dgamma_));
  }
  std::vector<Result> outputs() const { return {{.tensor = "out", .value = out_.copy()}}; }
  std::vector<Result> gradients() const {
    return {{.tensor = "in_delta", .value = in_delta_.copy()},
            {.tensor = "beta_delta", .value = beta_delta_.copy()},
            {.tensor = "gamma_delta", .value = gamma_delta_.copy()}};
  }

 private:
  BNNSNDArrayDescriptor sample(float* data) const {
    if (p_.side <= 1) return vector(p_.channels, data);
    return {.layout = BNNSDataLayoutImageCHW,
            .size = {p_.side, p_.side, p_.channels},
            .data = data,
            .data_type = BNNSDataTypeFloat32};
  }

  const Normalization& p_;
  Buffer mean_, variance_, out_, in_delta_, beta_delta_, gamma_delta_;
  BNNSNDArrayDescriptor dx_, dy_, dbeta_, dgamma_;
  BNNSFilter filter_;
};

}  // namespace

void add_our_normalization(const Normalization& p, int threads, Rows& rows) {
  const auto layer = std::make_shared<Layer>(p, threads);
  rows.add("fwd", {.who = "ours",
                   .run = repeated([=] { layer->forward(); }),
                   .results =
                       [=] {
                         layer->forward();
                         return layer->outputs();
                       },
                   .note = ""});
  rows.add("bwd", {.who = "ours",
                   .run = repeated([=] { layer->backward(); }),
                   .results =
                       [=] {
                         layer->backward();
                         return layer->gradients();
                       },
                   .note = ""});
}

}  // namespace bench

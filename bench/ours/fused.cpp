// Convolution, batch normalization and a rectifier as one filter ("ours") and as two
// ("ours-separate"); parameters and moving statistics of the client, as in training.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/fused.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor array(BNNSDataLayout layout, std::initializer_list<size_t> size,
                            float* data) {
  BNNSNDArrayDescriptor d = {.layout = layout, .data = data, .data_type = BNNSDataTypeFloat32};
  std::copy(size.begin(), size.end(), d.size);
  return d;
}
BNNSNDArrayDescriptor image(size_t side, size_t channels, float* data) {
  return array(BNNSDataLayoutImageCHW, {side, side, channels}, data);
}
BNNSNDArrayDescriptor weights(const ConvolutionShape& s, float* data) {
  return array(BNNSDataLayoutConvolutionWeightsOIHW, {s.kernel, s.kernel, s.inputs, s.outputs},
               data);
}
BNNSNDArrayDescriptor vector(size_t n, float* data) {
  return array(BNNSDataLayoutVector, {n}, data);
}

// The filters, their memory and their calls.
class Layers {
 public:
  Layers(const FusedConvolution& p, int threads, bool separate)
      : p_(p),
        separate_(separate),
        mean_(p.shape().outputs),
        variance_(p.shape().outputs),
        z_(separate ? p.shape().out_size() : 0),
        dz_(separate ? p.shape().out_size() : 0),
        out_(p.shape().out_size()),
        in_delta_(p.shape().in_size()),
        weights_delta_(p.shape().weights_size()),
        bias_delta_(p.shape().outputs),
        beta_delta_(p.shape().outputs),
        gamma_delta_(p.shape().outputs) {
    const ConvolutionShape& s = p.shape();
    BNNSLayerParametersConvolution first = {};
    first.i_desc = image(s.side, s.inputs, nullptr);
    first.o_desc = image(s.out_side(), s.outputs, nullptr);
    first.w_desc = weights(s, p.convolution.weights.data());
    first.bias = vector(s.outputs, p.convolution.bias.data());
    first.x_stride = first.y_stride = s.stride;
    first.x_padding = first.y_padding = s.pad;
    BNNSLayerParametersNormalization second = {};
    second.i_desc = second.o_desc = first.o_desc;
    second.beta_desc = vector(s.outputs, p.beta.data());
    second.gamma_desc = vector(s.outputs, p.gamma.data());
    second.moving_mean_desc = vector(s.outputs, mean_.data());
    second.moving_variance_desc = vector(s.outputs, variance_.data());
    second.activation.function = BNNSActivationFunctionRectifiedLinear;
    second.momentum = 0.9f;
    second.epsilon = FusedConvolution::kEpsilon;
    const BNNSFilterParameters settings{.flags = BNNSFlagsUseClientPtr,
                                        .n_threads = size_t(threads),
                                        .alloc_memory = nullptr,
                                        .free_memory = nullptr};
    const BNNSFilterType types[] = {BNNSConvolution, BNNSBatchNorm};
    const void* params[] = {&first, &second};
    if (separate) {
      first_ = BNNSFilterCreateLayerConvolution(&first, &settings);
      second_ = BNNSFilterCreateLayerNormalization(BNNSBatchNorm, &second, &settings);
    } else {
      first_ = second_ = BNNSFilterCreateFusedLayer(2, types, params, &settings);
    }
    if (first_ == nullptr || second_ == nullptr) throw std::runtime_error(OpenBNNSGetLastError());
    in_d_ = image(s.side, s.inputs, in_delta_.data());
    out_d_ = image(s.out_side(), s.outputs, p.convolution.out_delta.data());
    between_ = image(s.out_side(), s.outputs, dz_.data());
    deltas_[0] = weights(s, weights_delta_.data());
    deltas_[1] = vector(s.outputs, bias_delta_.data());
    deltas_[2] = vector(s.outputs, beta_delta_.data());
    deltas_[3] = vector(s.outputs, gamma_delta_.data());
    for (size_t k = 0; k < 4; ++k) slots_[k] = &deltas_[k];
  }
  Layers(const Layers&) = delete;
  Layers& operator=(const Layers&) = delete;
  ~Layers() {
    BNNSFilterDestroy(first_);
    if (separate_) BNNSFilterDestroy(second_);
  }

  void forward() {
    const size_t batch = p_.shape().batch;
    const float* in = p_.convolution.in.data();
    if (!separate_)
      return require_success(BNNSFusedFilterApplyBatch(first_, batch, in, 0, out_.data(), 0, true));
    require_success(BNNSFilterApplyBatch(first_, batch, in, 0, z_.data(), 0));
    require_success(
        BNNSNormalizationFilterApplyBatch(second_, batch, z_.data(), 0, out_.data(), 0, true));
  }
  void backward() {
    const size_t batch = p_.shape().batch;
    const float* in = p_.convolution.in.data();
    if (!separate_)
      return require_success(BNNSFusedFilterApplyBackwardBatch(first_, batch, in, 0, &in_d_, 0,
                                                               out_.data(), 0, &out_d_, 0, slots_));
    require_success(BNNSNormalizationFilterApplyBackwardBatch(
        second_, batch, &between_, 0, out_.data(), 0, &out_d_, 0, slots_[2], slots_[3]));
    require_success(BNNSFilterApplyBackwardBatch(first_, batch, in, 0, &in_d_, 0, nullptr, 0,
                                                 &between_, 0, slots_[0], slots_[1]));
  }
  std::vector<Result> results(bool backward) const {
    std::vector<Result> list = {{.tensor = "out", .value = out_.copy()}};
    if (!backward) return list;
    list.push_back({.tensor = "in_delta", .value = in_delta_.copy()});
    list.push_back({.tensor = "weights_delta", .value = weights_delta_.copy()});
    list.push_back({.tensor = "bias_delta", .value = bias_delta_.copy()});
    list.push_back({.tensor = "beta_delta", .value = beta_delta_.copy()});
    list.push_back({.tensor = "gamma_delta", .value = gamma_delta_.copy()});
    return list;
  }

 private:
  const FusedConvolution& p_;
  bool separate_;
  Buffer mean_, variance_, z_, dz_, out_, in_delta_;
  Buffer weights_delta_, bias_delta_, beta_delta_, gamma_delta_;
  BNNSFilter first_ = nullptr, second_ = nullptr;
  BNNSNDArrayDescriptor in_d_, out_d_, between_, deltas_[4];
  BNNSNDArrayDescriptor* slots_[4];
};

}  // namespace

void add_our_fused(const FusedConvolution& p, int threads, Rows& rows) {
  for (const bool separate : {false, true}) {
    const auto layers = std::make_shared<Layers>(p, threads, separate);
    for (const bool backward : {false, true}) {
      const auto call = [=] {
        layers->forward();
        if (backward) layers->backward();
      };
      rows.add(backward ? "fwd+bwd" : "fwd", {.who = separate ? "ours-separate" : "ours",
                                              .run = repeated(call),
                                              .results =
                                                  [=] {
                                                    call();
                                                    return layers->results(backward);
                                                  },
                                              .note = ""});
    }
  }
}

}  // namespace bench

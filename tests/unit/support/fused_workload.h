// Fused filters as workloads: a training step, or a call whose second layer has no gradient.
#pragma once

#include "support/workload.h"

namespace test {

class FusedWorkload final : public Workload {
 public:
  static constexpr size_t kSize = 7, kIn = 3, kOut = 4, kBatch = 3;

  FusedWorkload(std::string name, BNNSFilterType first, BNNSFilterType second, bool client,
                bool moving, BNNSActivationFunction activation)
      : Workload(std::move(name), kBatch), first_(first), second_(second), training_(!moving) {
    const bool quantized = second == BNNSQuantization;
    guarded_ = !quantized;
    trainable_ = training_ && !quantized;
    flags_ = client ? uint32_t{BNNSFlagsUseClientPtr} : 0;
    set_first();
    quantized ? set_quantization() : set_normalization(activation, moving);
    in_ = floats(inputs() * kBatch * count(in_desc_), 1);
    out_delta_ = floats(kBatch * count(out_desc_), 2);
  }

  Results make_results() const override {
    Results r;
    r.out.resize(out_delta_.size() * (second_ == BNNSQuantization ? 1 : sizeof(float)));
    if (!trainable_) return r;
    r.in_delta.resize(in_.size());
    r.weights_delta.resize(weights_.size());
    r.bias_delta.resize(bias_.size() + beta_.size() + gamma_.size());
    return r;
  }
  int forward(BNNSFilter filter, Results& r) const override {
    if (inputs() == 1)
      return BNNSFusedFilterApplyBatch(filter, batch(), in_.data(), 0, r.out.data(), 0, training_);
    const void* in[] = {in_.data(), in_.data() + in_.size() / 2};
    const size_t strides[] = {0, 0};
    return BNNSFusedFilterApplyMultiInputBatch(filter, batch(), 2, in, strides, r.out.data(), 0,
                                               training_);
  }
  int backward(BNNSFilter filter, Results& r) const override {
    BNNSNDArrayDescriptor in_delta[] = {in_desc_, in_desc_}, out_delta = out_desc_;
    in_delta[0].data = r.in_delta.data();
    in_delta[1].data = r.in_delta.data() + in_.size() / 2;
    out_delta.data = const_cast<float*>(out_delta_.data());
    BNNSNDArrayDescriptor w = weights_desc_, b = vector(bias_.size(), r.bias_delta.data()),
                          beta = normalization_.beta_desc, gamma = normalization_.gamma_desc;
    w.data = r.weights_delta.data();
    beta.data = r.bias_delta.data() + bias_.size();
    gamma.data = r.bias_delta.data() + bias_.size() + beta_.size();
    if (inputs() == 1) {
      BNNSNDArrayDescriptor* slots[] = {&w, &b, &beta, &gamma};
      return BNNSFusedFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &in_delta[0], 0,
                                               r.out.data(), 0, &out_delta, 0, slots);
    }
    BNNSNDArrayDescriptor *slots[] = {&beta, &gamma}, *deltas[] = {&in_delta[0], &in_delta[1]};
    const void* in[] = {in_.data(), in_.data() + in_.size() / 2};
    const size_t strides[] = {0, 0};
    return BNNSFusedFilterApplyBackwardMultiInputBatch(
        filter, batch(), 2, in, strides, deltas, strides, r.out.data(), 0, &out_delta, 0, slots);
  }

 private:
  size_t inputs() const { return first_ == BNNSArithmetic ? 2 : 1; }

  void set_first() {
    const BNNSNDArrayDescriptor image = array(BNNSDataLayoutImageCHW, {kSize, kSize, kOut});
    if (first_ == BNNSFullyConnected) {
      in_desc_ = vector(12);
      out_desc_ = vector(20);
      weights_desc_ = array(BNNSDataLayoutRowMajorMatrix, {12, 20});
    } else if (first_ == BNNSArithmetic) {
      in_desc_ = out_desc_ = image;
    } else {
      in_desc_ = array(BNNSDataLayoutImageCHW, {kSize, kSize, kIn});
      out_desc_ = image;
      weights_desc_ = array(BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, kIn, kOut});
    }
    if (first_ == BNNSArithmetic) return;
    weights_ = floats(count(weights_desc_), 3);
    bias_ = floats(out_channels(), 4);
    weights_desc_.data = weights_.data();
  }
  size_t out_channels() const { return first_ == BNNSFullyConnected ? 20 : kOut; }

  void set_normalization(BNNSActivationFunction activation, bool moving) {
    BNNSLayerParametersNormalization& n = normalization_;
    n.i_desc = n.o_desc = out_desc_;
    BNNSNDArrayDescriptor parameter = vector(out_channels());
    if (second_ == BNNSLayerNorm) parameter = out_desc_;
    beta_ = floats(count(parameter), 5);
    gamma_ = floats(count(parameter), 6);
    n.beta_desc = n.gamma_desc = parameter;
    n.beta_desc.data = beta_.data();
    n.gamma_desc.data = gamma_.data();
    mean_ = floats(out_channels(), 7);
    variance_.assign(out_channels(), 1.5f);
    if (moving) {
      n.moving_mean_desc = vector(out_channels(), mean_.data());
      n.moving_variance_desc = vector(out_channels(), variance_.data());
    }
    n.epsilon = 1e-5f;
    n.momentum = 0.9f;
    n.num_groups = 2;
    n.activation.function = activation;
  }
  void set_quantization() {
    gamma_.assign(1, 9.0f);
    quantization_.function = BNNSQuantizerFunctionQuantize;
    quantization_.i_desc = quantization_.o_desc = out_desc_;
    quantization_.o_desc.data_type = BNNSDataTypeInt8;
    quantization_.scale = vector(1, gamma_.data());
  }

  BNNSFilter make(const BNNSFilterParameters& p) const override {
    BNNSLayerParametersConvolution convolution = {};
    BNNSLayerParametersFullyConnected connected = {};
    BNNSArithmeticBinary fields = {};
    BNNSLayerParametersArithmetic arithmetic = {};
    convolution.i_desc = connected.i_desc = fields.in1 = fields.in2 = in_desc_;
    convolution.o_desc = connected.o_desc = fields.out = out_desc_;
    convolution.w_desc = connected.w_desc = weights_desc_;
    convolution.bias = connected.bias = vector(bias_.size(), const_cast<float*>(bias_.data()));
    convolution.x_padding = convolution.y_padding = 1;
    fields.in1_type = fields.in2_type = fields.out_type = BNNSSample;
    arithmetic.arithmetic_function = BNNSArithmeticMultiply;
    arithmetic.arithmetic_function_fields = &fields;
    const void* second = &quantization_;
    if (second_ != BNNSQuantization) second = &normalization_;
    const void* params[] = {&convolution, second};
    if (first_ == BNNSFullyConnected) params[0] = &connected;
    if (first_ == BNNSArithmetic) params[0] = &arithmetic;
    const BNNSFilterType types[] = {first_, second_};
    return BNNSFilterCreateFusedLayer(2, types, params, &p);
  }

  BNNSFilterType first_, second_;
  bool training_;
  BNNSNDArrayDescriptor in_desc_ = {}, out_desc_ = {}, weights_desc_ = {};
  BNNSLayerParametersNormalization normalization_ = {};
  BNNSLayerParametersQuantization quantization_ = {};
  std::vector<float> in_, out_delta_, weights_, bias_, beta_, gamma_, mean_, variance_;
};

// Moments that come with the sums and moments of their own; scale and shift in the epilogue;
// several inputs; integers at the end.
inline void add_fused_workloads(Workloads& all) {
  const auto add = [&](const char* name, BNNSFilterType first, BNNSFilterType second, bool client,
                       bool moving, BNNSActivationFunction activation) {
    all.push_back(std::make_unique<FusedWorkload>(name, first, second, client, moving, activation));
  };
  constexpr auto kIdentity = BNNSActivationFunctionIdentity;
  constexpr auto kRelu = BNNSActivationFunctionRectifiedLinear;
  constexpr auto kTanh = BNNSActivationFunctionTanh;
  add("fused convolution, batch", BNNSConvolution, BNNSBatchNorm, true, false, kRelu);
  add("fused convolution, group", BNNSConvolution, BNNSGroupNorm, false, false, kTanh);
  add("fused convolution, folded", BNNSConvolution, BNNSBatchNorm, true, true, kRelu);
  add("fused transposed, instance", BNNSTransposedConvolution, BNNSInstanceNorm, false, false,
      kIdentity);
  add("fused product, batch", BNNSFullyConnected, BNNSBatchNorm, false, false, kIdentity);
  add("fused product, layer", BNNSFullyConnected, BNNSLayerNorm, true, false, kTanh);
  add("fused arithmetic, batch", BNNSArithmetic, BNNSBatchNorm, true, false, kRelu);
  add("fused arithmetic, layer", BNNSArithmetic, BNNSLayerNorm, false, false, kIdentity);
  add("fused convolution, integers", BNNSConvolution, BNNSQuantization, false, false, kIdentity);
  add("fused product, integers", BNNSFullyConnected, BNNSQuantization, true, false, kIdentity);
}

}  // namespace test

// Pooling, normalization and convolution filters of images as workloads.
#pragma once

#include "support/workload.h"

namespace test {

// Max pooling gives its indices out and takes them back.
class PoolingWorkload final : public Workload {
 public:
  PoolingWorkload(std::string name, BNNSPoolingFunction function, BNNSActivationFunction activation,
                  size_t channels, size_t size, size_t batch)
      : Workload(std::move(name), batch) {
    trainable_ = true;
    const size_t out = (size + 1) / 2;
    p_.i_desc = array(BNNSDataLayoutImageCHW, {size, size, channels});
    p_.o_desc = array(BNNSDataLayoutImageCHW, {out, out, channels});
    bias_ = floats(channels, 3);
    p_.bias = vector(channels, bias_.data());
    p_.activation.function = activation;
    p_.pooling_function = function;
    p_.k_width = p_.k_height = 3;
    p_.x_stride = p_.y_stride = 2;
    p_.x_padding = p_.y_padding = 1;
    in_ = floats(batch * count(p_.i_desc), 1);
    out_delta_ = floats(batch * count(p_.o_desc), 2);
  }

  Results make_results() const override {
    Results r;
    r.out.resize(out_delta_.size() * (sizeof(float) + (has_indices() ? sizeof(size_t) : 0)));
    r.in_delta.resize(in_.size());
    r.bias_delta.resize(bias_.size());
    return r;
  }
  int forward(BNNSFilter filter, Results& r) const override {
    return BNNSPoolingFilterApplyBatch(filter, batch(), in_.data(), 0, values(r), 0, indices(r), 0);
  }
  int backward(BNNSFilter filter, Results& r) const override {
    BNNSNDArrayDescriptor in_delta = p_.i_desc, out_delta = p_.o_desc;
    in_delta.data = r.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    BNNSNDArrayDescriptor bias_delta = vector(bias_.size(), r.bias_delta.data());
    return BNNSPoolingFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &in_delta, 0,
                                               values(r), 0, &out_delta, 0, &bias_delta, indices(r),
                                               0);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& f) const override {
    return BNNSFilterCreateLayerPooling(&p_, &f);
  }
  bool has_indices() const { return p_.pooling_function == BNNSPoolingFunctionMax; }
  // Indices first: they have the larger alignment.
  size_t* indices(Results& r) const {
    return has_indices() ? reinterpret_cast<size_t*>(r.out.data()) : nullptr;
  }
  float* values(Results& r) const {
    const size_t before = has_indices() ? out_delta_.size() * sizeof(size_t) : 0;
    return reinterpret_cast<float*>(r.out.data() + before);
  }

  BNNSLayerParametersPooling p_ = {};
  std::vector<float> in_, out_delta_, bias_;
};

// A training step; the filter remembers the forward call and guards that with a lock.
class NormalizationWorkload final : public Workload {
 public:
  NormalizationWorkload(std::string name, BNNSFilterType type, BNNSActivationFunction activation,
                        size_t channels, size_t size, size_t batch)
      : Workload(std::move(name), batch), type_(type) {
    trainable_ = guarded_ = true;
    p_.i_desc = p_.o_desc = array(BNNSDataLayoutImageCHW, {size, size, channels});
    BNNSNDArrayDescriptor parameter = vector(channels);
    if (type == BNNSLayerNorm) parameter = p_.i_desc;
    beta_ = floats(count(parameter), 3);
    gamma_ = floats(count(parameter), 4);
    p_.beta_desc = p_.gamma_desc = parameter;
    p_.beta_desc.data = beta_.data();
    p_.gamma_desc.data = gamma_.data();
    p_.epsilon = 1e-5f;
    p_.momentum = 0.9f;
    p_.activation.function = activation;
    p_.num_groups = 2;
    in_ = floats(batch * count(p_.i_desc), 1);
    out_delta_ = floats(batch * count(p_.o_desc), 2);
  }

  Results make_results() const override {
    Results r;
    r.out.resize(in_.size() * sizeof(float));
    r.in_delta.resize(in_.size());
    r.weights_delta.resize(gamma_.size());
    r.bias_delta.resize(beta_.size());
    return r;
  }
  int forward(BNNSFilter filter, Results& r) const override {
    return BNNSNormalizationFilterApplyBatch(filter, batch(), in_.data(), 0, r.out.data(), 0, true);
  }
  int backward(BNNSFilter filter, Results& r) const override {
    BNNSNDArrayDescriptor in_delta = p_.i_desc, out_delta = p_.o_desc;
    in_delta.data = r.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    BNNSNDArrayDescriptor beta_delta = p_.beta_desc, gamma_delta = p_.gamma_desc;
    beta_delta.data = r.bias_delta.data();
    gamma_delta.data = r.weights_delta.data();
    return BNNSNormalizationFilterApplyBackwardBatch(filter, batch(), &in_delta, 0, r.out.data(), 0,
                                                     &out_delta, 0, &beta_delta, &gamma_delta);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& f) const override {
    return BNNSFilterCreateLayerNormalization(type_, &p_, &f);
  }

  BNNSFilterType type_;
  BNNSLayerParametersNormalization p_ = {};
  std::vector<float> in_, out_delta_, beta_, gamma_;
};

class ConvolutionWorkload final : public Workload {
 public:
  struct Shape {
    size_t in_channels, out_channels, groups, size, kernel;
  };
  ConvolutionWorkload(std::string name, bool transposed, bool client_pointer,
                      BNNSActivationFunction activation, const Shape& s, size_t batch)
      : Workload(std::move(name), batch), transposed_(transposed) {
    trainable_ = true;
    flags_ = client_pointer ? uint32_t{BNNSFlagsUseClientPtr} : 0;
    p_.i_desc = array(BNNSDataLayoutImageCHW, {s.size, s.size, s.in_channels});
    p_.o_desc = array(BNNSDataLayoutImageCHW, {s.size, s.size, s.out_channels});
    p_.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW,
                      {s.kernel, s.kernel, s.in_channels / s.groups, s.out_channels});
    p_.groups = s.groups;
    p_.x_padding = p_.y_padding = s.kernel / 2;
    p_.activation.function = activation;
    weights_ = floats(count(p_.w_desc), 3);
    bias_ = floats(s.out_channels, 4);
    p_.w_desc.data = weights_.data();
    p_.bias = vector(s.out_channels, bias_.data());
    in_ = floats(batch * count(p_.i_desc), 1);
    out_delta_ = floats(batch * count(p_.o_desc), 2);
  }

  Results make_results() const override {
    Results r;
    r.out.resize(out_delta_.size() * sizeof(float));
    r.in_delta.resize(in_.size());
    r.weights_delta.resize(weights_.size());
    r.bias_delta.resize(bias_.size());
    return r;
  }
  int forward(BNNSFilter filter, Results& r) const override {
    return BNNSFilterApplyBatch(filter, batch(), in_.data(), 0, r.out.data(), 0);
  }
  int backward(BNNSFilter filter, Results& r) const override {
    BNNSNDArrayDescriptor in_delta = p_.i_desc, out_delta = p_.o_desc, weights_delta = p_.w_desc;
    in_delta.data = r.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    weights_delta.data = r.weights_delta.data();
    BNNSNDArrayDescriptor bias_delta = vector(bias_.size(), r.bias_delta.data());
    return BNNSFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &in_delta, 0, r.out.data(),
                                        0, &out_delta, 0, &weights_delta, &bias_delta);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& f) const override {
    return transposed_ ? BNNSFilterCreateLayerTransposedConvolution(&p_, &f)
                       : BNNSFilterCreateLayerConvolution(&p_, &f);
  }

  bool transposed_;
  BNNSLayerParametersConvolution p_ = {};
  std::vector<float> in_, out_delta_, weights_, bias_;
};

inline void add_pooling_workloads(Workloads& all) {
  const auto add = [&](const char* name, BNNSPoolingFunction function, BNNSActivationFunction f) {
    all.push_back(std::make_unique<PoolingWorkload>(name, function, f, 3, 9, 2));
  };
  add("max pooling", BNNSPoolingFunctionMax, BNNSActivationFunctionIdentity);
  add("max pooling, relu", BNNSPoolingFunctionMax, BNNSActivationFunctionRectifiedLinear);
  add("average pooling", BNNSPoolingFunctionAverageCountExcludePadding, BNNSActivationFunctionTanh);
  add("l2 pooling", BNNSPoolingFunctionL2Norm, BNNSActivationFunctionIdentity);
}

inline void add_normalization_workloads(Workloads& all) {
  const auto add = [&](const char* name, BNNSFilterType type, BNNSActivationFunction f) {
    all.push_back(std::make_unique<NormalizationWorkload>(name, type, f, 4, 7, 3));
  };
  add("batch norm", BNNSBatchNorm, BNNSActivationFunctionRectifiedLinear);
  add("instance norm", BNNSInstanceNorm, BNNSActivationFunctionIdentity);
  add("layer norm", BNNSLayerNorm, BNNSActivationFunctionIdentity);
  add("group norm", BNNSGroupNorm, BNNSActivationFunctionTanh);
}

inline void add_convolution_workloads(Workloads& all) {
  using Shape = ConvolutionWorkload::Shape;
  const auto add = [&](const char* name, bool transposed, bool client, BNNSActivationFunction f,
                       const Shape& shape) {
    all.push_back(
        std::make_unique<ConvolutionWorkload>(name, transposed, client, f, shape, size_t{3}));
  };
  constexpr auto kIdentity = BNNSActivationFunctionIdentity;
  constexpr auto kRelu = BNNSActivationFunctionRectifiedLinear;
  constexpr Shape kPlain = {5, 7, 1, 9, 3}, kDepthwise = {6, 6, 6, 9, 3}, kPoint = {12, 9, 1, 6, 1};
  add("convolution, copied", false, false, kIdentity, kPlain);
  add("convolution, client, relu", false, true, kRelu, kPlain);
  add("convolution, depthwise", false, true, kIdentity, kDepthwise);
  add("convolution, one by one", false, false, kRelu, kPoint);
  add("transposed convolution", true, false, kIdentity, kPlain);
  add("transposed convolution, client", true, true, BNNSActivationFunctionTanh, kPlain);
}

}  // namespace test

// Activation and fully connected filters as workloads.
#pragma once

#include "support/workload.h"

namespace test {

class UnaryWorkload final : public Workload {
 public:
  UnaryWorkload(UnaryWorkload&&) = default;  // vectors keep their memory: pointers stay valid

  // `like` gives layout and size of input and output.
  static UnaryWorkload activation(std::string name, BNNSActivationFunction function,
                                  const BNNSNDArrayDescriptor& like, size_t batch,
                                  BNNSDataType in_type = BNNSDataTypeFloat32,
                                  BNNSDataType out_type = BNNSDataTypeFloat32) {
    UnaryWorkload w(std::move(name), batch);
    w.activation_.i_desc = w.activation_.o_desc = like;
    w.activation_.i_desc.data_type = in_type;
    w.activation_.o_desc.data_type = out_type;
    w.activation_.activation.function = function;
    w.activation_.activation.alpha = 0.25f;
    w.activation_.activation.beta = 0.5f;
    w.set_integer_constants(w.activation_.activation, count(like));
    const bool leaky = function == BNNSActivationFunctionLeakyRectifiedLinear;
    const bool per_channel = function == BNNSActivationFunctionPReLUPerChannel;
    w.slopes_ = per_channel ? like.size[2] : leaky ? 1 : 0;
    w.finish();
    return w;
  }

  struct Types {
    BNNSDataType in = BNNSDataTypeFloat32, weights = BNNSDataTypeFloat32,
                 bias = BNNSDataTypeFloat32, out = BNNSDataTypeFloat32;
  };
  static UnaryWorkload fully_connected(std::string name, size_t in, size_t out, size_t batch,
                                       BNNSActivationFunction function, bool client_pointer,
                                       const Types& types, size_t weights_inner_stride = 1) {
    UnaryWorkload w(std::move(name), batch);
    w.is_fully_connected_ = true;
    w.flags_ = client_pointer ? uint32_t{BNNSFlagsUseClientPtr} : 0;
    w.weights_ = noise(in * out * weights_inner_stride, types.weights, 7);
    w.bias_ = noise(out, types.bias, 8);
    BNNSLayerParametersFullyConnected& p = w.fully_connected_;
    p.i_desc = vector(in, nullptr, types.in);
    p.o_desc = vector(out, nullptr, types.out);
    p.w_desc = array(BNNSDataLayoutRowMajorMatrix, {in, out}, w.weights_.data(), types.weights);
    p.w_desc.stride[0] = weights_inner_stride;
    p.bias = vector(out, w.bias_.data(), types.bias);
    p.activation.function = function;
    w.set_integer_constants(p.activation, out);
    w.finish();
    return w;
  }

  void use_client_pointer() { flags_ = BNNSFlagsUseClientPtr; }
  void set_axes(uint32_t flags) { activation_.axis_flags = flags; }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(o_desc()) * bytes_of(o_desc().data_type));
    if (trainable_) {
      r.in_delta.resize(batch() * count(i_desc()));
      r.weights_delta.resize(is_fully_connected_ ? count(fully_connected_.w_desc) : slopes_);
      r.bias_delta.resize(is_fully_connected_ ? count(o_desc()) : 0);
    }
    return r;
  }

  int forward(BNNSFilter filter, Results& results) const override {
    return BNNSFilterApplyBatch(filter, batch(), in_.data(), 0, results.out.data(), 0);
  }

  int backward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor in_delta = i_desc(), out_delta = o_desc();
    in_delta.data = results.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    BNNSNDArrayDescriptor weights_delta = vector(slopes_, nullptr);
    if (is_fully_connected_) {
      weights_delta = fully_connected_.w_desc;
      weights_delta.stride[0] = 0;
    }
    BNNSNDArrayDescriptor bias_delta = vector(results.bias_delta.size());
    weights_delta.data = results.weights_delta.empty() ? nullptr : results.weights_delta.data();
    bias_delta.data = results.bias_delta.empty() ? nullptr : results.bias_delta.data();
    return BNNSFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &in_delta, 0,
                                        results.out.data(), 0, &out_delta, 0, &weights_delta,
                                        &bias_delta);
  }

 private:
  using Workload::Workload;

  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return is_fully_connected_ ? BNNSFilterCreateLayerFullyConnected(&fully_connected_, &p)
                               : BNNSFilterCreateLayerActivation(&activation_, &p);
  }
  const BNNSNDArrayDescriptor& i_desc() const {
    return is_fully_connected_ ? fully_connected_.i_desc : activation_.i_desc;
  }
  const BNNSNDArrayDescriptor& o_desc() const {
    return is_fully_connected_ ? fully_connected_.o_desc : activation_.o_desc;
  }

  void set_integer_constants(BNNSActivation& a, size_t channels) {
    for (size_t c = 0; c < channels; ++c) {
      scale_.push_back(static_cast<int32_t>(c % 5) + 1);
      offset_.push_back(static_cast<int32_t>(c % 7) - 3);
      shift_.push_back(static_cast<int32_t>(c % 3));
    }
    a.iscale = 3, a.ioffset = 1, a.ishift = 2;
    a.iscale_per_channel = scale_.data();
    a.ioffset_per_channel = offset_.data();
    a.ishift_per_channel = shift_.data();
  }

  void finish() {
    in_ = noise(batch() * count(i_desc()), i_desc().data_type, 1);
    out_delta_ = floats(batch() * count(o_desc()), 2);
    trainable_ =
        i_desc().data_type == BNNSDataTypeFloat32 && o_desc().data_type == BNNSDataTypeFloat32 &&
        (!is_fully_connected_ || (fully_connected_.w_desc.data_type == BNNSDataTypeFloat32 &&
                                  fully_connected_.bias.data_type == BNNSDataTypeFloat32));
  }

  bool is_fully_connected_ = false;
  size_t slopes_ = 0;  // trainable alphas
  BNNSLayerParametersActivation activation_ = {};
  BNNSLayerParametersFullyConnected fully_connected_ = {};
  std::vector<char> in_, weights_, bias_;
  std::vector<float> out_delta_;
  std::vector<int32_t> scale_, offset_, shift_;
};

// Every path through the memory of the two layers: nothing to copy, arrays per channel, copied and
// client weights, types that need working memory forward, functions that need it backward.
inline void add_unary_workloads(Workloads& all) {
  constexpr auto kFloat = BNNSDataTypeFloat32;
  constexpr auto kHalf = BNNSDataTypeFloat16;
  constexpr auto kInt8 = BNNSDataTypeInt8;
  const BNNSNDArrayDescriptor image = array(BNNSDataLayoutImageCHW, {7, 5, 6});
  const auto add = [&](UnaryWorkload&& w) -> UnaryWorkload& {
    all.push_back(std::make_unique<UnaryWorkload>(std::move(w)));
    return static_cast<UnaryWorkload&>(*all.back());
  };
  const auto add_activation = [&](const char* name, BNNSActivationFunction f,
                                  const BNNSNDArrayDescriptor& like,
                                  BNNSDataType in = BNNSDataTypeFloat32,
                                  BNNSDataType out = BNNSDataTypeFloat32) -> UnaryWorkload& {
    return add(UnaryWorkload::activation(name, f, like, 3, in, out));
  };
  add_activation("relu", BNNSActivationFunctionRectifiedLinear, vector(1000));
  add_activation("tanh", BNNSActivationFunctionTanh, vector(333));
  add_activation("leaky", BNNSActivationFunctionLeakyRectifiedLinear, vector(500));
  add_activation("leaky, client pointer", BNNSActivationFunctionLeakyRectifiedLinear, vector(500))
      .use_client_pointer();
  add_activation("prelu", BNNSActivationFunctionPReLUPerChannel, image);
  add_activation("softmax of rows", BNNSActivationFunctionSoftmax, image);
  add_activation("softmax of channels", BNNSActivationFunctionSoftmax, image).set_axes(4);
  add_activation("log softmax of all", BNNSActivationFunctionLogSoftmax, image).set_axes(7);
  add_activation("half to float", BNNSActivationFunctionSigmoid, vector(100), kHalf, kFloat);
  add_activation("identity int8 to half", BNNSActivationFunctionIdentity, vector(70), kInt8, kHalf);
  add_activation("integer", BNNSActivationFunctionIntegerLinearSaturate, image, kInt8, kInt8);
  add_activation("integer per channel", BNNSActivationFunctionIntegerLinearSaturatePerChannel,
                 image, kInt8, kInt8);

  using Types = UnaryWorkload::Types;
  const auto add_matrix = [&](const char* name, BNNSActivationFunction f, bool client,
                              const Types& types, size_t inner_stride = 1) {
    add(UnaryWorkload::fully_connected(name, 37, 21, 5, f, client, types, inner_stride));
  };
  constexpr auto kIdentity = BNNSActivationFunctionIdentity;
  add_matrix("fully connected, copied", kIdentity, false, {});
  add_matrix("fully connected, client", kIdentity, true, {});
  add_matrix("fully connected, copied, relu", BNNSActivationFunctionRectifiedLinear, false, {});
  add_matrix("fully connected, client, softmax", BNNSActivationFunctionSoftmax, true, {});
  add_matrix("fully connected, client, strided", BNNSActivationFunctionTanh, true, {}, 2);
  add_matrix("fully connected, client halves", kIdentity, true, {.weights = kHalf, .bias = kHalf});
  add_matrix("fully connected, copied halves", BNNSActivationFunctionTanh, false,
             {.weights = kHalf});
  add_matrix("fully connected, all halves", kIdentity, true,
             {.in = kHalf, .weights = kHalf, .bias = kHalf, .out = kHalf});
  constexpr Types kIntegers = {.in = kInt8, .weights = kInt8, .bias = kInt8, .out = kInt8};
  constexpr auto kPerChannel = BNNSActivationFunctionIntegerLinearSaturatePerChannel;
  add(UnaryWorkload::fully_connected("fully connected, halves, several chunks", 12, 9, 150,
                                     kIdentity, true,
                                     {.in = kHalf, .weights = kHalf, .out = kHalf}));
  add(UnaryWorkload::fully_connected("fully connected, tanh, several chunks", 12, 9, 150,
                                     BNNSActivationFunctionTanh, true, {}));
  add_matrix("fully connected, integers", kPerChannel, false, kIntegers);
  add_matrix("fully connected, client integers", kPerChannel, true, kIntegers);
}

}  // namespace test

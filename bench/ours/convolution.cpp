// Convolution through the C functions: weights copied by the filter ("ours", forward only) or read
// at every call ("ours-client", and every operation with a backward pass).
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/convolution.h"
#include "workloads/reference.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor image(size_t side, size_t channels, float* data) {
  return {.layout = BNNSDataLayoutImageCHW,
          .size = {side, side, channels},
          .data = data,
          .data_type = BNNSDataTypeFloat32};
}

BNNSNDArrayDescriptor weights(const ConvolutionShape& s, float* data) {
  return {.layout = BNNSDataLayoutConvolutionWeightsOIHW,
          .size = {s.kernel, s.kernel, s.inputs / s.groups, s.outputs},
          .data = data,
          .data_type = BNNSDataTypeFloat32};
}

BNNSNDArrayDescriptor vector(size_t n, float* data) {
  return {
      .layout = BNNSDataLayoutVector, .size = {n}, .data = data, .data_type = BNNSDataTypeFloat32};
}

// The filter, its memory and its calls.
class Layer {
 public:
  Layer(const Convolution& p, int threads, uint32_t flags)
      : p_(p),
        out_(p.shape.out_size()),
        in_delta_(p.shape.in_size()),
        weights_delta_(p.shape.weights_size()),
        bias_delta_(p.shape.outputs) {
    const ConvolutionShape& s = p.shape;
    BNNSLayerParametersConvolution layer = {};
    layer.i_desc = image(s.side, s.inputs, nullptr);
    layer.w_desc = weights(s, p.weights.data());
    layer.o_desc = image(s.out_side(), s.outputs, nullptr);
    layer.bias = vector(s.outputs, p.bias.data());
    layer.x_stride = layer.y_stride = s.stride;
    layer.x_padding = layer.y_padding = s.pad;
    layer.groups = s.groups;
    layer.activation = activation_of(s.fused);
    const BNNSFilterParameters settings{.flags = flags,
                                        .n_threads = size_t(threads),
                                        .alloc_memory = nullptr,
                                        .free_memory = nullptr};
    filter_ = BNNSFilterCreateLayerConvolution(&layer, &settings);
    if (filter_ == nullptr) throw std::runtime_error(OpenBNNSGetLastError());
    dx_ = image(s.side, s.inputs, in_delta_.data());
    dw_ = weights(s, weights_delta_.data());
    db_ = vector(s.outputs, bias_delta_.data());
    dy_ = image(s.out_side(), s.outputs, p.out_delta.data());
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  ~Layer() { BNNSFilterDestroy(filter_); }

  void forward() {
    require_success(BNNSFilterApplyBatch(filter_, p_.shape.batch, p_.in.data(), 0, out_.data(), 0));
  }
  void backward(bool to_input, bool to_weights) {
    require_success(BNNSFilterApplyBackwardBatch(
        filter_, p_.shape.batch, p_.in.data(), 0, to_input ? &dx_ : nullptr, 0,
        p_.shape.fused == Fused::kNone ? nullptr : p_.out.data(), 0, &dy_, 0,
        to_weights ? &dw_ : nullptr, to_weights ? &db_ : nullptr));
  }
  std::vector<Result> results(bool forward, bool to_input, bool to_weights) const {
    std::vector<Result> list;
    if (forward) list.push_back({.tensor = "out", .value = out_.copy()});
    if (to_input) list.push_back({.tensor = "in_delta", .value = in_delta_.copy()});
    if (to_weights) {
      list.push_back({.tensor = "weights_delta", .value = weights_delta_.copy()});
      list.push_back({.tensor = "bias_delta", .value = bias_delta_.copy()});
    }
    return list;
  }

 private:
  const Convolution& p_;
  Buffer out_, in_delta_, weights_delta_, bias_delta_;
  BNNSFilter filter_;
  BNNSNDArrayDescriptor dx_, dw_, db_, dy_;
};

}  // namespace

void add_our_convolution(const Convolution& p, int threads, Rows& rows) {
  const auto copied = std::make_shared<Layer>(p, threads, 0);
  const auto client = std::make_shared<Layer>(p, threads, BNNSFlagsUseClientPtr);
  const auto add = [&](const char* op, const char* who, const std::shared_ptr<Layer>& layer,
                       bool forward, bool to_input, bool to_weights) {
    const auto call = [=] {
      if (forward) layer->forward();
      if (to_input || to_weights) layer->backward(to_input, to_weights);
    };
    rows.add(op, {.who = who,
                  .run = repeated(call),
                  .results =
                      [=] {
                        call();
                        return layer->results(forward, to_input, to_weights);
                      },
                  .note = ""});
  };
  add("fwd", "ours", copied, true, false, false);
  add("fwd", "ours-client", client, true, false, false);
  if (p.shape.fused != Fused::kNone) return add("bwd", "ours", client, false, true, true);
  add("bwd_data", "ours", client, false, true, false);
  add("bwd_weights", "ours", client, false, false, true);
  add("fwd+bwd", "ours", client, true, true, true);
}

}  // namespace bench

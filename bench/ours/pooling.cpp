// Pooling through the C functions, with indices of size_t ("ours") and of 32 bits ("ours-u32").
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/pooling.h"
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

// The filter, its memory and its calls.
class Layer {
 public:
  Layer(const Pooling& p, int threads, BNNSDataType type)
      : p_(p), type_(type), out_(p.out_size()), in_delta_(p.in_size()), indices_(p.out_size()) {
    const PoolingWindow& w = p.window;
    BNNSLayerParametersPooling layer = {};
    layer.i_desc = image(p.side, p.channels, nullptr);
    layer.o_desc = image(p.out_side(), p.channels, nullptr);
    layer.pooling_function =
        w.max ? BNNSPoolingFunctionMax : BNNSPoolingFunctionAverageCountIncludePadding;
    layer.k_width = layer.k_height = w.kernel;
    layer.x_stride = layer.y_stride = w.stride;
    layer.x_padding = layer.y_padding = w.pad;
    layer.activation = activation_of(w.fused);
    const BNNSFilterParameters settings{
        .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
    filter_ = BNNSFilterCreateLayerPooling(&layer, &settings);
    if (filter_ == nullptr) throw std::runtime_error(OpenBNNSGetLastError());
    dx_ = image(p.side, p.channels, in_delta_.data());
    dy_ = image(p.out_side(), p.channels, p.out_delta.data());
    forward();
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  ~Layer() { BNNSFilterDestroy(filter_); }

  void forward() {
    require_success(BNNSPoolingFilterApplyBatchEx(filter_, p_.batch, p_.in.data(), 0, out_.data(),
                                                  0, type_, indices(), 0));
  }
  void backward() {
    require_success(BNNSPoolingFilterApplyBackwardBatchEx(filter_, p_.batch, nullptr, 0, &dx_, 0,
                                                          p_.out.data(), 0, &dy_, 0, nullptr, type_,
                                                          indices(), 0));
  }
  std::vector<Result> output() const { return {{.tensor = "out", .value = out_.copy()}}; }
  std::vector<Result> gradient() const {
    return {{.tensor = "in_delta", .value = in_delta_.copy()}};
  }

 private:
  void* indices() { return p_.window.max ? indices_.data() : nullptr; }

  const Pooling& p_;
  BNNSDataType type_;
  Buffer out_, in_delta_;
  std::vector<size_t> indices_;  // large enough for both types
  BNNSFilter filter_;
  BNNSNDArrayDescriptor dx_, dy_;
};

void add(const Pooling& p, int threads, BNNSDataType type, const char* who, Rows& rows) {
  const auto layer = std::make_shared<Layer>(p, threads, type);
  rows.add("fwd", {.who = who,
                   .run = repeated([=] { layer->forward(); }),
                   .results =
                       [=] {
                         layer->forward();
                         return layer->output();
                       },
                   .note = ""});
  rows.add("bwd", {.who = who,
                   .run = repeated([=] { layer->backward(); }),
                   .results =
                       [=] {
                         layer->backward();
                         return layer->gradient();
                       },
                   .note = ""});
}

}  // namespace

void add_our_pooling(const Pooling& p, int threads, Rows& rows) {
  add(p, threads, BNNSDataTypeUInt64, "ours", rows);
  if (p.window.max) add(p, threads, BNNSDataTypeUInt32, "ours-u32", rows);
}

}  // namespace bench

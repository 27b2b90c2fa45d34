// Permute and padding filters through the C functions.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <bit>
#include <stdexcept>

#include "workloads/movement.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor image(size_t width, size_t height, size_t channels) {
  return {.layout = BNNSDataLayoutImageCHW,
          .size = {width, height, channels},
          .data_type = BNNSDataTypeFloat32};
}

struct Layer {
  BNNSNDArrayDescriptor in, out;
  std::shared_ptr<void> filter;
};

Layer make_layer(const Movement& p, const BNNSFilterParameters& settings) {
  Layer layer = {.in = image(p.side, p.side, p.channels), .out = {}, .filter = nullptr};
  BNNSFilter filter = nullptr;
  if (p.moves == Moves::kPermute) {
    layer.out = image(p.channels, p.side, p.side);
    const BNNSLayerParametersPermute parameters{
        .i_desc = layer.in, .o_desc = layer.out, .permutation = {2, 0, 1}};
    filter = BNNSFilterCreateLayerPermute(&parameters, &settings);
  } else {
    layer.out = image(p.out_side(), p.out_side(), p.channels);
    const BNNSLayerParametersPadding parameters{
        .i_desc = layer.in,
        .o_desc = layer.out,
        .padding_size = {{p.pad, p.pad}, {p.pad, p.pad}},
        .padding_mode =
            p.moves == Moves::kConstant ? BNNSPaddingModeConstant : BNNSPaddingModeReflect,
        .padding_value = std::bit_cast<uint32_t>(Movement::kConstant)};
    filter = BNNSFilterCreateLayerPadding(&parameters, &settings);
  }
  if (filter == nullptr) throw std::runtime_error(OpenBNNSGetLastError());
  layer.filter = std::shared_ptr<void>(filter, BNNSFilterDestroy);
  return layer;
}

}  // namespace

void add_our_movement(const Movement& p, int threads, Rows& rows) {
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  const Layer layer = make_layer(p, settings);
  const auto out = std::make_shared<Buffer>(p.out_delta.size());
  const auto in_delta = std::make_shared<Buffer>(p.in.size());
  BNNSNDArrayDescriptor dx = layer.in, dy = layer.out;
  dx.data = in_delta->data();
  dy.data = p.out_delta.data();
  const auto add = [&](const char* op, const char* tensor, std::shared_ptr<Buffer> to, auto call) {
    rows.add(op, {.who = "ours",
                  .run = repeated(call),
                  .results =
                      [=]() mutable {
                        call();
                        return std::vector<Result>{{.tensor = tensor, .value = to->copy()}};
                      },
                  .note = ""});
  };
  const float* in = p.in.data();
  const size_t batch = p.batch;
  const std::shared_ptr<void> filter = layer.filter;
  add("fwd", "out", out,
      [=] { require_success(BNNSFilterApplyBatch(filter.get(), batch, in, 0, out->data(), 0)); });
  add("bwd", "in_delta", in_delta, [=]() mutable {
    require_success(BNNSFilterApplyBackwardBatch(filter.get(), batch, in, 0, &dx, 0, nullptr, 0,
                                                 &dy, 0, nullptr, nullptr));
  });
}

}  // namespace bench

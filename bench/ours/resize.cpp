// The resize layer through the C functions.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/resize.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor image(size_t side, size_t channels) {
  return {.layout = BNNSDataLayoutImageCHW,
          .size = {side, side, channels},
          .data_type = BNNSDataTypeFloat32};
}

}  // namespace

void add_our_resize(const Resize& p, int threads, Rows& rows) {
  const BNNSLayerParametersResize layer{
      .method = p.linear ? BNNSInterpolationMethodLinear : BNNSInterpolationMethodNearest,
      .i_desc = image(p.side, p.channels),
      .o_desc = image(p.out_side(), p.channels),
      .align_corners = false};
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  const std::shared_ptr<void> filter(BNNSFilterCreateLayerResize(&layer, &settings),
                                     BNNSFilterDestroy);
  if (!filter) throw std::runtime_error(OpenBNNSGetLastError());
  const auto out = std::make_shared<Buffer>(p.out_delta.size());
  const auto in_delta = std::make_shared<Buffer>(p.in.size());
  BNNSNDArrayDescriptor dx = layer.i_desc, dy = layer.o_desc;
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
  add("fwd", "out", out,
      [=] { require_success(BNNSFilterApplyBatch(filter.get(), batch, in, 0, out->data(), 0)); });
  add("bwd", "in_delta", in_delta, [=]() mutable {
    require_success(BNNSFilterApplyBackwardBatch(filter.get(), batch, nullptr, 0, &dx, 0, nullptr,
                                                 0, &dy, 0, nullptr, nullptr));
  });
}

}  // namespace bench

// The Gram layer through the C functions.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/gram.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

}  // namespace

void add_our_gram(const Gram& p, int threads, Rows& rows) {
  const BNNSLayerParametersGram layer{.alpha = 1,
                                      .i_desc = {.layout = BNNSDataLayoutImageCHW,
                                                 .size = {p.side, p.side, p.channels},
                                                 .data_type = BNNSDataTypeFloat32},
                                      .o_desc = {.layout = BNNSDataLayoutRowMajorMatrix,
                                                 .size = {p.channels, p.channels},
                                                 .data_type = BNNSDataTypeFloat32}};
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  const std::shared_ptr<void> filter(BNNSFilterCreateLayerGram(&layer, &settings),
                                     BNNSFilterDestroy);
  if (!filter) throw std::runtime_error(OpenBNNSGetLastError());
  const auto out = std::make_shared<Buffer>(p.out_delta.size());
  const auto in_delta = std::make_shared<Buffer>(p.in.size());
  BNNSNDArrayDescriptor dx = layer.i_desc, dg = layer.o_desc;
  dx.data = in_delta->data();
  dg.data = p.out_delta.data();
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
    require_success(BNNSFilterApplyBackwardBatch(filter.get(), batch, in, 0, &dx, 0, nullptr, 0,
                                                 &dg, 0, nullptr, nullptr));
  });
}

}  // namespace bench

// Dropout through the C functions.
#include "workloads/dropout.h"

#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

}  // namespace

void add_our_dropout(const Dropout& p, int threads, Rows& rows) {
  const BNNSNDArrayDescriptor vector{
      .layout = BNNSDataLayoutVector, .size = {p.n}, .data_type = BNNSDataTypeFloat32};
  const BNNSLayerParametersDropout layer{
      .i_desc = vector, .o_desc = vector, .rate = Dropout::kRate, .seed = 1, .control = 0};
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  const std::shared_ptr<void> filter(BNNSFilterCreateLayerDropout(&layer, &settings),
                                     BNNSFilterDestroy);
  if (!filter) throw std::runtime_error(OpenBNNSGetLastError());
  const auto out = std::make_shared<Buffer>(p.n), in_delta = std::make_shared<Buffer>(p.n);
  BNNSNDArrayDescriptor dx = vector, dy = vector;
  dx.data = in_delta->data();
  dy.data = p.out_delta.data();
  const float* in = p.in.data();
  const auto forward = [=] { require_success(BNNSFilterApply(filter.get(), in, out->data())); };
  auto backward = [=]() mutable {
    require_success(BNNSFilterApplyBackwardBatch(filter.get(), 1, nullptr, 0, &dx, 0, nullptr, 0,
                                                 &dy, 0, nullptr, nullptr));
  };
  forward();
  rows.add("fwd", {.who = "ours",
                   .run = repeated(forward),
                   .results = [=, &p] { return forward(), p.results(p.in, out->data()); },
                   .note = ""});
  rows.add("bwd",
           {.who = "ours",
            .run = repeated(backward),
            .results =
                [=, &p]() mutable { return backward(), p.results(p.out_delta, in_delta->data()); },
            .note = ""});
}

}  // namespace bench

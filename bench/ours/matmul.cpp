// Products of matrices through the C functions.
#include "workloads/matmul.h"

#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

}  // namespace

void add_our_matmul(const MatMul& p, int threads, Rows& rows) {
  const BNNSNDArrayDescriptor matrix{.layout = BNNSDataLayoutRowMajorMatrix,
                                     .size = {p.size, p.size},
                                     .data_type = BNNSDataTypeFloat32};
  BNNSLayerParametersBroadcastMatMul layer{};
  layer.alpha = 1;
  layer.iA_desc = layer.iB_desc = layer.o_desc = matrix;
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  const std::shared_ptr<void> filter(BNNSFilterCreateLayerBroadcastMatMul(&layer, &settings),
                                     BNNSFilterDestroy);
  if (!filter) throw std::runtime_error(OpenBNNSGetLastError());
  const auto out = std::make_shared<Buffer>(p.a.size());
  const auto da = std::make_shared<Buffer>(p.a.size()), db = std::make_shared<Buffer>(p.b.size());
  const float *a = p.a.data(), *b = p.b.data();
  BNNSNDArrayDescriptor a_delta = matrix, b_delta = matrix, out_delta = matrix;
  a_delta.data = da->data();
  b_delta.data = db->data();
  out_delta.data = p.out_delta.data();
  const size_t count = p.count;
  const auto forward = [=] {
    require_success(BNNSFilterApplyTwoInputBatch(filter.get(), count, a, 0, b, 0, out->data(), 0));
  };
  auto backward = [=]() mutable {
    require_success(BNNSFilterApplyBackwardTwoInputBatch(filter.get(), count, a, 0, &a_delta, 0, b,
                                                         0, &b_delta, 0, nullptr, 0, &out_delta, 0,
                                                         nullptr, nullptr));
  };
  rows.add("fwd", {.who = "ours",
                   .run = repeated(forward),
                   .results =
                       [=] {
                         forward();
                         return std::vector<Result>{{.tensor = "out", .value = out->copy()}};
                       },
                   .note = ""});
  rows.add("bwd", {.who = "ours",
                   .run = repeated(backward),
                   .results =
                       [=]() mutable {
                         backward();
                         return std::vector<Result>{{.tensor = "a_delta", .value = da->copy()},
                                                    {.tensor = "b_delta", .value = db->copy()}};
                       },
                   .note = ""});
}

}  // namespace bench

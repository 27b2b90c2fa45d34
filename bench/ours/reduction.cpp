// Reductions through the C functions.
#include "workloads/reduction.h"

#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

constexpr BNNSReduceFunction kFunctions[] = {BNNSReduceFunctionSum, BNNSReduceFunctionMean,
                                             BNNSReduceFunctionMax, BNNSReduceFunctionL2Norm,
                                             BNNSReduceFunctionLogSumExp};

BNNSNDArrayDescriptor matrix(size_t height, size_t width) {
  return {.layout = BNNSDataLayoutRowMajorMatrix,
          .size = {width, height},
          .data_type = BNNSDataTypeFloat32};
}

}  // namespace

void add_our_reduction(const Reduction& p, int threads, Rows& rows) {
  const BNNSLayerParametersReduction layer{.i_desc = matrix(p.height, p.width),
                                           .o_desc = matrix(p.out_height(), p.out_width()),
                                           .w_desc = {},
                                           .reduce_func = kFunctions[size_t(p.function)],
                                           .epsilon = 0};
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  const std::shared_ptr<void> filter(BNNSFilterCreateLayerReduction(&layer, &settings),
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
  add("fwd", "out", out, [=] { require_success(BNNSFilterApply(filter.get(), in, out->data())); });
  const auto y = std::make_shared<Buffer>(p.out_delta.size());
  require_success(BNNSFilterApply(filter.get(), in, y->data()));
  add("bwd", "in_delta", in_delta, [=]() mutable {
    require_success(BNNSFilterApplyBackwardBatch(filter.get(), 1, in, 0, &dx, 0, y->data(), 0, &dy,
                                                 0, nullptr, nullptr));
  });
}

}  // namespace bench

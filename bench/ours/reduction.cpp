// Reductions through the C functions.
#include "workloads/reduction.h"

#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>
#include <utility>
#include <vector>

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
  using Output = std::pair<const char*, std::shared_ptr<Buffer>>;
  const auto add = [&](const char* op, std::vector<Output> outputs, auto call) {
    rows.add(op, {.who = "ours",
                  .run = repeated(call),
                  .results =
                      [=]() mutable {
                        call();
                        std::vector<Result> results;
                        for (const auto& [tensor, buffer] : outputs)
                          results.push_back({.tensor = tensor, .value = buffer->copy()});
                        return results;
                      },
                  .note = ""});
  };
  const float* in = p.in.data();
  const auto forward = [=] { require_success(BNNSFilterApply(filter.get(), in, out->data())); };
  auto backward = [=]() mutable {
    require_success(BNNSFilterApplyBackwardBatch(filter.get(), 1, in, 0, &dx, 0, out->data(), 0,
                                                 &dy, 0, nullptr, nullptr));
  };
  add("fwd", {{"out", out}}, forward);
  if (p.function == ReductionFunction::kMax) {
    add("fwd+bwd", {{"out", out}, {"in_delta", in_delta}}, [forward, backward]() mutable {
      forward();
      backward();
    });
    return;
  }
  forward();
  add("bwd", {{"in_delta", in_delta}}, backward);
}

}  // namespace bench

// Arithmetic layers through the C functions.
#include "workloads/arithmetic.h"

#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <array>
#include <stdexcept>

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor image(size_t side, size_t channels, float* data = nullptr) {
  return {.layout = BNNSDataLayoutImageCHW,
          .size = {side, side, channels},
          .data = data,
          .data_type = BNNSDataTypeFloat32};
}

constexpr BNNSArithmeticFunction kFunctions[] = {BNNSArithmeticAdd, BNNSArithmeticMultiply,
                                                 BNNSArithmeticPow, BNNSArithmeticExp};

std::shared_ptr<void> make(const Arithmetic& p, int threads) {
  const BNNSNDArrayDescriptor x = image(p.side, p.channels);
  BNNSArithmeticUnary one = {.in = x, .in_type = BNNSSample, .out = x, .out_type = BNNSSample};
  BNNSArithmeticBinary two = {.in1 = x,
                              .in1_type = BNNSSample,
                              .in2 = p.broadcast ? image(1, p.channels) : x,
                              .in2_type = p.broadcast ? BNNSParameter : BNNSSample,
                              .out = x,
                              .out_type = BNNSSample};
  const BNNSLayerParametersArithmetic layer = {
      .arithmetic_function = kFunctions[size_t(p.function)],
      .arithmetic_function_fields =
          p.unary() ? static_cast<void*>(&one) : static_cast<void*>(&two)};
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  std::shared_ptr<void> filter(BNNSFilterCreateLayerArithmetic(&layer, &settings),
                               BNNSFilterDestroy);
  if (!filter) throw std::runtime_error(OpenBNNSGetLastError());
  return filter;
}

}  // namespace

void add_our_arithmetic(const Arithmetic& p, int threads, Rows& rows) {
  const std::shared_ptr<void> filter = make(p, threads);
  const size_t inputs = p.unary() ? 1 : 2, batch = p.batch;
  const auto out = std::make_shared<Buffer>(p.a.size());
  const auto da = std::make_shared<Buffer>(p.a.size()), db = std::make_shared<Buffer>(p.b.size());
  const float *a = p.a.data(), *b = p.b.data();
  const std::array<size_t, 2> strides = {};
  const auto forward = [=] {
    const void* in[] = {a, b};
    require_success(BNNSArithmeticFilterApplyBatch(filter.get(), batch, inputs, in, strides.data(),
                                                   out->data(), 0));
  };
  rows.add("fwd", {.who = "ours",
                   .run = repeated(forward),
                   .results =
                       [=] {
                         forward();
                         return std::vector<Result>{{.tensor = "out", .value = out->copy()}};
                       },
                   .note = ""});
  const BNNSNDArrayDescriptor a_delta = image(p.side, p.channels, da->data()),
                              b_delta = image(p.broadcast ? 1 : p.side, p.channels, db->data()),
                              out_delta = image(p.side, p.channels, p.out_delta.data());
  const float* y = p.unary() ? p.out.data() : nullptr;
  const auto backward = [=] {
    const void* in[] = {a, b};
    BNNSNDArrayDescriptor d1 = a_delta, d2 = b_delta, dy = out_delta;
    BNNSNDArrayDescriptor* deltas[] = {&d1, &d2};
    require_success(BNNSArithmeticFilterApplyBackwardBatch(
        filter.get(), batch, inputs, in, strides.data(), deltas, strides.data(), y, 0, &dy, 0));
  };
  rows.add("bwd", {.who = "ours",
                   .run = repeated(backward),
                   .results =
                       [=] {
                         backward();
                         std::vector<Result> results = {{.tensor = "a_delta", .value = da->copy()}};
                         if (inputs == 2)
                           results.push_back({.tensor = "b_delta", .value = db->copy()});
                         return results;
                       },
                   .note = ""});
}

}  // namespace bench

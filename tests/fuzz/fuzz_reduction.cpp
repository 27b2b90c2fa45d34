// Reductions of any layout, as filters (forward, backward and reserve) and as direct calls, and
// BNNSCompareTensor.
#include <cmath>

#include "one_input.h"

namespace fuzz {
namespace {

constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16};

// The sizes of the input, or 1 along some axes; types that go together most of the time.
BNNSNDArrayDescriptor reduced(Provider& p, const BNNSNDArrayDescriptor& in, bool index) {
  BNNSNDArrayDescriptor d = p.one_in(10) ? like(p, in) : in;
  const size_t rank = std::min<size_t>(rank_of(d.layout), 8);
  for (size_t i = 0; i < rank; ++i)
    if (p.one_in(2)) d.size[i] = 1;
  if (p.one_in(30) && rank > 0) d.size[p.below(rank)] += 1;
  choose_strides(p, d);
  if (p.one_in(4)) d.data_type = p.constant(kFloats);
  if (index && p.one_in(2)) choose_type(p, d, 1);
  if (p.one_in(10)) d.data_type = BNNSDataTypeBoolean;
  return d;
}

struct Case : OneInput {
  Case(Provider& p, bool client, bool direct);
  void check(const char* function) const;

  BNNSLayerParametersReduction layer = {};
  bool weighted;
  BNNSNDArrayDescriptor weights_delta = {};
  size_t dw = kNowhere, w = kNowhere;
};

Case::Case(Provider& p, bool client, bool direct) : weighted(p.one_in(2)) {
  single = direct;
  layer.i_desc = descriptor(p, 8);
  if (p.one_in(4)) layer.i_desc.data_type = p.constant(kFloats);
  if (p.one_in(6)) layer.i_desc.data_type = p.one_in(2) ? BNNSDataTypeInt32 : BNNSDataTypeBoolean;
  layer.reduce_func =
      static_cast<BNNSReduceFunction>(p.one_in(60) ? p.number<uint32_t>() : p.below(17));
  layer.epsilon = p.one_in(4) ? p.scalar() : 0.5f;
  const bool index = layer.reduce_func == BNNSReduceFunctionArgMax ||
                     layer.reduce_func == BNNSReduceFunctionArgMin;
  layer.o_desc = reduced(p, layer.i_desc, index);
  BNNSNDArrayDescriptor weights = p.one_in(8) ? like(p, layer.i_desc) : layer.i_desc;
  choose_strides(p, weights);
  if (p.one_in(4)) weights.data_type = p.constant(kFloats);
  choose_deltas(p, layer.i_desc, layer.o_desc);
  weights_delta = delta_of(p, weights);
  for (BNNSNDArrayDescriptor* d : {&in_delta, &out_delta, &weights_delta})
    if (!p.one_in(10)) d->data_type = BNNSDataTypeFloat32;
  if (weighted) {
    w = model_of(weights).small() ? memory.add(model_of(weights), {}) : kNowhere;
    if (client) parameters = mask_of(w);
    if (client && w != kNowhere) earlier.push_back(w);
  }
  place_tensors(p, layer.i_desc, layer.o_desc);
  dw = add(p, weights_delta, {});
  show("function", static_cast<size_t>(layer.reduce_func));
  connect_tensors(p, layer.i_desc, layer.o_desc);
  weights_delta.data = address(memory, dw);
  if (weighted) {
    layer.w_desc = weights;
    layer.w_desc.data = address(memory, w);
  }
  show("w_desc", layer.w_desc);
  show("weights", weights_delta);
}

void Case::check(const char* function) const {
  check_descriptors(function, layer.i_desc, layer.o_desc);
  const size_t rank = model_of(layer.i_desc).rank;
  expect(rank == model_of(layer.o_desc).rank, function, "accepts another rank");
  for (size_t i = 0; i < rank; ++i)
    expect(layer.o_desc.size[i] == 1 || layer.o_desc.size[i] == layer.i_desc.size[i], function,
           "accepts other sizes");
  expect(
      layer.reduce_func <= BNNSReduceFunctionLogSum && layer.reduce_func != BNNSReduceFunctionNone,
      function, "accepts a function that is none");
  expect(layer.reduce_func != BNNSReduceFunctionSumLog || std::isfinite(layer.epsilon), function,
         "accepts an epsilon that is not finite");
  if (layer.w_desc.data != nullptr)
    expect(model_of(layer.w_desc).legal, function, "accepts weights it must refuse");
}

void gradients(Provider& p, Case& c, const Pair& filters) {
  const bool give_in = c.in != kNowhere && !p.one_in(10);
  const bool want_in = c.dx != kNowhere && !p.one_in(6);
  const bool want_weights = c.dw != kNowhere && c.weighted != p.one_in(20);
  BNNSNDArrayDescriptor* bias_delta = p.one_in(30) ? &c.out_delta : nullptr;
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;
  const uint32_t deltas = (want_in ? mask_of(c.dx) : 0) | (want_weights ? mask_of(c.dw) : 0);
  Promise promise;
  promise.written = c.in_batch.size > 0 ? deltas : 0;
  promise.used = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0) | deltas | c.parameters;
  if (c.in_delta.flags == BNNSNDArrayFlagBackpropSet && want_in && c.in_batch.size > 0)
    promise.overwritten |= mask_of(c.dx);
  if (c.weights_delta.flags == BNNSNDArrayFlagBackpropSet && want_weights && c.in_batch.size > 0)
    promise.overwritten |= mask_of(c.dw);
  promise.repeatable = promise.overwritten == promise.written;
  promise.apart = deltas == 0 ? 0 : mask_of(c.dy) | c.parameters;
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(filters[k], c.in_batch.size,
                                        give_in ? c.memory.data(c.in) : nullptr, c.in_batch.stride,
                                        want_in ? &c.in_delta : nullptr, c.in_delta_batch.stride,
                                        nullptr, 0, out_delta, c.out_delta_batch.stride,
                                        want_weights ? &c.weights_delta : nullptr, bias_delta) == 0;
  });
}

void filter(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p, (parameters.flags & BNNSFlagsUseClientPtr) != 0, false);
  const BNNSLayerParametersReduction* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerReduction", p, parameters,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerReduction(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerReduction");
  if (!filters) return;
  c.check("BNNSFilterCreateLayerReduction");
  some_calls(
      p, filters, [&] { forward(p, c, filters); }, [&] { gradients(p, c, filters); });
}

void direct(Provider& p) {
  const char* function = "BNNSDirectApplyReduction";
  const BNNSFilterParameters parameters = filter_parameters(p);
  const BNNSFilterParameters twin = twin_of(parameters);
  Case c(p, true, true);
  c.layer.i_desc.data = p.one_in(60) ? nullptr : address(c.memory, c.in);
  c.layer.o_desc.data = p.one_in(60) ? nullptr : address(c.memory, c.out);
  const Promise promise = {.used = mask_of(c.in) | mask_of(c.out) | mask_of(c.w),
                           .written = mask_of(c.out),
                           .overwritten = mask_of(c.out),
                           .apart = mask_of(c.in) | mask_of(c.w)};
  const bool success = run(function, p, c.memory, promise, [&](size_t k) {
    return BNNSDirectApplyReduction(&c.layer, k == 0 ? &parameters : &twin) == 0;
  });
  if (success) c.check(function);
  Hooks::expect_no_leak();
}

void compare(Provider& p) {
  const char* function = "BNNSCompareTensor";
  BNNSNDArrayDescriptor d[3];
  d[0] = descriptor(p, 2);
  d[1] = p.one_in(4) ? like(p, d[0]) : d[0];
  choose_strides(p, d[1]);
  if (!p.one_in(20)) d[1].data_type = d[0].data_type;
  d[2] = p.one_in(4) ? like(p, d[0]) : d[0];
  choose_strides(p, d[2]);
  d[2].data_type = p.one_in(20) ? p.constant(kTypes) : BNNSDataTypeBoolean;
  Memory memory;
  size_t at[3];
  std::vector<size_t> earlier;
  for (size_t t = 0; t < 3; ++t) {
    at[t] = place(p, memory, model_of(d[t]), {}, earlier);
    if (at[t] != kNowhere) earlier.push_back(at[t]);
  }
  memory.allocate(p.number<uint16_t>());
  for (size_t t = 0; t < 3; ++t) {
    d[t].data = p.one_in(60) ? nullptr : address(memory, at[t]);
    show("tensor", d[t]);
  }
  const auto op = static_cast<BNNSRelationalOperator>(p.one_in(60) ? p.number<uint32_t>()
                                                                   : uint32_t(p.below(12)));
  const bool unary = op == BNNSRelationalOperatorLogicalNOT;
  const BNNSNDArrayDescriptor* in1 = p.one_in(60) ? nullptr : &d[1];
  const uint32_t read = mask_of(at[0]) | (unary ? 0 : mask_of(at[1]));
  const Promise promise = {.used = read | mask_of(at[2]),
                           .written = mask_of(at[2]),
                           .overwritten = mask_of(at[2]),
                           .apart = read};
  const bool success = run(function, p, memory, promise,
                           [&](size_t) { return BNNSCompareTensor(&d[0], in1, op, &d[2]) == 0; });
  if (!success) return;
  for (const size_t t : {0, 2}) {
    expect(model_of(d[t]).legal && !model_of(d[t]).opaque, function,
           "accepts a descriptor it must refuse");
    expect(model_of(d[t]).count == model_of(d[0]).count, function, "accepts differing counts");
  }
  expect(d[2].data_type == BNNSDataTypeBoolean, function, "accepts a result that is no Boolean");
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  switch (provider.below(8)) {
    case 0:
    case 1:
      fuzz::compare(provider);
      break;
    case 2:
      fuzz::direct(provider);
      break;
    default:
      fuzz::filter(provider);
      break;
  }
  return 0;
}

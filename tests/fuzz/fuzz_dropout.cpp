// Dropout filters: tensors of any layout, forward, backward and reserve. Two filters with one seed
// draw the same numbers as long as they are called alike, so that their results are compared.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

struct Case {
  explicit Case(Provider& p);
  void check_creation() const;

  BNNSLayerParametersDropout layer = {};
  Memory memory;
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {};
  Batch in_batch, out_batch, in_delta_batch, out_delta_batch;
  size_t in = kNowhere, out = kNowhere, dx = kNowhere, dy = kNowhere;
};

constexpr BNNSDataType kFloatTypes[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                        BNNSDataTypeBFloat16};

Case::Case(Provider& p) {
  layer.i_desc = descriptor(p, 30);
  if (p.one_in(3)) layer.i_desc.data_type = p.pick(kFloatTypes);
  layer.o_desc = like(p, layer.i_desc);
  if (p.one_in(4)) layer.o_desc.data_type = p.pick(kFloatTypes);
  static constexpr float kRates[] = {0.5f, 0.1f, 0.0f, 0.9f, 0.99999994f, 1e-30f};
  layer.rate = p.one_in(8) ? p.scalar() : p.pick(kRates);
  layer.seed = p.one_in(8) ? 0 : p.number<uint16_t>() + 1u;
  layer.control = p.one_in(2) ? p.byte() : 0;
  in_delta = delta_of(p, layer.i_desc);
  out_delta = delta_of(p, layer.o_desc);
  for (BNNSNDArrayDescriptor* d : {&in_delta, &out_delta})
    if (!p.one_in(20)) d->data_type = p.one_in(8) ? BNNSDataTypeBFloat16 : BNNSDataTypeFloat32;
  const Batch batch = batch_of(p);
  in_batch = with_stride(p, batch, model_of(layer.i_desc));
  out_batch = with_stride(p, batch, model_of(layer.o_desc));
  in_delta_batch = with_stride(p, batch, model_of(in_delta));
  out_delta_batch = with_stride(p, batch, model_of(out_delta));
  std::vector<size_t> earlier;
  const auto add = [&](const BNNSNDArrayDescriptor& d, const Batch& b) {
    const size_t t = place(p, memory, model_of(d), b, earlier);
    if (t != kNowhere) earlier.push_back(t);
    return t;
  };
  in = add(layer.i_desc, in_batch);
  out = add(layer.o_desc, out_batch);
  dy = add(out_delta, out_delta_batch);
  dx = add(in_delta, in_delta_batch);
  memory.allocate(p.number<uint16_t>());
  in_delta.data = address(memory, dx);
  out_delta.data = address(memory, dy);
  show("i_desc", layer.i_desc);
  show("o_desc", layer.o_desc);
  show("in_delta", in_delta);
  show("out_delta", out_delta);
  show("batch", in_batch.size);
}

void Case::check_creation() const {
  const char* function = "BNNSFilterCreateLayerDropout";
  const Model in_model = model_of(layer.i_desc), out_model = model_of(layer.o_desc);
  expect(in_model.legal && out_model.legal, function, "accepts a descriptor it must refuse");
  expect(!in_model.opaque && !out_model.opaque, function, "accepts an opaque layout");
  expect(!overlaps_itself(out_model), function, "accepts an o_desc with overlapping elements");
  expect(in_model.count == out_model.count, function, "accepts differing counts");
  expect(layer.rate >= 0 && layer.rate < 1, function, "accepts a rate it must refuse");
}

// In place is allowed where every element keeps its address, which expect_apart checks.
void forward(Provider& p, Case& c, const Pair& filters) {
  const bool possible = c.in != kNowhere && c.out != kNowhere;
  const void* in = p.one_in(40) || !possible ? nullptr : c.memory.data(c.in);
  void* out = p.one_in(40) || !possible ? nullptr : c.memory.data(c.out);
  Promise promise;
  promise.used = mask_of(c.in) | mask_of(c.out);
  promise.written = c.in_batch.size == 0 ? 0 : mask_of(c.out);
  promise.overwritten = promise.written;
  promise.apart = mask_of(c.in);
  promise.in_place = true;
  promise.repeatable = c.layer.seed != 0;
  run("BNNSFilterApplyBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride, out,
                                c.out_batch.stride) == 0;
  });
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const bool want = c.dx != kNowhere && !p.one_in(20);
  BNNSNDArrayDescriptor* weights_delta = p.one_in(30) ? &c.out_delta : nullptr;
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;
  Promise promise;
  promise.written = want && c.in_batch.size > 0 ? mask_of(c.dx) : 0;
  promise.used = mask_of(c.dy) | (want ? mask_of(c.dx) : 0);
  if (c.in_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten = promise.written;
  promise.apart = mask_of(c.dy);
  promise.in_place = true;
  promise.repeatable = c.layer.seed != 0;
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(filters[k], c.in_batch.size, nullptr, c.in_batch.stride,
                                        want ? &c.in_delta : nullptr, c.in_delta_batch.stride,
                                        nullptr, 0, out_delta, c.out_delta_batch.stride,
                                        weights_delta, nullptr) == 0;
  });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const BNNSLayerParametersDropout* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerDropout", p, parameters,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerDropout(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerDropout");
  if (!filters) return;
  c.check_creation();
  if (!p.one_in(10)) forward(p, c, filters);
  some_calls(
      p, filters, [&] { forward(p, c, filters); }, [&] { backward(p, c, filters); });
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}

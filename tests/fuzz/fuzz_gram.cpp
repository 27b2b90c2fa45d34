// Gram filters: images and matrices of any layout, forward, backward and reserve.
#include <cmath>

#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

struct Case {
  explicit Case(Provider& p);
  void check_creation() const;

  BNNSLayerParametersGram layer = {};
  Memory memory;
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {};
  Batch in_batch, out_batch, in_delta_batch, out_delta_batch;
  size_t in = kNowhere, out = kNowhere, dx = kNowhere, dy = kNowhere;
};

constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16};

BNNSNDArrayDescriptor tensor(Provider& p, BNNSDataLayout layout,
                             std::initializer_list<size_t> size) {
  BNNSNDArrayDescriptor d = vector_of(1);
  d.layout = layout;
  std::copy(size.begin(), size.end(), d.size);
  d.data_type = p.one_in(4) ? p.constant(kFloats) : BNNSDataTypeFloat32;
  if (p.one_in(3)) choose_strides(p, d);
  return d;
}

// Tensors that fit each other, most of the time.
Case::Case(Provider& p) {
  const size_t width = p.extent(), height = p.between(1, 5), c = p.between(1, 12);
  const size_t images = p.between(1, 3), rows = p.one_in(30) ? p.extent() : c;
  switch (p.below(3)) {
    case 0:
      layer.i_desc = tensor(p, BNNSDataLayoutImageCHW, {width, height, c});
      layer.o_desc = tensor(p, BNNSDataLayoutRowMajorMatrix, {c, rows});
      break;
    case 1:
      layer.i_desc = tensor(p, BNNSDataLayout3DFirstMajor, {width, height, c});
      layer.o_desc = tensor(p, BNNSDataLayout2DLastMajor, {rows, c});
      break;
    default:
      layer.i_desc = tensor(p, BNNSDataLayout4DFirstMajor, {images, height, width, c});
      layer.o_desc = tensor(p, BNNSDataLayout3DFirstMajor, {images, c, rows});
  }
  if (p.one_in(30)) layer.i_desc = descriptor(p, 20);
  if (p.one_in(30)) layer.o_desc = descriptor(p, 20);
  layer.alpha = p.one_in(4) ? p.scalar() : 0.5f;
  in_delta = delta_of(p, layer.i_desc);
  out_delta = delta_of(p, layer.o_desc);
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
  dx = add(in_delta, in_delta_batch);
  dy = add(out_delta, out_delta_batch);
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
  const char* function = "BNNSFilterCreateLayerGram";
  const Model in_model = model_of(layer.i_desc), out_model = model_of(layer.o_desc);
  expect(in_model.legal && out_model.legal, function, "accepts a descriptor it must refuse");
  expect(!in_model.opaque && !out_model.opaque, function, "accepts an opaque layout");
  expect(!overlaps_itself(out_model), function, "accepts an o_desc with overlapping elements");
  expect(std::isfinite(layer.alpha), function, "accepts an alpha that is not finite");
}

void forward(Provider& p, Case& c, const Pair& filters) {
  const bool possible = c.in != kNowhere && c.out != kNowhere;
  const void* in = p.one_in(40) || !possible ? nullptr : c.memory.data(c.in);
  void* out = p.one_in(40) || !possible ? nullptr : c.memory.data(c.out);
  Promise promise;
  promise.used = mask_of(c.in) | mask_of(c.out);
  promise.written = c.in_batch.size == 0 ? 0 : mask_of(c.out);
  promise.overwritten = promise.written;
  promise.apart = mask_of(c.in);
  run("BNNSFilterApplyBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride, out,
                                c.out_batch.stride) == 0;
  });
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const bool give_in = c.in != kNowhere && !p.one_in(20);
  const bool want = c.dx != kNowhere && !p.one_in(20);
  BNNSNDArrayDescriptor* weights_delta = p.one_in(30) ? &c.out_delta : nullptr;
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;
  Promise promise;
  promise.written = want && c.in_batch.size > 0 ? mask_of(c.dx) : 0;
  promise.used = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0) | (want ? mask_of(c.dx) : 0);
  if (c.in_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten = promise.written;
  promise.apart = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0);
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(
               filters[k], c.in_batch.size, give_in ? c.memory.data(c.in) : nullptr,
               c.in_batch.stride, want ? &c.in_delta : nullptr, c.in_delta_batch.stride, nullptr, 0,
               out_delta, c.out_delta_batch.stride, weights_delta, nullptr) == 0;
  });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const BNNSLayerParametersGram* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerGram", p, parameters,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerGram(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerGram");
  if (!filters) return;
  c.check_creation();
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

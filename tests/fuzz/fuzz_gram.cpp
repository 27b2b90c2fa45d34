// Gram filters: images and matrices of any layout, forward, backward and reserve.
#include <cmath>

#include "one_input.h"

namespace fuzz {
namespace {

struct Case : OneInput {
  explicit Case(Provider& p);
  void check_creation() const;

  BNNSLayerParametersGram layer = {};
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
  reads_input = true;
  choose_deltas(p, layer.i_desc, layer.o_desc);
  place_tensors(p, layer.i_desc, layer.o_desc);
  connect_tensors(p, layer.i_desc, layer.o_desc);
}

void Case::check_creation() const {
  const char* function = "BNNSFilterCreateLayerGram";
  check_descriptors(function, layer.i_desc, layer.o_desc);
  expect(std::isfinite(layer.alpha), function, "accepts an alpha that is not finite");
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

// Resize filters, forward and backward, and crop-resize with boxes of any bits.
#include <cmath>

#include "one_input.h"

namespace fuzz {
namespace {

constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16};

BNNSNDArrayDescriptor tensor(Provider& p, BNNSDataLayout layout, const size_t (&size)[4]) {
  BNNSNDArrayDescriptor d = vector_of(1);
  d.layout = layout;
  std::copy(size, size + 4, d.size);
  d.data_type = p.one_in(4) ? p.constant(kFloats) : BNNSDataTypeFloat32;
  if (p.one_in(3)) choose_strides(p, d);
  return d;
}

// ---- The filter ----

struct Case : OneInput {
  explicit Case(Provider& p);
  void check_creation() const;

  BNNSLayerParametersResize layer = {};
};

// Tensors of one rank, most of the time; some axes keep their sizes, some are doubled.
Case::Case(Provider& p) {
  static constexpr BNNSDataLayout kPlain[] = {BNNSDataLayoutImageCHW, BNNSDataLayout4DFirstMajor,
                                              BNNSDataLayoutRowMajorMatrix,
                                              BNNSDataLayout4DLastMajor, BNNSDataLayoutVector};
  const BNNSDataLayout layout = p.pick(kPlain);
  size_t from[4], to[4];
  for (size_t k = 0; k < 4; ++k) {
    from[k] = k < 2 ? std::min<size_t>(p.extent(), 33) : p.between(1, 4);
    const size_t style = p.below(4);
    to[k] = style == 0   ? 2 * from[k]
            : style == 1 ? from[k]
                         : (k < 2 ? std::min<size_t>(p.extent(), 33) : p.between(1, 4));
  }
  layer.i_desc = tensor(p, layout, from);
  layer.o_desc = tensor(p, p.one_in(30) ? p.constant(kLayouts) : layout, to);
  if (p.one_in(30)) layer.i_desc = descriptor(p, 20);
  if (p.one_in(30)) layer.o_desc = descriptor(p, 20);
  static constexpr BNNSInterpolationMethod kMethods[] = {BNNSInterpolationMethodNearest,
                                                         BNNSInterpolationMethodLinear};
  layer.method = p.constant(kMethods, 60);
  layer.align_corners = p.one_in(3);
  choose_deltas(p, layer.i_desc, layer.o_desc);
  place_tensors(p, layer.i_desc, layer.o_desc);
  connect_tensors(p, layer.i_desc, layer.o_desc);
}

void Case::check_creation() const {
  const char* function = "BNNSFilterCreateLayerResize";
  check_descriptors(function, layer.i_desc, layer.o_desc);
  expect(model_of(layer.i_desc).rank == model_of(layer.o_desc).rank, function,
         "accepts tensors of different ranks");
}

void resize(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const BNNSLayerParametersResize* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerResize", p, parameters,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerResize(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerResize");
  if (!filters) return;
  c.check_creation();
  some_calls(
      p, filters, [&] { forward(p, c, filters); }, [&] { backward(p, c, filters); });
}

// ---- Boxes ----

BNNSLayerParametersCropResize parameters_of(Provider& p) {
  static constexpr BNNSLinearSamplingMode kSampling[] = {
      BNNSLinearSamplingDefault, BNNSLinearSamplingAlignCorners, BNNSLinearSamplingUnalignCorners,
      BNNSLinearSamplingStrictAlignCorners, BNNSLinearSamplingOffsetCorners};
  static constexpr BNNSBoxCoordinateMode kBoxes[] = {BNNSCornersHeightFirst, BNNSCornersWidthFirst,
                                                     BNNSCenterSizeHeightFirst,
                                                     BNNSCenterSizeWidthFirst};
  return {.normalized_coordinates = p.one_in(3),
          .spatial_scale = p.one_in(4) ? p.scalar() : 0.5f,
          .extrapolation_value = p.one_in(4) ? p.scalar() : -1.0f,
          .sampling_mode = p.constant(kSampling, 60),
          .box_coordinate_mode = p.constant(kBoxes, 60),
          .method = p.one_in(60) ? BNNSInterpolationMethodNearest : BNNSInterpolationMethodLinear};
}

void crop_resize(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p), twin = twin_of(parameters);
  const BNNSLayerParametersCropResize layer = parameters_of(p);
  const bool gradient = p.one_in(2), last = !p.one_in(4);
  const size_t width = p.extent(), height = p.between(1, 9), channels = p.between(1, 3);
  const size_t w = p.between(1, 20), h = p.between(1, 5), boxes = p.between(1, 4);
  const size_t given = p.one_in(30) ? 5 : 4, made = p.one_in(30) ? boxes + 1 : boxes;
  BNNSNDArrayDescriptor image, roi, crops;
  if (last) {
    image = tensor(p, BNNSDataLayoutImageCHW, {width, height, channels, 1});
    roi = tensor(p, BNNSDataLayout2DLastMajor, {given, boxes, 1, 1});
    crops = tensor(p, BNNSDataLayout4DLastMajor, {w, h, channels, made});
  } else {
    image = tensor(p, BNNSDataLayout3DFirstMajor, {channels, height, width, 1});
    roi = tensor(p, BNNSDataLayout2DFirstMajor, {boxes, given, 1, 1});
    crops = tensor(p, BNNSDataLayout4DFirstMajor, {made, channels, h, w});
  }
  for (BNNSNDArrayDescriptor* d : {&image, &roi, &crops})
    if (p.one_in(40)) *d = descriptor(p, 20);
  static constexpr BNNSNDArrayFlags kFlags[] = {BNNSNDArrayFlagBackpropSet,
                                                BNNSNDArrayFlagBackpropAccumulate};
  image.flags = p.constant(kFlags, 60);
  Memory memory;
  std::vector<size_t> earlier;
  size_t at[3];
  for (size_t k = 0; k < 3; ++k) {
    at[k] = place(p, memory, model_of(k == 0 ? image : k == 1 ? roi : crops), {}, earlier);
    if (at[k] != kNowhere) earlier.push_back(at[k]);
  }
  memory.allocate(p.number<uint16_t>());
  image.data = address(memory, at[0]);
  roi.data = address(memory, at[1]);
  crops.data = address(memory, at[2]);
  show("image", image);
  show("roi", roi);
  show("crops", crops);
  Promise promise;
  promise.used = mask_of(at[0]) | mask_of(at[1]) | mask_of(at[2]);
  promise.written = mask_of(at[gradient ? 0 : 2]);
  const bool sets = !gradient || image.flags == BNNSNDArrayFlagBackpropSet;
  if (sets) promise.overwritten = promise.written;
  promise.apart = mask_of(at[1]) | mask_of(at[gradient ? 2 : 0]);
  const char* function = gradient ? "BNNSCropResizeBackward" : "BNNSCropResize";
  const bool success = run(function, p, memory, promise, [&](size_t k) {
    const BNNSFilterParameters* f = k == 0 ? &parameters : &twin;
    return (gradient ? BNNSCropResizeBackward(&layer, &image, &roi, &crops, f)
                     : BNNSCropResize(&layer, &image, &roi, &crops, f)) == 0;
  });
  Hooks::expect_no_leak();
  if (!success || image.data == nullptr) return;
  for (const BNNSNDArrayDescriptor* d : {&image, &roi, &crops})
    expect(model_of(*d).legal && !model_of(*d).opaque, function, "accepts a bad descriptor");
  expect(std::isfinite(layer.spatial_scale), function, "accepts a scale that is not finite");
  expect(model_of(image).rank + 1 == model_of(crops).rank, function, "accepts a wrong rank");
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  if (provider.one_in(2)) {
    fuzz::crop_resize(provider);
  } else {
    fuzz::resize(provider);
  }
  return 0;
}

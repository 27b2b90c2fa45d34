// BNNSCropResize and its gradient. Axes are those of memory, the fastest one first: x and y of the
// image, then any number of planes, and in the crops the boxes last; the four coordinates of a box
// lie next to each other. So 4DLastMajor {W, H, C, N} goes with 5DLastMajor {w, h, C, N, boxes} and
// 2DLastMajor {4, boxes}, and FirstMajor arrays with the sizes reversed mean the same.
#include <cmath>

#include "core/call.h"
#include "core/filter.h"
#include "layers/reduced_axes.h"
#include "layers/resize.h"
#include "ops/crop_resize/crop_resize.h"

namespace bnns::impl {
namespace {

void require_finite(float value, const char* name) {
  require(std::isfinite(value), name, " is ", double{value}, "; it must be finite");
}

template <class Enum>
void require_mode(Enum value, Enum last, const char* field, const char* type) {
  require(static_cast<uint32_t>(value) <= static_cast<uint32_t>(last), field, " is ",
          static_cast<uint32_t>(value), "; that is no ", type);
}

void read_parameters(const BNNSLayerParametersCropResize* p, CropResizeProblem& problem) {
  require(p != nullptr, "layer_params is NULL");
  require_mode(p->sampling_mode, BNNSLinearSamplingOffsetCorners, "sampling_mode",
               "BNNSLinearSamplingMode");
  require_mode(p->box_coordinate_mode, BNNSCenterSizeWidthFirst, "box_coordinate_mode",
               "BNNSBoxCoordinateMode");
  require_mode(p->method, BNNSInterpolationMethodLinear, "method", "BNNSInterpolationMethod");
  if (p->method != BNNSInterpolationMethodLinear) {
    fail_unsupported("method is BNNSInterpolationMethodNearest; boxes are resampled with ",
                     "BNNSInterpolationMethodLinear (",
                     static_cast<uint32_t>(BNNSInterpolationMethodLinear), ") only");
  }
  require_finite(p->spatial_scale, "spatial_scale");
  problem.sampling = p->sampling_mode;
  problem.coordinates = p->box_coordinate_mode;
  problem.normalized = p->normalized_coordinates;
  problem.scale = p->spatial_scale;
}

// The axes of memory in messages: "{w, h, ...}, fastest first".
Text memory_axes(const Descriptor& d) {
  Text text("{");
  for (size_t k = 0; k < d.rank(); ++k) {
    text.add(k == 0 ? "" : ", ");
    text.add(d.view.extent[k]);
  }
  text.add('}');
  return text;
}

Descriptor read_tensor(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  const Descriptor d = read_float_tensor(given, field, use);
  require(!d.layout->rotated, field, ".layout is ", d.layout->name,
          "; an array with rotated axes is no image");
  return d;
}

// Checks the three tensors against one another. The first of them is written, or the last.
void set_tensors(const Descriptor& image, const char* image_name, const Descriptor& roi,
                 const Descriptor& crops, const char* crops_name, CropResizeProblem& problem) {
  require(image.rank() >= 2, image_name, " is ", describe(image), "; an image has at least 2 axes");
  require(roi.rank() == 2, "roi is ", describe(roi),
          "; it must have 2 axes, coordinates and boxes");
  require(roi.view.extent[0] == 4, "roi has ", roi.view.extent[0],
          " values along its fastest axis; a box has 4 coordinates");
  const size_t rank = image.rank();
  bool fits = crops.rank() == rank + 1 && crops.view.extent[rank] == roi.view.extent[1];
  for (size_t k = 2; fits && k < rank; ++k) fits = crops.view.extent[k] == image.view.extent[k];
  if (!fits) {
    fail(crops_name, " has the axes ", memory_axes(crops), ", ", image_name, " has ",
         memory_axes(image), " and roi has ", roi.view.extent[1],
         " boxes, fastest axis first; from the third on the axes must be those of ", image_name,
         " and the boxes");
  }
  problem.image = image.view;
  problem.crops = crops.view;
  problem.boxes = roi.view;
}

void require_apart_from(const Descriptor& written, const char* written_name, const Descriptor& read,
                        const char* read_name) {
  require_apart(range_of(written.view), written_name, range_of(read.view), read_name);
}

}  // namespace

void crop_resize(const BNNSLayerParametersCropResize* parameters,
                 const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* roi,
                 const BNNSNDArrayDescriptor* output,
                 const BNNSFilterParameters* filter_parameters) {
  CropResizeProblem problem = {};
  read_parameters(parameters, problem);
  require_finite(parameters->extrapolation_value, "extrapolation_value");
  problem.outside = parameters->extrapolation_value;
  require(input != nullptr, "input is NULL");
  require(roi != nullptr, "roi is NULL");
  require(output != nullptr, "output is NULL");
  const FilterOptions options(filter_parameters);
  const Descriptor image = read_tensor(*input, "input", Use::kInput);
  const Descriptor boxes = read_tensor(*roi, "roi", Use::kInput);
  const Descriptor crops = read_tensor(*output, "output", Use::kOutput);
  set_tensors(image, "input", boxes, crops, "output", problem);
  require_apart_from(crops, "output.data", image, "input.data");
  require_apart_from(crops, "output.data", boxes, "roi.data");
  run_crop_resize(options.memory, options.threads, problem);
}

void crop_resize_backward(const BNNSLayerParametersCropResize* parameters,
                          const BNNSNDArrayDescriptor* in_delta, const BNNSNDArrayDescriptor* roi,
                          const BNNSNDArrayDescriptor* out_delta,
                          const BNNSFilterParameters* filter_parameters) {
  CropResizeProblem problem = {};
  read_parameters(parameters, problem);
  require(in_delta != nullptr, "in_delta is NULL");
  require(roi != nullptr, "roi is NULL");
  require(out_delta != nullptr, "out_delta is NULL");
  require_delta_flags(*in_delta, "in_delta");
  const FilterOptions options(filter_parameters);
  if (in_delta->data == nullptr) return;  // not wanted
  const Descriptor image = read_tensor(*in_delta, "in_delta", Use::kOutput);
  const Descriptor boxes = read_tensor(*roi, "roi", Use::kInput);
  const Descriptor crops = read_tensor(*out_delta, "out_delta", Use::kInput);
  set_tensors(image, "in_delta", boxes, crops, "out_delta", problem);
  require_apart_from(image, "in_delta.data", boxes, "roi.data");
  require_apart_from(image, "in_delta.data", crops, "out_delta.data");
  problem.accumulate = image.accumulate;
  run_crop_resize_backward(options.memory, options.threads, problem);
}

}  // namespace bnns::impl

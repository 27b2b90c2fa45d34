// Resizing: a layer for whole tensors, and boxes that are cut out of images and resampled.
#ifndef OPENBNNS_LAYERS_RESIZE_HPP
#define OPENBNNS_LAYERS_RESIZE_HPP

#include <cstdint>

#include "../functions.hpp"
#include "../layer.hpp"

namespace bnns {

enum class InterpolationMethod : std::uint32_t {
  nearest_neighbor = BNNSInterpolationMethodNearest,
  linear = BNNSInterpolationMethodLinear
};

struct ResizeLayerOptions {
  Required<InterpolationMethod, field::interpolation_method> interpolation_method;
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;  // axes of other sizes are resized
  bool aligns_corners = false;
  FilterParameters filter_parameters = {};
};

// apply and apply_backward are those of UnaryLayer. The gradient needs neither input nor output.
class ResizeLayer : public UnaryLayer {
 public:
  explicit ResizeLayer(const ResizeLayerOptions& options)
      : UnaryLayer(create(options), "ResizeLayer", options.input, options.output) {}

 private:
  static BNNSFilter create(const ResizeLayerOptions& options) {
    const BNNSLayerParametersResize parameters = {
        .method = static_cast<BNNSInterpolationMethod>(*options.interpolation_method),
        .i_desc = *options.input,
        .o_desc = *options.output,
        .align_corners = options.aligns_corners};
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerResize(&parameters, &native);
  }
};

// Where the samples of a box lie; the formulas are in docs/layers/resize.md.
enum class LinearSamplingMode : std::uint32_t {
  default_mode = BNNSLinearSamplingDefault,
  align_corners = BNNSLinearSamplingAlignCorners,
  unalign_corners = BNNSLinearSamplingUnalignCorners,
  strict_align_corners = BNNSLinearSamplingStrictAlignCorners,
  offset_corners = BNNSLinearSamplingOffsetCorners
};

enum class BoxCoordinateMode : std::uint32_t {
  corners_height_first = BNNSCornersHeightFirst,
  corners_width_first = BNNSCornersWidthFirst,
  center_size_height_first = BNNSCenterSizeHeightFirst,
  center_size_width_first = BNNSCenterSizeWidthFirst
};

struct CropResizeLayerOptions {
  bool coordinates_are_normalized = false;
  float spatial_scale = 1;
  float extrapolation_value = 0;
  LinearSamplingMode sampling_mode = LinearSamplingMode::default_mode;
  Required<BoxCoordinateMode, field::box_coordinate_mode> box_coordinate_mode;
};

struct CropResizeBackwardArguments {
  Required<Descriptor, field::region_of_interest> region_of_interest;
  Required<Descriptor, field::output_gradient> output_gradient;
  Required<Descriptor, field::input_gradient> input_gradient;
  FilterParameters filter_parameters = {};
};

// Owns no filter: it is copied like a number. Images are {width, height, ...} in the order of
// memory, regions {4, boxes}, and crops {width, height, ..., boxes}.
class CropResizeLayer {
 public:
  explicit CropResizeLayer(const CropResizeLayerOptions& options)
      : parameters_{
            .normalized_coordinates = options.coordinates_are_normalized,
            .spatial_scale = options.spatial_scale,
            .extrapolation_value = options.extrapolation_value,
            .sampling_mode = static_cast<BNNSLinearSamplingMode>(options.sampling_mode),
            .box_coordinate_mode = static_cast<BNNSBoxCoordinateMode>(*options.box_coordinate_mode),
            .method = BNNSInterpolationMethodLinear} {}

  void apply(const Descriptor& input, const Descriptor& region_of_interest, Descriptor output,
             const FilterParameters& filter_parameters = {}) const {
    constexpr const char* kOperation = "CropResizeLayer::apply";
    const BNNSFilterParameters native = detail::native(filter_parameters);
    detail::require_one_sample_each(
        kOperation,
        {{"input", input}, {"region_of_interest", region_of_interest}, {"output", output}});
    detail::check_apply(BNNSCropResize(&parameters_, &input, &region_of_interest, &output, &native),
                        kOperation);
  }

  void apply_backward(const CropResizeBackwardArguments& arguments) const {
    constexpr const char* kOperation = "CropResizeLayer::apply_backward";
    const BNNSFilterParameters native = detail::native(arguments.filter_parameters);
    Descriptor input_gradient = arguments.input_gradient;
    detail::require_data(input_gradient, kOperation, "input_gradient");
    detail::require_one_sample_each(kOperation,
                                    {{"region_of_interest", arguments.region_of_interest},
                                     {"output_gradient", arguments.output_gradient},
                                     {"input_gradient", input_gradient}});
    detail::check_apply(
        BNNSCropResizeBackward(&parameters_, &input_gradient, &*arguments.region_of_interest,
                               &*arguments.output_gradient, &native),
        kOperation);
  }

 private:
  BNNSLayerParametersCropResize parameters_;
};

}  // namespace bnns

#endif

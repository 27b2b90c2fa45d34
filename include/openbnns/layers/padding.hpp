// The padding layer: cells before and behind the elements of each axis.
#ifndef OPENBNNS_LAYERS_PADDING_HPP
#define OPENBNNS_LAYERS_PADDING_HPP

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "../layer.hpp"

namespace bnns {

// Cells added to one axis. `{1, 2}` adds one before and two behind, `1` adds one on either side.
struct AxisPadding {
  constexpr AxisPadding() = default;
  constexpr AxisPadding(std::size_t both) : before(both), after(both) {}
  constexpr AxisPadding(std::size_t cells_before, std::size_t cells_after)
      : before(cells_before), after(cells_after) {}

  std::size_t before = 0;
  std::size_t after = 0;
};

// What the cells hold.
class PaddingMode {
 public:
  constexpr PaddingMode() = default;  // zeros

  // The number, in the data type of the layer.
  static constexpr PaddingMode constant_scalar(float value) {
    PaddingMode mode;
    mode.scalar_ = value;
    return mode;
  }
  // These bits; of smaller types their first bytes.
  static constexpr PaddingMode constant_bit_pattern(std::uint32_t bits) {
    PaddingMode mode;
    mode.bits_ = bits;
    return mode;
  }
  // The mirror image without its edge, C B | A B C, and with it, B A | A B C.
  static constexpr PaddingMode reflect() { return PaddingMode(BNNSPaddingModeReflect); }
  static constexpr PaddingMode symmetric() { return PaddingMode(BNNSPaddingModeSymmetric); }

  BNNSPaddingMode native() const { return mode_; }
  // The constant as a tensor like this one stores it.
  std::uint32_t bits(const BNNSNDArrayDescriptor& like) const {
    if (!scalar_) return bits_;
    float value = *scalar_;
    if (like.data_type == BNNSDataTypeFloat32) return std::bit_cast<std::uint32_t>(value);
    std::uint32_t stored[2] = {};  // room for the largest type
    BNNSNDArrayDescriptor from = {}, to = {};
    from.layout = to.layout = BNNSDataLayoutVector;
    from.size[0] = to.size[0] = 1;
    from.data = &value;
    from.data_type = BNNSDataTypeFloat32;
    to.data = stored;
    to.data_type = like.data_type;
    to.data_scale = like.data_scale;
    to.data_bias = like.data_bias;
    detail::check(BNNSCopy(&to, &from, nullptr), Error::Code::unable_to_create_layer,
                  "PaddingMode::constant_scalar");
    return stored[0];
  }

 private:
  explicit constexpr PaddingMode(BNNSPaddingMode mode) : mode_(mode) {}

  BNNSPaddingMode mode_ = BNNSPaddingModeConstant;
  std::uint32_t bits_ = 0;
  std::optional<float> scalar_ = std::nullopt;
};

struct PaddingLayerOptions {
  Required<Descriptor, field::input> input;
  Required<Descriptor, field::output> output;
  PaddingMode mode = {};
  // One entry per axis, in the order of the sizes of the shape; axes without one are not padded.
  // Rows and columns of an image: {{left, right}, {top, bottom}}.
  std::vector<AxisPadding> size = {};
  FilterParameters filter_parameters = {};
};

// apply and apply_backward are those of UnaryLayer.
class PaddingLayer : public UnaryLayer {
 public:
  explicit PaddingLayer(const PaddingLayerOptions& options)
      : UnaryLayer(create(options), "PaddingLayer", options.input, options.output) {}

  // The contiguous shape of what the layer makes of `input`.
  static Shape output_shape(const Shape& input, const std::vector<AxisPadding>& size) {
    require_fitting(size, input.rank());
    std::array<std::size_t, Shape::max_rank> sizes = input.size();
    for (std::size_t k = 0; k < size.size(); ++k) {
      for (const std::size_t cells : {size[k].before, size[k].after})
        detail::require(cells <= INT32_MAX, Error::Code::invalid_argument, "PaddingLayer", "size[",
                        k, "] has ", cells, " cells on one side; at most ", INT32_MAX,
                        " are allowed");
      sizes[k] += size[k].before + size[k].after;
    }
    return Shape(std::span(sizes).first(input.rank()), input.layout());
  }

 private:
  static void require_fitting(const std::vector<AxisPadding>& size, std::size_t rank) {
    detail::require(size.size() <= rank && rank <= Shape::max_rank, Error::Code::invalid_argument,
                    "PaddingLayer", "size has ", size.size(), " entries, the input has ", rank,
                    " axes");
  }
  static BNNSFilter create(const PaddingLayerOptions& options) {
    require_fitting(options.size, rank(static_cast<DataLayout>(options.input->layout)));
    BNNSLayerParametersPadding parameters = {};
    parameters.i_desc = *options.input;
    parameters.o_desc = *options.output;
    for (std::size_t k = 0; k < options.size.size(); ++k) {
      parameters.padding_size[k][0] = options.size[k].before;
      parameters.padding_size[k][1] = options.size[k].after;
    }
    parameters.padding_mode = options.mode.native();
    parameters.padding_value = options.mode.bits(*options.input);
    const BNNSFilterParameters native = detail::native(options.filter_parameters);
    return BNNSFilterCreateLayerPadding(&parameters, &native);
  }
};

}  // namespace bnns

#endif

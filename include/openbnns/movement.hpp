// Functions that only move elements: repetition, shuffles of pixels and channels, bands of
// matrices.
#ifndef OPENBNNS_MOVEMENT_HPP
#define OPENBNNS_MOVEMENT_HPP

#include <cstdint>
#include <limits>
#include <optional>

#include "functions.hpp"

namespace bnns {

// Repeats the input along each axis until it fills the output. As in the C function, first-major
// shapes and row-major matrices are read from the last size to the first.
inline void tile(const Descriptor& input, Descriptor output,
                 const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_one_sample_each("tile", {{"input", input}, {"output", output}});
  detail::check_apply(BNNSTile(&input, &output, &native), "tile");
}

// The sum of the gradients of all copies. All shapes are read in their usual order.
inline void tile_backward(const Descriptor& output_gradient, Descriptor input_gradient,
                          const FilterParameters& filter_parameters = {}) {
  constexpr const char* kOperation = "tile_backward";
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_data(input_gradient, kOperation, "input_gradient");
  detail::require_one_sample_each(
      kOperation, {{"output_gradient", output_gradient}, {"input_gradient", input_gradient}});
  detail::check_apply(BNNSTileBackward(&input_gradient, &output_gradient, &native), kOperation);
}

enum class ShuffleType : std::uint32_t {
  pixel_shuffle_nchw = BNNSShuffleTypePixelShuffleNCHW,
  pixel_unshuffle_nchw = BNNSShuffleTypePixelUnshuffleNCHW,
  depth_to_space_nchw = BNNSShuffleTypeDepthToSpaceNCHW,
  space_to_depth_nchw = BNNSShuffleTypeSpaceToDepthNCHW,
};

// Between images whose blocks of pixels are channels and images that have them as pixels; both are
// tensor_first_major<4>({images, channels, rows, columns}). The gradient is the inverse shuffle.
inline void shuffle(ShuffleType type, const Descriptor& input, Descriptor output,
                    const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  detail::require_one_sample_each("shuffle", {{"input", input}, {"output", output}});
  detail::check_apply(BNNSShuffle(static_cast<BNNSShuffleType>(type), &input, &output, &native),
                      "shuffle");
}

// Copies matrices but for what is more than so many diagonals below or above the main one, which
// becomes 0. No number: all of them.
inline void copy_band_part(const Descriptor& input, Descriptor output,
                           std::optional<std::size_t> lower_band_count,
                           std::optional<std::size_t> upper_band_count,
                           const FilterParameters& filter_parameters = {}) {
  const BNNSFilterParameters native = detail::native(filter_parameters);
  const auto count = [](std::optional<std::size_t> diagonals) {
    constexpr std::size_t kMost = std::numeric_limits<int>::max();
    return diagonals && *diagonals <= kMost ? static_cast<int>(*diagonals) : -1;
  };
  detail::require_one_sample_each("copy_band_part", {{"input", input}, {"output", output}});
  detail::check_apply(
      BNNSBandPart(count(lower_band_count), count(upper_band_count), &input, &output, &native),
      "copy_band_part");
}

}  // namespace bnns

#endif

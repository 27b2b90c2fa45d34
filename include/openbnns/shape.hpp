// Layout, sizes and strides of one sample. Sizes and strides go to the C descriptor in the order
// they are given. In first-major layouts size[0] belongs to the slowest axis, but stride[0] to the
// fastest; everywhere else they run together.
#ifndef OPENBNNS_SHAPE_HPP
#define OPENBNNS_SHAPE_HPP

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>

#include "error.hpp"

namespace bnns {

// With the values of C.
enum class DataLayout : std::uint32_t {
  vector = BNNSDataLayoutVector,
  matrix_row_major = BNNSDataLayoutRowMajorMatrix,
  matrix_column_major = BNNSDataLayoutColumnMajorMatrix,
  matrix_first_major = BNNSDataLayout2DFirstMajor,
  matrix_last_major = BNNSDataLayout2DLastMajor,
  image_chw = BNNSDataLayoutImageCHW,
  tensor_3d_first_major = BNNSDataLayout3DFirstMajor,
  tensor_3d_last_major = BNNSDataLayout3DLastMajor,
  convolution_weights_oihw = BNNSDataLayoutConvolutionWeightsOIHW,
  tensor_4d_first_major = BNNSDataLayout4DFirstMajor,
  tensor_4d_last_major = BNNSDataLayout4DLastMajor,
  tensor_5d_first_major = BNNSDataLayout5DFirstMajor,
  tensor_5d_last_major = BNNSDataLayout5DLastMajor,
  tensor_6d_first_major = BNNSDataLayout6DFirstMajor,
  tensor_6d_last_major = BNNSDataLayout6DLastMajor,
  tensor_7d_first_major = BNNSDataLayout7DFirstMajor,
  tensor_7d_last_major = BNNSDataLayout7DLastMajor,
  tensor_8d_first_major = BNNSDataLayout8DFirstMajor,
  tensor_8d_last_major = BNNSDataLayout8DLastMajor,
  tensor_3d_sne = BNNSDataLayoutSNE,
  tensor_3d_nse = BNNSDataLayoutNSE,
  attention_weights = BNNSDataLayoutMHA_DHK,
};

// The C values hold the rank in their upper half.
constexpr std::size_t rank(DataLayout layout) {
  return static_cast<std::uint32_t>(layout) >> 16;
}

constexpr bool is_first_major(DataLayout layout) {
  return (static_cast<std::uint32_t>(layout) & 0xFFFFu) == 0x8001u;
}

namespace detail {

inline std::size_t multiply(std::size_t a, std::size_t b, const char* operation) {
  require(b == 0 || a <= std::numeric_limits<std::size_t>::max() / b, Error::Code::invalid_argument,
          operation, "the number of elements overflows");
  return a * b;
}

}  // namespace detail

class Shape {
 public:
  static constexpr std::size_t max_rank = BNNS_MAX_TENSOR_DIMENSION;
  template <std::size_t N>
  using Strides = std::array<std::size_t, N>;

  // Without a layout: a vector, or first-major of as many axes. Without strides: contiguous.
  explicit Shape(std::span<const std::size_t> size, std::optional<DataLayout> layout = std::nullopt,
                 std::span<const std::size_t> stride = {}) {
    constexpr auto invalid = Error::Code::invalid_argument;
    detail::require(!size.empty() && size.size() <= max_rank, invalid, "Shape",
                    "a shape has 1 to 8 sizes");
    layout_ = layout.value_or(default_layout(size.size()));
    detail::require(bnns::rank(layout_) == size.size(), invalid, "Shape",
                    "the number of sizes is not the rank of the layout");
    detail::require(stride.empty() || stride.size() == size.size(), invalid, "Shape",
                    "there are not as many strides as sizes");
    std::copy(size.begin(), size.end(), size_.begin());
    std::copy(stride.begin(), stride.end(), stride_.begin());
  }
  Shape(std::initializer_list<std::size_t> size) : Shape(std::span(size.begin(), size.size())) {}

  static Shape vector(std::size_t count, std::size_t stride = 0) {
    return of<1>(DataLayout::vector, {count}, {stride});
  }
  static Shape matrix_row_major(std::size_t columns, std::size_t rows, Strides<2> stride = {}) {
    return of<2>(DataLayout::matrix_row_major, {columns, rows}, stride);
  }
  static Shape matrix_column_major(std::size_t rows, std::size_t columns, Strides<2> stride = {}) {
    return of<2>(DataLayout::matrix_column_major, {rows, columns}, stride);
  }
  static Shape matrix_first_major(std::size_t a, std::size_t b, Strides<2> stride = {}) {
    return of<2>(DataLayout::matrix_first_major, {a, b}, stride);
  }
  static Shape matrix_last_major(std::size_t a, std::size_t b, Strides<2> stride = {}) {
    return of<2>(DataLayout::matrix_last_major, {a, b}, stride);
  }
  static Shape image_chw(std::size_t width, std::size_t height, std::size_t channels,
                         Strides<3> stride = {}) {
    return of<3>(DataLayout::image_chw, {width, height, channels}, stride);
  }
  static Shape tensor_3d_sne(std::size_t embedding, std::size_t batch, std::size_t sequence,
                             Strides<3> stride = {}) {
    return of<3>(DataLayout::tensor_3d_sne, {embedding, batch, sequence}, stride);
  }
  static Shape tensor_3d_nse(std::size_t embedding, std::size_t sequence, std::size_t batch,
                             Strides<3> stride = {}) {
    return of<3>(DataLayout::tensor_3d_nse, {embedding, sequence, batch}, stride);
  }
  static Shape convolution_weights_oihw(std::size_t kernel_width, std::size_t kernel_height,
                                        std::size_t input_channels, std::size_t output_channels,
                                        Strides<4> stride = {}) {
    return of<4>(DataLayout::convolution_weights_oihw,
                 {kernel_width, kernel_height, input_channels, output_channels}, stride);
  }
  // For each head a matrix with a row for each column of the input. In memory, the heads of a row
  // lie one behind the other.
  static Shape attention_weights(std::size_t columns, std::size_t head_columns, std::size_t heads) {
    return of<3>(DataLayout::attention_weights, {columns, head_columns, heads}, {});
  }
  // Ranks 3 to 8: tensor_first_major<4>({a, b, c, d}) is Swift's tensor4DFirstMajor(a, b, c, d).
  template <std::size_t N>
  static Shape tensor_first_major(std::array<std::size_t, N> size, Strides<N> stride = {}) {
    static_assert(N >= 3 && N <= max_rank);
    return of<N>(static_cast<DataLayout>(N << 16 | 0x8001u), size, stride);
  }
  template <std::size_t N>
  static Shape tensor_last_major(std::array<std::size_t, N> size, Strides<N> stride = {}) {
    static_assert(N >= 3 && N <= max_rank);
    return of<N>(static_cast<DataLayout>(N << 16 | 0x8000u), size, stride);
  }

  DataLayout layout() const noexcept { return layout_; }
  std::size_t rank() const noexcept { return bnns::rank(layout_); }
  // All 8 of C; those beyond the rank are 0.
  const std::array<std::size_t, max_rank>& size() const noexcept { return size_; }
  const std::array<std::size_t, max_rank>& stride() const noexcept { return stride_; }

  // The number of elements.
  std::size_t dense_count() const {
    std::size_t count = 1;
    for (std::size_t k = 0; k < rank(); ++k) {
      count = detail::multiply(count, std::max<std::size_t>(size_[k], 1), "Shape");
    }
    return count;
  }

  // The distance of two samples of a batch, in elements: what one sample spans, gaps included. The
  // Swift class multiplies sizes by strides, which is right only where all strides are 0.
  std::size_t batch_stride() const {
    std::size_t span = 1, contiguous = 1;
    for (std::size_t k = 0; k < rank(); ++k) {
      const std::size_t count = std::max<std::size_t>(size_of_stride(k), 1);
      const std::size_t step = stride_[k] == 0 ? contiguous : stride_[k];
      contiguous = detail::multiply(count, step, "Shape");
      span = std::max(span, contiguous);
    }
    return span;
  }

  friend bool operator==(const Shape&, const Shape&) = default;

 private:
  template <std::size_t N>
  static Shape of(DataLayout layout, const std::array<std::size_t, N>& size,
                  const Strides<N>& stride) {
    return Shape(std::span<const std::size_t>(size), layout, std::span<const std::size_t>(stride));
  }

  static DataLayout default_layout(std::size_t rank) {
    return rank == 1 ? DataLayout::vector : static_cast<DataLayout>(rank << 16 | 0x8001u);
  }

  std::size_t size_of_stride(std::size_t k) const {
    return size_[is_first_major(layout_) ? rank() - 1 - k : k];
  }

  DataLayout layout_ = DataLayout::vector;
  std::array<std::size_t, max_rank> size_ = {};
  std::array<std::size_t, max_rank> stride_ = {};
};

}  // namespace bnns

#endif

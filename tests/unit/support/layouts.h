// The layouts as the interface defines them, written down a second time: which size[] belongs to
// which stride[], and the address of an element. Tests compare the library with this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "openbnns/bnns_constants.h"

namespace test {

using Sizes = std::array<size_t, 8>;

struct Layout {
  BNNSDataLayout value;
  const char* name;
  size_t rank;
  // Offset of the element with these logical coordinates.
  size_t (*address)(const Sizes& element, const Sizes& size, const Sizes& stride);

  bool first_major() const { return (static_cast<uint32_t>(value) & 0x8001) == 0x8001; }
  // The size[] entry of the axis that stride[k] steps along.
  size_t paired_size(size_t k) const {
    if (value == BNNSDataLayoutMHA_DHK) return (k + 1) % 3;
    return first_major() ? rank - 1 - k : k;
  }
  // The size[] entry that counts logical coordinate i.
  size_t counted_size(size_t i) const {
    if (value == BNNSDataLayoutRowMajorMatrix) return 1 - i;
    if (value == BNNSDataLayoutConvolutionWeightsIOHrWr && i >= 2) return 5 - i;
    return i;
  }
};

// A coordinate that does not exist is 0, so that one formula serves every rank.
inline size_t last_major(const Sizes& e, const Sizes&, const Sizes& s) {
  size_t address = 0;
  for (size_t k = 0; k < e.size(); ++k) address += e[k] * s[k];
  return address;
}

template <size_t rank>
size_t first_major_address(const Sizes& e, const Sizes&, const Sizes& s) {
  size_t address = 0;
  for (size_t k = 0; k < rank; ++k) address += e[k] * s[rank - 1 - k];
  return address;
}

inline const std::vector<Layout>& all_layouts() {
  static const std::vector<Layout> layouts = {
      {BNNSDataLayoutVector, "Vector", 1, last_major},
      {BNNSDataLayout1DLastMajor, "1DLastMajor", 1, last_major},
      {BNNSDataLayout1DFirstMajor, "1DFirstMajor", 1, last_major},
      {BNNSDataLayoutRowMajorMatrix, "RowMajorMatrix", 2,
       [](const Sizes& e, const Sizes&, const Sizes& s) { return e[1] * s[0] + e[0] * s[1]; }},
      {BNNSDataLayoutColumnMajorMatrix, "ColumnMajorMatrix", 2, last_major},
      {BNNSDataLayout2DLastMajor, "2DLastMajor", 2, last_major},
      {BNNSDataLayout2DFirstMajor, "2DFirstMajor", 2, first_major_address<2>},
      {BNNSDataLayoutFullyConnectedSparse, "FullyConnectedSparse", 2, nullptr},
      {BNNSDataLayoutImageCHW, "ImageCHW", 3, last_major},
      {BNNSDataLayoutSNE, "SNE", 3, last_major},
      {BNNSDataLayoutNSE, "NSE", 3, last_major},
      // (k, d, h)
      {BNNSDataLayoutMHA_DHK, "MHA_DHK", 3,
       [](const Sizes& e, const Sizes&, const Sizes& s) {
         return e[1] * s[0] + e[2] * s[1] + e[0] * s[2];
       }},
      {BNNSDataLayout3DLastMajor, "3DLastMajor", 3, last_major},
      {BNNSDataLayout3DFirstMajor, "3DFirstMajor", 3, first_major_address<3>},
      // (kx, ky, ic, oc) in all four
      {BNNSDataLayoutConvolutionWeightsOIHW, "ConvolutionWeightsOIHW", 4, last_major},
      {BNNSDataLayoutConvolutionWeightsOIHrWr, "ConvolutionWeightsOIHrWr", 4,
       [](const Sizes& e, const Sizes& z, const Sizes& s) {
         return (z[0] - 1 - e[0]) * s[0] + (z[1] - 1 - e[1]) * s[1] + e[2] * s[2] + e[3] * s[3];
       }},
      {BNNSDataLayoutConvolutionWeightsIOHrWr, "ConvolutionWeightsIOHrWr", 4,
       [](const Sizes& e, const Sizes& z, const Sizes& s) {
         return (z[0] - 1 - e[0]) * s[0] + (z[1] - 1 - e[1]) * s[1] + e[3] * s[2] + e[2] * s[3];
       }},
      {BNNSDataLayoutConvolutionWeightsOIHW_Pack32, "ConvolutionWeightsOIHW_Pack32", 4,
       [](const Sizes& e, const Sizes& z, const Sizes&) {
         return e[3] % 32 + 32 * (e[0] + z[0] * (e[1] + z[1] * (e[2] + z[2] * (e[3] / 32))));
       }},
      {BNNSDataLayout4DLastMajor, "4DLastMajor", 4, last_major},
      {BNNSDataLayout4DFirstMajor, "4DFirstMajor", 4, first_major_address<4>},
      {BNNSDataLayout5DLastMajor, "5DLastMajor", 5, last_major},
      {BNNSDataLayout5DFirstMajor, "5DFirstMajor", 5, first_major_address<5>},
      {BNNSDataLayout6DLastMajor, "6DLastMajor", 6, last_major},
      {BNNSDataLayout6DFirstMajor, "6DFirstMajor", 6, first_major_address<6>},
      {BNNSDataLayout7DLastMajor, "7DLastMajor", 7, last_major},
      {BNNSDataLayout7DFirstMajor, "7DFirstMajor", 7, first_major_address<7>},
      {BNNSDataLayout8DLastMajor, "8DLastMajor", 8, last_major},
      {BNNSDataLayout8DFirstMajor, "8DFirstMajor", 8, first_major_address<8>},
  };
  return layouts;
}

inline const Layout& find(BNNSDataLayout value) {
  for (const Layout& layout : all_layouts()) {
    if (layout.value == value) return layout;
  }
  std::abort();
}

// A zero is replaced by the stride below times the extent it steps along.
inline Sizes resolve_strides(const Layout& layout, const Sizes& size, const Sizes& given) {
  Sizes stride = given;
  for (size_t k = 0; k < layout.rank; ++k) {
    if (stride[k] != 0) continue;
    stride[k] = k == 0 ? 1 : stride[k - 1] * size[layout.paired_size(k - 1)];
  }
  return stride;
}

// body(element) with the logical coordinates of every element.
template <class Body>
void for_each_element(const Layout& layout, const Sizes& size, const Body& body) {
  Sizes element = {};
  for (size_t i = 0; i < layout.rank;) {
    if (i == 0) body(element);
    if (++element[i] < size[layout.counted_size(i)]) {
      i = 0;
    } else {
      element[i++] = 0;
    }
  }
}

}  // namespace test

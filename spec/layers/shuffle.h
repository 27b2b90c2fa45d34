// Shuffles of pixels and channels, and bands of matrices.
//   pixel shuffle    wide(n, c, h r + i, w r + j) = deep(n, c r^2 + i r + j, h, w)
//   depth to space   wide(n, c, h r + i, w r + j) = deep(n, (i r + j) C + c, h, w)
//   band part        y(i, j) = x(i, j) where i - j <= lower and j - i <= upper, else 0
#ifndef OPENBNNS_SPEC_SHUFFLE_H
#define OPENBNNS_SPEC_SHUFFLE_H

#include "runner/case.h"
#include "layers/permute.h"
#include "runner/shapes.h"

namespace spec::reference {

template <class T>
void shuffle(Values<T>& v, BNNSShuffleType type, size_t r) {
  const bool to_wide =
      type == BNNSShuffleTypePixelShuffleNCHW || type == BNNSShuffleTypeDepthToSpaceNCHW;
  const bool pixels =
      type == BNNSShuffleTypePixelShuffleNCHW || type == BNNSShuffleTypePixelUnshuffleNCHW;
  Array<T>&from = v.value[0], &to = v.value[1];
  Array<T>&deep = to_wide ? from : to, &wide = to_wide ? to : from;
  const Index size = wide.shape().size;
  for (size_t n = 0; n < size[0]; ++n)
    for (size_t c = 0; c < size[1]; ++c)
      for (size_t h = 0; h < size[2]; ++h)
        for (size_t w = 0; w < size[3]; ++w) {
          const size_t i = h % r, j = w % r;
          const size_t channel = pixels ? c * r * r + i * r + j : (i * r + j) * size[1] + c;
          T &d = deep.at(0, {n, channel, h / r, w / r}), &p = wide.at(0, {n, c, h, w});
          (to_wide ? p : d) = to_wide ? d : p;
        }
}

// The entries of size[] that count rows and columns.
struct MatrixAxes {
  size_t row, column;

  explicit MatrixAxes(const Shape& s) : row(1), column(0) {
    if (s.layout == BNNSDataLayoutColumnMajorMatrix || s.layout == last_major(s.rank()))
      row = 0, column = 1;
    if (s.layout == first_major(s.rank())) row = s.rank() - 2, column = s.rank() - 1;
    if (s.layout == BNNSDataLayoutMHA_DHK) row = 2, column = 1;
  }
};

template <class T>
void band_part(Values<T>& v, int lower, int upper) {
  Array<T>&x = v.value[0], &y = v.value[1];
  const MatrixAxes from(x.shape()), to(y.shape());
  for (size_t k = 0; k < y.count(); ++k) {
    const Index at = size_index(y.shape(), k);
    Index source = at;
    source[from.row] = at[to.row];
    source[from.column] = at[to.column];
    const auto i = static_cast<int>(at[to.row]), j = static_cast<int>(at[to.column]);
    const bool kept = (lower < 0 || i - j <= lower) && (upper < 0 || j - i <= upper);
    y(0, k) = kept ? x(0, storage_position(x.shape(), source)) : T(0);
  }
}

}  // namespace spec::reference

namespace spec {

// A function without a gradient of its own.
inline Case moved_case(const char* layer, const std::string& function, const std::string& text,
                       const Shape& in, const Shape& out, bool all_types) {
  Case c{.layer = layer, .function = function, .shape = tag(in) + text};
  c.operands = {{.name = "input", .role = Role::kIn, .shape = in},
                {.name = "output", .role = Role::kOut, .shape = out}};
  c.types = moved_types(c, all_types);
  for (TypeSet& set : c.types) set.backward = Need::kNone;
  return c;
}

inline Case shuffle_case(BNNSShuffleType type, const Shape& deep, size_t r, bool all_types) {
  static constexpr const char* kNames[] = {"pixel_shuffle", "pixel_unshuffle", "depth_to_space",
                                           "space_to_depth"};
  const Shape wide{deep.layout,
                   {deep.size[0], deep.size[1] / r / r, deep.size[2] * r, deep.size[3] * r}};
  const bool to_wide = type % 2 == 0;
  Case c = moved_case("shuffle", kNames[type], "_r" + std::to_string(r), to_wide ? deep : wide,
                      to_wide ? wide : deep, all_types);
  c.forward = [=](auto& v) { reference::shuffle(v, type, r); };
  c.apply = [=](Call& call) {
    return BNNSShuffle(type, &call.value[0].desc, &call.value[1].desc, &call.parameters);
  };
  return c;
}

inline Case band_case(const Shape& in, const Shape& out, int lower, int upper,
                      bool all_types = false) {
  Case c =
      moved_case("band_part", layout_name(out.layout),
                 "_l" + std::to_string(lower) + "_u" + std::to_string(upper), in, out, all_types);
  c.forward = [=](auto& v) { reference::band_part(v, lower, upper); };
  c.apply = [=](Call& call) {
    return BNNSBandPart(lower, upper, &call.value[0].desc, &call.value[1].desc, &call.parameters);
  };
  return c;
}

inline void add_shuffle(Suite& suite) {
  for (const auto type : {BNNSShuffleTypePixelShuffleNCHW, BNNSShuffleTypePixelUnshuffleNCHW,
                          BNNSShuffleTypeDepthToSpaceNCHW, BNNSShuffleTypeSpaceToDepthNCHW}) {
    const auto add = [&](const Index& deep, size_t r, bool all_types = false) -> Case& {
      return suite.cases.emplace_back(
          shuffle_case(type, {BNNSDataLayout4DFirstMajor, deep}, r, all_types));
    };
    add({2, 12, 3, 4}, 2, true);
    add({1, 18, 5, 3}, 3);
    add({2, 5, 3, 2}, 1);
    for (size_t r = 2; r <= 5; ++r)
      for (const size_t width : {1, 9, 19, 35}) add({2, 3 * r * r, 2, width}, r).thorough = false;
    add({2, 16, 30, 33}, 2).thorough = false;  // worth several threads
  }
  constexpr int kBands[][2] = {{1, 1}, {0, 0}, {-1, 0}, {0, -1}, {2, 0}, {-1, -1}, {100, 1}};
  for (const auto& [lower, upper] : kBands) {
    for (const LayoutInfo& row : kLayouts) {
      const size_t rank = static_cast<uint32_t>(row.layout) >> 16;
      if (rank < 2 || is_rotated(row.layout) || is_pack32(row.layout)) continue;
      const Index sizes = {4, 5, 3, 6, 2, 1, 2, 3};
      const Shape s{row.layout, Index(sizes.begin(), sizes.begin() + static_cast<ptrdiff_t>(rank))};
      suite.cases.push_back(band_case(s, s, lower, upper));
      suite.cases.back().thorough = lower == 1;
    }
    const Shape rows{BNNSDataLayoutRowMajorMatrix, {7, 5}};
    const Shape columns{BNNSDataLayoutColumnMajorMatrix, {5, 7}};
    suite.cases.push_back(band_case(rows, columns, lower, upper, true));
    suite.cases.push_back(band_case(columns, rows, lower, upper));
  }
  const Shape large{BNNSDataLayout3DFirstMajor, {3, 150, 131}};
  suite.cases.push_back(band_case(large, large, 20, 3));
  suite.cases.back().thorough = false;
}

}  // namespace spec
#endif

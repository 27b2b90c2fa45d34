// Boxes of images. Along an axis of a box from s to e (E = e - s), sample i of n lies at
//   s + p_i,   p_i within [0, E]:
//   default  i (E + 1 - (E + 1) / n) / (n - 1)     strict corners  i E / (n - 1), corners: E / 2
//   for offset   (i + 1/2) max(1, E) / n               n = 1; unaligned  (i + 1/2) (E + 1) / n -
//   1/2
// and between the cells before and behind it; a cell outside the image has the extrapolation value,
// and so has a sample of a box whose coordinates are not finite.
//   y = sum of wx wy x     dx = sum over boxes and samples of wx wy dy
#ifndef OPENBNNS_SPEC_CROP_RESIZE_H
#define OPENBNNS_SPEC_CROP_RESIZE_H

#include <limits>

#include "runner/case.h"
#include "runner/published.h"
#include "runner/shapes.h"

namespace spec::reference {

struct CropResize {
  BNNSLayerParametersCropResize parameters = {};

  struct Tap {
    ptrdiff_t cell;
    double weight;
  };
  static double offset(BNNSLinearSamplingMode mode, double E, double n, double i) {
    if (mode == BNNSLinearSamplingUnalignCorners) return (i + 0.5) * (E + 1) / n - 0.5;
    if (mode == BNNSLinearSamplingOffsetCorners) return (i + 0.5) * std::max(1.0, E) / n;
    if (n == 1) return mode == BNNSLinearSamplingAlignCorners ? E / 2 : 0;
    const double reach = mode == BNNSLinearSamplingDefault ? E + 1 - (E + 1) / n : E;
    return i * reach / (n - 1);
  }
  // The coordinates of a box along x or y, by the four numbers as they are stored.
  void box(bool is_x, const double* c, double cells, double& start, double& end) const {
    const auto mode = parameters.box_coordinate_mode;
    const bool width_first = mode == BNNSCornersWidthFirst || mode == BNNSCenterSizeWidthFirst;
    const bool centre = mode == BNNSCenterSizeHeightFirst || mode == BNNSCenterSizeWidthFirst;
    const size_t first = is_x == width_first ? 0 : 1;
    const double a = c[first], b = c[first + 2];
    const double scale =
        double{parameters.spatial_scale} * (parameters.normalized_coordinates ? cells - 1 : 1);
    start = (centre ? a - b / 2 : a) * scale;
    end = (centre ? a + b / 2 : b) * scale;
  }
  // Empty: the sample lies outside.
  std::vector<Tap> taps(double start, double end, size_t cells, size_t n, size_t i) const {
    if (!std::isfinite(start) || !std::isfinite(end)) return {};
    const double E = end - start;
    const double p =
        offset(parameters.sampling_mode, E, static_cast<double>(n), static_cast<double>(i));
    const double at = start + std::min(E, std::max(0.0, p));
    if (at <= -1 || at >= static_cast<double>(cells)) return {};
    const auto cell = static_cast<ptrdiff_t>(std::floor(at));
    const double w = at - std::floor(at);
    if (w == 0) return {{cell, 1}};
    return {{cell, 1 - w}, {cell + 1, w}};
  }

  // f(crop position, image position or -1, weight) for all pixels of all samples. Positions are
  // those in storage order: x, y, planes, boxes.
  template <class T, class F>
  void for_products(const Array<T>& image, const Array<T>& crops, const Array<T>& roi, F f) const {
    const size_t W = image.shape().size[paired_axis(image.shape(), 0)];
    const size_t H = image.shape().size[paired_axis(image.shape(), 1)];
    const size_t w = crops.shape().size[paired_axis(crops.shape(), 0)];
    const size_t h = crops.shape().size[paired_axis(crops.shape(), 1)];
    const size_t planes = image.count() / W / H;
    for (size_t k = 0; k < crops.count(); ++k) {
      const size_t i = k % w, j = k / w % h, plane = k / w / h % planes, b = k / w / h / planes;
      double c[4], left, right, top, bottom;
      for (size_t m = 0; m < 4; ++m) c[m] = value_of(roi(0, 4 * b + m));
      box(true, c, static_cast<double>(W), left, right);
      box(false, c, static_cast<double>(H), top, bottom);
      const std::vector<Tap> xs = taps(left, right, W, w, i), ys = taps(top, bottom, H, h, j);
      if (xs.empty() || ys.empty()) f(k, ptrdiff_t{-1}, T(1));
      for (const Tap& y : ys)
        for (const Tap& x : xs) {
          const bool inside = x.cell >= 0 && y.cell >= 0 && x.cell < static_cast<ptrdiff_t>(W) &&
                              y.cell < static_cast<ptrdiff_t>(H);
          const auto pixel =
              static_cast<ptrdiff_t>(W * H * plane) + y.cell * static_cast<ptrdiff_t>(W) + x.cell;
          f(k, inside ? pixel : -1, T(x.weight) * T(y.weight));
        }
    }
  }

  template <class T>
  void forward(Values<T>& v) const {
    std::vector<Sum<T>> sums(v.value[1].count());
    for_products(v.value[0], v.value[1], v.value[2], [&](size_t k, ptrdiff_t pixel, T weight) {
      const T outside(static_cast<double>(parameters.extrapolation_value));
      const T value = pixel < 0 ? outside : v.value[0](0, static_cast<size_t>(pixel));
      value_of(weight) == 1 ? sums[k].add(value) : sums[k].add(weight, value);
    });
    for (size_t k = 0; k < sums.size(); ++k) v.value[1](0, k) = sums[k].get();
  }
  template <class T>
  void backward(Values<T>& v) const {
    std::vector<Sum<T>> sums(v.delta[0].count());
    for_products(v.delta[0], v.delta[1], v.value[2], [&](size_t k, ptrdiff_t pixel, T weight) {
      if (pixel < 0) return;
      Sum<T>& sum = sums[static_cast<size_t>(pixel)];
      value_of(weight) == 1 ? sum.add(v.delta[1](0, k)) : sum.add(weight, v.delta[1](0, k));
    });
    for (size_t k = 0; k < sums.size(); ++k) v.delta[0](0, k) = sums[k].get();
  }
};

}  // namespace spec::reference

namespace spec {

inline BNNSLayerParametersCropResize crop_resize_parameters(BNNSLinearSamplingMode sampling,
                                                            BNNSBoxCoordinateMode boxes) {
  return {.normalized_coordinates = false,
          .spatial_scale = 1,
          .extrapolation_value = -1.5f,
          .sampling_mode = sampling,
          .box_coordinate_mode = boxes,
          .method = BNNSInterpolationMethodLinear};
}

inline Case crop_resize_case(const std::string& function, const BNNSLayerParametersCropResize& p,
                             const Shape& in, const Shape& roi, const Shape& out) {
  const reference::CropResize layer = {p};
  Case c{.layer = "crop_resize", .function = function, .shape = tag(in) + "_to_" + tag(out)};
  c.operands = {{.name = "input", .role = Role::kIn, .shape = in},
                {.name = "output", .role = Role::kOut, .shape = out},
                {.name = "roi", .role = Role::kIn, .shape = roi, .has_delta = false}};
  const double unit = p.normalized_coordinates ? 0.125 : 1;
  for (int k = -5; k <= 24; ++k) c.operands[2].fill.choices.push_back(0.25 * k * unit);
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = {{.name = "backward", .reference = [layer](auto& v) { layer.backward(v); }}};
  c.backward[0].deltas = {0};
  c.backward[0].needs_all = true;
  c.apply = [p](Call& call) {
    return BNNSCropResize(&p, &call.value[0].desc, &call.value[2].desc, &call.value[1].desc,
                          &call.parameters);
  };
  c.apply_backward = [p](Call& call) {
    return BNNSCropResizeBackward(&p, &call.delta[0].desc, &call.value[2].desc, &call.delta[1].desc,
                                  &call.parameters);
  };
  c.wide = true;
  for (const BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16})
    c.types.push_back(same_type(c, type, Need::kRequired));
  return c;
}

// Two boxes of centre and size cut two patterns of 3 x 3 out of an image.
inline std::string check_crop_resize_patterns() {
  std::vector<float> image(30), crops(18);
  const auto at = [&](size_t x, size_t y) -> float& { return image[x + 6 * y]; };
  for (size_t i = 0; i < 3; ++i) at(1, i) = at(i, 1) = 1;
  for (size_t i = 0; i < 3; ++i) at(3 + i, 2 + i) = at(3 + i, 4 - i) = 9;
  std::vector<float> boxes = {1, 1, 3, 3, 4, 3, 3, 3};
  BNNSLayerParametersCropResize p =
      crop_resize_parameters(BNNSLinearSamplingOffsetCorners, BNNSCenterSizeWidthFirst);
  p.extrapolation_value = 0;
  const auto array = [](std::vector<size_t> size, std::vector<float>& data) {
    return describe({last_major(size.size()), size}, data.data());
  };
  const BNNSNDArrayDescriptor in = array({6, 5, 1, 1}, image);
  const BNNSNDArrayDescriptor roi = array({4, 2}, boxes);
  BNNSNDArrayDescriptor out = array({3, 3, 1, 1, 2}, crops);
  if (BNNSCropResize(&p, &in, &roi, &out, nullptr) != 0) return failure();
  return expect("output", crops, {0, 1, 0, 1, 1, 1, 0, 1, 0, 9, 0, 9, 0, 9, 0, 9, 0, 9});
}

inline void add_crop_resize(Suite& suite) {
  constexpr const char* kSampling[] = {"default", "corners", "unaligned", "strict", "offset"};
  constexpr const char* kBoxes[] = {"corners_hw", "corners_wh", "centre_hw", "centre_wh"};
  const Shape in = {last_major(4), {6, 5, 2, 3}}, roi = {last_major(2), {4, 3}};
  const Shape out = {last_major(5), {4, 3, 2, 3, 3}}, single = {last_major(5), {1, 1, 2, 3, 3}};
  for (uint32_t sampling = 0; sampling < 5; ++sampling) {
    for (uint32_t boxes = 0; boxes < 4; ++boxes) {
      BNNSLayerParametersCropResize p = crop_resize_parameters(
          static_cast<BNNSLinearSamplingMode>(sampling), static_cast<BNNSBoxCoordinateMode>(boxes));
      const std::string name = std::string(kSampling[sampling]) + "_" + kBoxes[boxes];
      const auto add = [&](const Shape& x, const Shape& b, const Shape& y,
                           const char* suffix) -> Case& {
        Case& c = suite.cases.emplace_back(crop_resize_case(name + suffix, p, x, b, y));
        c.thorough = sampling == boxes;
        return c;
      };
      add(in, roi, out, "").gradient = true;
      add(in, roi, single, "_single");
      p.spatial_scale = 0.75f;
      add({first_major(3), {2, 7, 9}}, {first_major(2), {2, 4}}, {first_major(4), {2, 2, 5, 6}},
          "_scaled");
      p.normalized_coordinates = true;
      add({BNNSDataLayoutRowMajorMatrix, {9, 8}}, {BNNSDataLayoutRowMajorMatrix, {4, 5}},
          {last_major(3), {3, 7, 5}}, "_normalized");
    }
  }
  const auto p = crop_resize_parameters(BNNSLinearSamplingUnalignCorners, BNNSCornersHeightFirst);
  const auto add = [&](const char* name, const Shape& x, const Shape& b, const Shape& y) -> Case& {
    Case& c = suite.cases.emplace_back(crop_resize_case(name, p, x, b, y));
    c.thorough = false;
    return c;
  };
  add("wide", {last_major(3), {700, 4, 1}}, roi, {last_major(4), {1100, 3, 1, 3}});
  add("threads", {last_major(4), {20, 20, 16, 2}}, {last_major(2), {4, 20}},
      {last_major(5), {9, 7, 16, 2, 20}});
  add("bands", {last_major(2), {200, 400}}, roi, {last_major(3), {150, 300, 3}});
  add("speed", {last_major(4), {56, 56, 64, 1}}, {last_major(2), {4, 64}},
      {last_major(5), {7, 7, 64, 1, 64}})
      .speed = true;
  suite.checks.push_back({"crop_resize/patterns", check_crop_resize_patterns});
}

}  // namespace spec
#endif

// Resize. Along an axis of S source cells and T targets, target t lies at
//   p = (t + 1/2) S / T - 1/2 within [0, S - 1], or with aligned corners t (S - 1) / (T - 1)
// and linear interpolation takes the cells before and behind p; the nearest cell is floor(t S / T),
// or with aligned corners round(p). y is the product of these maps along all axes,
//   y = sum of weight x     dx = sum over the targets that read it of weight dy
#ifndef OPENBNNS_SPEC_RESIZE_H
#define OPENBNNS_SPEC_RESIZE_H

#include "layers/clip.h"
#include "runner/published.h"

namespace spec::reference {

struct Resize {
  bool linear, corners;

  struct Tap {
    size_t cell;
    double weight;
  };
  std::vector<Tap> taps(size_t sources, size_t targets, size_t t) const {
    const auto s = static_cast<int64_t>(sources), n = static_cast<int64_t>(targets);
    const auto i = static_cast<int64_t>(t);
    if (sources == targets) return {{t, 1}};
    int64_t above = corners ? i * (s - 1) : (2 * i + 1) * s - n;
    int64_t below = corners ? std::max<int64_t>(n - 1, 1) : 2 * n;
    if (!linear) {
      const int64_t cell = corners ? (2 * above + below) / (2 * below) : i * s / n;
      return {{static_cast<size_t>(cell), 1}};
    }
    above = std::min(std::max<int64_t>(above, 0), (s - 1) * below);
    const auto cell = static_cast<size_t>(above / below);
    const double w = static_cast<double>(above % below) / static_cast<double>(below);
    if (w == 0) return {{cell, 1}};
    return {{cell, 1 - w}, {cell + 1, w}};
  }

  // f(position in the output, position in the input, weight) for all that are not 0.
  template <class T, class F>
  void for_products(const Array<T>& x, const Array<T>& y, F f) const {
    const Index from = logical_size(x.shape()), to = logical_size(y.shape());
    for_elements(y, [&](size_t at, const Index& c) {
      std::vector<std::vector<Tap>> axis;
      for (size_t k = 0; k < c.size(); ++k) axis.push_back(taps(from[k], to[k], c[k]));
      Index choice(c.size(), 0), place(c.size());
      while (true) {
        T weight(1);
        for (size_t k = 0; k < c.size(); ++k) {
          place[k] = axis[k][choice[k]].cell;
          weight = weight * T(axis[k][choice[k]].weight);
        }
        f(at, x.position(place), weight);
        size_t k = 0;
        while (k < c.size() && ++choice[k] == axis[k].size()) choice[k++] = 0;
        if (k == c.size()) return;
      }
    });
  }

  template <class T>
  void forward(Values<T>& v) const {
    const Array<T>& x = v.value[0];
    Array<T>& y = v.value[1];
    for (size_t b = 0; b < v.batch; ++b) {
      std::vector<Sum<T>> sums(y.count());
      for_products(x, y,
                   [&](size_t to, size_t from, T weight) { add(sums[to], weight, x(b, from)); });
      for (size_t k = 0; k < sums.size(); ++k) y(b, k) = sums[k].get();
    }
  }
  template <class T>
  void backward(Values<T>& v) const {
    const Array<T>& dy = v.delta[1];
    Array<T>& dx = v.delta[0];
    for (size_t b = 0; b < v.batch; ++b) {
      std::vector<Sum<T>> sums(dx.count());
      for_products(dx, dy,
                   [&](size_t to, size_t from, T weight) { add(sums[from], weight, dy(b, to)); });
      for (size_t k = 0; k < sums.size(); ++k) dx(b, k) = sums[k].get();
    }
  }
  // A weight of 1 is no rounding.
  template <class T>
  static void add(Sum<T>& sum, T weight, T value) {
    value_of(weight) == 1 ? sum.add(value) : sum.add(weight, value);
  }
};

}  // namespace spec::reference

namespace spec {

inline BNNSFilter create_resize(const reference::Resize& layer, Call& call) {
  const BNNSLayerParametersResize p = {
      .method = layer.linear ? BNNSInterpolationMethodLinear : BNNSInterpolationMethodNearest,
      .i_desc = call.value[0].shape_only(),
      .o_desc = call.value[1].shape_only(),
      .align_corners = layer.corners};
  return BNNSFilterCreateLayerResize(&p, &call.parameters);
}

inline Case resize_case(bool linear, bool corners, const Shape& in, const Shape& out,
                        size_t batch) {
  const reference::Resize layer = {.linear = linear, .corners = corners};
  Case c{.layer = "resize",
         .function = std::string(linear ? "linear" : "nearest") + (corners ? "_corners" : ""),
         .shape = tag(in) + "_to_" + tag(out, batch)};
  c.operands = {{.name = "in", .role = Role::kIn, .shape = in},
                {.name = "out", .role = Role::kOut, .shape = out}};
  c.batch = batch;
  c.create = [layer](Call& call) { return create_resize(layer, call); };
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = {{.name = "backward", .reference = [layer](auto& v) { layer.backward(v); }}};
  c.backward[0].deltas = {0};
  c.backward[0].pass_in = false;
  c.backward[0].needs_all = true;
  c.integers_are_exact = !linear;
  for (const BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16}) {
    c.types.push_back(same_type(c, type, Need::kRequired));
    c.types.back().float_deltas = type == BNNSDataTypeFloat16;
  }
  c.flops = 4 * static_cast<double>(batch * out.count());
  return c;
}

// The types of input and output differ.
inline void add_resize_mixes(Case& c) {
  for (const TypeInfo& from : kTypes)
    for (const TypeInfo& to : kTypes) {
      if (from.kind != Kind::kFloat || to.kind != Kind::kFloat || from.type == to.type) continue;
      TypeSet set = same_type(c, from.type, Need::kRequired);
      set.types[1].type = to.type;
      set.float_deltas = true;
      set.name = std::string(from.name) + " to " + to.name;
      set.shown = "any mix of them";
      c.types.push_back(set);
    }
}

inline std::string check_resize_blocks() {
  Call call;
  const Shape in = {BNNSDataLayout2DFirstMajor, {2, 2}}, out = {BNNSDataLayout2DFirstMajor, {4, 4}};
  call.value = {{.desc = describe(in, nullptr)}, {.desc = describe(out, nullptr)}};
  BNNSFilter f = create_resize({.linear = false, .corners = false}, call);
  if (!f) return failure();
  const std::vector<float> x = {1, 2, 3, 4};
  std::vector<float> y(16);
  const int status = BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  return expect("out", y, {1, 1, 2, 2, 1, 1, 2, 2, 3, 3, 4, 4, 3, 3, 4, 4});
}

inline std::string check_resize_large_blocks() {
  Call call;
  const Shape in = {BNNSDataLayoutRowMajorMatrix, {3, 3}},
              out = {BNNSDataLayoutRowMajorMatrix, {24, 9}};
  call.value = {{.desc = describe(in, nullptr)}, {.desc = describe(out, nullptr)}};
  BNNSFilter f = create_resize({.linear = false, .corners = false}, call);
  if (!f) return failure();
  const std::vector<float> x = {0, 1, 0, 1, 1, 1, 0, 1, 0};
  std::vector<float> y(24 * 9);
  const int status = BNNSFilterApply(f, x.data(), y.data());
  BNNSFilterDestroy(f);
  if (status != 0) return failure();
  std::vector<double> right;
  for (size_t k = 0; k < y.size(); ++k) right.push_back(double{x[k / 24 / 3 * 3 + k % 24 / 8]});
  return expect("out", y, right);
}

inline void add_resize_shapes(Suite& suite) {
  const auto add = [&](const Shape& in, const Shape& out, size_t batch) {
    for (const bool linear : {false, true})
      for (const bool corners : {false, true})
        suite.cases.push_back(resize_case(linear, corners, in, out, batch));
  };
  add(image(5, 3, 2), image(10, 6, 2), 3);
  add(image(7, 5, 3), image(3, 8, 3), 2);  // down and up, no multiples
  for (Case& c : suite.cases) c.gradient = c.layer == "resize";
  add(image(4, 6, 2), image(1, 1, 2), 2);
  add(image(1, 1, 3), image(5, 4, 3), 2);
  add(image(9, 4, 3), image(3, 4, 6), 2);  // axes that keep their size
  add(vector_of(6), vector_of(12), 3);
  add({BNNSDataLayout4DLastMajor, {3, 5, 4, 2}}, {BNNSDataLayout4DLastMajor, {3, 10, 8, 2}}, 2);
  add({BNNSDataLayout4DFirstMajor, {2, 3, 2, 4}}, {BNNSDataLayout4DFirstMajor, {3, 2, 4, 7}}, 2);
  add({BNNSDataLayoutRowMajorMatrix, {4, 5}}, {BNNSDataLayout2DFirstMajor, {10, 6}}, 2);
  add({BNNSDataLayoutMHA_DHK, {3, 2, 4}}, {BNNSDataLayoutMHA_DHK, {6, 3, 4}}, 2);
  add({BNNSDataLayout8DFirstMajor, {1, 2, 1, 2, 2, 1, 2, 3}},
      {BNNSDataLayout8DFirstMajor, {2, 2, 1, 3, 1, 1, 3, 5}}, 1);
}

inline void add_resize(Suite& suite) {
  Suite own;
  add_resize_shapes(own);
  add_resize_mixes(own.cases[2]);
  const auto add = [&](bool linear, bool corners, const Shape& in, const Shape& out,
                       size_t batch) -> Case& {
    Case& c = own.cases.emplace_back(resize_case(linear, corners, in, out, batch));
    c.thorough = false;
    return c;
  };
  for (size_t n = 1; n <= 70; ++n) {  // every size around the vector widths
    const size_t other = 1 + n * 5 % 31;
    for (const bool linear : {false, true}) {
      add(linear, false, image(n, 3, 2), image(2 * n, 6, 2), 1);
      add(linear, n % 2 == 0, image(n, other, 1), image(other, 7, 1), 2);
    }
  }
  // Rows of several blocks; a sum that is longer than a block.
  add(true, false, vector_of(1400), vector_of(2800), 2);
  add(true, true, vector_of(2500), vector_of(700), 2);
  add(false, false, vector_of(3), vector_of(4001), 1);
  add(true, false, vector_of(1), vector_of(2500), 1);
  add(true, false, image(1500, 3, 1), image(3000, 6, 1), 1);
  add(true, false, image(40, 40, 30), image(80, 80, 30), 2);  // worth several threads
  add(true, true, image(100, 60, 8), image(70, 90, 8), 2);
  add(false, false, image(40, 40, 30), image(80, 80, 30), 2);
  for (const bool linear : {false, true})
    add(linear, false, image(56, 56, 64), image(112, 112, 64), 8).speed = true;
  add(true, true, image(56, 56, 64), image(112, 112, 64), 8).speed = true;
  suite.cases.insert(suite.cases.end(), own.cases.begin(), own.cases.end());
  suite.checks.push_back({"resize/2x2_blocks", check_resize_blocks});
  suite.checks.push_back({"resize/8x3_blocks", check_resize_large_blocks});
}

}  // namespace spec
#endif

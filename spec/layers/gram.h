// G(f, c) = alpha sum over the pixels of x(f) x(c), for every image of x.
#ifndef OPENBNNS_SPEC_GRAM_H
#define OPENBNNS_SPEC_GRAM_H

#include <numeric>

#include "runner/case.h"
#include "runner/shapes.h"

namespace spec {
namespace reference {

struct Gram {
  float alpha;

  template <class T>
  void forward(Values<T>& v) const {
    const Places x(v.value[0].shape(), 4), g(v.value[1].shape(), 3);
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t image = 0; image < x.size[0]; ++image)
        for (size_t f = 0; f < x.size[3]; ++f)
          for (size_t c = 0; c < x.size[3]; ++c) {
            Sum<T> sum;
            for (size_t i = 0; i < x.size[1]; ++i)
              for (size_t j = 0; j < x.size[2]; ++j)
                sum.add(v.value[0](b, x({image, i, j, f})), v.value[0](b, x({image, i, j, c})));
            v.value[1](b, g({image, f, c})) = T(alpha) * sum.get();
          }
  }

  template <class T>
  void backward(Values<T>& v) const {
    const Places x(v.value[0].shape(), 4), g(v.value[1].shape(), 3);
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t image = 0; image < x.size[0]; ++image)
        for (size_t i = 0; i < x.size[1]; ++i)
          for (size_t j = 0; j < x.size[2]; ++j)
            for (size_t f = 0; f < x.size[3]; ++f) {
              Sum<T> sum;
              for (size_t c = 0; c < x.size[3]; ++c)
                sum.add(v.delta[1](b, g({image, f, c})) + v.delta[1](b, g({image, c, f})),
                        v.value[0](b, x({image, i, j, c})));
              v.delta[0](b, x({image, i, j, f})) = T(alpha) * sum.get();
            }
  }

  // Elements of x(image, i, j, channel) and G(image, f, c); coordinates that a tensor of less rank
  // does not have are the first ones, of size 1.
  struct Places {
    Places(const Shape& shape, size_t rank) : size(logical_size(shape)) {
      step = logical_map(shape).step;
      size.insert(size.begin(), rank - shape.rank(), 1);
      step.insert(step.begin(), rank - shape.rank(), 0);
    }
    size_t operator()(std::initializer_list<size_t> c) const {
      return static_cast<size_t>(std::inner_product(c.begin(), c.end(), step.begin(), 0L));
    }
    Index size;
    std::vector<ptrdiff_t> step;
  };
};

}  // namespace reference

inline Case gram_case(const Shape& in, const Shape& out, size_t batch) {
  const reference::Gram layer{.alpha = 0.5f};
  Case c{.layer = "gram", .function = "gram", .shape = tag(in) + "_to_" + tag(out, batch)};
  c.batch = batch;
  c.operands = {{.name = "in", .role = Role::kIn, .shape = in},
                {.name = "out", .role = Role::kOut, .shape = out}};
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = {{.name = "backward",
                 .reference = [layer](auto& v) { layer.backward(v); },
                 .deltas = {0},
                 .needs_all = true}};
  c.create = [layer](Call& call) {
    const BNNSLayerParametersGram p = {.alpha = layer.alpha,
                                       .i_desc = call.value[0].shape_only(),
                                       .o_desc = call.value[1].shape_only()};
    return BNNSFilterCreateLayerGram(&p, &call.parameters);
  };
  c.types = {same_type(c, BNNSDataTypeFloat32, Need::kRequired),
             same_type(c, BNNSDataTypeFloat16, Need::kOptional),
             same_type(c, BNNSDataTypeBFloat16, Need::kRequired)};
  c.integers_are_exact = true;
  return c;
}

inline void add_gram(Suite& suite) {
  const auto add = [&](const Shape& in, const Shape& out, size_t batch) -> Case& {
    return suite.cases.emplace_back(gram_case(in, out, batch));
  };
  add(image(3, 2, 4), {BNNSDataLayoutRowMajorMatrix, {4, 4}}, 2).gradient = true;
  add(image(7, 5, 3), {BNNSDataLayoutColumnMajorMatrix, {3, 3}}, 3);
  add({BNNSDataLayout3DFirstMajor, {4, 3, 5}}, {BNNSDataLayout2DFirstMajor, {5, 5}}, 2);
  add({BNNSDataLayout4DFirstMajor, {3, 2, 4, 5}}, {BNNSDataLayout3DLastMajor, {3, 5, 5}}, 2);
  add({BNNSDataLayoutRowMajorMatrix, {6, 11}}, {BNNSDataLayout2DLastMajor, {6, 6}}, 2);
  for (size_t n = 1; n <= 40; ++n) {  // every size around the vector widths
    const Shape out = {BNNSDataLayoutRowMajorMatrix, {1 + n * 7 % 37, 1 + n * 7 % 37}};
    add(image(n, 1 + n % 3, out.size[0]), out, 1 + n % 4).thorough = false;
  }
  for (size_t c : {16, 64, 256}) {  // worth several threads; timed
    Case& large = add(image(28, 28, c), {BNNSDataLayoutRowMajorMatrix, {c, c}}, 8);
    large.speed = true;
    large.flops = 2.0 * 8 * 784 * static_cast<double>(c * c);
  }
  add(image(40, 9, 35), {BNNSDataLayoutRowMajorMatrix, {35, 35}}, 20).thorough = false;
}

}  // namespace spec
#endif

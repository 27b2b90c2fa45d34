// Padding. Along each axis, counted by size[], y shows x with cells before and behind it.
//   constant: they hold a value   reflect: C B A B C   symmetric: B A A B
//   dx(i) = the sum of dy over the cells that show x(i)
#ifndef OPENBNNS_SPEC_PADDING_H
#define OPENBNNS_SPEC_PADDING_H

#include "runner/case.h"
#include "layers/permute.h"
#include "runner/shapes.h"

namespace spec::reference {

constexpr double kPaddingConstant = 1;  // every type has it

struct Padding {
  BNNSPaddingMode mode;
  Index before, after;

  // The element that cell i shows, counted from the first element; `size` if it is the constant.
  size_t source(ptrdiff_t i, ptrdiff_t size) const {
    const ptrdiff_t repeat = mode == BNNSPaddingModeSymmetric ? 1 : 0;
    while (i < 0 || i >= size) {
      if (mode == BNNSPaddingModeConstant) return static_cast<size_t>(size);
      i = i < 0 ? -repeat - i : 2 * (size - 1) + repeat - i;
    }
    return static_cast<size_t>(i);
  }
  // Calls body(cell of y, whether it shows an element, which one).
  template <class Body>
  void for_all(const Shape& x, const Shape& y, const Body& body) const {
    for (size_t k = 0; k < y.count(); ++k) {
      Index i = size_index(y, k);
      bool shows = true;
      for (size_t d = 0; d < i.size(); ++d) {
        const auto cell = static_cast<ptrdiff_t>(i[d]) - static_cast<ptrdiff_t>(before[d]);
        i[d] = source(cell, static_cast<ptrdiff_t>(x.size[d]));
        shows = shows && i[d] < x.size[d];
      }
      body(k, shows, shows ? storage_position(x, i) : 0);
    }
  }
  template <class T>
  void forward(Values<T>& v) const {
    Array<T>&x = v.value[0], &y = v.value[1];
    for (size_t b = 0; b < v.batch; ++b)
      for_all(x.shape(), y.shape(), [&](size_t cell, bool shows, size_t from) {
        y(b, cell) = shows ? x(b, from) : T(kPaddingConstant);
      });
  }
  template <class T>
  void backward(Values<T>& v) const {
    Array<T>&dx = v.delta[0], &dy = v.delta[1];
    for (size_t b = 0; b < v.batch; ++b) {
      std::vector<Sum<T>> sums(dx.count());
      for_all(dx.shape(), dy.shape(), [&](size_t cell, bool shows, size_t to) {
        if (shows) sums[to].add(dy(b, cell));
      });
      for (size_t i = 0; i < sums.size(); ++i) dx(b, i) = sums[i].get();
    }
  }
};

}  // namespace spec::reference

namespace spec {

inline uint32_t constant_bits(BNNSDataType type) {
  unsigned char bytes[sizeof(uint64_t)] = {};
  encode(reference::kPaddingConstant, type, bytes);
  return get<uint32_t>(bytes);
}

inline Case padding_case(const Shape& in, BNNSPaddingMode mode, const Index& before,
                         const Index& after, size_t batch, bool all_types = false) {
  static constexpr const char* kNames[] = {"constant", "reflect", "symmetric"};
  Shape out = in;
  std::string sizes;
  for (size_t d = 0; d < in.rank(); ++d) {
    out.size[d] += before[d] + after[d];
    sizes += "_" + std::to_string(before[d]) + "+" + std::to_string(after[d]);
  }
  const reference::Padding layer{mode, before, after};
  Case c{.layer = "padding", .function = kNames[mode], .shape = tag(in, batch) + sizes};
  c.operands = {{.name = "in", .role = Role::kIn, .shape = in},
                {.name = "out", .role = Role::kOut, .shape = out}};
  c.batch = batch;
  c.types = moved_types(c, all_types, mode == BNNSPaddingModeConstant ? 4 : 8);
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = {moved_backward([layer](auto& v) { layer.backward(v); })};
  c.create = [layer](Call& call) {
    BNNSLayerParametersPadding p = {};
    p.i_desc = call.value[0].shape_only();
    p.o_desc = call.value[1].shape_only();
    for (auto& sides : p.padding_size) sides[0] = sides[1] = SIZE_MAX;
    for (size_t d = 0; d < layer.before.size(); ++d) {
      p.padding_size[d][0] = layer.before[d];
      p.padding_size[d][1] = layer.after[d];
    }
    p.padding_mode = layer.mode;
    // Bits behind those of a value are not read.
    p.padding_value = constant_bits(p.i_desc.data_type);
    const size_t bits = 8 * type_info(p.i_desc.data_type).bytes;
    if (bits < 32) p.padding_value |= 0xABCDEF01u << bits;
    return BNNSFilterCreateLayerPadding(&p, &call.parameters);
  };
  c.integers_are_exact = true;
  return c;
}

inline void add_padding(Suite& suite) {
  constexpr BNNSPaddingMode kModes[] = {BNNSPaddingModeConstant, BNNSPaddingModeReflect,
                                        BNNSPaddingModeSymmetric};
  for (const BNNSPaddingMode mode : kModes) {
    const auto add = [&](const Shape& in, const Index& before, const Index& after,
                         size_t batch) -> Case& {
      return suite.cases.emplace_back(padding_case(in, mode, before, after, batch));
    };
    add(image(4, 3, 2), {2, 1, 1}, {1, 2, 0}, 2).gradient = true;
    suite.cases.push_back(padding_case(image(7, 5, 3), mode, {1, 2, 0}, {2, 1, 0}, 2, true));
    add(vector_of(9), {2}, {4}, 2);
    add(vector_of(600), {37}, {599}, 2);  // rows longer than a block
    add(vector_of(3), {8}, {11}, 2);      // more than one image
    add({BNNSDataLayoutRowMajorMatrix, {2, 3}}, {5, 0}, {0, 7}, 3);
    add({BNNSDataLayoutColumnMajorMatrix, {6, 5}}, {0, 3}, {1, 0}, 2);
    add({BNNSDataLayout3DFirstMajor, {5, 6, 3}}, {1, 2, 0}, {2, 1, 0}, 2);  // as NHWC
    add({BNNSDataLayout4DFirstMajor, {2, 3, 4, 5}}, {0, 0, 1, 1}, {0, 0, 1, 1}, 1);
    add({BNNSDataLayout4DLastMajor, {5, 4, 3, 2}}, {1, 1, 1, 1}, {0, 1, 0, 1}, 2);
    add({BNNSDataLayout5DFirstMajor, {2, 3, 2, 2, 4}}, {1, 0, 0, 1, 2}, {0, 2, 1, 0, 1}, 2);
    add({BNNSDataLayout8DLastMajor, {3, 1, 2, 2, 1, 2, 2, 2}}, {1, 0, 1, 0, 0, 0, 0, 1},
        {1, 0, 0, 0, 0, 1, 0, 0}, 1);
    add(image(6, 5, 2), {0, 0, 0}, {0, 0, 0}, 3);  // nothing is padded
    for (size_t n = 2; n <= 36; ++n)
      add(image(n, 2 + n % 3, 2), {n % 4, n % 2, 0}, {n % 3, 1, 0}, 1 + n % 4).thorough = false;
    add(image(63, 41, 9), {1, 2, 0}, {2, 1, 0}, 6).thorough = false;  // worth several threads
    add(vector_of(20000), {3}, {5}, 2).thorough = false;
    add(image(56, 56, 64), {1, 1, 0}, {1, 1, 0}, 8).speed = true;
  }
  suite.cases.push_back(
      padding_case(image(1, 1, 2), BNNSPaddingModeSymmetric, {3, 0, 0}, {2, 1, 0}, 2));
}

}  // namespace spec
#endif

// Permutations of axes, counted by size[].
//   y(i) = x(j) with j[permutation[k]] = i[k]      dx(j) = dy(i)
#ifndef OPENBNNS_SPEC_PERMUTE_H
#define OPENBNNS_SPEC_PERMUTE_H

#include "runner/case.h"
#include "runner/shapes.h"

namespace spec {

// Where a dense array of the layout has the element with these coordinates by size[].
inline size_t storage_position(const Shape& shape, const Index& index) {
  const Index dense = dense_strides(shape);
  size_t position = 0;
  for (size_t s = 0; s < shape.rank(); ++s) position += index[paired_axis(shape, s)] * dense[s];
  return position;
}

// Stored values are moved: forward every type; gradients in float, BFloat16 besides.
inline std::vector<TypeSet> moved_types(const Case& c, bool all, size_t most_bytes = 8) {
  std::vector<TypeSet> sets;
  for (const TypeInfo& row : kTypes) {
    const bool basic = row.type == BNNSDataTypeFloat32 || row.type == BNNSDataTypeBFloat16;
    if ((!all && !basic) || row.bytes > most_bytes) continue;
    TypeSet set = same_type(c, row.type, Need::kRequired);
    set.float_deltas = !basic;
    for (ElementType& type : set.types)
      for (int i = 0; row.kind == Kind::kIndexed && i < 256; ++i)
        type.table.push_back(static_cast<float>(i));
    sets.push_back(set);
  }
  return sets;
}

// A gradient that is always asked for, and that needs nothing but dy.
inline Backward moved_backward(Pass reference) {
  return {.name = "backward",
          .reference = std::move(reference),
          .pass_in = false,
          .deltas = {0},
          .needs_all = true};
}

}  // namespace spec

namespace spec::reference {

struct Permute {
  Index permutation;

  // Calls body(position in x, position in y) for all elements.
  template <class Body>
  void for_all(const Shape& x, const Shape& y, const Body& body) const {
    for (size_t k = 0; k < y.count(); ++k) {
      const Index i = size_index(y, k);
      Index j(i.size());
      for (size_t axis = 0; axis < i.size(); ++axis) j[permutation[axis]] = i[axis];
      body(storage_position(x, j), k);
    }
  }
  template <class T>
  void forward(Values<T>& v) const {
    Array<T>&x = v.value[0], &y = v.value[1];
    for (size_t b = 0; b < v.batch; ++b)
      for_all(x.shape(), y.shape(), [&](size_t from, size_t to) { y(b, to) = x(b, from); });
  }
  template <class T>
  void backward(Values<T>& v) const {
    Array<T>&dx = v.delta[0], &dy = v.delta[1];
    for (size_t b = 0; b < v.batch; ++b)
      for_all(dx.shape(), dy.shape(), [&](size_t to, size_t from) { dx(b, to) = dy(b, from); });
  }
};

}  // namespace spec::reference

namespace spec {

inline int apply_permute_backward(Call& call) {
  return BNNSPermuteFilterApplyBackwardBatch(call.filter, call.batch, call.delta[0].pointer(),
                                             call.delta[0].stride, call.delta[1].pointer(),
                                             call.delta[1].stride);
}

// `generic`: backward through the call that all filters share.
inline Case permute_case(const Shape& in, const Index& permutation, size_t batch,
                         bool all_types = false, bool generic = false) {
  Shape out = in;
  std::string order = "_";
  for (size_t k = 0; k < in.rank(); ++k) {
    out.size[k] = in.size[permutation[k]];
    order += std::to_string(permutation[k]);
  }
  const reference::Permute layer{permutation};
  Case c{.layer = "permute",
         .function = generic ? "permute_generic" : "permute",
         .shape = tag(in, batch) + order};
  c.operands = {{.name = "in", .role = Role::kIn, .shape = in},
                {.name = "out", .role = Role::kOut, .shape = out}};
  c.batch = batch;
  c.types = moved_types(c, all_types);
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = {moved_backward([layer](auto& v) { layer.backward(v); })};
  c.create = [permutation](Call& call) {
    BNNSLayerParametersPermute p = {};
    p.i_desc = call.value[0].shape_only();
    p.o_desc = call.value[1].shape_only();
    std::fill(p.permutation, p.permutation + 8, SIZE_MAX);  // behind the rank nobody looks
    std::copy(permutation.begin(), permutation.end(), p.permutation);
    return BNNSFilterCreateLayerPermute(&p, &call.parameters);
  };
  c.integers_are_exact = true;
  if (!generic) c.apply_backward = apply_permute_backward;
  return c;
}

inline void add_permute(Suite& suite) {
  const auto add = [&](const Shape& in, const Index& p, size_t batch) -> Case& {
    return suite.cases.emplace_back(permute_case(in, p, batch));
  };
  add(image(4, 3, 2), {2, 0, 1}, 2).gradient = true;
  suite.cases.push_back(permute_case(image(5, 4, 3), {2, 1, 0}, 2, true));
  suite.cases.push_back(permute_case(image(17, 3, 18), {2, 0, 1}, 2, true, true));
  suite.cases.push_back(permute_case({BNNSDataLayout2DFirstMajor, {33, 35}}, {1, 0}, 1, true));
  for (const Index& p : {Index{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    add(image(7, 5, 3), p, 3);
    add({BNNSDataLayout3DFirstMajor, {6, 4, 5}}, p, 2);
  }
  add(vector_of(37), {0}, 3);
  add({BNNSDataLayoutRowMajorMatrix, {9, 21}}, {1, 0}, 4);
  add({BNNSDataLayoutColumnMajorMatrix, {9, 21}}, {1, 0}, 4);
  add({BNNSDataLayoutMHA_DHK, {3, 4, 5}}, {1, 2, 0}, 2);
  add({BNNSDataLayoutConvolutionWeightsOIHW, {3, 2, 4, 5}}, {3, 2, 1, 0}, 1);
  add({BNNSDataLayout5DFirstMajor, {2, 3, 4, 2, 5}}, {4, 2, 0, 3, 1}, 2);
  add({BNNSDataLayout6DLastMajor, {2, 3, 1, 2, 3, 2}}, {5, 0, 4, 1, 3, 2}, 2);
  add({BNNSDataLayout8DFirstMajor, {2, 1, 3, 2, 2, 2, 2, 3}}, {7, 6, 5, 4, 3, 2, 1, 0}, 2);
  for (size_t n = 1; n <= 40; ++n) {  // around the sizes of squares and blocks
    add({BNNSDataLayout4DFirstMajor, {1 + n % 2, n, 2, 1 + n * 7 % 23}}, {0, 2, 3, 1}, 1 + n % 3)
        .thorough = false;
    add({BNNSDataLayout2DFirstMajor, {1 + n % 5, 60 + n}}, {1, 0}, 2).thorough = false;
  }
  // Worth several threads; timed.
  add({BNNSDataLayout4DFirstMajor, {4, 66, 31, 30}}, {0, 2, 3, 1}, 1).thorough = false;
  add(image(201, 67, 3), {2, 0, 1}, 2).thorough = false;
  for (const size_t c : {3, 64}) add(image(56, 56, c), {2, 0, 1}, 8).speed = true;
}

}  // namespace spec
#endif

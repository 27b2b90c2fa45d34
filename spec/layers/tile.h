// Repetition along the axes of size[], and its gradient.
//   output(i) = input(i mod size)      in_delta(i) = the sum of out_delta over all copies of i
// BNNSTile reads size[] of FirstMajor layouts and RowMajorMatrix from its end; BNNSTileBackward
// does not. So that both see the same tensors here, the first is given these sizes turned around.
#ifndef OPENBNNS_SPEC_TILE_H
#define OPENBNNS_SPEC_TILE_H

#include "runner/case.h"
#include "layers/permute.h"
#include "runner/shapes.h"

namespace spec::reference {

template <class Body>
void for_copies(const Shape& in, const Shape& out, const Body& body) {
  for (size_t k = 0; k < out.count(); ++k) {
    Index i = size_index(out, k);
    for (size_t d = 0; d < i.size(); ++d) i[d] %= in.size[d];
    body(storage_position(in, i), k);
  }
}

template <class T>
void tile(Values<T>& v) {
  Array<T>&in = v.value[0], &out = v.value[1];
  for_copies(in.shape(), out.shape(), [&](size_t from, size_t to) { out(0, to) = in(0, from); });
}

template <class T>
void tile_backward(Values<T>& v) {
  Array<T>&dx = v.delta[0], &dy = v.delta[1];
  std::vector<Sum<T>> sums(dx.count());
  for_copies(dx.shape(), dy.shape(), [&](size_t to, size_t from) { sums[to].add(dy(0, from)); });
  for (size_t i = 0; i < sums.size(); ++i) dx(0, i) = sums[i].get();
}

}  // namespace spec::reference

namespace spec {

inline BNNSNDArrayDescriptor as_tile_reads(const BNNSNDArrayDescriptor& given, size_t rank) {
  BNNSNDArrayDescriptor d = given;
  if (d.layout == first_major(rank) || d.layout == BNNSDataLayoutRowMajorMatrix)
    std::reverse(d.size, d.size + rank);
  return d;
}

inline Case tile_case(const Shape& in, const Index& times, bool all_types = false) {
  Shape out = in;
  std::string text = "_x";
  for (size_t d = 0; d < in.rank(); ++d) {
    out.size[d] *= times[d];
    text += "_" + std::to_string(times[d]);
  }
  Case c{.layer = "tile", .function = "tile", .shape = tag(in) + text};
  c.operands = {{.name = "input", .role = Role::kIn, .shape = in},
                {.name = "output", .role = Role::kOut, .shape = out}};
  c.types = moved_types(c, all_types);
  for (TypeSet& set : c.types)
    if (set.types[0].info().kind == Kind::kFloat) set.float_deltas = false;
  c.forward = [](auto& v) { reference::tile(v); };
  c.backward = {moved_backward([](auto& v) { reference::tile_backward(v); })};
  c.apply = [rank = in.rank()](Call& call) {
    const BNNSNDArrayDescriptor from = as_tile_reads(call.value[0].desc, rank);
    BNNSNDArrayDescriptor to = as_tile_reads(call.value[1].desc, rank);
    return BNNSTile(&from, &to, &call.parameters);
  };
  c.apply_backward = [](Call& call) {
    return BNNSTileBackward(call.delta[0].pointer(), call.delta[1].pointer(), &call.parameters);
  };
  c.integers_are_exact = true;
  return c;
}

inline void add_tile(Suite& suite) {
  const auto add = [&](const Shape& in, const Index& times) -> Case& {
    return suite.cases.emplace_back(tile_case(in, times));
  };
  add(image(3, 2, 2), {2, 1, 3}).gradient = true;
  suite.cases.push_back(tile_case(image(5, 3, 2), {2, 3, 2}, true));
  suite.cases.push_back(tile_case({BNNSDataLayout2DFirstMajor, {4, 7}}, {3, 2}, true));
  add(vector_of(11), {1});
  add(vector_of(11), {7});
  add(vector_of(1), {300});
  for (const BNNSDataLayout layout : {BNNSDataLayoutRowMajorMatrix, BNNSDataLayoutColumnMajorMatrix,
                                      BNNSDataLayout2DFirstMajor, BNNSDataLayout2DLastMajor}) {
    add({layout, {6, 5}}, {1, 4});
    add({layout, {6, 5}}, {4, 1});
    add({layout, {1, 9}}, {33, 2});
  }
  add({BNNSDataLayout3DFirstMajor, {3, 1, 5}}, {2, 6, 2});
  add({BNNSDataLayout4DLastMajor, {2, 3, 2, 2}}, {3, 1, 2, 2});
  add({BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, 1, 2}}, {1, 1, 4, 2});
  add({BNNSDataLayout6DFirstMajor, {2, 3, 2, 1, 2, 3}}, {2, 1, 2, 3, 1, 2});
  add({BNNSDataLayout8DLastMajor, {2, 2, 2, 2, 2, 2, 2, 2}}, {2, 2, 2, 2, 2, 2, 2, 2}).thorough =
      false;
  for (size_t n = 1; n <= 40; ++n)
    add({BNNSDataLayout3DFirstMajor, {2, n % 5 + 1, n}}, {1 + n % 2, 1 + n % 3, 1 + n % 4})
        .thorough = false;
  add(vector_of(3), {20000}).thorough = false;  // worth several threads
  add({BNNSDataLayout2DFirstMajor, {1, 700}}, {90, 1}).thorough = false;
  add({BNNSDataLayout2DFirstMajor, {500, 1}}, {1, 130}).thorough = false;
  add({BNNSDataLayout2DFirstMajor, {1, 512}}, {4096, 1}).speed = true;
}

}  // namespace spec
#endif

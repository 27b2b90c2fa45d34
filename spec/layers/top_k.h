// The best values along an axis. A row is all elements that differ in that logical coordinate only.
// Values are ordered by size, NaN above all others; of equal ones the first comes first.
//   top_k      values[j], indices[j] = the j-th of the row's values in that order, and its place
//   in_top_k   1 if fewer than k values of the row are above the tested one, else 0
#ifndef OPENBNNS_SPEC_TOP_K_H
#define OPENBNNS_SPEC_TOP_K_H

#include <numeric>

#include "runner/case.h"
#include "layers/copy.h"
#include "runner/published.h"
#include "runner/shapes.h"

namespace spec::reference {

template <class T>
bool is_above(const T& a, const T& b) {
  if (std::isnan(value_of(b))) return false;
  return std::isnan(value_of(a)) || a > b;
}

// f(coordinates of the first element) for every row.
template <class F>
void for_rows(const Index& size, size_t axis, F f) {
  size_t count = 1;
  for (size_t t = 0; t < size.size(); ++t) count *= t == axis ? 1 : size[t];
  Index c(size.size(), 0);
  for (size_t n = 0; n < count; ++n) {
    f(c);
    for (size_t t = 0; t < c.size(); ++t) {
      if (t == axis) continue;
      if (++c[t] < size[t]) break;
      c[t] = 0;
    }
  }
}

template <class T>
std::vector<T> row_at(const Array<T>& in, size_t b, Index c, size_t axis) {
  std::vector<T> row(logical_size(in.shape())[axis]);
  for (size_t i = 0; i < row.size(); ++i) {
    c[axis] = i;
    row[i] = in(b, in.position(c));
  }
  return row;
}

// Without an operand 2 the indices are not wanted.
template <class T>
void top_k(Values<T>& v, size_t axis, size_t k) {
  for (size_t b = 0; b < v.batch; ++b) {
    for_rows(logical_size(v.value[0].shape()), axis, [&](Index c) {
      const std::vector<T> row = row_at(v.value[0], b, c, axis);
      std::vector<size_t> order(row.size());
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t i, size_t j) { return is_above(row[i], row[j]); });
      for (size_t j = 0; j < k; ++j) {
        c[axis] = j;
        v.value[1](b, v.value[1].position(c)) = row[order[j]];
        if (v.value.size() > 2)
          v.value[2](b, v.value[2].position(c)) = T(static_cast<double>(order[j]));
      }
    });
  }
}

inline Index without(const Index& c, size_t axis) {
  Index rest;
  for (size_t t = 0; t < c.size(); ++t)
    if (t != axis) rest.push_back(c[t]);
  return rest.empty() ? Index{0} : rest;
}

template <class T>
void in_top_k(Values<T>& v, size_t axis, size_t k) {
  const size_t rank = v.value[0].shape().rank();
  for (size_t b = 0; b < v.batch; ++b) {
    for_rows(logical_size(v.value[0].shape()), axis, [&](const Index& c) {
      const std::vector<T> row = row_at(v.value[0], b, c, axis);
      const auto place = [&](const Array<T>& a) {
        return a.position(a.shape().rank() == rank ? c : without(c, axis));
      };
      const auto tested = static_cast<size_t>(value_of(v.value[1](b, place(v.value[1]))));
      size_t above = 0;
      for (const T& x : row) above += is_above(x, row[tested]);
      v.value[2](b, place(v.value[2])) = T(above < k ? 1.0 : 0.0);
    });
  }
}

}  // namespace spec::reference

namespace spec {

// The shape with another size in one logical coordinate.
inline Shape with_extent(Shape shape, size_t axis, size_t extent) {
  shape.size[logical_axis(shape, axis)] = extent;
  return shape;
}

// Numbers of which many are equal, among them both zeros.
inline Fill few_numbers() {
  return {.choices = {-2, -1, -0.0, 0, 0.5, 1, 1.5, 2}};
}

struct TopKShapes {
  Shape in, values, indices;
  size_t axis, k;
};

inline TopKShapes like_input(const Shape& in, size_t axis, size_t k) {
  const Shape best = with_extent(in, axis, k);
  return {.in = in, .values = best, .indices = best, .axis = axis, .k = k};
}

inline Case top_k_case(const TopKShapes& s, size_t batch, BNNSDataType index, bool ties) {
  const bool wants_indices = index != BNNSDataTypeFloat32;
  Case c{.layer = "top_k", .function = wants_indices ? "top_k" : "top_k_values", .batch = batch};
  c.shape = tag(s.in, batch) + "_axis" + std::to_string(s.axis) + "_k" + std::to_string(s.k);
  if (s.values.layout != s.in.layout) c.shape += "_to_" + tag(s.values);
  if (ties) c.shape += "_ties";
  c.operands = {{.name = "input", .role = Role::kIn, .shape = s.in},
                {.name = "best_values", .role = Role::kOut, .shape = s.values}};
  if (ties) c.operands[0].fill = few_numbers();
  if (wants_indices)
    c.operands.push_back({.name = "best_indices", .role = Role::kOut, .shape = s.indices});
  const size_t axis = s.axis, k = s.k;
  c.forward = [=](auto& v) { reference::top_k(v, axis, k); };
  c.apply = [=](Call& call) {
    Argument &in = call.value[0], &values = call.value[1];
    Argument indices = wants_indices ? call.value[2] : Argument{};
    return BNNSDirectApplyTopK(k, axis, call.batch, &in.desc, in.stride, &values.desc,
                               values.stride, wants_indices ? &indices.desc : nullptr,
                               indices.stride, &call.parameters);
  };
  for (BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16}) {
    TypeSet set = same_type(c, type, Need::kNone);
    if (wants_indices) {
      set.types[2] = {.type = index};
      if (index != BNNSDataTypeInt32) set.name += std::string("_") + type_info(index).name;
    }
    c.types.push_back(set);
  }
  c.wide = true;
  return c;
}

inline Case top_k_case(const Shape& in, size_t axis, size_t k, size_t batch) {
  return top_k_case(like_input(in, axis, k), batch, BNNSDataTypeInt32, false);
}

// `rest` is the shape of the tested indices and of the result.
inline Case in_top_k_case(const Shape& in, const Shape& rest, size_t axis, size_t k, size_t batch,
                          BNNSDataType index, bool ties) {
  Case c{.layer = "top_k", .function = "in_top_k", .batch = batch};
  c.shape = tag(in, batch) + "_axis" + std::to_string(axis) + "_k" + std::to_string(k) + "_" +
            tag(rest) + (ties ? "_ties" : "");
  Fill places;
  const size_t length = logical_size(in)[axis];
  for (size_t i = 0; i < length; ++i) places.choices.push_back(static_cast<double>(i));
  c.operands = {{.name = "input", .role = Role::kIn, .shape = in},
                {.name = "test_indices", .role = Role::kIn, .shape = rest, .fill = places},
                {.name = "output", .role = Role::kOut, .shape = rest}};
  if (ties) c.operands[0].fill = few_numbers();
  c.forward = [=](auto& v) { reference::in_top_k(v, axis, k); };
  c.apply = [=](Call& call) {
    Argument &x = call.value[0], &test = call.value[1], &out = call.value[2];
    return BNNSDirectApplyInTopK(k, axis, call.batch, &x.desc, x.stride, &test.desc, test.stride,
                                 &out.desc, out.stride, &call.parameters);
  };
  for (BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16}) {
    TypeSet set = same_type(c, type, Need::kNone);
    set.types[1] = {.type = index};
    set.types[2] = {.type = BNNSDataTypeBoolean};
    if (index != BNNSDataTypeInt32) set.name += std::string("_") + type_info(index).name;
    c.types.push_back(set);
  }
  return c;
}

// A vector for one remaining axis or none, else the generic layout of the input's order.
inline Shape rest_shape(const Shape& in, size_t axis) {
  Index rest;
  const Index size = logical_size(in);
  for (size_t t = 0; t < size.size(); ++t)
    if (t != axis) rest.push_back(size[t]);
  if (rest.size() < 2) return vector_of(rest.empty() ? 1 : rest[0]);
  const bool first = in.layout == first_major(in.rank());
  return {first ? first_major(rest.size()) : last_major(rest.size()), rest};
}

inline void add_top_k_layouts(Suite& suite) {
  const Index logical = {5, 3, 4, 6, 2, 2, 1, 3};
  for (size_t rank = 1; rank <= 8; ++rank) {
    const Index size(logical.begin(), logical.begin() + static_cast<ptrdiff_t>(rank));
    const std::vector<Shape> shapes = shapes_of_rank(rank, size);
    for (const Shape& in : shapes) {
      if (is_pack32(in.layout)) continue;
      for (size_t axis = 0; axis < rank; ++axis) {
        const size_t k = 1 + axis % size[axis];
        for (Case c : {top_k_case(in, axis, k, 3), in_top_k_case(in, rest_shape(in, axis), axis, k,
                                                                 3, BNNSDataTypeInt32, false)}) {
          c.thorough = rank <= 3;
          suite.cases.push_back(c);
        }
      }
      // Another layout of the results, and of the indices.
      const Shape& other = shapes[(&in - shapes.data() + 1) % shapes.size()];
      if (is_pack32(other.layout) || rank == 1) continue;
      const Shape best = with_extent(other, 1, 2);
      suite.cases.push_back(top_k_case(
          {.in = in, .values = best, .indices = with_extent(shapes[0], 1, 2), .axis = 1, .k = 2}, 2,
          BNNSDataTypeInt32, false));
      suite.cases.back().thorough = false;
      suite.cases.push_back(
          in_top_k_case(in, with_extent(other, 1, 1), 1, 2, 2, BNNSDataTypeInt32, false));
      suite.cases.back().thorough = false;
    }
  }
}

// Around the vector widths, lengths of lists that are kept sorted and those that are not.
inline void add_top_k_sizes(Suite& suite) {
  const auto add = [&](Case c) {
    c.thorough = false;
    suite.cases.push_back(c);
  };
  const auto rows = [](size_t length, size_t count) {
    return Shape{BNNSDataLayoutRowMajorMatrix, {length, count}};
  };
  for (size_t n = 1; n <= 70; ++n) {
    const size_t few = 1 + n * 7 % 11;
    for (size_t k : {size_t{1}, 1 + n / 3, n}) {
      add(top_k_case(rows(n, few), 1, k, 2));
      add(top_k_case(rows(few, n), 0, k, 2));
    }
    add(in_top_k_case(rows(n, few), vector_of(few), 1, 1 + n / 3, 2, BNNSDataTypeInt32, false));
  }
  for (size_t k : {1, 5, 32, 33, 600, 1500}) {
    for (bool ties : {false, true}) {
      add(top_k_case(like_input(rows(1500, 3), 1, k), 1, BNNSDataTypeInt64, ties));
      add(top_k_case(like_input(rows(19, 1500), 0, k), 1, BNNSDataTypeUInt16, ties));
      add(in_top_k_case(rows(1500, 37), vector_of(37), 1, k, 1, BNNSDataTypeUInt64, ties));
      add(in_top_k_case(rows(37, 1500), vector_of(37), 0, k, 1, BNNSDataTypeUInt16, ties));
    }
  }
  // Worth several threads.
  add(top_k_case(rows(500, 900), 1, 4, 1));
  add(top_k_case(rows(900, 500), 0, 4, 1));
  add(top_k_case(rows(500, 300), 1, 100, 1));
  add(in_top_k_case(rows(500, 900), vector_of(900), 1, 4, 1, BNNSDataTypeInt32, false));
}

inline void add_top_k_types(Suite& suite) {
  const Shape in{BNNSDataLayout3DFirstMajor, {7, 19, 5}};
  for (const TypeInfo& row : kTypes) {
    if (row.kind != Kind::kInteger) continue;
    for (bool ties : {false, true}) {
      suite.cases.push_back(top_k_case(like_input(in, 1, 6), 2, row.type, ties));
      suite.cases.push_back(
          in_top_k_case(in, {BNNSDataLayout2DFirstMajor, {7, 5}}, 1, 6, 2, row.type, ties));
    }
  }
  suite.cases.push_back(top_k_case(like_input(in, 1, 6), 2, BNNSDataTypeFloat32, false));
}

// The example of Apple's documentation.
inline std::string check_published_top_k() {
  std::vector<float> x = {1, 2, 3, 9, 1, 6, 7, 1, 9, 0, 1, 3, 4, 5, 8, 1}, best(8);
  std::vector<int32_t> places(8);
  const BNNSNDArrayDescriptor in = describe({BNNSDataLayoutRowMajorMatrix, {4, 4}}, x.data());
  const Shape two_rows{BNNSDataLayoutRowMajorMatrix, {4, 2}};
  BNNSNDArrayDescriptor values = describe(two_rows, best.data());
  BNNSNDArrayDescriptor indices = describe(two_rows, places.data(), BNNSDataTypeInt32);
  if (BNNSDirectApplyTopK(2, 0, 1, &in, 0, &values, 0, &indices, 0, nullptr) != 0) return failure();
  const std::string problem = expect("best_values", best, {9, 6, 8, 9, 4, 5, 7, 3});
  return problem.empty() ? expect("best_indices", places, {2, 1, 3, 0, 3, 3, 1, 2}) : problem;
}

inline std::string check_published_in_top_k() {
  std::vector<float> x = {1, 2, 3, 9, 1, 6, 7, 1, 9, 0, 1, 3, 4, 5, 8, 1};
  std::vector<int32_t> test = {3, 2, 1, 0};
  std::vector<uint8_t> result(4);
  const BNNSNDArrayDescriptor in = describe({BNNSDataLayoutRowMajorMatrix, {4, 4}}, x.data());
  const BNNSNDArrayDescriptor indices = describe(vector_of(4), test.data(), BNNSDataTypeInt32);
  BNNSNDArrayDescriptor out = describe(vector_of(4), result.data(), BNNSDataTypeBoolean);
  if (BNNSDirectApplyInTopK(2, 1, 1, &in, 0, &indices, 0, &out, 0, nullptr) != 0) return failure();
  return expect("output", result, {1, 1, 0, 0});
}

inline void add_top_k(Suite& suite) {
  add_top_k_layouts(suite);
  add_top_k_sizes(suite);
  add_top_k_types(suite);
  suite.checks.insert(suite.checks.end(), {{"top_k/published/top_k", check_published_top_k},
                                           {"top_k/published/in_top_k", check_published_in_top_k}});
  for (size_t axis : {0, 1}) {
    Case c = top_k_case({BNNSDataLayoutRowMajorMatrix, {1000, 1000}}, axis, 5, 1);
    c.speed = true;
    suite.cases.push_back(c);
  }
}

}  // namespace spec
#endif

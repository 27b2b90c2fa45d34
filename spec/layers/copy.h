// Copy and transpose.
//   copy        dest(c) = src(c) for all logical coordinates c, converting the element type
//   transpose   the same with two entries of the index by size[] exchanged
#ifndef OPENBNNS_SPEC_COPY_H
#define OPENBNNS_SPEC_COPY_H

#include "runner/case.h"
#include "layers/conversion.h"
#include "runner/shapes.h"

namespace spec::reference {

template <class T>
void copy(Values<T>& v) {
  const Array<T>& src = v.value[0];
  Array<T>& dest = v.value[1];
  const Index size = logical_size(src.shape());
  Index c(size.size(), 0);
  for (size_t n = 0; n < src.count(); ++n) {
    dest(0, dest.position(c)) = src(0, src.position(c));
    for (size_t t = 0; t < c.size() && ++c[t] == size[t]; ++t) c[t] = 0;
  }
}

template <class T>
void transpose(Values<T>& v, size_t axis0, size_t axis1) {
  const Array<T>& src = v.value[0];
  Array<T>& dest = v.value[1];
  std::map<Index, size_t> position;
  for (size_t k = 0; k < dest.count(); ++k) position[size_index(dest.shape(), k)] = k;
  for (size_t k = 0; k < src.count(); ++k) {
    Index i = size_index(src.shape(), k);
    std::swap(i[axis0], i[axis1]);
    dest(0, position[i]) = src(0, k);
  }
}

}  // namespace spec::reference

namespace spec {

// The layouts of one rank with the sizes that give each the same logical shape.
inline std::vector<Shape> shapes_of_rank(size_t rank, const Index& logical) {
  std::vector<Shape> shapes;
  for (const LayoutInfo& row : kLayouts) {
    if ((static_cast<uint32_t>(row.layout) >> 16) != rank) continue;
    Shape s{row.layout, logical};
    for (size_t t = 0; t < rank; ++t) s.size[logical_axis(s, t)] = logical[t];
    shapes.push_back(s);
  }
  return shapes;
}

inline TypeSet copy_types(BNNSDataType from, BNNSDataType to, Need need) {
  const std::string name = type_info(from).name;
  return {.name = from == to ? name : name + "_" + type_info(to).name,
          .types = {{.type = from}, {.type = to}},
          .forward = need,
          .backward = Need::kNone};
}

inline std::vector<TypeSet> all_copy_types() {
  constexpr BNNSDataType kF32 = BNNSDataTypeFloat32, kF16 = BNNSDataTypeFloat16;
  std::vector<TypeSet> sets;
  for (const TypeInfo& from : kTypes) {
    for (const TypeInfo& to : kTypes) {
      if (from.kind == Kind::kIndexed || to.kind == Kind::kIndexed) continue;
      const bool known =
          (from.type == kF32 && (to.type == kF16 || to.type == BNNSDataTypeInt32)) ||
          (to.type == kF32 &&
           (from.type == kF16 || from.type == BNNSDataTypeInt8 || from.type == BNNSDataTypeInt16 ||
            from.type == BNNSDataTypeInt32 || from.type == BNNSDataTypeUInt8));
      sets.push_back(copy_types(from.type, to.type,
                                from.type == to.type || known ? Need::kRequired : Need::kOptional));
    }
  }
  return sets;
}

inline Case copy_case(const Shape& from, const Shape& to, bool all_types) {
  Case c{
      .layer = "copy", .function = layout_name(from.layout), .shape = tag(from) + "_to_" + tag(to)};
  c.operands = {{.name = "src", .role = Role::kIn, .shape = from},
                {.name = "dest", .role = Role::kOut, .shape = to}};
  c.forward = [](auto& v) { reference::copy(v); };
  c.apply = [](Call& call) {
    return BNNSCopy(&call.value[1].desc, &call.value[0].desc, &call.parameters);
  };
  const ElementType f32;
  c.types = {copy_types(f32.type, f32.type, Need::kRequired)};
  if (all_types) {
    c.types = all_copy_types();
    const TypeInfo& widest = type_info(BNNSDataTypeFloat32);
    c.operands[0].fill.choices = conversion_numbers(widest, type_info(BNNSDataTypeBoolean));
  }
  return c;
}

inline Case transpose_case(const Shape& from, size_t axis0, size_t axis1, bool all_types) {
  Shape to = from;
  std::swap(to.size[axis0], to.size[axis1]);
  Case c = copy_case(from, to, false);
  c.layer = "transpose";
  c.shape = tag(from) + "_" + std::to_string(axis0) + std::to_string(axis1);
  c.forward = [axis0, axis1](auto& v) { reference::transpose(v, axis0, axis1); };
  c.apply = [axis0, axis1](Call& call) {
    return BNNSTranspose(&call.value[1].desc, &call.value[0].desc, axis0, axis1, &call.parameters);
  };
  if (all_types) {
    c.types.clear();
    for (const TypeInfo& row : kTypes)
      if (row.kind != Kind::kIndexed)
        c.types.push_back(copy_types(row.type, row.type, Need::kRequired));
  }
  return c;
}

inline void add_copy(Suite& suite) {
  const Index logical = {5, 3, 4, 37, 2, 2, 1, 3};
  for (size_t rank = 1; rank <= 8; ++rank) {
    Index size(logical.begin(), logical.begin() + static_cast<ptrdiff_t>(rank));
    if (rank > 4) size[3] = 5;
    const std::vector<Shape> shapes = shapes_of_rank(rank, size);
    for (const Shape& from : shapes)
      for (const Shape& to : shapes) suite.cases.push_back(copy_case(from, to, false));
    for (const Shape& from : shapes) {
      // Axes of size[] and rotated or packed coordinates do not mix.
      if (is_rotated(from.layout) || is_pack32(from.layout)) continue;
      for (size_t a = 0; a < rank; ++a)
        for (size_t b = a; b < rank; ++b)
          if (rank <= 4 || (a + b) % 3 == 0)
            suite.cases.push_back(transpose_case(from, a, b, false));
    }
  }
  suite.cases.push_back(copy_case(vector_of(131), vector_of(131), true));
  suite.cases.push_back(copy_case(image(7, 5, 3), {BNNSDataLayout3DFirstMajor, {7, 5, 3}}, true));
  suite.cases.push_back(transpose_case(image(7, 5, 3), 0, 2, true));
  suite.cases.push_back(transpose_case({BNNSDataLayoutRowMajorMatrix, {37, 21}}, 0, 1, true));
  for (size_t n = 1; n <= 70; ++n) {
    Case c = copy_case(vector_of(n), vector_of(n), false);
    c.thorough = false;
    suite.cases.push_back(c);
    c = transpose_case({BNNSDataLayout2DFirstMajor, {n, 1 + n * 5 % 19}}, 0, 1, false);
    c.thorough = false;
    suite.cases.push_back(c);
  }
  Case large = transpose_case({BNNSDataLayoutRowMajorMatrix, {301, 203}}, 0, 1, false);
  large.thorough = false;
  suite.cases.push_back(large);
  for (bool turned : {false, true}) {
    const Shape square{BNNSDataLayoutRowMajorMatrix, {1024, 1024}};
    Case c = turned ? transpose_case(square, 0, 1, false) : copy_case(square, square, false);
    c.speed = true;
    suite.cases.push_back(c);
  }
}

}  // namespace spec
#endif

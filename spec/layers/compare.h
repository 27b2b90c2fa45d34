// Comparison of tensors by elements: out(c) = in0(c) op in1(c) for all logical coordinates c. The
// logical operators look at whether a number is 0.
#ifndef OPENBNNS_SPEC_COMPARE_H
#define OPENBNNS_SPEC_COMPARE_H

#include "layers/clip.h"
#include "layers/copy.h"

namespace spec {

inline constexpr const char* kRelations[] = {"equal",         "less",      "less_equal", "greater",
                                             "greater_equal", "not_equal", "and",        "or",
                                             "not",           "nand",      "nor",        "xor"};

}  // namespace spec

namespace spec::reference {

template <class T>
bool relation(size_t op, T a, T b) {
  const bool a_true = !(a == T(0)), b_true = !(b == T(0));
  switch (op) {
    case 0:
      return a == b;
    case 1:
      return a < b;
    case 2:
      return a <= b;
    case 3:
      return a > b;
    case 4:
      return a >= b;
    case 5:
      return !(a == b);
    case 6:
      return a_true && b_true;
    case 7:
      return a_true || b_true;
    case 8:
      return !a_true;
    case 9:
      return !(a_true && b_true);
    case 10:
      return !(a_true || b_true);
    default:
      return a_true != b_true;
  }
}

template <class T>
void compare(Values<T>& v, size_t op) {
  for_elements(v.value[0], [&](size_t k, const Index& c) {
    const T a = v.value[0](0, k), b = v.value[2](0, v.value[2].position(c));
    v.value[1](0, v.value[1].position(c)) = T(relation(op, a, b) ? 1 : 0);
  });
}

}  // namespace spec::reference

namespace spec {

inline Case compare_case(size_t op, const Shape& in0, const Shape& in1, const Shape& out,
                         bool all_types) {
  Case c{.layer = "compare",
         .function = kRelations[op],
         .shape = tag(in0) + "_" + tag(in1) + "_to_" + tag(out)};
  const Fill fill = {.choices = {-1.5, 0, 1, -1, 2, 0.5}};
  c.operands = {{.name = "in0", .role = Role::kIn, .shape = in0, .fill = fill},
                {.name = "out", .role = Role::kOut, .shape = out},
                {.name = "in1", .role = Role::kIn, .shape = in1, .fill = fill}};
  c.forward = [op](auto& v) { reference::compare(v, op); };
  c.apply = [op](Call& call) {
    const DefaultThreads threads(call);
    return BNNSCompareTensor(&call.value[0].desc, &call.value[2].desc,
                             static_cast<BNNSRelationalOperator>(op), &call.value[1].desc);
  };
  for (const TypeInfo& type : kTypes) {
    if (type.kind == Kind::kIndexed || (!all_types && type.type != BNNSDataTypeFloat32)) continue;
    TypeSet set = same_type(c, type.type, Need::kNone);
    set.types[1].type = BNNSDataTypeBoolean;
    c.types.push_back(set);
    if (type.kind != Kind::kInteger) continue;
    set.name += "_scaled";
    set.types[0].scale = 0.5f;
    set.types[2].bias = -1;
    c.types.push_back(set);
  }
  c.integers_are_exact = true;
  c.wide = true;
  return c;
}

inline void add_compare(Suite& suite) {
  const auto add = [&](Case c) {
    c.thorough = false;
    suite.cases.push_back(c);
  };
  const Shape first{BNNSDataLayout3DFirstMajor, {5, 3, 4}}, chw = image(5, 3, 4);
  for (size_t op = 0; op < std::size(kRelations); ++op) {
    suite.cases.push_back(compare_case(op, vector_of(37), vector_of(37), vector_of(37), true));
    add(compare_case(op, first, chw, chw, true));
    add(compare_case(op, chw, chw, first, false));
  }
  const Index logical = {5, 3, 4, 2, 2, 3, 1, 2};
  for (size_t rank = 1; rank <= 8; ++rank) {
    const Index size(logical.begin(), logical.begin() + static_cast<ptrdiff_t>(rank));
    std::vector<Shape> shapes;
    for (const Shape& shape : shapes_of_rank(rank, size))
      if (!is_pack32(shape.layout)) shapes.push_back(shape);
    for (size_t i = 0; i < shapes.size(); ++i)
      for (size_t j = rank > 3 ? i % 3 : 0; j<shapes.size(); j += rank> 3 ? 3 : 1)
        add(compare_case((i + j) % 12, shapes[i], shapes[j], shapes[(2 * i + j) % shapes.size()],
                         false));
  }
  for (size_t n = 1; n <= 70; ++n)
    add(compare_case(n % 12, vector_of(n), vector_of(n), vector_of(n), false));
  const Shape large{BNNSDataLayoutRowMajorMatrix, {301, 173}};
  const Shape turned{BNNSDataLayoutColumnMajorMatrix, {173, 301}};
  add(compare_case(1, large, large, large, true));
  add(compare_case(4, large, turned, large, true));
  Case speed = compare_case(1, vector_of(1 << 20), vector_of(1 << 20), vector_of(1 << 20), false);
  speed.speed = true;
  suite.cases.push_back(speed);
}

}  // namespace spec
#endif

// Gather and scatter. Coordinates are logical ones; `index` is x(c[axis]) for indices of one axis,
// else x(c).
//   gather      y(c) = in(c with c[axis] = index)
//   scatter     y(c with c[axis] = index) = in(c), or in(c) + its old value
//   gather_nd   y(p, s) = in(x(p, 0), x(p, 1), ..., s)
//   scatter_nd  y(x(p, 0), x(p, 1), ..., s) = in(p, s), or that + its old value
// Several values for one element take effect in the order in which the indices lie in memory.
#ifndef OPENBNNS_SPEC_GATHER_H
#define OPENBNNS_SPEC_GATHER_H

#include "layers/clip.h"
#include "layers/embedding.h"
#include "runner/case.h"
#include "runner/shapes.h"

namespace spec::reference {

struct Lookups {
  enum : size_t { kIn, kOut, kIndices, kOld };

  size_t axis = 0;
  bool nd = false;
  BNNSReduceFunction op = BNNSReduceFunctionNone;

  template <class T>
  void gather(Values<T>& v) const {
    const Array<T>& in = v.value[kIn];
    Array<T>& out = v.value[kOut];
    for_elements(out, [&](size_t k, const Index& c) {
      out(0, k) = in(0, in.position(target(v, c, in.shape().rank()).at));
    });
  }

  template <class T>
  void scatter(Values<T>& v) const {
    struct Term {
      size_t place;
      T value;
    };
    const Array<T>& in = v.value[kIn];
    Array<T>& out = v.value[kOut];
    std::map<size_t, std::vector<Term>> terms;
    for_elements(in, [&](size_t k, const Index& c) {
      const Target t = target(v, c, out.shape().rank());
      terms[out.position(t.at)].push_back({t.place, in(0, k)});
    });
    out = v.value[kOld];
    for (auto& [k, list] : terms) {
      std::sort(list.begin(), list.end(),
                [](const Term& a, const Term& b) { return a.place < b.place; });
      Sum<T> sum;
      sum.add(out(0, k));
      for (const Term& term : list) sum.add(term.value);
      out(0, k) = op == BNNSReduceFunctionSum ? sum.get() : list.back().value;
    }
  }

 private:
  struct Target {
    Index at;      // in the larger tensor
    size_t place;  // in the memory of the indices
  };

  // What the indices say about element c of the other tensor.
  template <class T>
  Target target(const Values<T>& v, const Index& c, size_t rank) const {
    const Array<T>& x = v.value[kIndices];
    const size_t last = x.shape().rank() - 1;
    if (!nd) {
      const size_t place = last == 0 ? c[axis] : x.position(c);
      Index at = c;
      at[axis] = static_cast<size_t>(value_of(x(0, place)));
      return {at, place};
    }
    Index p(c.begin(), c.begin() + static_cast<ptrdiff_t>(last)), at;
    p.push_back(0);
    const size_t place = x.position(p);
    for (p[last] = 0; p[last] < logical_size(x.shape())[last]; ++p[last])
      at.push_back(static_cast<size_t>(value_of(x(0, x.position(p)))));
    for (size_t i = last; at.size() < rank; ++i) at.push_back(c[i]);
    return {at, place};
  }
};

}  // namespace spec::reference

namespace spec {

struct LookupSettings {
  Shape in, indices, out;
  reference::Lookups layer = {};
  bool scatters = false;
};

inline const char* lookup_name(const LookupSettings& s) {
  if (s.layer.nd) return s.scatters ? "scatter_nd" : "gather_nd";
  return s.scatters ? "scatter" : "gather";
}

inline const char* op_name(BNNSReduceFunction op) {
  return op == BNNSReduceFunctionSum ? "_sum" : "";
}

inline TypeSet lookup_types(BNNSDataType values, BNNSDataType indices) {
  const ElementType value{.type = values}, index{.type = indices};
  return {.name = std::string(type_info(values).name) + "_by_" + type_info(indices).name,
          .types = {value, value, index, value},
          .backward = Need::kNone};
}

// A scatter begins with a copy of the old values.
inline int call_lookup(const LookupSettings& s, Call& call) {
  const BNNSNDArrayDescriptor *in = &call.value[0].desc, *indices = &call.value[2].desc;
  BNNSNDArrayDescriptor* out = &call.value[1].desc;
  const BNNSFilterParameters* parameters = &call.parameters;
  if (!s.scatters) {
    return s.layer.nd ? BNNSGatherND(in, indices, out, parameters)
                      : BNNSGather(s.layer.axis, in, indices, out, parameters);
  }
  if (BNNSCopy(out, &call.value[3].desc, parameters) != 0) return -1;
  return s.layer.nd ? BNNSScatterND(s.layer.op, in, indices, out, parameters)
                    : BNNSScatter(s.layer.axis, s.layer.op, in, indices, out, parameters);
}

// The looked up axes must be at least as long as the shortest one, as all indices are drawn alike.
inline Case lookup_case(const LookupSettings& s) {
  const Index table = logical_size(s.scatters ? s.out : s.in);
  const Index x = logical_size(s.indices);
  size_t limit = s.layer.nd ? SIZE_MAX : table[s.layer.axis];
  for (size_t l = 0; s.layer.nd && l < x.back(); ++l) limit = std::min(limit, table[l]);
  Case c{.layer = "gather", .function = std::string(lookup_name(s)) + op_name(s.layer.op)};
  c.shape = tag(s.in) + "_by_" + tag(s.indices) + "_to_" + tag(s.out);
  if (!s.layer.nd) c.shape += "_axis" + std::to_string(s.layer.axis);
  c.operands = {{.name = "in", .role = Role::kIn, .shape = s.in},
                {.name = "out", .role = Role::kOut, .shape = s.out},
                {.name = "indices",
                 .role = Role::kIn,
                 .shape = s.indices,
                 .fill = {.choices = all_below(limit)}}};
  if (s.scatters) c.operands.push_back({.name = "old", .role = Role::kIn, .shape = s.out});
  const reference::Lookups layer = s.layer;
  if (s.scatters)
    c.forward = [layer](auto& v) { layer.scatter(v); };
  else
    c.forward = [layer](auto& v) { layer.gather(v); };
  c.apply = [s](Call& call) { return call_lookup(s, call); };
  c.types = {lookup_types(BNNSDataTypeFloat32, BNNSDataTypeUInt32)};
  c.integers_are_exact = limit >= 5;
  return c;
}

inline void add_lookup_types(Case& c, BNNSReduceFunction op) {
  c.types.clear();
  c.integers_are_exact = false;  // the runner would draw negative indices
  for (const TypeInfo& row : kTypes) {
    if (row.kind == Kind::kInteger) c.types.push_back(lookup_types(BNNSDataTypeFloat32, row.type));
    const bool sums = op == BNNSReduceFunctionSum;
    if (row.kind == Kind::kIndexed || (row.kind == Kind::kBoolean && sums)) continue;
    c.types.push_back(lookup_types(row.type, BNNSDataTypeInt32));
  }
}

// A gather and the scatter with the tensors exchanged.
inline void add_both(Suite& suite, const Shape& table, const Shape& indices, const Shape& rows,
                     reference::Lookups layer, bool thorough, bool types = false) {
  const auto add = [&](const LookupSettings& s) {
    Case c = lookup_case(s);
    c.thorough = thorough;
    if (types) {
      c.shape += "_types";
      add_lookup_types(c, s.layer.op);
    }
    suite.cases.push_back(c);
  };
  add({.in = table, .indices = indices, .out = rows, .layer = layer});
  for (const BNNSReduceFunction op : {BNNSReduceFunctionNone, BNNSReduceFunctionSum}) {
    layer.op = op;
    add({.in = rows, .indices = indices, .out = table, .layer = layer, .scatters = true});
  }
}

// Every layout as table and rows, each axis, indices of one axis and of the shape of the rows.
inline void add_gather_layouts(Suite& suite) {
  const Index logical = {5, 6, 5, 7, 2, 3, 1, 2};
  for (size_t rank = 1; rank <= 8; ++rank) {
    const Index size(logical.begin(), logical.begin() + static_cast<ptrdiff_t>(rank));
    const std::vector<Shape> tables = shapes_of_rank(rank, size);
    for (size_t axis = 0; axis < rank; ++axis) {
      if (rank > 4 && axis % 3 != 0) continue;
      Index shorter = size;
      shorter[axis] = 4;
      const std::vector<Shape> rows = shapes_of_rank(rank, shorter);
      for (size_t i = 0; i < tables.size(); ++i) {
        const Shape& table = tables[i];
        const Shape& row = rows[(i + axis) % rows.size()];
        const Shape& same = rows[(2 * i + axis + 1) % rows.size()];
        if (is_pack32(table.layout) || is_pack32(row.layout) || is_pack32(same.layout)) continue;
        if (is_rotated(same.layout)) continue;  // as indices
        const bool thorough = rank <= 3 && i % 3 == 0;
        add_both(suite, table, vector_of(4), row, {.axis = axis}, thorough);
        if (rank > 1) add_both(suite, table, same, row, {.axis = axis}, false);
      }
    }
  }
}

inline void add_gather_nd(Suite& suite) {
  const auto add = [&](const Shape& table, const Shape& indices, const Shape& rows, bool thorough,
                       bool types = false) {
    add_both(suite, table, indices, rows, {.nd = true}, thorough, types);
  };
  const Shape cube{BNNSDataLayout3DFirstMajor, {5, 6, 7}};
  add(cube, {BNNSDataLayout2DFirstMajor, {4, 3}}, vector_of(4), true);
  add(cube, {BNNSDataLayout2DLastMajor, {4, 2}}, {BNNSDataLayout2DFirstMajor, {4, 7}}, true);
  add(cube, {BNNSDataLayoutRowMajorMatrix, {1, 4}}, {BNNSDataLayout3DLastMajor, {4, 6, 7}}, false);
  add(cube, vector_of(2), vector_of(7), false);
  add(cube, vector_of(3), vector_of(1), false);
  add(image(5, 6, 7), {BNNSDataLayout3DLastMajor, {3, 2, 2}},
      {BNNSDataLayout3DFirstMajor, {3, 2, 7}}, true);
  add({BNNSDataLayoutConvolutionWeightsIOHrWr, {5, 6, 3, 2}}, {BNNSDataLayout2DFirstMajor, {3, 2}},
      {BNNSDataLayout3DFirstMajor, {3, 2, 3}}, false);
  add({BNNSDataLayoutRowMajorMatrix, {5, 6}}, {BNNSDataLayout2DFirstMajor, {9, 2}}, vector_of(9),
      false, true);
  add({BNNSDataLayout8DLastMajor, {5, 5, 5, 1, 2, 1, 2, 1}}, {BNNSDataLayout2DFirstMajor, {4, 3}},
      {BNNSDataLayout6DFirstMajor, {4, 1, 2, 1, 2, 1}}, false);
}

inline void add_gather(Suite& suite) {
  add_gather_layouts(suite);
  add_gather_nd(suite);
  const Shape table{BNNSDataLayoutRowMajorMatrix, {9, 5}},
      rows{BNNSDataLayoutRowMajorMatrix, {9, 7}};
  add_both(suite, table, vector_of(7), rows, {.axis = 0}, false, true);
  add_both(suite, rows, rows, rows, {.axis = 1}, false, true);
  for (size_t n = 1; n <= 40; ++n) {  // around the vector widths
    const Shape large{BNNSDataLayout2DFirstMajor, {5 + n % 3, n}};
    const size_t places = 1 + n * 7 % 31;
    add_both(suite, large, vector_of(places), {BNNSDataLayout2DFirstMajor, {places, n}},
             {.axis = 0}, false);
    add_both(suite, {BNNSDataLayout2DFirstMajor, {n, 6}}, vector_of(places),
             {BNNSDataLayout2DFirstMajor, {n, places}}, {.axis = 1}, false);
  }
  // Worth several threads: rows, columns, single elements; one slice that is cut; many duplicates.
  const Shape wide{BNNSDataLayout2DFirstMajor, {900, 70}};
  add_both(suite, wide, vector_of(2000), {BNNSDataLayout2DFirstMajor, {2000, 70}}, {.axis = 0},
           false);
  add_both(suite, wide, vector_of(150), {BNNSDataLayout2DFirstMajor, {900, 150}}, {.axis = 1},
           false);
  add_both(suite, wide, {BNNSDataLayout2DFirstMajor, {900, 150}},
           {BNNSDataLayout2DFirstMajor, {900, 150}}, {.axis = 1}, false);
  add_both(suite, {BNNSDataLayout2DFirstMajor, {5, 70001}}, vector_of(2),
           {BNNSDataLayout2DFirstMajor, {2, 70001}}, {.axis = 0}, false);
  add_both(suite, vector_of(7), vector_of(60000), vector_of(60000), {.axis = 0}, false);
  for (const bool scatters : {false, true}) {
    const Shape few{BNNSDataLayout2DFirstMajor, {4096, 256}},
        many{BNNSDataLayout2DFirstMajor, {30000, 256}};
    Case c =
        lookup_case({.in = scatters ? few : many,
                     .indices = vector_of(4096),
                     .out = scatters ? many : few,
                     .layer = {.op = scatters ? BNNSReduceFunctionSum : BNNSReduceFunctionNone},
                     .scatters = scatters});
    c.speed = true;
    suite.cases.push_back(c);
  }
}

}  // namespace spec
#endif

// Products of matrices on the last two coordinates: C = beta C + alpha op(A) op(B).
#ifndef OPENBNNS_SPEC_BROADCAST_MATMUL_H
#define OPENBNNS_SPEC_BROADCAST_MATMUL_H

#include "layers/einsum.h"

namespace spec {

struct MatMulSettings {
  Shape a, b, out;
  bool trans_a = false, trans_b = false;
  Inputs inputs = Inputs::kTwo;
  float alpha = 0.5f;
  bool accumulate = false;
};

// The equivalent sum: "*ik, *kj -> *ij", the last two letters of a transposed operand exchanged.
// Leading coordinates have the letters A, B, ... counted from the last.
inline EinsumSettings matmul_einsum(const MatMulSettings& m) {
  const auto letters = [](const Shape& shape, const char* last) {
    std::string text = last;
    for (size_t i = 2; i < shape.rank(); ++i)
      text.insert(text.begin(), static_cast<char>('A' + static_cast<int>(i)));
    return text;
  };
  const bool same = m.inputs == Inputs::kSame;
  return {.a = letters(m.a, m.trans_a ? "ki" : "ik"),
          .b = letters(same ? m.a : m.b, m.trans_b ? "jk" : "kj"),
          .out = letters(m.out, "ij"),
          .a_shape = m.a,
          .b_shape = m.b,
          .out_shape = m.out,
          .inputs = m.inputs,
          .alpha = m.alpha,
          .accumulate = m.accumulate};
}

inline std::string matmul_function(const MatMulSettings& m) {
  static const char* const kNames[] = {"two inputs", "a_is_weights", "b_is_weights", "quadratic"};
  std::string name = kNames[static_cast<size_t>(m.inputs)];
  if (m.trans_a) name += ", transA";
  if (m.trans_b) name += ", transB";
  if (m.accumulate) name += ", beta 1";
  return name;
}

inline Case matmul_case(const MatMulSettings& m, size_t batch) {
  const EinsumSettings s = matmul_einsum(m);
  std::string shape = tag(m.a);
  if (s.has_b()) shape += "_" + tag(m.b);
  Case c{.layer = "broadcast matmul",
         .function = matmul_function(m),
         .shape = shape + "_to_" + tag(m.out, batch)};
  fill_einsum_case(c, s, batch);
  c.create = [m, s](Call& call) {
    const auto desc = [&](size_t operand, bool weights) {
      return weights ? call.value[operand].desc : call.value[operand].shape_only();
    };
    BNNSLayerParametersBroadcastMatMul p = {};
    p.alpha = m.alpha;
    p.beta = m.accumulate ? 1.0f : 0.0f;
    p.transA = m.trans_a;
    p.transB = m.trans_b;
    p.quadratic = m.inputs == Inputs::kSame;
    p.a_is_weights = m.inputs == Inputs::kAWeights;
    p.b_is_weights = m.inputs == Inputs::kBWeights;
    p.iA_desc = desc(s.a_operand(), p.a_is_weights);
    if (s.has_b()) p.iB_desc = desc(s.b_operand(), p.b_is_weights);
    p.o_desc = call.value[1].shape_only();
    return BNNSFilterCreateLayerBroadcastMatMul(&p, &call.parameters);
  };
  add_einsum_types(c, false);
  return c;
}

// BNNSMatMul on the data of the descriptors, with a workspace.
inline Case direct_matmul_case(const MatMulSettings& m) {
  Case c = matmul_case(m, 1);
  c.layer = "direct matmul";
  c.function =
      std::string("BNNSMatMul") + (m.trans_a ? ", transA" : "") + (m.trans_b ? ", transB" : "");
  c.create = {};
  c.backward.clear();
  c.apply = [m](Call& call) {
    const BNNSNDArrayDescriptor &a = call.value[0].desc, &b = call.value[2].desc,
                                &out = call.value[1].desc;
    const ssize_t size =
        BNNSMatMulWorkspaceSize(m.trans_a, m.trans_b, m.alpha, &a, &b, &out, &call.parameters);
    if (size < 0) return -1;
    std::vector<char> workspace(static_cast<size_t>(size) + 1);
    return BNNSMatMul(m.trans_a, m.trans_b, m.alpha, &a, &b, &out, workspace.data() + 1,
                      &call.parameters);
  };
  return c;
}

inline Shape row_major(size_t rows, size_t columns) {
  return {BNNSDataLayoutRowMajorMatrix, {columns, rows}};
}
// Matrices with leading coordinates.
inline Shape stack(std::vector<size_t> size, bool last_major = false) {
  const auto layout = static_cast<BNNSDataLayout>((size.size() << 16) | 0x8000 | !last_major);
  return {layout, Index(size.begin(), size.end())};
}

// op(A) is m x k, op(B) k x n.
inline MatMulSettings plain_matmul(size_t m, size_t n, size_t k, bool trans_a, bool trans_b) {
  return {.a = trans_a ? row_major(k, m) : row_major(m, k),
          .b = trans_b ? row_major(n, k) : row_major(k, n),
          .out = row_major(m, n),
          .trans_a = trans_a,
          .trans_b = trans_b};
}

// Leading coordinates, layouts and roles.
inline void add_matmul_shapes(Suite& suite) {
  const auto add = [&](MatMulSettings m, size_t batch, Inputs inputs = Inputs::kTwo) -> Case& {
    m.inputs = inputs;
    return suite.cases.emplace_back(matmul_case(m, batch));
  };
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      add(plain_matmul(5, 4, 3, ta, tb), 2).gradient = true;
      add(plain_matmul(5, 4, 3, ta, tb), 3, Inputs::kAWeights).gradient = true;
      add(plain_matmul(5, 4, 3, ta, tb), 3, Inputs::kBWeights).gradient = true;
      add({.a = row_major(4, 4), .b = {}, .out = row_major(4, 4), .trans_a = ta, .trans_b = tb}, 2,
          Inputs::kSame)
          .gradient = true;
      // Leading sizes that broadcast: missing, and 1 on either side.
      const auto pair = [&](size_t x, size_t y, bool turned) {
        return turned ? std::vector<size_t>{y, x} : std::vector<size_t>{x, y};
      };
      std::vector<size_t> a = pair(7, 6, ta), b = pair(6, 9, tb);
      a.insert(a.begin(), {1, 3});
      b.insert(b.begin(), 2, 1);
      b[1] = 3;
      add({.a = stack(a), .b = stack(b), .out = stack({1, 3, 7, 9}), .trans_a = ta, .trans_b = tb},
          2);
      b[0] = 2;
      b[1] = 1;
      add({.a = stack(a),
           .b = stack(b, true),
           .out = stack({2, 3, 7, 9}, true),
           .trans_a = ta,
           .trans_b = tb},
          2)
          .gradient = true;
      b = pair(6, 9, tb);
      add({.a = stack(a), .b = stack(b), .out = stack({1, 3, 7, 9}), .trans_a = ta, .trans_b = tb},
          2);
      add({.a = stack(a, true),
           .b = stack(b),
           .out = stack({1, 3, 7, 9}),
           .trans_a = ta,
           .trans_b = tb},
          3, Inputs::kBWeights);
    }
  add({.a = row_major(6, 4), .b = {}, .out = row_major(4, 4), .trans_a = true}, 2, Inputs::kSame);
  add({.a = row_major(6, 4), .b = {}, .out = row_major(6, 6), .trans_b = true}, 2, Inputs::kSame);
  add({.a = stack({3, 5, 5}), .b = {}, .out = stack({3, 5, 5}, true)}, 2, Inputs::kSame);
  add({.a = {BNNSDataLayoutColumnMajorMatrix, {5, 7}},
       .b = {BNNSDataLayoutColumnMajorMatrix, {7, 3}},
       .out = {BNNSDataLayoutColumnMajorMatrix, {5, 3}}},
      2);
  add({.a = image(3, 4, 2), .b = row_major(2, 2), .out = image(3, 4, 2)}, 2);
  add({.a = image(3, 4, 2), .b = row_major(5, 2), .out = image(3, 4, 5), .trans_b = true}, 2,
      Inputs::kBWeights);
  add({.a = stack({2, 1, 2, 1, 2, 1, 3, 4}),
       .b = stack({1, 2, 1, 2, 1, 2, 4, 2}),
       .out = stack({2, 2, 2, 2, 2, 2, 3, 2})},
      1)
      .thorough = false;
  for (const Inputs inputs : {Inputs::kTwo, Inputs::kAWeights, Inputs::kSame}) {
    MatMulSettings m = plain_matmul(5, 5, 5, false, true);
    m.accumulate = true;
    add(m, 2, inputs);
  }
  MatMulSettings column = plain_matmul(9, 1, 4, false, false);  // N x 1 outputs
  add(column, 2);
  add(plain_matmul(1, 9, 4, true, false), 2);
  add(plain_matmul(1, 1, 1, false, false), 2);
  Case& types = add(plain_matmul(6, 7, 5, false, true), 2);
  add_einsum_types(types, true);
  types.thorough = false;
  Case& large_types = add(plain_matmul(40, 35, 33, true, false), 3);
  add_einsum_types(large_types, true);
  large_types.thorough = false;
}

inline void add_broadcast_matmul(Suite& suite) {
  add_matmul_shapes(suite);
  const auto add = [&](const MatMulSettings& m, size_t batch) -> Case& {
    Case& c = suite.cases.emplace_back(matmul_case(m, batch));
    c.thorough = false;
    return c;
  };
  for (size_t n = 1; n <= 40; ++n) {  // every size around the vector widths
    MatMulSettings m = plain_matmul(n, 1 + n * 7 % 37, 1 + n * 5 % 41, n % 2 != 0, n % 3 == 0);
    m.inputs = n % 5 == 0 ? Inputs::kBWeights : n % 5 == 1 ? Inputs::kAWeights : Inputs::kTwo;
    add(m, 1 + n % 3);
    suite.cases
        .emplace_back(direct_matmul_case(
            plain_matmul(n, 1 + n * 3 % 29, 1 + n * 11 % 31, n % 3 == 0, n % 2 != 0)))
        .thorough = n < 3;
  }
  suite.cases.emplace_back(direct_matmul_case(
      {.a = stack({2, 3, 4, 5}), .b = stack({3, 5, 6}), .out = stack({2, 3, 4, 6})}));
  Case& mixed = suite.cases.emplace_back(direct_matmul_case(plain_matmul(5, 6, 7, true, true)));
  add_einsum_types(mixed, true);
  // Worth several threads; blocks of rows of a result that is not Float32.
  add(plain_matmul(300, 65, 70, false, false), 3);
  add(plain_matmul(70, 1100, 40, false, true), 2);
  add(plain_matmul(530, 1100, 3, true, false), 1);
  for (const bool weights : {false, true}) {
    MatMulSettings m = plain_matmul(60, 50, 70, true, weights);
    m.inputs = weights ? Inputs::kBWeights : Inputs::kTwo;
    add(m, 12);
  }
  for (const auto& [count, n] : {std::pair{8, 512}, {64, 64}}) {
    const size_t size = static_cast<size_t>(n);
    Case& c = suite.cases.emplace_back(
        matmul_case(plain_matmul(size, size, size, false, false), static_cast<size_t>(count)));
    c.speed = true;
  }
}

}  // namespace spec
#endif

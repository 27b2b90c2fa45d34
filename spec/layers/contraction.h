// Contractions of tensors, written as "a_ik, b_kj -> c_ij".
#ifndef OPENBNNS_SPEC_CONTRACTION_H
#define OPENBNNS_SPEC_CONTRACTION_H

#include "layers/einsum.h"

namespace spec {

struct ContractionSettings {
  std::string operation;
  Shape a, b, out;
  float alpha = 0.5f;
  bool accumulate = false;
};

// The letters of an operand, "*" written out as capitals that are counted from the last.
inline std::string written_out(std::string indices, const Shape& shape) {
  const size_t star = indices.find('*');
  if (star == std::string::npos) return indices;
  std::string many;
  for (size_t i = indices.size() - 1; i < shape.rank(); ++i)
    many.insert(many.begin(), static_cast<char>('A' + static_cast<int>(many.size())));
  return indices.replace(star, 1, many);
}

inline EinsumSettings contraction_einsum(const ContractionSettings& c) {
  // Operands begin behind the names; blanks do not count.
  std::string names[3], letters[3];
  size_t operand = 0;
  bool in_name = true;
  const bool two = c.operation.find(',') != std::string::npos;
  for (const char x : c.operation) {
    if (x == ' ' || x == '-') continue;
    if (x == ',' || x == '>') {
      operand = x == ',' ? 1 : 2;
      in_name = true;
    } else if (x == '_') {
      in_name = false;
    } else {
      (in_name ? names : letters)[operand] += x;
    }
  }
  const bool same = two && names[0] == names[1];
  return {.a = written_out(letters[0], c.a),
          .b = written_out(letters[1], same ? c.a : c.b),
          .out = written_out(letters[2], c.out),
          .a_shape = c.a,
          .b_shape = c.b,
          .out_shape = c.out,
          .inputs = !two              ? Inputs::kOne
                    : same            ? Inputs::kSame
                    : names[0] == "w" ? Inputs::kAWeights
                    : names[1] == "w" ? Inputs::kBWeights
                                      : Inputs::kTwo,
          .alpha = c.alpha,
          .accumulate = c.accumulate};
}

inline Case contraction_case(const ContractionSettings& settings, size_t batch) {
  const EinsumSettings s = contraction_einsum(settings);
  std::string shape = tag(settings.a);
  if (s.has_b()) shape += "_" + tag(settings.b);
  Case c{.layer = "tensor contraction",
         .function = settings.operation + (settings.accumulate ? ", beta 1" : ""),
         .shape = shape + "_to_" + tag(settings.out, batch)};
  fill_einsum_case(c, s, batch);
  c.create = [settings, s](Call& call) {
    const auto desc = [&](size_t operand) {
      return operand == 2 && s.inputs != Inputs::kTwo ? call.value[operand].desc
                                                      : call.value[operand].shape_only();
    };
    // The text may be gone once the filter exists.
    std::string text = settings.operation;
    BNNSLayerParametersTensorContraction p = {.operation = text.c_str(),
                                              .alpha = settings.alpha,
                                              .beta = settings.accumulate ? 1.0f : 0.0f,
                                              .iA_desc = desc(s.a_operand()),
                                              .iB_desc = {},
                                              .o_desc = call.value[1].shape_only()};
    if (s.has_b()) p.iB_desc = desc(s.b_operand());
    BNNSFilter filter = BNNSFilterCreateLayerTensorContraction(&p, &call.parameters);
    text.assign(text.size(), '?');
    return filter;
  };
  add_einsum_types(c, false);
  return c;
}

inline Shape first_major(std::vector<size_t> size) {
  const auto layout = static_cast<BNNSDataLayout>((size.size() << 16) | 0x8001);
  return {layout, Index(size.begin(), size.end())};
}
inline Shape last_major(std::vector<size_t> size) {
  const auto layout = static_cast<BNNSDataLayout>((size.size() << 16) | 0x8000);
  return {layout, Index(size.begin(), size.end())};
}

inline void add_contraction(Suite& suite) {
  const auto add = [&](const char* operation, const Shape& a, const Shape& b, const Shape& out,
                       size_t batch = 2) -> Case& {
    return suite.cases.emplace_back(
        contraction_case({.operation = operation, .a = a, .b = b, .out = out}, batch));
  };
  const Shape none = {};
  // Every way in which an index can occur.
  add("a_ik, b_kj -> c_ij", first_major({5, 3}), first_major({3, 4}), first_major({5, 4}))
      .gradient = true;
  add("a_ki,b_jk->c_ij", last_major({3, 5}), first_major({4, 3}), last_major({5, 4})).gradient =
      true;
  add("a_ip, b_iq -> o_pq", {BNNSDataLayoutRowMajorMatrix, {2, 1}},
      {BNNSDataLayoutRowMajorMatrix, {2, 1}}, {BNNSDataLayoutRowMajorMatrix, {2, 2}});
  add("a_i, b_j -> o_ij", vector_of(7), vector_of(5), first_major({7, 5})).gradient = true;
  add("a_ij, b_ij -> o_ij", first_major({5, 7}), last_major({5, 7}), first_major({5, 7})).gradient =
      true;
  add("a_ij, b_ij -> o_i", first_major({5, 7}), last_major({5, 7}), vector_of(5)).gradient = true;
  add("a_ij, b_ij -> o_j", first_major({5, 7}), last_major({5, 7}), vector_of(7));
  add("a_ij, b_j -> o_i", first_major({5, 7}), vector_of(7), vector_of(5)).gradient = true;
  add("a_ij, b_j -> o_ij", last_major({5, 7}), vector_of(7), first_major({5, 7}));
  add("a_i, b_i -> o_", vector_of(9), vector_of(9), vector_of(1)).gradient = true;
  add("a_ij, b_k -> o_k", first_major({5, 7}), vector_of(6), vector_of(6)).gradient = true;
  add("a_ijm, b_jkn -> o_ik", first_major({4, 3, 5}), last_major({3, 6, 2}), first_major({4, 6}))
      .gradient = true;
  add("a_ijk, b_k -> o_ji", first_major({2, 3, 4}), vector_of(4), last_major({3, 2}));
  // One size of 1: repeated, and the gradient summed.
  add("a_ij, b_jk -> o_ik", first_major({1, 3}), first_major({3, 4}), first_major({5, 4}))
      .gradient = true;
  add("a_ij, b_jk -> o_ik", first_major({5, 1}), first_major({3, 4}), first_major({5, 4}))
      .gradient = true;
  add("a_ij, b_ij -> o_ij", first_major({1, 6}), first_major({4, 1}), first_major({4, 6}))
      .gradient = true;
  add("a_ij, b_ij -> o_ij", first_major({1, 6}), first_major({1, 6}), first_major({4, 6}));
  // One operand, itself, weights.
  add("a_ij -> c_ji", first_major({5, 7}), none, first_major({7, 5})).gradient = true;
  add("a_ijk -> c_kij", image(3, 4, 5), none, image(5, 3, 4));
  add("a_ijk -> c_j", first_major({3, 4, 5}), none, vector_of(4)).gradient = true;
  add("a_*ij -> c_*ji", first_major({2, 3, 4, 5}), none, first_major({2, 3, 5, 4}));
  add("x_ik, x_jk -> o_ij", first_major({5, 3}), none, first_major({5, 5})).gradient = true;
  add("x_ij, x_ij -> o_i", last_major({5, 3}), none, vector_of(5)).gradient = true;
  add("x_*ijf, x_*ijc -> G_*fc", image(3, 2, 4), none, {BNNSDataLayoutRowMajorMatrix, {4, 4}});
  add("x_i, w_ij -> o_j", vector_of(6), first_major({6, 5}), vector_of(5), 3).gradient = true;
  add("w_oi, x_i -> o_o", {BNNSDataLayoutRowMajorMatrix, {6, 5}}, vector_of(6), vector_of(5), 3)
      .gradient = true;
  add("weight_oi, input_i -> y_o", {BNNSDataLayoutRowMajorMatrix, {6, 5}}, vector_of(6),
      vector_of(5));
  add("x_*i, w_io -> y_*o", first_major({3, 2, 6}), first_major({6, 5}), first_major({3, 2, 5}), 3)
      .gradient = true;
  // "*" at either end, with as many indices as the tensors have more than the letters.
  add("a_*ik, b_*kj -> c_*ij", first_major({2, 3, 4, 5}), first_major({3, 5, 2}),
      first_major({2, 3, 4, 2}))
      .gradient = true;
  add("a_ik*, b_kj* -> c_ij*", first_major({4, 5, 3}), first_major({5, 2, 3}),
      first_major({4, 2, 3}))
      .gradient = true;
  add("a_ik*, b_kj -> c_ij*", last_major({4, 5, 3, 2}), first_major({5, 2}),
      first_major({4, 2, 3, 2}));
  add("a_*, b_* -> c_*", first_major({2, 1, 4}), first_major({3, 4}), first_major({2, 3, 4}));
  add(" a _ * i k ,b_*kj->c_*ij ", first_major({4, 5}), first_major({5, 2}), first_major({4, 2}));
  add("a_abcdefgh, b_hgfedcba -> o_a", first_major({2, 1, 2, 1, 2, 1, 2, 3}),
      last_major({3, 2, 1, 2, 1, 2, 1, 2}), vector_of(2), 1)
      .thorough = false;
  Case& old = suite.cases.emplace_back(contraction_case({.operation = "a_ik, b_kj -> c_ji",
                                                         .a = first_major({5, 3}),
                                                         .b = first_major({3, 4}),
                                                         .out = first_major({4, 5}),
                                                         .accumulate = true},
                                                        2));
  add_einsum_types(old, true);
  old.thorough = false;
  suite.cases.emplace_back(contraction_case({.operation = "a_ij -> c_ji",
                                             .a = first_major({5, 3}),
                                             .out = first_major({3, 5}),
                                             .accumulate = true},
                                            2));

  // Large enough for products, packed or gathered, and for several threads.
  const auto large = [&](const char* operation, const Shape& a, const Shape& b, const Shape& out,
                         size_t batch = 1) -> Case& {
    Case& c = add(operation, a, b, out, batch);
    c.thorough = false;
    return c;
  };
  add_einsum_types(large("a_ijkl, b_klmn -> o_imjn", first_major({5, 6, 7, 4}),
                         first_major({7, 4, 5, 6}), first_major({5, 5, 6, 6})),
                   true);
  large("a_bik, b_bkj -> o_ijb", first_major({5, 20, 31}), first_major({5, 31, 22}),
        first_major({20, 22, 5}), 2);
  large("a_kbi, b_jkb -> o_bij", first_major({31, 5, 20}), first_major({22, 31, 5}),
        last_major({5, 20, 22}));
  add_einsum_types(large("a_ki, b_kj -> o_ij", last_major({70, 40}), last_major({70, 33}),
                         first_major({40, 33}), 3),
                   true);
  large("a_ijm, b_jk -> o_ik", first_major({40, 30, 9}), first_major({30, 35}),
        first_major({40, 35}));
  large("a_ij, b_jk -> o_ik", first_major({1, 50}), first_major({50, 60}), first_major({300, 60}));
  large("x_ikl, x_jlk -> o_ij", first_major({30, 12, 12}), none, first_major({30, 30}), 2);
  large("x_ikl, w_lko -> o_oi", first_major({30, 12, 12}), last_major({12, 12, 25}),
        first_major({25, 30}), 4);
  large("a_kli, b_lkj -> o_ij", first_major({2, 3, 600}), first_major({3, 2, 520}),
        first_major({600, 520}));
  large("a_ijk -> o_kj", first_major({30, 40, 50}), none, first_major({50, 40}));
}

}  // namespace spec
#endif

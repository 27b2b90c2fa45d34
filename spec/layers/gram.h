// G(f, c) = alpha sum over the pixels (i, j) of x(i, j, f) x(i, j, c), for every image of x.
#ifndef OPENBNNS_SPEC_GRAM_H
#define OPENBNNS_SPEC_GRAM_H

#include "layers/einsum.h"

namespace spec {

// The letter m counts images; a tensor of less than four axes does not have the first letters.
inline EinsumSettings gram_einsum(const Shape& in, const Shape& out, float alpha) {
  return {.a = std::string("mijf").substr(4 - in.rank()),
          .b = std::string("mijc").substr(4 - in.rank()),
          .out = std::string("mfc").substr(3 - out.rank()),
          .a_shape = in,
          .b_shape = {},
          .out_shape = out,
          .inputs = Inputs::kSame,
          .alpha = alpha};
}

inline Case gram_case(const Shape& in, const Shape& out, size_t batch) {
  const EinsumSettings settings = gram_einsum(in, out, 0.5f);
  Case c{.layer = "gram", .function = "gram", .shape = tag(in) + "_to_" + tag(out, batch)};
  fill_einsum_case(c, settings, batch);
  c.create = [settings](Call& call) {
    const BNNSLayerParametersGram p = {.alpha = settings.alpha,
                                       .i_desc = call.value[0].shape_only(),
                                       .o_desc = call.value[1].shape_only()};
    return BNNSFilterCreateLayerGram(&p, &call.parameters);
  };
  add_einsum_types(c, false);
  return c;
}

inline void add_gram(Suite& suite) {
  const auto add = [&](const Shape& in, const Shape& out, size_t batch) -> Case& {
    return suite.cases.emplace_back(gram_case(in, out, batch));
  };
  add(image(3, 2, 4), {BNNSDataLayoutRowMajorMatrix, {4, 4}}, 2).gradient = true;
  add(image(7, 5, 3), {BNNSDataLayoutColumnMajorMatrix, {3, 3}}, 3);
  add({BNNSDataLayout3DFirstMajor, {4, 3, 5}}, {BNNSDataLayout2DFirstMajor, {5, 5}}, 2);
  add({BNNSDataLayoutRowMajorMatrix, {6, 11}}, {BNNSDataLayout2DLastMajor, {6, 6}}, 2);
  const Shape images = {BNNSDataLayout4DFirstMajor, {3, 2, 4, 5}};
  add_einsum_types(add(images, {BNNSDataLayout3DLastMajor, {3, 5, 5}}, 2), true);
  for (size_t n = 1; n <= 40; ++n) {  // every size around the vector widths
    const Shape out = {BNNSDataLayoutRowMajorMatrix, {1 + n * 7 % 37, 1 + n * 7 % 37}};
    add(image(n, 1 + n % 3, out.size[0]), out, 1 + n % 4).thorough = false;
  }
  for (const size_t c : {16, 64, 256})  // worth several threads; timed
    add(image(28, 28, c), {BNNSDataLayoutRowMajorMatrix, {c, c}}, 8).speed = true;
  add(image(40, 9, 35), {BNNSDataLayoutRowMajorMatrix, {35, 35}}, 20).thorough = false;
}

}  // namespace spec
#endif

// Arithmetic of one to three inputs that are broadcast to the output:
//   y = act(f(a, b, c))      g = dy act'(y)      d_k = sum of g df/din_k
// The sum of input k runs over the elements of the output that read the same element of it: along
// axes where its size is 1, and over the samples unless it is a sample itself.
#ifndef OPENBNNS_SPEC_ARITHMETIC_H
#define OPENBNNS_SPEC_ARITHMETIC_H

#include "layers/activation_functions.h"
#include "layers/arithmetic_functions.h"
#include "runner/case.h"
#include "runner/shapes.h"

namespace spec {

// Operand 0 is the first input, 1 the output, then come the other inputs.
inline size_t arithmetic_operand(size_t input) {
  return input == 0 ? 0 : input + 1;
}

struct ArithmeticSettings {
  BNNSArithmeticFunction function;
  std::vector<Shape> in;
  Shape out;
  std::vector<BNNSDescriptorType> roles = {};  // empty: all samples
  BNNSActivation activation = {};

  BNNSDescriptorType role(size_t input) const { return roles.empty() ? BNNSSample : roles[input]; }
  bool identity() const { return activation.function == BNNSActivationFunctionIdentity; }
};

}  // namespace spec

namespace spec::reference {

struct Arithmetic {
  ArithmeticSettings s;
  std::vector<Index> places = {};  // by input: where element k of the output reads it

  explicit Arithmetic(const ArithmeticSettings& settings) : s(settings), places(s.in.size()) {
    for (size_t i = 0; i < s.in.size(); ++i)
      for (size_t k = 0; k < s.out.count(); ++k) places[i].push_back(find_place(i, k));
  }
  size_t place(size_t i, size_t k) const { return places[i][k]; }

  // Elements are counted in storage order.
  size_t find_place(size_t i, size_t k) const {
    const Shape& shape = s.in[i];
    const Index at = size_index(s.out, k), stride = dense_strides(shape);
    size_t position = 0;
    for (size_t a = 0; a < shape.rank(); ++a) {
      const size_t axis = paired_axis(shape, a);
      position += (shape.size[axis] == 1 ? 0 : at[axis]) * stride[a];
    }
    return position;
  }
  size_t sample(size_t i, size_t b) const { return s.role(i) == BNNSSample ? b : 0; }

  template <class T>
  struct Inputs {
    T in[3] = {};
  };
  template <class T>
  Inputs<T> inputs(const Values<T>& v, size_t b, size_t k) const {
    Inputs<T> result;
    for (size_t i = 0; i < s.in.size(); ++i)
      result.in[i] = v.value[arithmetic_operand(i)](sample(i, b), place(i, k));
    return result;
  }

  template <class T>
  void forward(Values<T>& v) const {
    const ArithmeticFormula<T>& f = arithmetic_formula<T>(s.function);
    const Formula<T>& act = formula<T>(s.activation.function);
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t k = 0; k < s.out.count(); ++k) {
        const Inputs<T> x = inputs(v, b, k);
        const T z = f.y(x.in[0], x.in[1], x.in[2]);
        v.value[1](b, k) = act.y(z, T(s.activation.alpha), T(s.activation.beta));
      }
  }

  // With `from_y` the derivative is computed from the result instead of the inputs.
  template <class T>
  void backward(Values<T>& v, bool from_y) const {
    const ArithmeticFormula<T>& f = arithmetic_formula<T>(s.function);
    const Formula<T>& act = formula<T>(s.activation.function);
    for (size_t i = 0; i < s.in.size(); ++i) {
      Array<T>& delta = v.delta[arithmetic_operand(i)];
      std::vector<Sum<T>> sums(delta.data().size());
      for (size_t b = 0; b < v.batch; ++b)
        for (size_t k = 0; k < s.out.count(); ++k) {
          const T y = v.value[1](b, k), dy = v.delta[1](b, k);
          const T g =
              s.identity() ? dy : act.from_y(y, T(s.activation.alpha), T(s.activation.beta)) * dy;
          const Inputs<T> x = inputs(v, b, k);
          const T slope = from_y ? f.from_y(y) : f.slope[i](x.in[0], x.in[1], x.in[2]);
          sums[sample(i, b) * delta.count() + place(i, k)].add(slope * g);
        }
      for (size_t n = 0; n < sums.size(); ++n) delta.data()[n] = sums[n].get();
    }
  }
};

}  // namespace spec::reference

namespace spec {

inline BNNSFilter create_arithmetic(Call& call, const ArithmeticSettings& s) {
  BNNSLayerParametersArithmetic p = {.arithmetic_function = s.function,
                                     .arithmetic_function_fields = nullptr,
                                     .activation = s.activation};
  const auto in = [&](size_t i) { return call.value[arithmetic_operand(i)].shape_only(); };
  const BNNSNDArrayDescriptor out = call.value[1].shape_only();
  if (s.in.size() == 1) {
    BNNSArithmeticUnary f = {.in = in(0), .in_type = s.role(0), .out = out, .out_type = BNNSSample};
    p.arithmetic_function_fields = &f;
    return BNNSFilterCreateLayerArithmetic(&p, &call.parameters);
  }
  if (s.in.size() == 2) {
    BNNSArithmeticBinary f = {.in1 = in(0),
                              .in1_type = s.role(0),
                              .in2 = in(1),
                              .in2_type = s.role(1),
                              .out = out,
                              .out_type = BNNSSample};
    p.arithmetic_function_fields = &f;
    return BNNSFilterCreateLayerArithmetic(&p, &call.parameters);
  }
  BNNSArithmeticTernary f = {.in1 = in(0),
                             .in1_type = s.role(0),
                             .in2 = in(1),
                             .in2_type = s.role(1),
                             .in3 = in(2),
                             .in3_type = s.role(2),
                             .out = out,
                             .out_type = BNNSSample};
  p.arithmetic_function_fields = &f;
  return BNNSFilterCreateLayerArithmetic(&p, &call.parameters);
}

struct ArithmeticArguments {
  const void* in[3];
  size_t in_stride[3], delta_stride[3];
  BNNSNDArrayDescriptor unwanted[3] = {};
  BNNSNDArrayDescriptor* delta[3];

  ArithmeticArguments(Call& call, size_t inputs) {
    for (size_t i = 0; i < inputs; ++i) {
      const size_t operand = arithmetic_operand(i);
      in[i] = call.value[operand].data();
      in_stride[i] = call.value[operand].stride;
      Argument& d = call.delta[operand];
      delta[i] = d.given ? &d.desc : &unwanted[i];  // never NULL
      delta_stride[i] = d.stride;
    }
  }
};

inline int apply_arithmetic(Call& call, size_t inputs) {
  ArithmeticArguments a(call, inputs);
  return BNNSArithmeticFilterApplyBatch(call.filter, call.batch, inputs, a.in, a.in_stride,
                                        call.value[1].data(), call.value[1].stride);
}

// Where the first input is not given, none is.
inline int apply_arithmetic_backward(Call& call, size_t inputs) {
  ArithmeticArguments a(call, inputs);
  const bool given = call.value[0].given;
  return BNNSArithmeticFilterApplyBackwardBatch(
      call.filter, call.batch, inputs, given ? a.in : nullptr, given ? a.in_stride : nullptr,
      a.delta, a.delta_stride, call.value[1].data(), call.value[1].stride, call.delta[1].pointer(),
      call.delta[1].stride);
}

inline std::vector<Backward> arithmetic_backwards(const ArithmeticInfo& row,
                                                  const ArithmeticSettings& s,
                                                  const std::vector<size_t>& deltas) {
  const reference::Arithmetic layer(s);
  const Pass from_in = [layer](auto& v) { layer.backward(v, false); };
  const Pass from_out = [layer](auto& v) { layer.backward(v, true); };
  const bool by_y =
      s.identity() && reference::arithmetic_formula<double>(s.function).from_y != nullptr;
  const bool trainable = s.identity() || derives_from_y(s.activation.function);
  std::vector<Backward> ways = {{.name = "backward",
                                 .reference = trainable ? from_in : Pass(),
                                 .pass_out = !s.identity(),
                                 .deltas = deltas,
                                 .refused = !trainable}};
  if (!trainable) return ways;
  if (by_y) {
    ways.push_back({.name = "backward-y",
                    .reference = from_out,
                    .pass_in = false,
                    .pass_out = true,
                    .deltas = deltas});
  }
  if (deltas.empty()) return ways;
  if (!s.identity()) {
    ways.push_back(
        {.name = "backward-without-y", .reference = from_in, .deltas = deltas, .refused = true});
  }
  Backward nothing = {.name = "backward-without-in",
                      .reference = from_in,
                      .pass_in = false,
                      .pass_out = !s.identity(),
                      .deltas = deltas};
  nothing.refused = !row.needs_nothing;
  ways.push_back(nothing);
  return ways;
}

inline Case arithmetic_case(
    const ArithmeticInfo& row, ArithmeticSettings s, size_t batch,
    const ActivationInfo& activation = activation_row(BNNSActivationFunctionIdentity)) {
  static const char* const kRoles[] = {"c", "s", "p"};
  s.function = row.function;
  s.activation = activation_of(activation);
  std::string text;
  for (size_t i = 0; i < s.in.size(); ++i) text += tag(s.in[i]) + kRoles[s.role(i)] + "_";
  text += "to_" + tag(s.out, batch);
  if (!s.identity()) text += std::string("_") + activation.name;
  Case c{.layer = "arithmetic", .function = row.name, .shape = text};
  c.batch = batch;
  std::vector<size_t> deltas;
  for (size_t i = 0; i < s.in.size(); ++i) {
    if (i == 1) c.operands.push_back({.name = "out", .role = Role::kOut, .shape = s.out});
    c.operands.push_back({.name = "in" + std::to_string(i + 1),
                          .role = Role::kIn,
                          .shape = s.in[i],
                          .fill = i < row.fill.size() ? row.fill[i] : Fill{},
                          .has_delta = s.role(i) != BNNSConstant,
                          .once = s.role(i) != BNNSSample});
    if (s.role(i) != BNNSConstant) deltas.push_back(arithmetic_operand(i));
  }
  if (s.in.size() == 1) c.operands.push_back({.name = "out", .role = Role::kOut, .shape = s.out});
  const reference::Arithmetic layer(s);
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = arithmetic_backwards(row, s, deltas);
  c.create = [s](Call& call) { return create_arithmetic(call, s); };
  c.apply = [n = s.in.size()](Call& call) { return apply_arithmetic(call, n); };
  c.apply_backward = [n = s.in.size()](Call& call) { return apply_arithmetic_backward(call, n); };
  for (BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16}) {
    c.types.push_back(same_type(c, type, Need::kRequired));
    c.types.back().float_deltas = true;
  }
  const bool full = s.in[0].count() == s.out.count() && s.role(0) == BNNSSample;
  c.in_place = full;
  c.wide = full && s.identity();
  c.integers_are_exact = row.exact && s.identity();
  return c;
}

inline void add_broadcasts(Suite& suite, const ArithmeticInfo& row, bool thorough) {
  const auto add = [&](std::vector<Shape> in, const Shape& out, size_t batch,
                       std::vector<BNNSDescriptorType> roles = {}) -> Case& {
    ArithmeticSettings s{
        .function = row.function, .in = std::move(in), .out = out, .roles = std::move(roles)};
    Case& c = suite.cases.emplace_back(arithmetic_case(row, s, batch));
    c.thorough = thorough;
    return c;
  };
  const auto matrix = [](size_t columns, size_t rows) {
    return Shape{BNNSDataLayoutRowMajorMatrix, {columns, rows}};
  };
  add({image(1, 3, 4), image(2, 3, 1)}, image(2, 3, 4), 2).gradient = true;
  add({image(5, 4, 3), image(1, 1, 3)}, image(5, 4, 3), 3, {BNNSSample, BNNSParameter}).gradient =
      true;
  add({image(1, 1, 1), image(5, 1, 3)}, image(5, 4, 3), 2, {BNNSParameter, BNNSSample});
  add({image(40, 3, 2), image(1, 3, 1)}, image(40, 3, 2), 2, {BNNSSample, BNNSConstant});
  add({matrix(37, 5), matrix(37, 1)}, matrix(37, 5), 3, {BNNSSample, BNNSParameter});
  add({matrix(1, 5), matrix(37, 1)}, matrix(37, 5), 2, {BNNSConstant, BNNSSample});
  add({matrix(1, 5), matrix(1, 5)}, matrix(70, 5), 2);
  add({{BNNSDataLayout4DFirstMajor, {2, 1, 3, 4}}, {BNNSDataLayout4DFirstMajor, {2, 5, 1, 4}}},
      {BNNSDataLayout4DFirstMajor, {2, 5, 3, 4}}, 2, {BNNSParameter, BNNSParameter});
  add({vector_of(1), vector_of(9)}, vector_of(9), 3, {BNNSParameter, BNNSSample});
  add({vector_of(33), vector_of(33)}, vector_of(33), 4, {BNNSParameter, BNNSConstant});
}

// Sums long enough for slices, several tasks and several threads.
inline void add_long_sums(Suite& suite, const ArithmeticInfo& row) {
  const auto add = [&](const Shape& in, const Shape& parameter, size_t batch) {
    ArithmeticSettings s{.function = row.function,
                         .in = {in, parameter},
                         .out = in,
                         .roles = {BNNSSample, BNNSParameter}};
    suite.cases.emplace_back(arithmetic_case(row, s, batch)).thorough = false;
  };
  add(vector_of(9000), vector_of(9000), 5);      // several tasks of columns
  add(vector_of(700), vector_of(700), 150);      // slices of rows
  add(image(61, 50, 3), image(1, 1, 3), 20);     // slices of elements, three sums
  add(image(3, 2, 9000), image(1, 1, 9000), 2);  // many sums of few elements
  add(image(100, 90, 10), image(1, 1, 1), 1);    // one sum
  add(image(7, 300, 40), image(7, 1, 40), 1);    // groups of columns
}

inline void add_arithmetic(Suite& suite) {
  const auto same = [](const ArithmeticInfo& row, const Shape& shape) {
    return ArithmeticSettings{
        .function = row.function, .in = std::vector<Shape>(row.inputs, shape), .out = shape};
  };
  for (const ArithmeticInfo& row : arithmetic_rows()) {
    suite.cases.emplace_back(arithmetic_case(row, same(row, image(3, 2, 2)), 2)).gradient = true;
    const auto& relu = activation_row(BNNSActivationFunctionLeakyRectifiedLinear);
    suite.cases.emplace_back(arithmetic_case(row, same(row, vector_of(37)), 2, relu)).thorough =
        false;
    for (size_t n : {1, 17, 65, 600}) {
      suite.cases.emplace_back(arithmetic_case(row, same(row, vector_of(n)), 1)).thorough = false;
    }
  }
  const auto row = [](BNNSArithmeticFunction f) { return arithmetic_rows()[f]; };
  for (const auto f : {BNNSArithmeticAdd, BNNSArithmeticMultiply, BNNSArithmeticDivide,
                       BNNSArithmeticSubtract, BNNSArithmeticPow, BNNSArithmeticMaximum})
    add_broadcasts(suite, row(f), f == BNNSArithmeticAdd || f == BNNSArithmeticMultiply);
  for (const auto f : {BNNSArithmeticAdd, BNNSArithmeticMultiply}) add_long_sums(suite, row(f));
  for (const auto f : {BNNSArithmeticMultiplyAdd, BNNSArithmeticSelect}) {
    ArithmeticSettings s{.function = f,
                         .in = {image(5, 1, 3), image(5, 4, 1), image(1, 4, 3)},
                         .out = image(5, 4, 3),
                         .roles = {BNNSSample, BNNSParameter, BNNSSample}};
    if (f == BNNSArithmeticSelect) s.roles[0] = BNNSConstant;
    suite.cases.emplace_back(arithmetic_case(row(f), s, 2)).gradient = true;
  }
  for (const auto a : {BNNSActivationFunctionSigmoid, BNNSActivationFunctionTanh,
                       BNNSActivationFunctionRectifiedLinear, BNNSActivationFunctionGELU}) {
    const ActivationInfo& activation = activation_row(a);
    ArithmeticSettings s{.function = BNNSArithmeticMultiply,
                         .in = {image(5, 4, 3), image(1, 1, 3)},
                         .out = image(5, 4, 3),
                         .roles = {BNNSSample, BNNSParameter}};
    suite.cases.emplace_back(arithmetic_case(row(BNNSArithmeticMultiply), s, 2, activation))
        .gradient = true;
    suite.cases
        .emplace_back(arithmetic_case(row(BNNSArithmeticExp),
                                      same(row(BNNSArithmeticExp), vector_of(9)), 2, activation))
        .gradient = true;
  }
  for (const auto f : {BNNSArithmeticAdd, BNNSArithmeticPow, BNNSArithmeticSin}) {
    Case& large =
        suite.cases.emplace_back(arithmetic_case(row(f), same(row(f), image(64, 64, 16)), 3));
    large.thorough = false;
  }
  for (const auto f : {BNNSArithmeticAdd, BNNSArithmeticMultiply, BNNSArithmeticPow,
                       BNNSArithmeticExp, BNNSArithmeticSin}) {
    Case& timed =
        suite.cases.emplace_back(arithmetic_case(row(f), same(row(f), image(56, 56, 64)), 4));
    timed.speed = true;
    timed.flops = 4 * 56 * 56 * 64;
  }
}

}  // namespace spec
#endif

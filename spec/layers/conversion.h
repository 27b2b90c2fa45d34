// Activation layers on integers: the identity as converter between element types, and the integer
// functions y = saturate((iscale * x + ioffset) >> ishift), per tensor or per channel.
#ifndef OPENBNNS_SPEC_CONVERSION_H
#define OPENBNNS_SPEC_CONVERSION_H

#include <cmath>
#include <limits>

#include "layers/activation.h"

namespace spec {

// Scales and biases are short binary fractions, so that every conversion but the last rounding is
// exact in float.
inline ElementType converted_type(BNNSDataType type, bool scaled) {
  ElementType t{.type = type};
  if (scaled && t.scaled()) {
    t.scale = t.info().lo < 0 ? 0.5f : 0.25f;
    t.bias = t.info().lo < 0 ? 3.0f : -2.0f;
  }
  return t;
}

// Ties, ends of the ranges, far beyond them, and what is no number.
inline std::vector<double> conversion_numbers(const TypeInfo& from, const TypeInfo& to) {
  std::vector<double> v = {0,     1,      2,      3,     -1,    -2,      -7,      5,     100,
                           127,   128,    -128,   -129,  255,   256,     1000,    -1000, 32767,
                           32768, -32768, -32769, 65535, 65536, 1048575, -1048575};
  if (from.kind != Kind::kFloat || to.kind == Kind::kBoolean) return v;
  for (double x :
       {0.5, 1.5, 2.5,  -0.5, -1.5, -2.5, 0.25, 126.5, 127.5, 254.5,   255.5,   2049.0, 2051.0,
        0.3, 0.7, -3.3, 1e-3, 3e9,  -3e9, 5e9,  1e20,  -1e20, 65519.0, 65520.0, 1e-7,   6e-8})
    v.push_back(x);
  const double inf = std::numeric_limits<double>::infinity();
  for (double x : {inf, -inf, std::nan("")}) v.push_back(x);
  return v;
}

inline Case conversion_case(BNNSDataType from, BNNSDataType to, const Shape& in, const Shape& out,
                            bool scaled) {
  Case c = activation_case(activation_rows()[0], in, out, 2);
  const TypeInfo& source = type_info(from);
  const TypeInfo& target = type_info(to);
  c.layer = "conversion";
  c.function = std::string("to_") + target.name;
  c.shape += std::string("_from_") + source.name + (scaled ? "_scaled" : "");
  c.operands[0].fill.choices = conversion_numbers(source, target);
  c.backward.clear();
  c.types = {{.name = source.name,
              .types = {converted_type(from, scaled), converted_type(to, scaled)},
              .backward = Need::kNone}};
  // One type on both sides is no conversion: a bias must not be applied, and cannot show here.
  if (from == to)
    for (ElementType& t : c.types[0].types) t.bias = 0;
  c.wide = c.in_place = false;
  return c;
}

struct IntegerLinear {
  std::vector<int32_t> scale, offset, shift;  // one entry, or one per channel

  template <class T>
  void forward(Values<T>& v) const {
    using std::floor;
    const Array<T>& in = v.value[0];
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t k = 0; k < in.count(); ++k) {
        const Index i = size_index(in.shape(), k);
        const size_t c = scale.size() == 1 ? 0 : i.back();
        const double sum = scale[c] * value_of(in(b, k)) + offset[c];
        v.value[1](b, k) = T(std::floor(std::ldexp(sum, -shift[c])));
      }
    }
  }
};

inline Case integer_linear_case(const Shape& shape, bool per_channel) {
  Case c = activation_case(activation_rows()[0], shape, shape, 2);
  c.function = per_channel ? "integer_linear_per_channel" : "integer_linear";
  IntegerLinear layer{{3}, {-7}, {2}};
  for (size_t k = 1; per_channel && k < shape.size.back(); ++k) {
    layer.scale.push_back(static_cast<int32_t>(k % 5) - 2);
    layer.offset.push_back(static_cast<int32_t>(11 * k % 37) - 9);
    layer.shift.push_back(static_cast<int32_t>(k % 4));
  }
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward.clear();
  c.backward.push_back({.name = "backward-x", .pass_out = true, .deltas = {0}, .refused = true});
  c.create = [layer, per_channel](Call& call) {
    BNNSActivation a = {};
    a.function = per_channel ? BNNSActivationFunctionIntegerLinearSaturatePerChannel
                             : BNNSActivationFunctionIntegerLinearSaturate;
    a.iscale = layer.scale[0];
    a.ioffset = layer.offset[0];
    a.ishift = layer.shift[0];
    if (per_channel) {
      a.iscale_per_channel = layer.scale.data();
      a.ioffset_per_channel = layer.offset.data();
      a.ishift_per_channel = layer.shift.data();
    }
    return create_activation(call, a, 0);
  };
  c.operands[0].fill.choices = {0, 1, -1, 2, 3, -5, 17, 99, -100, 127, -128, 1000, -1000, 30000};
  c.types.clear();
  const auto add = [&](BNNSDataType from, BNNSDataType to) {
    c.types.push_back({.name = std::string(type_info(from).name) + "_" + type_info(to).name,
                       .types = {{.type = from}, {.type = to}}});
  };
  add(BNNSDataTypeInt32, BNNSDataTypeInt8);
  add(BNNSDataTypeInt32, BNNSDataTypeUInt8);
  add(BNNSDataTypeInt32, BNNSDataTypeInt16);
  add(BNNSDataTypeInt32, BNNSDataTypeInt32);
  add(BNNSDataTypeInt16, BNNSDataTypeInt8);
  add(BNNSDataTypeInt8, BNNSDataTypeInt8);
  c.wide = c.in_place = false;
  return c;
}

inline void add_integer_activation(Suite& suite) {
  for (const Shape& shape : {vector_of(67), image(7, 3, 5)})
    for (bool per_channel : {false, true})
      suite.cases.push_back(integer_linear_case(shape, per_channel));
}

inline void add_conversion(Suite& suite) {
  for (const TypeInfo& from : kTypes) {
    for (const TypeInfo& to : kTypes) {
      if (from.kind == Kind::kIndexed || to.kind == Kind::kIndexed) continue;
      suite.cases.push_back(
          conversion_case(from.type, to.type, vector_of(131), vector_of(131), false));
      suite.cases.push_back(
          conversion_case(from.type, to.type, image(7, 3, 5), image(7, 3, 5), true));
    }
  }
  suite.cases.push_back(
      conversion_case(BNNSDataTypeFloat32, BNNSDataTypeInt8, vector_of(105), image(7, 3, 5), true));
  add_integer_activation(suite);
}

}  // namespace spec
#endif

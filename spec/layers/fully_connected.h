// Fully connected layers:  z[o] = bias[o] + sum over i of W(o,i) x[i],  y = act(z).
//   g = dy * act'(y)      dx[i] = sum over o of W(o,i) g[o]
//   dW(o,i) = sum over the batch of g[o] x[i]      db[o] = sum over the batch of g[o]
// W(o,i) is the element (row o, column i) of any 2-D layout.
#ifndef OPENBNNS_SPEC_FULLY_CONNECTED_H
#define OPENBNNS_SPEC_FULLY_CONNECTED_H

#include <numeric>

#include "layers/activation_functions.h"
#include "runner/case.h"
#include "runner/shapes.h"

namespace spec::reference {

enum : size_t { kIn, kOut, kWeights, kBias };

struct FullyConnected {
  BNNSActivation activation;

  template <class T>
  void forward(Values<T>& v) const {
    const Array<T>&x = v.value[kIn], &w = v.value[kWeights];
    Array<T>& y = v.value[kOut];
    for (size_t b = 0; b < v.batch; ++b) {
      std::vector<T> z(y.count());
      for (size_t o = 0; o < y.count(); ++o) {
        Sum<T> sum;
        for (size_t i = 0; i < x.count(); ++i) sum.add(w.at(0, {o, i}), x(b, i));
        if (v.value.size() > kBias) sum.add(v.value[kBias](0, o));
        z[o] = sum.get();
      }
      activate(z);
      for (size_t o = 0; o < y.count(); ++o) y(b, o) = z[o];
    }
  }

  template <class T>
  void backward(Values<T>& v) const {
    const Array<T>&x = v.value[kIn], &w = v.value[kWeights];
    const size_t in_size = x.count(), out_size = v.value[kOut].count();
    std::vector<std::vector<T>> g(v.batch);
    for (size_t b = 0; b < v.batch; ++b) g[b] = before_activation(v, b);

    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t i = 0; i < in_size; ++i) {
        Sum<T> sum;
        for (size_t o = 0; o < out_size; ++o) sum.add(w.at(0, {o, i}), g[b][o]);
        v.delta[kIn](b, i) = sum.get();
      }
    }
    for (size_t o = 0; o < out_size; ++o) {
      for (size_t i = 0; i < in_size; ++i) {
        Sum<T> sum;
        for (size_t b = 0; b < v.batch; ++b) sum.add(g[b][o], x(b, i));
        v.delta[kWeights].at(0, {o, i}) = sum.get();
      }
      if (v.delta.size() <= kBias) continue;
      Sum<T> sum;
      for (size_t b = 0; b < v.batch; ++b) sum.add(g[b][o]);
      v.delta[kBias](0, o) = sum.get();
    }
  }

 private:
  static std::vector<size_t> whole(size_t n) {
    std::vector<size_t> group(n);
    std::iota(group.begin(), group.end(), size_t{0});
    return group;
  }

  template <class T>
  void activate(std::vector<T>& z) const {
    if (is_softmax(activation.function)) {
      const std::vector<T> x = z;
      softmax(x, z, whole(z.size()), activation.function == BNNSActivationFunctionLogSoftmax);
      return;
    }
    for (T& value : z)
      value = formula<T>(activation.function).y(value, T(activation.alpha), T(activation.beta));
  }

  template <class T>
  std::vector<T> before_activation(const Values<T>& v, size_t b) const {
    const size_t n = v.value[kOut].count();
    std::vector<T> y(n), dy(n), g(n);
    for (size_t o = 0; o < n; ++o) {
      y[o] = v.value[kOut](b, o);
      dy[o] = v.delta[kOut](b, o);
    }
    if (is_softmax(activation.function)) {
      softmax_backward(y, dy, g, whole(n), activation.function == BNNSActivationFunctionLogSoftmax);
      return g;
    }
    const Formula<T>& f = formula<T>(activation.function);
    for (size_t o = 0; o < n; ++o)
      g[o] = f.from_y(y[o], T(activation.alpha), T(activation.beta)) * dy[o];
    return g;
  }
};

}  // namespace spec::reference

namespace spec {

struct FullyConnectedSize {
  size_t in, out, batch;
};

inline Shape weights_shape(BNNSDataLayout layout, size_t in, size_t out) {
  const bool columns_first = layout == BNNSDataLayoutRowMajorMatrix;
  return {layout, columns_first ? Index{in, out} : Index{out, in}};
}

inline std::vector<TypeSet> fully_connected_types(bool bias) {
  std::vector<float> table(256);
  for (size_t i = 0; i < 256; ++i) table[i] = static_cast<float>((i * 37 % 256) / 64.0 - 2);
  const ElementType f32, f16{.type = BNNSDataTypeFloat16}, bf16{.type = BNNSDataTypeBFloat16};
  const ElementType i8{.type = BNNSDataTypeInt8, .scale = 1 / 64.0f, .bias = 0.25f};
  const ElementType i8_weights{.type = BNNSDataTypeInt8, .scale = 1 / 128.0f};
  const ElementType u8{.type = BNNSDataTypeUInt8, .scale = 1 / 32.0f, .bias = -1.5f};
  const ElementType i16{.type = BNNSDataTypeInt16, .scale = 1 / 64.0f};
  const ElementType i8_out{.type = BNNSDataTypeInt8, .scale = 0.25f};
  const ElementType indexed{.type = BNNSDataTypeIndexed8, .table = table};
  std::vector<TypeSet> sets = {
      {.name = "f32", .types = {f32, f32, f32, f32}},
      {.name = "f16", .types = {f16, f16, f16, f16}, .backward = Need::kOptional},
      {.name = "f16_f32", .types = {f16, f32, f16, f32}, .backward = Need::kOptional},
      {.name = "bf16", .types = {bf16, bf16, bf16, bf16}, .backward = Need::kOptional},
      {.name = "bf16_f32", .types = {bf16, f32, bf16, f32}, .backward = Need::kOptional},
      {.name = "i8", .types = {i8, f32, i8_weights, f32}, .backward = Need::kNone},
      {.name = "u8", .types = {u8, f32, u8, f32}, .backward = Need::kNone},
      {.name = "u8_i8",
       .types = {u8, f32, i8_weights, f32},
       .forward = Need::kOptional,
       .backward = Need::kNone},
      {.name = "i16", .types = {i16, f32, i16, f32}, .backward = Need::kNone},
      {.name = "i8_i8",
       .types = {i8, i8_out, i8_weights, f32},
       .forward = Need::kOptional,
       .backward = Need::kNone},
      {.name = "idx8", .types = {f32, f32, indexed, f32}, .backward = Need::kNone},
  };
  if (!bias)
    for (TypeSet& t : sets) t.types.pop_back();
  return sets;
}

inline std::vector<Backward> fully_connected_backward(const reference::FullyConnected& layer,
                                                      bool bias) {
  const BNNSActivationFunction f = layer.activation.function;
  const bool identity = f == BNNSActivationFunctionIdentity;
  std::vector<size_t> deltas = {reference::kIn, reference::kWeights};
  if (bias) deltas.push_back(reference::kBias);
  const auto refused = [&](const char* name, bool in, bool out) {
    return Backward{
        .name = name, .pass_in = in, .pass_out = out, .deltas = deltas, .refused = true};
  };
  if (!derives_from_y(f)) return {refused("backward", true, true)};
  std::vector<Backward> ways = {{.name = "backward",
                                 .reference = [layer](auto& v) { layer.backward(v); },
                                 .pass_out = !identity,
                                 .deltas = deltas,
                                 .in_needed_by = reference::kWeights},
                                refused("backward-without-in", false, true)};
  if (!identity) ways.push_back(refused("backward-without-out", true, false));
  return ways;
}

inline Case fully_connected_case(const FullyConnectedSize& size, BNNSDataLayout layout, bool bias,
                                 const ActivationInfo& row = activation_rows()[0]) {
  const Shape weights = weights_shape(layout, size.in, size.out);
  Case c{.layer = "fully_connected", .function = row.name};
  c.shape = std::to_string(size.in) + "to" + std::to_string(size.out) + "_b" +
            std::to_string(size.batch) + (bias ? "" : "_nobias") + "_w" + tag(weights);
  c.batch = size.batch;
  // Weights shrink with the number of terms, so that z stays where the activation is curved.
  const double reach = 1.5 / std::sqrt(static_cast<double>(size.in));
  c.operands = {
      {.name = "in", .role = Role::kIn, .shape = vector_of(size.in)},
      {.name = "out", .role = Role::kOut, .shape = vector_of(size.out)},
      {.name = "weights", .role = Role::kParameter, .shape = weights, .fill = {-reach, reach}}};
  if (bias)
    c.operands.push_back({.name = "bias", .role = Role::kParameter, .shape = vector_of(size.out)});
  const reference::FullyConnected layer{activation_of(row)};
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = fully_connected_backward(layer, bias);
  c.create = [a = layer.activation, bias](Call& call) {
    const BNNSLayerParametersFullyConnected p = {
        .i_desc = call.value[0].shape_only(),
        .w_desc = call.value[2].desc,
        .o_desc = call.value[1].shape_only(),
        .bias = bias ? call.value[3].desc : BNNSNDArrayDescriptor{},
        .activation = a};
    return BNNSFilterCreateLayerFullyConnected(&p, &call.parameters);
  };
  c.types = fully_connected_types(bias);
  c.integers_are_exact = row.function == BNNSActivationFunctionIdentity ||
                         row.function == BNNSActivationFunctionRectifiedLinear;
  c.flops = 2.0 * static_cast<double>(size.in * size.out * size.batch);
  return c;
}

inline void keep_types(Case& c, std::initializer_list<const char*> names) {
  std::vector<TypeSet> kept;
  for (const TypeSet& t : c.types)
    for (const char* name : names)
      if (t.name == name) kept.push_back(t);
  c.types = kept;
}

inline void add_fully_connected_fused(Suite& suite) {
  for (const ActivationInfo& row : activation_rows()) {
    if (row.function == BNNSActivationFunctionPReLUPerChannel) continue;
    Case c = fully_connected_case({19, 13, 3}, BNNSDataLayoutRowMajorMatrix, true, row);
    keep_types(c, {"f32", "f16_f32", "bf16", "i8"});
    suite.cases.push_back(c);
    Case single = fully_connected_case({43, 13, 1}, BNNSDataLayoutRowMajorMatrix, true, row);
    keep_types(single, {"f32"});
    suite.cases.push_back(single);
    Case small = fully_connected_case({4, 3, 2}, BNNSDataLayoutRowMajorMatrix, true, row);
    keep_types(small, {"f32"});
    small.gradient = true;
    // Right of the minimum, where y tells x.
    if (row.function == BNNSActivationFunctionGELUApproximationSigmoid) {
      small.operands[2].fill = {-0.1, 0.1};
      small.operands[3].fill = {0.5, 2};
    }
    suite.cases.push_back(small);
  }
}

inline void add_fully_connected(Suite& suite) {
  constexpr BNNSDataLayout kMatrices[] = {BNNSDataLayoutRowMajorMatrix,
                                          BNNSDataLayoutColumnMajorMatrix,
                                          BNNSDataLayout2DFirstMajor, BNNSDataLayout2DLastMajor};
  for (BNNSDataLayout layout : kMatrices)
    for (bool bias : {true, false})
      for (const FullyConnectedSize& s : {FullyConnectedSize{1, 1, 1}, {5, 3, 2}, {33, 17, 5}})
        suite.cases.push_back(fully_connected_case(s, layout, bias));
  for (size_t n = 1; n <= 70; ++n) {
    const FullyConnectedSize size{n, 1 + n * 7 % 37, 1 + n % 5};
    for (const FullyConnectedSize& s : {size, FullyConnectedSize{size.out, n, 1 + n % 9}}) {
      Case c = fully_connected_case(s, kMatrices[n % 4], n % 3 != 0);
      c.thorough = false;
      suite.cases.push_back(c);
    }
  }
  for (const FullyConnectedSize& s :
       {FullyConnectedSize{257, 129, 33}, {129, 300, 70}, {1000, 37, 1}}) {
    Case c = fully_connected_case(s, kMatrices[s.in % 4], true);
    keep_types(c, {"f32", "f16", "bf16_f32", "i8", "idx8"});
    c.thorough = false;
    suite.cases.push_back(c);
  }
  // An image buffer fed as it is.
  Case flattened = fully_connected_case({60, 7, 3}, BNNSDataLayoutRowMajorMatrix, true);
  flattened.shape += "_from_chw5x4x3";
  flattened.operands[0].shape = image(5, 4, 3);
  flattened.operands[0].contiguous = true;
  suite.cases.push_back(flattened);
  add_fully_connected_fused(suite);
  for (const FullyConnectedSize& s :
       {FullyConnectedSize{16, 16, 1}, {784, 128, 32}, {1024, 1024, 1}, {1024, 1024, 32}}) {
    Case c = fully_connected_case(s, BNNSDataLayoutRowMajorMatrix, true);
    c.speed = true;
    suite.cases.push_back(c);
  }
}

}  // namespace spec
#endif

// Activation layers: y = f(x) element by element, or a softmax over chosen axes.
//   backward   dx = f' * dy, f' from x or from y; alpha_delta = sum over x < 0 of dy * x
// Between layouts the k-th element in storage order becomes the k-th of the other.
#ifndef OPENBNNS_SPEC_ACTIVATION_H
#define OPENBNNS_SPEC_ACTIVATION_H

#include <map>

#include "layers/activation_functions.h"
#include "runner/case.h"
#include "runner/shapes.h"

namespace spec::reference {

using Groups = std::vector<std::vector<size_t>>;

// Positions that share one softmax: equal on every axis that is not flagged. Flag k is size[k], the
// one past the last is the batch; no flag means size[0].
inline Groups softmax_groups(const Shape& shape, size_t batch, uint32_t axis_flags) {
  const uint32_t flags = axis_flags ? axis_flags : 1;
  std::map<size_t, std::vector<size_t>> groups;
  for (size_t b = 0; b < batch; ++b) {
    for (size_t k = 0; k < shape.count(); ++k) {
      const Index i = size_index(shape, k);
      size_t key = flags >> shape.rank() & 1 ? 0 : b;
      for (size_t axis = 0; axis < shape.rank(); ++axis)
        key = key * shape.size[axis] + (flags >> axis & 1 ? 0 : i[axis]);
      groups[key].push_back(b * shape.count() + k);
    }
  }
  Groups result;
  for (auto& [key, members] : groups) result.push_back(std::move(members));
  return result;
}

struct ActivationLayer {
  BNNSActivation activation;
  uint32_t axis_flags = 0;
  Groups groups = {};  // of a softmax

  bool log_of() const { return activation.function == BNNSActivationFunctionLogSoftmax; }

  // Alpha is trainable where it is an operand: one value, or one per channel.
  template <class T>
  T alpha(const Values<T>& v, size_t k) const {
    if (v.value.size() < 3) return T(activation.alpha);
    const bool one = v.value[2].count() == 1;
    return v.value[2](0, one ? 0 : size_index(v.value[0].shape(), k)[2]);
  }

  template <class T>
  void forward(Values<T>& v) const {
    const Array<T>& in = v.value[0];
    Array<T>& out = v.value[1];
    if (is_softmax(activation.function)) {
      for (const auto& group : groups) softmax(in.data(), out.data(), group, log_of());
      return;
    }
    const Formula<T>& f = formula<T>(activation.function);
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t k = 0; k < in.count(); ++k)
        out(b, k) = f.y(in(b, k), alpha(v, k), T(activation.beta));
  }

  template <class T>
  void backward(Values<T>& v, bool from_y) const {
    const Array<T>& in = v.value[0];
    const Array<T>& out_delta = v.delta[1];
    Array<T>& in_delta = v.delta[0];
    if (is_softmax(activation.function)) {
      if (!from_y) forward(v);
      for (const auto& group : groups)
        softmax_backward(v.value[1].data(), out_delta.data(), in_delta.data(), group, log_of());
      return;
    }
    const Formula<T>& f = formula<T>(activation.function);
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t k = 0; k < in.count(); ++k) {
        const T a = alpha(v, k), beta = T(activation.beta);
        const T slope = from_y ? f.from_y(v.value[1](b, k), a, beta) : f.from_x(in(b, k), a, beta);
        in_delta(b, k) = slope * out_delta(b, k);
      }
    }
    if (v.value.size() > 2) alpha_backward(v);
  }

  template <class T>
  void alpha_backward(Values<T>& v) const {
    const Array<T>& in = v.value[0];
    std::vector<Sum<T>> sums(v.delta[2].count());
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t k = 0; k < in.count(); ++k)
        if (in(b, k) < T(0))
          sums[sums.size() == 1 ? 0 : size_index(in.shape(), k)[2]].add(v.delta[1](b, k), in(b, k));
    for (size_t c = 0; c < sums.size(); ++c) v.delta[2](0, c) = sums[c].get();
  }
};

}  // namespace spec::reference

namespace spec {

inline BNNSFilter create_activation(Call& call, const BNNSActivation& activation,
                                    uint32_t axis_flags) {
  const BNNSLayerParametersActivation p = {.i_desc = call.value[0].shape_only(),
                                           .o_desc = call.value[1].shape_only(),
                                           .activation = activation,
                                           .axis_flags = axis_flags};
  BNNSFilter filter = BNNSFilterCreateLayerActivation(&p, &call.parameters);
  if (filter && activation.function == BNNSActivationFunctionPReLUPerChannel) {
    const BNNSNDArrayDescriptor alpha = BNNSGetPointer(filter, BNNSPointerSpecifierAlpha);
    if (alpha.data) std::memcpy(alpha.data, call.value[2].desc.data, alpha.size[0] * sizeof(float));
  }
  return filter;
}

inline int apply_activation_directly(Call& call, const BNNSActivation& activation, uint32_t flags) {
  const BNNSLayerParametersActivation p = {.i_desc = call.value[0].desc,
                                           .o_desc = call.value[1].desc,
                                           .activation = activation,
                                           .axis_flags = flags};
  return BNNSDirectApplyActivationBatch(&p, &call.parameters, call.batch, call.value[0].stride,
                                        call.value[1].stride);
}

inline std::vector<Backward> activation_backward(const reference::ActivationLayer& layer) {
  const BNNSActivationFunction f = layer.activation.function;
  const bool trainable =
      f == BNNSActivationFunctionLeakyRectifiedLinear || f == BNNSActivationFunctionPReLUPerChannel;
  const std::vector<size_t> deltas = trainable ? std::vector<size_t>{0, 2} : std::vector<size_t>{0};
  const Pass from_x = [layer](auto& v) { layer.backward(v, false); };
  const Pass from_y = [layer](auto& v) { layer.backward(v, true); };
  const bool has_y = derives_from_y(f);
  // Left of its minimum this one cannot be told from y, so x is preferred when both are there.
  const bool y_first = has_y && f != BNNSActivationFunctionGELUApproximationSigmoid;
  std::vector<Backward> ways = {{.name = "backward-x", .reference = from_x, .deltas = deltas},
                                {.name = "backward-xy",
                                 .reference = y_first ? from_y : from_x,
                                 .pass_out = true,
                                 .deltas = deltas},
                                {.name = "backward-y",
                                 .reference = has_y ? from_y : Pass(),
                                 .pass_in = false,
                                 .pass_out = true,
                                 .deltas = {0},
                                 .refused = !has_y}};
  if (trainable)
    ways.push_back({.name = "backward-y-alpha",
                    .pass_in = false,
                    .pass_out = true,
                    .deltas = {2},
                    .refused = true});
  return ways;
}

inline Case activation_case(const ActivationInfo& row, const Shape& in, const Shape& out,
                            size_t batch, uint32_t axis_flags = 0) {
  Case c{.layer = "activation", .function = row.name, .shape = tag(in, batch)};
  if (in.layout != out.layout || in.size != out.size) c.shape = tag(in) + "_to_" + tag(out, batch);
  if (axis_flags) c.shape += "_axes" + std::to_string(axis_flags);
  c.batch = batch;
  c.operands = {{.name = "in", .role = Role::kIn, .shape = in, .fill = row.fill},
                {.name = "out", .role = Role::kOut, .shape = out}};
  const bool per_channel = row.function == BNNSActivationFunctionPReLUPerChannel;
  if (per_channel || row.function == BNNSActivationFunctionLeakyRectifiedLinear)
    c.operands.push_back(
        {.name = "alpha",
         .role = Role::kParameter,
         .shape = vector_of(per_channel ? in.size[2] : 1),
         .fill = {.choices = per_channel ? std::vector<double>{0.25, 0.5, 0.75, 0.125}
                                         : std::vector<double>{row.alpha}},
         .read_through_pointer = false});
  reference::ActivationLayer layer{.activation = activation_of(row), .axis_flags = axis_flags};
  if (is_softmax(row.function)) layer.groups = reference::softmax_groups(in, batch, axis_flags);
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = activation_backward(layer);
  c.create = [a = layer.activation, axis_flags](Call& call) {
    return create_activation(call, a, axis_flags);
  };
  for (BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16})
    c.types.push_back(
        same_type(c, type, type == BNNSDataTypeFloat32 ? Need::kRequired : Need::kOptional));
  // Alpha and its gradient are Float32 whatever the data are.
  for (TypeSet& t : c.types)
    if (t.types.size() > 2) t.types[2] = {};
  c.in_place = in.layout == out.layout && in.size == out.size;
  c.wide = true;
  c.flops = static_cast<double>(in.count() * batch);
  return c;
}

// All sizes around the vector widths, then large ones that are worth several threads.
inline void add_activation_sweep(Suite& suite, const ActivationInfo& row) {
  if (row.function == BNNSActivationFunctionPReLUPerChannel) return;
  for (size_t n = 1; n <= 70; ++n) {
    Case c = activation_case(row, vector_of(n), vector_of(n), 1 + n % 3);
    c.thorough = n == 37;
    suite.cases.push_back(c);
  }
  Case large = activation_case(row, vector_of(70001), vector_of(70001), 3);
  large.types.resize(1);
  large.thorough = false;
  suite.cases.push_back(large);
}

inline void add_activation_layouts(Suite& suite, const ActivationInfo& row) {
  for (size_t rank = 1; rank <= 8; ++rank) {
    Index size = {5, 3, 2, 4, 1, 2, 1, 3};
    size.resize(rank);
    const Shape first{first_major(rank), size}, last{last_major(rank), size};
    suite.cases.push_back(activation_case(row, first, first, 2));
    suite.cases.push_back(activation_case(row, last, last, 2));
    if (rank > 1 && !is_softmax(row.function))
      suite.cases.push_back(activation_case(row, first, last, 2));
  }
  const Shape rows{BNNSDataLayoutRowMajorMatrix, {9, 7}},
      columns{BNNSDataLayoutColumnMajorMatrix, {9, 7}};
  for (const Shape& s : {rows, columns}) suite.cases.push_back(activation_case(row, s, s, 3));
  if (is_softmax(row.function)) return;
  suite.cases.push_back(activation_case(row, rows, columns, 2));
  suite.cases.push_back(activation_case(row, vector_of(60), image(5, 4, 3), 2));
  suite.cases.push_back(
      activation_case(row, image(5, 4, 3), {BNNSDataLayout2DFirstMajor, {6, 10}}, 2));
}

inline void add_softmax_axes(Suite& suite, const ActivationInfo& row) {
  for (uint32_t flags = 1; flags < 4; ++flags)
    suite.cases.push_back(activation_case(row, vector_of(21), vector_of(21), 5, flags));
  for (uint32_t flags = 1; flags < 8; ++flags)
    for (BNNSDataLayout layout : {BNNSDataLayoutRowMajorMatrix, BNNSDataLayoutColumnMajorMatrix,
                                  BNNSDataLayout2DFirstMajor, BNNSDataLayout2DLastMajor})
      suite.cases.push_back(activation_case(row, {layout, {9, 7}}, {layout, {9, 7}}, 3, flags));
  for (uint32_t flags = 1; flags < 16; ++flags)
    suite.cases.push_back(activation_case(row, image(9, 4, 5), image(9, 4, 5), 3, flags));
  const Shape deep{BNNSDataLayout5DFirstMajor, {3, 2, 4, 2, 5}};
  for (uint32_t flags : {2u, 5u, 20u, 31u, 33u, 63u})
    suite.cases.push_back(activation_case(row, deep, deep, 2, flags));
}

inline void add_activation_gradients(Suite& suite, const ActivationInfo& row) {
  std::vector<Case> cases = {activation_case(row, image(3, 2, 2), image(3, 2, 2), 2)};
  if (is_softmax(row.function))
    for (uint32_t flags : {2u, 4u, 8u, 5u, 15u})
      cases.push_back(activation_case(row, image(3, 2, 2), image(3, 2, 2), 2, flags));
  for (Case& c : cases) {
    c.gradient = true;
    c.thorough = false;
    suite.cases.push_back(c);
  }
}

inline void add_activation_speed(Suite& suite) {
  for (BNNSActivationFunction f :
       {BNNSActivationFunctionRectifiedLinear, BNNSActivationFunctionSigmoid,
        BNNSActivationFunctionTanh, BNNSActivationFunctionGELU, BNNSActivationFunctionSiLU,
        BNNSActivationFunctionSoftmax, BNNSActivationFunctionLogSoftmax}) {
    for (size_t n : {size_t{16}, size_t{1} << 20}) {
      Case c = activation_case(activation_row(f), vector_of(n), vector_of(n), 1);
      c.speed = true;
      suite.cases.push_back(c);
    }
  }
}

inline void add_activation(Suite& suite) {
  add_activation_speed(suite);
  for (const ActivationInfo& row : activation_rows()) {
    suite.cases.push_back(activation_case(row, image(7, 5, 3), image(7, 5, 3), 2));
    add_activation_gradients(suite, row);
    add_activation_sweep(suite, row);
    if (is_softmax(row.function)) add_softmax_axes(suite, row);
    const bool everywhere = row.function == BNNSActivationFunctionTanh ||
                            row.function == BNNSActivationFunctionRectifiedLinear ||
                            is_softmax(row.function);
    if (everywhere) add_activation_layouts(suite, row);

    Case direct = activation_case(row, image(6, 5, 2), image(6, 5, 2), 2);
    if (row.function == BNNSActivationFunctionPReLUPerChannel) continue;
    direct.layer = "activation_direct";
    direct.backward.clear();
    direct.create = nullptr;
    direct.apply = [a = activation_of(row)](Call& call) {
      return apply_activation_directly(call, a, 0);
    };
    suite.cases.push_back(direct);
  }
}

}  // namespace spec
#endif

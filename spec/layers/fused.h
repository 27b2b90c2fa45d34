// Fused filters: the reference of the first layer gives z, that of the second one makes y of it;
// backward the other way round. Operands are those of the first layer, with y in the place of its
// output, then those of the second layer.
#ifndef OPENBNNS_SPEC_FUSED_H
#define OPENBNNS_SPEC_FUSED_H

#include <functional>
#include <memory>

#include "layers/arithmetic.h"
#include "layers/convolution.h"
#include "layers/fully_connected.h"
#include "layers/normalization.h"

namespace spec {

// The parameters of a first layer, whatever its kind. They are those of a filter whose output is
// `between`.
struct FusedFirst {
  Case layer;
  BNNSFilterType type;
  size_t inputs = 1;
  bool identity = true;      // its activation
  bool needs_input = false;  // for the gradients of inputs
  // Calls use() with a pointer to the parameters.
  std::function<BNNSFilter(const Call& call, const BNNSNDArrayDescriptor& between,
                           const std::function<BNNSFilter(const void*)>& use)>
      with_parameters;

  size_t operands() const { return layer.operands.size(); }
  bool weighted() const { return type != BNNSArithmetic; }
  const Shape& out() const { return layer.operands[1].shape; }
};

}  // namespace spec

namespace spec::reference {

inline void run_pass(const Pass& pass, Values<double>& v) {
  pass.exact(v);
}
inline void run_pass(const Pass& pass, Values<Bounded>& v) {
  pass.bounded(v);
}

// The first layer with its own operands; `out` and its delta are z and dz.
struct FusedLayers {
  Pass forward_first, backward_first;
  std::vector<Operand> first;
  std::vector<Operand> second;  // behind z and y

  template <class T>
  Values<T> first_values(const Values<T>& v) const {
    Values<T> result{.batch = v.batch, .value = {}, .delta = {}};
    for (size_t i = 0; i < first.size(); ++i) {
      result.value.push_back(v.value[i]);
      result.delta.push_back(v.delta[i]);
    }
    run_pass(forward_first, result);
    return result;
  }
  // z, y, and what is the second layer's own.
  template <class T>
  Values<T> second_values(const Values<T>& v, const Array<T>& z) const {
    Values<T> result{.batch = v.batch, .value = {z, v.value[1]}, .delta = {z, v.delta[1]}};
    for (size_t i = 0; i < second.size(); ++i) {
      result.value.push_back(v.value[first.size() + i]);
      result.delta.push_back(v.delta[first.size() + i]);
    }
    return result;
  }

  template <class T>
  void forward(const Normalization& layer, Values<T>& v) const {
    Values<T> n = second_values(v, first_values(v).value[1]);
    layer.forward(n);
    v.value[1] = n.value[1];
  }
  template <class T>
  void backward(const Normalization& layer, Values<T>& v) const {
    Values<T> f = first_values(v);
    Values<T> n = second_values(v, f.value[1]);
    layer.backward(n);
    f.delta[1] = n.delta[0];
    run_pass(backward_first, f);
    for (size_t i = 0; i < first.size(); ++i)
      if (i != 1) v.delta[i] = f.delta[i];
    for (size_t i = 0; i < second.size(); ++i) v.delta[first.size() + i] = n.delta[2 + i];
  }
  // y = s z + b, by channel; stored as an integer.
  template <class T>
  void quantize(Values<T>& v) const {
    const Array<T> z = first_values(v).value[1];
    const Array<T>&scale = v.value[first.size()], &bias = v.value[first.size() + 1];
    const size_t inner = z.count() / scale.count();
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t k = 0; k < z.count(); ++k)
        v.value[1](b, k) = scale(0, k / inner) * z(b, k) + bias(0, k / inner);
  }
};

}  // namespace spec::reference

namespace spec {

// ---- First layers ----

inline FusedFirst fused_convolution(const ConvolutionSize& s, bool bias,
                                    const ActivationInfo& row = activation_rows()[0]) {
  const BNNSActivation activation = activation_of(row);
  FusedFirst f{.layer = convolution_case(s, BNNSDataLayoutConvolutionWeightsOIHW, bias, row),
               .type = s.transposed ? BNNSTransposedConvolution : BNNSConvolution};
  f.identity = row.function == BNNSActivationFunctionIdentity;
  f.with_parameters = [=](const Call& call, const BNNSNDArrayDescriptor& between, auto& use) {
    BNNSLayerParametersConvolution p = convolution_parameters(call, s, bias, activation);
    p.o_desc = between;
    return use(&p);
  };
  return f;
}

inline FusedFirst fused_fully_connected(const FullyConnectedSize& size, bool bias) {
  FusedFirst f{.layer = fully_connected_case(size, BNNSDataLayoutRowMajorMatrix, bias),
               .type = BNNSFullyConnected};
  f.with_parameters = [=](const Call& call, const BNNSNDArrayDescriptor& between, auto& use) {
    const BNNSLayerParametersFullyConnected p = {
        .i_desc = call.value[0].shape_only(),
        .w_desc = call.value[2].desc,
        .o_desc = between,
        .bias = bias ? call.value[3].desc : BNNSNDArrayDescriptor{},
        .activation = {}};
    return use(&p);
  };
  return f;
}

inline FusedFirst fused_arithmetic(BNNSArithmeticFunction function, std::vector<Shape> in,
                                   size_t batch, std::vector<BNNSDescriptorType> roles = {}) {
  const Shape out = in[0];
  const ArithmeticInfo& row = arithmetic_rows()[function];
  const ArithmeticSettings s{
      .function = function, .in = std::move(in), .out = out, .roles = std::move(roles)};
  FusedFirst f{.layer = arithmetic_case(row, s, batch),
               .type = BNNSArithmetic,
               .inputs = s.in.size(),
               .needs_input = !row.needs_nothing};
  f.with_parameters = [s](const Call& call, const BNNSNDArrayDescriptor& between, auto& use) {
    const auto d = [&](size_t i) { return call.value[arithmetic_operand(i)].shape_only(); };
    BNNSArithmeticUnary one = {};
    BNNSArithmeticBinary two = {};
    BNNSArithmeticTernary three = {};
    BNNSLayerParametersArithmetic p = {
        .arithmetic_function = s.function, .arithmetic_function_fields = &three, .activation = {}};
    if (s.in.size() == 1) {
      one = {d(0), s.role(0), between, BNNSSample};
      p.arithmetic_function_fields = &one;
    } else if (s.in.size() == 2) {
      two = {d(0), s.role(0), d(1), s.role(1), between, BNNSSample};
      p.arithmetic_function_fields = &two;
    } else {
      three = {d(0), s.role(0), d(1), s.role(1), d(2), s.role(2), between, BNNSSample};
    }
    return use(&p);
  };
  return f;
}

// ---- Calls ----

// Arithmetic goes through the calls for several inputs, all others through those for one.
inline int apply_fused(Call& call, bool weighted, size_t inputs, bool training) {
  if (weighted)
    return BNNSFusedFilterApplyBatch(call.filter, call.batch, call.value[0].data(),
                                     call.value[0].stride, call.value[1].data(),
                                     call.value[1].stride, training);
  ArithmeticArguments a(call, inputs);
  return BNNSFusedFilterApplyMultiInputBatch(call.filter, call.batch, inputs, a.in, a.in_stride,
                                             call.value[1].data(), call.value[1].stride, training);
}

// `own`: the number of operands of the first layer.
inline int apply_fused_backward(Call& call, bool weighted, size_t inputs, size_t own) {
  std::vector<BNNSNDArrayDescriptor*> slots;
  const auto slot = [&](size_t i) {
    slots.push_back(i < call.delta.size() ? call.delta[i].pointer() : nullptr);
  };
  if (weighted) {
    slot(2);
    own > 3 ? slot(3) : slots.push_back(nullptr);
  }
  slot(own);
  slot(own + 1);
  const Argument& out = call.value[1];
  Argument& out_delta = call.delta[1];
  if (weighted) {
    Argument &in = call.value[0], &in_delta = call.delta[0];
    return BNNSFusedFilterApplyBackwardBatch(
        call.filter, call.batch, in.data(), in.stride, in_delta.pointer(), in_delta.stride,
        out.data(), out.stride, out_delta.pointer(), out_delta.stride, slots.data());
  }
  ArithmeticArguments a(call, inputs);
  const bool given = call.value[0].given;
  return BNNSFusedFilterApplyBackwardMultiInputBatch(
      call.filter, call.batch, inputs, given ? a.in : nullptr, given ? a.in_stride : nullptr,
      a.delta, a.delta_stride, out.data(), out.stride, out_delta.pointer(), out_delta.stride,
      slots.data());
}

// ---- Cases ----

inline Case fused_case_of(const FusedFirst& first, const char* second, std::vector<Operand> own) {
  Case c{.layer = "fused",
         .function = first.layer.layer + "+" + second,
         .shape = (first.weighted() ? "" : first.layer.function + "_") + first.layer.shape};
  c.batch = first.layer.batch;
  c.operands = first.layer.operands;
  for (Operand& o : own) c.operands.push_back(std::move(o));
  c.flops = first.layer.flops;
  return c;
}

inline reference::FusedLayers fused_layers(const FusedFirst& first, std::vector<Operand> second) {
  return {
      .forward_first = first.layer.forward,
      .backward_first = first.layer.backward.empty() ? Pass() : first.layer.backward[0].reference,
      .first = first.layer.operands,
      .second = std::move(second)};
}

inline BNNSFilter create_fused(Call& call, const FusedFirst& first, BNNSFilterType type,
                               const BNNSNDArrayDescriptor& between, const void* second) {
  return first.with_parameters(call, between, [&](const void* parameters) {
    const BNNSFilterType types[] = {first.type, type};
    const void* list[] = {parameters, second};
    return BNNSFilterCreateFusedLayer(2, types, list, &call.parameters);
  });
}

inline std::vector<Backward> fused_backward(const FusedFirst& first, const Pass& pass,
                                            const std::vector<Operand>& operands,
                                            const ActivationInfo& row) {
  const bool identity = row.function == BNNSActivationFunctionIdentity;
  std::vector<size_t> deltas;
  for (size_t i = 0; i < operands.size(); ++i)
    if (i != 1 && operands[i].has_delta) deltas.push_back(i);
  const Backward way = {.name = "backward", .pass_out = !identity, .deltas = deltas};
  std::vector<Backward> ways = {way};
  const auto refused = [&](const char* name) -> Backward& {
    Backward& added = ways.emplace_back(way);
    added.name = name;
    added.refused = true;
    return added;
  };
  if (first.weighted()) ways[0].in_needed_by = 2;
  if (!derives_from_y(row.function)) {
    ways[0].refused = true;
    return ways;
  }
  ways[0].reference = pass;
  if (first.weighted() || first.needs_input) refused("backward-without-in").pass_in = false;
  if (!identity) refused("backward-without-out").pass_out = false;
  return ways;
}

// With `dense_between` what lies between the layers has no strides, else those of the output.
inline Case fused_normalization_case(
    const FusedFirst& first, NormalizationSettings s, bool dense_between = false,
    const ActivationInfo& row = activation_row(BNNSActivationFunctionIdentity)) {
  static const char* const kNames[] = {"batch", "instance", "layer", "group"};
  s.activation = activation_of(row);
  if (s.parameter.size.empty()) s.parameter = vector_of(s.channels());
  std::vector<Operand> own = normalization_operands(s);
  own.erase(own.begin(), own.begin() + 2);
  Case c = fused_case_of(first, kNames[s.type - BNNSBatchNorm], own);
  c.shape += "_" + normalization_tag(s, c.batch) + "_" + row.name;
  const reference::FusedLayers layers = fused_layers(first, own);
  const reference::Normalization layer{s};
  c.forward = [layers, layer](auto& v) { layers.forward(layer, v); };
  if (s.training) {
    c.backward = fused_backward(
        first, [layers, layer](auto& v) { layers.backward(layer, v); }, c.operands, row);
  }
  const size_t n = first.operands(), inputs = first.inputs;
  c.create = [first, s, n, dense_between](Call& call) {
    BNNSLayerParametersNormalization p = normalization_parameters(call, s, n);
    p.i_desc = p.o_desc;
    if (dense_between) std::fill(std::begin(p.i_desc.stride), std::end(p.i_desc.stride), 0);
    return create_fused(call, first, s.type, p.i_desc, &p);
  };
  c.apply = [weighted = first.weighted(), inputs, training = s.training](Call& call) {
    return apply_fused(call, weighted, inputs, training);
  };
  c.apply_backward = [weighted = first.weighted(), inputs, n](Call& call) {
    return apply_fused_backward(call, weighted, inputs, n);
  };
  const ElementType f32, f16{.type = BNNSDataTypeFloat16}, bf16{.type = BNNSDataTypeBFloat16};
  c.types = {{.name = "f32", .types = std::vector<ElementType>(c.operands.size())}};
  if (first.type != BNNSTransposedConvolution) {
    for (const ElementType& type : {f16, bf16}) {
      TypeSet set{.name = type.info().name, .types = {}, .backward = Need::kNone};
      set.types.assign(c.operands.size(), type);
      if (s.moving) set.types[n + 2] = set.types[n + 3] = f32;
      c.types.push_back(set);
    }
  }
  c.remembers = s.training;
  return c;
}

// To Int8, with one scale and bias for all values or by channel.
inline Case fused_quantization_case(const FusedFirst& first, bool by_channel) {
  const size_t rank = first.out().rank(), scales = by_channel ? first.out().size[rank - 1] : 1;
  std::vector<Operand> own;
  for (const char* name : {"scale", "quantizer_bias"})
    own.push_back({.name = name,
                   .role = Role::kParameter,
                   .shape = vector_of(scales),
                   .fill = {.lo = name[0] == 's' ? 10.0 : -5.0, .hi = 40},
                   .has_delta = false});
  Case c = fused_case_of(first, "quantization", own);
  c.shape += by_channel ? "_by_channel" : "_one_scale";
  const reference::FusedLayers layers = fused_layers(first, own);
  c.forward = [layers](auto& v) { layers.quantize(v); };
  const size_t n = first.operands();
  c.create = [first, n, mask = by_channel ? size_t{1} << (rank - 1) : 0](Call& call) {
    BNNSLayerParametersQuantization q = {};
    q.axis_mask = mask;
    q.function = BNNSQuantizerFunctionQuantize;
    q.i_desc = q.o_desc = call.value[1].shape_only();
    q.i_desc.data_type = BNNSDataTypeFloat32;
    q.scale = call.value[n].desc;
    q.bias = call.value[n + 1].desc;
    return create_fused(call, first, BNNSQuantization, q.i_desc, &q);
  };
  c.apply = [](Call& call) { return apply_fused(call, true, 1, false); };
  TypeSet set{.name = "f32_i8", .types = {}, .backward = Need::kNone};
  set.types.resize(c.operands.size());
  set.types[1].type = BNNSDataTypeInt8;
  c.types = {set};
  return c;
}

}  // namespace spec
#endif

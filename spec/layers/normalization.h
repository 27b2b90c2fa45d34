// Normalization. Over each set S of values that are normalized together, with N values:
//   mean = sum x / N     v = sum (x - mean)^2 / N     r = 1 / sqrt(v + epsilon)
//   k = (x - mean) r     y = act(gamma k + beta)
//   g = dy act'(y)       dbeta = sum g       dgamma = sum g k       h = gamma g
//   dx = r (h - sum_S(h) / N - k sum_S(h k) / N)
// S: batch, a channel of all samples; instance, a channel of a sample; group, some channels of a
// sample; layer, the axes of a sample from normalization_axis inward (C, H, W).
#ifndef OPENBNNS_SPEC_NORMALIZATION_H
#define OPENBNNS_SPEC_NORMALIZATION_H

#include <cmath>
#include <map>

#include "layers/activation_functions.h"
#include "runner/case.h"
#include "runner/shapes.h"

namespace spec {

struct NormalizationSettings {
  BNNSFilterType type = BNNSBatchNorm;
  Shape shape = {};
  size_t groups = 0, axis = 0;
  float epsilon = 1e-3f;
  BNNSActivation activation = {};
  bool training = true, affine = true, moving = false;
  Shape parameter = {};  // of gamma and beta

  size_t width() const { return shape.rank() == 1 ? 1 : shape.size[0]; }
  size_t height() const { return shape.rank() == 1 ? 1 : shape.size[1]; }
  size_t channels() const { return shape.size.back(); }
};

}  // namespace spec

namespace spec::reference {

enum : size_t { kNormIn, kNormOut, kBeta, kGamma, kMean, kVariance };

struct Normalization {
  NormalizationSettings s;

  // Element k of a sample, in the order of memory, is at (w, h, c).
  struct Place {
    size_t w, h, c;
  };
  Place place(size_t k) const {
    const size_t w = s.width(), h = s.height();
    return {k % w, k / w % h, k / w / h};
  }

  // The set that element k of sample b belongs to.
  std::vector<size_t> set_of(size_t b, size_t k) const {
    const Place at = place(k);
    switch (s.type) {
      case BNNSBatchNorm:
        return {at.c};
      case BNNSInstanceNorm:
        return {b, at.c};
      case BNNSGroupNorm:
        return {b, at.c / (s.channels() / s.groups)};
      default:
        if (s.axis == 0) return {b};
        if (s.axis == 1) return {b, at.c};
        return {b, at.c, at.h};
    }
  }

  // Which value of gamma and beta element k has.
  size_t parameter_of(size_t k) const {
    const Place at = place(k);
    if (s.type != BNNSLayerNorm || s.shape.rank() == 1) return s.parameter.count() == 1 ? 0 : at.c;
    const Index& size = s.parameter.size;
    const size_t w = size[0] == 1 ? 0 : at.w, h = size.size() < 2 || size[1] == 1 ? 0 : at.h,
                 c = size.size() < 3 || size[2] == 1 ? 0 : at.c;
    return w + size[0] * (h + (size.size() < 2 ? 1 : size[1]) * c);
  }

  template <class T>
  struct Normalized {
    std::vector<std::vector<size_t>> sets;  // positions b * count + k
    std::vector<T> inverse;                 // by set
    std::vector<T> k;                       // by position
  };

  template <class T>
  Normalized<T> normalize(const Values<T>& v) const {
    using std::sqrt;
    const Array<T>& x = v.value[kNormIn];
    std::map<std::vector<size_t>, std::vector<size_t>> sets;
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t k = 0; k < x.count(); ++k) sets[set_of(b, k)].push_back(b * x.count() + k);
    Normalized<T> n;
    n.k.resize(v.batch * x.count());
    for (const auto& [name, set] : sets) {
      const T size = T(static_cast<double>(set.size()));
      Sum<T> sum, squares;
      for (size_t i : set) sum.add(x.data()[i]);
      T mean = sum.get() / size;
      if (s.moving) mean = v.value[kMean](0, name.back());
      for (size_t i : set) squares.add(x.data()[i] - mean, x.data()[i] - mean);
      T variance = squares.get() / size;
      if (s.moving) variance = v.value[kVariance](0, name.back());
      const T inverse = T(1) / sqrt(variance + T(double{s.epsilon}));
      for (size_t i : set) n.k[i] = (x.data()[i] - mean) * inverse;
      n.sets.push_back(set);
      n.inverse.push_back(inverse);
    }
    return n;
  }

  template <class T>
  void forward(Values<T>& v) const {
    const Formula<T>& f = formula<T>(s.activation.function);
    const Normalized<T> n = normalize(v);
    const size_t count = v.value[kNormIn].count();
    for (size_t i = 0; i < n.k.size(); ++i) {
      T z = n.k[i];
      if (s.affine) {
        const size_t p = parameter_of(i % count);
        z = v.value[kGamma](0, p) * z + v.value[kBeta](0, p);
      }
      v.value[kNormOut].data()[i] = f.y(z, T(s.activation.alpha), T(s.activation.beta));
    }
  }

  template <class T>
  void backward(Values<T>& v) const {
    const Formula<T>& f = formula<T>(s.activation.function);
    const Normalized<T> n = normalize(v);
    const size_t count = v.value[kNormIn].count();
    std::vector<T> g(n.k.size()), h(n.k.size());
    std::vector<Sum<T>> beta(s.parameter.count()), gamma(s.parameter.count());
    for (size_t i = 0; i < g.size(); ++i) {
      const T y = v.value[kNormOut].data()[i], dy = v.delta[kNormOut].data()[i];
      const size_t p = parameter_of(i % count);
      g[i] = f.from_y(y, T(s.activation.alpha), T(s.activation.beta)) * dy;
      h[i] = s.affine ? v.value[kGamma](0, p) * g[i] : g[i];
      beta[p].add(g[i]);
      gamma[p].add(g[i], n.k[i]);
    }
    for (size_t p = 0; s.affine && p < beta.size(); ++p) {
      v.delta[kBeta](0, p) = beta[p].get();
      v.delta[kGamma](0, p) = gamma[p].get();
    }
    for (size_t set = 0; set < n.sets.size(); ++set) {
      const T size = T(static_cast<double>(n.sets[set].size()));
      Sum<T> sum, product;
      for (size_t i : n.sets[set]) {
        sum.add(h[i]);
        product.add(h[i], n.k[i]);
      }
      const T mean = sum.get() / size, slope = product.get() / size;
      for (size_t i : n.sets[set])
        v.delta[kNormIn].data()[i] = n.inverse[set] * (h[i] - mean - n.k[i] * slope);
    }
  }
};

}  // namespace spec::reference

namespace spec {

inline std::string normalization_tag(const NormalizationSettings& s, size_t batch) {
  std::string text = tag(s.shape, batch);
  if (s.type == BNNSLayerNorm) text += "_axis" + std::to_string(s.axis) + "_p" + tag(s.parameter);
  if (s.type == BNNSGroupNorm) text += "_groups" + std::to_string(s.groups);
  return text + (s.affine ? "" : "_plain") + (s.moving ? "_moving" : s.training ? "" : "_current");
}

inline std::vector<Operand> normalization_operands(const NormalizationSettings& s) {
  std::vector<Operand> operands = {{.name = "in", .role = Role::kIn, .shape = s.shape},
                                   {.name = "out", .role = Role::kOut, .shape = s.shape}};
  if (!s.affine) return operands;
  for (const char* name : {"beta", "gamma"})
    operands.push_back({.name = name, .role = Role::kParameter, .shape = s.parameter});
  if (!s.moving) return operands;
  for (const char* name : {"moving_mean", "moving_variance"})
    operands.push_back({.name = name,
                        .role = Role::kParameter,
                        .shape = vector_of(s.channels()),
                        .fill = {.lo = name[7] == 'm' ? -2.0 : 0.25, .hi = 2},
                        .has_delta = false});
  return operands;
}

// `first`: the operand that is beta; the others follow it.
inline BNNSLayerParametersNormalization normalization_parameters(const Call& call,
                                                                 const NormalizationSettings& s,
                                                                 size_t first) {
  using namespace reference;
  BNNSLayerParametersNormalization p = {};
  p.i_desc = call.value[kNormIn].shape_only();
  p.o_desc = call.value[kNormOut].shape_only();
  if (s.affine) {
    p.beta_desc = call.value[first].desc;
    p.gamma_desc = call.value[first + 1].desc;
  }
  if (s.moving) {
    p.moving_mean_desc = call.value[first + 2].desc;
    p.moving_variance_desc = call.value[first + 3].desc;
  }
  // Read by batch and instance normalization alone.
  p.momentum = s.type == BNNSBatchNorm || s.type == BNNSInstanceNorm ? 0.9f : NAN;
  p.epsilon = s.epsilon;
  p.activation = s.activation;
  p.num_groups = s.groups;
  p.normalization_axis = s.axis;
  return p;
}

inline BNNSFilter create_normalization(Call& call, const NormalizationSettings& s) {
  const BNNSLayerParametersNormalization p = normalization_parameters(call, s, reference::kBeta);
  return BNNSFilterCreateLayerNormalization(s.type, &p, &call.parameters);
}

inline int apply_normalization(Call& call, bool training) {
  return BNNSNormalizationFilterApplyBatch(call.filter, call.batch, call.value[0].data(),
                                           call.value[0].stride, call.value[1].data(),
                                           call.value[1].stride, training);
}

inline int apply_normalization_backward(Call& call, bool affine) {
  using namespace reference;
  return BNNSNormalizationFilterApplyBackwardBatch(
      call.filter, call.batch, call.delta[kNormIn].pointer(), call.delta[kNormIn].stride,
      call.value[kNormOut].data(), call.value[kNormOut].stride, call.delta[kNormOut].pointer(),
      call.delta[kNormOut].stride, affine ? call.delta[kBeta].pointer() : nullptr,
      affine ? call.delta[kGamma].pointer() : nullptr);
}

inline std::vector<TypeSet> normalization_types(const Case& c) {
  const ElementType f32, f16{.type = BNNSDataTypeFloat16}, bf16{.type = BNNSDataTypeBFloat16};
  std::vector<TypeSet> sets = {
      {.name = "f32", .types = {f32, f32, f32, f32}},
      {.name = "bf16", .types = {bf16, bf16, bf16, bf16}},
      {.name = "bf16_f32", .types = {bf16, f32, f32, f32}},
      {.name = "f32_bf16", .types = {f32, bf16, bf16, bf16}},
      {.name = "f16", .types = {f16, f16, f16, f16}, .backward = Need::kNone},
      {.name = "f16_f32", .types = {f16, f32, f16, f16}, .backward = Need::kNone}};
  for (TypeSet& t : sets) t.types.resize(c.operands.size());  // moving statistics are Float32
  return sets;
}

inline Case normalization_case(
    NormalizationSettings s, size_t batch,
    const ActivationInfo& row = activation_row(BNNSActivationFunctionIdentity)) {
  static const char* const kNames[] = {"batch", "instance", "layer", "group"};
  s.activation = activation_of(row);
  if (s.parameter.size.empty()) s.parameter = vector_of(s.channels());
  Case c{.layer = "normalization",
         .function = kNames[s.type - BNNSBatchNorm],
         .shape = normalization_tag(s, batch) + "_" + row.name};
  c.batch = batch;
  c.operands = normalization_operands(s);
  const reference::Normalization layer{s};
  c.forward = [layer](auto& v) { layer.forward(v); };
  const bool identity = row.function == BNNSActivationFunctionIdentity;
  const std::vector<size_t> deltas =
      s.affine ? std::vector<size_t>{0, 2, 3} : std::vector<size_t>{0};
  if (s.training) {
    const bool trainable = derives_from_y(row.function);
    c.backward = {{.name = "backward",
                   .reference = trainable ? Pass([layer](auto& v) { layer.backward(v); }) : Pass(),
                   .pass_in = false,
                   .pass_out = !identity,
                   .deltas = deltas,
                   .refused = !trainable}};
  }
  c.create = [s](Call& call) { return create_normalization(call, s); };
  c.apply = [training = s.training](Call& call) { return apply_normalization(call, training); };
  c.apply_backward = [affine = s.affine](Call& call) {
    return apply_normalization_backward(call, affine);
  };
  c.types = normalization_types(c);
  c.in_place = true;
  c.flops = 8 * static_cast<double>(s.shape.count() * batch);
  return c;
}

// Settings number i of one type on a shape: axes, groups and shapes of gamma take turns.
inline NormalizationSettings normalization_settings(BNNSFilterType type, const Shape& shape,
                                                    size_t i) {
  NormalizationSettings s{.type = type, .shape = shape};
  if (type == BNNSGroupNorm) {
    std::vector<size_t> divisors;
    for (size_t g = 1; g <= s.channels(); ++g)
      if (s.channels() % g == 0) divisors.push_back(g);
    s.groups = divisors[i % divisors.size()];
  }
  if (type == BNNSLayerNorm) {
    s.axis = i % 3;
    s.parameter = shape;
    if (shape.rank() == 3) {
      const Shape parameters[] = {shape, image(shape.size[0], 1, 1), image(1, 1, shape.size[2]),
                                  image(shape.size[0], shape.size[1], 1), vector_of(shape.size[0])};
      s.parameter = parameters[i / 3 % 5];
    }
  }
  return s;
}

inline constexpr BNNSFilterType kNormalizations[] = {BNNSBatchNorm, BNNSInstanceNorm, BNNSLayerNorm,
                                                     BNNSGroupNorm};

inline void add_normalization_gradients(Suite& suite) {
  for (BNNSFilterType type : kNormalizations) {
    for (size_t i = 0; i < (type == BNNSLayerNorm ? 15u : 3u); ++i) {
      for (const Shape& shape : {image(3, 2, 4), vector_of(6)}) {
        // One value alone has no gradient.
        const bool single = shape.rank() == 1 && (type == BNNSInstanceNorm || i % 3 != 0);
        if (single && type != BNNSBatchNorm) continue;
        Case c = normalization_case(normalization_settings(type, shape, i), 3);
        c.gradient = true;
        c.thorough = i < 3;
        suite.cases.push_back(c);
      }
    }
  }
  for (const ActivationInfo& row : activation_rows()) {
    if (row.function == BNNSActivationFunctionPReLUPerChannel || is_softmax(row.function)) continue;
    Case c = normalization_case(normalization_settings(BNNSBatchNorm, image(3, 2, 2), 0), 2, row);
    // Left of its minimum this one cannot be told from y.
    c.gradient = row.function != BNNSActivationFunctionGELUApproximationSigmoid;
    suite.cases.push_back(c);
    Case layer =
        normalization_case(normalization_settings(BNNSLayerNorm, image(7, 2, 3), 0), 2, row);
    layer.thorough = false;
    suite.cases.push_back(layer);
  }
}

// Planes and rows around the vector widths and around the sizes where the way through them changes.
inline void add_normalization_sizes(Suite& suite) {
  const ActivationInfo& relu = activation_row(BNNSActivationFunctionRectifiedLinear);
  for (BNNSFilterType type : kNormalizations) {
    for (size_t n = 1; n <= 70; ++n) {
      const Shape shapes[] = {image(n, 1 + n % 2, 2 + n % 5), vector_of(n + 1), image(1, n, 4)};
      for (size_t i = 0; i < 3; ++i) {
        NormalizationSettings s = normalization_settings(type, shapes[i], n + i);
        s.affine = (n + i) % 7 != 0;
        const ActivationInfo& row = n % 2 ? relu : activation_row(BNNSActivationFunctionIdentity);
        Case c = normalization_case(s, 2 + n % 3, row);
        c.thorough = false;
        suite.cases.push_back(c);
      }
    }
    for (bool moving : {false, true}) {
      NormalizationSettings s = normalization_settings(type, image(9, 5, 6), 0);
      s.training = false;
      s.moving = moving && (type == BNNSBatchNorm || type == BNNSInstanceNorm);
      suite.cases.push_back(normalization_case(s, 3, relu));
      s.shape = image(3, 2, 6);
      if (type == BNNSLayerNorm) s.parameter = s.shape;
      suite.cases.push_back(normalization_case(s, 3));
    }
  }
}

// Worth several threads: many channels, few large ones, many samples, long rows.
inline void add_normalization_large(Suite& suite) {
  const struct {
    Shape shape;
    size_t batch;
  } sizes[] = {{image(56, 56, 16), 2}, {image(301, 233, 2), 2}, {image(5, 3, 4), 1500},
               {vector_of(70), 900},   {vector_of(20001), 3},   {image(40, 20, 3), 40}};
  for (BNNSFilterType type : kNormalizations) {
    for (const auto& size : sizes) {
      for (size_t i = 0; i < (type == BNNSLayerNorm ? 3u : 1u); ++i) {
        Case c = normalization_case(normalization_settings(type, size.shape, i), size.batch,
                                    activation_row(BNNSActivationFunctionRectifiedLinear));
        c.types.resize(1);
        c.thorough = false;
        suite.cases.push_back(c);
      }
    }
  }
}

inline void add_normalization(Suite& suite) {
  for (BNNSFilterType type : kNormalizations) {
    Case c = normalization_case(
        normalization_settings(type, type == BNNSLayerNorm ? vector_of(1024) : image(56, 56, 64),
                               0),
        type == BNNSLayerNorm ? 256 : 8);
    c.speed = true;
    suite.cases.push_back(c);
  }
  add_normalization_gradients(suite);
  add_normalization_sizes(suite);
  add_normalization_large(suite);
}

}  // namespace spec
#endif

// Optimizers: w and its accumulators after some steps with the same gradient.
//   g = gradient_scale * clip(given) + regularization_scale * R'(w),  R' = 0, sign(w), w
// Clipping: between two bounds; or by the factor min(1, max_norm / norm), the norm being that of
// one tensor, of all tensors of the call, or given. The rules are those of docs/optimizers.md.
// Operands: the parameters, gradients and accumulators before; the parameters and accumulators
// after, where the library works in place. Accumulator r of parameter p has the number r*P + p.
#ifndef OPENBNNS_SPEC_OPTIMIZER_H
#define OPENBNNS_SPEC_OPTIMIZER_H

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runner/case.h"
#include "layers/optimizer_settings.h"
#include "runner/shapes.h"

namespace spec::reference {

// One parameter and its accumulators.
template <class T>
struct Element {
  T w, a[3];
};

template <class T>
void sgd(const OptimizerSettings& s, T g, Element<T>& e) {
  const T rate = s.learning_rate, m = s.momentum, old = e.a[0];
  T& v = e.a[0];
  if (s.momentum == 0) {
    e.w = e.w - rate * g;
  } else if (s.variant == BNNSSGDMomentumVariant0) {
    v = m * v - rate * g;
    e.w = s.nesterov ? e.w + (v + m * (v - old)) : e.w + v;
  } else if (s.variant == BNNSSGDMomentumVariant1) {
    v = m * v + g;
    e.w = s.nesterov ? e.w - rate * (m * v + g) : e.w - rate * v;
  } else if (s.nesterov) {
    v = m * v + g;
    e.w = e.w - rate * (g + m * v);
  } else {
    v = m * v + rate * g;
    e.w = e.w - v;
  }
}

template <class T>
void adam(const OptimizerSettings& s, double t, T g, Element<T>& e) {
  const double b1 = s.beta1, b2 = s.beta2, lr = s.learning_rate;
  T &m = e.a[0], &v = e.a[1], &top = e.a[2];
  m = T(b1) * m + T(1 - b1) * g;
  v = T(b2) * v + T(1 - b2) * g * g;
  if (s.is_amsgrad()) top = maximum(top, v);
  const T rate = lr * std::sqrt(1 - std::pow(b2, t)) / (1 - std::pow(b1, t));
  const T step = rate * m / (sqrt(s.is_amsgrad() ? top : v) + T(s.epsilon));
  const T decay = lr * s.regularization_scale;
  e.w = s.is_adamw() ? e.w - (step + decay * e.w) : e.w - step;
}

template <class T>
void rms_prop(const OptimizerSettings& s, T g, Element<T>& e) {
  const double alpha = s.alpha;
  T& n = e.a[0];
  n = T(alpha) * n + T(1 - alpha) * g * g;
  T variance = n;
  if (s.centered) {
    e.a[1] = T(alpha) * e.a[1] + T(1 - alpha) * g;
    variance = n - e.a[1] * e.a[1];
  }
  const T step = T(s.learning_rate) * g / (sqrt(variance) + T(s.epsilon));
  if (s.momentum == 0) {
    e.w = e.w - step;
  } else {
    T& delta = e.a[s.centered ? 2 : 1];
    delta = T(s.momentum) * delta - step;
    e.w = e.w + delta;
  }
}

template <class T>
T effective_gradient(const OptimizerSettings& s, T given, T factor, T w) {
  T g = given;
  if (s.clipping == BNNSOptimizerClippingByValue)
    g = minimum(maximum(g, T(s.clip_min)), T(s.clip_max));
  g = T(s.gradient_scale) * (factor * g);
  if (s.is_adamw() || s.regularization == BNNSOptimizerRegularizationNone) return g;
  T slope = w;
  if (s.regularization == BNNSOptimizerRegularizationL1 && value_of(w) != 0)
    slope = step(w, 0, T(-1), T(1));
  return g + T(s.regularization_scale) * slope;
}

// Of the gradients [first, first + count) of the values.
template <class T>
T clip_factor(const OptimizerSettings& s, const Values<T>& v, size_t first, size_t count) {
  Sum<T> sum;
  for (size_t i = first; i < first + count; ++i)
    for (const T& g : v.value[i].data()) sum.add(g, g);
  const T norm = s.use_norm != 0 ? T(s.use_norm) : sqrt(sum.get());
  return norm <= T(s.max_norm) ? T(1) : T(s.max_norm) / norm;
}

template <class T>
void optimizer(Values<T>& v, const OptimizerSettings& s, size_t parameters) {
  const size_t states = s.states(), before = (2 + states) * parameters;
  for (size_t p = 0; p < parameters; ++p) {
    T factor = 1;
    if (s.clipping == BNNSOptimizerClippingByNorm) factor = clip_factor(s, v, parameters + p, 1);
    if (s.clipping == BNNSOptimizerClippingByGlobalNorm)
      factor = clip_factor(s, v, parameters, parameters);
    for (size_t k = 0; k < v.value[p].count(); ++k) {
      Element<T> e{.w = v.value[p](0, k), .a = {}};
      for (size_t r = 0; r < states; ++r) e.a[r] = v.value[(2 + r) * parameters + p](0, k);
      for (size_t n = 0; n < s.steps; ++n) {
        const T g = effective_gradient(s, v.value[parameters + p](0, k), factor, e.w);
        if (s.is_sgd()) sgd(s, g, e);
        if (s.is_adam()) adam(s, s.time_step + static_cast<double>(n), g, e);
        if (s.is_rms_prop()) rms_prop(s, g, e);
      }
      v.value[before + p](0, k) = e.w;
      for (size_t r = 0; r < states; ++r) v.value[before + (1 + r) * parameters + p](0, k) = e.a[r];
    }
  }
}

}  // namespace spec::reference

namespace spec {

// Tensors of one parameter may have any layout, as long as they are equally large.
struct ParameterShapes {
  Shape parameter, gradient, accumulator;
};

inline ParameterShapes vectors_of(size_t n) {
  return {vector_of(n), vector_of(n), vector_of(n)};
}

// Numbers that states of this kind can have. Variances stay away from 0, where a root amplifies
// what rounding left of a difference.
inline Fill fill_of_state(const OptimizerSettings& s, size_t r) {
  const bool square = (s.is_adam() && r > 0) || (s.is_rms_prop() && r == 0);
  if (square) return {.lo = s.centered ? 4.0 : 0.5, .hi = s.centered ? 6.0 : 2.0};
  return {.lo = -1, .hi = 1};
}

inline int step_in_place(const OptimizerSettings& s, size_t parameters, Call& call) {
  const size_t states = s.states(), before = (2 + states) * parameters;
  const auto written = [&](size_t i) { return &call.value[before + i].desc; };
  for (size_t i = 0; i < (1 + states) * parameters; ++i) {
    const size_t from = i < parameters ? i : parameters + i;
    const size_t bytes = BNNSNDArrayGetDataSize(written(i));
    std::memcpy(written(i)->data, call.value[from].desc.data, bytes);
  }
  std::vector<BNNSNDArrayDescriptor*> w, a;
  std::vector<const BNNSNDArrayDescriptor*> g;
  for (size_t p = 0; p < parameters; ++p) {
    w.push_back(written(p));
    g.push_back(&call.value[parameters + p].desc);
  }
  for (size_t i = 0; i < states * parameters; ++i) a.push_back(written(parameters + i));
  for (size_t n = 0; n < s.steps; ++n) {
    const float t = s.time_step + static_cast<float>(n);
    const int status = with_fields(s, t, [&](const void* fields) {
      return BNNSOptimizerStep(s.function, fields, parameters, w.data(), g.data(),
                               states == 0 ? nullptr : a.data(), &call.parameters);
    });
    if (status != 0) return status;
  }
  return 0;
}

inline Case optimizer_case(const OptimizerSettings& s, const std::vector<ParameterShapes>& shapes) {
  Case c{.layer = "optimizer", .function = s.name(), .shape = s.tag()};
  const size_t parameters = shapes.size();
  const auto add = [&](const char* name, Role role, auto shape_of, const Fill& fill) {
    for (size_t p = 0; p < parameters; ++p)
      c.operands.push_back({.name = name + std::to_string(p),
                            .role = role,
                            .shape = shape_of(shapes[p]),
                            .fill = fill,
                            .contiguous = true});
  };
  const auto parameter = [](const ParameterShapes& p) { return p.parameter; };
  const auto gradient = [](const ParameterShapes& p) { return p.gradient; };
  const auto accumulator = [](const ParameterShapes& p) { return p.accumulator; };
  add("w", Role::kIn, parameter, {});
  add("g", Role::kIn, gradient, {});
  for (size_t r = 0; r < s.states(); ++r) add("s", Role::kIn, accumulator, fill_of_state(s, r));
  add("new_w", Role::kOut, parameter, {});
  for (size_t r = 0; r < s.states(); ++r) add("new_s", Role::kOut, accumulator, {});
  for (size_t i = 0, r = 0; i < c.operands.size(); ++i)
    if (c.operands[i].name[0] == 's' || c.operands[i].name.starts_with("new_s"))
      c.operands[i].name += "_" + std::to_string(r++ / parameters % s.states());
  for (const ParameterShapes& p : shapes) c.shape += "_" + spec::tag(p.parameter);
  c.forward = [s, parameters](auto& v) { reference::optimizer(v, s, parameters); };
  c.apply = [s, parameters](Call& call) { return step_in_place(s, parameters, call); };
  c.types = {same_type(c, BNNSDataTypeFloat32, Need::kNone)};
  c.thorough = false;
  return c;
}

// Numbers whose sums and products are exact in float, and special ones.
inline void add_exact_steps(Suite& suite) {
  for (OptimizerSettings s : all_optimizers()) {
    if (!s.is_sgd()) continue;
    s.learning_rate = s.momentum == 0 ? 0.5f : 0.25f;
    if (s.momentum != 0) s.momentum = 0.5f;
    for (auto regularization : {BNNSOptimizerRegularizationNone, BNNSOptimizerRegularizationL1,
                                BNNSOptimizerRegularizationL2}) {
      s.regularization = regularization;
      s.regularization_scale = 0.5f;
      s.steps = s.momentum == 0 ? 1 : 2;
      Case c = optimizer_case(s, {vectors_of(37)});
      c.shape += "_exact";
      c.thorough = true;
      c.integers_are_exact = true;
      // With more terms a sum overflows in float where its end result does not.
      c.wide = s.momentum == 0 && regularization != BNNSOptimizerRegularizationL2;
      suite.cases.push_back(c);
    }
  }
}

inline void add_optimizer(Suite& suite) {
  const ParameterShapes mixed = {{BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, 2, 4}},
                                 {BNNSDataLayout2DFirstMajor, {6, 12}},
                                 {BNNSDataLayoutVector, {72}}};
  for (const OptimizerSettings& algorithm : all_optimizers()) {
    const std::vector<OptimizerSettings> all = all_gradients(algorithm);
    for (const OptimizerSettings& s : all)
      suite.cases.push_back(optimizer_case(s, {vectors_of(5), mixed, vectors_of(37)}));
    for (size_t n = 1; n <= 70; ++n)
      suite.cases.push_back(optimizer_case(all[n % all.size()], {vectors_of(n)}));
  }
  // Large enough for several threads and several partial sums.
  size_t turn = 0;
  for (const OptimizerSettings& algorithm : all_optimizers()) {
    const std::vector<OptimizerSettings> all = all_gradients(algorithm);
    const OptimizerSettings& s = all[7 * turn++ % all.size()];
    suite.cases.push_back(optimizer_case(s, {vectors_of(70), vectors_of(100003)}));
  }
  add_exact_steps(suite);
}

}  // namespace spec
#endif

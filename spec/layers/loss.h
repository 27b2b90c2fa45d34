// Loss layers: entries l of a batch, one per element or per sample, weighted, then reduced.
//   None  the entries        Sum  sum l        Mean  sum l / number of entries
//   WeightedMean  sum l / sum w        NonZeroWeightMean  sum l / number of weights that are not 0
//   backward   dx = u rho dl/dx, rho = 1 / what the sum is divided by, 0 where that is 0
#ifndef OPENBNNS_SPEC_LOSS_H
#define OPENBNNS_SPEC_LOSS_H

#include "runner/case.h"
#include "layers/loss_functions.h"
#include "runner/shapes.h"

namespace spec {

enum class LossWeights { kNone, kOne, kPerSample, kPerElement };

struct LossInfo {
  BNNSLossFunction function;
  const char* name;
  Fill in = {}, labels = {};
};

inline const std::vector<LossInfo>& loss_rows() {
  static const Fill kShares = {.lo = 0, .hi = 1};
  static const Fill kHot = {.choices = {0, 0, 1}};
  static const std::vector<LossInfo> rows = {
      {BNNSLossFunctionSoftmaxCrossEntropy, "softmax_cross_entropy", {-4, 4}, kShares},
      {BNNSLossFunctionSigmoidCrossEntropy, "sigmoid_cross_entropy", {-6, 6}, kShares},
      {BNNSLossFunctionMeanSquareError, "mean_square_error"},
      {BNNSLossFunctionHuber, "huber"},
      {BNNSLossFunctionLog, "log", {0.01, 0.99}, kShares},
      {BNNSLossFunctionCosineDistance, "cosine_distance", {-1, 1}, {-1, 1}},
      {BNNSLossFunctionHinge, "hinge", {-2, 2}, kHot},
      {BNNSLossFunctionMeanAbsoluteError, "mean_absolute_error"},
      {BNNSLossFunctionCategoricalCrossEntropy, "categorical_cross_entropy", {-4, 4}, kHot},
  };
  return rows;
}

struct LossSettings {
  BNNSLossFunction function;
  BNNSLossReductionFunction reduction;
  LossWeights weights = LossWeights::kNone;
  float smooth = 0;
  float delta = 1;

  bool reduced() const { return reduction != BNNSLossReductionNone; }
};

}  // namespace spec

namespace spec::reference {

enum : size_t { kLossIn, kLossOut, kLabels, kLossWeights };

struct Loss {
  LossSettings s;

  template <class T>
  T weight(const Values<T>& v, size_t b, size_t k) const {
    if (s.weights == LossWeights::kNone) return T(1);
    const Array<T>& w = v.value[kLossWeights];
    return w(w.samples() == 1 ? 0 : b, w.count() == 1 ? 0 : k);
  }
  template <class T>
  T label(const Values<T>& v, size_t b, size_t k) const {
    const T t = v.value[kLabels](b, k);
    if (s.smooth == 0) return t;
    const bool sigmoid = s.function == BNNSLossFunctionSigmoidCrossEntropy;
    return smoothed(t, s.smooth, sigmoid ? 2 : v.value[kLossIn].shape().size[0]);
  }

  // Entry and weight of every entry of the batch; `gradient` gets dl/dx.
  template <class T>
  struct Entries {
    std::vector<T> loss, weight;
  };

  template <class T>
  Entries<T> elements(const Values<T>& v, Array<T>& gradient) const {
    Entries<T> entries;
    const size_t n = v.value[kLossIn].count();
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t k = 0; k < n; ++k) {
        const T w = weight(v, b, k);
        const LossPair<T> pair =
            element_loss<T>(s.function)->at(v.value[kLossIn](b, k), label(v, b, k), T(s.delta));
        entries.loss.push_back(w * pair.loss);
        entries.weight.push_back(w);
        gradient(b, k) = w * pair.gradient;
      }
    }
    return entries;
  }

  // Rows run along size[0]; of a cosine the whole sample is one.
  template <class T>
  Entries<T> samples(const Values<T>& v, Array<T>& gradient) const {
    const Shape& shape = v.value[kLossIn].shape();
    Groups groups = softmax_groups(shape, 1, 1);
    if (s.function == BNNSLossFunctionCosineDistance) {
      groups = {{}};
      for (size_t k = 0; k < shape.count(); ++k) groups[0].push_back(k);
    }
    Entries<T> entries;
    for (size_t b = 0; b < v.batch; ++b) {
      Sum<T> loss, weights;
      for (const std::vector<size_t>& group : groups) {
        std::vector<T> x, t, w, g(group.size());
        for (size_t k : group) {
          x.push_back(v.value[kLossIn](b, k));
          t.push_back(label(v, b, k));
          w.push_back(weight(v, b, k));
          weights.add(w.back());
        }
        loss.add(row_loss<T>(s.function)(x, t, w, g));
        for (size_t i = 0; i < group.size(); ++i) gradient(b, group[i]) = g[i];
      }
      entries.loss.push_back(loss.get());
      const bool sum = s.weights == LossWeights::kPerElement;
      entries.weight.push_back(sum ? weights.get() : weight(v, b, 0));
    }
    return entries;
  }

  template <class T>
  Entries<T> entries(const Values<T>& v, Array<T>& gradient) const {
    return is_element_loss(s.function) ? elements(v, gradient) : samples(v, gradient);
  }

  template <class T>
  T divisor(const Entries<T>& e) const {
    if (s.reduction == BNNSLossReductionMean) return T(static_cast<double>(e.loss.size()));
    Sum<T> weights;
    double nonzero = 0;
    for (const T& w : e.weight) {
      weights.add(w);
      nonzero += w == T(0) ? 0 : 1;
    }
    if (s.reduction == BNNSLossReductionWeightedMean) return weights.get();
    return s.reduction == BNNSLossReductionNonZeroWeightMean ? T(nonzero) : T(1);
  }

  template <class T>
  void forward(Values<T>& v) const {
    Array<T> gradient = v.delta[kLossIn];
    const Entries<T> e = entries(v, gradient);
    if (!s.reduced()) {
      v.value[kLossOut].data() = e.loss;
      return;
    }
    Sum<T> sum;
    for (const T& loss : e.loss) sum.add(loss);
    const T by = divisor(e);
    v.value[kLossOut](0, 0) = by == T(0) ? T(0) : sum.get() / by;
  }

  // `last`: nothing follows the loss, as in the forward call.
  template <class T>
  void backward(Values<T>& v, bool last) const {
    Array<T>& dx = v.delta[kLossIn];
    const Entries<T> e = entries(v, dx);
    const T by = divisor(e);
    const T rho = by == T(0) ? T(0) : T(1) / by;
    const Array<T>& dy = v.delta[kLossOut];
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t k = 0; k < dx.count(); ++k) {
        const T u = last ? T(1) : s.reduced() ? dy(0, 0) : dy(b, dy.count() == 1 ? 0 : k);
        dx(b, k) = u * rho * dx(b, k);
      }
    }
  }
};

}  // namespace spec::reference

namespace spec {

template <class Parameters>
Parameters loss_parameters(const LossSettings& s, const BNNSNDArrayDescriptor& in,
                           const BNNSNDArrayDescriptor& out) {
  Parameters p = {};
  p.function = s.function;
  p.i_desc = in;
  p.o_desc = out;
  p.reduction = s.reduction;
  return p;
}

inline BNNSFilter create_loss(const LossSettings& s, const BNNSNDArrayDescriptor& in,
                              const BNNSNDArrayDescriptor& out,
                              const BNNSFilterParameters* filter_parameters) {
  if (s.function == BNNSLossFunctionSoftmaxCrossEntropy) {
    auto p = loss_parameters<BNNSLayerParametersLossSoftmaxCrossEntropy>(s, in, out);
    p.label_smooth = s.smooth;
    return BNNSFilterCreateLayerLoss(&p, filter_parameters);
  }
  if (s.function == BNNSLossFunctionSigmoidCrossEntropy) {
    auto p = loss_parameters<BNNSLayerParametersLossSigmoidCrossEntropy>(s, in, out);
    p.label_smooth = s.smooth;
    return BNNSFilterCreateLayerLoss(&p, filter_parameters);
  }
  if (s.function == BNNSLossFunctionHuber) {
    auto p = loss_parameters<BNNSLayerParametersLossHuber>(s, in, out);
    p.huber_delta = s.delta;
    return BNNSFilterCreateLayerLoss(&p, filter_parameters);
  }
  const auto p = loss_parameters<BNNSLayerParametersLossBase>(s, in, out);
  return BNNSFilterCreateLayerLoss(&p, filter_parameters);
}

inline size_t weights_size(const Call& call, const std::vector<Operand>& operands) {
  if (operands.size() <= reference::kLossWeights) return 0;
  const Operand& w = operands[reference::kLossWeights];
  return w.shape.count() * w.samples(call.batch);
}

// Without a gradient the last layer's forward call; with one, into memory of its own for the loss.
inline int apply_loss(Call& call, const std::vector<Operand>& operands, bool with_gradient) {
  using namespace reference;
  const size_t size = weights_size(call, operands);
  const Operand& out = operands[kLossOut];
  std::vector<float> elsewhere(with_gradient ? out.shape.count() * out.samples(call.batch) : 0);
  return BNNSLossFilterApplyBatch(
      call.filter, call.batch, call.value[kLossIn].data(), call.value[kLossIn].stride,
      call.value[kLabels].data(), call.value[kLabels].stride,
      size == 0 ? nullptr : call.value[kLossWeights].data(), size,
      with_gradient ? elsewhere.data() : call.value[kLossOut].data(),
      with_gradient ? call.delta[kLossIn].pointer() : nullptr, call.delta[kLossIn].stride);
}

// Where the forward output is handed over, the gradient is that of the forward call.
inline int apply_loss_backward(Call& call, const std::vector<Operand>& operands) {
  using namespace reference;
  if (call.value[kLossOut].given) return apply_loss(call, operands, true);
  const size_t size = weights_size(call, operands);
  return BNNSLossFilterApplyBackwardBatch(
      call.filter, call.batch, call.value[kLossIn].data(), call.value[kLossIn].stride,
      call.delta[kLossIn].pointer(), call.delta[kLossIn].stride, call.value[kLabels].data(),
      call.value[kLabels].stride, size == 0 ? nullptr : call.value[kLossWeights].data(), size,
      call.delta[kLossOut].pointer(), call.delta[kLossOut].stride);
}

inline std::vector<Operand> loss_operands(const Shape& in, const Fill& in_fill,
                                          const Fill& labels_fill, const Shape& entries,
                                          bool reduced) {
  return {{.name = "in", .role = Role::kIn, .shape = in, .fill = in_fill},
          {.name = "out",
           .role = Role::kOut,
           .shape = reduced ? vector_of(1) : entries,
           .packed = true,
           .once = reduced},
          {.name = "labels",
           .role = Role::kIn,
           .shape = in,
           .fill = labels_fill,
           .has_delta = false,
           .like_in = true}};
}

inline std::string loss_tag(const LossSettings& s) {
  static const char* const kReductions[] = {"_none", "_sum", "_wmean", "_mean", "_nzmean"};
  static const char* const kWeights[] = {"", "_w1", "_wb", "_wbn"};
  return std::string(kReductions[s.reduction]) + kWeights[static_cast<size_t>(s.weights)] +
         (s.smooth == 0 ? "" : "_smooth");
}

inline Case loss_case(const LossInfo& row, const Shape& in, size_t batch, LossSettings s) {
  s.function = row.function;
  Case c{.layer = "loss", .function = row.name, .shape = tag(in, batch) + loss_tag(s)};
  c.batch = batch;
  const bool element = reference::is_element_loss(row.function);
  c.operands =
      loss_operands(in, row.in, row.labels, vector_of(element ? in.count() : 1), s.reduced());
  if (s.weights != LossWeights::kNone)
    c.operands.push_back(
        {.name = "weights",
         .role = Role::kIn,
         .shape = vector_of(s.weights == LossWeights::kPerElement ? in.count() : 1),
         .fill = {.choices = {0, 0.25, 0.5, 1, 1.5, 2.75}},
         .has_delta = false,
         .packed = true,
         .once = s.weights == LossWeights::kOne});
  const reference::Loss loss{s};
  c.forward = [loss](auto& v) { loss.forward(v); };
  // By the documented gradients these two are derivatives under conditions only.
  const bool exact = row.function != BNNSLossFunctionCosineDistance &&
                     (row.function != BNNSLossFunctionCategoricalCrossEntropy ||
                      s.weights != LossWeights::kPerElement);
  c.backward = {{.name = "backward",
                 .reference = [loss](auto& v) { loss.backward(v, false); },
                 .deltas = {0},
                 .in_grad = exact,
                 .needs_all = true},
                {.name = "forward-gradient",
                 .reference = [loss](auto& v) { loss.backward(v, true); },
                 .pass_out = true,
                 .deltas = {0},
                 .in_grad = false}};
  c.create = [s](Call& call) {
    return create_loss(s, call.value[0].shape_only(), call.value[1].shape_only(), &call.parameters);
  };
  c.apply = [o = c.operands](Call& call) { return apply_loss(call, o, false); };
  c.apply_backward = [o = c.operands](Call& call) { return apply_loss_backward(call, o); };
  c.types = {same_type(c, BNNSDataTypeFloat32, Need::kRequired)};
  const bool rational = element && row.function != BNNSLossFunctionSigmoidCrossEntropy &&
                        row.function != BNNSLossFunctionLog;
  const bool undivided = !s.reduced() || s.reduction == BNNSLossReductionSum;
  c.integers_are_exact = rational && undivided;
  c.flops = static_cast<double>(in.count() * batch);
  return c;
}

inline LossSettings mixed_settings(const LossInfo& row, size_t i) {
  LossSettings s = {.function = row.function,
                    .reduction = static_cast<BNNSLossReductionFunction>(i % 5),
                    .weights = static_cast<LossWeights>(i % 4)};
  const bool smoothing = row.function == BNNSLossFunctionSoftmaxCrossEntropy ||
                         row.function == BNNSLossFunctionSigmoidCrossEntropy;
  if (smoothing && i % 3 == 1) s.smooth = 0.125f + 0.025f * static_cast<float>(i % 7);
  if (row.function == BNNSLossFunctionHuber) s.delta = 0.5f * static_cast<float>(1 + i % 3);
  return s;
}

// All sizes around the vector widths; then all settings on one size; then layouts.
inline void add_loss_tests(Suite& suite, const LossInfo& row) {
  for (size_t n = 1; n <= 70; ++n) {
    for (size_t i : {n, 3 * n + 1}) {
      Case c = loss_case(row, vector_of(n), 1 + i % 4, mixed_settings(row, i));
      c.thorough = false;
      suite.cases.push_back(c);
    }
  }
  for (size_t i = 0; i < 60; ++i) {
    if (i >= 20 && mixed_settings(row, i).smooth == 0) continue;
    suite.cases.push_back(loss_case(row, vector_of(13), 3, mixed_settings(row, i)));
  }
  const Shape shapes[] = {image(5, 4, 3),
                          {BNNSDataLayoutRowMajorMatrix, {9, 7}},
                          {BNNSDataLayoutColumnMajorMatrix, {9, 7}},
                          {BNNSDataLayout3DFirstMajor, {6, 2, 5}},
                          {BNNSDataLayout4DLastMajor, {3, 5, 2, 2}}};
  for (size_t i = 0; i < 20; ++i)
    suite.cases.push_back(loss_case(row, shapes[i % 5], 1 + i % 3, mixed_settings(row, i + i / 5)));
  // Worth several threads: one long sample, many short ones, several weighted ones.
  for (size_t i = 1; i < 5; ++i) {
    Case c =
        loss_case(row, vector_of(i % 2 ? 70001 : 10), i % 2 ? i : 4099, mixed_settings(row, i));
    c.thorough = false;
    suite.cases.push_back(c);
  }
}

// A cosine between x and t is the layer's after x was divided by its norm; with r = norm of v the
// gradient of 1 - t v / r is that of the layer at v / r, divided by r.
inline Case normalised_cosine_case(const LossInfo& row) {
  Case c = loss_case(row, vector_of(7), 3, {.reduction = BNNSLossReductionNone});
  c.shape += "_normalised";
  const reference::Loss loss{{.function = row.function, .reduction = BNNSLossReductionNone}};
  const auto normalise = [](auto& v, size_t b) {
    using T = std::decay_t<decltype(v.value[0](0, 0))>;
    using std::sqrt;
    T norm = T(0);
    for (size_t k = 0; k < v.value[0].count(); ++k)
      norm = norm + v.value[0](b, k) * v.value[0](b, k);
    norm = sqrt(norm);
    for (size_t k = 0; k < v.value[0].count(); ++k) v.value[0](b, k) = v.value[0](b, k) / norm;
    return norm;
  };
  c.forward = [loss, normalise](auto& v) {
    const auto in = v.value[0];
    for (size_t b = 0; b < v.batch; ++b) normalise(v, b);
    loss.forward(v);
    v.value[0] = in;
  };
  c.backward.resize(1);
  c.backward[0].in_grad = true;
  c.backward[0].reference = [loss, normalise](auto& v) {
    const auto in = v.value[0];
    auto norms = in.data();
    for (size_t b = 0; b < v.batch; ++b) norms[b] = normalise(v, b);
    loss.backward(v, false);
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t k = 0; k < in.count(); ++k) v.delta[0](b, k) = v.delta[0](b, k) / norms[b];
    v.value[0] = in;
  };
  c.types.clear();
  return c;
}

inline void add_loss_gradients(Suite& suite, const LossInfo& row) {
  LossInfo smooth = row;
  if (row.function == BNNSLossFunctionLog) smooth.in = {0.2, 0.8};
  for (size_t i = 0; i < 60; ++i) {
    if (i >= 20 && mixed_settings(row, i).smooth == 0) continue;
    const Shape in = i % 3 == 2 ? Shape{BNNSDataLayoutRowMajorMatrix, {4, 2}} : vector_of(5);
    Case c = loss_case(smooth, in, 3, mixed_settings(row, i));
    c.shape += "_gradient";
    c.types.clear();
    c.gradient = true;
    suite.cases.push_back(c);
  }
  if (row.function != BNNSLossFunctionCosineDistance) return;
  Case c = normalised_cosine_case(row);
  c.gradient = true;
  suite.cases.push_back(c);
}

inline void add_loss_speed(Suite& suite) {
  const auto add = [&](BNNSLossFunction function, size_t n, size_t batch) {
    for (const LossInfo& row : loss_rows()) {
      if (row.function != function) continue;
      Case c = loss_case(row, vector_of(n), batch, {.reduction = BNNSLossReductionMean});
      c.speed = true;
      suite.cases.push_back(c);
    }
  };
  for (size_t n : {10, 1000}) add(BNNSLossFunctionSoftmaxCrossEntropy, n, 256);
  add(BNNSLossFunctionSoftmaxCrossEntropy, 32000, 32);
  for (BNNSLossFunction f : {BNNSLossFunctionSigmoidCrossEntropy, BNNSLossFunctionMeanSquareError,
                             BNNSLossFunctionHuber})
    add(f, size_t{1} << 20, 1);
}

inline void add_loss(Suite& suite) {
  add_loss_speed(suite);
  for (const LossInfo& row : loss_rows()) {
    add_loss_gradients(suite, row);
    add_loss_tests(suite, row);
  }
}

}  // namespace spec
#endif

// The YOLO loss: per cell of a grid and anchor (aw, ah) a prediction x, y, w, h, c, z_1 .. z_K
// against the label X, Y, W, H, C, k_1 .. k_K; s is the sigmoid.
//   obj (  xy [(s(x) - X)^2 + (s(y) - Y)^2] + wh [hub(w - log(W/aw + 1e-5)) + hub(h - ...)]
//        + class * cross entropy(softmax(z), k) )
//   + (obj * object + noobj * no_object) * cross entropy(s(c), obj ? (rescore ? IOU : 1) : 0)
// obj: C = 1 and the anchor's shape fits best of the cell, or above object_minimum_iou;
// noobj: not obj and it fits below no_object_maximum_iou. The confidence's target is a constant.
#ifndef OPENBNNS_SPEC_YOLO_H
#define OPENBNNS_SPEC_YOLO_H

#include "layers/loss.h"

namespace spec {

struct YoloSettings {
  size_t rows = 2, columns = 3, anchors = 2, classes = 3;
  bool rescore = false;
  float delta = 0;  // 0 is 1
  float xy = 10, wh = 7, object = 100, no_object = 5, classification = 2;
  float object_iou = 0.7f, no_object_iou = 0.3f;
  std::vector<float> sizes = {0.5f, 1.25f, 1.5f, 0.75f, 2.0f, 2.5f};

  size_t box() const { return 5 + classes; }
  size_t count() const { return rows * columns * anchors * box(); }
};

}  // namespace spec

namespace spec::reference {

template <class T>
struct Box {
  T x, y, width, height;
};

template <class T>
T common_length(T a, T a_size, T b, T b_size) {
  const T half = 0.5;
  const T low = maximum(a - half * a_size, b - half * b_size);
  const T high = minimum(a + half * a_size, b + half * b_size);
  return maximum(high - low, T(0));
}

template <class T>
T intersection_over_union(const Box<T>& a, const Box<T>& b) {
  const T common =
      common_length(a.x, a.width, b.x, b.width) * common_length(a.y, a.height, b.y, b.height);
  const T all = a.width * a.height + b.width * b.height - common;
  return all == T(0) ? T(0) : common / all;
}

struct Yolo {
  YoloSettings s;

  // Loss of one prediction; adds its gradient, without upstream, to g.
  template <class T>
  T prediction(const T* x, const T* t, size_t anchor, bool best, T* g) const {
    using std::exp, std::log, std::log1p, std::abs;
    const T aw = T(s.sizes[2 * anchor]), ah = T(s.sizes[2 * anchor + 1]);
    const T fit = fit_of(t, anchor);
    const bool obj = t[4] == T(1) && (best || fit > T(s.object_iou));
    const bool noobj = !obj && fit < T(s.no_object_iou);
    Sum<T> loss;
    if (obj) {
      for (size_t i = 0; i < 2; ++i) {
        const T p = sigmoid(x[i]), e = p - t[i];
        loss.add(T(s.xy) * e * e);
        g[i] = T(2) * T(s.xy) * e * p * (T(1) - p);
      }
      for (size_t i = 2; i < 4; ++i) {
        const T e = x[i] - log(t[i] / (i == 2 ? aw : ah) + T(1e-5));
        const LossPair<T> huber =
            element_loss<T>(BNNSLossFunctionHuber)->at(e, T(0), T(s.delta == 0 ? 1 : s.delta));
        loss.add(T(s.wh) * huber.loss);
        g[i] = T(s.wh) * huber.gradient;
      }
      const std::vector<T> z(x + 5, x + s.box()), k(t + 5, t + s.box()), w(s.classes, T(1));
      std::vector<T> dz(s.classes);
      if (s.classes > 0) loss.add(T(s.classification) * softmax_row(z, k, w, dz));
      for (size_t i = 0; i < s.classes; ++i) g[5 + i] = T(s.classification) * dz[i];
    }
    T target = T(obj ? 1 : 0);
    if (obj && s.rescore)
      target = intersection_over_union<T>(
          {sigmoid(x[0]), sigmoid(x[1]), aw * exp(x[2]), ah * exp(x[3])}, {t[0], t[1], t[2], t[3]});
    const T scale = T(obj ? s.object : noobj ? s.no_object : 0);
    const LossPair<T> confidence =
        element_loss<T>(BNNSLossFunctionSigmoidCrossEntropy)->at(x[4], target, T(0));
    loss.add(scale * confidence.loss);
    g[4] = scale * confidence.gradient;
    return loss.get();
  }

  template <class T>
  T fit_of(const T* t, size_t anchor) const {
    const T zero = T(0);
    return intersection_over_union<T>(
        {zero, zero, T(s.sizes[2 * anchor]), T(s.sizes[2 * anchor + 1])}, {zero, zero, t[2], t[3]});
  }

  template <class T>
  T run(const Values<T>& v, std::vector<T>& gradient) const {
    const std::vector<T>&x = v.value[kLossIn].data(), &t = v.value[kLabels].data();
    gradient.assign(x.size(), T(0));
    Sum<T> loss;
    const size_t cell = s.anchors * s.box();
    for (size_t first = 0; first < x.size(); first += cell) {
      T best = T(0);
      for (size_t a = 0; a < s.anchors; ++a)
        best = maximum(best, fit_of(&t[first + a * s.box()], a));
      for (size_t a = 0; a < s.anchors; ++a) {
        const size_t at = first + a * s.box();
        loss.add(prediction(&x[at], &t[at], a, fit_of(&t[at], a) == best, &gradient[at]));
      }
    }
    return loss.get();
  }
};

}  // namespace spec::reference

namespace spec {

inline BNNSLayerParametersLossYolo yolo_parameters(YoloSettings& s, const BNNSNDArrayDescriptor& in,
                                                   const BNNSNDArrayDescriptor& out) {
  auto p = loss_parameters<BNNSLayerParametersLossYolo>(
      {.function = BNNSLossFunctionYolo, .reduction = BNNSLossReductionSum}, in, out);
  p.huber_delta = s.delta;
  p.number_of_grid_columns = s.columns;
  p.number_of_grid_rows = s.rows;
  p.number_of_anchor_boxes = s.anchors;
  p.anchor_box_size = s.box();
  p.rescore = s.rescore;
  p.scale_xy = s.xy;
  p.scale_wh = s.wh;
  p.scale_object = s.object;
  p.scale_no_object = s.no_object;
  p.scale_classification = s.classification;
  p.object_minimum_iou = s.object_iou;
  p.no_object_maximum_iou = s.no_object_iou;
  p.anchors_data = s.sizes.data();
  return p;
}

inline Case yolo_case(const YoloSettings& s, const Shape& in, size_t batch) {
  Case c{.layer = "loss", .function = "yolo"};
  c.shape = tag(in, batch) + "_" + std::to_string(s.rows) + "x" + std::to_string(s.columns) + "_a" +
            std::to_string(s.anchors) + "_k" + std::to_string(s.classes) +
            (s.rescore ? "_rescore" : "");
  c.batch = batch;
  const Fill labels = {.choices = {0, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1.5, 2}};
  c.operands = loss_operands(in, {}, labels, vector_of(1), true);
  c.operands[reference::kLossIn].contiguous = c.operands[reference::kLabels].contiguous = true;
  const reference::Yolo yolo{s};
  c.forward = [yolo](auto& v) {
    auto gradient = v.value[0].data();
    v.value[1](0, 0) = yolo.run(v, gradient);
  };
  const auto backward = [yolo](auto& v, bool last) {
    yolo.run(v, v.delta[0].data());
    if (last) return;
    for (auto& g : v.delta[0].data()) g = v.delta[1](0, 0) * g;
  };
  c.backward = {{.name = "backward",
                 .reference = [backward](auto& v) { backward(v, false); },
                 .deltas = {0},
                 .in_grad = !s.rescore,
                 .needs_all = true},
                {.name = "forward-gradient",
                 .reference = [backward](auto& v) { backward(v, true); },
                 .pass_out = true,
                 .deltas = {0},
                 .in_grad = false}};
  c.create = [s](Call& call) {
    YoloSettings own = s;
    const auto p = yolo_parameters(own, call.value[0].shape_only(), call.value[1].shape_only());
    return BNNSFilterCreateLayerLoss(&p, &call.parameters);
  };
  c.apply = [o = c.operands](Call& call) { return apply_loss(call, o, false); };
  c.apply_backward = [o = c.operands](Call& call) { return apply_loss_backward(call, o); };
  c.types = {same_type(c, BNNSDataTypeFloat32, Need::kRequired)};
  return c;
}

inline void add_yolo(Suite& suite) {
  for (bool rescore : {false, true}) {
    const YoloSettings small{.rescore = rescore};
    suite.cases.push_back(yolo_case(small, vector_of(small.count()), 3));
    suite.cases.back().gradient = !rescore;
    const YoloSettings no_classes{
        .rows = 1, .columns = 4, .anchors = 1, .classes = 0, .rescore = rescore, .delta = 0.5f};
    suite.cases.push_back(yolo_case(no_classes, vector_of(no_classes.count()), 2));
    // Worth several threads.
    const YoloSettings large{
        .rows = 13, .columns = 11, .anchors = 3, .rescore = rescore, .delta = 0.25f};
    suite.cases.push_back(
        yolo_case(large, {BNNSDataLayoutRowMajorMatrix, {large.box() * 3, 143}}, 2));
  }
}

}  // namespace spec
#endif

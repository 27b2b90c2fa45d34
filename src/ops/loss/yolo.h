// The YOLO loss: boxes predicted per cell of a grid and anchor, each against the true box that the
// labels give for the same cell and anchor.
// A prediction is x, y, w, h, confidence and K class scores; with s = sigmoid, for every cell and
// anchor (aw, ah):
//   obj   (s(x) - X)^2 + (s(y) - Y)^2, Huber(w - log(W / aw + 1e-5)) and the same for h,
//         cross entropy of softmax(classes) and the labels
//   all   cross entropy of s(confidence) and its target: IOU of the boxes or 1 for obj, else 0
// each with its scale. An anchor is obj if the label's confidence is 1 and its IOU with the true
// box is the best of its cell, or above object_minimum_iou. Anchors that are not obj and whose IOU
// is not below no_object_maximum_iou contribute nothing. The gradient treats the target of the
// confidence as a constant.
#pragma once

#include <cstddef>

#include "core/memory.h"
#include "ops/loss/loss.h"

namespace bnns::impl {

struct YoloProblem {
  size_t cells = 1;
  size_t anchors = 1;
  size_t box = 5;  // values of a prediction: 5 and one per class
  bool rescore = false;
  float huber_delta = 1;
  float scale_xy = 0, scale_wh = 0;
  float scale_object = 0, scale_no_object = 0, scale_classification = 0;
  float object_minimum_iou = 0, no_object_maximum_iou = 0;
};

class YoloOp {
 public:
  // `anchor_sizes`: width and height of every anchor; they are copied.
  YoloOp(const Memory& memory, size_t threads, const YoloProblem& problem,
         const float* anchor_sizes);

  // The samples of in and labels are contiguous; in_delta may have any layout. The loss is the sum
  // over the batch.
  void run(const LossTensors& call) const;

 private:
  struct Cell;
  double run_cell(const LossTensors& call, size_t cell) const;
  double run_box(const Cell& cell, size_t anchor, double best_fit) const;
  double run_object(const Cell& cell, size_t anchor) const;
  double anchor_fit(const Cell& cell, size_t anchor) const;

  size_t threads_;
  YoloProblem problem_;
  Array<float> anchor_sizes_;
};

}  // namespace bnns::impl

// The YOLO loss on an OpenCL device: one launch per image, then the sums.
#include "mps/image_storage.h"
#include "mps/opencl/device.h"
#include "mps/opencl/formula.h"
#include "mps/opencl/reduction.h"

namespace bnns::impl::mps::opencl {
namespace {

Part part_of(const YoloPart& part, float scale) {
  return {.formula = formula_of(part.formula, part.values),
          .factor = scale * part.values.weight,
          .softmax = is_softmax(part.formula)};
}

// The same for all images but for the views.
YoloParams params_of(const YoloWork& work) {
  return {.anchors = work.anchors.size() / 2,
          .classes = work.number_of_classes,
          .xy = part_of(work.xy, work.scale_xy),
          .wh = part_of(work.wh, work.scale_wh),
          .confidence = part_of(work.confidence, 1),
          .categories = part_of(work.classes, work.scale_class),
          .scale_object = work.scale_object,
          .scale_no_object = work.scale_no_object,
          .min_iou = work.min_iou,
          .max_iou = work.max_iou,
          .rescore = work.rescore};
}

}  // namespace

void run(Lane& lane, const YoloWork& work) {
  const bool reduced = work.reduction != MPS::CNNReductionType::None;
  const size_t batch = work.items.size(), anchor_bytes = work.anchors.size() * sizeof(float);
  const Buffer anchors = lane.scratch(Scratch::Anchors, anchor_bytes);
  lane.write(anchors, anchor_bytes, work.anchors.data());
  if (work.reduction == MPS::CNNReductionType::SumByNonZeroWeights) count_weights(lane, work.items);
  const Buffer totals = sums_of_batch(lane, Scratch::Totals, batch);
  YoloParams params = params_of(work);
  for (size_t n = 0; n < batch; ++n) {
    const LossItem& item = work.items[n];
    const size_t boxes = item.source->width() * item.source->height() * params.anchors;
    const Buffer sums = lane.scratch(Scratch::Sums, boxes * sizeof(Sum));
    params.source = view_of(item.source);
    params.labels = view_of(item.labels);
    params.weights = view_of(item.weights);
    params.gradient = view_of(item.gradient);
    params.loss = view_of(item.loss);
    params.loss.exists = !reduced;  // otherwise it has one element
    lane.launch(KernelId::Yolo, boxes, buffer_of(item.source), buffer_of(item.labels),
                buffer_of(item.weights == nullptr ? item.source : item.weights), anchors, params,
                buffer_of(item.loss), buffer_of(item.gradient), sums);
    if (reduced) fold(lane, {.count = boxes, .target = n}, totals);
  }
  if (reduced)
    store_reduced(lane, work.items, work.reduction, work.across_batch,
                  static_cast<double>(work.items[0].source->elements()));
}

}  // namespace bnns::impl::mps::opencl

// What a command buffer records: problems that name their images, sizes and constants, and that any
// device can execute. They are complete and checked; a device reads nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "openbnns/mps.hpp"

namespace bnns::impl::mps {

using StoragePtr = std::shared_ptr<ImageStorage>;

// What a state can replace.
struct LossValues {
  float weight, labelSmoothing, epsilon, delta;
};

// What belongs to the whole batch.
struct LossFormula {
  MPS::CNNLossType type;
  MPS::CNNReductionType reduction;
  bool across_batch;
  size_t classes;
  bool as_printed;

  bool reduced() const { return reduction != MPS::CNNReductionType::None; }
};

// One image of a batch; images that do not take part are null.
struct LossItem {
  StoragePtr source, labels, weights;
  StoragePtr upstream;  // source gradient
  StoragePtr loss;      // destination of the forward value
  StoragePtr gradient;  // destination of the gradient
  LossValues values;
};

// Where an image is read: the pixel that belongs to the first pixel of the destination, and what
// lies outside.
struct ReadWindow {
  int64_t x = 0, y = 0;
  size_t channel = 0;
  bool clamp = false;  // to the edge; otherwise nothing is there
};

// The part of the gradient that is written. Every image of a batch has the same.
struct GradientWindow {
  size_t x = 0, y = 0, width = 0, height = 0;  // in the destination
  size_t destination_channel = 0;
  size_t channels = 0;
  ReadWindow source;    // also of labels and weights
  ReadWindow upstream;  // of a gradient as large as the image
};

// Forward values go to item.loss, gradients to item.gradient, whichever is there.
struct LossWork {
  LossFormula formula;
  bool label_gradients = false;
  bool divides = true;  // the gradient has the divisor of the reduction
  GradientWindow window;
  std::vector<LossItem> items;
};

// The parts of a YOLO loss have formulas and values of their own.
struct YoloPart {
  LossFormula formula;
  LossValues values;
};
struct YoloWork {
  YoloPart xy, wh, confidence, classes;
  MPS::CNNReductionType reduction;
  bool across_batch, rescore;
  float scale_xy, scale_wh, scale_no_object, scale_object, scale_class;
  float min_iou, max_iou;
  std::vector<float> anchors;
  size_t number_of_classes;
  std::vector<LossItem> items;
};

// Ones in the first width x height pixels and `channels` channels of every destination.
struct OnesWork {
  size_t width, height, channels;
  std::vector<StoragePtr> destinations;
};

using Work = std::variant<LossWork, YoloWork, OnesWork>;

}  // namespace bnns::impl::mps

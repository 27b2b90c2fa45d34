// CNNYOLOLoss: checks of its descriptor and of its calls.
#include <cmath>

#include "mps/error.h"
#include "mps/kernel.h"
#include "mps/one_shot.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

constexpr const char* kName = "CNNYOLOLoss";

const CNNYOLOLossDescriptor& checked(const CNNYOLOLossDescriptor& yolo) {
  const struct {
    const char* name;
    const CNNLossDescriptor& loss;
  } parts[] = {{"CNNYOLOLoss: XYLossDescriptor", yolo.XYLossDescriptor},
               {"CNNYOLOLoss: WHLossDescriptor", yolo.WHLossDescriptor},
               {"CNNYOLOLoss: confidenceLossDescriptor", yolo.confidenceLossDescriptor},
               {"CNNYOLOLoss: classesLossDescriptor", yolo.classesLossDescriptor}};
  for (const auto& [name, loss] : parts) {
    check_loss(loss, name);
    require(loss.lossType != CNNLossType::CosineDistance, ErrorCode::Unsupported, name,
            ": CosineDistance has no loss per element");
    require(
        loss.lossType != CNNLossType::SoftMaxCrossEntropy || &loss == &yolo.classesLossDescriptor,
        ErrorCode::Unsupported, name, ": SoftMaxCrossEntropy is for the classes only");
    require(loss.reductionType == yolo.reductionType, ErrorCode::InvalidArgument, name,
            ": reductionType is ", name_of(loss.reductionType), ", but that of the whole loss is ",
            name_of(yolo.reductionType));
  }
  require(!yolo.anchorBoxes.empty() && yolo.anchorBoxes.size() % 2 == 0, ErrorCode::InvalidArgument,
          kName, ": anchorBoxes has ", yolo.anchorBoxes.size(),
          " values; each box has a width and a height, and there must be one");
  for (const float size : yolo.anchorBoxes)
    require(std::isfinite(size) && size > 0, ErrorCode::InvalidArgument, kName,
            ": anchorBoxes has the value ", size, "; it must be finite and above 0");
  for (const float value :
       {yolo.scaleXY, yolo.scaleWH, yolo.scaleNoObject, yolo.scaleObject, yolo.scaleClass,
        yolo.minIOUForObjectPresence, yolo.maxIOUForObjectAbsence})
    require(std::isfinite(value), ErrorCode::InvalidArgument, kName,
            ": a scale or an IOU bound is ", value, "; it must be finite");
  return yolo;
}

// (5 + classes) * anchors
std::size_t channels_of(const CNNYOLOLossDescriptor& yolo) {
  std::size_t channels;
  const bool overflows =
      __builtin_add_overflow(yolo.classesLossDescriptor.numberOfClasses, 5, &channels) ||
      __builtin_mul_overflow(channels, yolo.numberOfAnchorBoxes(), &channels);
  require(!overflows, ErrorCode::InvalidArgument, kName, ": numberOfClasses is ",
          yolo.classesLossDescriptor.numberOfClasses, "; the number of channels overflows");
  return channels;
}

YoloPart part_of(const CNNLossDescriptor& loss) {
  return {formula_of(loss, LossFormulaPolicy::Consistent), values_of(loss)};
}

YoloWork work_of(const CNNYOLOLossDescriptor& yolo, std::vector<LossItem> items) {
  return {.xy = part_of(yolo.XYLossDescriptor),
          .wh = part_of(yolo.WHLossDescriptor),
          .confidence = part_of(yolo.confidenceLossDescriptor),
          .classes = part_of(yolo.classesLossDescriptor),
          .reduction = yolo.reductionType,
          .across_batch = yolo.reduceAcrossBatch,
          .rescore = yolo.rescore,
          .scale_xy = yolo.scaleXY,
          .scale_wh = yolo.scaleWH,
          .scale_no_object = yolo.scaleNoObject,
          .scale_object = yolo.scaleObject,
          .scale_class = yolo.scaleClass,
          .min_iou = yolo.minIOUForObjectPresence,
          .max_iou = yolo.maxIOUForObjectAbsence,
          .anchors = yolo.anchorBoxes,
          .number_of_classes = yolo.classesLossDescriptor.numberOfClasses,
          .items = std::move(items)};
}

// The weights of the parts are in their own values.
constexpr LossValues kUnitValues{.weight = 1, .labelSmoothing = 0, .epsilon = 0, .delta = 1};

}  // namespace

CNNYOLOLoss::CNNYOLOLoss(std::shared_ptr<MTL::Device> device, const CNNYOLOLossDescriptor& yolo)
    : CNNKernel(device),
      yolo_(checked(yolo)),
      xy_(std::make_shared<CNNLoss>(device, yolo.XYLossDescriptor)),
      wh_(std::make_shared<CNNLoss>(device, yolo.WHLossDescriptor)),
      confidence_(std::make_shared<CNNLoss>(device, yolo.confidenceLossDescriptor)),
      classes_(std::make_shared<CNNLoss>(device, yolo.classesLossDescriptor)) {
  channels_of(yolo);
}

std::shared_ptr<CNNYOLOLoss> CNNYOLOLoss::copy(std::shared_ptr<MTL::Device> to) const {
  auto copy = std::make_shared<CNNYOLOLoss>(to == nullptr ? device() : std::move(to), yolo_);
  static_cast<CNNKernelProperties&>(*copy) = *this;
  copy->label = label;
  copy->options = options;
  return copy;
}

std::shared_ptr<Image> CNNYOLOLoss::encode(MTL::CommandBuffer& buffer,
                                           const std::shared_ptr<Image>& source,
                                           const std::shared_ptr<CNNLossLabels>& labels) const {
  return encodeBatch(buffer, ImageBatch{source}, CNNLossLabelsBatch{labels})[0];
}

void CNNYOLOLoss::encode(MTL::CommandBuffer& buffer, const std::shared_ptr<Image>& source,
                         const std::shared_ptr<CNNLossLabels>& labels,
                         const std::shared_ptr<Image>& destination) const {
  encodeBatch(buffer, ImageBatch{source}, CNNLossLabelsBatch{labels}, ImageBatch{destination});
}

ImageBatch CNNYOLOLoss::encodeBatch(MTL::CommandBuffer& buffer, const ImageBatch& sources,
                                    const CNNLossLabelsBatch& labels) const {
  const OneShotCall call(kName, *this, reductionType(), buffer, sources, labels);
  call.check(nullptr, channels_of(yolo_));
  ImageBatch results = call.allocate_results();
  CommandBufferImpl& impl = call.check(&results, channels_of(yolo_));
  call.record(impl, work_of(yolo_, call.items(results, kUnitValues)), results);
  return results;
}

void CNNYOLOLoss::encodeBatch(MTL::CommandBuffer& buffer, const ImageBatch& sources,
                              const CNNLossLabelsBatch& labels,
                              const ImageBatch& destinations) const {
  const OneShotCall call(kName, *this, reductionType(), buffer, sources, labels);
  CommandBufferImpl& impl = call.check(&destinations, channels_of(yolo_));
  call.record(impl, work_of(yolo_, call.items(destinations, kUnitValues)), destinations);
}

bool CNNYOLOLoss::appendBatchBarrier() const {
  return combines_batch(reductionType(), reduceAcrossBatch());
}

std::vector<std::byte> CNNYOLOLoss::encode() const {
  fail(ErrorCode::Unsupported, kName, "::encode: this kernel has no archive");
}

std::string CNNYOLOLoss::description() const {
  std::ostringstream rest;
  rest << ", reductionType " << name_of(reductionType()) << ", anchors " << numberOfAnchorBoxes()
       << ", classes " << yolo_.classesLossDescriptor.numberOfClasses;
  return describe(kName, *this, rest.str());
}

}  // namespace bnns::MPS

// The loss of a YOLO detector and its gradient in one call. Channels of anchor a, from
// a * (5 + classes) on: x, y, width, height, confidence, class 0, class 1, ...
#ifndef OPENBNNS_MPS_YOLO_LOSS_HPP
#define OPENBNNS_MPS_YOLO_LOSS_HPP

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "one_shot_loss.hpp"

namespace bnns {
namespace MPS {

struct CNNYOLOLossDescriptor {
  // anchorBoxes: width, height of anchor 0, then of anchor 1, ..., in grid cells
  CNNYOLOLossDescriptor(CNNLossType xy, CNNLossType wh, CNNLossType confidence, CNNLossType classes,
                        CNNReductionType reduction, std::span<const float> anchors)
      : XYLossDescriptor(xy, reduction),
        WHLossDescriptor(wh, reduction),
        confidenceLossDescriptor(confidence, reduction),
        classesLossDescriptor(classes, reduction),
        reductionType(reduction),
        anchorBoxes(anchors.begin(), anchors.end()) {}
  CNNLossDescriptor XYLossDescriptor, WHLossDescriptor, confidenceLossDescriptor,
      classesLossDescriptor;
  CNNReductionType reductionType;
  bool reduceAcrossBatch = false, rescore = true;
  float scaleXY = 10, scaleWH = 10, scaleNoObject = 5, scaleObject = 100, scaleClass = 2;
  float minIOUForObjectPresence = 0.7f, maxIOUForObjectAbsence = 0.3f;
  std::vector<float> anchorBoxes;
  std::size_t numberOfAnchorBoxes() const noexcept { return anchorBoxes.size() / 2; }
  friend bool operator==(const CNNYOLOLossDescriptor&, const CNNYOLOLossDescriptor&) = default;
};

class OPENBNNS_MPS_API CNNYOLOLoss final : public CNNKernel {
 public:
  CNNYOLOLoss(std::shared_ptr<MTL::Device>, const CNNYOLOLossDescriptor&);
  std::shared_ptr<CNNYOLOLoss> copy(std::shared_ptr<MTL::Device> = nullptr) const;
  CNNReductionType reductionType() const noexcept { return yolo_.reductionType; }
  bool reduceAcrossBatch() const noexcept { return yolo_.reduceAcrossBatch; }
  float scaleXY() const noexcept { return yolo_.scaleXY; }
  float scaleWH() const noexcept { return yolo_.scaleWH; }
  float scaleNoObject() const noexcept { return yolo_.scaleNoObject; }
  float scaleObject() const noexcept { return yolo_.scaleObject; }
  float scaleClass() const noexcept { return yolo_.scaleClass; }
  float minIOUForObjectPresence() const noexcept { return yolo_.minIOUForObjectPresence; }
  float maxIOUForObjectAbsence() const noexcept { return yolo_.maxIOUForObjectAbsence; }
  std::size_t numberOfAnchorBoxes() const noexcept { return yolo_.numberOfAnchorBoxes(); }
  std::vector<float> anchorBoxes() const { return yolo_.anchorBoxes; }
  std::shared_ptr<const CNNLoss> lossXY() const { return xy_; }
  std::shared_ptr<const CNNLoss> lossWH() const { return wh_; }
  std::shared_ptr<const CNNLoss> lossConfidence() const { return confidence_; }
  std::shared_ptr<const CNNLoss> lossClasses() const { return classes_; }
  std::shared_ptr<Image> encode(MTL::CommandBuffer&, const std::shared_ptr<Image>& source,
                                const std::shared_ptr<CNNLossLabels>& labels) const;
  void encode(MTL::CommandBuffer&, const std::shared_ptr<Image>& source,
              const std::shared_ptr<CNNLossLabels>& labels,
              const std::shared_ptr<Image>& destination) const;
  ImageBatch encodeBatch(MTL::CommandBuffer&, const ImageBatch& sources,
                         const CNNLossLabelsBatch& labels) const;
  void encodeBatch(MTL::CommandBuffer&, const ImageBatch& sources, const CNNLossLabelsBatch& labels,
                   const ImageBatch& destinations) const;
  bool appendBatchBarrier() const override;
  std::vector<std::byte> encode() const override;  // throws Unsupported
  std::string description() const override;

 private:
  CNNYOLOLossDescriptor yolo_;
  std::shared_ptr<const CNNLoss> xy_, wh_, confidence_, classes_;
};

}  // namespace MPS
}  // namespace bnns

#endif

// A loss in two calls, NNForwardLoss and NNLossGradient, and the gradient of ones between them,
// NNInitialGradient. Weights and states are optional: an empty batch stands for none.
#ifndef OPENBNNS_MPS_LOSS_HPP
#define OPENBNNS_MPS_LOSS_HPP

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernel.hpp"

namespace bnns {
namespace MPS {

class OPENBNNS_MPS_API NNLossGradient final : public CNNBinaryKernel {
 public:
  NNLossGradient(std::shared_ptr<MTL::Device>, const CNNLossDescriptor&);
  static std::shared_ptr<NNLossGradient> decode(std::span<const std::byte>,
                                                std::shared_ptr<MTL::Device>);
  std::shared_ptr<NNLossGradient> copy(std::shared_ptr<MTL::Device> = nullptr) const;

  CNNLossType lossType() const noexcept { return loss_.lossType; }
  CNNReductionType reductionType() const noexcept { return loss_.reductionType; }
  bool reduceAcrossBatch() const noexcept { return loss_.reduceAcrossBatch; }
  std::size_t numberOfClasses() const noexcept { return loss_.numberOfClasses; }

  float weight() const noexcept { return loss_.weight; }
  void setWeight(float);
  float labelSmoothing() const noexcept { return loss_.labelSmoothing; }
  void setLabelSmoothing(float);
  float epsilon() const noexcept { return loss_.epsilon; }
  void setEpsilon(float);
  float delta() const noexcept { return loss_.delta; }
  void setDelta(float);
  bool computeLabelGradients() const noexcept { return label_gradients_; }
  void setComputeLabelGradients(bool value) noexcept { label_gradients_ = value; }
  // Not archived.
  LossFormulaPolicy lossFormulaPolicy() const noexcept { return policy_; }
  void setLossFormulaPolicy(LossFormulaPolicy value) noexcept { policy_ = value; }

  // New images from destinationImageAllocator. Offsets count as 0 here.
  ImageBatch encodeBatch(MTL::CommandBuffer&, const ImageBatch& sourceGradients,
                         const ImageBatch& sourceImages, const ImageBatch& labels,
                         const ImageBatch& weights = {}, const StateBatch& sourceStates = {}) const;
  void encodeBatch(MTL::CommandBuffer&, const ImageBatch& sourceGradients,
                   const ImageBatch& sourceImages, const ImageBatch& labels,
                   const ImageBatch& weights, const StateBatch& sourceStates,
                   const ImageBatch& destinationGradients) const;
  // Inherited methods that make no sense without labels: they throw Unsupported.
  std::shared_ptr<Image> encode(MTL::CommandBuffer&, const std::shared_ptr<Image>& primaryImage,
                                const std::shared_ptr<Image>& secondaryImage) const;
  void encode(MTL::CommandBuffer&, const std::shared_ptr<Image>& primaryImage,
              const std::shared_ptr<Image>& secondaryImage,
              const std::shared_ptr<Image>& destinationImage) const;

  ImageDescriptor destinationImageDescriptor(const Image& gradient, const Image& source) const;
  bool appendBatchBarrier() const override;
  std::vector<std::byte> encode() const override;
  std::string description() const override;

 private:
  CNNLossDescriptor loss_;
  bool label_gradients_ = false;
  LossFormulaPolicy policy_ = LossFormulaPolicy::Consistent;
};

// The base properties other than the allocator are not supported: values that would have an effect
// are refused when the kernel encodes.
class OPENBNNS_MPS_API NNForwardLoss final : public CNNKernel {
 public:
  NNForwardLoss(std::shared_ptr<MTL::Device>, const CNNLossDescriptor&);
  static std::shared_ptr<NNForwardLoss> decode(std::span<const std::byte>,
                                               std::shared_ptr<MTL::Device>);
  std::shared_ptr<NNForwardLoss> copy(std::shared_ptr<MTL::Device> = nullptr) const;

  CNNLossType lossType() const noexcept { return loss_.lossType; }
  CNNReductionType reductionType() const noexcept { return loss_.reductionType; }
  bool reduceAcrossBatch() const noexcept { return loss_.reduceAcrossBatch; }
  std::size_t numberOfClasses() const noexcept { return loss_.numberOfClasses; }
  float weight() const noexcept { return loss_.weight; }
  void setWeight(float);
  float labelSmoothing() const noexcept { return loss_.labelSmoothing; }
  void setLabelSmoothing(float);
  float epsilon() const noexcept { return loss_.epsilon; }
  void setEpsilon(float);
  float delta() const noexcept { return loss_.delta; }
  void setDelta(float);

  // New loss images from destinationImageAllocator; new states if outStates is not null.
  ImageBatch encodeBatch(MTL::CommandBuffer&, const ImageBatch& sourceImages,
                         const ImageBatch& labels, const ImageBatch& weights = {},
                         StateBatch* outStates = nullptr, bool statesAreTemporary = false) const;
  // destinationStates: empty, or one state per image made by one of the two functions below.
  void encodeBatch(MTL::CommandBuffer&, const ImageBatch& sourceImages, const ImageBatch& labels,
                   const ImageBatch& weights, const StateBatch& destinationStates,
                   const ImageBatch& destinationImages) const;
  StateBatch resultStateBatch(const ImageBatch& sourceImages) const;
  StateBatch temporaryResultStateBatch(MTL::CommandBuffer&, const ImageBatch& sourceImages) const;
  bool appendBatchBarrier() const override;
  std::vector<std::byte> encode() const override;
  std::string description() const override;

 private:
  CNNLossDescriptor loss_;
};

// Images of ones, of the size of their sources, whose values are not read.
class OPENBNNS_MPS_API NNInitialGradient final : public CNNKernel {
 public:
  explicit NNInitialGradient(std::shared_ptr<MTL::Device>);
  std::shared_ptr<NNInitialGradient> copy(std::shared_ptr<MTL::Device> = nullptr) const;
  std::shared_ptr<Image> encode(MTL::CommandBuffer&, const std::shared_ptr<Image>& source) const;
  void encode(MTL::CommandBuffer&, const std::shared_ptr<Image>& source,
              const std::shared_ptr<Image>& destination) const;
  ImageBatch encodeBatch(MTL::CommandBuffer&, const ImageBatch& sources) const;
  void encodeBatch(MTL::CommandBuffer&, const ImageBatch& sources,
                   const ImageBatch& destinations) const;
  std::vector<std::byte> encode() const override;
  std::string description() const override;
};

}  // namespace MPS
}  // namespace bnns

#endif

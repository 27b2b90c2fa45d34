// The loss and its gradient in one call, CNNLoss, with the state that holds labels, weights and the
// resulting loss.
#ifndef OPENBNNS_MPS_ONE_SHOT_LOSS_HPP
#define OPENBNNS_MPS_ONE_SHOT_LOSS_HPP

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "kernel.hpp"

namespace bnns {
namespace MPS {

// Float32 data of labels or weights. Setting a stride that the data does not have room for throws
// InvalidArgument and changes nothing.
class OPENBNNS_MPS_API CNNLossDataDescriptor {
 public:
  // Copies; size = width, height, channels.
  CNNLossDataDescriptor(std::span<const std::byte> data, DataLayout, MTL::Size);
  DataLayout layout() const noexcept { return layout_; }
  MTL::Size size() const noexcept { return size_; }
  std::size_t bytesPerRow() const noexcept { return bytesPerRow_; }
  void setBytesPerRow(std::size_t);
  std::size_t bytesPerImage() const noexcept { return bytesPerImage_; }
  void setBytesPerImage(std::size_t);

 private:
  friend struct impl::mps::Access;
  std::vector<std::byte> data_;
  DataLayout layout_;
  MTL::Size size_;
  std::size_t bytesPerRow_ = 0, bytesPerImage_ = 0;
};

class OPENBNNS_MPS_API CNNLossLabels : public State {
 public:
  static std::shared_ptr<CNNLossLabels> create(std::shared_ptr<MTL::Device>,
                                               const CNNLossDataDescriptor& labels);
  static std::shared_ptr<CNNLossLabels> create(std::shared_ptr<MTL::Device>,
                                               MTL::Size lossImageSize,
                                               const CNNLossDataDescriptor& labels,
                                               const CNNLossDataDescriptor* weights = nullptr);
  // The images are kept, not copied.
  static std::shared_ptr<CNNLossLabels> create(std::shared_ptr<MTL::Device>,
                                               MTL::Size lossImageSize,
                                               std::shared_ptr<Image> labels,
                                               std::shared_ptr<Image> weights = nullptr);
  std::shared_ptr<Image> lossImage() const { return loss_; }
  std::shared_ptr<Image> labelsImage() const { return labels_; }
  std::shared_ptr<Image> weightsImage() const { return weights_; }  // may be null
  std::size_t resourceSize() const override;

 protected:
  CNNLossLabels(std::shared_ptr<MTL::Device>, MTL::Size lossImageSize,
                std::shared_ptr<Image> labels, std::shared_ptr<Image> weights);

 private:
  std::shared_ptr<Image> loss_, labels_, weights_;
};
using CNNLossLabelsBatch = std::vector<std::shared_ptr<CNNLossLabels>>;

// The destination receives weight * weights * gradient, without the divisor of the reduction;
// labels.lossImage() the loss.
class OPENBNNS_MPS_API CNNLoss final : public CNNKernel {
 public:
  CNNLoss(std::shared_ptr<MTL::Device>, const CNNLossDescriptor&);
  static std::shared_ptr<CNNLoss> decode(std::span<const std::byte>, std::shared_ptr<MTL::Device>);
  std::shared_ptr<CNNLoss> copy(std::shared_ptr<MTL::Device> = nullptr) const;

  CNNLossType lossType() const noexcept { return loss_.lossType; }
  CNNReductionType reductionType() const noexcept { return loss_.reductionType; }
  bool reduceAcrossBatch() const noexcept { return loss_.reduceAcrossBatch; }
  std::size_t numberOfClasses() const noexcept { return loss_.numberOfClasses; }
  float weight() const noexcept { return loss_.weight; }
  float labelSmoothing() const noexcept { return loss_.labelSmoothing; }
  float epsilon() const noexcept { return loss_.epsilon; }
  float delta() const noexcept { return loss_.delta; }
  // Not archived.
  LossFormulaPolicy lossFormulaPolicy() const noexcept { return policy_; }
  void setLossFormulaPolicy(LossFormulaPolicy value) noexcept { policy_ = value; }

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
  std::vector<std::byte> encode() const override;
  std::string description() const override;

 private:
  CNNLossDescriptor loss_;
  LossFormulaPolicy policy_ = LossFormulaPolicy::Consistent;
};

}  // namespace MPS
}  // namespace bnns

#endif

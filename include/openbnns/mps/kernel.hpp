// Base classes of the kernels and the descriptor of a loss. A kernel is used by one thread at a
// time; encoding copies its values, so that it may be changed or destroyed right after.
#ifndef OPENBNNS_MPS_KERNEL_HPP
#define OPENBNNS_MPS_KERNEL_HPP

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "image.hpp"

namespace bnns {
namespace MPS {

// Two kernels are equal if they are one object.
class OPENBNNS_MPS_API Kernel {
 public:
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  std::shared_ptr<MTL::Device> device() const;
  KernelOptions options = KernelOptions::None;
  std::string label;
  virtual std::vector<std::byte> encode() const = 0;  // archive
  virtual std::string description() const = 0;
  bool operator==(const Kernel& other) const noexcept { return this == &other; }
  std::size_t hash() const noexcept { return std::hash<const Kernel*>()(this); }

 protected:
  explicit Kernel(std::shared_ptr<MTL::Device>);

 private:
  std::shared_ptr<MTL::Device> device_;
};

struct CNNLossDescriptor {
  CNNLossDescriptor(CNNLossType type, CNNReductionType reduction)
      : lossType(type), reductionType(reduction) {}
  CNNLossType lossType;
  CNNReductionType reductionType;
  bool reduceAcrossBatch = false;
  float weight = 1.0f, labelSmoothing = 0.0f, epsilon = 1e-7f, delta = 1.0f;
  std::size_t numberOfClasses = 1;
  friend bool operator==(const CNNLossDescriptor&, const CNNLossDescriptor&) = default;
};

// The properties of kernels with one source.
struct CNNKernelProperties {
  Offset offset;
  MTL::Region clipRect = RectNoClip;
  std::size_t destinationFeatureChannelOffset = 0, sourceFeatureChannelOffset = 0;
  std::size_t sourceFeatureChannelMaxCount = std::numeric_limits<std::size_t>::max();
  ImageEdgeMode edgeMode = ImageEdgeMode::Zero;
  std::shared_ptr<ImageAllocator> destinationImageAllocator = ImageAllocator::temporaryImages();
};

// The properties of kernels with two sources.
struct CNNBinaryKernelProperties {
  Offset primaryOffset, secondaryOffset;
  MTL::Region clipRect = RectNoClip;
  std::size_t destinationFeatureChannelOffset = 0;
  std::size_t primarySourceFeatureChannelOffset = 0, secondarySourceFeatureChannelOffset = 0;
  std::size_t primarySourceFeatureChannelMaxCount = std::numeric_limits<std::size_t>::max();
  std::size_t secondarySourceFeatureChannelMaxCount = std::numeric_limits<std::size_t>::max();
  ImageEdgeMode primaryEdgeMode = ImageEdgeMode::Zero, secondaryEdgeMode = ImageEdgeMode::Zero;
  // The losses have no strides: other values than 1 are refused when the kernel encodes.
  std::size_t primaryStrideInPixelsX = 1, primaryStrideInPixelsY = 1;
  std::size_t secondaryStrideInPixelsX = 1, secondaryStrideInPixelsY = 1;
  std::shared_ptr<ImageAllocator> destinationImageAllocator = ImageAllocator::temporaryImages();
};

class OPENBNNS_MPS_API CNNKernel : public Kernel, public CNNKernelProperties {
 public:
  std::size_t kernelWidth() const noexcept { return 1; }
  std::size_t kernelHeight() const noexcept { return 1; }
  std::size_t strideInPixelsX() const noexcept { return 1; }
  std::size_t strideInPixelsY() const noexcept { return 1; }
  std::size_t dilationRateX() const noexcept { return 1; }
  std::size_t dilationRateY() const noexcept { return 1; }
  bool isBackwards() const noexcept { return false; }
  bool isStateModified() const noexcept { return false; }
  virtual bool isResultStateReusedAcrossBatch() const { return false; }
  virtual bool appendBatchBarrier() const { return false; }

 protected:
  using Kernel::Kernel;
};

class OPENBNNS_MPS_API CNNBinaryKernel : public Kernel, public CNNBinaryKernelProperties {
 public:
  std::size_t primaryKernelWidth() const noexcept { return 1; }
  std::size_t primaryKernelHeight() const noexcept { return 1; }
  std::size_t secondaryKernelWidth() const noexcept { return 1; }
  std::size_t secondaryKernelHeight() const noexcept { return 1; }
  std::size_t primaryDilationRateX() const noexcept { return 1; }
  std::size_t primaryDilationRateY() const noexcept { return 1; }
  std::size_t secondaryDilationRateX() const noexcept { return 1; }
  std::size_t secondaryDilationRateY() const noexcept { return 1; }
  bool isBackwards() const noexcept { return false; }
  bool isStateModified() const noexcept { return false; }
  virtual bool isResultStateReusedAcrossBatch() const { return false; }
  virtual bool appendBatchBarrier() const { return false; }

 protected:
  using Kernel::Kernel;
};

}  // namespace MPS
}  // namespace bnns

#endif

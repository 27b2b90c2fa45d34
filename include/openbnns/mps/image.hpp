// Images, temporary images, states and batches of both.
#ifndef OPENBNNS_MPS_IMAGE_HPP
#define OPENBNNS_MPS_IMAGE_HPP

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "types.hpp"

namespace bnns {
namespace impl::mps {
struct Access;
class ImageStorage;
class StateStorage;
}  // namespace impl::mps

namespace MPS {

struct ImageDescriptor {
  ImageFeatureChannelFormat channelFormat = ImageFeatureChannelFormat::None;
  std::size_t width = 1, height = 1, featureChannels = 1, numberOfImages = 1;
  friend bool operator==(const ImageDescriptor&, const ImageDescriptor&) = default;
};

// Fresh images are zero. Reading and writing wait for committed buffers that use the image.
class OPENBNNS_MPS_API Image : public std::enable_shared_from_this<Image> {
 public:
  static std::shared_ptr<Image> create(std::shared_ptr<MTL::Device>, const ImageDescriptor&);
  virtual ~Image() = default;
  Image(const Image&) = delete;
  Image& operator=(const Image&) = delete;
  std::shared_ptr<MTL::Device> device() const;
  std::size_t width() const, height() const, featureChannels() const, numberOfImages() const;
  ImageFeatureChannelFormat featureChannelFormat() const;
  std::size_t precision() const, pixelSize() const, resourceSize() const;
  virtual bool isTemporary() const { return false; }
  // The whole image, tightly packed, element type as stored.
  void readBytes(void*, DataLayout, std::size_t imageIndex) const;
  void writeBytes(const void*, DataLayout, std::size_t imageIndex);
  // A rectangle of region.size.depth images from imageIndex on. HWC: element (y, x, c) at
  // y * bytesPerRow + (x * channels + c) * size; CHW: at (c * height + y) * bytesPerRow + x * size;
  // channels and height of the rectangle.
  void readBytes(void*, DataLayout, std::size_t bytesPerRow, std::size_t bytesPerImage,
                 const MTL::Region&, const ImageReadWriteParams&, std::size_t imageIndex) const;
  void writeBytes(const void*, DataLayout, std::size_t bytesPerRow, std::size_t bytesPerImage,
                  const MTL::Region&, const ImageReadWriteParams&, std::size_t imageIndex);
  // All images, one after the other, converted from and to the stored type.
  std::vector<float> toFloats(DataLayout = DataLayout::HeightxWidthxFeatureChannels) const;
  void fromFloats(std::span<const float>, DataLayout = DataLayout::HeightxWidthxFeatureChannels);
  void synchronize(MTL::CommandBuffer&);
  std::string label;

 protected:
  explicit Image(std::shared_ptr<impl::mps::ImageStorage>);

 private:
  friend struct impl::mps::Access;
  std::shared_ptr<impl::mps::ImageStorage> storage_;
};

// Belongs to one command buffer, cannot be read or written by the CPU. Every encode that reads it
// takes one from the read count; at 0 it can no longer be used.
class OPENBNNS_MPS_API TemporaryImage : public Image {
 public:
  static std::shared_ptr<TemporaryImage> create(MTL::CommandBuffer&, const ImageDescriptor&);
  bool isTemporary() const override { return true; }
  std::size_t readCount() const;
  void setReadCount(std::size_t);

 protected:
  explicit TemporaryImage(std::shared_ptr<impl::mps::ImageStorage>);
};
using ImageBatch = std::vector<std::shared_ptr<Image>>;

class OPENBNNS_MPS_API State : public std::enable_shared_from_this<State> {
 public:
  virtual ~State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  bool isTemporary() const;
  std::size_t readCount() const;  // 0 unless temporary
  void setReadCount(std::size_t);
  virtual void synchronize(MTL::CommandBuffer&);
  virtual std::size_t resourceSize() const;
  std::string label;

 protected:
  explicit State(std::shared_ptr<impl::mps::StateStorage>);

 private:
  friend struct impl::mps::Access;
  std::shared_ptr<impl::mps::StateStorage> storage_;
};
using StateBatch = std::vector<std::shared_ptr<State>>;

// Over distinct objects; the number of them is returned. Temporary objects whose count is 0 stay as
// they are.
OPENBNNS_MPS_API std::size_t ImageBatchIncrementReadCount(const ImageBatch&, std::ptrdiff_t amount);
OPENBNNS_MPS_API std::size_t ImageBatchResourceSize(const ImageBatch&);
OPENBNNS_MPS_API void ImageBatchSynchronize(const ImageBatch&, MTL::CommandBuffer&);
// Calls the function with each distinct image and its first index. A result above the least
// std::ptrdiff_t ends the iteration; the last result is returned.
OPENBNNS_MPS_API std::ptrdiff_t ImageBatchIterate(
    const ImageBatch&,
    const std::function<std::ptrdiff_t(const std::shared_ptr<Image>&, std::size_t)>&);
OPENBNNS_MPS_API std::size_t StateBatchIncrementReadCount(const StateBatch&, std::ptrdiff_t amount);
OPENBNNS_MPS_API std::size_t StateBatchResourceSize(const StateBatch&);
OPENBNNS_MPS_API void StateBatchSynchronize(const StateBatch&, MTL::CommandBuffer&);

class Kernel;
class OPENBNNS_MPS_API ImageAllocator {
 public:
  virtual ~ImageAllocator() = default;
  virtual ImageBatch imageBatch(MTL::CommandBuffer&, const ImageDescriptor&, const Kernel&,
                                std::size_t count) = 0;
  static std::shared_ptr<ImageAllocator> images();           // MPSImage.defaultAllocator
  static std::shared_ptr<ImageAllocator> temporaryImages();  // MPSTemporaryImage.defaultAllocator
};

}  // namespace MPS
}  // namespace bnns

#endif

// Image, TemporaryImage, State and the allocators: what does not move bytes.
#include <limits>

#include "mps/command_buffer.h"
#include "mps/error.h"
#include "mps/image_storage.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

// Makes the protected constructors usable in this file.
template <class Base>
struct Made final : Base {
  explicit Made(StoragePtr storage) : Base(std::move(storage)) {}
};

std::shared_ptr<DeviceBase> shared_base(const std::shared_ptr<MTL::Device>& device,
                                        const char* where) {
  base_of(device, where);
  return std::static_pointer_cast<DeviceBase>(device);
}

struct Images final : ImageAllocator {
  ImageBatch imageBatch(MTL::CommandBuffer& buffer, const ImageDescriptor& descriptor,
                        const Kernel&, std::size_t count) override {
    ImageBatch batch;
    for (std::size_t i = 0; i < count; ++i)
      batch.push_back(Image::create(buffer.device(), descriptor));
    return batch;
  }
};

struct TemporaryImages final : ImageAllocator {
  ImageBatch imageBatch(MTL::CommandBuffer& buffer, const ImageDescriptor& descriptor,
                        const Kernel&, std::size_t count) override {
    ImageBatch batch;
    for (std::size_t i = 0; i < count; ++i)
      batch.push_back(TemporaryImage::create(buffer, descriptor));
    return batch;
  }
};

}  // namespace

Image::Image(StoragePtr storage) : storage_(std::move(storage)) {}

std::shared_ptr<Image> Image::create(std::shared_ptr<MTL::Device> device,
                                     const ImageDescriptor& descriptor) {
  return std::make_shared<Made<Image>>(
      std::make_shared<ImageStorage>(shared_base(device, "Image"), descriptor, std::nullopt));
}

std::shared_ptr<MTL::Device> Image::device() const {
  return storage_->device();
}
std::size_t Image::width() const {
  return storage_->width();
}
std::size_t Image::height() const {
  return storage_->height();
}
std::size_t Image::featureChannels() const {
  return storage_->channels();
}
std::size_t Image::numberOfImages() const {
  return storage_->descriptor().numberOfImages;
}
ImageFeatureChannelFormat Image::featureChannelFormat() const {
  return storage_->format().format;
}
std::size_t Image::precision() const {
  return storage_->format().precision;
}

// Of one slice: R, RG, or RGBA from three channels on.
std::size_t Image::pixelSize() const {
  const std::size_t channels = featureChannels() <= 2 ? featureChannels() : 4;
  return channels * storage_->format().bytes;
}

std::size_t Image::resourceSize() const {
  return storage_->bytes();
}

// Host memory needs no synchronisation; the call is checked like work that is recorded.
void Image::synchronize(MTL::CommandBuffer& buffer) {
  const CommandBufferImpl& impl = impl_of(buffer, *device(), "Image::synchronize");
  require(!impl.committed(), ErrorCode::InvalidState,
          "Image::synchronize: the command buffer is already committed");
}

TemporaryImage::TemporaryImage(StoragePtr storage) : Image(std::move(storage)) {}

std::shared_ptr<TemporaryImage> TemporaryImage::create(MTL::CommandBuffer& buffer,
                                                       const ImageDescriptor& descriptor) {
  const auto device = buffer.device();
  auto base = shared_base(device, "TemporaryImage");
  CommandBufferImpl& impl = impl_of(buffer, *device, "TemporaryImage");
  require(!impl.committed(), ErrorCode::InvalidState,
          "TemporaryImage: the command buffer is already committed");
  return std::make_shared<Made<TemporaryImage>>(std::make_shared<ImageStorage>(
      std::move(base), descriptor, Temporary{.buffer = impl.id(), .pool = impl.temporaries()}));
}

std::size_t TemporaryImage::readCount() const {
  return Access::storage(*this)->temporary->read_count;
}
void TemporaryImage::setReadCount(std::size_t count) {
  set_read_count(Access::storage(*this)->temporary, count, "TemporaryImage");
}

State::State(std::shared_ptr<StateStorage> storage) : storage_(std::move(storage)) {}

bool State::isTemporary() const {
  return storage_->temporary.has_value();
}
std::size_t State::readCount() const {
  return isTemporary() ? storage_->temporary->read_count : 0;
}
void State::setReadCount(std::size_t count) {
  set_read_count(storage_->temporary, count, "State");
}
void State::synchronize(MTL::CommandBuffer& buffer) {
  const CommandBufferImpl& impl = impl_of(buffer, *storage_->device(), "State::synchronize");
  require(!impl.committed(), ErrorCode::InvalidState,
          "State::synchronize: the command buffer is already committed");
}
std::size_t State::resourceSize() const {
  return 0;
}

std::shared_ptr<ImageAllocator> ImageAllocator::images() {
  static const auto one = std::make_shared<Images>();
  return one;
}

std::shared_ptr<ImageAllocator> ImageAllocator::temporaryImages() {
  static const auto one = std::make_shared<TemporaryImages>();
  return one;
}

}  // namespace bnns::MPS

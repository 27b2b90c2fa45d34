// What is behind an Image and a State, and how the kernels get there.
// Pixels are stored densely, height x width x channels, in the image's own element type; the
// padding of the last slice of four channels does not exist.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "mps/device.h"
#include "mps/formats.h"
#include "mps/progress.h"

namespace bnns::impl::mps {

class CommandBufferImpl;

// Of a temporary object: the command buffer it belongs to and how many encodes may still read it.
// The memory of an image comes from the pool of that buffer.
struct Temporary {
  uint64_t buffer;
  size_t read_count = 1;
  std::shared_ptr<TemporaryPool> pool = nullptr;
  Piece piece = {};

  // At 0 the memory goes back; work that is recorded may still use it.
  void set_read_count(size_t count) {
    read_count = count;
    if (count == 0 && pool != nullptr) pool->give(piece);
  }
};

// Sets the count of a temporary object; InvalidState if it is 0 already, or if there is none.
void set_read_count(std::optional<Temporary>& temporary, size_t count, const char* where);

class ImageStorage {
 public:
  ImageStorage(std::shared_ptr<DeviceBase> device, const MPS::ImageDescriptor& descriptor,
               std::optional<Temporary> temporary);
  ~ImageStorage();

  const std::shared_ptr<DeviceBase>& device() const { return device_; }
  const MPS::ImageDescriptor& descriptor() const { return descriptor_; }
  const FormatInfo& format() const { return *format_; }
  size_t width() const { return descriptor_.width; }
  size_t height() const { return descriptor_.height; }
  size_t channels() const { return descriptor_.featureChannels; }
  size_t elements() const { return width() * height() * channels(); }  // of one image
  size_t image_bytes() const { return elements() * format_->bytes; }
  size_t bytes() const { return image_bytes() * descriptor_.numberOfImages; }
  Memory& memory() const { return *memory_; }

  // The memory may hold values of another image.
  bool has_old_values() const { return temporary && temporary->piece.used; }

  // A committed buffer uses the image; the host waits for it before it reads or writes.
  void add_user(const std::shared_ptr<Progress>& buffer);
  void wait_for_users();

  std::optional<Temporary> temporary;

 private:
  std::shared_ptr<DeviceBase> device_;
  MPS::ImageDescriptor descriptor_;
  const FormatInfo* format_;
  std::shared_ptr<Memory> memory_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Progress>> users_;
};

class StateStorage {
 public:
  StateStorage(std::shared_ptr<DeviceBase> device, std::optional<Temporary> temporary)
      : temporary(temporary), device_(std::move(device)) {}
  const std::shared_ptr<DeviceBase>& device() const { return device_; }

  std::optional<Temporary> temporary;

 private:
  std::shared_ptr<DeviceBase> device_;
};

// The way from a public object to what is behind it.
struct Access {
  static const StoragePtr& storage(const MPS::Image& image) { return image.storage_; }
  static StateStorage& storage(const MPS::State& state) { return *state.storage_; }
  static std::span<const std::byte> data(const MPS::CNNLossDataDescriptor& descriptor) {
    return descriptor.data_;
  }
};

inline StoragePtr storage_of(const std::shared_ptr<MPS::Image>& image) {
  return image == nullptr ? nullptr : Access::storage(*image);
}

}  // namespace bnns::impl::mps

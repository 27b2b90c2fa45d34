#include "mps/image_storage.h"

#include <algorithm>
#include <cstdint>

#include "mps/error.h"

namespace bnns::impl::mps {
namespace {

// The bytes of all images; OutOfMemory if they do not fit in 63 bits.
size_t checked_bytes(const MPS::ImageDescriptor& d, const FormatInfo& format) {
  size_t bytes = format.bytes;
  bool fits = true;
  for (const size_t factor : {d.width, d.height, d.featureChannels, d.numberOfImages})
    fits = fits && !__builtin_mul_overflow(bytes, factor, &bytes);
  require(fits && bytes <= size_t{INT64_MAX}, ErrorCode::OutOfMemory, "Image: ", d.width, " x ",
          d.height, " pixels, ", d.featureChannels, " channels, ", d.numberOfImages,
          " images have more bytes than fit in 63 bits");
  return bytes;
}

const FormatInfo* checked_format(const MPS::ImageDescriptor& d) {
  const FormatInfo* format = find_format(d.channelFormat);
  require(format != nullptr, ErrorCode::InvalidArgument, "Image: channelFormat is ",
          static_cast<uint64_t>(d.channelFormat),
          "; it must be Unorm8, Unorm16, Float16 or Float32");
  require(d.width > 0 && d.height > 0 && d.featureChannels > 0 && d.numberOfImages > 0,
          ErrorCode::InvalidArgument, "Image: width ", d.width, ", height ", d.height,
          ", featureChannels ", d.featureChannels, ", numberOfImages ", d.numberOfImages,
          "; each must be at least 1");
  return format;
}

}  // namespace

void set_read_count(std::optional<Temporary>& temporary, size_t count, const char* where) {
  require(temporary.has_value(), ErrorCode::InvalidState, where,
          "::setReadCount: the object is not temporary");
  require(temporary->read_count > 0, ErrorCode::InvalidState, where,
          "::setReadCount: the read count is already 0");
  temporary->set_read_count(count);
}

ImageStorage::ImageStorage(std::shared_ptr<DeviceBase> device,
                           const MPS::ImageDescriptor& descriptor,
                           std::optional<Temporary> temporary)
    : temporary(std::move(temporary)),
      device_(std::move(device)),
      descriptor_(descriptor),
      format_(checked_format(descriptor)) {
  const size_t size = checked_bytes(descriptor, *format_);
  Temporary* const own = this->temporary ? &*this->temporary : nullptr;
  if (own != nullptr && own->pool != nullptr) {
    own->piece = own->pool->take(size);
    memory_ = own->piece.memory;
  } else {
    memory_ = device_->allocate(size);
  }
  require(memory_ != nullptr, ErrorCode::OutOfMemory, "Image: ", size,
          " bytes cannot be allocated on device ", device_->name());
}

// Recorded work holds the storage, so that nothing can use the memory of a temporary image here.
ImageStorage::~ImageStorage() {
  if (temporary && temporary->read_count > 0) temporary->set_read_count(0);
}

void ImageStorage::add_user(const std::shared_ptr<Progress>& buffer) {
  const std::lock_guard lock(mutex_);
  if (!users_.empty() && users_.back() == buffer) return;
  std::erase_if(users_, [](const auto& user) { return user->executed(); });
  users_.push_back(buffer);
}

void ImageStorage::wait_for_users() {
  std::vector<std::shared_ptr<Progress>> users;
  {
    const std::lock_guard lock(mutex_);
    std::erase_if(users_, [](const auto& user) { return user->executed(); });
    users = users_;
  }
  for (const auto& user : users) user->wait_until_executed();
}

}  // namespace bnns::impl::mps

// Bytes between the host and images: rectangles in both layouts, and whole images as floats.
#include <cstring>

#include "mps/error.h"
#include "mps/image_storage.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

// A rectangle of one or more images, as it lies in the client's memory.
struct Transfer {
  DataLayout layout;
  std::size_t bytes_per_row, bytes_per_image;
  MTL::Region region;
  std::size_t first_channel, channels;
  std::size_t image;

  // Bytes from one element to its neighbours in the client's memory; element size e.
  std::size_t pixel_step(std::size_t e) const { return hwc() ? channels * e : e; }
  std::size_t channel_step(std::size_t e) const {
    return hwc() ? e : region.size.height * bytes_per_row;
  }
  bool hwc() const { return layout == DataLayout::HeightxWidthxFeatureChannels; }
};

void check_layout(DataLayout layout, const char* call) {
  require(layout == DataLayout::HeightxWidthxFeatureChannels ||
              layout == DataLayout::FeatureChannelsxHeightxWidth,
          ErrorCode::InvalidArgument, call, ": dataLayout is ", static_cast<std::uint64_t>(layout),
          "; it must be 0 or 1");
}

void check_access(const ImageStorage& image, const void* bytes, const char* call) {
  require(!image.temporary.has_value(), ErrorCode::InvalidState, call,
          ": a temporary image has no bytes for the CPU");
  require(bytes != nullptr, ErrorCode::InvalidArgument, call, ": the pointer is null");
}

bool inside(std::size_t first, std::size_t count, std::size_t all) {
  return count > 0 && first < all && count <= all - first;
}

void check_channels(const ImageStorage& image, const ImageReadWriteParams& info, const char* call) {
  const std::size_t first = info.featureChannelOffset;
  const std::size_t count = info.numberOfFeatureChannelsToReadWrite;
  require(inside(first, count, image.channels()), ErrorCode::InvalidArgument, call, ": channels ",
          first, " + ", count, " of ", image.channels(), "; they must lie inside the image");
  require(first % 4 == 0, ErrorCode::InvalidArgument, call, ": featureChannelOffset is ", first,
          "; it must be a multiple of 4");
  const bool ends = first + count == image.channels();
  require(count % 4 == 0 || first == 0 || ends, ErrorCode::InvalidArgument, call,
          ": numberOfFeatureChannelsToReadWrite is ", count,
          "; it must be a multiple of 4 unless it begins or ends with the image");
}

void check_rectangle(const ImageStorage& image, const Transfer& t, const char* call) {
  const auto& [origin, size] = t.region;
  require(
      inside(origin.x, size.width, image.width()) && inside(origin.y, size.height, image.height()),
      ErrorCode::InvalidArgument, call, ": region at ", origin.x, ", ", origin.y, " of ",
      size.width, " x ", size.height, "; it must lie inside ", image.width(), " x ",
      image.height());
  require(origin.z == 0, ErrorCode::InvalidArgument, call, ": region.origin.z is ", origin.z,
          "; it must be 0");
  require(inside(t.image, size.depth, image.descriptor().numberOfImages),
          ErrorCode::InvalidArgument, call, ": images ", t.image, " + ", size.depth, " of ",
          image.descriptor().numberOfImages,
          "; they must exist (region.size.depth is their number)");
  // Sizes inside an image cannot overflow; the client's strides can.
  const std::size_t e = image.format().bytes;
  const std::size_t row = size.width * e * (t.hwc() ? t.channels : 1);
  require(t.bytes_per_row >= row, ErrorCode::InvalidArgument, call, ": bytesPerRow is ",
          t.bytes_per_row, "; a row has ", row, " bytes");
  if (size.depth == 1) return;
  std::size_t least;
  const std::size_t rows = size.height * (t.hwc() ? 1 : t.channels);
  const bool overflows = __builtin_mul_overflow(t.bytes_per_row, rows - 1, &least) ||
                         __builtin_add_overflow(least, row, &least);
  require(!overflows && t.bytes_per_image >= least, ErrorCode::InvalidArgument, call,
          ": bytesPerImage is ", t.bytes_per_image, "; an image needs ", least, " bytes");
}

// Calls move(stored, client, bytes) for every contiguous piece.
template <class Move>
void for_each_piece(const ImageStorage& image, const Transfer& t, std::size_t e, const Move& move) {
  const auto& [origin, size] = t.region;
  for (std::size_t n = 0; n < size.depth; ++n) {
    for (std::size_t y = 0; y < size.height; ++y) {
      for (std::size_t x = 0; x < size.width; ++x) {
        const std::size_t pixel = (origin.y + y) * image.width() + origin.x + x;
        const std::size_t stored =
            (t.image + n) * image.image_bytes() + (pixel * image.channels() + t.first_channel) * e;
        const std::size_t client =
            n * t.bytes_per_image + y * t.bytes_per_row + x * t.pixel_step(e);
        if (t.hwc()) {
          move(stored, client, t.channels * e);
          continue;
        }
        for (std::size_t c = 0; c < t.channels; ++c)
          move(stored + c * e, client + c * t.channel_step(e), e);
      }
    }
  }
}

Transfer whole_image(const ImageStorage& image, DataLayout layout, std::size_t index) {
  const std::size_t row = image.width() * image.format().bytes;
  const bool hwc = layout == DataLayout::HeightxWidthxFeatureChannels;
  return {.layout = layout,
          .bytes_per_row = hwc ? row * image.channels() : row,
          .bytes_per_image = image.image_bytes(),
          .region = {{0, 0, 0}, {image.width(), image.height(), 1}},
          .first_channel = 0,
          .channels = image.channels(),
          .image = index};
}

void read(ImageStorage& image, const Transfer& t, void* to, const char* call) {
  check_rectangle(image, t, call);
  image.wait_for_users();
  auto* const client = static_cast<std::byte*>(to);
  with_bytes(image.memory(), false, [&](const std::byte* bytes) {
    for_each_piece(image, t, image.format().bytes,
                   [&](std::size_t stored, std::size_t at, std::size_t n) {
                     std::memcpy(client + at, bytes + stored, n);
                   });
  });
}

void write(ImageStorage& image, const Transfer& t, const void* from, const char* call) {
  check_rectangle(image, t, call);
  image.wait_for_users();
  const auto* const client = static_cast<const std::byte*>(from);
  with_bytes(image.memory(), true, [&](std::byte* bytes) {
    for_each_piece(image, t, image.format().bytes,
                   [&](std::size_t stored, std::size_t at, std::size_t n) {
                     std::memcpy(bytes + stored, client + at, n);
                   });
  });
}

// Position in a dense array of the layout channels x height x width, for the index-th stored
// element.
std::size_t position(const ImageStorage& image, std::size_t index) {
  const std::size_t n = index / image.elements(), i = index % image.elements();
  const std::size_t pixel = i / image.channels(), c = i % image.channels();
  return n * image.elements() + c * image.width() * image.height() + pixel;
}

}  // namespace

void Image::readBytes(void* bytes, DataLayout layout, std::size_t imageIndex) const {
  constexpr const char* kCall = "Image::readBytes";
  check_access(*storage_, bytes, kCall);
  check_layout(layout, kCall);
  read(*storage_, whole_image(*storage_, layout, imageIndex), bytes, kCall);
}

void Image::writeBytes(const void* bytes, DataLayout layout, std::size_t imageIndex) {
  constexpr const char* kCall = "Image::writeBytes";
  check_access(*storage_, bytes, kCall);
  check_layout(layout, kCall);
  write(*storage_, whole_image(*storage_, layout, imageIndex), bytes, kCall);
}

void Image::readBytes(void* bytes, DataLayout layout, std::size_t bytesPerRow,
                      std::size_t bytesPerImage, const MTL::Region& region,
                      const ImageReadWriteParams& info, std::size_t imageIndex) const {
  constexpr const char* kCall = "Image::readBytes";
  check_access(*storage_, bytes, kCall);
  check_layout(layout, kCall);
  check_channels(*storage_, info, kCall);
  read(*storage_,
       {layout, bytesPerRow, bytesPerImage, region, info.featureChannelOffset,
        info.numberOfFeatureChannelsToReadWrite, imageIndex},
       bytes, kCall);
}

void Image::writeBytes(const void* bytes, DataLayout layout, std::size_t bytesPerRow,
                       std::size_t bytesPerImage, const MTL::Region& region,
                       const ImageReadWriteParams& info, std::size_t imageIndex) {
  constexpr const char* kCall = "Image::writeBytes";
  check_access(*storage_, bytes, kCall);
  check_layout(layout, kCall);
  check_channels(*storage_, info, kCall);
  write(*storage_,
        {layout, bytesPerRow, bytesPerImage, region, info.featureChannelOffset,
         info.numberOfFeatureChannelsToReadWrite, imageIndex},
        bytes, kCall);
}

std::vector<float> Image::toFloats(DataLayout layout) const {
  constexpr const char* kCall = "Image::toFloats";
  check_access(*storage_, this, kCall);
  check_layout(layout, kCall);
  const std::size_t count = storage_->elements() * numberOfImages();
  std::vector<float> stored(count);
  storage_->wait_for_users();
  with_bytes(storage_->memory(), false,
             [&](const std::byte* bytes) { storage_->format().load(bytes, count, stored.data()); });
  if (layout == DataLayout::HeightxWidthxFeatureChannels) return stored;
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[position(*storage_, i)] = stored[i];
  return values;
}

void Image::fromFloats(std::span<const float> values, DataLayout layout) {
  constexpr const char* kCall = "Image::fromFloats";
  check_access(*storage_, this, kCall);
  check_layout(layout, kCall);
  const std::size_t count = storage_->elements() * numberOfImages();
  require(values.size() == count, ErrorCode::InvalidArgument, kCall, ": ", values.size(),
          " values for ", count, " elements");
  std::vector<float> stored;
  if (layout == DataLayout::FeatureChannelsxHeightxWidth) {
    stored.resize(count);
    for (std::size_t i = 0; i < count; ++i) stored[i] = values[position(*storage_, i)];
    values = stored;
  }
  storage_->wait_for_users();
  with_bytes(storage_->memory(), true,
             [&](std::byte* bytes) { storage_->format().store(values.data(), count, bytes); });
}

}  // namespace bnns::MPS

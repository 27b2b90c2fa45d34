// CNNLossDataDescriptor and CNNLossLabels: labels and weights of a one-shot loss, and its result.
#include <cstring>

#include "mps/error.h"
#include "mps/image_storage.h"

namespace bnns::MPS {

using namespace impl::mps;

namespace {

constexpr const char* kData = "CNNLossDataDescriptor";
constexpr const char* kLabels = "CNNLossLabels";

struct Rows {
  std::size_t bytes;  // of one row
  std::size_t count;
};

bool is_hwc(DataLayout layout) {
  return layout == DataLayout::HeightxWidthxFeatureChannels;
}

Rows rows_of(DataLayout layout, const MTL::Size& size) {
  return is_hwc(layout) ? Rows{size.width * size.depth * sizeof(float), size.height}
                        : Rows{size.width * sizeof(float), size.height * size.depth};
}

// The bytes that an image of this size and row stride reaches over.
std::size_t span_of(DataLayout layout, const MTL::Size& size, std::size_t bytes_per_row) {
  const Rows rows = rows_of(layout, size);
  std::size_t span;
  const bool overflows = __builtin_mul_overflow(bytes_per_row, rows.count - 1, &span) ||
                         __builtin_add_overflow(span, rows.bytes, &span);
  require(!overflows, ErrorCode::InvalidArgument, kData, ": bytesPerRow is ", bytes_per_row,
          "; the size of the image overflows");
  return span;
}

std::shared_ptr<Image> image_of(const std::shared_ptr<MTL::Device>& device,
                                const CNNLossDataDescriptor& data) {
  const MTL::Size size = data.size();
  auto image = Image::create(device, {.channelFormat = ImageFeatureChannelFormat::Float32,
                                      .width = size.width,
                                      .height = size.height,
                                      .featureChannels = size.depth});
  image->writeBytes(Access::data(data).data(), data.layout(), data.bytesPerRow(),
                    data.bytesPerImage(), {{0, 0, 0}, {size.width, size.height, 1}},
                    {0, size.depth}, 0);
  return image;
}

struct Made final : CNNLossLabels {
  Made(std::shared_ptr<MTL::Device> device, MTL::Size size, std::shared_ptr<Image> labels,
       std::shared_ptr<Image> weights)
      : CNNLossLabels(std::move(device), size, std::move(labels), std::move(weights)) {}
};

}  // namespace

CNNLossDataDescriptor::CNNLossDataDescriptor(std::span<const std::byte> data, DataLayout layout,
                                             MTL::Size size)
    : layout_(layout), size_(size) {
  require(is_hwc(layout) || layout == DataLayout::FeatureChannelsxHeightxWidth,
          ErrorCode::InvalidArgument, kData, ": layout is ", static_cast<std::uint64_t>(layout),
          "; it must be 0 or 1");
  require(size.width > 0 && size.height > 0 && size.depth > 0, ErrorCode::InvalidArgument, kData,
          ": size is ", size.width, " x ", size.height, " x ", size.depth,
          "; each must be at least 1");
  std::size_t bytes = sizeof(float);
  bool fits = true;
  for (const std::size_t factor : {size.width, size.height, size.depth})
    fits = fits && !__builtin_mul_overflow(bytes, factor, &bytes);
  require(fits && data.size() >= bytes, ErrorCode::InvalidArgument, kData, ": data has ",
          data.size(), " bytes; ", size.width, " x ", size.height, " x ", size.depth,
          " floats need more");
  bytesPerRow_ = rows_of(layout, size).bytes;
  bytesPerImage_ = bytes;
  data_.assign(data.begin(), data.end());
}

void CNNLossDataDescriptor::setBytesPerRow(std::size_t value) {
  require(value >= rows_of(layout_, size_).bytes, ErrorCode::InvalidArgument, kData,
          ": bytesPerRow is ", value, "; a row has ", rows_of(layout_, size_).bytes, " bytes");
  require(span_of(layout_, size_, value) <= data_.size(), ErrorCode::InvalidArgument, kData,
          ": bytesPerRow is ", value, "; the data has only ", data_.size(), " bytes");
  bytesPerRow_ = value;
}

void CNNLossDataDescriptor::setBytesPerImage(std::size_t value) {
  require(value >= span_of(layout_, size_, bytesPerRow_) && value <= data_.size(),
          ErrorCode::InvalidArgument, kData, ": bytesPerImage is ", value,
          "; it must be from the size of the image, ", span_of(layout_, size_, bytesPerRow_),
          ", to that of the data, ", data_.size());
  bytesPerImage_ = value;
}

CNNLossLabels::CNNLossLabels(std::shared_ptr<MTL::Device> device, MTL::Size lossImageSize,
                             std::shared_ptr<Image> labels, std::shared_ptr<Image> weights)
    : State(std::make_shared<StateStorage>(std::static_pointer_cast<DeviceBase>(device),
                                           std::nullopt)),
      loss_(Image::create(device, {.channelFormat = ImageFeatureChannelFormat::Float32,
                                   .width = lossImageSize.width,
                                   .height = lossImageSize.height,
                                   .featureChannels = lossImageSize.depth})),
      labels_(std::move(labels)),
      weights_(std::move(weights)) {}

std::shared_ptr<CNNLossLabels> CNNLossLabels::create(std::shared_ptr<MTL::Device> device,
                                                     const CNNLossDataDescriptor& labels) {
  return create(std::move(device), MTL::Size{1, 1, 1}, labels);
}

std::shared_ptr<CNNLossLabels> CNNLossLabels::create(std::shared_ptr<MTL::Device> device,
                                                     MTL::Size lossImageSize,
                                                     const CNNLossDataDescriptor& labels,
                                                     const CNNLossDataDescriptor* weights) {
  base_of(device, kLabels);
  auto labels_image = image_of(device, labels);
  auto weights_image = weights == nullptr ? nullptr : image_of(device, *weights);
  return create(std::move(device), lossImageSize, std::move(labels_image),
                std::move(weights_image));
}

std::shared_ptr<CNNLossLabels> CNNLossLabels::create(std::shared_ptr<MTL::Device> device,
                                                     MTL::Size lossImageSize,
                                                     std::shared_ptr<Image> labels,
                                                     std::shared_ptr<Image> weights) {
  base_of(device, kLabels);
  require(labels != nullptr, ErrorCode::InvalidArgument, kLabels, ": labelsImage is null");
  require(labels->device() == device, ErrorCode::DeviceMismatch, kLabels,
          ": labelsImage belongs to another device");
  require(weights == nullptr || weights->device() == device, ErrorCode::DeviceMismatch, kLabels,
          ": weightsImage belongs to another device");
  return std::make_shared<Made>(std::move(device), lossImageSize, std::move(labels),
                                std::move(weights));
}

std::size_t CNNLossLabels::resourceSize() const {
  return loss_->resourceSize() + labels_->resourceSize() +
         (weights_ == nullptr ? 0 : weights_->resourceSize());
}

}  // namespace bnns::MPS

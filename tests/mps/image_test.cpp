// Images, batches, loss data and labels: properties, rectangles, refusals.
#include <limits>

#include "support.h"

namespace mps_test {
namespace {

constexpr auto kHWC = MPS::DataLayout::HeightxWidthxFeatureChannels;
constexpr auto kCHW = MPS::DataLayout::FeatureChannelsxHeightxWidth;

TEST(Image, Properties) {
  const auto device = test_device();
  const struct {
    Format format;
    std::size_t precision, bytes;
  } formats[] = {{Format::Unorm8, 8, 1},
                 {Format::Unorm16, 16, 2},
                 {Format::Float16, 11, 2},
                 {Format::Float32, 24, 4}};
  for (const auto& [format, precision, bytes] : formats) {
    for (const std::size_t channels : {1, 2, 3, 4, 9}) {
      const auto one = MPS::Image::create(device, {format, 5, 3, channels, 2});
      EXPECT_EQ(one->width(), 5u);
      EXPECT_EQ(one->height(), 3u);
      EXPECT_EQ(one->featureChannels(), channels);
      EXPECT_EQ(one->numberOfImages(), 2u);
      EXPECT_EQ(one->featureChannelFormat(), format);
      EXPECT_EQ(one->precision(), precision);
      EXPECT_EQ(one->pixelSize(), bytes * (channels <= 2 ? channels : 4));
      EXPECT_EQ(one->resourceSize(), 5 * 3 * channels * 2 * bytes);
      EXPECT_EQ(one->device(), device);
      EXPECT_FALSE(one->isTemporary());
      EXPECT_EQ(one->toFloats(), std::vector<float>(5 * 3 * channels * 2, 0));
    }
  }
}

// A rectangle of channels 4.. of two images, with padded rows and images, in both layouts.
TEST(Image, Rectangles) {
  const auto device = test_device();
  const std::size_t w = 4, h = 3, c = 10, n = 3;
  const auto one = MPS::Image::create(device, {Format::Float32, w, h, c, n});
  std::vector<float> all(w * h * c * n);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i);
  one->fromFloats(all);
  const MTL::Region region{{1, 1, 0}, {2, 2, 2}};
  for (const auto layout : {kHWC, kCHW}) {
    for (const std::size_t count : {4, 6}) {
      const bool hwc = layout == kHWC;
      const std::size_t row = (hwc ? 2 * count : 2) + 3;
      const std::size_t image_step = row * (hwc ? 2 : 2 * count) + 5;
      std::vector<float> part(image_step * 2, -1);
      one->readBytes(part.data(), layout, row * 4, image_step * 4, region, {4, count}, 1);
      std::size_t touched = 0;
      for (std::size_t k = 0; k < 2; ++k)
        for (std::size_t y = 0; y < 2; ++y)
          for (std::size_t x = 0; x < 2; ++x)
            for (std::size_t ch = 0; ch < count; ++ch) {
              const std::size_t at = hwc ? y * row + x * count + ch : (ch * 2 + y) * row + x;
              EXPECT_EQ(part[k * image_step + at],
                        all[(((k + 1) * h + y + 1) * w + x + 1) * c + 4 + ch]);
              ++touched;
            }
      std::size_t left = 0;
      for (const float v : part) left += v == -1;
      EXPECT_EQ(left, part.size() - touched) << "padding is not written";
      const auto other = MPS::Image::create(device, {Format::Float32, w, h, c, n});
      other->writeBytes(part.data(), layout, row * 4, image_step * 4, region, {4, count}, 1);
      std::vector<float> back(part.size(), -1);
      other->readBytes(back.data(), layout, row * 4, image_step * 4, region, {4, count}, 1);
      EXPECT_EQ(back, part);
    }
  }
}

TEST(Image, RefusedTransfers) {
  const auto device = test_device();
  const auto one = MPS::Image::create(device, {Format::Float32, 4, 3, 10, 2});
  std::vector<float> bytes(4 * 3 * 10 * 2);
  constexpr std::size_t kHuge = std::numeric_limits<std::size_t>::max();
  const auto code = [&](MTL::Region region, MPS::ImageReadWriteParams info, std::size_t index,
                        std::size_t row = 160, std::size_t image = 480) {
    const auto write =
        code_of([&] { one->writeBytes(bytes.data(), kHWC, row, image, region, info, index); });
    const auto read =
        code_of([&] { one->readBytes(bytes.data(), kHWC, row, image, region, info, index); });
    EXPECT_EQ(read, write);
    return read;
  };
  const MTL::Region all{{0, 0, 0}, {4, 3, 1}};
  EXPECT_EQ(code(all, {0, 10}, 1), std::nullopt);
  EXPECT_EQ(code(all, {0, 3}, 0), std::nullopt);
  EXPECT_EQ(code(all, {8, 2}, 0), std::nullopt);
  EXPECT_EQ(code({{0, 0, 0}, {4, 3, 2}}, {0, 10}, 0), std::nullopt);
  constexpr auto kBad = Code::InvalidArgument;
  EXPECT_EQ(code(all, {0, 10}, 2), kBad);
  EXPECT_EQ(code({{0, 0, 0}, {4, 3, 2}}, {0, 10}, 1), kBad);
  EXPECT_EQ(code({{0, 0, 0}, {4, 3, 2}}, {0, 10}, 0, 160, 479), kBad);
  EXPECT_EQ(code({{1, 0, 0}, {4, 3, 1}}, {0, 10}, 0), kBad);
  EXPECT_EQ(code({{0, 1, 0}, {4, kHuge, 1}}, {0, 10}, 0), kBad);
  EXPECT_EQ(code({{0, 0, 1}, {4, 3, 1}}, {0, 10}, 0), kBad);
  EXPECT_EQ(code({{0, 0, 0}, {0, 3, 1}}, {0, 10}, 0), kBad);
  EXPECT_EQ(code(all, {0, 10}, 0, 159), kBad);
  EXPECT_EQ(code(all, {0, 0}, 0), kBad);
  EXPECT_EQ(code(all, {0, 11}, 0), kBad);
  EXPECT_EQ(code(all, {2, 4}, 0), kBad);
  EXPECT_EQ(code(all, {4, 3}, 0), kBad);
  EXPECT_EQ(code_of([&] { one->readBytes(nullptr, kHWC, 0); }), kBad);
  EXPECT_EQ(code_of([&] { one->readBytes(bytes.data(), static_cast<MPS::DataLayout>(2), 0); }),
            kBad);
  EXPECT_EQ(code_of([&] { one->fromFloats(std::vector<float>(5)); }), kBad);
}

TEST(Batches, DistinctObjects) {
  const auto device = test_device();
  const auto batch = images(device, 2, {2, 2, 2});
  const MPS::ImageBatch repeated{batch[0], batch[1], batch[0]};
  EXPECT_EQ(MPS::ImageBatchResourceSize(repeated), 64u);
  EXPECT_EQ(MPS::ImageBatchIncrementReadCount(repeated, 1), 2u);
  constexpr auto kGoOn = std::numeric_limits<std::ptrdiff_t>::min();
  std::vector<std::size_t> seen;
  EXPECT_EQ(MPS::ImageBatchIterate(repeated,
                                   [&](const auto&, std::size_t i) {
                                     seen.push_back(i);
                                     return kGoOn;
                                   }),
            kGoOn);
  EXPECT_EQ(seen, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(MPS::ImageBatchIterate(repeated, [](const auto&, std::size_t) { return 5; }), 5);
  const auto buffer = device->newCommandQueue()->commandBuffer();
  MPS::ImageBatchSynchronize(repeated, *buffer);
  const MPS::StateBatch states =
      MPS::NNForwardLoss(device, {Type::Huber, Reduction::Sum}).resultStateBatch(batch);
  EXPECT_EQ(MPS::StateBatchIncrementReadCount(states, 3), 2u);
  EXPECT_EQ(states[0]->readCount(), 0u);
  MPS::StateBatchSynchronize(states, *buffer);
  EXPECT_GT(MPS::StateBatchResourceSize(states), 0u);
  EXPECT_EQ(code_of([&] { MPS::ImageBatchResourceSize({nullptr}); }), Code::InvalidArgument);
}

// ---- One-shot losses ----

TEST(OneShot, LabelsFromData) {
  const auto device = test_device();
  std::vector<float> values{0, 1, 2, 3, 9, 4, 5, 6, 7, 9};
  const auto bytes = std::as_bytes(std::span(values));
  MPS::CNNLossDataDescriptor data(bytes, kHWC, {2, 2, 2});
  EXPECT_EQ(data.bytesPerRow(), 16u);
  EXPECT_EQ(data.bytesPerImage(), 32u);
  EXPECT_EQ(code_of([&] { data.setBytesPerRow(15); }), Code::InvalidArgument);
  EXPECT_EQ(code_of([&] { data.setBytesPerRow(32); }), Code::InvalidArgument);
  EXPECT_EQ(code_of([&] { data.setBytesPerImage(41); }), Code::InvalidArgument);
  data.setBytesPerRow(20);
  data.setBytesPerImage(40);
  const auto labels = MPS::CNNLossLabels::create(device, data);
  EXPECT_EQ(labels->labelsImage()->toFloats(), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(labels->weightsImage(), nullptr);
  EXPECT_EQ(labels->lossImage()->width(), 1u);
  EXPECT_EQ(labels->resourceSize(), 36u);
  const MPS::CNNLossDataDescriptor planar(bytes, kCHW, {2, 2, 2});
  EXPECT_EQ(planar.bytesPerRow(), 8u);
  EXPECT_EQ(
      MPS::CNNLossLabels::create(device, {2, 2, 2}, planar, &data)->weightsImage()->toFloats(),
      labels->labelsImage()->toFloats());
  constexpr auto kBad = Code::InvalidArgument;
  EXPECT_EQ(code_of([&] { MPS::CNNLossDataDescriptor(bytes, kHWC, {11, 1, 1}); }), kBad);
  EXPECT_EQ(code_of([&] { MPS::CNNLossDataDescriptor(bytes, kHWC, {0, 1, 1}); }), kBad);
  EXPECT_EQ(code_of([&] { MPS::CNNLossLabels::create(device, {1, 1, 1}, nullptr); }), kBad);
  EXPECT_EQ(code_of([&] { MPS::CNNLossLabels::create(nullptr, data); }), kBad);
  EXPECT_EQ(code_of([&] { MPS::CNNLossLabels::create(device, {0, 1, 1}, data); }), kBad);
}

TEST(OneShot, Refusals) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const Extent e{2, 2, 3};
  const MPS::CNNLoss kernel(device, MPS::CNNLossDescriptor(Type::Huber, Reduction::Sum));
  const auto source = image(device, e), destination = image(device, e);
  const auto label_image = image(device, e);
  const auto make = [&](MTL::Size size) {
    return MPS::CNNLossLabels::create(device, size, label_image);
  };
  const auto buffer = queue->commandBuffer();
  const auto code = [&](const auto& labels, const auto& to) {
    return code_of([&] { kernel.encode(*buffer, source, labels, to); });
  };
  EXPECT_EQ(code(make({1, 1, 1}), destination), std::nullopt);
  EXPECT_EQ(code(make({2, 2, 3}), destination), Code::ShapeMismatch);
  EXPECT_EQ(code(std::shared_ptr<MPS::CNNLossLabels>(), destination), Code::InvalidArgument);
  EXPECT_EQ(code(make({1, 1, 1}), source), Code::Aliasing);
  EXPECT_EQ(code(make({1, 1, 1}), std::shared_ptr<MPS::Image>()), Code::InvalidArgument);
  const auto same = make({1, 1, 1});
  EXPECT_EQ(code_of([&] {
              kernel.encodeBatch(*buffer, {source, source}, {same, same});
            }),
            Code::Aliasing)
      << "one loss image for two images";
  const auto result = kernel.encode(*buffer, source, make({1, 1, 1}));
  EXPECT_TRUE(result->isTemporary());
  EXPECT_EQ(result->featureChannelFormat(), Format::Float32);
}

TEST(OneShot, YoloRefusals) {
  const auto device = test_device();
  const std::vector<float> anchors{1, 2, 2, 1};
  const auto make = [&](std::span<const float> boxes) {
    return MPS::CNNYOLOLossDescriptor(Type::MeanSquaredError, Type::Huber,
                                      Type::SigmoidCrossEntropy, Type::SoftMaxCrossEntropy,
                                      Reduction::Sum, boxes);
  };
  const auto code = [&](const MPS::CNNYOLOLossDescriptor& yolo) {
    return code_of([&] { MPS::CNNYOLOLoss(device, yolo); });
  };
  EXPECT_EQ(code(make(anchors)), std::nullopt);
  EXPECT_EQ(code(make({})), Code::InvalidArgument);
  EXPECT_EQ(code(make(std::span(anchors).first(3))), Code::InvalidArgument);
  auto other = make(anchors);
  other.WHLossDescriptor.reductionType = Reduction::Mean;
  EXPECT_EQ(code(other), Code::InvalidArgument);
  auto yolo = make(anchors);
  yolo.classesLossDescriptor.numberOfClasses = 2;
  const MPS::CNNYOLOLoss kernel(device, yolo);
  EXPECT_EQ(kernel.numberOfAnchorBoxes(), 2u);
  EXPECT_EQ(kernel.lossXY()->lossType(), Type::MeanSquaredError);
  EXPECT_EQ(kernel.lossWH()->lossType(), Type::Huber);
  EXPECT_EQ(kernel.lossConfidence()->lossType(), Type::SigmoidCrossEntropy);
  EXPECT_EQ(kernel.lossClasses()->lossType(), Type::SoftMaxCrossEntropy);
  EXPECT_EQ(kernel.minIOUForObjectPresence(), yolo.minIOUForObjectPresence);
  EXPECT_EQ(kernel.maxIOUForObjectAbsence(), yolo.maxIOUForObjectAbsence);
  EXPECT_FALSE(kernel.isBackwards());
  EXPECT_FALSE(kernel.isStateModified());
  EXPECT_FALSE(kernel.isResultStateReusedAcrossBatch());
  EXPECT_EQ(kernel.copy()->anchorBoxes(), anchors);
  EXPECT_EQ(code_of([&] { kernel.encode(); }), Code::Unsupported);
  const auto buffer = device->newCommandQueue()->commandBuffer();
  for (const std::size_t channels : {13, 14, 15}) {
    const auto source = image(device, {1, 1, channels});
    const auto labels =
        MPS::CNNLossLabels::create(device, {1, 1, 1}, image(device, {1, 1, channels}));
    const auto result = code_of([&] { kernel.encode(*buffer, source, labels); });
    EXPECT_EQ(result, channels == 14 ? std::nullopt : std::optional(Code::ShapeMismatch));
  }
}

// None: each loss at its channel; the other reductions are the sum of these, divided.
TEST(OneShot, YoloReductions) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const std::vector<float> anchors{1, 2, 2, 1};
  const Extent e{2, 1, 14};
  std::vector<float> values(28), truth(28, 0);
  for (std::size_t i = 0; i < 28; ++i) values[i] = 0.125f * static_cast<float>(i % 7) - 0.25f;
  for (const std::size_t a : {0, 7}) {
    truth[a] = truth[a + 1] = 0.5f;
    truth[a + 2] = truth[a + 3] = truth[a + 4] = truth[a + 5] = 1;
  }
  std::vector<float> losses[4];
  for (int r = 0; r < 4; ++r) {
    MPS::CNNYOLOLossDescriptor yolo(Type::MeanSquaredError, Type::Huber, Type::SigmoidCrossEntropy,
                                    Type::SoftMaxCrossEntropy, static_cast<Reduction>(r), anchors);
    yolo.classesLossDescriptor.numberOfClasses = 2;
    const MPS::CNNYOLOLoss kernel(device, yolo);
    const auto labels =
        MPS::CNNLossLabels::create(device, r == 0 ? MTL::Size{2, 1, 14} : MTL::Size{1, 1, 1},
                                   image(device, e, Format::Float32, truth));
    const auto source = image(device, e, Format::Float32, values);
    run(queue, [&](MTL::CommandBuffer& buffer) { kernel.encode(buffer, source, labels); });
    losses[r] = labels->lossImage()->toFloats();
  }
  double sum = 0;
  for (const float v : losses[0]) sum += v;
  EXPECT_GT(sum, 1);
  EXPECT_NEAR(losses[1][0], sum, 1e-4);
  EXPECT_NEAR(losses[2][0], sum / 28, 1e-5);
  EXPECT_NEAR(losses[3][0], sum / 28, 1e-5);
  for (std::size_t i = 14; i < 28; ++i)
    EXPECT_EQ(losses[0][i] != 0, i % 7 == 4) << "without an object only the confidence counts";
}

}  // namespace
}  // namespace mps_test

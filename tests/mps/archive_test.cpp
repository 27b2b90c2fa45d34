// Archives: round trips, every single-byte corruption, and the rules of the decoder.
#include <cstring>
#include <limits>

#include "support.h"

namespace mps_test {
namespace {

using Bytes = std::vector<std::byte>;

std::uint32_t crc32(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xFFFFFFFF;
  for (const std::byte byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int i = 0; i < 8; ++i) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xEDB88320 : 0);
  }
  return crc ^ 0xFFFFFFFF;
}

// The archive with its last four bytes made right again.
Bytes sealed(Bytes bytes) {
  const std::uint32_t crc = crc32(std::span(bytes).first(bytes.size() - 4));
  for (std::size_t i = 0; i < 4; ++i)
    bytes[bytes.size() - 4 + i] = static_cast<std::byte>(crc >> 8 * i);
  return bytes;
}

std::size_t find(const Bytes& bytes, const char* key) {
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.find(key);
}

std::unique_ptr<MPS::NNLossGradient> make_kernel(const std::shared_ptr<MTL::Device>& device) {
  MPS::CNNLossDescriptor loss(Type::SoftMaxCrossEntropy, Reduction::Mean);
  loss.reduceAcrossBatch = true;
  loss.numberOfClasses = 7;
  loss.weight = -0.375f;
  loss.labelSmoothing = 0.1f;
  loss.epsilon = 0;
  loss.delta = 3;
  auto kernel = std::make_unique<MPS::NNLossGradient>(device, loss);
  kernel->setComputeLabelGradients(true);
  kernel->label =
      "Gr\xC3\xB6\xC3\x9F"
      "e";
  kernel->options = MPS::KernelOptions::Verbose | MPS::KernelOptions::SkipAPIValidation;
  kernel->primaryOffset = {-1, 2, std::numeric_limits<std::int64_t>::min()};
  kernel->clipRect = {{1, 2, 3}, {4, 5, 6}};
  kernel->destinationFeatureChannelOffset = 8;
  kernel->secondaryEdgeMode = MPS::ImageEdgeMode::Clamp;
  kernel->destinationImageAllocator = MPS::ImageAllocator::images();
  return kernel;
}

TEST(Archives, RoundTrip) {
  const auto device = test_device();
  const auto kernel = make_kernel(device);
  const Bytes bytes = kernel->encode();
  const auto decoded = MPS::NNLossGradient::decode(bytes, device);
  EXPECT_EQ(decoded->encode(), bytes);
  EXPECT_EQ(decoded->lossType(), kernel->lossType());
  EXPECT_EQ(decoded->reductionType(), kernel->reductionType());
  EXPECT_EQ(decoded->reduceAcrossBatch(), true);
  EXPECT_EQ(decoded->numberOfClasses(), 7u);
  EXPECT_EQ(decoded->weight(), -0.375f);
  EXPECT_EQ(decoded->labelSmoothing(), 0.1f);
  EXPECT_EQ(decoded->computeLabelGradients(), true);
  EXPECT_EQ(decoded->label, kernel->label);
  EXPECT_EQ(decoded->options, kernel->options);
  EXPECT_EQ(decoded->primaryOffset, kernel->primaryOffset);
  EXPECT_EQ(decoded->clipRect, kernel->clipRect);
  EXPECT_EQ(decoded->secondaryEdgeMode, MPS::ImageEdgeMode::Clamp);
  EXPECT_EQ(decoded->destinationImageAllocator, MPS::ImageAllocator::images());
  EXPECT_EQ(std::memcmp(bytes.data(), "MPSKARC1\x11\0MPSNNLossGradient", 27), 0);

  MPS::NNForwardLoss forward(device, MPS::CNNLossDescriptor(Type::Huber, Reduction::None));
  forward.sourceFeatureChannelMaxCount = 5;
  EXPECT_EQ(MPS::NNForwardLoss::decode(forward.encode(), device)->encode(), forward.encode());
  const MPS::CNNLoss one_shot(device, MPS::CNNLossDescriptor(Type::Log, Reduction::Sum));
  EXPECT_EQ(MPS::CNNLoss::decode(one_shot.encode(), device)->encode(), one_shot.encode());
}

TEST(Archives, EveryCorruption) {
  const auto device = test_device();
  const Bytes bytes = make_kernel(device)->encode();
  std::size_t refused = 0, decoded = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      Bytes changed = bytes;
      changed[i] ^= static_cast<std::byte>(1 << bit);
      EXPECT_EQ(code_of([&] { MPS::NNLossGradient::decode(changed, device); }),
                Code::CorruptArchive);
      // With the right checksum it is the fields that must be refused, or make a valid kernel.
      const auto code = code_of([&] { MPS::NNLossGradient::decode(sealed(changed), device); });
      EXPECT_TRUE(!code || *code == Code::CorruptArchive);
      ++(code ? refused : decoded);
    }
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(decoded, 100u);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    const Bytes shorter(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n));
    EXPECT_EQ(code_of([&] { MPS::NNLossGradient::decode(shorter, device); }), Code::CorruptArchive);
    if (n >= 4) {
      EXPECT_EQ(code_of([&] { MPS::NNLossGradient::decode(sealed(shorter), device); }),
                Code::CorruptArchive);
    }
  }
}

TEST(Archives, Rules) {
  const auto device = test_device();
  const auto kernel = make_kernel(device);
  const Bytes bytes = kernel->encode();
  const auto code = [&](Bytes changed) {
    return code_of([&] { MPS::NNLossGradient::decode(sealed(std::move(changed)), device); });
  };
  const auto with = [&](const char* key, std::size_t behind, std::uint8_t value) {
    Bytes changed = bytes;
    changed[find(bytes, key) + std::strlen(key) + behind] = std::byte{value};
    return changed;
  };
  EXPECT_EQ(code(bytes), std::nullopt);
  EXPECT_EQ(code(with("lossType", 1, 10)), Code::CorruptArchive);
  EXPECT_EQ(code(with("lossType", 1, 0)), std::nullopt);
  EXPECT_EQ(code(with("lossType", 1, 7)), Code::CorruptArchive) << "cosine with Mean";
  EXPECT_EQ(code(with("reductionType", 1, 4)), Code::CorruptArchive);
  EXPECT_EQ(code(with("reduceAcrossBatch", 1, 2)), Code::CorruptArchive);
  EXPECT_EQ(code(with("numberOfClasses", 1, 0)), Code::CorruptArchive);
  EXPECT_EQ(code(with("delta", 0, 4)), Code::CorruptArchive) << "wrong type";
  EXPECT_EQ(code(with("label", 1, 255)), Code::CorruptArchive) << "longer than the archive";
  EXPECT_EQ(code(with("label", 3, 0xFF)), Code::CorruptArchive) << "not UTF-8";
  Bytes longer = bytes;
  longer.insert(longer.end() - 4, std::byte{0});
  EXPECT_EQ(code(longer), Code::CorruptArchive);
  EXPECT_EQ(code(Bytes((64 << 10) + 1)), Code::CorruptArchive);
  EXPECT_EQ(code_of([&] { MPS::NNForwardLoss::decode(bytes, device); }), Code::CorruptArchive);
  EXPECT_EQ(code_of([&] { MPS::NNLossGradient::decode({}, device); }), Code::CorruptArchive);
  EXPECT_EQ(code_of([&] { MPS::NNLossGradient::decode(bytes, nullptr); }), Code::InvalidArgument);
}

TEST(Archives, WhatCannotBeWritten) {
  const auto device = test_device();
  const auto refused = [&](const auto& change) {
    const auto kernel = make_kernel(device);
    change(*kernel);
    return code_of([&] { kernel->encode(); });
  };
  struct Custom final : MPS::ImageAllocator {
    MPS::ImageBatch imageBatch(MTL::CommandBuffer&, const MPS::ImageDescriptor&, const MPS::Kernel&,
                               std::size_t) override {
      return {};
    }
  };
  using K = MPS::NNLossGradient;
  EXPECT_EQ(refused([](K& k) { k.label = "\xFF"; }), Code::InvalidArgument);
  EXPECT_EQ(refused([](K& k) { k.label = "\xC0\x80"; }), Code::InvalidArgument);
  EXPECT_EQ(refused([](K& k) { k.label = "\xED\xA0\x80"; }), Code::InvalidArgument);
  EXPECT_EQ(refused([](K& k) { k.label.assign(70000, 'a'); }), Code::InvalidArgument);
  EXPECT_EQ(refused([](K& k) { k.label.assign(65000, 'a'); }), Code::InvalidArgument);
  EXPECT_EQ(refused([](K& k) { k.label.assign(60000, 'a'); }), std::nullopt);
  EXPECT_EQ(refused([](K& k) { k.destinationImageAllocator = std::make_shared<Custom>(); }),
            Code::Unsupported);
  EXPECT_EQ(refused([](K& k) { k.destinationImageAllocator = nullptr; }), Code::Unsupported);
  EXPECT_EQ(refused([](K& k) { k.secondaryStrideInPixelsY = 2; }), Code::Unsupported);
  EXPECT_EQ(code_of([&] { MPS::NNInitialGradient(device).encode(); }), Code::Unsupported);
}

}  // namespace
}  // namespace mps_test

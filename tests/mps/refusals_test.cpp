// Every validation: the right code, no byte written, no read count changed, the command buffer
// still usable. Linked with the objects, because a second device is needed.
#include <cmath>
#include <limits>

#include "mps/device.h"
#include "support.h"

namespace mps_test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

MPS::CNNLossDescriptor loss_of(Type type, Reduction reduction) {
  return MPS::CNNLossDescriptor(type, reduction);
}

// Constructs the three kernels of a descriptor; all must say the same.
void expect_refused(const MPS::CNNLossDescriptor& loss, const char* what) {
  const auto device = test_device();
  EXPECT_EQ(code_of([&] { MPS::NNLossGradient(device, loss); }), Code::InvalidArgument) << what;
  EXPECT_EQ(code_of([&] { MPS::NNForwardLoss(device, loss); }), Code::InvalidArgument) << what;
  EXPECT_EQ(code_of([&] { MPS::CNNLoss(device, loss); }), Code::InvalidArgument) << what;
}

TEST(Refusals, Descriptor) {
  for (const unsigned type : {10u, 11u, 4000000000u})
    expect_refused(loss_of(static_cast<Type>(type), Reduction::Sum), "lossType");
  for (const int reduction : {4, -1, 100})
    expect_refused(loss_of(Type::Huber, static_cast<Reduction>(reduction)), "reductionType");
  for (const Reduction r : {Reduction::None, Reduction::Mean, Reduction::SumByNonZeroWeights})
    expect_refused(loss_of(Type::CosineDistance, r), "cosine");
  auto loss = loss_of(Type::SoftMaxCrossEntropy, Reduction::Sum);
  loss.numberOfClasses = 0;
  loss.labelSmoothing = 0.5f;
  expect_refused(loss, "numberOfClasses");
  const struct {
    float MPS::CNNLossDescriptor::*field;
    std::vector<float> bad;
  } ranges[] = {
      {&MPS::CNNLossDescriptor::labelSmoothing, {-0.1f, 1.1f, kNaN, kInfinity}},
      {&MPS::CNNLossDescriptor::epsilon, {-1e-9f, kNaN, kInfinity}},
      {&MPS::CNNLossDescriptor::delta, {0, -1, kNaN, kInfinity}},
      {&MPS::CNNLossDescriptor::weight, {kNaN, kInfinity, -kInfinity}},
  };
  for (const auto& [field, bad] : ranges) {
    for (const float value : bad) {
      auto changed = loss_of(Type::MeanSquaredError, Reduction::Sum);
      changed.*field = value;
      expect_refused(changed, "range");
    }
  }
}

template <class Kernel>
void check_setters(Kernel& kernel) {
  const auto refused = [](const auto& call) { return code_of(call) == Code::InvalidArgument; };
  for (const float bad : {kNaN, kInfinity}) EXPECT_TRUE(refused([&] { kernel.setWeight(bad); }));
  for (const float bad : {kNaN, -0.5f, 1.5f})
    EXPECT_TRUE(refused([&] { kernel.setLabelSmoothing(bad); }));
  for (const float bad : {kNaN, -1.0f}) EXPECT_TRUE(refused([&] { kernel.setEpsilon(bad); }));
  for (const float bad : {kNaN, 0.0f}) EXPECT_TRUE(refused([&] { kernel.setDelta(bad); }));
  EXPECT_EQ(kernel.weight(), 1);
  EXPECT_EQ(kernel.labelSmoothing(), 0);
  EXPECT_EQ(kernel.epsilon(), 1e-7f);
  EXPECT_EQ(kernel.delta(), 1);
  kernel.setWeight(-2);
  kernel.setLabelSmoothing(0.25f);
  kernel.setEpsilon(0);
  kernel.setDelta(3);
  EXPECT_EQ(kernel.weight(), -2);
  EXPECT_EQ(kernel.labelSmoothing(), 0.25f);
  EXPECT_EQ(kernel.epsilon(), 0);
  EXPECT_EQ(kernel.delta(), 3);
}

TEST(Refusals, SettersKeepTheOldValue) {
  const auto device = test_device();
  MPS::NNLossGradient gradient(device, loss_of(Type::Huber, Reduction::Sum));
  MPS::NNForwardLoss forward(device, loss_of(Type::Huber, Reduction::Sum));
  check_setters(gradient);
  check_setters(forward);
  auto loss = loss_of(Type::SoftMaxCrossEntropy, Reduction::Sum);
  loss.numberOfClasses = 0;
  MPS::NNLossGradient softmax(device, loss);
  EXPECT_EQ(code_of([&] { softmax.setLabelSmoothing(0.1f); }), Code::InvalidArgument);
  EXPECT_EQ(softmax.labelSmoothing(), 0);
}

TEST(Refusals, DeviceNames) {
  for (const char* name : {"", "gpu", "CPU", "cpu ", "opencl:", "opencl:0",
                           "opencl:0:", "opencl:a:0", "opencl:0:0:0", "opencl:-1:0", "openclx"})
    EXPECT_EQ(code_of([&] { MTL::Device::create(name); }), Code::InvalidArgument) << name;
  for (const char* name : {"opencl:99:0", "opencl:0:99", "opencl:999999999:999999999"}) {
    EXPECT_EQ(code_of([&] { MTL::Device::create(name); }), Code::DeviceUnavailable) << name;
    EXPECT_NE(MTL::Device::unavailableReason(name), "");
  }
  EXPECT_EQ(MTL::Device::unavailableReason("cpu"), "");
  EXPECT_EQ(MTL::Device::available()[0], "cpu");
  for (const std::string& name : MTL::Device::available()) {
    EXPECT_EQ(MTL::Device::unavailableReason(name), "");
    const auto device = MTL::Device::create(name);
    EXPECT_EQ(MTL::Device::create(name), device);
    EXPECT_EQ(MTL::Device::create(device->name()), device) << "one object for both names";
  }
  EXPECT_EQ(code_of([] {
              MPS::NNLossGradient(nullptr, MPS::CNNLossDescriptor(Type::Huber, Reduction::Sum));
            }),
            Code::InvalidArgument);
  EXPECT_EQ(code_of([] { MPS::Image::create(nullptr, {Format::Float32}); }), Code::InvalidArgument);
}

TEST(Refusals, ImageCreation) {
  const auto device = test_device();
  const auto code = [&](MPS::ImageDescriptor d) {
    return code_of([&] { MPS::Image::create(device, d); });
  };
  EXPECT_EQ(code({Format::None}), Code::InvalidArgument);
  EXPECT_EQ(code({static_cast<Format>(5)}), Code::InvalidArgument);
  EXPECT_EQ(code({Format::Float32, 0, 1, 1, 1}), Code::InvalidArgument);
  EXPECT_EQ(code({Format::Float32, 1, 1, 1, 0}), Code::InvalidArgument);
  const std::size_t huge = std::size_t{1} << 31;
  EXPECT_EQ(code({Format::Float32, huge, huge, 1, 1}), Code::OutOfMemory);
  EXPECT_EQ(code({Format::Unorm8, huge, huge, huge, huge}), Code::OutOfMemory);
}

// A call of NNLossGradient that is right, for one mistake at a time.
struct GradientCall {
  explicit GradientCall(Reduction reduction = Reduction::Sum, Type type = Type::MeanSquaredError)
      : kernel(device, MPS::CNNLossDescriptor(type, reduction)) {
    gradients = images(device, 2, reduction == Reduction::None ? extent : Extent{1, 1, 1},
                       Format::Float32, 1);
    sources = images(device, 2, extent, Format::Float32, 0.5f);
    labels = images(device, 2, extent, Format::Float32, 1);
    weights = images(device, 2, extent, Format::Float32, 1);
    destinations = images(device, 2, extent, Format::Float32, 7);
  }
  void encode() {
    kernel.encodeBatch(*buffer, gradients, sources, labels, weights, states, destinations);
  }
  static bool readable(const std::shared_ptr<MPS::Image>& image) {
    return image != nullptr && !image->isTemporary();
  }
  // The refusal, after which the same buffer still takes the call without the mistake.
  void expect(Code code, const char* what) {
    std::vector<std::vector<float>> before;
    for (const auto& destination : destinations)
      before.push_back(readable(destination) ? destination->toFloats() : std::vector<float>());
    EXPECT_EQ(code_of([&] { encode(); }), code) << what;
    if (buffer->status() < MTL::CommandBufferStatus::Committed && buffer->device() == device) {
      GradientCall right;
      right.kernel.encodeBatch(*buffer, right.gradients, right.sources, right.labels, {}, {},
                               right.destinations);
      buffer->commit();
      buffer->waitUntilCompleted();
      EXPECT_EQ(buffer->status(), MTL::CommandBufferStatus::Completed);
      EXPECT_EQ(right.destinations[0]->toFloats()[0], -1) << what;
    }
    for (std::size_t n = 0; n < before.size(); ++n) {
      if (!readable(destinations[n])) continue;
      EXPECT_EQ(destinations[n]->toFloats(), before[n]) << what;
    }
  }

  Extent extent{2, 3, 8};
  std::shared_ptr<MTL::Device> device = test_device();
  std::shared_ptr<MTL::CommandQueue> queue = device->newCommandQueue();
  std::shared_ptr<MTL::CommandBuffer> buffer = queue->commandBuffer();
  MPS::NNLossGradient kernel;
  MPS::ImageBatch gradients, sources, labels, weights, destinations;
  MPS::StateBatch states;
};

template <class Change>
void gradient_case(Code code, const char* what, const Change& change,
                   Reduction reduction = Reduction::Sum) {
  GradientCall call(reduction);
  change(call);
  call.expect(code, what);
  // The same with temporary images, whose read counts stay.
  GradientCall other(reduction);
  const MPS::ImageDescriptor d{Format::Float32, 2, 3, 8, 1};
  const auto source = MPS::TemporaryImage::create(*other.buffer, d),
             weights = MPS::TemporaryImage::create(*other.buffer, d);
  other.sources = {source, source};
  other.weights = {weights, weights};
  change(other);
  other.expect(code, what);
  EXPECT_EQ(source->readCount(), 1u) << what;
  EXPECT_EQ(weights->readCount(), 1u) << what;
}

TEST(Refusals, GradientBatches) {
  using C = GradientCall;
  gradient_case(Code::InvalidArgument, "null source", [](C& c) { c.sources[1] = nullptr; });
  gradient_case(Code::InvalidArgument, "null gradient", [](C& c) { c.gradients[0] = nullptr; });
  gradient_case(Code::InvalidArgument, "null weights", [](C& c) { c.weights[1] = nullptr; });
  gradient_case(Code::InvalidArgument, "null destination",
                [](C& c) { c.destinations[1] = nullptr; });
  gradient_case(Code::InvalidArgument, "null state", [](C& c) { c.states = {nullptr, nullptr}; });
  gradient_case(Code::InvalidArgument, "no source", [](C& c) { c.sources.clear(); });
  gradient_case(Code::InvalidArgument, "no labels", [](C& c) { c.labels.clear(); });
  gradient_case(Code::InvalidArgument, "numberOfImages", [](C& c) {
    c.labels[1] = MPS::Image::create(c.device, {Format::Float32, 2, 3, 8, 2});
  });
  gradient_case(Code::ShapeMismatch, "fewer labels", [](C& c) { c.labels.pop_back(); });
  gradient_case(Code::ShapeMismatch, "fewer weights", [](C& c) { c.weights.pop_back(); });
  gradient_case(Code::ShapeMismatch, "fewer destinations", [](C& c) { c.destinations.pop_back(); });
  gradient_case(Code::ShapeMismatch, "fewer states", [](C& c) {
    c.states = MPS::NNForwardLoss(c.device, {Type::Huber, Reduction::Sum})
                   .resultStateBatch({c.sources[0]});
  });
}

TEST(Refusals, GradientSizes) {
  using C = GradientCall;
  const auto other = [](C& c, Extent e) { return images(c.device, 2, e); };
  gradient_case(Code::ShapeMismatch, "width", [&](C& c) { c.labels = other(c, {3, 3, 8}); });
  gradient_case(Code::ShapeMismatch, "height", [&](C& c) { c.labels = other(c, {2, 2, 8}); });
  gradient_case(Code::ShapeMismatch, "channels", [&](C& c) { c.labels = other(c, {2, 3, 7}); });
  gradient_case(Code::ShapeMismatch, "weights", [&](C& c) { c.weights = other(c, {2, 3, 4}); });
  gradient_case(Code::ShapeMismatch, "1x1x1", [&](C& c) { c.gradients = other(c, {2, 3, 8}); });
  gradient_case(
      Code::ShapeMismatch, "source size",
      [&](C& c) {
        c.gradients = other(c, {1, 1, 1});
      },
      Reduction::None);
  gradient_case(Code::ShapeMismatch, "small", [&](C& c) { c.destinations = other(c, {2, 3, 7}); });
  gradient_case(Code::ShapeMismatch, "narrow", [&](C& c) { c.destinations = other(c, {1, 3, 8}); });
  gradient_case(Code::ShapeMismatch, "channel offset",
                [&](C& c) { c.kernel.destinationFeatureChannelOffset = 4; });
  gradient_case(Code::ShapeMismatch, "offset that overflows", [&](C& c) {
    c.kernel.destinationFeatureChannelOffset = std::numeric_limits<std::size_t>::max() - 3;
  });
  gradient_case(Code::ShapeMismatch, "sizes in a batch", [&](C& c) {
    c.destinations[1] = image(c.device, {2, 3, 9}, Format::Float32, std::vector<float>(54, 7));
  });
  gradient_case(Code::ShapeMismatch, "formats in a batch", [&](C& c) {
    c.weights[1] = image(c.device, {2, 3, 8}, Format::Unorm8);
  });
}

TEST(Refusals, GradientObjects) {
  using C = GradientCall;
  for (const Format format : {Format::Unorm8, Format::Unorm16})
    gradient_case(Code::InvalidArgument, "format", [&](C& c) {
      c.destinations = images(c.device, 2, {2, 3, 8}, format);
    });
  gradient_case(Code::Aliasing, "source", [](C& c) { c.destinations[0] = c.sources[1]; });
  gradient_case(Code::Aliasing, "labels", [](C& c) { c.destinations[1] = c.labels[0]; });
  gradient_case(Code::Aliasing, "twice", [](C& c) { c.destinations[1] = c.destinations[0]; });
  const auto second = impl::mps::make_cpu_device();
  gradient_case(Code::DeviceMismatch, "image", [&](C& c) {
    c.labels = images(second, 2, {2, 3, 8});
  });
  gradient_case(Code::DeviceMismatch, "buffer",
                [&](C& c) { c.buffer = second->newCommandQueue()->commandBuffer(); });
  gradient_case(Code::DeviceMismatch, "state", [&](C& c) {
    c.states = MPS::NNForwardLoss(second, {Type::Huber, Reduction::Sum})
                   .resultStateBatch(images(second, 2, {2, 3, 8}));
  });
  gradient_case(Code::InvalidState, "committed", [](C& c) { c.buffer->commit(); });
  gradient_case(Code::InvalidArgument, "kind of state", [](C& c) {
    for (int i = 0; i < 2; ++i)
      c.states.push_back(MPS::CNNLossLabels::create(c.device, {1, 1, 1}, c.labels[i]));
  });
}

TEST(Refusals, TemporaryObjects) {
  GradientCall c;
  const MPS::ImageDescriptor d{Format::Float32, 2, 3, 8, 1};
  const auto other = c.queue->commandBuffer();
  const auto foreign = MPS::TemporaryImage::create(*other, d);
  const auto used = MPS::TemporaryImage::create(*c.buffer, d);
  used->setReadCount(0);
  const MPS::ImageBatch right = c.labels;
  c.labels = {foreign, foreign};
  EXPECT_EQ(code_of([&] { c.encode(); }), Code::InvalidState);
  EXPECT_EQ(foreign->readCount(), 1u);
  c.labels = {used, used};
  EXPECT_EQ(code_of([&] { c.encode(); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { used->setReadCount(1); }), Code::InvalidState);
  c.labels = right;
  const auto fresh = MPS::TemporaryImage::create(*c.buffer, d);
  c.sources = {fresh, fresh};
  c.destinations[1] = c.destinations[0];
  EXPECT_EQ(code_of([&] { c.encode(); }), Code::Aliasing);
  EXPECT_EQ(fresh->readCount(), 1u) << "a refused call reads nothing";
  float byte[48];
  const auto layout = MPS::DataLayout::HeightxWidthxFeatureChannels;
  EXPECT_EQ(code_of([&] { fresh->readBytes(byte, layout, 0); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { fresh->writeBytes(byte, layout, 0); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { fresh->toFloats(); }), Code::InvalidState);
}

TEST(Refusals, GradientProperties) {
  using C = GradientCall;
  const auto none = Reduction::None;
  gradient_case(Code::InvalidArgument, "offset 2",
                [](C& c) { c.kernel.secondarySourceFeatureChannelOffset = 2; });
  gradient_case(Code::InvalidArgument, "past the end",
                [](C& c) { c.kernel.secondarySourceFeatureChannelOffset = 8; });
  gradient_case(
      Code::InvalidArgument, "primary past the end",
      [](C& c) { c.kernel.primarySourceFeatureChannelOffset = 8; }, none);
  gradient_case(
      Code::InvalidArgument, "counts differ",
      [](C& c) { c.kernel.primarySourceFeatureChannelOffset = 4; }, none);
  gradient_case(Code::InvalidArgument, "no channels",
                [](C& c) { c.kernel.secondarySourceFeatureChannelMaxCount = 0; });
  gradient_case(Code::InvalidArgument, "edge mode",
                [](C& c) { c.kernel.secondaryEdgeMode = static_cast<MPS::ImageEdgeMode>(2); });
  gradient_case(Code::Unsupported, "z", [](C& c) { c.kernel.secondaryOffset.z = 1; });
  gradient_case(Code::Unsupported, "clip z", [](C& c) {
    c.kernel.clipRect = {{0, 0, 1}, {1, 1, 1}};
  });
  gradient_case(Code::Unsupported, "depth", [](C& c) {
    c.kernel.clipRect = {{0, 0, 0}, {1, 1, 2}};
  });
  gradient_case(Code::Unsupported, "stride", [](C& c) { c.kernel.primaryStrideInPixelsX = 2; });
  GradientCall c;
  c.kernel.destinationFeatureChannelOffset = 2;
  c.destinations = images(c.device, 2, {2, 3, 12}, Format::Float32, 7);
  c.expect(Code::InvalidArgument, "destination offset 2");
  GradientCall e;
  EXPECT_EQ(code_of([&] { e.kernel.encode(*e.buffer, e.gradients[0], e.sources[0]); }),
            Code::Unsupported);
  e.kernel.destinationImageAllocator = nullptr;
  EXPECT_EQ(code_of([&] { e.kernel.encodeBatch(*e.buffer, e.gradients, e.sources, e.labels); }),
            Code::InvalidArgument);
}

TEST(Refusals, StateWithSmoothingAtAKernelWithoutClasses) {
  auto loss = loss_of(Type::SoftMaxCrossEntropy, Reduction::Sum);
  GradientCall c(Reduction::Sum, Type::SoftMaxCrossEntropy);
  loss.labelSmoothing = 0.5f;
  c.states = MPS::NNForwardLoss(c.device, loss).resultStateBatch(c.sources);
  loss.labelSmoothing = 0;
  loss.numberOfClasses = 0;
  const MPS::NNLossGradient kernel(c.device, loss);
  EXPECT_EQ(code_of([&] {
              kernel.encodeBatch(*c.buffer, c.gradients, c.sources, c.labels, {}, c.states);
            }),
            Code::InvalidArgument);
}

TEST(Refusals, ForwardProperties) {
  GradientCall c;
  const auto refused = [&](const auto& change) {
    MPS::NNForwardLoss kernel(c.device, loss_of(Type::Huber, Reduction::None));
    change(kernel);
    return code_of([&] { kernel.encodeBatch(*c.buffer, c.sources, c.labels); });
  };
  using K = MPS::NNForwardLoss;
  EXPECT_EQ(refused([](K&) {}), std::nullopt);
  EXPECT_EQ(refused([](K& k) { k.offset.x = 1; }), Code::Unsupported);
  EXPECT_EQ(refused([](K& k) { k.clipRect = {{0, 0, 0}, {1, 1, 1}}; }), Code::Unsupported);
  EXPECT_EQ(refused([](K& k) { k.sourceFeatureChannelOffset = 4; }), Code::Unsupported);
  EXPECT_EQ(refused([](K& k) { k.sourceFeatureChannelOffset = 1; }), Code::InvalidArgument);
  EXPECT_EQ(refused([](K& k) { k.edgeMode = static_cast<MPS::ImageEdgeMode>(4); }),
            Code::InvalidArgument);
}

TEST(Refusals, CommandBuffer) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  const auto buffer = queue->commandBuffer();
  EXPECT_EQ(code_of([&] { buffer->waitUntilCompleted(); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { buffer->waitUntilScheduled(); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { buffer->addCompletedHandler(nullptr); }), Code::InvalidArgument);
  buffer->enqueue();
  buffer->enqueue();
  buffer->commit();
  EXPECT_EQ(code_of([&] { buffer->commit(); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { buffer->enqueue(); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { buffer->addCompletedHandler([](auto&) {}); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { buffer->addScheduledHandler([](auto&) {}); }), Code::InvalidState);
  EXPECT_EQ(code_of([&] { MPS::TemporaryImage::create(*buffer, {Format::Float32}); }),
            Code::InvalidState);
  buffer->waitUntilCompleted();
}

}  // namespace
}  // namespace mps_test

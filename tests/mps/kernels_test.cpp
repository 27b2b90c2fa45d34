// What the vectors do not show: derivatives, sizes, copies, states, read counts, windows.
#include <cmath>
#include <random>

#include "support.h"

namespace mps_test {
namespace {

std::vector<float> random_values(std::size_t n, unsigned seed, float low, float high) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(low, high);
  std::vector<float> result(n);
  for (float& v : result) v = values(generator);
  return result;
}

struct Data {
  Data(std::size_t batch, Extent extent, unsigned seed = 1) : extent(extent) {
    for (std::size_t n = 0; n < batch; ++n) {
      const auto s = static_cast<unsigned>(seed + 10 * n);
      const std::size_t count = extent.elements();
      sources.push_back(
          image(device, extent, Format::Float32, random_values(count, s, 0.1f, 0.9f)));
      labels.push_back(
          image(device, extent, Format::Float32, random_values(count, s + 1, 0.1f, 0.9f)));
      weights.push_back(
          image(device, extent, Format::Float32, random_values(count, s + 2, 0.5f, 2)));
    }
  }
  // The gradient of soft-max is exact only if the labels of a pixel add up to 1 and its weights are
  // equal.
  void make_exact_for_softmax() {
    for (std::size_t n = 0; n < labels.size(); ++n) {
      auto t = labels[n]->toFloats(), w = weights[n]->toFloats();
      for (std::size_t p = 0; p < t.size(); p += extent.channels) {
        float sum = 0;
        for (std::size_t c = 0; c < extent.channels; ++c) sum += t[p + c];
        for (std::size_t c = 0; c < extent.channels; ++c) {
          t[p + c] /= sum;
          w[p + c] = w[p];
        }
      }
      labels[n]->fromFloats(t);
      weights[n]->fromFloats(w);
    }
  }

  std::shared_ptr<MTL::Device> device = test_device();
  std::shared_ptr<MTL::CommandQueue> queue = device->newCommandQueue();
  Extent extent;
  MPS::ImageBatch sources, labels, weights;
};

double total_loss(const Data& d, const MPS::NNForwardLoss& kernel) {
  const bool none = kernel.reductionType() == Reduction::None;
  const auto results = images(d.device, d.sources.size(), none ? d.extent : Extent{});
  run(d.queue, [&](MTL::CommandBuffer& buffer) {
    kernel.encodeBatch(buffer, d.sources, d.labels, d.weights, {}, results);
  });
  double sum = 0;
  for (const auto& result : results)
    for (const float v : result->toFloats()) sum += v;
  return sum;
}

// Forward, gradient of ones, gradient: against differences of the forward pass.
TEST(Kernels, GradientIsTheDerivativeOfTheLoss) {
  for (int type = 0; type < 10; ++type) {
    for (int reduction = 0; reduction < 4; ++reduction) {
      const auto t = static_cast<Type>(type);
      const auto r = static_cast<Reduction>(reduction);
      if (t == Type::CosineDistance && r != Reduction::Sum) continue;
      for (const bool across : {false, true}) {
        Data d(2, {3, 2, 5});
        if (t == Type::SoftMaxCrossEntropy) d.make_exact_for_softmax();
        MPS::CNNLossDescriptor loss(t, r);
        loss.reduceAcrossBatch = across;
        loss.weight = 0.75f;
        loss.labelSmoothing = 0.1f;
        loss.numberOfClasses = 5;
        const MPS::NNForwardLoss forward(d.device, loss);
        const MPS::NNLossGradient gradient(d.device, loss);
        const MPS::NNInitialGradient ones(d.device);
        const auto results = images(d.device, 2, d.extent);
        run(d.queue, [&](MTL::CommandBuffer& buffer) {
          const auto losses = forward.encodeBatch(buffer, d.sources, d.labels, d.weights);
          const auto initial = ones.encodeBatch(buffer, losses);
          gradient.encodeBatch(buffer, initial, d.sources, d.labels, d.weights, {}, results);
        });
        auto values = d.sources[1]->toFloats();
        for (const std::size_t i : {std::size_t{0}, std::size_t{17}, values.size() - 1}) {
          const float old = values[i], step = 1.0f / 256;
          double difference = 0;
          for (const int side : {1, -1}) {
            values[i] = old + static_cast<float>(side) * step;
            d.sources[1]->fromFloats(values);
            difference += side * total_loss(d, forward);
          }
          values[i] = old;
          d.sources[1]->fromFloats(values);
          const double expected = difference / (2 * step);
          EXPECT_NEAR(results[1]->toFloats()[i], expected, 2e-3 + 5e-3 * std::fabs(expected))
              << "type " << type << " reduction " << reduction << " across " << across;
        }
      }
    }
  }
}

TEST(Kernels, ReturningAndVoidFormsGiveTheSameBits) {
  for (const std::size_t batch : {1, 2, 17}) {
    for (const Extent extent :
         {Extent{1, 1, 1}, Extent{7, 5, 3}, Extent{1, 1, 1000}, Extent{2, 1, 2500}}) {
      const Data d(batch, extent);
      MPS::CNNLossDescriptor loss(Type::SoftMaxCrossEntropy, Reduction::Mean);
      MPS::NNLossGradient kernel(d.device, loss);
      kernel.destinationImageAllocator = MPS::ImageAllocator::images();
      const auto ones = images(d.device, batch, {}, Format::Float32, 1);
      const auto results = images(d.device, batch, extent);
      MPS::ImageBatch returned;
      run(d.queue, [&](MTL::CommandBuffer& buffer) {
        kernel.encodeBatch(buffer, ones, d.sources, d.labels, d.weights, {}, results);
        returned = kernel.encodeBatch(buffer, ones, d.sources, d.labels, d.weights);
      });
      for (std::size_t n = 0; n < batch; ++n) {
        EXPECT_FALSE(returned[n]->isTemporary());
        EXPECT_EQ(returned[n]->toFloats(), results[n]->toFloats());
      }
    }
  }
}

// A pixel of more channels than a block has the soft-max of all of them.
TEST(Kernels, SoftMaxOfManyChannels) {
  const Data d(1, {1, 1, 2500});
  const MPS::NNForwardLoss kernel(
      d.device, MPS::CNNLossDescriptor(Type::SoftMaxCrossEntropy, Reduction::Sum));
  double sum = 0, expected = 0;
  const auto y = d.sources[0]->toFloats(), t = d.labels[0]->toFloats(),
             w = d.weights[0]->toFloats();
  for (const float v : y) sum += std::exp(double{v});
  for (std::size_t i = 0; i < y.size(); ++i)
    expected -= double{w[i]} * t[i] * (y[i] - std::log(sum));
  EXPECT_NEAR(total_loss(d, kernel), expected, 1e-6 * std::fabs(expected));
}

TEST(Kernels, TemporaryResultsAndReadCounts) {
  const Data d(2, {2, 2, 3});
  const MPS::CNNLossDescriptor loss(Type::Huber, Reduction::Sum);
  const MPS::NNForwardLoss forward(d.device, loss);
  const MPS::NNLossGradient gradient(d.device, loss);
  const auto buffer = d.queue->commandBuffer();
  MPS::StateBatch states;
  const auto losses = forward.encodeBatch(*buffer, d.sources, d.labels, {}, &states, true);
  ASSERT_EQ(losses.size(), 2u);
  const auto* first = dynamic_cast<const MPS::TemporaryImage*>(losses[0].get());
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(first->readCount(), 1u);
  EXPECT_EQ(states[0]->readCount(), 1u);
  EXPECT_TRUE(states[0]->isTemporary());
  // One object several times in a batch is read once.
  gradient.encodeBatch(*buffer, {losses[0], losses[0]}, d.sources, d.labels, {}, states);
  EXPECT_EQ(first->readCount(), 0u);
  EXPECT_EQ(states[0]->readCount(), 0u);
  EXPECT_EQ(code_of([&] {
              gradient.encodeBatch(*buffer, {losses[0], losses[0]}, d.sources, d.labels);
            }),
            Code::InvalidState);
  EXPECT_EQ(code_of([&] { states[0]->setReadCount(2); }), Code::InvalidState);
  EXPECT_EQ(MPS::ImageBatchIncrementReadCount({losses[0], losses[1], losses[1]}, 2), 2u);
  EXPECT_EQ(first->readCount(), 0u);
  EXPECT_EQ(dynamic_cast<const MPS::TemporaryImage&>(*losses[1]).readCount(), 3u);
  EXPECT_EQ(code_of([&] { MPS::ImageBatchIncrementReadCount(losses, -4); }), Code::InvalidArgument);
  buffer->commit();
  buffer->waitUntilCompleted();
}

TEST(Kernels, PropertiesAreTakenWhenTheCallIsEncoded) {
  const Data d(1, {2, 1, 1});
  MPS::NNForwardLoss kernel(d.device,
                            MPS::CNNLossDescriptor(Type::MeanSquaredError, Reduction::Sum));
  const auto first = images(d.device, 1, {}), second = images(d.device, 1, {});
  run(d.queue, [&](MTL::CommandBuffer& buffer) {
    kernel.encodeBatch(buffer, d.sources, d.labels, {}, {}, first);
    kernel.setWeight(2);
    kernel.encodeBatch(buffer, d.sources, d.labels, {}, {}, second);
    kernel.setWeight(100);
  });
  EXPECT_EQ(2 * first[0]->toFloats()[0], second[0]->toFloats()[0]);
}

TEST(Kernels, CopiesAreIndependent) {
  const Data d(1, {2, 1, 1});
  MPS::NNLossGradient kernel(d.device, MPS::CNNLossDescriptor(Type::Huber, Reduction::Mean));
  kernel.setDelta(0.5f);
  kernel.setComputeLabelGradients(true);
  kernel.label = "first";
  kernel.secondaryOffset = {1, 0, 0};
  const auto copy = kernel.copy();
  EXPECT_EQ(copy->encode(), kernel.encode());
  EXPECT_FALSE(*copy == kernel);
  EXPECT_TRUE(kernel == kernel);
  EXPECT_EQ(kernel.hash(), kernel.hash());
  copy->setDelta(2);
  copy->label = "second";
  EXPECT_EQ(kernel.delta(), 0.5f);
  EXPECT_EQ(kernel.label, "first");
  EXPECT_NE(kernel.description().find("Huber"), std::string::npos);
  EXPECT_NE(kernel.description().find("first"), std::string::npos);
  const MPS::CNNLoss one_shot(d.device, MPS::CNNLossDescriptor(Type::Log, Reduction::Sum));
  EXPECT_EQ(one_shot.copy()->lossType(), Type::Log);
  EXPECT_EQ(MPS::NNInitialGradient(d.device).copy()->device(), d.device);
}

// ---- The region that is written ----

// A gradient of 2 (y - t) with y = the element's index and t = 0.
struct WindowCall {
  WindowCall() : kernel(device, MPS::CNNLossDescriptor(Type::MeanSquaredError, Reduction::Sum)) {
    std::vector<float> y(extent.elements());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i);
    source = {image(device, extent, Format::Float32, y)};
    labels = images(device, 1, extent);
    gradients = images(device, 1, {}, Format::Float32, 0.5f);
  }
  std::vector<float> encode(Extent e) {
    const auto destination = images(device, 1, e, Format::Float32, -1);
    run(device->newCommandQueue(), [&](MTL::CommandBuffer& buffer) {
      kernel.encodeBatch(buffer, gradients, source, labels, {}, {}, destination);
    });
    return destination[0]->toFloats();
  }
  float at(std::size_t x, std::size_t y, std::size_t c) const {
    return static_cast<float>((y * extent.width + x) * extent.channels + c);
  }

  Extent extent{3, 2, 5};
  std::shared_ptr<MTL::Device> device = test_device();
  MPS::NNLossGradient kernel;
  MPS::ImageBatch source, labels, gradients;
};

TEST(Windows, WithoutAClipTheSizeOfTheSource) {
  WindowCall c;
  const auto result = c.encode({4, 3, 6});
  for (std::size_t y = 0; y < 3; ++y)
    for (std::size_t x = 0; x < 4; ++x)
      for (std::size_t k = 0; k < 6; ++k)
        EXPECT_EQ(result[(y * 4 + x) * 6 + k], y < 2 && x < 3 && k < 5 ? c.at(x, y, k) : -1);
}

TEST(Windows, ClipOffsetsAndEdges) {
  for (const bool clamp : {false, true}) {
    WindowCall c;
    c.kernel.clipRect = {{1, 1, 0}, {9, 1, 1}};
    c.kernel.secondaryOffset = {-1, 1, 0};
    c.kernel.secondaryEdgeMode = clamp ? MPS::ImageEdgeMode::Clamp : MPS::ImageEdgeMode::Zero;
    const auto result = c.encode({6, 2, 5});
    for (std::size_t y = 0; y < 2; ++y) {
      for (std::size_t x = 0; x < 6; ++x) {
        for (std::size_t k = 0; k < 5; ++k) {
          float expected = -1;
          if (y == 1 && x >= 1) {
            const int column = static_cast<int>(x) - 2;
            expected = column >= 0 && column < 3 ? c.at(static_cast<std::size_t>(column), 1, k)
                       : !clamp                  ? 0
                       : column < 0              ? c.at(0, 1, k)
                                                 : c.at(2, 1, k);
          }
          EXPECT_EQ(result[(y * 6 + x) * 5 + k], expected) << x << ' ' << y << ' ' << k;
        }
      }
    }
  }
}

TEST(Windows, OffsetsAtTheEndsOfTheirType) {
  WindowCall c;
  c.kernel.secondaryOffset = {std::numeric_limits<std::int64_t>::max(), 0, 0};
  for (const float v : c.encode({3, 2, 5})) EXPECT_EQ(v, 0);
  c.kernel.secondaryOffset = {0, std::numeric_limits<std::int64_t>::min(), 0};
  for (const float v : c.encode({3, 2, 5})) EXPECT_EQ(v, 0);
  c.kernel.clipRect = {{100, 0, 0}, {1, 1, 1}};
  for (const float v : c.encode({3, 2, 5})) EXPECT_EQ(v, -1);
}

TEST(Windows, Channels) {
  WindowCall c;
  c.kernel.secondarySourceFeatureChannelOffset = 4;
  c.kernel.destinationFeatureChannelOffset = 4;
  const auto result = c.encode({3, 2, 6});
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t pixel = i / 6, k = i % 6;
    EXPECT_EQ(result[i], k == 4 ? c.at(pixel % 3, pixel / 3, 4) : -1);
  }
  // The returning form makes room for the offset and takes no offsets of pixels.
  c.kernel.destinationImageAllocator = MPS::ImageAllocator::images();
  c.kernel.secondaryOffset = {1, 0, 0};
  MPS::ImageBatch returned;
  run(c.device->newCommandQueue(), [&](MTL::CommandBuffer& buffer) {
    returned = c.kernel.encodeBatch(buffer, c.gradients, c.source, c.labels);
  });
  EXPECT_EQ(returned[0]->featureChannels(), 5u);
  EXPECT_EQ(returned[0]->toFloats()[4], c.at(0, 0, 4));
}

TEST(Windows, AcrossTheBatchOnlyTheFirstGradientCounts) {
  const Data d(3, {2, 2, 1});
  MPS::CNNLossDescriptor loss(Type::MeanSquaredError, Reduction::Mean);
  loss.reduceAcrossBatch = true;
  const MPS::NNLossGradient kernel(d.device, loss);
  EXPECT_TRUE(kernel.appendBatchBarrier());
  auto gradients = images(d.device, 3, {}, Format::Float32, 1);
  const auto first = images(d.device, 3, d.extent), second = images(d.device, 3, d.extent);
  run(d.queue, [&](MTL::CommandBuffer& buffer) {
    kernel.encodeBatch(buffer, gradients, d.sources, d.labels, {}, {}, first);
  });
  gradients[1] = image(d.device, {}, Format::Float32, {NAN});
  run(d.queue, [&](MTL::CommandBuffer& buffer) {
    kernel.encodeBatch(buffer, gradients, d.sources, d.labels, {}, {}, second);
  });
  for (std::size_t n = 0; n < 3; ++n) {
    EXPECT_EQ(first[n]->toFloats(), second[n]->toFloats());
    const float expected = 2 * (d.sources[n]->toFloats()[0] - d.labels[n]->toFloats()[0]) / (4 * 3);
    EXPECT_NEAR(first[n]->toFloats()[0], expected, 1e-7);
  }
}

TEST(Kernels, PrintedGradientsOfTheOneShotKernel) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  MPS::CNNLoss kernel(device, MPS::CNNLossDescriptor(Type::Huber, Reduction::Sum));
  const auto source = image(device, {3, 1, 1}, Format::Float32, {-4, 0.5f, 4});
  for (const bool printed : {false, true}) {
    kernel.setLossFormulaPolicy(printed ? MPS::LossFormulaPolicy::AsPrinted
                                        : MPS::LossFormulaPolicy::Consistent);
    const auto labels = MPS::CNNLossLabels::create(device, {1, 1, 1}, image(device, {3, 1, 1}));
    const auto destination = image(device, {3, 1, 1});
    run(queue, [&](MTL::CommandBuffer& buffer) {
      kernel.copy()->encode(buffer, source, labels, destination);
    });
    EXPECT_EQ(destination->toFloats(), (std::vector<float>{printed ? 1.0f : -1.0f, 0.5f, 1}));
    EXPECT_EQ(labels->lossImage()->toFloats()[0], 3.5f + 0.125f + 3.5f);
  }
}

// NaN stays, a weight of 0 removes everything, a label factor of 0 wins.
TEST(Kernels, SpecialValues) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  for (int type = 0; type < 10; ++type) {
    const auto t = static_cast<Type>(type);
    if (t == Type::CosineDistance) continue;
    const Extent e{1, 1, 1};
    const MPS::NNForwardLoss forward(device, MPS::CNNLossDescriptor(t, Reduction::None));
    const MPS::NNLossGradient gradient(device, MPS::CNNLossDescriptor(t, Reduction::None));
    for (const float weight : {1.0f, 0.0f}) {
      const MPS::ImageBatch y{image(device, e, Format::Float32, {NAN})},
          labels = images(device, 1, e, Format::Float32, 0.5f),
          weights = images(device, 1, e, Format::Float32, weight),
          ones = images(device, 1, e, Format::Float32, 1), loss = images(device, 1, e),
          slope = images(device, 1, e);
      run(queue, [&](MTL::CommandBuffer& buffer) {
        forward.encodeBatch(buffer, y, labels, weights, {}, loss);
        gradient.encodeBatch(buffer, ones, y, labels, weights, {}, slope);
      });
      const float l = loss[0]->toFloats()[0], s = slope[0]->toFloats()[0];
      if (weight == 0) {
        EXPECT_EQ(l, 0) << type;
        EXPECT_EQ(s, 0) << type;
        continue;
      }
      EXPECT_TRUE(std::isnan(l)) << type;
      if (t == Type::KullbackLeiblerDivergence)
        EXPECT_EQ(s, -0.5f);
      else
        EXPECT_TRUE(std::isnan(s)) << type;
    }
  }
}

}  // namespace
}  // namespace mps_test

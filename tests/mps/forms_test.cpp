// The forms of the calls: returning and void ones of every class, states, batches that are
// combined, and the refusals of the forward pass.
#include "support.h"

namespace mps_test {
namespace {

using Floats = std::vector<std::vector<float>>;

Floats floats_of(const MPS::ImageBatch& batch) {
  Floats all;
  for (const auto& one : batch) all.push_back(one->toFloats());
  return all;
}

struct Call {
  explicit Call(std::size_t count, Extent e = {3, 2, 5}) : batch(count), extent(e) {
    for (std::size_t n = 0; n < batch; ++n) {
      std::vector<float> y, t;
      for (std::size_t i = 0; i < extent.elements(); ++i) {
        y.push_back(static_cast<float>((i * 5 + n * 3) % 17 + 1) / 18);
        t.push_back(static_cast<float>((i * 7 + n) % 13 + 1) / 14);
      }
      sources.push_back(image(device, extent, Format::Float32, y));
      labels.push_back(image(device, extent, Format::Float32, t));
    }
  }
  MPS::CNNLossLabelsBatch one_shot_labels() const {
    MPS::CNNLossLabelsBatch states;
    for (const auto& one : labels)
      states.push_back(MPS::CNNLossLabels::create(device, {1, 1, 1}, one));
    return states;
  }

  std::size_t batch;
  Extent extent;
  std::shared_ptr<MTL::Device> device = test_device();
  std::shared_ptr<MTL::CommandQueue> queue = device->newCommandQueue();
  MPS::ImageBatch sources, labels;
};

// The returning form allocates temporary images unless it is told otherwise.
TEST(Forms, ReturningAndVoidAreTheSame) {
  for (const std::size_t batch : {1, 2, 17}) {
    const Call c(batch);
    const MPS::CNNLossDescriptor loss(Type::Huber, Reduction::Mean);
    MPS::NNForwardLoss forward(c.device, loss);
    MPS::NNInitialGradient ones(c.device);
    MPS::CNNLoss one_shot(c.device, loss);
    run(c.queue, [&](MTL::CommandBuffer& buffer) {
      EXPECT_TRUE(forward.encodeBatch(buffer, c.sources, c.labels)[0]->isTemporary());
      EXPECT_TRUE(ones.encode(buffer, c.sources[0])->isTemporary());
      EXPECT_TRUE(one_shot.encodeBatch(buffer, c.sources, c.one_shot_labels())[0]->isTemporary());
    });
    for (MPS::CNNKernel* kernel :
         {static_cast<MPS::CNNKernel*>(&forward), static_cast<MPS::CNNKernel*>(&ones),
          static_cast<MPS::CNNKernel*>(&one_shot)})
      kernel->destinationImageAllocator = MPS::ImageAllocator::images();
    const auto losses = images(c.device, batch, {}), filled = images(c.device, batch, c.extent),
               gradients = images(c.device, batch, c.extent);
    const auto first = c.one_shot_labels(), second = c.one_shot_labels();
    MPS::ImageBatch new_losses, new_filled, new_gradients;
    std::shared_ptr<MPS::Image> single, new_single;
    run(c.queue, [&](MTL::CommandBuffer& buffer) {
      forward.encodeBatch(buffer, c.sources, c.labels, {}, {}, losses);
      new_losses = forward.encodeBatch(buffer, c.sources, c.labels);
      ones.encodeBatch(buffer, c.sources, filled);
      new_filled = ones.encodeBatch(buffer, c.sources);
      one_shot.encodeBatch(buffer, c.sources, first, gradients);
      new_gradients = one_shot.encodeBatch(buffer, c.sources, second);
      new_single = one_shot.encode(buffer, c.sources[0], c.one_shot_labels()[0]);
    });
    EXPECT_EQ(floats_of(losses), floats_of(new_losses));
    EXPECT_EQ(floats_of(filled), floats_of(new_filled));
    EXPECT_EQ(floats_of(gradients), floats_of(new_gradients));
    EXPECT_EQ(new_single->toFloats(), gradients[0]->toFloats());
    for (std::size_t n = 0; n < batch; ++n)
      EXPECT_EQ(first[n]->lossImage()->toFloats(), second[n]->lossImage()->toFloats());
  }
}

// A state replaces each of the four values, and has those of the call that wrote it last.
TEST(Forms, StatesWinOverTheKernel) {
  const Call c(2);
  for (const Type type :
       {Type::SoftMaxCrossEntropy, Type::SigmoidCrossEntropy, Type::Huber, Type::Log}) {
    MPS::CNNLossDescriptor own(type, Reduction::Sum), other = own;
    own.numberOfClasses = other.numberOfClasses = c.extent.channels;
    other.weight = 0.25f;
    other.labelSmoothing = 0.5f;
    other.epsilon = 0.125f;
    other.delta = 0.0625f;
    MPS::NNForwardLoss forward(c.device, own);
    const MPS::NNLossGradient gradient(c.device, own), right(c.device, other);
    const auto states = forward.resultStateBatch(c.sources);
    forward.setWeight(other.weight);
    forward.setLabelSmoothing(other.labelSmoothing);
    forward.setEpsilon(other.epsilon);
    forward.setDelta(other.delta);
    const auto ones = images(c.device, 2, {}, Format::Float32, 1), losses = images(c.device, 2, {}),
               with = images(c.device, 2, c.extent), without = images(c.device, 2, c.extent),
               expected = images(c.device, 2, c.extent);
    run(c.queue, [&](MTL::CommandBuffer& buffer) {
      forward.encodeBatch(buffer, c.sources, c.labels, {}, states, losses);
      forward.setWeight(77);
      gradient.encodeBatch(buffer, ones, c.sources, c.labels, {}, states, with);
      gradient.encodeBatch(buffer, ones, c.sources, c.labels, {}, {}, without);
      right.encodeBatch(buffer, ones, c.sources, c.labels, {}, {}, expected);
    });
    EXPECT_EQ(floats_of(with), floats_of(expected));
    EXPECT_NE(floats_of(without), floats_of(expected));
  }
}

TEST(Forms, AcrossTheBatchTheFirstImageHasTheTotal) {
  const Call c(3);
  for (int type = 0; type < 10; ++type) {
    MPS::CNNLossDescriptor loss(static_cast<Type>(type), Reduction::Sum);
    const MPS::NNForwardLoss single(c.device, loss);
    loss.reduceAcrossBatch = true;
    const MPS::NNForwardLoss combined(c.device, loss);
    EXPECT_TRUE(combined.appendBatchBarrier());
    EXPECT_FALSE(single.appendBatchBarrier());
    const auto each = images(c.device, 3, {}), total = images(c.device, 3, {}, Format::Float32, 7);
    run(c.queue, [&](MTL::CommandBuffer& buffer) {
      single.encodeBatch(buffer, c.sources, c.labels, {}, {}, each);
      combined.encodeBatch(buffer, c.sources, c.labels, {}, {}, total);
    });
    float sum = 0;
    for (const auto& one : each) sum += one->toFloats()[0];
    EXPECT_NEAR(total[0]->toFloats()[0], sum, 1e-5) << type;
    EXPECT_EQ(total[1]->toFloats()[0], 0) << type;
    EXPECT_EQ(total[2]->toFloats()[0], 0) << type;
  }
}

TEST(Forms, ForwardRefusals) {
  const Call c(2);
  const MPS::NNForwardLoss sum(c.device, {Type::Huber, Reduction::Sum}),
      none(c.device, {Type::Huber, Reduction::None});
  const auto losses = images(c.device, 2, {}, Format::Float32, 7);
  const auto buffer = c.queue->commandBuffer();
  const auto code = [&](const MPS::NNForwardLoss& k, const MPS::ImageBatch& labels,
                        const MPS::ImageBatch& weights, const MPS::StateBatch& states,
                        const MPS::ImageBatch& results) {
    return code_of([&] { k.encodeBatch(*buffer, c.sources, labels, weights, states, results); });
  };
  EXPECT_EQ(code(sum, {c.labels[0], nullptr}, {}, {}, losses), Code::InvalidArgument);
  EXPECT_EQ(code(sum, {}, {}, {}, losses), Code::InvalidArgument);
  EXPECT_EQ(code(sum, {c.labels[0]}, {}, {}, losses), Code::ShapeMismatch);
  EXPECT_EQ(code(sum, c.labels, images(c.device, 2, {3, 2, 4}), {}, losses), Code::ShapeMismatch);
  EXPECT_EQ(code(none, c.labels, {}, {}, losses), Code::ShapeMismatch);
  EXPECT_EQ(code(sum, c.labels, {}, {}, images(c.device, 2, {}, Format::Unorm8)),
            Code::InvalidArgument);
  EXPECT_EQ(code(sum, c.labels, {}, {}, {losses[0], losses[0]}), Code::Aliasing);
  EXPECT_EQ(code(none, c.labels, {}, {}, {c.labels[1], c.sources[0]}), Code::Aliasing);
  EXPECT_EQ(code(sum, c.labels, {}, {nullptr, nullptr}, losses), Code::InvalidArgument);
  const auto states = sum.resultStateBatch(c.sources);
  EXPECT_EQ(code(sum, c.labels, {}, {states[0]}, losses), Code::ShapeMismatch);
  const auto labels = c.one_shot_labels();
  EXPECT_EQ(code(sum, c.labels, {}, {labels[0], labels[1]}, losses), Code::InvalidArgument);
  EXPECT_EQ(code_of([&] { sum.resultStateBatch({c.sources[0], nullptr}); }), Code::InvalidArgument);
  buffer->commit();
  EXPECT_EQ(code(sum, c.labels, {}, {}, losses), Code::InvalidState);
  EXPECT_EQ(code_of([&] { sum.temporaryResultStateBatch(*buffer, c.sources); }),
            Code::InvalidState);
  buffer->waitUntilCompleted();
  EXPECT_EQ(floats_of(losses), (Floats{{7}, {7}}));
}

}  // namespace
}  // namespace mps_test

// Learns which of three groups a point of the plane belongs to: a linear model whose loss and
// gradient come from the MPS kernels. One image holds all points, a pixel each, with a channel per
// class. Fails if the mean loss does not fall below 0.1 in 300 steps.
#include <openbnns/mps.hpp>

#include <cstdio>
#include <random>

namespace {
using namespace bnns;

constexpr std::size_t kPoints = 300, kClasses = 3, kSteps = 300;
constexpr float kRate = 1, kLargestLoss = 0.1f;
constexpr float kCentres[kClasses][2] = {{0, 1}, {-1, -0.6f}, {1, -0.6f}};

struct Points {
  std::vector<float> x, y, labels;  // labels: one-hot
};

Points make_points() {
  std::mt19937 random(1);
  std::normal_distribution<float> noise(0, 0.25f);
  Points points;
  points.labels.assign(kPoints * kClasses, 0);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const std::size_t group = i % kClasses;
    points.x.push_back(kCentres[group][0] + noise(random));
    points.y.push_back(kCentres[group][1] + noise(random));
    points.labels[i * kClasses + group] = 1;
  }
  return points;
}

}  // namespace

int main() try {
  const Points points = make_points();
  const auto device = MTL::Device::create("cpu");
  const auto queue = device->newCommandQueue();
  const MPS::ImageDescriptor per_class{MPS::ImageFeatureChannelFormat::Float32, kPoints, 1,
                                       kClasses};
  const auto logits = MPS::Image::create(device, per_class);
  const auto labels = MPS::Image::create(device, per_class);
  const auto gradient = MPS::Image::create(device, per_class);
  labels->fromFloats(points.labels);

  const MPS::CNNLossDescriptor loss(MPS::CNNLossType::SoftMaxCrossEntropy,
                                    MPS::CNNReductionType::Mean);
  MPS::NNForwardLoss forward(device, loss);
  forward.destinationImageAllocator = MPS::ImageAllocator::images();  // we want to read the loss
  const MPS::NNInitialGradient ones(device);
  const MPS::NNLossGradient backward(device, loss);

  float model[kClasses][3] = {};  // logit = model[0] x + model[1] y + model[2]
  float mean_loss = 0;
  for (std::size_t step = 0; step < kSteps; ++step) {
    std::vector<float> values;
    for (std::size_t i = 0; i < kPoints; ++i) {
      for (const auto& m : model) values.push_back(m[0] * points.x[i] + m[1] * points.y[i] + m[2]);
    }
    logits->fromFloats(values);

    const auto buffer = queue->commandBuffer();
    const MPS::ImageBatch losses = forward.encodeBatch(*buffer, {logits}, {labels});
    const MPS::ImageBatch start = ones.encodeBatch(*buffer, losses);
    backward.encodeBatch(*buffer, start, {logits}, {labels}, {}, {}, {gradient});
    buffer->commit();
    buffer->waitUntilCompleted();

    mean_loss = losses[0]->toFloats()[0];
    if (step % 100 == 0) std::printf("step %3zu: loss %.4f\n", step, mean_loss);
    const std::vector<float> g = gradient->toFloats();
    for (std::size_t i = 0; i < kPoints; ++i) {
      for (std::size_t k = 0; k < kClasses; ++k) {
        const float slope = kRate * g[i * kClasses + k];
        model[k][0] -= slope * points.x[i];
        model[k][1] -= slope * points.y[i];
        model[k][2] -= slope;
      }
    }
  }
  std::printf("after %zu steps: loss %.4f\n", kSteps, mean_loss);
  return mean_loss < kLargestLoss ? 0 : 1;
} catch (const MPS::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

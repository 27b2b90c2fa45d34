// Learns to read digits: glyphs of 6x6 pixels at random places in images of 20x20. Convolution,
// batch normalization with ReLU, max pooling, fully connected, softmax cross entropy, Adam. The
// result is the same on every run; another seed may be given as argument. Fails if the mean loss of
// 20 steps does not fall below 0.125 in 1000 steps, or if more than 2 of 32 new digits are misread.
#include <openbnns/openbnns.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <random>

namespace {
using namespace bnns;

constexpr std::size_t kBatch = 32, kSize = 20, kGlyph = 6, kClasses = 10, kFeatures = 32;
constexpr std::size_t kPooled = kSize / 2, kSteps = 1000, kSlowerFrom = 500, kWindow = 20;
constexpr float kLargestLoss = 0.125f;

// Rows of the ten digits, the leftmost pixel in the highest bit.
constexpr unsigned char kGlyphs[kClasses][kGlyph] = {
    {0x1E, 0x21, 0x25, 0x29, 0x21, 0x1E}, {0x0C, 0x0C, 0x0C, 0x0C, 0x0C, 0x0C},
    {0x3E, 0x01, 0x01, 0x1E, 0x20, 0x3F}, {0x3C, 0x02, 0x1C, 0x02, 0x02, 0x3C},
    {0x24, 0x24, 0x24, 0x3F, 0x04, 0x04}, {0x3F, 0x20, 0x20, 0x3F, 0x03, 0x3F},
    {0x10, 0x20, 0x2E, 0x31, 0x31, 0x1E}, {0x3F, 0x03, 0x06, 0x0C, 0x18, 0x30},
    {0x1E, 0x33, 0x1E, 0x1E, 0x33, 0x1E}, {0x0F, 0x09, 0x0F, 0x01, 0x01, 0x01}};

void draw_digits(std::mt19937& random, Tensor& images, Tensor& labels) {
  for (std::size_t n = 0; n < kBatch; ++n) {
    const std::size_t digit = random() % kClasses;
    const std::size_t left = random() % (kSize - kGlyph + 1), top = random() % (kSize - kGlyph + 1);
    std::ranges::fill(images.sample(n), 0.0f);
    std::ranges::fill(labels.sample(n), 0.0f);
    labels.sample(n)[digit] = 1;
    for (std::size_t y = 0; y < kGlyph; ++y)
      for (std::size_t x = 0; x < kGlyph; ++x)
        images.sample(n)[(top + y) * kSize + left + x] = kGlyphs[digit][y] >> (5 - x) & 1;
  }
}

constexpr FilterParameters kTraining = {.flags = BNNSFlagsUseClientPtr};
constexpr WindowSize kWindowSize = {2, 2};
constexpr WindowStride kOne = {1, 1}, kTwo = {2, 2};

// A tensor of the network and its gradient.
struct Pair {
  Tensor value, gradient;
  explicit Pair(Tensor parameter) : value(std::move(parameter)), gradient(value.shape()) {}
  explicit Pair(const Shape& shape) : value(shape, kBatch), gradient(shape, kBatch) {}
};

struct Network {
  RandomGenerator generator;
  Tensor images{Shape::image_chw(kSize, kSize, 1), kBatch}, labels{Shape::vector(kClasses), kBatch};
  Pair filters{
      Tensor::uniform(generator, -0.5f, 0.5f, Shape::convolution_weights_oihw(3, 3, 1, kFeatures))};
  Pair bias{Tensor(Shape::vector(kFeatures))}, beta{Tensor(Shape::vector(kFeatures))},
      gamma{Tensor::filled(1, Shape::vector(kFeatures))};
  Tensor mean{Shape::vector(kFeatures)}, variance = Tensor::filled(1, Shape::vector(kFeatures));
  Pair weights{Tensor::uniform(generator, -0.5f, 0.5f,
                               Shape::matrix_row_major(kPooled* kPooled* kFeatures, kClasses))};
  Pair features{Shape::image_chw(kSize, kSize, kFeatures)}, normalized{features.value.shape()};
  Pair pooled{Shape::image_chw(kPooled, kPooled, kFeatures)}, scores{Shape::vector(kClasses)};
  Tensor loss{Shape::vector(1)};
  ConvolutionLayer convolution{{ConvolutionType::standard, images, filters.value, features.value,
                                bias.value, ConvolutionPadding::symmetric(1, 1),
                                ActivationFunction::identity(), 1, kOne, kOne, kTraining}};
  NormalizationLayer normalize{{normalization::Batch{mean, variance}, features.value,
                                normalized.value, beta.value, gamma.value, 0.9f, 1e-7f,
                                ActivationFunction::rectified_linear(), kTraining}};
  PoolingLayer pool{{pooling::Max(), normalized.value, pooled.value, std::nullopt,
                     ActivationFunction::identity(), kWindowSize, kTwo}};
  FullyConnectedLayer connected{{pooled.value, scores.value, weights.value, std::nullopt,
                                 ActivationFunction::identity(), kTraining}};
  LossLayer loss_layer{{scores.value, loss, loss::SoftmaxCrossEntropy{}, LossReduction::mean}};
  explicit Network(std::uint64_t seed) : generator({.seed = seed}) {}
  // Returns how many digits are read right.
  int forward(LearningPhase phase) {
    convolution.apply(kBatch, images, features.value);
    normalize.apply(kBatch, features.value, normalized.value, phase);
    pool.apply(kBatch, normalized.value, pooled.value);
    connected.apply(kBatch, pooled.value, scores.value);
    loss_layer.apply(kBatch, {scores.value, labels, loss, std::nullopt, false, scores.gradient});
    int right = 0;
    for (std::size_t n = 0; n < kBatch; ++n) {
      const auto score = scores.value.sample(n);
      right += labels.sample(n)[size_t(std::ranges::max_element(score) - score.begin())] == 1;
    }
    return right;
  }
  // Arguments: input, output, gradients of output, input and parameters.
  void backward() {
    connected.apply_backward(
        kBatch, {pooled.value, scores.value, scores.gradient, pooled.gradient, weights.gradient});
    pool.apply_backward(kBatch,
                        {normalized.value, pooled.value, pooled.gradient, normalized.gradient});
    normalize.apply_backward(kBatch, {normalized.value, normalized.gradient, features.gradient,
                                      beta.gradient, gamma.gradient});
    convolution.apply_backward(kBatch, {images, features.value, features.gradient, std::nullopt,
                                        filters.gradient, bias.gradient});
  }
};

bool train(std::uint64_t seed) {
  Network net(seed);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  AdamOptimizer adam = {.learning_rate = 0.01f,
                        .time_step = 1,
                        .gradient_scale = 1,
                        .regularization_scale = 0.01f,
                        .gradient_clipping = clipping::ByValue{-0.5f, 0.5f},
                        .regularization_function = RegularizationFunction::l2};
  DescriptorList parameters, gradients, accumulators;
  std::vector<Tensor> moments;
  for (Pair* pair : {&net.filters, &net.bias, &net.beta, &net.gamma, &net.weights}) {
    parameters.push_back(pair->value);
    gradients.push_back(pair->gradient);
  }
  for (std::size_t i = 0; i < 2 * parameters.size(); ++i) {
    moments.emplace_back(shape_of(parameters[i % parameters.size()]));
    accumulators.push_back(moments.back());
  }
  std::array<float, kWindow> losses;
  losses.fill(2 * kLargestLoss * kWindow);
  std::size_t step = 0;
  float mean = 0;
  do {
    if (step == kSlowerFrom) adam.learning_rate /= 10;
    draw_digits(random, net.images, net.labels);
    net.forward(LearningPhase::training);
    net.backward();
    adam.step(parameters, gradients, accumulators);
    adam.time_step += 1;
    if (step % 50 == 0) std::printf("step %4zu  loss %7.3f\n", step, double{net.loss[0]});
    losses[step % kWindow] = net.loss[0];
    mean = std::reduce(losses.begin(), losses.end()) / kWindow;
  } while (++step < kSteps && mean >= kLargestLoss);
  draw_digits(random, net.images, net.labels);
  const int right = net.forward(LearningPhase::inference);
  std::printf("after %zu steps: mean loss %.3f, %d of %zu new digits right\n", step, double{mean},
              right, kBatch);
  return mean < kLargestLoss && right >= 30;
}

}  // namespace

int main(int argc, char** argv) {
  return train(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1) ? 0 : 1;
}

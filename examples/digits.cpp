// Learns to read digits: glyphs of 6x6 pixels at random places in images of 20x20. Convolution
// fused with batch normalization and ReLU, max pooling, fully connected, softmax cross entropy,
// Adam. The result is the same on every run; another seed may be given as argument. Fails if the
// mean loss of 20 steps does not fall below 0.125 in 1000 steps, or if more than 2 of 32 new digits
// are misread.
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

// What flows between layers, and its gradient.
struct Values {
  explicit Values(const Shape& shape) : value(shape, kBatch), gradient(shape, kBatch) {}
  Tensor value, gradient;
};

struct Network {
  RandomGenerator generator;
  Tensor images{Shape::image_chw(kSize, kSize, 1), kBatch}, labels{Shape::vector(kClasses), kBatch};
  Values features{Shape::image_chw(kSize, kSize, kFeatures)};
  Values pooled{Shape::image_chw(kPooled, kPooled, kFeatures)}, scores{Shape::vector(kClasses)};
  Tensor loss{Shape::vector(1)};

  Parameter filters{
      Tensor::uniform(generator, -0.5f, 0.5f, Shape::convolution_weights_oihw(3, 3, 1, kFeatures))};
  Parameter bias{Shape::vector(kFeatures)};
  Parameter beta{Shape::vector(kFeatures)}, gamma{Tensor::filled(1, Shape::vector(kFeatures))};
  Tensor mean{Shape::vector(kFeatures)}, variance = Tensor::filled(1, Shape::vector(kFeatures));
  Parameter weights{Tensor::uniform(
      generator, -0.5f, 0.5f, Shape::matrix_row_major(kPooled* kPooled* kFeatures, kClasses))};
  ParameterList parameters{filters, bias, beta, gamma, weights};

  FusedConvolutionNormalizationLayer convolution{
      {.input = images,
       .output = features.value,
       .convolution_weights = filters,
       .convolution_bias = bias,
       .convolution_padding = 1,
       .normalization = normalization::Batch{mean, variance},
       .normalization_beta = beta,
       .normalization_gamma = gamma,
       .normalization_momentum = 0.9f,
       .normalization_activation = ActivationFunction::rectified_linear()}};
  PoolingLayer pool{{.input = features.value, .output = pooled.value, .kernel_size = 2}};
  FullyConnectedLayer connected{
      {.input = pooled.value, .output = scores.value, .weights = weights}};
  LossLayer loss_layer{
      {.input = scores.value, .output = loss, .loss_function = loss::SoftmaxCrossEntropy{}}};

  explicit Network(std::uint64_t seed) : generator({.seed = seed}) {}

  // Returns how many digits are read right.
  int forward(LearningPhase phase) {
    convolution.apply(images, features.value, phase);
    pool.apply(features.value, pooled.value);
    connected.apply(pooled.value, scores.value);
    loss_layer.apply({.input = scores.value,
                      .labels = labels,
                      .output = loss,
                      .input_gradient = scores.gradient});
    int right = 0;
    const std::vector<std::size_t> guesses = argmax(scores.value);
    for (std::size_t n = 0; n < kBatch; ++n) right += labels.sample(n)[guesses[n]] == 1;
    return right;
  }

  void backward() {
    connected.apply_backward({.input = pooled.value,
                              .output_gradient = scores.gradient,
                              .input_gradient = pooled.gradient,
                              .weights_gradient = weights.gradient});
    pool.apply_backward({.input = features.value,
                         .output_gradient = pooled.gradient,
                         .input_gradient = features.gradient});
    convolution.apply_backward({.input = images,
                                .output = features.value,
                                .output_gradient = features.gradient,
                                .weights_gradient = filters.gradient,
                                .bias_gradient = bias.gradient,
                                .beta_gradient = beta.gradient,
                                .gamma_gradient = gamma.gradient});
  }
};

bool train(std::uint64_t seed) {
  Network net(seed);
  std::mt19937 random(static_cast<std::mt19937::result_type>(seed));
  AdamOptimizer adam = {.learning_rate = 0.01f,
                        .regularization_scale = 0.01f,
                        .gradient_clipping = clipping::ByValue{-0.5f, 0.5f},
                        .regularization_function = RegularizationFunction::l2};
  std::array<float, kWindow> losses;
  losses.fill(2 * kLargestLoss * kWindow);
  std::size_t step = 0;
  float mean = 0;
  do {
    if (step == kSlowerFrom) adam.learning_rate /= 10;
    draw_digits(random, net.images, net.labels);
    net.forward(LearningPhase::training);
    net.backward();
    adam.step(net.parameters);
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

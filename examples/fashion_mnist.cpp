// Learns Fashion-MNIST in one pass over the training images: convolution with ReLU, max pooling,
// fully connected. Usage: example_fashion_mnist FOLDER, with the four unpacked IDX files in it.
// Fails if fewer than 87 % of the test images are recognised.
#include <openbnns/openbnns.hpp>

#include <cstdio>
#include <fstream>
#include <iterator>

using namespace bnns;

constexpr std::size_t kBatch = 50, kPixels = 28 * 28, kFilters = 32;

std::vector<std::uint8_t> read_idx(const std::string& file, std::size_t header_size) {
  std::ifstream stream(file, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(stream), {}};
  if (bytes.size() <= header_size) throw std::runtime_error(file + " is not an IDX file");
  return {bytes.begin() + static_cast<std::ptrdiff_t>(header_size), bytes.end()};
}

int main(int argc, char** argv) try {
  RandomGenerator generator({.seed = 1});
  const Shape image = Shape::image_chw(28, 28, 1), pooled = Shape::image_chw(14, 14, kFilters);
  Tensor x(image, kBatch), labels(Shape::vector(10), kBatch), loss(Shape::vector(1));
  Tensor features(Shape::image_chw(28, 28, kFilters), kBatch), d_features(features.shape(), kBatch);
  Tensor small(pooled, kBatch), d_small(pooled, kBatch);
  Tensor scores(Shape::vector(10), kBatch), d_scores(Shape::vector(10), kBatch);

  const Shape filters = Shape::convolution_weights_oihw(3, 3, 1, kFilters);
  const Shape matrix = Shape::matrix_row_major(pooled.dense_count(), 10);
  Parameter w1(Tensor::he_uniform(generator, filters)), b1(Shape::vector(kFilters));
  Parameter w2(Tensor::glorot_uniform(generator, matrix)), b2(Shape::vector(10));
  ParameterList parameters(w1, b1, w2, b2);

  // [snippet]
  ConvolutionLayer convolution({.input = x,
                                .output = features,
                                .weights = w1,
                                .bias = b1,
                                .activation = ActivationFunction::rectified_linear(),
                                .padding = 1});
  PoolingLayer pool({.input = features, .output = small, .kernel_size = 2});
  FullyConnectedLayer connected({.input = small, .output = scores, .weights = w2, .bias = b2});
  LossLayer softmax(
      {.input = scores, .output = loss, .loss_function = loss::SoftmaxCrossEntropy{}});
  AdamOptimizer adam = {.learning_rate = 1e-3f};
  // [snippet]

  std::size_t right = 0;
  for (const std::string name : {"train", "t10k"}) {
    const std::string folder = argc > 1 ? argv[1] : ".";
    const auto pixels = read_idx(folder + "/" + name + "-images-idx3-ubyte", 16);
    const auto classes = read_idx(folder + "/" + name + "-labels-idx1-ubyte", 8);
    right = 0;
    for (std::size_t at = 0; at + kBatch <= classes.size(); at += kBatch) {
      const auto truth = std::span(classes).subspan(at, kBatch);
      std::ranges::transform(std::span(pixels).subspan(at * kPixels, kBatch * kPixels), x.data(),
                             [](std::uint8_t pixel) { return static_cast<float>(pixel) / 255; });
      one_hot(truth, labels);
      convolution.apply(x, features);
      pool.apply(features, small);
      connected.apply(small, scores);
      const auto guesses = argmax(scores);
      for (std::size_t n = 0; n < kBatch; ++n) right += guesses[n] == truth[n];
      if (name != "train") continue;

      softmax.apply(
          {.input = scores, .labels = labels, .output = loss, .input_gradient = d_scores});
      connected.apply_backward({.input = small,
                                .output_gradient = d_scores,
                                .input_gradient = d_small,
                                .weights_gradient = w2.gradient,
                                .bias_gradient = b2.gradient});
      pool.apply_backward(
          {.input = features, .output_gradient = d_small, .input_gradient = d_features});
      convolution.apply_backward({.input = x,
                                  .output = features,
                                  .output_gradient = d_features,
                                  .weights_gradient = w1.gradient,
                                  .bias_gradient = b1.gradient});
      adam.step(parameters);
    }
    std::printf("%s: %zu of %zu right\n", name.c_str(), right, classes.size());
  }
  return right >= 8700 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

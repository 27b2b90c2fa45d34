// Learns to tell two spirals apart: two inputs, two hidden layers, softmax cross entropy, Adam, all
// with the C++ classes. Every step takes all points. The result is the same on every run; another
// seed may be given as argument. Fails if fewer than 97 % of the points are right in the end.
#include <openbnns/openbnns.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numbers>
#include <optional>
#include <vector>

namespace {

using bnns::Shape;
using bnns::Tensor;

constexpr std::size_t kPoints = 200, kHidden = 32, kSteps = 600;
constexpr float kLargestLoss = 0.01f, kSmallestAccuracy = 0.97f;

// A fully connected layer with all it needs for training.
struct Dense {
  bnns::Parameter weights, bias;
  Tensor output, output_gradient;
  bnns::FullyConnectedLayer layer;

  Dense(std::size_t inputs, std::size_t outputs, const bnns::ActivationFunction& activation,
        bnns::RandomGenerator& generator)
      : weights(Tensor::he_normal(generator, Shape::matrix_row_major(inputs, outputs))),
        bias(Shape::vector(outputs)),
        output(Shape::vector(outputs), kPoints),
        output_gradient(output.shape(), kPoints),
        layer({.input = Shape::vector(inputs),
               .output = output,
               .weights = weights,
               .bias = bias,
               .activation = activation}) {}

  // Nobody asks for the gradient of the points themselves: input_gradient may be absent.
  void backward(const Tensor& input, std::optional<bnns::Descriptor> input_gradient) {
    layer.apply_backward({.input = input,
                          .output = output,
                          .output_gradient = output_gradient,
                          .input_gradient = input_gradient,
                          .weights_gradient = weights.gradient,
                          .bias_gradient = bias.gradient});
  }
};

// Points of two spirals with one and a half turns each, one-hot labels.
void make_spirals(Tensor& points, Tensor& labels) {
  for (std::size_t i = 0; i < kPoints; ++i) {
    const float along = static_cast<float>(i / 2) / (kPoints / 2);
    const float angle = std::numbers::pi_v<float> * (3 * along + static_cast<float>(i % 2));
    points.sample(i)[0] = (0.1f + along) * std::cos(angle);
    points.sample(i)[1] = (0.1f + along) * std::sin(angle);
    labels.sample(i)[i % 2] = 1;
  }
}

float accuracy(const Tensor& scores) {
  const std::vector<std::size_t> guesses = bnns::argmax(scores);
  std::size_t right = 0;
  for (std::size_t i = 0; i < kPoints; ++i) right += guesses[i] == i % 2;
  return static_cast<float>(right) / kPoints;
}

bool train(std::uint64_t seed) {
  bnns::RandomGenerator generator({.seed = seed});
  Tensor points(Shape::vector(2), kPoints), labels(Shape::vector(2), kPoints);
  make_spirals(points, labels);

  const auto relu = bnns::ActivationFunction::rectified_linear();
  Dense first(2, kHidden, relu, generator), second(kHidden, kHidden, relu, generator);
  Dense last(kHidden, 2, bnns::ActivationFunction::identity(), generator);

  Tensor loss(Shape::vector(1));
  bnns::LossLayer loss_layer(
      {.input = last.output, .output = loss, .loss_function = bnns::loss::SoftmaxCrossEntropy{}});
  bnns::AdamOptimizer adam = {.learning_rate = 0.01f};
  bnns::ParameterList parameters(first.weights, first.bias, second.weights, second.bias,
                                 last.weights, last.bias);

  for (std::size_t step = 0; step <= kSteps; ++step) {
    first.layer.apply(points, first.output);
    second.layer.apply(first.output, second.output);
    last.layer.apply(second.output, last.output);
    loss_layer.apply({.input = last.output,
                      .labels = labels,
                      .output = loss,
                      .input_gradient = last.output_gradient});
    if (step % 100 == 0) {
      std::printf("step %4zu  loss %.4f  right %5.1f %%\n", step, static_cast<double>(loss[0]),
                  static_cast<double>(100 * accuracy(last.output)));
    }
    if (step == kSteps) break;
    last.backward(second.output, second.output_gradient);
    second.backward(first.output, first.output_gradient);
    first.backward(points, std::nullopt);
    adam.step(parameters);
  }
  return loss[0] <= kLargestLoss && accuracy(last.output) >= kSmallestAccuracy;
}

}  // namespace

int main(int argc, char** argv) try {
  return train(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 1) ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

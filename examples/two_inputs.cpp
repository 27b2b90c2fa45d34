// A fused layer with two inputs, y = relu(gamma k + beta) with k the normalized product a b, that
// learns beta and gamma in a few steps. two_inputs.c is the same program in C; both print the same
// bits.
#include <openbnns/openbnns.hpp>

#include <cstdio>
#include <exception>

using namespace bnns;

constexpr std::size_t kBatch = 16, kChannels = 3, kSteps = 5;

int main() try {
  const Shape shape = Shape::vector(kChannels);
  Tensor a(shape, kBatch), b(shape, kBatch), target(shape, kBatch);
  for (std::size_t i = 0; i < a.count(); ++i) {
    a[i] = static_cast<float>(i * 7 % 13) - 6;
    b[i] = static_cast<float>(i * 5 % 11) - 5;
    target[i] = a[i] * b[i] > 0 ? 1.0f : 0.0f;
  }
  Parameter beta(shape), gamma(Tensor::filled(1, shape));
  Tensor y(shape, kBatch), dy(shape, kBatch), da(shape, kBatch), db(shape, kBatch), loss({1});

  // [snippet]
  FusedParametersLayer layer(
      {.inputs = {a, b},
       .output = y,
       .layers = {
           FusedBinaryArithmeticParameters{.function = ArithmeticBinaryFunction::multiply},
           FusedNormalizationParameters{.type = normalization::Batch{},
                                        .beta = beta,
                                        .gamma = gamma,
                                        .activation = ActivationFunction::rectified_linear()}}});
  LossLayer error({.input = y, .output = loss, .loss_function = loss::MeanSquareError{}});
  ParameterList parameters(beta, gamma);
  AdamOptimizer adam = {.learning_rate = 0.1f};
  for (std::size_t step = 0; step < kSteps; ++step) {
    layer.apply(a, b, y, LearningPhase::training);
    error.apply({.input = y, .labels = target, .output = loss, .input_gradient = dy});
    layer.apply_backward(
        {.inputs = {a, b},
         .output = y,
         .output_gradient = dy,
         .input_gradients = {da, db},
         .parameters = ArithmeticNormGradients{.beta = beta.gradient, .gamma = gamma.gradient}});
    adam.step(parameters);
    // [snippet]
    std::printf("loss %a beta %a gamma %a da %a db %a\n", double{loss[0]}, double{beta.value[0]},
                double{gamma.value[0]}, double{da[4]}, double{db[4]});
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

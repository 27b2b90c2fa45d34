// bnns::LSTMLayer.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "openbnns/openbnns.hpp"
#include "support/cpp_expect.h"

namespace {

using bnns::LSTMLayer;
using bnns::LSTMParameters;
using bnns::Shape;
using bnns::Tensor;

constexpr auto kInference = bnns::LearningPhase::inference;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

TEST(CppLstm, ForwardAndBackwardOfOneCell) {
  const Shape one = Shape::tensor_3d_sne(1, 1, 1);
  const Tensor x = Tensor::from({1}, one), dy = Tensor::from({1}, one);
  const Tensor zero = Tensor::from({0}, {1, 1, 1, 1});
  const auto gate = [&](float weight) {
    return bnns::LSTMGate{.input_weights = Tensor::from({weight}, {1, 1, 1, 1}),
                          .hidden_weights = zero};
  };
  LSTMLayer layer({.input = x,
                   .output = dy,
                   .input_gate = gate(1),
                   .forget_gate = gate(0.5f),
                   .candidate_gate = gate(1),
                   .output_gate = gate(2)});
  Tensor y(one), cell(Shape{1, 1, 1, 1}), dx(one), dwo(Shape{1, 1, 1, 1});
  layer.apply({.input = x, .output = y, .final_cell = cell});
  const double i = sigmoid(1), g = std::tanh(1), o = sigmoid(2), c = i * g, t = std::tanh(c);
  EXPECT_NEAR(cell[0], c, 1e-6);
  EXPECT_NEAR(y[0], o * t, 1e-6);
  layer.apply_backward({.input = x,
                        .output_gradient = dy,
                        .input_gradient = dx,
                        .output_gate = {.input_weights = dwo}});
  const double dc = o * (1 - t * t), da_o = t * o * (1 - o);
  EXPECT_NEAR(dwo[0], da_o, 1e-6);
  EXPECT_NEAR(dx[0], dc * g * i * (1 - i) + dc * i * (1 - g * g) + 2 * da_o, 1e-6);
}

// Learns to tell the sign of the first of four numbers at the last step.
TEST(CppLstm, LearnsToRemember) {
  constexpr size_t kBatch = 16, kSteps = 4, kHidden = 6;
  bnns::RandomGenerator generator({.seed = 7});
  const LSTMParameters parameters(generator, {.inputs = 1, .hidden = kHidden, .layers = 2});
  const Shape in = Shape::tensor_3d_sne(1, kBatch, kSteps);
  const Shape out = Shape::tensor_3d_sne(kHidden, kBatch, kSteps);
  LSTMLayer layer({.input = in,
                   .output = out,
                   .layer_count = 2,
                   .dropout = 0.1f,
                   .input_gate = parameters.gate(0),
                   .forget_gate = parameters.gate(1),
                   .candidate_gate = parameters.gate(2),
                   .output_gate = parameters.gate(3)});
  bnns::ParameterList list;
  parameters.add_to(list);
  bnns::AdamOptimizer adam = {.learning_rate = 0.03f};
  Tensor y(out);
  const auto last = [&](size_t n) -> float& { return y[((kSteps - 1) * kBatch + n) * kHidden]; };
  float loss = 1;
  for (int epoch = 0; epoch < 300; ++epoch) {
    const Tensor x = Tensor::uniform(generator, -1, 1, in);
    const bool checks = epoch == 299;
    layer.apply(
        {.input = x, .output = y, .phase = checks ? kInference : bnns::LearningPhase::training});
    Tensor dy(out);
    loss = 0;
    for (size_t n = 0; n < kBatch; ++n) {
      const float difference = last(n) - (x[n] > 0 ? 0.5f : -0.5f);
      loss += difference * difference / kBatch;
      dy[((kSteps - 1) * kBatch + n) * kHidden] = 2 * difference / kBatch;
    }
    if (checks) break;
    layer.apply_backward({.input = x,
                          .output_gradient = dy,
                          .input_gate = parameters.gradients(0),
                          .forget_gate = parameters.gradients(1),
                          .candidate_gate = parameters.gradients(2),
                          .output_gate = parameters.gradients(3)});
    adam.step(list);
  }
  EXPECT_LT(loss, 0.08f);
}

TEST(CppLstm, Failures) {
  const Tensor x(Shape::tensor_3d_sne(2, 3, 4));
  bnns::RandomGenerator generator({.seed = 1});
  const LSTMParameters p(generator, {.inputs = 2, .hidden = 5});
  const auto make = [&](const Shape& input, const Shape& output, float dropout = 0,
                        size_t layers = 1, bool both = false) {
    return LSTMLayer({.input = input,
                      .output = output,
                      .layer_count = layers,
                      .is_bidirectional = both,
                      .dropout = dropout,
                      .input_gate = p.gate(0),
                      .forget_gate = p.gate(1),
                      .candidate_gate = p.gate(2),
                      .output_gate = p.gate(3)});
  };
  constexpr auto kCreation = bnns::Error::Code::unable_to_create_layer;
  const Shape in = Shape::tensor_3d_sne(2, 3, 4), out = Shape::tensor_3d_sne(5, 3, 4);
  const auto refuse = [&](const auto& f, const char* word) { expect_error(f, kCreation, word); };
  refuse([&] { make(Shape::image_chw(2, 1, 2), out); }, "input must have the layout");
  refuse([&] { make(in, Shape::image_chw(5, 3, 4)); }, "output must have the layout");
  refuse([&] { make(in, out, 1, 2); }, "dropout");
  refuse([&] { make(in, out, 0, 2); }, "upper_input_weights is missing");
  refuse([&] { make(in, Shape::tensor_3d_sne(4, 3, 4)); }, "input_weights has 10 elements");
  refuse([&] { make(in, Shape::tensor_3d_sne(5, 2, 4)); }, "output has 2 samples");
  refuse([&] { make(in, out, 0, 1, true); }, "even number");

  // A batch of sequences would be passed over: the samples are an axis.
  constexpr auto kInvalid = bnns::Error::Code::invalid_argument;
  LSTMLayer layer = make(in, out);
  Tensor y(out), two(out, 2);
  expect_error([&] { layer.apply({.input = x, .output = two}); }, kInvalid, "output has 2 samples");

  LSTMLayer moved = std::move(layer);
  moved.apply({.input = x, .output = y});
  expect_error([&] { layer.apply({.input = x, .output = y}); }, kInvalid, "moved from");
  expect_error([&] { layer.apply_backward({.input = x, .output_gradient = y}); }, kInvalid,
               "moved from");
  layer = std::move(moved);
  layer.apply_backward({.input = x, .output_gradient = y});
}

}  // namespace

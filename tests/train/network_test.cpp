// Networks: description, shapes, parameters, and gradients of every kind of layer.
#include <gtest/gtest.h>
#include <openbnns/train.hpp>

#include <cmath>
#include <string>
#include <vector>

#include "train/counter_random.h"
#include "train/network/runner.h"

namespace bnns::train {
namespace {

Network lenet() {
  return Network::image(28, 28)
      .convolution(32, 3, {.padding = 1})
      .batch_norm()
      .relu()
      .max_pool(2)
      .convolution(64, 3, {.padding = 1})
      .batch_norm()
      .relu()
      .max_pool(2)
      .flatten()
      .fully_connected(128)
      .relu()
      .softmax_classifier(10);
}

std::string failure_of(const std::string& json) {
  try {
    Network::from_json(json, "net.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::network);
    return error.what();
  }
  return "no failure";
}

TEST(Network, HasShapesAndParametersOfPyTorch) {
  Network network = lenet();
  EXPECT_EQ(network.output_count(), 10u);
  const auto parameters = network.parameters();
  EXPECT_EQ(parameters[0].name, "0.weight");
  EXPECT_EQ(parameters[0].dimensions, (std::vector<std::size_t>{32, 1, 3, 3}));
  EXPECT_EQ(parameters[5].name, "1.running_var");
  EXPECT_EQ(parameters.back().name, "11.bias");
  EXPECT_EQ(parameters[parameters.size() - 4].dimensions, (std::vector<std::size_t>{128, 3136}));
  EXPECT_EQ(network.parameter_count(), 320u + 128 + 18496 + 256 + 401536 + 1290);
}

TEST(Network, NamedLenetIsTheDescribedOne) {
  EXPECT_EQ(Network::named("lenet", {28, 28, 1}, 10).description(), lenet().description());
}

TEST(Network, JsonAndBackIsTheSame) {
  for (const std::string& name : Network::names()) {
    const Network network = Network::named(name, {32, 24, 3}, 7);
    EXPECT_EQ(Network::from_json(network.to_json()).description(), network.description()) << name;
    EXPECT_NE(network.summary().find("all"), std::string::npos);
  }
}

TEST(Network, SameSeedSameWeights) {
  Network a = lenet(), b = lenet();
  a.initialize(5);
  b.initialize(5);
  EXPECT_TRUE(std::ranges::equal(a.parameters()[0].values, b.parameters()[0].values));
  b.initialize(6);
  EXPECT_FALSE(std::ranges::equal(a.parameters()[0].values, b.parameters()[0].values));
}

TEST(Network, CopiesAreIndependent) {
  Network a = lenet();
  a.initialize(1);
  Network b = a;
  b.parameters()[0].values[0] += 1;
  EXPECT_NE(a.parameters()[0].values[0], b.parameters()[0].values[0]);
}

TEST(Network, RefusesWithLayerFieldAndRule) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"input": [4], "layers": [{"layer": "magic"}]})",
       "layer 0 (magic): there is no such kind"},
      {R"({"input": [4], "layers": [{"layer": "dropout", "rate": 1.5}]})",
       "\"rate\" is 1.5; it must be a number from 0 to 0.999"},
      {R"({"input": [4], "layers": [{"layer": "fully_connected"}]})",
       "the field \"outputs\" must be given"},
      {R"({"input": [4], "layers": [{"layer": "fully_connected", "outputs": 2, "x": 1}]})",
       "there is no field \"x\""},
      {R"({"input": [4, 4], "layers": [{"layer": "max_pool", "kernel": 5}]})",
       "the window of 5 is larger"},
      {R"({"input": [4, 4], "layers": [{"layer": "convolution", "channels": 2, "kernel": [3, 0]}]})",
       "\"kernel\" is [3, 0]"},
      {R"({"input": [4, 4, 3], "layers": [{"layer": "convolution", "channels": 4, "kernel": 3, "groups": 2}]})",
       "\"groups\" is 2; it must divide the 3 channels"},
      {R"({"input": [0], "layers": [{"layer": "relu"}]})", "its sizes are 0 x 1 x 1"},
      {R"({"input": [4], "layers": []})", "no layers"},
      {R"({"input": [16777216, 16777216, 16777216], "layers": [{"layer": "relu"}]})",
       "its output has the sizes"},
      {R"({"input": [4], "layers": [{"layer": "relu", "inside": [{"layer": "relu"}]}]})",
       "it has no layers inside"},
      {R"({"input": [4], "layers": [{"layer": "residual", "inside": []}]})", "at least one"},
      {R"({"input": [4], "layers": [{"layer": "relu", "name": "a/b"}]})", "its name is"},
      {R"({"input": [4], "layers": [{"layer": "relu"}], "more": 1})", "no such field"},
      {R"({"input": [4]})", "the field \"layers\" must be given"},
      {R"([1])", "is not a JSON object"},
      {R"({"input")", "is not JSON"},
  };
  for (const auto& [json, text] : cases) {
    const std::string failure = failure_of(json);
    EXPECT_NE(failure.find(text), std::string::npos) << json << "\n" << failure;
    EXPECT_EQ(failure.rfind("net.json", 0), 0u) << failure;
  }
}

// ---- Gradients ----

// The network's gradients are compared with differences of its loss along random directions. Floats
// allow a bound of a few per mille; a wrong or missing term is off by far more.
void check_gradients(Network network, const std::string& name) {
  network.initialize(3);
  constexpr std::size_t kBatch = 4;
  impl::Runner runner(network, kBatch, 1);
  impl::ParameterSet& set = network.state().parameters();
  const CounterRandom random({17});
  for (std::size_t i = 0; i < set.weights().count(); ++i) {
    set.weights()[i] += 0.2f * (random.uniform(i) - 0.5f);  // biases and betas away from 0
  }
  const CounterRandom inputs({18}), upstream({19}), directions({20});
  for (std::size_t i = 0; i < runner.input().count(); ++i) {
    runner.input()[i] = 2 * inputs.uniform(i) - 1;
  }
  const impl::Pass pass = {.samples = kBatch, .training = true, .seed = 7};
  std::vector<float> u(runner.output().count());
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = upstream.uniform(i) - 0.5f;
  const auto loss = [&] {
    runner.forward(pass);
    double sum = 0;
    for (std::size_t i = 0; i < u.size(); ++i) sum += double(u[i]) * runner.output()[i];
    return sum;
  };
  loss();
  runner.output_delta().copy_from(u);
  Tensor input_delta(runner.input().shape(), kBatch);
  runner.backward(pass, input_delta);

  const auto compare = [&](std::span<float> values, std::span<const float> gradient,
                           const std::string& what) {
    const std::vector<float> kept(values.begin(), values.end());
    std::vector<float> direction(values.size());
    double expected = 0, scale = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      direction[i] = directions.uniform(i) - 0.5f;
      expected += double(direction[i]) * gradient[i];
      scale += std::abs(double(direction[i]) * gradient[i]);
    }
    const auto moved = [&](float h) {
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = kept[i] + h * direction[i];
      return loss();
    };
    constexpr float kH = 1e-3f;
    const double measured = (8 * (moved(kH) - moved(-kH)) - (moved(2 * kH) - moved(-2 * kH))) /
                            (12 * static_cast<double>(kH));
    std::ranges::copy(kept, values.begin());
    EXPECT_NEAR(measured, expected, 5e-3 * scale + 2e-3) << name << ", " << what;
  };
  compare(runner.input().values(), input_delta.values(), "input");
  for (const auto& entry : set.entries()) {
    if (entry.rule.is_state) continue;
    compare(set.values(entry), set.gradients().values().subspan(entry.offset, entry.count),
            entry.name);
  }
}

TEST(NetworkGradients, EveryKindOfLayer) {
  const auto image = [] { return Network::image(6, 5, 4); };
  check_gradients(image().convolution(3, {3, 2}, {.stride = {2, 1}, .padding = 1}), "convolution");
  check_gradients(image().convolution(6, 3, {.dilation = 2, .groups = 2, .bias = false}), "groups");
  check_gradients(image().transposed_convolution(3, 3, 2, 1), "transposed");
  check_gradients(image().fully_connected(7), "fully connected");
  check_gradients(image().batch_norm(), "batch norm");
  check_gradients(image().instance_norm(), "instance norm");
  check_gradients(image().layer_norm(), "layer norm");
  check_gradients(image().group_norm(2), "group norm");
  check_gradients(Network::table(9).batch_norm(), "batch norm of a vector");
  check_gradients(Network::table(9).layer_norm(), "layer norm of a vector");
  check_gradients(image().average_pool(2), "average pool");
  check_gradients(image().l2_pool(2), "l2 pool");
  check_gradients(image().max_pool({2, 3}), "max pool");
  check_gradients(image().dropout(0.4), "dropout");
  check_gradients(image().flatten().fully_connected(3), "flatten");
  check_gradients(image().residual({{.kind = "tanh"}}), "residual");
  check_gradients(
      image().residual({{.kind = "convolution",
                         .fields = {{"channels", 5.0}, {"kernel", 2.0}, {"stride", 2.0}}}}),
      "residual with a shortcut");
}

TEST(NetworkGradients, Activations) {
  for (const char* name : {"identity", "sigmoid", "tanh", "scaled_tanh", "linear", "softmax",
                           "gelu", "gelu2", "softplus", "softsign", "elu", "linear_with_bias",
                           "log_softmax", "log_sigmoid", "selu", "celu", "tanh_shrink", "silu"}) {
    check_gradients(Network::table(12).activation(name), name);
    check_gradients(Network::table(12).fully_connected(10).activation(name), name);
  }
}

TEST(NetworkGradients, FusedStages) {
  for (const char* name : {"tanh", "silu"}) {
    check_gradients(Network::image(6, 5, 2).convolution(4, 3).batch_norm().activation(name), name);
    check_gradients(Network::image(6, 5, 2).convolution(4, 3).group_norm(2).activation(name), name);
    check_gradients(Network::image(6, 5, 2).convolution(4, 3).layer_norm().activation(name), name);
    check_gradients(Network::image(6, 5, 2).convolution(4, 3).instance_norm().activation(name),
                    name);
    check_gradients(Network::image(3, 3, 2).transposed_convolution(4, 3).batch_norm(), name);
    check_gradients(Network::table(8).fully_connected(6).batch_norm().activation(name), name);
    check_gradients(Network::table(8).fully_connected(6).layer_norm().activation(name), name);
  }
}

}  // namespace
}  // namespace bnns::train

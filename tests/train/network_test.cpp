// Networks: description, shapes, parameters, and gradients of every kind of layer.
#include <gtest/gtest.h>
#include <openbnns/train.hpp>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

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
      {R"({"input": [4, 4], "layers": [{"layer": "max_pool", "kernel": [3, 0]}]})",
       "\"kernel\" is [3, 0]"},
      {R"({"input": [4, 4, 3], "layers": [{"layer": "group_norm", "groups": 2}]})",
       "\"groups\" is 2; it must divide the 3 channels"},
      {R"({"input": [4, 4], "layers": [{"layer": "reflect_padding", "x": 4}]})",
       "\"x\" has 4 cells; of 4 at most 3 can be mirrored"},
      {R"({"input": [4, 4], "layers": [{"layer": "linear_resize"}]})",
       "one of the fields \"size\" and \"factor\" must be given"},
      {R"({"input": [4, 4], "layers": [{"layer": "nearest_resize", "size": 2, "factor": 2}]})",
       "one of the fields \"size\" and \"factor\""},
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
      {R"({"input")", "line 1, column 9"},
  };
  for (const auto& [json, text] : cases) {
    const std::string failure = failure_of(json);
    EXPECT_NE(failure.find(text), std::string::npos) << json << "\n" << failure;
    EXPECT_EQ(failure.rfind("net.json", 0), 0u) << failure;
  }
}

// ---- Gradients ----

void expect_right(const Network& network, const std::string& name) {
  for (const GradientCheck& check : check_gradients(network)) {
    EXPECT_LT(check.error, 5e-3) << name << ", " << check.name << ": " << check.gradient
                                 << " by the backward pass, " << check.difference << " measured";
  }
}

TEST(NetworkGradients, EveryKindOfLayer) {
  const auto image = [] { return Network::image(6, 5, 4); };
  expect_right(image().convolution(3, {3, 2}, {.stride = {2, 1}, .padding = 1}), "convolution");
  expect_right(image().convolution(6, 3, {.dilation = 2, .groups = 2, .bias = false}), "groups");
  expect_right(image().transposed_convolution(3, 3, 2, 1), "transposed");
  expect_right(image().fully_connected(7), "fully connected");
  expect_right(image().batch_norm(), "batch norm");
  expect_right(image().instance_norm(), "instance norm");
  expect_right(image().layer_norm(), "layer norm");
  expect_right(image().group_norm(2), "group norm");
  expect_right(Network::table(9).batch_norm(), "batch norm of a vector");
  expect_right(Network::table(9).layer_norm(), "layer norm of a vector");
  expect_right(image().average_pool(2), "average pool");
  expect_right(image().l2_pool(2), "l2 pool");
  expect_right(image().max_pool({2, 3}), "max pool");
  expect_right(image().global_average_pool().fully_connected(3), "global average pool");
  expect_right(image().global_max_pool(), "global max pool");
  expect_right(image().padding({1, 2}, 0.5).convolution(2, 2), "padding");
  expect_right(image().add({.kind = "padding", .fields = {{"x", FieldPair{0, 3}}}}), "padding");
  expect_right(image().reflect_padding({2, 1}), "reflect padding");
  expect_right(image().symmetric_padding({6, 1}), "symmetric padding");
  expect_right(Network::table(9).add({.kind = "reflect_padding", .fields = {{"x", 2.0}}}),
               "reflect padding of a vector");
  expect_right(Network::table(9).padding(1), "a vector becomes an image");
  expect_right(Network::table(5).linear_resize({2, 3}), "a vector becomes an image");
  expect_right(image().nearest_resize({2, 3}), "nearest resize");
  expect_right(image().linear_resize(2), "linear resize");
  expect_right(image().linear_resize(3, true), "linear resize, corners aligned");
  expect_right(image().add({.kind = "linear_resize", .fields = {{"size", FieldPair{3, 5}}}}),
               "linear resize to a size");
  expect_right(image().dropout(0.4), "dropout");
  expect_right(image().flatten().fully_connected(3), "flatten");
  expect_right(image().residual({{.kind = "tanh"}}), "residual");
  expect_right(
      image().residual({{.kind = "convolution",
                         .fields = {{"channels", 5.0}, {"kernel", 2.0}, {"stride", 2.0}}}}),
      "residual with a shortcut");
}

TEST(NetworkGradients, Sequences) {
  expect_right(Network::image(5, 4).lstm(3), "lstm");
  expect_right(Network::image(5, 4).lstm(3, true), "the last row of an lstm");
  expect_right(Network::image(6, 4).attention(2), "attention");
  expect_right(Network::table(7).embedding(5, 3), "embedding");
  expect_right(Network::table(4).embedding(9, 6, true).attention(3).lstm(5, true), "sequence");
}

TEST(Network, IdsAreChecked) {
  Network network = Network::table(2).embedding(3, 2).regression();
  for (const float id : {-1.0f, 3.0f, 0.5f, std::nanf("")}) {
    try {
      network.predict(std::vector<float>{0, id});
      ADD_FAILURE() << id;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::Kind::data);
      EXPECT_NE(std::string(error.what()).find("ids are whole numbers from 0 to 2"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(NetworkGradients, Activations) {
  for (const char* name : {"identity", "sigmoid", "tanh", "scaled_tanh", "linear", "softmax",
                           "gelu", "gelu2", "softplus", "softsign", "elu", "linear_with_bias",
                           "log_softmax", "log_sigmoid", "selu", "celu", "tanh_shrink", "silu"}) {
    expect_right(Network::table(12).activation(name), name);
    expect_right(Network::table(12).fully_connected(10).activation(name), name);
  }
}

TEST(NetworkGradients, FusedStages) {
  for (const char* name : {"tanh", "silu"}) {
    expect_right(Network::image(6, 5, 2).convolution(4, 3).batch_norm().activation(name), name);
    expect_right(Network::image(6, 5, 2).convolution(4, 3).group_norm(2).activation(name), name);
    expect_right(Network::image(6, 5, 2).convolution(4, 3).layer_norm().activation(name), name);
    expect_right(Network::image(6, 5, 2).convolution(4, 3).instance_norm().activation(name), name);
    expect_right(Network::image(3, 3, 2).transposed_convolution(4, 3).batch_norm(), name);
    expect_right(Network::table(8).fully_connected(6).batch_norm().activation(name), name);
    expect_right(Network::table(8).fully_connected(6).layer_norm().activation(name), name);
  }
}

}  // namespace
}  // namespace bnns::train

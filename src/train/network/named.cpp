// Networks by name.
#include <fmt/format.h>

#include <algorithm>

#include "openbnns/train/error.hpp"
#include "openbnns/train/network.hpp"

namespace bnns::train {
namespace {

// The image is halved by pooling while it has at least 2 pixels in each direction.
void halve(Network& network, const SampleShape& shape, int times) {
  const std::size_t least = std::min(shape.width, shape.height) >> times;
  if (least >= 1) network.max_pool(2);
}

void mlp(Network& network) {
  network.flatten().fully_connected(128).relu().fully_connected(64).relu();
}

void lenet(Network& network) {
  const SampleShape shape = network.input_shape();
  network.convolution(32, 3, {.padding = 1}).batch_norm().relu();
  halve(network, shape, 1);
  network.convolution(64, 3, {.padding = 1}).batch_norm().relu();
  halve(network, shape, 2);
  network.flatten().fully_connected(128).relu();
}

void digits(Network& network) {
  const SampleShape shape = network.input_shape();
  network.convolution(8, 3, {.padding = 1}).relu();
  halve(network, shape, 1);
  network.convolution(16, 3, {.padding = 1}).relu();
  halve(network, shape, 2);
  network.flatten();
}

LayerDescription layer(const char* kind) {
  return {.kind = kind};
}
LayerDescription convolution(double channels, double stride) {
  return {.kind = "convolution",
          .fields = {{"channels", channels},
                     {"kernel", 3.0},
                     {"stride", stride},
                     {"padding", 1.0},
                     {"bias", false}}};
}

void resnet_mini(Network& network) {
  network.convolution(16, 3, {.padding = 1, .bias = false}).batch_norm().relu();
  double channels = 16;
  for (const double stride : {1.0, 2.0, 2.0}) {
    if (stride == 2) channels *= 2;
    network
        .residual({convolution(channels, stride), layer("batch_norm"), layer("relu"),
                   convolution(channels, 1), layer("batch_norm")})
        .relu();
  }
  const LayerSummary last = network.layers().back();
  network.average_pool({last.output.width, last.output.height}).flatten();
}

struct Named {
  const char* name;
  void (*build)(Network&);
};
constexpr Named kNamed[] = {
    {"mlp", mlp}, {"lenet", lenet}, {"resnet-mini", resnet_mini}, {"digits", digits}};

}  // namespace

const std::vector<std::string>& Network::names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Named& named : kNamed) list.push_back(named.name);
    return list;
  }();
  return names;
}

Network Network::named(std::string_view name, const SampleShape& input, std::size_t outputs,
                       OutputKind output) {
  const auto found = std::ranges::find(kNamed, name, &Named::name);
  if (found == std::end(kNamed)) {
    throw Error(Error::Kind::network, fmt::format("there is no network \"{}\"; there are: {}", name,
                                                  fmt::join(names(), ", ")));
  }
  Network network = image(input.width, input.height, input.channels);
  found->build(network);
  if (output == OutputKind::softmax) {
    network.softmax_classifier(outputs);
  } else {
    network.regression(outputs);
  }
  return network;
}

}  // namespace bnns::train

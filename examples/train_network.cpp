// A network in five lines: described, trained, measured, saved. Digits are drawn by the library.
// Fails if fewer than 97 % of the test images are recognised.
#include <openbnns/train.hpp>

#include <cstdio>

using namespace bnns::train;

int main() try {
  // [snippet]
  const DataSplit data = open_data("synthetic-digits");
  Network network = Network::image(28, 28)
                        .convolution(16, 3, {.padding = 1})
                        .batch_norm()
                        .relu()
                        .max_pool(2)
                        .convolution(32, 3, {.padding = 1})
                        .relu()
                        .max_pool(2)
                        .flatten()
                        .softmax_classifier(10);
  fit(network, data.training, data.validation, {.epochs = 3});
  const Metrics metrics = evaluate(network, data.test);
  network.save("digits.safetensors");
  // [snippet]
  std::printf("%s%zu of %zu test images right\n", network.summary().c_str(), metrics.right,
              metrics.samples);

  const Network loaded = Network::load("digits.safetensors");
  std::vector<float> image(28 * 28), truth(1);
  data.test.read(0, image, truth);
  const std::vector<float> probabilities = loaded.predict(image);
  std::printf("the first one is a %d; its probability is %.3f\n", static_cast<int>(truth[0]),
              probabilities[static_cast<std::size_t>(truth[0])]);
  return metrics.accuracy >= 0.97 ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}

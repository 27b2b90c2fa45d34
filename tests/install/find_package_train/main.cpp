// Trains for a moment, and asks the network about a picture.
#include <openbnns/train.hpp>

#include <cstdio>

int main() {
  using namespace bnns::train;
  Network network = Network::named("digits", {28, 28, 1}, 10);
  TrainingOptions options;
  options.epochs = 1;
  fit(network, synthetic_digits(200), {}, options);
  const std::vector<float> picture(28 * 28, 0.5f);
  const std::vector<float> probabilities = network.predict(picture);
  std::printf("%zu probabilities\n", probabilities.size());
  return probabilities.size() == 10 ? 0 : 1;
}

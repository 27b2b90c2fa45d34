// Trains for a moment with both ranks that a launcher started.
#include <openbnns/train.hpp>

#include <cstdio>

int main() {
  using namespace bnns::train;
  const std::unique_ptr<Communicator> ranks = launched_communicator();
  if (!ranks) {
    std::printf("no launcher was found\n");
    return 1;
  }
  Network network = Network::image(28, 28).flatten().softmax_classifier(10);
  TrainingOptions options;
  options.epochs = 1;
  options.shards = 2;
  options.communicator = ranks.get();
  fit(network, synthetic_digits(60), {}, options);
  if (ranks->rank() == 0) std::printf("%zu ranks\n", ranks->size());
  return ranks->size() == 2 ? 0 : 1;
}

// Learns to add two numbers that are written as digits, "47+85": an embedding of the characters, an
// LSTM that reads them one after the other, and a regression. It sees a part of all sums.
#include <openbnns/train.hpp>

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

using namespace bnns::train;

namespace {

constexpr int kNumbers = 100;         // two digits each
constexpr std::size_t kLength = 5;    // of "47+85"
constexpr std::size_t kSymbols = 11;  // ten digits and the plus sign

Data all_sums() {
  std::vector<float> ids, sums;
  for (int a = 0; a < kNumbers; ++a) {
    for (int b = 0; b < kNumbers; ++b) {
      for (const int id : {a / 10, a % 10, 10, b / 10, b % 10}) ids.push_back(float(id));
      sums.push_back(float(a + b));
    }
  }
  return Data::arrays({.task = Task::regression,
                       .shape = {.width = kLength},
                       .target_names = {"sum"},
                       .kind = SampleKind::ids},
                      std::move(ids), std::move(sums));
}

}  // namespace

int main() {
  // Every fourth sum is kept for the test.
  std::vector<std::size_t> seen, kept;
  for (std::size_t k = 0; k < kNumbers * kNumbers; ++k) (k * 7 % 4 == 0 ? kept : seen).push_back(k);
  const Data sums = all_sums(), training = sums.subset(seen), test = sums.subset(kept);

  Network network = Network::table(kLength).embedding(kSymbols, 8).lstm(32, true).regression();
  TrainingOptions options = {.epochs = 40, .batch_size = 32};
  options.optimizer.learning_rate = 1e-2;
  options.schedule.kind = Schedule::Kind::cosine;
  fit(network, training, {}, options);

  std::vector<float> ids(kLength), sum(1);
  std::size_t right = 0;
  for (std::size_t k = 0; k < test.size(); ++k) {
    test.read(k, ids, sum);
    right += std::lround(network.predict(ids)[0]) == std::lround(sum[0]);
  }
  const double share = double(right) / double(test.size());
  std::printf("%zu of %zu sums it had not seen are right: %.1f %%\n", right, test.size(),
              100 * share);
  return share > 0.95 ? 0 : 1;
}

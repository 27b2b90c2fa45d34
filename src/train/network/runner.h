// A network that runs: its stages and the memory for a batch.
#ifndef OPENBNNS_TRAIN_NETWORK_RUNNER_H
#define OPENBNNS_TRAIN_NETWORK_RUNNER_H

#include <span>
#include <vector>

#include "openbnns/train/network.hpp"
#include "train/network/sequence.h"
#include "train/network/state.h"

namespace bnns::train::impl {

class Runner {
 public:
  // Uses the parameters of `network`, which must outlive it. `threads` 0: the library chooses.
  Runner(Network& network, std::size_t batch_size, std::size_t threads = 0);

  std::size_t batch_size() const noexcept { return input_.batch_size(); }
  // For the caller to fill.
  Tensor& input() noexcept { return input_; }
  // Scores of the last layer.
  Tensor& output() noexcept { return output_; }
  // The gradient of the loss for the scores, for the caller to fill before backward().
  Tensor& output_delta() noexcept { return output_delta_; }

  void forward(const Pass& pass);
  // Sets the gradients of all parameters.
  void backward(const Pass& pass);
  // The same and the gradient for the input.
  void backward(const Pass& pass, Tensor& input_delta);

  Sequence& sequence() noexcept { return sequence_; }
  std::vector<Sequence::StageTime> times() const { return sequence_.times(); }
  std::string first_not_finite(const Pass& pass) const {
    return sequence_.first_not_finite(pass, output_);
  }

 private:
  Tensor input_, output_, output_delta_;
  Sequence sequence_;
};

// Scores become probabilities, or values in the units of the data.
void finish_predictions(const Network& network, std::span<float> scores);

// The scores of all samples, in blocks of fixed size.
std::vector<float> predict_all(Network& network, std::span<const float> samples);

}  // namespace bnns::train::impl

#endif

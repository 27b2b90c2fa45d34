// Compares the gradients of a network with differences of its output.
#ifndef OPENBNNS_TRAIN_GRADIENT_CHECK_HPP
#define OPENBNNS_TRAIN_GRADIENT_CHECK_HPP

#include <cstdint>
#include <string>
#include <vector>

#include "network.hpp"

namespace bnns::train {

struct GradientCheck {
  std::string name;   // of the parameter, or "input"
  double gradient;    // along a random direction, from the backward pass
  double difference;  // the same from four forward passes
  double error;       // of the two, relative to the size of the terms of the gradient
};

// With random samples, parameters and upstream gradient, all from the seed. Filters compute with
// floats, so that a right gradient is off by some 1e-4, more where a direction crosses the kink of
// a rectifier or changes the winner of a pooling window; a wrong one is off by 0.1 to 1.
OPENBNNS_TRAIN_API std::vector<GradientCheck> check_gradients(Network network,
                                                              std::uint64_t seed = 1);

}  // namespace bnns::train

#endif

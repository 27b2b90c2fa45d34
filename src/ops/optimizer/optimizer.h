// One step of an optimizer over many parameter tensors, in place.
//   gradient   g = scale * clip(given) + regularization * R,  R = 0, sign(w) or w
//   update     w, s0, s1, s2 = rule(w, g, s0, s1, s2); the rules are in kernels.cpp
// One pass over memory does both; clipping by norm needs one more pass over the gradients for the
// norm. Everything is element-wise, so grains are stretches of all tensors laid end to end: a grain
// is a part of a large tensor or covers many small ones. Squares are summed in double per stretch
// (ops/vector_norm), and stretches are joined in order. Nothing is allocated: the table of tensors
// is built on the stack, block by block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/types.h"

namespace bnns::impl {

// The comments list each rule's states in the order of the client's accumulators.
enum class OptimizerRule : uint8_t {
  kDescent,                  // no state
  kMomentum,                 // velocity
  kNesterov,                 // velocity
  kNesterovOfVelocities,     // velocity
  kAdam,                     // mean, mean square
  kAdamDecay,                // mean, mean square
  kAdamMax,                  // mean, mean square, its maximum
  kAdamDecayMax,             // mean, mean square, its maximum
  kRmsProp,                  // mean square
  kRmsPropMomentum,          // mean square, velocity
  kRmsPropCentered,          // mean square, mean
  kRmsPropCenteredMomentum,  // mean square, mean, velocity
};
constexpr size_t kOptimizerRules = 12;
constexpr size_t kMaxOptimizerStates = 3;
constexpr size_t kOptimizerStates[kOptimizerRules] = {0, 1, 1, 1, 2, 2, 3, 3, 1, 2, 2, 3};
constexpr size_t optimizer_states(OptimizerRule rule) {
  return kOptimizerStates[static_cast<size_t>(rule)];
}

// Coefficients for the kernels; each rule reads those that its formula names.
struct OptimizerConstants {
  float clip_min = -std::numeric_limits<float>::infinity();
  float clip_max = std::numeric_limits<float>::infinity();
  float regularization = 0;
  float rate = 0;  // learning rate; for Adam it includes both bias corrections
  float momentum = 0;
  float gradient_weight = 0;  // velocity = momentum * velocity + gradient_weight * g
  float velocity_weight = 0;  // w += velocity_weight * velocity
  float keep_mean = 0, add_mean = 0;
  float keep_square = 0, add_square = 0;
  float epsilon = 0;
  float decay = 0;
};

struct OptimizerProblem {
  OptimizerRule rule;
  BNNSOptimizerRegularizationFunction regularization;
  BNNSOptimizerClippingFunction clipping;  // for clipping by value, the constants hold the bounds
  OptimizerConstants constants;
  double gradient_scale;
  double max_norm = 0;
  double use_norm = 0;  // the global norm as given by the client; 0: computed here
};

// Pointers to a stretch of the parameter, its gradient and its states.
struct OptimizerRows {
  float* w;
  const float* g;
  float* state[kMaxOptimizerStates];
};

struct OptimizerKernels {
  using Update = void (*)(const OptimizerConstants& constants, float gradient_scale,
                          const OptimizerRows& rows, size_t n);
  Update update[kOptimizerRules][3];  // by rule and regularization
};
const OptimizerKernels* optimizer_kernels();

struct OptimizerTensor {
  OptimizerRows rows;
  size_t count;
};

// at(context, p) returns parameter p < count; it is called up to three times for each.
struct OptimizerTensors {
  size_t count;
  OptimizerTensor (*at)(const void* context, size_t p);
  const void* context;
};

void run_optimizer(const OptimizerProblem& problem, const OptimizerKernels& kernels, size_t threads,
                   const OptimizerTensors& tensors);

}  // namespace bnns::impl

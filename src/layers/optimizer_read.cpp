#include "layers/optimizer_read.h"

#include <cmath>
#include <cstring>

#include "core/error.h"

namespace bnns::impl {
namespace {

void require_finite(float value, const char* field) {
  require(std::isfinite(value), field, " is ", double{value}, "; it must be finite");
}

void require_not_negative(float value, const char* field) {
  require(std::isfinite(value) && value >= 0, field, " is ", double{value},
          "; it must be finite and at least 0");
}

void require_fraction(float value, const char* field) {
  require(value >= 0 && value <= 1, field, " is ", double{value}, "; it must be from 0 to 1");
}

void require_fraction_below_one(float value, const char* field) {
  require(value >= 0 && value < 1, field, " is ", double{value},
          "; it must be at least 0 and below 1");
}

// A C client may have put any byte into a bool; reading it as one would be undefined.
bool is_set(const bool& field) {
  unsigned char byte;
  std::memcpy(&byte, &field, 1);
  return byte != 0;
}

void read_bounds(float low, float high, OptimizerProblem& problem) {
  require_finite(low, "clip_gradients_min");
  require_finite(high, "clip_gradients_max");
  require(low <= high, "clip_gradients_min is ", double{low}, ", clip_gradients_max is ",
          double{high}, "; the minimum must not be larger");
  problem.constants.clip_min = low;
  problem.constants.clip_max = high;
}

template <class Fields>
void read_clipping(const Fields& fields, OptimizerProblem& problem) {
  if constexpr (requires { fields.clipping_func; }) {
    problem.clipping = fields.clipping_func;
  } else {
    problem.clipping =
        is_set(fields.clip_gradients) ? BNNSOptimizerClippingByValue : BNNSOptimizerClippingNone;
  }
  switch (problem.clipping) {
    case BNNSOptimizerClippingNone:
      return;
    case BNNSOptimizerClippingByValue:
      return read_bounds(fields.clip_gradients_min, fields.clip_gradients_max, problem);
    case BNNSOptimizerClippingByNorm:
    case BNNSOptimizerClippingByGlobalNorm:
      break;
    default:
      fail("clipping_func is ", problem.clipping, "; that is no BNNSOptimizerClippingFunction");
  }
  if constexpr (requires { fields.clipping_func; }) {
    require_not_negative(fields.clip_gradients_max_norm, "clip_gradients_max_norm");
    problem.max_norm = double{fields.clip_gradients_max_norm};
    if (problem.clipping == BNNSOptimizerClippingByNorm) return;
    require_not_negative(fields.clip_gradients_use_norm, "clip_gradients_use_norm");
    problem.use_norm = double{fields.clip_gradients_use_norm};
  }
}

template <class Fields>
void read_regularization(const Fields& fields, OptimizerProblem& problem) {
  problem.regularization = fields.regularization_func;
  require(problem.regularization <= BNNSOptimizerRegularizationL2, "regularization_func is ",
          problem.regularization, "; that is no BNNSOptimizerRegularizationFunction");
  if (problem.regularization == BNNSOptimizerRegularizationNone) return;
  require_finite(fields.regularization_scale, "regularization_scale");
  problem.constants.regularization = fields.regularization_scale;
}

// Reads the fields that all structures have.
template <class Fields>
void read_common(const Fields& fields, OptimizerProblem& problem) {
  require_finite(fields.learning_rate, "learning_rate");
  require_finite(fields.gradient_scale, "gradient_scale");
  problem.constants.rate = fields.learning_rate;
  problem.gradient_scale = double{fields.gradient_scale};
  read_clipping(fields, problem);
}

float rest_of(float share) {
  return static_cast<float>(1 - double{share});
}

template <class Fields>
void read_sgd(const Fields& fields, OptimizerProblem& problem) {
  read_common(fields, problem);
  read_regularization(fields, problem);
  require_fraction(fields.momentum, "momentum");
  const auto variant = fields.sgd_momentum_variant;
  require(variant <= BNNSSGDMomentumVariant2, "sgd_momentum_variant is ", variant,
          "; that is no BNNSOptimizerSGDMomentumVariant");
  if (fields.momentum == 0) return;
  const float rate = fields.learning_rate;
  struct Weights {
    float gradient, velocity;
  };
  const Weights plain[] = {{-rate, 1}, {1, -rate}, {rate, -1}};
  const Weights nesterov[] = {{-rate, 0}, {1, 0}, {1, 0}};  // they use no velocity weight
  const bool ahead = is_set(fields.nesterov);
  const Weights& weights = (ahead ? nesterov : plain)[variant];
  problem.rule = OptimizerRule::kMomentum;
  if (ahead) {
    problem.rule = variant == BNNSSGDMomentumVariant0 ? OptimizerRule::kNesterovOfVelocities
                                                      : OptimizerRule::kNesterov;
  }
  problem.constants.momentum = fields.momentum;
  problem.constants.gradient_weight = weights.gradient;
  problem.constants.velocity_weight = weights.velocity;
}

template <class Fields>
void read_adam(const Fields& fields, OptimizerProblem& problem) {
  read_common(fields, problem);
  require_fraction_below_one(fields.beta1, "beta1");
  require_fraction_below_one(fields.beta2, "beta2");
  require(std::isfinite(fields.time_step) && fields.time_step >= 1, "time_step is ",
          double{fields.time_step}, "; it must be finite and at least 1");
  require_not_negative(fields.epsilon, "epsilon");
  const double rate = double{fields.learning_rate}, step = double{fields.time_step};
  const double correction1 = 1 - std::pow(double{fields.beta1}, step);
  const double correction2 = 1 - std::pow(double{fields.beta2}, step);
  OptimizerConstants& c = problem.constants;
  c.rate = static_cast<float>(rate * std::sqrt(correction2) / correction1);
  c.keep_mean = fields.beta1;
  c.add_mean = rest_of(fields.beta1);
  c.keep_square = fields.beta2;
  c.add_square = rest_of(fields.beta2);
  c.epsilon = fields.epsilon;
  const bool decays =
      problem.rule == OptimizerRule::kAdamDecay || problem.rule == OptimizerRule::kAdamDecayMax;
  if (!decays) return read_regularization(fields, problem);
  require_finite(fields.regularization_scale, "regularization_scale");
  c.decay = static_cast<float>(rate * double{fields.regularization_scale});
}

template <class Fields>
void read_rms_prop(const Fields& fields, OptimizerProblem& problem) {
  read_common(fields, problem);
  read_regularization(fields, problem);
  require_fraction(fields.alpha, "alpha");
  require_not_negative(fields.epsilon, "epsilon");
  require_fraction(fields.momentum, "momentum");
  using enum OptimizerRule;
  constexpr OptimizerRule kRules[2][2] = {{kRmsProp, kRmsPropMomentum},
                                          {kRmsPropCentered, kRmsPropCenteredMomentum}};
  problem.rule = kRules[is_set(fields.centered)][fields.momentum != 0];
  OptimizerConstants& c = problem.constants;
  c.keep_mean = c.keep_square = fields.alpha;
  c.add_mean = c.add_square = rest_of(fields.alpha);
  c.epsilon = fields.epsilon;
  c.momentum = fields.momentum;
}

// Reads a copy of the structure, because the client's may be misaligned.
template <class Fields, void (*read)(const Fields&, OptimizerProblem&)>
void read_copy(const void* given, OptimizerProblem& problem) {
  Fields fields;
  std::memcpy(&fields, given, sizeof fields);
  read(fields, problem);
}

struct FunctionInfo {
  BNNSOptimizerFunction function;
  void (*read)(const void*, OptimizerProblem&);
  OptimizerRule rule;  // the initial rule; the fields may change it
};

template <class Fields>
constexpr auto kSgd = read_copy<Fields, read_sgd<Fields>>;
template <class Fields>
constexpr auto kAdam = read_copy<Fields, read_adam<Fields>>;
template <class Fields>
constexpr auto kRmsProp = read_copy<Fields, read_rms_prop<Fields>>;

using Sgd = BNNSOptimizerSGDMomentumFields;
using SgdClipping = BNNSOptimizerSGDMomentumWithClippingFields;
using Adam = BNNSOptimizerAdamFields;
using AdamClipping = BNNSOptimizerAdamWithClippingFields;
using RmsProp = BNNSOptimizerRMSPropFields;
using RmsPropClipping = BNNSOptimizerRMSPropWithClippingFields;
using Rule = OptimizerRule;

constexpr FunctionInfo kFunctions[] = {
    {BNNSOptimizerFunctionSGDMomentum, kSgd<Sgd>, Rule::kDescent},
    {BNNSOptimizerFunctionAdam, kAdam<Adam>, Rule::kAdam},
    {BNNSOptimizerFunctionRMSProp, kRmsProp<RmsProp>, Rule::kRmsProp},
    {BNNSOptimizerFunctionAdamW, kAdam<Adam>, Rule::kAdamDecay},
    {BNNSOptimizerFunctionAdamAMSGrad, kAdam<Adam>, Rule::kAdamMax},
    {BNNSOptimizerFunctionAdamWAMSGrad, kAdam<Adam>, Rule::kAdamDecayMax},
    {BNNSOptimizerFunctionSGDMomentumWithClipping, kSgd<SgdClipping>, Rule::kDescent},
    {BNNSOptimizerFunctionAdamWithClipping, kAdam<AdamClipping>, Rule::kAdam},
    {BNNSOptimizerFunctionRMSPropWithClipping, kRmsProp<RmsPropClipping>, Rule::kRmsProp},
    {BNNSOptimizerFunctionAdamWWithClipping, kAdam<AdamClipping>, Rule::kAdamDecay},
    {BNNSOptimizerFunctionAdamAMSGradWithClipping, kAdam<AdamClipping>, Rule::kAdamMax},
    {BNNSOptimizerFunctionAdamWAMSGradWithClipping, kAdam<AdamClipping>, Rule::kAdamDecayMax},
};

}  // namespace

OptimizerProblem read_optimizer(BNNSOptimizerFunction function, const void* fields) {
  for (const FunctionInfo& row : kFunctions) {
    if (row.function != function) continue;
    require(fields != nullptr, "OptimizerAlgFields is NULL");
    OptimizerProblem problem = {.rule = row.rule,
                                .regularization = BNNSOptimizerRegularizationNone,
                                .clipping = BNNSOptimizerClippingNone,
                                .constants = {},
                                .gradient_scale = 1};
    row.read(fields, problem);
    return problem;
  }
  fail("function is ", function, "; that is no BNNSOptimizerFunction");
}

}  // namespace bnns::impl

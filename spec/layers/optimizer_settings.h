// What an optimizer can be told, the structures that say it, and the list of all that is tried.
#ifndef OPENBNNS_SPEC_OPTIMIZER_SETTINGS_H
#define OPENBNNS_SPEC_OPTIMIZER_SETTINGS_H

#include <string>
#include <vector>

#include <openbnns/bnns.h>

namespace spec {

struct OptimizerSettings {
  BNNSOptimizerFunction function;
  float learning_rate = 0.03f;
  float momentum = 0;
  bool nesterov = false;
  BNNSOptimizerSGDMomentumVariant variant = BNNSSGDMomentumVariant0;
  float beta1 = 0.9f, beta2 = 0.999f, time_step = 1;
  float alpha = 0.9f;
  bool centered = false;
  float epsilon = 1e-3f;
  float gradient_scale = 1;
  float regularization_scale = 0.07f;
  BNNSOptimizerRegularizationFunction regularization = BNNSOptimizerRegularizationNone;
  BNNSOptimizerClippingFunction clipping = BNNSOptimizerClippingNone;
  float clip_min = -0.6f, clip_max = 1.1f, max_norm = 0.7f, use_norm = 0;
  size_t steps = 3;

  bool with_clipping() const { return function >= BNNSOptimizerFunctionSGDMomentumWithClipping; }
  // The number of the function without clipping, 1 to 6.
  uint32_t plain() const { return (static_cast<uint32_t>(function) - 1) % 6 + 1; }
  bool is_sgd() const { return plain() == BNNSOptimizerFunctionSGDMomentum; }
  bool is_rms_prop() const { return plain() == BNNSOptimizerFunctionRMSProp; }
  bool is_adam() const { return !is_sgd() && !is_rms_prop(); }
  bool is_adamw() const {
    return plain() == BNNSOptimizerFunctionAdamW || plain() == BNNSOptimizerFunctionAdamWAMSGrad;
  }
  bool is_amsgrad() const {
    return plain() == BNNSOptimizerFunctionAdamAMSGrad ||
           plain() == BNNSOptimizerFunctionAdamWAMSGrad;
  }
  size_t states() const {
    if (is_adam()) return is_amsgrad() ? 3 : 2;
    return (momentum != 0) + (is_rms_prop() ? 1 + centered : 0);
  }

  std::string name() const {
    static const char* const names[] = {"sgd",   "adam",         "rmsprop",
                                        "adamw", "adam_amsgrad", "adamw_amsgrad"};
    std::string text = names[plain() - 1];
    if (is_sgd() && momentum != 0) text += "_variant" + std::to_string(variant);
    if (is_rms_prop() && centered) text += "_centered";
    if (is_rms_prop() && momentum != 0) text += "_momentum";
    return text + (nesterov ? "_nesterov" : "") + (with_clipping() ? "_with_clipping" : "");
  }
  std::string tag() const {
    static const char* const clips[] = {"noclip", "byvalue", "bynorm", "byglobalnorm"};
    static const char* const regularizations[] = {"", "_l1", "_l2"};
    return std::string(clips[clipping]) + (use_norm != 0 ? "given" : "") +
           regularizations[regularization] + (gradient_scale != 1 ? "_scaled" : "");
  }
};

// Fills those of the fields that the structure has.
template <class Fields>
Fields make_fields(const OptimizerSettings& s, float time_step) {
  Fields f = {};
  f.learning_rate = s.learning_rate;
  f.gradient_scale = s.gradient_scale;
  f.regularization_scale = s.regularization_scale;
  f.regularization_func = s.regularization;
  f.clip_gradients_min = s.clip_min;
  f.clip_gradients_max = s.clip_max;
  if constexpr (requires { f.clip_gradients; }) {
    f.clip_gradients = s.clipping == BNNSOptimizerClippingByValue;
  } else {
    f.clipping_func = s.clipping;
    f.clip_gradients_max_norm = s.max_norm;
    f.clip_gradients_use_norm = s.use_norm;
  }
  if constexpr (requires { f.momentum; }) f.momentum = s.momentum;
  if constexpr (requires { f.nesterov; }) {
    f.nesterov = s.nesterov;
    f.sgd_momentum_variant = s.variant;
  }
  if constexpr (requires { f.beta1; }) {
    f.beta1 = s.beta1;
    f.beta2 = s.beta2;
    f.time_step = time_step;
  }
  if constexpr (requires { f.epsilon; }) f.epsilon = s.epsilon;
  if constexpr (requires { f.alpha; }) {
    f.alpha = s.alpha;
    f.centered = s.centered;
  }
  return f;
}

// body(pointer to the structure that belongs to the function)
template <class Body>
int with_fields(const OptimizerSettings& s, float time_step, const Body& body) {
  const auto with = [&]<class Fields>(Fields fields) {
    fields = make_fields<Fields>(s, time_step);
    return body(&fields);
  };
  const bool clipping = s.with_clipping();
  if (s.is_sgd())
    return clipping ? with(BNNSOptimizerSGDMomentumWithClippingFields{})
                    : with(BNNSOptimizerSGDMomentumFields{});
  if (s.is_adam())
    return clipping ? with(BNNSOptimizerAdamWithClippingFields{}) : with(BNNSOptimizerAdamFields{});
  return clipping ? with(BNNSOptimizerRMSPropWithClippingFields{})
                  : with(BNNSOptimizerRMSPropFields{});
}

// Every rule, once for each of the two structures.
inline std::vector<OptimizerSettings> all_optimizers() {
  std::vector<OptimizerSettings> all;
  for (uint32_t number = 1; number <= 12; ++number) {
    OptimizerSettings s{.function = static_cast<BNNSOptimizerFunction>(number)};
    if (s.is_adam()) all.push_back(s);
    if (s.is_sgd()) all.push_back(s);
    for (uint32_t variant = 0; s.is_sgd() && variant < 3; ++variant) {
      for (bool nesterov : {false, true}) {
        OptimizerSettings moving = s;
        moving.momentum = 0.9f;
        moving.variant = static_cast<BNNSOptimizerSGDMomentumVariant>(variant);
        moving.nesterov = nesterov;
        all.push_back(moving);
      }
    }
    for (uint32_t kind = 0; s.is_rms_prop() && kind < 4; ++kind) {
      OptimizerSettings other = s;
      other.centered = kind % 2 != 0;
      other.momentum = kind / 2 != 0 ? 0.9f : 0.0f;
      all.push_back(other);
    }
  }
  return all;
}

// Every way to prepare the gradient that the function's structure can express.
inline std::vector<OptimizerSettings> all_gradients(const OptimizerSettings& algorithm) {
  std::vector<OptimizerSettings> all;
  OptimizerSettings s = algorithm;
  for (uint32_t clipping = 0; clipping < (s.with_clipping() ? 4u : 2u); ++clipping) {
    for (bool given : {false, true}) {
      if (given && clipping != BNNSOptimizerClippingByGlobalNorm) continue;
      for (uint32_t regularization = 0; regularization < 3; ++regularization) {
        for (float scale : {1.0f, 0.3f}) {
          s.clipping = static_cast<BNNSOptimizerClippingFunction>(clipping);
          s.use_norm = given ? 2.5f : 0.0f;
          s.regularization = static_cast<BNNSOptimizerRegularizationFunction>(regularization);
          s.gradient_scale = scale;
          all.push_back(s);
        }
      }
    }
  }
  return all;
}

}  // namespace spec
#endif

// What BNNSOptimizerStep must refuse, and what it must not.
#include <functional>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

// Two parameters, of three and of two elements, as many accumulators as `Function` needs. All
// tensors lie in memory that is compared after a refusal.
template <class FieldsType, BNNSOptimizerFunction kFunction, size_t kStates>
struct StepCall : CallBase {
  using Fields = FieldsType;
  const char* function = "BNNSOptimizerStep";
  BNNSOptimizerFunction chosen = kFunction;
  Fields fields = valid_fields();
  const void* fields_pointer = &fields;
  size_t count = 2;
  Guarded<float> w0{1, 2, 3, 9}, w1{4, 5}, g0{1, 1, 1, 9}, g1{2, 2}, s[6];
  BNNSNDArrayDescriptor w[2], g[2], a[6];
  BNNSNDArrayDescriptor *parameters[2], *accumulators[6];
  const BNNSNDArrayDescriptor* gradients[2];
  BNNSNDArrayDescriptor **parameters_pointer = parameters, **accumulators_pointer = accumulators;
  const BNNSNDArrayDescriptor** gradients_pointer = gradients;
  BNNSFilterParameters options = {};

  StepCall() : s{{0, 0, 0, 9}, {0, 0}, {0, 0, 0, 9}, {0, 0}, {0, 0, 0, 9}, {0, 0}} {
    w[0] = vector_of(3, w0.data());
    w[1] = vector_of(2, w1.data());
    g[0] = vector_of(3, g0.data());
    g[1] = vector_of(2, g1.data());
    for (size_t p = 0; p < 2; ++p) {
      parameters[p] = &w[p];
      gradients[p] = &g[p];
    }
    for (size_t i = 0; i < 6; ++i) {
      a[i] = vector_of(i % 2 == 0 ? 3 : 2, s[i].data());
      accumulators[i] = i < 2 * kStates ? &a[i] : nullptr;
    }
  }
  StepCall(const StepCall&) = delete;

  static Fields valid_fields() {
    Fields f = {};
    f.learning_rate = 0.5f;
    f.gradient_scale = 1;
    if constexpr (requires { f.momentum; }) f.momentum = kStates > 0 ? 0.5f : 0.0f;
    if constexpr (requires { f.beta1; }) f.beta1 = f.beta2 = 0.5f;
    if constexpr (requires { f.time_step; }) f.time_step = 1;
    if constexpr (requires { f.alpha; }) {
      f.alpha = 0.5f;
      f.centered = kStates == 3;
    }
    if constexpr (requires { f.epsilon; }) f.epsilon = 0.25f;
    return f;
  }
  template <class F>
  void for_outputs(const F& f) {
    f(w0);
    f(w1);
    f(g0);
    f(g1);
    for (auto& state : s) f(state);
  }
  bool run() {
    return BNNSOptimizerStep(chosen, fields_pointer, count, parameters_pointer, gradients_pointer,
                             accumulators_pointer, &options) == 0;
  }
  // All gradients are positive: every parameter fell, and nothing else of the memory was written.
  bool correct() const {
    const auto three = [](size_t i) { return i < 3; };
    bool right = w0.untouched_except(three) && g0.untouched() && g1.untouched();
    for (size_t i = 0; i < 6; ++i) {
      right &= i < 2 * kStates ? s[i].untouched_except([&](size_t k) { return k < 3 - i % 2; })
                               : s[i].untouched();
    }
    return right && w0[0] < 1 && w0[1] < 2 && w0[2] < 3 && w1[0] < 4 && w1[1] < 5;
  }
};

using Sgd = StepCall<BNNSOptimizerSGDMomentumFields, BNNSOptimizerFunctionSGDMomentum, 1>;
using SgdWithoutMomentum =
    StepCall<BNNSOptimizerSGDMomentumFields, BNNSOptimizerFunctionSGDMomentum, 0>;
using SgdClipping = StepCall<BNNSOptimizerSGDMomentumWithClippingFields,
                             BNNSOptimizerFunctionSGDMomentumWithClipping, 1>;
using Adam = StepCall<BNNSOptimizerAdamFields, BNNSOptimizerFunctionAdam, 2>;
using AdamW = StepCall<BNNSOptimizerAdamFields, BNNSOptimizerFunctionAdamW, 2>;
using AdamMaxClipping =
    StepCall<BNNSOptimizerAdamWithClippingFields, BNNSOptimizerFunctionAdamAMSGradWithClipping, 3>;
using RmsProp = StepCall<BNNSOptimizerRMSPropFields, BNNSOptimizerFunctionRMSProp, 3>;
using RmsPropClipping =
    StepCall<BNNSOptimizerRMSPropWithClippingFields, BNNSOptimizerFunctionRMSPropWithClipping, 3>;

// Every value of the list in a float field.
template <class Call>
std::vector<Row<Call>> float_rows(const std::string& name, float Call::Fields::*field,
                                  const std::vector<float>& values) {
  std::vector<Row<Call>> rows;
  for (const float v : values)
    rows.push_back({name + "=" + std::to_string(v), {name + " is ", "must"}, [=](Call& c) {
                      c.fields.*field = v;
                    }});
  return rows;
}

const std::vector<float> kNotFinite = {kNaN, kInf, -kInf};
const std::vector<float> kNegative = {kNaN, kInf, -kInf, -1e-6f};
const std::vector<float> kNoFraction = {kNaN, kInf, -kInf, -1e-6f, 1.0001f};
const std::vector<float> kNoFractionBelowOne = {kNaN, kInf, -kInf, -1e-6f, 1, 2};

template <class Call>
std::vector<Row<Call>> field_rows() {
  using F = typename Call::Fields;
  auto rows = float_rows<Call>("learning_rate", &F::learning_rate, kNotFinite);
  append(rows, float_rows<Call>("gradient_scale", &F::gradient_scale, kNotFinite));
  if constexpr (requires(F f) { f.momentum; })
    append(rows, float_rows<Call>("momentum", &F::momentum, kNoFraction));
  if constexpr (requires(F f) { f.alpha; })
    append(rows, float_rows<Call>("alpha", &F::alpha, kNoFraction));
  if constexpr (requires(F f) { f.epsilon; })
    append(rows, float_rows<Call>("epsilon", &F::epsilon, kNegative));
  if constexpr (requires(F f) { f.beta1; }) {
    append(rows, float_rows<Call>("beta1", &F::beta1, kNoFractionBelowOne));
    append(rows, float_rows<Call>("beta2", &F::beta2, kNoFractionBelowOne));
    append(rows, float_rows<Call>("time_step", &F::time_step, {kNaN, kInf, -1, 0, 0.5f}));
  }
  return rows;
}

template <class Call>
std::vector<Row<Call>> regularization_rows() {
  auto rows = enum_rows<Call>(
      "regularization_func", BNNSOptimizerRegularizationL2, [](Call& c, uint32_t v) {
        c.fields.regularization_func = static_cast<BNNSOptimizerRegularizationFunction>(v);
      });
  for (const auto used : {BNNSOptimizerRegularizationL1, BNNSOptimizerRegularizationL2}) {
    rows.push_back(
        {"regularization_scale", {"regularization_scale is nan", "finite"}, [=](Call& c) {
           c.fields.regularization_func = used;
           c.fields.regularization_scale = kNaN;
         }});
  }
  return rows;
}

template <class Call>
std::vector<Row<Call>> bound_rows(const std::function<void(Call&)>& enable) {
  std::vector<Row<Call>> rows;
  const auto add = [&](const char* word, float low, float high) {
    rows.push_back({"clip bounds", {word}, [=](Call& c) {
                      enable(c);
                      c.fields.clip_gradients_min = low;
                      c.fields.clip_gradients_max = high;
                    }});
  };
  add("clip_gradients_min is nan", kNaN, 1);
  add("clip_gradients_max is nan", -1, kNaN);
  add("clip_gradients_min is -inf", -kInf, 1);
  add("clip_gradients_max is inf", -1, kInf);
  add("must not be larger", 1, 0.5f);
  return rows;
}

template <class Call>
std::vector<Row<Call>> clipping_rows() {
  const auto choose = [](Call& c, uint32_t v) {
    c.fields.clipping_func = static_cast<BNNSOptimizerClippingFunction>(v);
  };
  auto rows = enum_rows<Call>("clipping_func", BNNSOptimizerClippingByGlobalNorm, choose);
  append(rows, bound_rows<Call>([=](Call& c) { choose(c, BNNSOptimizerClippingByValue); }));
  for (const float bad : kNegative) {
    for (const uint32_t norm : {BNNSOptimizerClippingByNorm, BNNSOptimizerClippingByGlobalNorm})
      rows.push_back({"max_norm", {"clip_gradients_max_norm is", "at least 0"}, [=](Call& c) {
                        choose(c, norm);
                        c.fields.clip_gradients_max_norm = bad;
                      }});
    rows.push_back({"use_norm", {"clip_gradients_use_norm is", "at least 0"}, [=](Call& c) {
                      choose(c, BNNSOptimizerClippingByGlobalNorm);
                      c.fields.clip_gradients_use_norm = bad;
                    }});
  }
  return rows;
}

TEST(BadOptimizer, Fields) {
  const auto plain = [](auto& c) { c.fields.clip_gradients = true; };
  expect_refused(field_rows<Sgd>());
  expect_refused(regularization_rows<Sgd>());
  expect_refused(bound_rows<Sgd>(plain));
  expect_refused(
      enum_rows<Sgd>("sgd_momentum_variant", BNNSSGDMomentumVariant2, [](Sgd& c, uint32_t v) {
        c.fields.sgd_momentum_variant = static_cast<BNNSOptimizerSGDMomentumVariant>(v);
      }));
  expect_refused(field_rows<SgdClipping>());
  expect_refused(clipping_rows<SgdClipping>());
  expect_refused(field_rows<Adam>());
  expect_refused(regularization_rows<Adam>());
  expect_refused(bound_rows<Adam>(plain));
  expect_refused(field_rows<AdamW>());
  expect_refused(
      float_rows<AdamW>("regularization_scale", &AdamW::Fields::regularization_scale, kNotFinite));
  expect_refused(field_rows<AdamMaxClipping>());
  expect_refused(clipping_rows<AdamMaxClipping>());
  expect_refused(field_rows<RmsProp>());
  expect_refused(regularization_rows<RmsProp>());
  expect_refused(bound_rows<RmsProp>(plain));
  expect_refused(field_rows<RmsPropClipping>());
  expect_refused(clipping_rows<RmsPropClipping>());
}

template <class Call>
std::vector<Row<Call>> tensor_rows() {
  auto rows = descriptor_rows<Call>(
      "parameters[1]", 1, [](Call & c) -> auto& { return c.w[1]; }, false);
  append(rows, descriptor_rows<Call>(
                   "gradients[1]", 1, [](Call & c) -> auto& { return c.g[1]; }, false));
  append(rows, descriptor_rows<Call>(
                   "accumulators[1]", 1, [](Call & c) -> auto& { return c.a[1]; }, false));
  append(
      rows,
      {
          {"parameters null",
           {"parameters is NULL"},
           [](Call& c) { c.parameters_pointer = nullptr; }},
          {"gradients null", {"gradients is NULL"}, [](Call& c) { c.gradients_pointer = nullptr; }},
          {"accumulators null",
           {"accumulators is NULL", "needs"},
           [](Call& c) { c.accumulators_pointer = nullptr; }},
          {"a parameter null",
           {"parameters[1] is NULL"},
           [](Call& c) { c.parameters[1] = nullptr; }},
          {"a gradient null", {"gradients[1] is NULL"}, [](Call& c) { c.gradients[1] = nullptr; }},
          {"an accumulator null",
           {"accumulators[1] is NULL"},
           [](Call& c) { c.accumulators[1] = nullptr; }},
          {"parameter without data",
           {"parameters[1].data is NULL"},
           [](Call& c) { c.w[1].data = nullptr; }},
          {"gradient without data",
           {"gradients[1].data is NULL"},
           [](Call& c) { c.g[1].data = nullptr; }},
          {"accumulator without data",
           {"accumulators[1].data is NULL"},
           [](Call& c) { c.a[1].data = nullptr; }},
          {"gradient too short",
           {"gradients[0] is Vector {2}", "parameters[0] is Vector {3}"},
           [](Call& c) { c.g[0].size[0] = 2; }},
          {"accumulator too short",
           {"accumulators[0] is Vector {2}", "parameters[0] is Vector {3}"},
           [](Call& c) { c.a[0].size[0] = 2; }},
          {"parameter with gaps",
           {"parameters[1]", "contiguous"},
           [](Call& c) { c.w[1].stride[0] = 2; }},
          {"gradient with gaps",
           {"gradients[1]", "contiguous"},
           [](Call& c) { c.g[1].stride[0] = 2; }},
          {"half precision",
           {"gradients[1].data_type is Float16", "Float32"},
           [](Call& c) { c.g[1].data_type = BNNSDataTypeFloat16; }},
          {"the same parameter twice",
           {"parameters[0]", "parameters[1]", "overlap"},
           [](Call& c) { c.w[1].data = c.w[0].data; }},
          {"gradient is parameter",
           {"parameters[0]", "gradients[0]", "overlap"},
           [](Call& c) { c.g[0].data = c.w0.data(); }},
          {"gradient within another parameter",
           {"parameters[0]", "gradients[1]", "overlap"},
           [](Call& c) { c.g[1].data = c.w0.data() + 1; }},
          {"accumulator of another parameter",
           {"accumulators[0]", "accumulators[1]", "overlap"},
           [](Call& c) { c.a[1].data = c.s[0].data() + 2; }},
          {"misaligned",
           {"gradients[0].data", "aligned to 4"},
           [](Call& c) { c.g[0].data = reinterpret_cast<char*>(c.g0.data()) + 2; }},
          {"fields null",
           {"OptimizerAlgFields is NULL"},
           [](Call& c) { c.fields_pointer = nullptr; }},
          {"too many parameters",
           {"number_of_parameters is 1844"},
           [](Call& c) { c.count = SIZE_MAX; }},
          {"257 threads", {"filter_params->n_threads"}, [](Call& c) { c.options.n_threads = 257; }},
      });
  for (const uint32_t bad : {0u, 13u, uint32_t{INT32_MAX}, UINT32_MAX}) {
    rows.push_back({"function", {"function is " + std::to_string(bad)}, [=](Call& c) {
                      c.chosen = static_cast<BNNSOptimizerFunction>(bad);
                    }});
  }
  return rows;
}

TEST(BadOptimizer, Tensors) {
  expect_refused(tensor_rows<Sgd>());
  expect_refused(tensor_rows<AdamMaxClipping>());
  expect_refused(tensor_rows<RmsProp>());
  expect_refused<RmsProp>({{"third group missing", {"accumulators[4] is NULL"}, [](RmsProp& c) {
                              c.accumulators[4] = nullptr;
                            }}});
}

// What is not used is not looked at.
TEST(BadOptimizer, AcceptsWhatItDoesNotUse) {
  expect_accepted<Sgd>({
      {"unused bounds",
       {},
       [](Sgd& c) {
         c.fields.clip_gradients_min = kNaN;
         c.fields.clip_gradients_max = -kInf;
       }},
      {"unused regularization", {}, [](Sgd& c) { c.fields.regularization_scale = kNaN; }},
  });
  expect_accepted<SgdWithoutMomentum>({
      {"no accumulators", {}, [](SgdWithoutMomentum& c) { c.accumulators_pointer = nullptr; }},
  });
  expect_accepted<AdamMaxClipping>({
      {"unused norms",
       {},
       [](AdamMaxClipping& c) {
         c.fields.clip_gradients_max_norm = kNaN;
         c.fields.clip_gradients_use_norm = -1;
       }},
  });
  expect_accepted<AdamW>({
      {"regularization_func of AdamW",
       {},
       [](AdamW& c) {
         c.fields.regularization_func = static_cast<BNNSOptimizerRegularizationFunction>(99);
       }},
  });
  Sgd none;
  none.count = 0;
  none.parameters_pointer = nullptr;
  none.gradients_pointer = nullptr;
  none.accumulators_pointer = nullptr;
  EXPECT_TRUE(none.run()) << OpenBNNSGetLastError();
}

}  // namespace
}  // namespace bnns::test

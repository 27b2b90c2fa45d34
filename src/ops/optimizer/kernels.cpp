// Kernels of optimizer.h. A rule updates w and its states from the gradient g:
//   descent      w -= rate g
//   momentum     v = momentum v + gradient_weight g;  w += velocity_weight v
//   Nesterov     v as above;  w -= rate (g + momentum v)
//                or, where v contains the rate, w += v + momentum (v - old v)
//   Adam         m = keep m + add g;  q = keep q + add g^2
//                w -= rate m / (sqrt(q or its maximum) + epsilon)
//                with decay also w -= decay (old w)
//   RMSProp      q as above;  step = rate g / (sqrt(q [- m^2]) + epsilon)
//                w -= step, or with momentum v = momentum v - step, w += v
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/optimizer/kernels.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include <cstring>

#include "math/support-inl.h"
#include "ops/optimizer/optimizer.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using C = OptimizerConstants;

HWY_INLINE V All(float value) {
  return hn::Set(D(), value);
}

// The result is NaN if either operand is.
HWY_INLINE V MaxOrNaN(V a, V b) {
  return hn::IfThenElse(hn::IsNaN(a), a, hn::IfThenElse(hn::Gt(a, b), a, b));
}

HWY_INLINE void AddSquare(const C& c, V g, V& q) {
  q = hn::MulAdd(All(c.keep_square), q, hn::Mul(hn::Mul(All(c.add_square), g), g));
}

HWY_INLINE void AddMean(const C& c, V g, V& m) {
  m = hn::MulAdd(All(c.keep_mean), m, hn::Mul(All(c.add_mean), g));
}

HWY_INLINE void AddVelocity(const C& c, V g, V& v) {
  v = hn::MulAdd(All(c.momentum), v, hn::Mul(All(c.gradient_weight), g));
}

struct Descent {
  static constexpr auto kRule = OptimizerRule::kDescent;
  static HWY_INLINE void Step(const C& c, V g, V& w, V&, V&, V&) {
    w = hn::NegMulAdd(All(c.rate), g, w);
  }
};

struct Momentum {
  static constexpr auto kRule = OptimizerRule::kMomentum;
  static HWY_INLINE void Step(const C& c, V g, V& w, V& v, V&, V&) {
    AddVelocity(c, g, v);
    w = hn::MulAdd(All(c.velocity_weight), v, w);
  }
};

struct Nesterov {
  static constexpr auto kRule = OptimizerRule::kNesterov;
  static HWY_INLINE void Step(const C& c, V g, V& w, V& v, V&, V&) {
    AddVelocity(c, g, v);
    w = hn::NegMulAdd(All(c.rate), hn::MulAdd(All(c.momentum), v, g), w);
  }
};

struct NesterovOfVelocities {
  static constexpr auto kRule = OptimizerRule::kNesterovOfVelocities;
  static HWY_INLINE void Step(const C& c, V g, V& w, V& v, V&, V&) {
    const V old = v;
    AddVelocity(c, g, v);
    w = hn::Add(w, hn::MulAdd(All(c.momentum), hn::Sub(v, old), v));
  }
};

template <OptimizerRule rule, bool kDecay, bool kMax>
struct AdamRule {
  static constexpr auto kRule = rule;
  static HWY_INLINE void Step(const C& c, V g, V& w, V& m, V& q, V& top) {
    AddMean(c, g, m);
    AddSquare(c, g, q);
    if constexpr (kMax) top = MaxOrNaN(top, q);
    const V root = hn::Sqrt(kMax ? top : q);
    if constexpr (kDecay) w = hn::NegMulAdd(All(c.decay), w, w);
    w = hn::NegMulAdd(All(c.rate), hn::Div(m, hn::Add(root, All(c.epsilon))), w);
  }
};

template <OptimizerRule rule, bool kCentered, bool kMomentum>
struct RmsPropRule {
  static constexpr auto kRule = rule;
  static HWY_INLINE void Step(const C& c, V g, V& w, V& q, V& second, V& third) {
    AddSquare(c, g, q);
    V variance = q;
    if constexpr (kCentered) {
      AddMean(c, g, second);
      // Rounding can make it negative when all gradients were equal.
      variance = AtLeast(D(), hn::NegMulAdd(second, second, q), 0.0f);
    }
    const V quotient = hn::Div(g, hn::Add(hn::Sqrt(variance), All(c.epsilon)));
    if constexpr (kMomentum) {
      V& v = kCentered ? third : second;
      v = hn::NegMulAdd(All(c.rate), quotient, hn::Mul(All(c.momentum), v));
      w = hn::Add(w, v);
    } else {
      w = hn::NegMulAdd(All(c.rate), quotient, w);
    }
  }
};

using Regularization = BNNSOptimizerRegularizationFunction;

template <Regularization kind>
HWY_INLINE V Gradient(const C& c, float scale, V given, V w) {
  const D d;
  const V clipped = AtLeast(d, AtMost(d, given, c.clip_max), c.clip_min);
  const V g = hn::Mul(All(scale), clipped);
  if constexpr (kind == BNNSOptimizerRegularizationNone) return g;
  V slope = w;
  // The sign of 0 is 0 and the sign of NaN is NaN.
  if constexpr (kind == BNNSOptimizerRegularizationL1)
    slope = hn::IfThenElse(hn::Gt(hn::Abs(w), hn::Zero(d)), hn::CopySign(All(1), w), w);
  return hn::MulAdd(All(c.regularization), slope, g);
}

// Updates one vector of w and of each state.
template <class Rule, Regularization kind>
HWY_INLINE void UpdateVector(const C& c, float scale, const OptimizerRows& rows, size_t i) {
  constexpr size_t kStates = optimizer_states(Rule::kRule);
  const D d;
  V w = hn::LoadU(d, rows.w + i);
  V s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d);
  if constexpr (kStates > 0) s0 = hn::LoadU(d, rows.state[0] + i);
  if constexpr (kStates > 1) s1 = hn::LoadU(d, rows.state[1] + i);
  if constexpr (kStates > 2) s2 = hn::LoadU(d, rows.state[2] + i);
  const V g = Gradient<kind>(c, scale, hn::LoadU(d, rows.g + i), w);
  Rule::Step(c, g, w, s0, s1, s2);
  hn::StoreU(w, d, rows.w + i);
  if constexpr (kStates > 0) hn::StoreU(s0, d, rows.state[0] + i);
  if constexpr (kStates > 1) hn::StoreU(s1, d, rows.state[1] + i);
  if constexpr (kStates > 2) hn::StoreU(s2, d, rows.state[2] + i);
}

template <class Rule, Regularization kind>
void Update(const OptimizerConstants& constants, float scale, const OptimizerRows& given,
            size_t n) {
  constexpr size_t kStates = optimizer_states(Rule::kRule);
  // Local copies stay in registers; through the references the compiler would reload them after
  // every store.
  const C c = constants;
  const OptimizerRows rows = given;
  const D d;
  const size_t lanes = hn::Lanes(d);
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) UpdateVector<Rule, kind>(c, scale, rows, i);
  if (i == n) return;
  HWY_ALIGN float tail[2 + kMaxOptimizerStates][hn::MaxLanes(d)] = {};
  const size_t bytes = (n - i) * sizeof(float);
  std::memcpy(tail[0], rows.w + i, bytes);
  std::memcpy(tail[1], rows.g + i, bytes);
  for (size_t s = 0; s < kStates; ++s) std::memcpy(tail[2 + s], rows.state[s] + i, bytes);
  UpdateVector<Rule, kind>(c, scale,
                           {.w = tail[0], .g = tail[1], .state = {tail[2], tail[3], tail[4]}}, 0);
  std::memcpy(rows.w + i, tail[0], bytes);
  for (size_t s = 0; s < kStates; ++s) std::memcpy(rows.state[s] + i, tail[2 + s], bytes);
}

template <class Rule>
constexpr void SetRow(OptimizerKernels& table) {
  auto& row = table.update[static_cast<size_t>(Rule::kRule)];
  row[BNNSOptimizerRegularizationNone] = Update<Rule, BNNSOptimizerRegularizationNone>;
  row[BNNSOptimizerRegularizationL1] = Update<Rule, BNNSOptimizerRegularizationL1>;
  row[BNNSOptimizerRegularizationL2] = Update<Rule, BNNSOptimizerRegularizationL2>;
}

template <class... Rules>
constexpr OptimizerKernels MakeTable() {
  static_assert(sizeof...(Rules) == kOptimizerRules);
  OptimizerKernels table = {};
  (SetRow<Rules>(table), ...);
  return table;
}

const OptimizerKernels* OptimizerTable() {
  using enum OptimizerRule;
  static constexpr OptimizerKernels kTable =
      MakeTable<Descent, Momentum, Nesterov, NesterovOfVelocities,  //
                AdamRule<kAdam, false, false>, AdamRule<kAdamDecay, true, false>,
                AdamRule<kAdamMax, false, true>, AdamRule<kAdamDecayMax, true, true>,
                RmsPropRule<kRmsProp, false, false>, RmsPropRule<kRmsPropMomentum, false, true>,
                RmsPropRule<kRmsPropCentered, true, false>,
                RmsPropRule<kRmsPropCenteredMomentum, true, true>>();
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(OptimizerTable);
const OptimizerKernels* optimizer_kernels() {
  return pick(HWY_DISPATCH_TABLE(OptimizerTable))();
}

}  // namespace bnns::impl
#endif

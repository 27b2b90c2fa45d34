// Optimizer steps over several tensors, clipping and norms: any fields, any descriptors, missing
// and short accumulators.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr size_t kMaxParameters = 4;
constexpr size_t kMaxStates = 4;

union Fields {
  BNNSOptimizerSGDMomentumFields sgd;
  BNNSOptimizerSGDMomentumWithClippingFields sgd_clipping;
  BNNSOptimizerAdamFields adam;
  BNNSOptimizerAdamWithClippingFields adam_clipping;
  BNNSOptimizerRMSPropFields rms;
  BNNSOptimizerRMSPropWithClippingFields rms_clipping;
};

constexpr BNNSOptimizerRegularizationFunction kRegularizations[] = {
    BNNSOptimizerRegularizationNone, BNNSOptimizerRegularizationL1, BNNSOptimizerRegularizationL2};
constexpr BNNSOptimizerClippingFunction kClippings[] = {
    BNNSOptimizerClippingNone, BNNSOptimizerClippingByValue, BNNSOptimizerClippingByNorm,
    BNNSOptimizerClippingByGlobalNorm};
constexpr BNNSOptimizerSGDMomentumVariant kVariants[] = {
    BNNSSGDMomentumVariant0, BNNSSGDMomentumVariant1, BNNSSGDMomentumVariant2};

float usual(Provider& p, float value) {
  return p.one_in(20) ? p.scalar() : value;
}

template <class F>
void common(Provider& p, F& f) {
  f.learning_rate = usual(p, 0.1f);
  f.gradient_scale = usual(p, 1);
  f.regularization_scale = usual(p, 0.01f);
  f.regularization_func = p.constant(kRegularizations);
  f.clip_gradients_min = usual(p, -0.5f);
  f.clip_gradients_max = usual(p, 0.5f);
}

template <class F>
void clipping(Provider& p, F& f) {
  f.clipping_func = p.constant(kClippings);
  f.clip_gradients_max_norm = usual(p, 2);
  f.clip_gradients_use_norm = p.one_in(3) ? p.scalar() : 0.0f;
}

template <class F>
void sgd(Provider& p, F& f) {
  common(p, f);
  f.momentum = p.one_in(3) ? 0.0f : usual(p, 0.9f);
  f.nesterov = p.one_in(3);
  f.sgd_momentum_variant = p.constant(kVariants);
}

template <class F>
void adam(Provider& p, F& f) {
  common(p, f);
  f.beta1 = usual(p, 0.9f);
  f.beta2 = usual(p, 0.999f);
  f.time_step = usual(p, static_cast<float>(p.between(1, 9)));
  f.epsilon = usual(p, 1e-8f);
}

template <class F>
void rms(Provider& p, F& f) {
  common(p, f);
  f.alpha = usual(p, 0.99f);
  f.epsilon = usual(p, 1e-8f);
  f.centered = p.one_in(2);
  f.momentum = p.one_in(2) ? 0.0f : usual(p, 0.9f);
}

BNNSOptimizerFunction choose_fields(Provider& p, Fields& f) {
  const size_t with_clipping = p.below(2);
  const auto pick = [&](BNNSOptimizerFunction plain, BNNSOptimizerFunction clipped) {
    return with_clipping != 0 ? clipped : plain;
  };
  switch (p.below(6)) {
    case 0:
      with_clipping != 0 ? (sgd(p, f.sgd_clipping), clipping(p, f.sgd_clipping)) : sgd(p, f.sgd);
      if (with_clipping == 0) f.sgd.clip_gradients = p.one_in(2);
      return pick(BNNSOptimizerFunctionSGDMomentum, BNNSOptimizerFunctionSGDMomentumWithClipping);
    case 1:
      with_clipping != 0 ? (rms(p, f.rms_clipping), clipping(p, f.rms_clipping)) : rms(p, f.rms);
      if (with_clipping == 0) f.rms.clip_gradients = p.one_in(2);
      return pick(BNNSOptimizerFunctionRMSProp, BNNSOptimizerFunctionRMSPropWithClipping);
    default:
      break;
  }
  with_clipping != 0 ? (adam(p, f.adam_clipping), clipping(p, f.adam_clipping)) : adam(p, f.adam);
  if (with_clipping == 0) f.adam.clip_gradients = p.one_in(2);
  static constexpr BNNSOptimizerFunction kPlain[] = {
      BNNSOptimizerFunctionAdam, BNNSOptimizerFunctionAdamW, BNNSOptimizerFunctionAdamAMSGrad,
      BNNSOptimizerFunctionAdamWAMSGrad};
  static constexpr BNNSOptimizerFunction kClipped[] = {
      BNNSOptimizerFunctionAdamWithClipping, BNNSOptimizerFunctionAdamWWithClipping,
      BNNSOptimizerFunctionAdamAMSGradWithClipping, BNNSOptimizerFunctionAdamWAMSGradWithClipping};
  return with_clipping != 0 ? p.constant(kClipped) : p.constant(kPlain);
}

// Accumulators a step reads and writes for each parameter; those given beyond are nobody's.
size_t states_of(BNNSOptimizerFunction function, const Fields& f) {
  switch (function) {
    case BNNSOptimizerFunctionSGDMomentum:
      return f.sgd.momentum != 0 ? 1 : 0;
    case BNNSOptimizerFunctionSGDMomentumWithClipping:
      return f.sgd_clipping.momentum != 0 ? 1 : 0;
    case BNNSOptimizerFunctionRMSProp:
      return size_t{1} + f.rms.centered + (f.rms.momentum != 0);
    case BNNSOptimizerFunctionRMSPropWithClipping:
      return size_t{1} + f.rms_clipping.centered + (f.rms_clipping.momentum != 0);
    case BNNSOptimizerFunctionAdamAMSGrad:
    case BNNSOptimizerFunctionAdamWAMSGrad:
    case BNNSOptimizerFunctionAdamAMSGradWithClipping:
    case BNNSOptimizerFunctionAdamWAMSGradWithClipping:
      return 3;
    default:
      return 2;
  }
}

void step(Provider& p) {
  Fields fields = {};
  const BNNSOptimizerFunction function = choose_fields(p, fields);
  const BNNSFilterParameters parameters = filter_parameters(p);
  const size_t count = p.between(1, kMaxParameters);
  // By role: parameters, gradients, then the states.
  BNNSNDArrayDescriptor d[2 + kMaxStates][kMaxParameters] = {};
  size_t tensors[2 + kMaxStates][kMaxParameters];
  Memory memory;
  std::vector<size_t> earlier;
  for (size_t i = 0; i < count; ++i) {
    d[0][i] = p.one_in(4) ? descriptor(p, 30) : vector_of(p.extent());
    for (size_t r = 0; r < 2 + kMaxStates; ++r) {
      if (r > 0) d[r][i] = p.one_in(6) ? like(p, d[0][i]) : d[0][i];
      tensors[r][i] =
          place(p, memory, model_of(d[r][i]), {}, p.one_in(10) ? earlier : std::vector<size_t>{});
      if (tensors[r][i] != kNowhere) earlier.push_back(tensors[r][i]);
    }
  }
  memory.allocate(p.number<uint16_t>());
  Promise promise;
  const size_t roles = 2 + states_of(function, fields);
  BNNSNDArrayDescriptor* pointers[2 + kMaxStates][kMaxParameters];
  for (size_t r = 0; r < 2 + kMaxStates; ++r) {
    for (size_t i = 0; i < count; ++i) {
      d[r][i].data = address(memory, tensors[r][i]);
      pointers[r][i] = p.one_in(100) ? nullptr : &d[r][i];
      if (r < roles) promise.used |= mask_of(tensors[r][i]);
      if (r < roles && r != 1) promise.written |= mask_of(tensors[r][i]);
    }
  }
  // Accumulators follow one another, grouped by role.
  std::vector<BNNSNDArrayDescriptor*> states;
  for (size_t r = 2; r < 2 + kMaxStates; ++r)
    for (size_t i = 0; i < count; ++i) states.push_back(pointers[r][i]);
  BNNSNDArrayDescriptor** accumulators = p.one_in(30) ? nullptr : states.data();
  const void* chosen = p.one_in(60) ? nullptr : &fields;
  const BNNSFilterParameters twin = twin_of(parameters);
  const auto gradients = const_cast<const BNNSNDArrayDescriptor**>(pointers[1]);
  run("BNNSOptimizerStep", p, memory, promise, [&](size_t k) {
    return BNNSOptimizerStep(function, chosen, count, pointers[0], gradients, accumulators,
                             k == 0 ? &parameters : &twin) == 0;
  });
  Hooks::expect_no_leak();
}

// One input, one output, and a call on both.
template <class Call>
void two_tensors(const char* function, Provider& p, BNNSNDArrayDescriptor out,
                 BNNSNDArrayDescriptor in, const Call& call) {
  Memory memory;
  const size_t from = place(p, memory, model_of(in), {}, {});
  const size_t to = place(p, memory, model_of(out), {},
                          from == kNowhere ? std::vector<size_t>{} : std::vector<size_t>{from});
  memory.allocate(p.number<uint16_t>());
  if (!p.one_in(60)) in.data = address(memory, from);
  if (!p.one_in(60)) out.data = address(memory, to);
  show("in", in);
  show("out", out);
  Promise promise;
  promise.used = mask_of(from) | mask_of(to);
  promise.written = promise.overwritten = mask_of(to);
  promise.apart = mask_of(from);
  promise.in_place = true;
  run(function, p, memory, promise, [&](size_t) { return call(out, in) == 0; });
}

void clip(Provider& p) {
  const BNNSNDArrayDescriptor in = descriptor(p, 20), out = like(p, in);
  const float low = usual(p, -1), high = usual(p, 1), norm = usual(p, 2), known = usual(p, 0);
  const uint32_t axes = p.one_in(4) ? p.byte() : 0;
  switch (p.below(3)) {
    case 0:
      return two_tensors("BNNSClipByValue", p, out, in,
                         [&](auto& o, auto& i) { return BNNSClipByValue(&o, &i, low, high); });
    case 1:
      return two_tensors("BNNSClipByNorm", p, out, in,
                         [&](auto& o, auto& i) { return BNNSClipByNorm(&o, &i, norm, axes); });
    default:
      return two_tensors("BNNSClipByGlobalNorm", p, out, in, [&](auto& o, auto& i) {
        BNNSNDArrayDescriptor* to[] = {&o};
        const BNNSNDArrayDescriptor* from[] = {&i};
        return BNNSClipByGlobalNorm(to, from, 1, norm, known);
      });
  }
}

void norm(Provider& p) {
  const BNNSNDArrayDescriptor in = descriptor(p, 20);
  const uint32_t axes = p.one_in(30) ? p.number<uint32_t>() : p.below(8);
  BNNSNDArrayDescriptor out = in;
  std::fill(out.stride, out.stride + 8, size_t{0});
  for (size_t k = 0; k < std::min<size_t>(rank_of(in.layout), 8); ++k) {
    if ((axes >> k & 1) != 0 || axes == 0) out.size[k] = 1;
  }
  if (p.one_in(10)) out = like(p, out);
  const auto type = static_cast<BNNSNormType>(p.one_in(20) ? p.byte() : BNNSL2Norm);
  two_tensors("BNNSComputeNorm", p, out, in,
              [&](auto& o, auto& i) { return BNNSComputeNorm(&o, &i, type, axes); });
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider p(data, size);
  switch (p.below(4)) {
    case 0:
    case 1:
      fuzz::step(p);
      break;
    case 2:
      fuzz::clip(p);
      break;
    default:
      fuzz::norm(p);
      break;
  }
  return 0;
}

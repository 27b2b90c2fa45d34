// The cell update in one pass, and its gradient:
//   c = f c_prev + i g, h = o tanh(c) with i, f, o = sigmoid, g = tanh of the sums
//   s = dc + dh o (1 - tanh^2 c), da_o = dh tanh(c) o (1 - o), da_i = s g i (1 - i),
//   da_f = s c_prev f (1 - f), da_g = s i (1 - g^2), dc = s f
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lstm/kernels.cpp"
#include <cstring>

#include "hwy/foreach_target.h"
#include "hwy/highway.h"

#include "math/sigmoid-inl.h"
#include "ops/lstm/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

// A whole vector, or the first `count` values of one.
struct Whole {
  V load(const float* from) const { return hn::LoadU(D(), from); }
  void store(V v, float* to) const { hn::StoreU(v, D(), to); }
};
struct Part {
  size_t count;

  V load(const float* from) const {
    HWY_ALIGN float buffer[hn::MaxLanes(D())] = {};
    std::memcpy(buffer, from, count * sizeof(float));
    return hn::Load(D(), buffer);
  }
  void store(V v, float* to) const {
    HWY_ALIGN float buffer[hn::MaxLanes(D())];
    hn::Store(v, D(), buffer);
    std::memcpy(to, buffer, count * sizeof(float));
  }
};

// body(access, position) for all values of a row.
template <class Body>
HWY_INLINE void ForRow(size_t n, const Body& body) {
  const size_t lanes = hn::Lanes(D());
  size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(Whole(), i);
  if (i < n) body(Part{n - i}, i);
}

template <bool kKeep>
void ForwardRow(const LstmForwardRow& row, size_t n) {
  const D d;
  float *a_i = row.gates, *a_f = a_i + n, *a_g = a_f + n, *a_o = a_g + n;
  const float* c_prev = row.c_prev;
  float *c_row = row.c, *h_row = row.h;
  ForRow(n, [&](const auto& access, size_t at) HWY_ATTR {
    const V i = Sigmoid(d, access.load(a_i + at)), f = Sigmoid(d, access.load(a_f + at));
    const V g = Tanh(d, access.load(a_g + at)), o = Sigmoid(d, access.load(a_o + at));
    const V c = hn::MulAdd(f, access.load(c_prev + at), hn::Mul(i, g));
    access.store(c, c_row + at);
    access.store(hn::Mul(o, Tanh(d, c)), h_row + at);
    if constexpr (kKeep) {
      access.store(i, a_i + at);
      access.store(f, a_f + at);
      access.store(g, a_g + at);
      access.store(o, a_o + at);
    }
  });
}

void Forward(const LstmForwardRow& row, size_t n, bool keeps_gates) {
  keeps_gates ? ForwardRow<true>(row, n) : ForwardRow<false>(row, n);
}

void Backward(const LstmBackwardRow& row, size_t n) {
  const D d;
  const V one = hn::Set(d, 1.0f);
  const float *i_row = row.gates, *f_row = i_row + n, *g_row = f_row + n, *o_row = g_row + n;
  const float *c_prev = row.c_prev, *c_row = row.c, *dy = row.dy, *dh_row = row.dh;
  float *dc = row.dc, *da_i = row.da, *da_f = da_i + n, *da_g = da_f + n, *da_o = da_g + n;
  ForRow(n, [&](const auto& access, size_t at) HWY_ATTR {
    const V i = access.load(i_row + at), f = access.load(f_row + at);
    const V g = access.load(g_row + at), o = access.load(o_row + at);
    const V t = Tanh(d, access.load(c_row + at));
    const V dh = hn::Add(access.load(dy + at), access.load(dh_row + at));
    const V slope = hn::Mul(hn::Sub(one, t), hn::Add(one, t));
    const V s = hn::MulAdd(hn::Mul(dh, o), slope, access.load(dc + at));
    access.store(hn::Mul(hn::Mul(dh, t), hn::Mul(o, hn::Sub(one, o))), da_o + at);
    access.store(hn::Mul(hn::Mul(s, g), hn::Mul(i, hn::Sub(one, i))), da_i + at);
    access.store(hn::Mul(hn::Mul(s, access.load(c_prev + at)), hn::Mul(f, hn::Sub(one, f))),
                 da_f + at);
    access.store(hn::Mul(hn::Mul(s, i), hn::Mul(hn::Sub(one, g), hn::Add(one, g))), da_g + at);
    access.store(hn::Mul(s, f), dc + at);
  });
}

const LstmKernels* KernelTable() {
  static constexpr LstmKernels kTable = {.forward = Forward, .backward = Backward};
  return &kTable;
}

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
#include "core/target.h"

namespace bnns::impl {

HWY_EXPORT(KernelTable);
const LstmKernels* lstm_kernels() {
  return pick(HWY_DISPATCH_TABLE(KernelTable))();
}

}  // namespace bnns::impl
#endif

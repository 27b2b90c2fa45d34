// Products of matrices: filters of every kind, forward, backward and reserve; BNNSMatMul.
#include "two_inputs.h"

namespace fuzz {
namespace {

struct Case : TwoInputs {
  explicit Case(Provider& p);
  BNNSLayerParametersBroadcastMatMul layer = {};
};

// Operands that fit each other, most of the time.
Case::Case(Provider& p) : TwoInputs(p) {
  const size_t m = p.between(1, 20), n = p.extent(), k = p.between(1, 24);
  layer.transA = p.one_in(2);
  layer.transB = p.one_in(2);
  roles = static_cast<Roles>(p.below(4));
  layer.quadratic = roles == Roles::kOne;
  layer.a_is_weights = roles == Roles::kAWeights;
  layer.b_is_weights = roles == Roles::kBWeights;
  if (p.one_in(60)) layer.a_is_weights = !layer.a_is_weights;
  const bool square = layer.quadratic;
  const size_t columns = square ? m : n, depth = square ? m : k;
  const auto matrix = [&](size_t rows, size_t cols, bool turned) {
    return turned ? std::vector<size_t>{cols, rows} : std::vector<size_t>{rows, cols};
  };
  std::vector<size_t> a = matrix(m, depth, layer.transA), b = matrix(depth, columns, layer.transB);
  std::vector<size_t> c = matrix(m, columns, false);
  const size_t leading = p.one_in(2) ? 0 : p.below(3);
  for (size_t i = 0; i < leading; ++i) {
    const size_t extent = p.between(1, 3), broadcast = square ? 0 : p.below(3);
    a.insert(a.begin(), broadcast == 1 ? 1 : extent);
    b.insert(b.begin(), broadcast == 2 ? 1 : extent);
    c.insert(c.begin(), extent);
  }
  if (!square && leading > 0 && p.one_in(4)) b.erase(b.begin(), b.end() - 2);
  if (p.one_in(30)) c[p.below(c.size())] = p.extent();
  operand[0] = coordinates_of(p, a);
  operand[1] = coordinates_of(p, b);
  out = coordinates_of(p, c);
  if (p.one_in(30)) operand[p.below(2)] = descriptor(p, 20);
  if (p.one_in(30)) out = descriptor(p, 20);
  layer.alpha = p.one_in(4) ? p.scalar() : 0.5f;
  layer.beta = p.one_in(20) ? p.scalar() : static_cast<float>(p.below(2));
  accumulates = layer.beta == 1;
  place_tensors(p);
  layer.iA_desc = operand[0];
  layer.iB_desc = operand[1];
  layer.o_desc = out;
}

// The product of one sample, with a workspace or without.
void direct(Provider& p, Case& c) {
  if (c.out_batch.size != 1) return;
  BNNSNDArrayDescriptor a = c.operand[0], b = c.operand[1], out = c.out;
  a.data = address(c.memory, c.data[0]);
  b.data = address(c.memory, c.data[1]);
  out.data = address(c.memory, c.result);
  const BNNSLayerParametersBroadcastMatMul& l = c.layer;
  const ssize_t size =
      BNNSMatMulWorkspaceSize(l.transA, l.transB, l.alpha, &a, &b, &out, &c.filter);
  const bool give = size >= 0 && size < (1 << 26) && p.one_in(2);
  std::vector<char> workspace(give ? static_cast<size_t>(size) + 8 : 0);
  const size_t shift = p.below(8);
  Promise promise;
  promise.apart = mask_of(c.data[0]) | mask_of(c.data[1]);
  promise.used = promise.apart | mask_of(c.result);
  promise.written = promise.overwritten = mask_of(c.result);
  run("BNNSMatMul", p, c.memory, promise, [&](size_t k) {
    const BNNSFilterParameters filter = k == 0 ? c.filter : twin_of(c.filter);
    // Another number of threads may need more.
    void* memory = give && k == 0 ? workspace.data() + shift : nullptr;
    return BNNSMatMul(l.transA, l.transB, l.alpha, &a, &b, &out, memory, &filter) == 0;
  });
}

void one_case(Provider& p) {
  Case c(p);
  if (p.one_in(4)) return direct(p, c);
  const BNNSLayerParametersBroadcastMatMul* layer = p.one_in(100) ? nullptr : &c.layer;
  const char* function = "BNNSFilterCreateLayerBroadcastMatMul";
  const Pair filters(function, p, c.filter, [&](const BNNSFilterParameters* f) {
    return BNNSFilterCreateLayerBroadcastMatMul(layer, f);
  });
  c.memory.expect_untouched(function);
  if (!filters) return;
  c.check_descriptors(function, c.layer.alpha, c.layer.beta);
  some_calls(
      p, filters, [&] { forward(p, c, filters); }, [&] { backward(p, c, filters); });
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}

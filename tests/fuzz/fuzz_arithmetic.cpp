// Arithmetic filters: every function, inputs that are broadcast, given twice or written over, all
// roles, forward, backward and reserve.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16};
constexpr BNNSDescriptorType kRoles[] = {BNNSConstant, BNNSSample, BNNSParameter};
constexpr BNNSDataLayout kShapes[] = {BNNSDataLayoutVector, BNNSDataLayoutRowMajorMatrix,
                                      BNNSDataLayoutImageCHW, BNNSDataLayout4DFirstMajor,
                                      BNNSDataLayoutColumnMajorMatrix};

size_t inputs_of(uint32_t function) {
  switch (function) {
    case BNNSArithmeticAdd:
    case BNNSArithmeticSubtract:
    case BNNSArithmeticMultiply:
    case BNNSArithmeticDivide:
    case BNNSArithmeticPow:
    case BNNSArithmeticMultiplyNoNaN:
    case BNNSArithmeticDivideNoNaN:
    case BNNSArithmeticMinimum:
    case BNNSArithmeticMaximum:
    case BNNSArithmeticFloorDivide:
    case BNNSArithmeticTruncDivide:
    case BNNSArithmeticTruncRemainder:
      return 2;
    case BNNSArithmeticMultiplyAdd:
    case BNNSArithmeticSelect:
      return 3;
    default:
      return 1;
  }
}

struct Operand {
  BNNSNDArrayDescriptor desc = {}, delta = {};
  BNNSDescriptorType role = BNNSSample;
  Batch batch, delta_batch;
  size_t value = kNowhere, gradient = kNowhere;
};

struct Case {
  explicit Case(Provider& p);
  BNNSFilter create(const BNNSFilterParameters* parameters, bool with_fields) const;
  void check_creation() const;

  uint32_t function;
  size_t inputs;
  BNNSActivation activation = {};
  Operand in[3], out;
  Memory memory;
  size_t batch = 0;
};

// Inputs have the shape of the output, or 1 in some axes, most of the time.
Case::Case(Provider& p)
    : function(p.one_in(60) ? p.number<uint32_t>() : static_cast<uint32_t>(p.below(41))),
      inputs(inputs_of(function)) {
  activation.function = p.one_in(3) ? fuzz::activation(p).function : BNNSActivationFunctionIdentity;
  activation.alpha = 0.75f;
  activation.beta = 1.5f;
  out.desc = descriptor(p, 1000, p.pick(kShapes));
  const auto type = [&] { return p.one_in(5) ? p.constant(kFloats) : BNNSDataTypeFloat32; };
  out.desc.data_type = type();
  for (size_t k = 0; k < inputs; ++k) {
    BNNSNDArrayDescriptor& d = in[k].desc;
    d = out.desc;
    for (size_t a = 0; a < rank_of(d.layout); ++a)
      if (p.one_in(4)) d.size[a] = 1;
    if (p.one_in(3)) choose_strides(p, d);
    if (p.one_in(40)) d = descriptor(p, 8);
    d.data_type = type();
    if (k == 0 && function == BNNSArithmeticSelect && p.one_in(2))
      d.data_type = BNNSDataTypeBoolean;
    in[k].role = p.one_in(3) ? p.constant(kRoles, 60) : BNNSSample;
  }
  out.role = p.one_in(20) ? p.constant(kRoles, 10) : BNNSSample;
  const Batch samples = batch_of(p);
  batch = samples.size;
  std::vector<size_t> earlier;
  const auto add = [&](Operand& o) {
    const Batch count = o.role == BNNSSample ? samples : Batch{.size = std::min<size_t>(batch, 1)};
    o.delta = delta_of(p, o.desc);
    if (!p.one_in(30)) o.delta.data_type = BNNSDataTypeFloat32;
    o.batch = with_stride(p, count, model_of(o.desc));
    o.delta_batch = with_stride(p, count, model_of(o.delta));
    o.value = place(p, memory, model_of(o.desc), o.batch, earlier);
    if (o.value != kNowhere) earlier.push_back(o.value);
    o.gradient = place(p, memory, model_of(o.delta), o.delta_batch, earlier);
    if (o.gradient != kNowhere) earlier.push_back(o.gradient);
  };
  add(out);
  for (size_t k = 0; k < inputs; ++k) add(in[k]);
  memory.allocate(p.number<uint16_t>());
  const auto connect = [&](Operand& o) { o.delta.data = address(memory, o.gradient); };
  connect(out);
  for (size_t k = 0; k < inputs; ++k) connect(in[k]);
  show("out", out.desc);
  for (size_t k = 0; k < inputs; ++k) {
    show("in", in[k].desc);
    show("in_delta", in[k].delta);
    show("role", in[k].role);
    show("stride", in[k].delta_batch.stride);
  }
  show("function", function);
  show("batch", batch);
}

BNNSFilter Case::create(const BNNSFilterParameters* parameters, bool with_fields) const {
  BNNSArithmeticUnary one = {in[0].desc, in[0].role, out.desc, out.role};
  BNNSArithmeticBinary two = {in[0].desc, in[0].role, in[1].desc, in[1].role, out.desc, out.role};
  BNNSArithmeticTernary three = {in[0].desc, in[0].role, in[1].desc, in[1].role,
                                 in[2].desc, in[2].role, out.desc,   out.role};
  void* const fields[] = {&one, &two, &three};
  const BNNSLayerParametersArithmetic layer = {static_cast<BNNSArithmeticFunction>(function),
                                               with_fields ? fields[inputs - 1] : nullptr,
                                               activation};
  return BNNSFilterCreateLayerArithmetic(&layer, parameters);
}

void Case::check_creation() const {
  const char* name = "BNNSFilterCreateLayerArithmetic";
  const Model y = model_of(out.desc);
  expect(y.legal && !y.opaque && !overlaps_itself(y), name, "accepts an out it must refuse");
  expect(function <= BNNSArithmeticErf, name, "accepts a function that does not exist");
  for (size_t k = 0; k < inputs; ++k) {
    const Model x = model_of(in[k].desc);
    expect(x.legal && !x.opaque, name, "accepts an input it must refuse");
    expect(in[k].desc.layout == out.desc.layout, name, "accepts different layouts");
    for (size_t a = 0; a < x.rank; ++a)
      expect(in[k].desc.size[a] == out.desc.size[a] || in[k].desc.size[a] == 1, name,
             "accepts sizes that do not broadcast");
  }
}

struct Arguments {
  const void* in[3] = {};
  size_t stride[3] = {}, delta_stride[3] = {};
  BNNSNDArrayDescriptor* delta[3] = {};
  uint32_t values = 0, gradients = 0;

  Arguments(Provider& p, Case& c, bool all) {
    for (size_t k = 0; k < c.inputs; ++k) {
      Operand& o = c.in[k];
      if (o.value != kNowhere && !p.one_in(40)) {
        in[k] = c.memory.data(o.value);
        values |= mask_of(o.value);
      }
      stride[k] = o.batch.stride;
      delta_stride[k] = o.delta_batch.stride;
      if (all || p.one_in(6)) o.delta.data = nullptr;
      if (!p.one_in(40)) delta[k] = &o.delta;
      const bool ignored = o.role == BNNSConstant || o.desc.data_type == BNNSDataTypeBoolean;
      if (delta[k] != nullptr && o.delta.data != nullptr && !ignored)
        gradients |= mask_of(o.gradient);
    }
  }
};

size_t number_of_inputs(Provider& p, const Case& c) {
  return p.one_in(60) ? p.below(5) : c.inputs;
}

void forward(Provider& p, Case& c, const Pair& filters) {
  const auto restore = [&] {
    for (size_t k = 0; k < c.inputs; ++k) c.in[k].delta.data = address(c.memory, c.in[k].gradient);
  };
  Arguments a(p, c, true);
  restore();
  void* out = p.one_in(40) ? nullptr : address(c.memory, c.out.value);
  const size_t n = number_of_inputs(p, c);
  const void** in = p.one_in(60) ? nullptr : a.in;
  Promise promise;
  promise.used = a.values | mask_of(c.out.value);
  promise.written = c.batch == 0 ? 0 : mask_of(c.out.value);
  promise.overwritten = promise.written;
  promise.apart = a.values;
  promise.in_place = true;
  promise.repeatable = !is_random(c.activation.function);
  run("BNNSArithmeticFilterApplyBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSArithmeticFilterApplyBatch(filters[k], c.batch, n, in, a.stride, out,
                                          c.out.batch.stride) == 0;
  });
}

// Gradients may lie over each other and over out_delta in ways that only the library tells.
void backward(Provider& p, Case& c, const Pair& filters) {
  for (size_t k = 0; k < c.inputs; ++k) c.in[k].delta.data = address(c.memory, c.in[k].gradient);
  Arguments a(p, c, false);
  const void* out = p.one_in(2) ? nullptr : address(c.memory, c.out.value);
  const void** in = p.one_in(6) ? nullptr : a.in;
  const size_t n = number_of_inputs(p, c);
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out.delta;
  Promise promise;
  promise.used = a.values | a.gradients | mask_of(c.out.gradient) | mask_of(c.out.value);
  promise.written = c.batch == 0 ? 0 : a.gradients;
  run("BNNSArithmeticFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSArithmeticFilterApplyBackwardBatch(filters[k], c.batch, n, in, a.stride, a.delta,
                                                  a.delta_stride, out, c.out.batch.stride,
                                                  out_delta, c.out.delta_batch.stride) == 0;
  });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  const bool with_fields = !p.one_in(100);
  const Pair filters("BNNSFilterCreateLayerArithmetic", p, parameters,
                     [&](const BNNSFilterParameters* f) { return c.create(f, with_fields); });
  c.memory.expect_untouched("BNNSFilterCreateLayerArithmetic");
  if (!filters) return;
  c.check_creation();
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

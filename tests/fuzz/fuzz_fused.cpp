// Fused filters: every pair of layers and many that are none, one and several inputs, training and
// inference in any order, backward with every choice of gradients.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSFilterType kFirst[] = {BNNSConvolution, BNNSTransposedConvolution, BNNSFullyConnected,
                                     BNNSArithmetic};
constexpr BNNSFilterType kSecond[] = {BNNSBatchNorm, BNNSInstanceNorm, BNNSLayerNorm, BNNSGroupNorm,
                                      BNNSQuantization};
constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16};
constexpr BNNSDescriptorType kRoles[] = {BNNSConstant, BNNSSample, BNNSParameter};
// With one, two and three inputs.
constexpr BNNSArithmeticFunction kFunctions[][3] = {
    {BNNSArithmeticExp, BNNSArithmeticAbs, BNNSArithmeticSquare},
    {BNNSArithmeticAdd, BNNSArithmeticMultiply, BNNSArithmeticMaximum},
    {BNNSArithmeticMultiplyAdd, BNNSArithmeticMultiplyAdd, BNNSArithmeticMultiplyAdd}};

// A tensor with its descriptor and its place in memory.
struct Tensor {
  BNNSNDArrayDescriptor desc = {};
  Batch batch;
  size_t at = kNowhere;

  uint32_t mask() const { return mask_of(at); }
  explicit operator bool() const { return at != kNowhere; }
};

struct Case {
  Case(Provider& p, bool client_pointers);
  void choose_first(Provider& p);
  void choose_normalization(Provider& p);
  void choose_quantization(Provider& p);
  void place_tensors(Provider& p, const Batch& samples);
  void connect();

  bool weighted() const { return types[0] != BNNSArithmetic; }
  bool quantized() const { return types[1] == BNNSQuantization; }
  bool moves() const { return types[1] == BNNSBatchNorm || types[1] == BNNSInstanceNorm; }
  bool repeatable() const {
    return !is_random(first_activation.function) &&
           (quantized() || !is_random(norm.activation.function));
  }
  uint32_t all_inputs() const { return in[0].mask() | in[1].mask() | in[2].mask(); }
  // Parameters of the client that calls read, but for the moving statistics.
  uint32_t parameters() const {
    if (!client) return 0;
    const uint32_t own = quantized() ? scale.mask() | shift.mask() : beta.mask() | gamma.mask();
    return own | (weighted() ? w.mask() | b.mask() : 0);
  }
  uint32_t moving() const { return client && moves() ? mean.mask() | variance.mask() : 0; }

  bool client;
  BNNSFilterType types[2];
  size_t inputs = 1;
  BNNSActivation first_activation = {};
  BNNSNDArrayDescriptor between = {};
  BNNSDescriptorType role[3] = {BNNSSample, BNNSSample, BNNSSample}, out_role = BNNSSample;
  BNNSLayerParametersConvolution convolution = {};
  BNNSLayerParametersFullyConnected connected = {};
  BNNSLayerParametersArithmetic arithmetic = {};
  BNNSArithmeticUnary unary = {};
  BNNSArithmeticBinary binary = {};
  BNNSArithmeticTernary ternary = {};
  BNNSLayerParametersNormalization norm = {};
  BNNSLayerParametersQuantization quantization = {};
  const void* params[2] = {};
  Memory memory;
  Tensor in[3], out, w, b, beta, gamma, mean, variance, scale, shift;
  Tensor dx[3], dy, dw, db, dbeta, dgamma;
};

void Case::choose_first(Provider& p) {
  const size_t width = p.between(1, 9), height = p.between(1, 5), channels = p.between(1, 12);
  const size_t from = p.between(1, 6), kernel = p.one_in(2) ? 1 : 3;
  const auto image = [&](size_t c) {
    BNNSNDArrayDescriptor d = vector_of(width);
    d.layout = BNNSDataLayoutImageCHW;
    d.size[1] = height;
    d.size[2] = c;
    return d;
  };
  first_activation = activation(p);
  if (!p.one_in(4)) first_activation.function = BNNSActivationFunctionIdentity;
  between = types[0] == BNNSFullyConnected ? vector_of(channels) : image(channels);
  if (types[0] == BNNSArithmetic && p.one_in(3)) between = vector_of(channels);
  if (types[0] == BNNSFullyConnected) {
    in[0].desc = vector_of(p.extent());
    w.desc = vector_of(in[0].desc.size[0]);
    w.desc.layout = BNNSDataLayoutRowMajorMatrix;
    w.desc.size[1] = channels;
  } else if (weighted()) {
    in[0].desc = image(from);
    w.desc = vector_of(kernel);
    w.desc.layout = BNNSDataLayoutConvolutionWeightsOIHW;
    w.desc.size[1] = kernel;
    w.desc.size[2] = from;
    w.desc.size[3] = channels;
    convolution.x_padding = convolution.y_padding = kernel / 2;
  } else {
    inputs = p.between(1, 3);
    arithmetic.arithmetic_function = p.constant(kFunctions[inputs - 1], 60);
    for (size_t k = 0; k < inputs; ++k) {
      in[k].desc = between;
      for (size_t a = 0; a < 3; ++a)
        if (p.one_in(6)) in[k].desc.size[a] = 1;
      if (p.one_in(3)) role[k] = p.constant(kRoles, 60);
    }
    if (p.one_in(30)) out_role = p.pick(kRoles);
  }
  b.desc = vector_of(channels);
  for (Tensor* t : {&in[0], &in[1], &in[2], &w, &b}) {
    if (p.one_in(6)) choose_strides(p, t->desc);
    if (p.one_in(12)) choose_type(p, t->desc, 2);
    if (p.one_in(60)) t->desc = like(p, t->desc);
  }
  if (p.one_in(4)) choose_strides(p, between);
  if (p.one_in(8)) between.data_type = p.pick(kFloats);
}

void Case::choose_normalization(Provider& p) {
  norm.activation = activation(p);
  if (p.one_in(2)) norm.activation.function = BNNSActivationFunctionRectifiedLinear;
  norm.epsilon = p.one_in(12) ? p.scalar() : 1e-3f;
  norm.momentum = p.one_in(12) ? p.scalar() : 0.75f;
  norm.num_groups = p.one_in(20) ? p.odd_size() : p.between(1, 3);
  norm.normalization_axis = p.one_in(20) ? p.odd_size() : p.below(3);
  const size_t channels = b.desc.layout == BNNSDataLayoutVector ? b.desc.size[0] : 1;
  beta.desc = gamma.desc = mean.desc = variance.desc = vector_of(channels);
  if (types[1] == BNNSLayerNorm) {
    beta.desc = between;
    std::fill(beta.desc.stride, beta.desc.stride + 8, size_t{0});
    beta.desc.data_type = BNNSDataTypeFloat32;
    gamma.desc = beta.desc;
  }
  for (Tensor* t : {&beta, &gamma, &mean, &variance}) {
    if (p.one_in(8)) choose_strides(p, t->desc);
    if (p.one_in(40)) t->desc = like(p, t->desc);
  }
}

void Case::choose_quantization(Provider& p) {
  quantization.function = p.one_in(4) ? BNNSQuantizerFunctionDequantize
                                      : static_cast<BNNSQuantizerFunction>(p.one_in(60) ? 7 : 0);
  const bool back = quantization.function == BNNSQuantizerFunctionDequantize;
  if (back && !p.one_in(8)) {
    between.data_type = integer_type(p);
    between.data_scale = p.one_in(4) ? p.scalar() : 0.5f;
  }
  out.desc = between;
  out.desc.data_type = back ? BNNSDataTypeFloat32 : integer_type(p);
  const size_t rank = rank_of(between.layout), axis = p.below(rank + 2);
  quantization.axis_mask = axis > rank ? 0 : size_t{1} << axis;
  if (p.one_in(30)) quantization.axis_mask = p.odd_size();
  const size_t count = axis < rank ? between.size[axis] : axis == rank ? p.between(1, 3) : 1;
  scale.desc = shift.desc = vector_of(count);
  for (Tensor* t : {&scale, &shift}) {
    if (p.one_in(8)) choose_strides(p, t->desc);
    if (p.one_in(8)) choose_type(p, t->desc, 1);
  }
}

Case::Case(Provider& p, bool client_pointers) : client(client_pointers) {
  types[0] = p.constant(kFirst, 60);
  types[1] = p.constant(kSecond, 60);
  choose_first(p);
  out.desc = between;
  quantized() ? choose_quantization(p) : choose_normalization(p);
  if (p.one_in(3)) choose_strides(p, out.desc);
  if (p.one_in(8)) out.desc.data_type = p.pick(kFloats);
  if (p.one_in(40)) out.desc = like(p, out.desc);
  place_tensors(p, batch_of(p));
  connect();
}

void Case::place_tensors(Provider& p, const Batch& samples) {
  std::vector<size_t> earlier;
  const auto put = [&](Tensor& t, bool sample) {
    t.batch = sample ? with_stride(p, samples, model_of(t.desc)) : Batch{};
    t.at = place(p, memory, model_of(t.desc), t.batch, earlier);
    if (t.at != kNowhere) earlier.push_back(t.at);
  };
  for (size_t k = 0; k < inputs; ++k) {
    put(in[k], role[k] == BNNSSample);
    dx[k].desc = delta_of(p, in[k].desc);
    put(dx[k], role[k] == BNNSSample);
  }
  if (inputs > 1 && role[0] == role[1] && p.one_in(8)) {  // one input, given twice
    in[1] = in[0];
    if (!p.one_in(4)) dx[1] = dx[0];
  }
  put(out, true);
  dy.desc = delta_of(p, out.desc);
  put(dy, true);
  const auto parameter = [&](Tensor& t, Tensor* delta) {
    if (!p.one_in(6)) put(t, false);
    if (delta == nullptr || !t) return;
    delta->desc = delta_of(p, t.desc);
    put(*delta, false);
  };
  if (weighted()) {
    parameter(w, &dw);
    parameter(b, &db);
  }
  if (quantized()) {
    parameter(scale, nullptr);
    parameter(shift, nullptr);
  } else {
    parameter(beta, &dbeta);
    parameter(gamma, &dgamma);
    parameter(mean, nullptr);
    parameter(variance, nullptr);
  }
  memory.allocate(p.number<uint16_t>());
}

void Case::connect() {
  for (Tensor* t : {&w, &b, &beta, &gamma, &mean, &variance, &scale, &shift, &dx[0], &dx[1], &dx[2],
                    &dy, &dw, &db, &dbeta, &dgamma})
    t->desc.data = address(memory, t->at);
  convolution.i_desc = connected.i_desc = unary.in = binary.in1 = ternary.in1 = in[0].desc;
  binary.in2 = ternary.in2 = in[1].desc;
  ternary.in3 = in[2].desc;
  convolution.o_desc = connected.o_desc = unary.out = binary.out = ternary.out = between;
  convolution.w_desc = connected.w_desc = w.desc;
  convolution.bias = connected.bias = b.desc;
  convolution.activation = connected.activation = arithmetic.activation = first_activation;
  unary.in_type = binary.in1_type = ternary.in1_type = role[0];
  binary.in2_type = ternary.in2_type = role[1];
  ternary.in3_type = role[2];
  unary.out_type = binary.out_type = ternary.out_type = out_role;
  void* const fields[] = {&unary, &binary, &ternary};
  arithmetic.arithmetic_function_fields = fields[inputs - 1];
  norm.i_desc = quantization.i_desc = between;
  norm.o_desc = quantization.o_desc = out.desc;
  norm.beta_desc = beta.desc;
  norm.gamma_desc = gamma.desc;
  norm.moving_mean_desc = mean.desc;
  norm.moving_variance_desc = variance.desc;
  quantization.scale = scale.desc;
  quantization.bias = shift.desc;
  params[0] = &convolution;
  if (types[0] == BNNSFullyConnected) params[0] = &connected;
  if (types[0] == BNNSArithmetic) params[0] = &arithmetic;
  params[1] = quantized() ? static_cast<const void*>(&quantization) : &norm;
  show("first", size_t{types[0]});
  show("second", size_t{types[1]});
  show(first_activation);
  show(norm.activation);
  for (size_t k = 0; k < inputs; ++k) show("in", in[k].desc);
  show("between", between);
  show("out", out.desc);
  show("w", w.desc);
  show("batch", out.batch.size);
}

void forward(Provider& p, Case& c, const Pair& filters) {
  const void* in[3] = {};
  size_t stride[3] = {};
  for (size_t k = 0; k < c.inputs; ++k) {
    in[k] = p.one_in(60) ? nullptr : address(c.memory, c.in[k].at);
    stride[k] = c.in[k].batch.stride;
  }
  void* out = p.one_in(60) ? nullptr : address(c.memory, c.out.at);
  const bool training = !p.one_in(3), multi = c.inputs > 1 || p.one_in(3);
  const size_t batch = c.out.batch.size;
  Promise promise;
  promise.used = c.all_inputs() | c.out.mask() | c.parameters() | c.moving();
  promise.overwritten = promise.written = batch == 0 ? 0 : c.out.mask();
  promise.apart = c.all_inputs() | c.parameters();
  if (training && batch != 0 && !c.quantized()) promise.written |= c.moving();
  promise.repeatable = c.repeatable();
  if (!multi) {
    run("BNNSFusedFilterApplyBatch", p, c.memory, promise, [&](size_t k) {
      return BNNSFusedFilterApplyBatch(filters[k], batch, in[0], stride[0], out, c.out.batch.stride,
                                       training) == 0;
    });
    return;
  }
  const size_t inputs = p.one_in(60) ? p.below(5) : c.inputs;
  run("BNNSFusedFilterApplyMultiInputBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFusedFilterApplyMultiInputBatch(filters[k], batch, inputs, in, stride, out,
                                               c.out.batch.stride, training) == 0;
  });
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const size_t batch = p.one_in(30) ? c.out.batch.size + 1 : c.out.batch.size;
  const bool give_in = !p.one_in(12), multi = c.inputs > 1 || p.one_in(3);
  const bool give_out = c.out && !p.one_in(12);
  Promise promise;
  const auto writes = [&](bool wanted, const Tensor& t) {
    if (!wanted || batch == 0) return;
    promise.written |= t.mask();
    if (t.desc.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= t.mask();
  };
  const void* in[3] = {};
  size_t stride[3] = {}, delta_stride[3] = {};
  BNNSNDArrayDescriptor unwanted = {}, *deltas[3] = {};
  bool want_x = false;
  for (size_t k = 0; k < c.inputs; ++k) {
    in[k] = give_in ? address(c.memory, c.in[k].at) : nullptr;
    stride[k] = c.in[k].batch.stride;
    delta_stride[k] = c.dx[k].batch.stride;
    const bool want = c.dx[k] && c.role[k] != BNNSConstant && !p.one_in(4);
    deltas[k] = want ? &c.dx[k].desc : &unwanted;
    writes(want, c.dx[k]);
    want_x |= want;
  }
  BNNSNDArrayDescriptor* slots[4] = {};
  size_t n = 0;
  const auto slot = [&](Tensor& t, const Tensor& of) {
    const bool want = t && of && !p.one_in(4);
    slots[n++] = want ? &t.desc : p.one_in(2) ? &unwanted : nullptr;
    writes(want, t);
    return want;
  };
  bool want_w = false;
  if (c.weighted()) {
    want_w = slot(c.dw, c.w);
    slot(c.db, c.b);
  }
  slot(c.dbeta, c.beta);
  slot(c.dgamma, c.gamma);
  promise.used = c.dy.mask() | (give_out ? c.out.mask() : 0) | (give_in ? c.all_inputs() : 0) |
                 promise.written | c.parameters();
  promise.apart = c.dy.mask();
  if (want_w) promise.apart |= c.in[0].mask();
  if (c.client) promise.apart |= c.gamma.mask();
  if (c.client && want_x && c.weighted()) promise.apart |= c.w.mask();
  if (c.norm.activation.function != BNNSActivationFunctionIdentity) promise.apart |= c.out.mask();
  const void* out = give_out ? c.memory.data(c.out.at) : nullptr;
  BNNSNDArrayDescriptor* dy = p.one_in(60) ? nullptr : &c.dy.desc;
  if (!multi) {
    run("BNNSFusedFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
      return BNNSFusedFilterApplyBackwardBatch(filters[k], batch, in[0], stride[0], deltas[0],
                                               delta_stride[0], out, c.out.batch.stride, dy,
                                               c.dy.batch.stride, slots) == 0;
    });
    return;
  }
  const size_t inputs = p.one_in(60) ? p.below(5) : c.inputs;
  run("BNNSFusedFilterApplyBackwardMultiInputBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFusedFilterApplyBackwardMultiInputBatch(
               filters[k], batch, inputs, give_in ? in : nullptr, give_in ? stride : nullptr,
               deltas, delta_stride, out, c.out.batch.stride, dy, c.dy.batch.stride, slots) == 0;
  });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p, (parameters.flags & BNNSFlagsUseClientPtr) != 0);
  const char* function = "BNNSFilterCreateFusedLayer";
  const size_t count = p.one_in(60) ? p.below(5) : 2;
  const Pair filters(function, p, parameters, [&](const BNNSFilterParameters* f) {
    return BNNSFilterCreateFusedLayer(count, c.types, c.params, f);
  });
  c.memory.expect_untouched(function);
  if (!filters) return;
  expect(count == 2, function, "accepts another number of layers");
  expect(model_of(c.between).legal, function, "accepts a tensor between the layers it must refuse");
  expect(model_of(c.out.desc).legal, function, "accepts an o_desc that must be refused");
  expect(model_of(c.between).count == model_of(c.out.desc).count, function,
         "accepts tensors of differing counts");
  expect(c.weighted() || !c.quantized(), function, "accepts arithmetic before a quantization");
  const size_t calls = p.between(1, 4);
  for (size_t i = 0; i < calls; ++i) {
    if (p.one_in(8)) {
      reserve(p, filters);
    } else {
      i % 2 == 1 ? backward(p, c, filters) : forward(p, c, filters);
    }
  }
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}

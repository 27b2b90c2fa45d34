// Normalization filters: all types, parameters of any strides, training and inference in any order,
// backward with every choice of gradients.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSFilterType kTypesOfNormalization[] = {BNNSBatchNorm, BNNSInstanceNorm, BNNSLayerNorm,
                                                    BNNSGroupNorm};
constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16};
constexpr BNNSDataType kDeltas[] = {BNNSDataTypeFloat32, BNNSDataTypeBFloat16};

struct Case {
  explicit Case(Provider& p, bool client_pointers);
  void choose_layer(Provider& p);
  void choose_parameters(Provider& p);
  void place_tensors(Provider& p);
  void connect(Provider& p);
  uint32_t parameters() const;
  uint32_t moving() const { return mask_of(mean) | mask_of(variance); }
  bool moves() const { return type == BNNSBatchNorm || type == BNNSInstanceNorm; }

  BNNSFilterType type;
  BNNSLayerParametersNormalization layer = {};
  bool client;
  Memory memory;
  Batch in_batch, out_batch, in_delta_batch, out_delta_batch;
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {}, beta_delta = {}, gamma_delta = {};
  size_t in = kNowhere, out = kNowhere, beta = kNowhere, gamma = kNowhere, mean = kNowhere,
         variance = kNowhere;
  size_t dx = kNowhere, dy = kNowhere, dbeta = kNowhere, dgamma = kNowhere;
};

size_t channels_of(const BNNSNDArrayDescriptor& d) {
  return d.layout == BNNSDataLayoutImageCHW ? d.size[2] : d.size[0];
}

void Case::choose_layer(Provider& p) {
  type = p.constant(kTypesOfNormalization, 60);
  static constexpr BNNSDataLayout kShapes[] = {BNNSDataLayoutImageCHW, BNNSDataLayoutVector};
  layer.i_desc = descriptor(p, 60, p.one_in(30) ? p.constant(kLayouts) : p.pick(kShapes));
  if (p.one_in(4)) layer.i_desc.data_type = p.pick(kFloats);
  layer.o_desc = layer.i_desc;
  if (p.one_in(3)) choose_strides(p, layer.o_desc);
  if (p.one_in(8)) layer.o_desc = like(p, layer.i_desc);
  if (p.one_in(8)) layer.o_desc.data_type = p.pick(kFloats);
  layer.activation = activation(p);
  if (p.one_in(2)) layer.activation.function = BNNSActivationFunctionRectifiedLinear;
  layer.epsilon = p.one_in(8) ? p.scalar() : 1e-3f;
  layer.momentum = p.one_in(8) ? p.scalar() : 0.75f;
  layer.num_groups = p.one_in(20) ? p.odd_size() : p.between(1, 4);
  layer.normalization_axis = p.one_in(20) ? p.odd_size() : p.below(3);
}

void Case::choose_parameters(Provider& p) {
  const size_t channels = channels_of(layer.i_desc);
  const auto parameter = [&] {
    BNNSNDArrayDescriptor d = vector_of(channels);
    if (type == BNNSLayerNorm) {
      d = layer.i_desc;
      std::fill(d.stride, d.stride + 8, size_t{0});
      for (size_t k = 0; k < 3; ++k) {
        if (p.one_in(4)) d.size[k] = 1;
      }
      d.data_type = BNNSDataTypeFloat32;
    }
    if (p.one_in(6)) choose_strides(p, d);
    return p.one_in(20) ? like(p, d) : d;
  };
  layer.beta_desc = parameter();
  layer.gamma_desc = p.one_in(2) ? layer.beta_desc : parameter();
  if (p.one_in(6)) layer.beta_desc.data_type = layer.gamma_desc.data_type = p.pick(kFloats);
  layer.moving_mean_desc = p.one_in(20) ? like(p, vector_of(channels)) : vector_of(channels);
  layer.moving_variance_desc = p.one_in(20) ? like(p, vector_of(channels)) : vector_of(channels);
}

Case::Case(Provider& p, bool client_pointers) : client(client_pointers) {
  choose_layer(p);
  choose_parameters(p);
  const Batch batch = batch_of(p);
  in_batch = with_stride(p, batch, model_of(layer.i_desc));
  out_batch = with_stride(p, batch, model_of(layer.o_desc));
  const auto delta = [&](const BNNSNDArrayDescriptor& of) {
    BNNSNDArrayDescriptor d = delta_of(p, of);
    if (!p.one_in(30)) d.data_type = p.one_in(3) ? p.pick(kDeltas) : BNNSDataTypeFloat32;
    return d;
  };
  in_delta = delta(layer.i_desc);
  out_delta = delta(layer.o_desc);
  beta_delta = delta(layer.beta_desc);
  gamma_delta = delta(layer.gamma_desc);
  in_delta_batch = with_stride(p, batch, model_of(in_delta));
  out_delta_batch = with_stride(p, batch, model_of(out_delta));
  place_tensors(p);
  connect(p);
}

void Case::place_tensors(Provider& p) {
  std::vector<size_t> earlier;
  const auto add = [&](const BNNSNDArrayDescriptor& d, const Batch& batch) {
    const size_t t = place(p, memory, model_of(d), batch, earlier);
    if (t != kNowhere) earlier.push_back(t);
    return t;
  };
  in = add(layer.i_desc, in_batch);
  out = add(layer.o_desc, out_batch);
  beta = add(layer.beta_desc, {});
  gamma = add(layer.gamma_desc, {});
  mean = add(layer.moving_mean_desc, {});
  variance = add(layer.moving_variance_desc, {});
  dy = add(out_delta, out_delta_batch);
  dx = add(in_delta, in_delta_batch);
  dbeta = add(beta_delta, {});
  dgamma = add(gamma_delta, {});
  memory.allocate(p.number<uint16_t>());
}

void Case::connect(Provider& p) {
  const auto set = [&](BNNSNDArrayDescriptor& d, size_t& tensor) {
    if (p.one_in(4)) tensor = kNowhere;
    d.data = address(memory, tensor);
  };
  set(layer.beta_desc, beta);
  set(layer.gamma_desc, gamma);
  set(layer.moving_mean_desc, mean);
  set(layer.moving_variance_desc, variance);
  in_delta.data = address(memory, dx);
  out_delta.data = address(memory, dy);
  beta_delta.data = address(memory, dbeta);
  gamma_delta.data = address(memory, dgamma);
  if (!moves()) mean = variance = kNowhere;
  show(layer.activation);
  show("type", size_t{type});
  show("i_desc", layer.i_desc);
  show("o_desc", layer.o_desc);
  show("beta", layer.beta_desc);
  show("gamma", layer.gamma_desc);
  show("batch", in_batch.size);
}

// Tensors of the client that calls read.
uint32_t Case::parameters() const {
  return client ? mask_of(beta) | mask_of(gamma) | moving() : 0;
}

void forward(Provider& p, Case& c, const Pair& filters) {
  const void* in = c.in == kNowhere || p.one_in(40) ? nullptr : c.memory.data(c.in);
  void* out = c.out == kNowhere || p.one_in(40) ? nullptr : c.memory.data(c.out);
  const bool training = !p.one_in(3);
  Promise promise;
  promise.used = mask_of(c.in) | mask_of(c.out) | c.parameters();
  promise.overwritten = c.in_batch.size == 0 ? 0 : mask_of(c.out);
  promise.written = promise.overwritten;
  if (training && c.client && c.in_batch.size != 0) promise.written |= c.moving();
  promise.apart = mask_of(c.in);
  promise.in_place = true;
  run("BNNSNormalizationFilterApplyBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSNormalizationFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride,
                                             out, c.out_batch.stride, training) == 0;
  });
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const bool give_out = c.out != kNowhere && !p.one_in(8);
  const bool want_x = c.dx != kNowhere && !p.one_in(4);
  const bool want_beta = c.dbeta != kNowhere && c.beta != kNowhere && !p.one_in(4);
  const bool want_gamma = c.dgamma != kNowhere && c.gamma != kNowhere && !p.one_in(4);
  BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;
  const size_t batch = p.one_in(30) ? c.in_batch.size + 1 : c.in_batch.size;
  Promise promise;
  promise.used = mask_of(c.dy) | (give_out ? mask_of(c.out) : 0) | c.parameters();
  const auto writes = [&](bool wanted, size_t tensor, const BNNSNDArrayDescriptor& d) {
    if (!wanted || batch == 0) return;
    promise.written |= mask_of(tensor);
    if (d.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask_of(tensor);
  };
  writes(want_x, c.dx, c.in_delta);
  writes(want_beta, c.dbeta, c.beta_delta);
  writes(want_gamma, c.dgamma, c.gamma_delta);
  promise.used |= promise.written;
  promise.apart = mask_of(c.dy);
  run("BNNSNormalizationFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSNormalizationFilterApplyBackwardBatch(
               filters[k], batch, want_x ? &c.in_delta : nullptr, c.in_delta_batch.stride,
               give_out ? c.memory.data(c.out) : nullptr, c.out_batch.stride, out_delta,
               c.out_delta_batch.stride, want_beta ? &c.beta_delta : nullptr,
               want_gamma ? &c.gamma_delta : nullptr) == 0;
  });
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p, (parameters.flags & BNNSFlagsUseClientPtr) != 0);
  const auto* layer = p.one_in(100) ? nullptr : &c.layer;
  const char* function = "BNNSFilterCreateLayerNormalization";
  const Pair filters(function, p, parameters, [&](const BNNSFilterParameters* f) {
    return BNNSFilterCreateLayerNormalization(c.type, layer, f);
  });
  c.memory.expect_untouched(function);
  if (!filters) return;
  expect(model_of(c.layer.i_desc).legal, function, "accepts an i_desc that must be refused");
  expect(model_of(c.layer.o_desc).legal, function, "accepts an o_desc that must be refused");
  expect(model_of(c.layer.i_desc).count == model_of(c.layer.o_desc).count, function,
         "accepts tensors of differing counts");
  const size_t calls = p.between(1, 4);
  for (size_t i = 0; i < calls; ++i) i % 2 == 1 ? backward(p, c, filters) : forward(p, c, filters);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}

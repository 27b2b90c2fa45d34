// Fully connected filters: any layout and type of weights, copied or the client's, fused
// activations, forward, and backward with every choice of gradients.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSDataLayout kMatrices[] = {BNNSDataLayoutRowMajorMatrix,
                                        BNNSDataLayoutColumnMajorMatrix, BNNSDataLayout2DFirstMajor,
                                        BNNSDataLayout2DLastMajor};

// W(o, i), row = output.
BNNSNDArrayDescriptor weights_of(Provider& p, size_t inputs, size_t outputs) {
  BNNSNDArrayDescriptor d = {};
  d.layout = p.one_in(60) ? p.constant(kLayouts) : p.pick(kMatrices);
  const bool row_major = d.layout == BNNSDataLayoutRowMajorMatrix;
  d.size[0] = row_major ? inputs : outputs;
  d.size[1] = row_major ? outputs : inputs;
  if (p.one_in(60)) d.size[p.below(2)] = p.odd_size();
  choose_strides(p, d);
  choose_type(p, d, 4);
  return d;
}

void make_integer(Provider& p, BNNSLayerParametersFullyConnected& layer) {
  for (BNNSNDArrayDescriptor* d : {&layer.i_desc, &layer.o_desc, &layer.w_desc, &layer.bias})
    d->data_type = integer_type(p);
}

struct Case {
  explicit Case(Provider& p);

  void connect(Provider& p);
  void check_creation() const;
  uint32_t parameters() const {
    return client ? weights.mask() | bias.mask() | constants_mask() : 0;
  }
  uint32_t constants_mask() const {
    return mask_of(constants[0]) | mask_of(constants[1]) | mask_of(constants[2]);
  }

  BNNSFilterParameters filter;
  bool client;
  BNNSLayerParametersFullyConnected layer = {};
  Memory memory;
  Batch in_batch, out_batch, in_delta_batch, out_delta_batch;
  size_t in = kNowhere, out = kNowhere;
  Source weights, bias;
  size_t constants[3] = {kNowhere, kNowhere, kNowhere};
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {}, weights_delta = {}, bias_delta = {};
  size_t dx = kNowhere, dy = kNowhere, dw = kNowhere, db = kNowhere;
};

Case::Case(Provider& p) : filter(filter_parameters(p)) {
  client = (filter.flags & BNNSFlagsUseClientPtr) != 0;
  layer.activation = activation(p);
  if (!p.one_in(2)) layer.activation.function = BNNSActivationFunctionIdentity;
  layer.i_desc = p.one_in(4) ? descriptor(p, 6) : vector_of(p.extent());
  layer.o_desc = p.one_in(4) ? descriptor(p, 6) : vector_of(p.extent());
  if (p.one_in(4)) choose_strides(p, layer.i_desc);
  if (p.one_in(4)) choose_strides(p, layer.o_desc);
  const Model in_model = model_of(layer.i_desc), out_model = model_of(layer.o_desc);
  layer.w_desc = weights_of(p, in_model.count, out_model.count);
  const bool has_bias = !p.one_in(3);
  if (has_bias) {
    layer.bias = p.one_in(6) ? like(p, layer.o_desc) : vector_of(out_model.count);
    choose_type(p, layer.bias, 5);
  }
  const bool integer = is_integer_function(layer.activation.function);
  if (integer) make_integer(p, layer);
  weights = Source(p, memory, layer.w_desc);
  if (has_bias) bias = Source(p, memory, layer.bias);
  if (integer && out_model.count >= 1 && out_model.count <= 8192) {
    BNNSNDArrayDescriptor values = vector_of(out_model.count);
    values.data_type = BNNSDataTypeInt32;
    for (size_t& t : constants)
      t = memory.add(model_of(values), {}, p.one_in(60) ? p.between(1, 3) : 0);
  }

  const Batch batch = batch_of(p);
  in_batch = with_stride(p, batch, model_of(layer.i_desc));
  out_batch = with_stride(p, batch, model_of(layer.o_desc));
  in_delta = delta_of(p, layer.i_desc);
  out_delta = delta_of(p, layer.o_desc);
  weights_delta = delta_of(p, layer.w_desc);
  bias_delta = delta_of(p, layer.bias);
  in_delta_batch = with_stride(p, batch, model_of(in_delta));
  out_delta_batch = with_stride(p, batch, model_of(out_delta));
  std::vector<size_t> earlier;
  const auto put = [&](size_t& t, const Model& m, const Batch& b) {
    t = place(p, memory, m, b, earlier);
    if (t != kNowhere) earlier.push_back(t);
  };
  // Gradients may lie over the client's weights.
  if (client && weights.data != kNowhere) earlier.push_back(weights.data);
  put(in, model_of(layer.i_desc), in_batch);
  put(out, model_of(layer.o_desc), out_batch);
  put(dy, model_of(out_delta), out_delta_batch);
  put(dx, model_of(in_delta), in_delta_batch);
  put(dw, model_of(weights_delta), {});
  put(db, model_of(bias_delta), {});
  memory.allocate(p.number<uint16_t>());
}

void Case::connect(Provider& p) {
  weights.set(p, memory, layer.w_desc);
  bias.set(p, memory, layer.bias);
  layer.activation.iscale_per_channel = static_cast<int32_t*>(address(memory, constants[0]));
  layer.activation.ioffset_per_channel = static_cast<int32_t*>(address(memory, constants[1]));
  layer.activation.ishift_per_channel = static_cast<int32_t*>(address(memory, constants[2]));
  if (constants[2] != kNowhere) {
    for (size_t c = 0; c < memory.tensor(constants[2]).offsets.size(); ++c) {
      const auto shift = static_cast<int32_t>(c * 7 % 64);
      std::memcpy(memory.data(constants[2]) + c * sizeof shift, &shift, sizeof shift);
    }
    memory.accept();
  }
  in_delta.data = address(memory, dx);
  out_delta.data = address(memory, dy);
  weights_delta.data = address(memory, dw);
  bias_delta.data = address(memory, db);
  show(layer.activation);
  show("flags", filter.flags);
  show("i_desc", layer.i_desc);
  show("o_desc", layer.o_desc);
  show("w_desc", layer.w_desc);
  show("bias", layer.bias);
  show("in_delta", in_delta);
  show("out_delta", out_delta);
  show("weights_delta", weights_delta);
  show("bias_delta", bias_delta);
  show("batch", in_batch.size);
  show("in_stride", in_batch.stride);
  show("out_stride", out_batch.stride);
}

void Case::check_creation() const {
  const char* function = "BNNSFilterCreateLayerFullyConnected";
  const Model in_model = model_of(layer.i_desc), out_model = model_of(layer.o_desc);
  expect(in_model.legal && out_model.legal, function, "accepts an i_desc or o_desc it must refuse");
  expect(model_of(layer.w_desc).legal, function, "accepts a w_desc that must be refused");
  expect(layer.bias.data == nullptr || model_of(layer.bias).legal, function,
         "accepts a bias that must be refused");
  expect(!overlaps_itself(out_model), function, "accepts an o_desc with overlapping elements");
  expect(model_of(layer.w_desc).count == in_model.count * out_model.count, function,
         "accepts weights of another size");
}

void forward(Provider& p, Case& c, const Pair& filters) {
  const bool possible = c.in != kNowhere && c.out != kNowhere;
  const void* in = p.one_in(60) || !possible ? nullptr : c.memory.data(c.in);
  void* out = p.one_in(60) || !possible ? nullptr : c.memory.data(c.out);
  Promise promise;
  promise.written = c.in_batch.size == 0 ? 0 : mask_of(c.out);
  promise.overwritten = promise.written;
  promise.used = mask_of(c.in) | mask_of(c.out) | c.parameters();
  promise.apart = mask_of(c.in) | c.parameters();
  promise.repeatable = !is_random(c.layer.activation.function);
  run("BNNSFilterApplyBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride, out,
                                c.out_batch.stride) == 0;
  });
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const bool identity = c.layer.activation.function == BNNSActivationFunctionIdentity;
  const bool give_in = c.in != kNowhere && !p.one_in(20);
  const bool give_out = c.out != kNowhere && !p.one_in(20);
  const bool want_x = c.dx != kNowhere && !p.one_in(4);
  const bool want_w = c.dw != kNowhere && !p.one_in(4);
  const bool want_b = c.db != kNowhere && c.bias.data != kNowhere && !p.one_in(4);
  const bool no_dy = p.one_in(60);
  BNNSNDArrayDescriptor no_data = c.weights_delta;
  no_data.data = nullptr;

  Promise promise;
  if (want_x) promise.written |= mask_of(c.dx);
  if (want_w) promise.written |= mask_of(c.dw);
  if (want_b) promise.written |= mask_of(c.db);
  promise.used = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0) | (give_out ? mask_of(c.out) : 0) |
                 promise.written | c.parameters();
  if (c.in_batch.size == 0) promise.written = 0;
  const auto overwrite = [&](const BNNSNDArrayDescriptor& d, size_t t) {
    if (d.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask_of(t);
  };
  overwrite(c.in_delta, c.dx);
  overwrite(c.weights_delta, c.dw);
  overwrite(c.bias_delta, c.db);
  promise.overwritten &= promise.written;
  promise.apart = mask_of(c.dy);
  if (want_w) promise.apart |= mask_of(c.in);
  if (!identity) promise.apart |= mask_of(c.out);
  if (want_x && c.client) promise.apart |= mask_of(c.weights.data);
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(
               filters[k], c.in_batch.size, give_in ? c.memory.data(c.in) : nullptr,
               c.in_batch.stride, want_x ? &c.in_delta : nullptr, c.in_delta_batch.stride,
               give_out ? c.memory.data(c.out) : nullptr, c.out_batch.stride,
               no_dy ? nullptr : &c.out_delta, c.out_delta_batch.stride,
               want_w ? &c.weights_delta : &no_data, want_b ? &c.bias_delta : nullptr) == 0;
  });
}

void others(Provider& p, const Pair& filters) {
  if (p.one_in(4)) {
    const Watch watch("BNNSGetPointer");
    watch.done(BNNSGetPointer(filters[0], BNNSPointerSpecifierAlpha).data != nullptr);
    return;
  }
  const Watch watch("OpenBNNSFilterReserve");
  watch.done(OpenBNNSFilterReserve(filters[0], p.extent(), p.below(6)) == 0);
}

void one_case(Provider& p) {
  Case c(p);
  c.connect(p);
  const Pair filters("BNNSFilterCreateLayerFullyConnected", p, c.filter,
                     [&](const BNNSFilterParameters* f) {
                       return BNNSFilterCreateLayerFullyConnected(&c.layer, f);
                     });
  c.memory.expect_untouched("BNNSFilterCreateLayerFullyConnected");
  if (!filters) return;
  c.check_creation();
  const size_t calls = p.between(1, 4);
  for (size_t i = 0; i < calls; ++i) {
    switch (p.below(8)) {
      case 0:
      case 1:
      case 2:
        forward(p, c, filters);
        break;
      case 3:
      case 4:
      case 5:
      case 6:
        backward(p, c, filters);
        break;
      default:
        others(p, filters);
        break;
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

// Activation filters: creation from any descriptors, forward, backward with every choice of
// gradients, trainable slopes through BNNSGetPointer, and the direct call without a filter.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

struct Case {
  explicit Case(Provider& p);

  void one_per_row(Provider& p);
  // Fills the pointers that exist only after allocation.
  void connect(Provider& p);
  void check_creation() const;
  Promise forward_promise() const;

  BNNSLayerParametersActivation layer = {};
  Memory memory;
  Model in_model, out_model;
  Batch in_batch, out_batch;
  size_t in = kNowhere, out = kNowhere;
  Source in_table;
  size_t constants[3] = {kNowhere, kNowhere, kNowhere};  // per channel

  BNNSNDArrayDescriptor in_delta = {}, out_delta = {}, slope_delta = {};
  Batch in_delta_batch, out_delta_batch;
  size_t dx = kNowhere, dy = kNowhere, dalpha = kNowhere;
};

// The output that GumbelMax fills with indices.
void Case::one_per_row(Provider& p) {
  const BNNSDataType type = p.one_in(2) ? integer_type(p) : layer.o_desc.data_type;
  layer.o_desc = layer.i_desc;
  layer.o_desc.data_type = type;
  const uint32_t flags = layer.axis_flags == 0 ? 1 : layer.axis_flags;
  for (size_t k = 0; k < 8; ++k) {
    if ((flags >> k & 1) != 0) layer.o_desc.size[k] = 1;
  }
  choose_strides(p, layer.o_desc);
}

size_t channels_of(const BNNSNDArrayDescriptor& d) {
  return d.layout == BNNSDataLayoutImageCHW ? d.size[2] : d.size[0];
}

Case::Case(Provider& p) {
  layer.activation = activation(p);
  const bool per_channel =
      layer.activation.function == BNNSActivationFunctionPReLUPerChannel ||
      layer.activation.function == BNNSActivationFunctionIntegerLinearSaturatePerChannel;
  std::optional<BNNSDataLayout> layout;
  if (per_channel && !p.one_in(6)) layout = BNNSDataLayoutImageCHW;
  layer.i_desc = descriptor(p, 5, layout);
  layer.o_desc = like(p, layer.i_desc);
  if (p.one_in(6)) choose_type(p, layer.o_desc, 1);
  if (is_integer_function(layer.activation.function) && !p.one_in(8)) {
    layer.i_desc.data_type = integer_type(p);
    layer.o_desc.data_type = integer_type(p);
  }
  const size_t rank = rank_of(layer.i_desc.layout);
  layer.axis_flags = p.one_in(3) ? uint32_t{1} << p.below((rank & 15) + 2) : 0;
  if (p.one_in(8)) layer.axis_flags = p.byte();
  if (p.one_in(60)) layer.axis_flags = p.number<uint32_t>();
  if (layer.activation.function == BNNSActivationFunctionGumbelMax && p.one_in(2)) one_per_row(p);
  in_model = model_of(layer.i_desc);
  out_model = model_of(layer.o_desc);
  const Batch batch = batch_of(p);
  in_batch = with_stride(p, batch, in_model);
  out_batch = with_stride(p, batch, out_model);
  in = place(p, memory, in_model, in_batch, {});
  out = place(p, memory, out_model, out_batch,
              in == kNowhere ? std::vector<size_t>{} : std::vector<size_t>{in});
  if (is_indexed(layer.i_desc.data_type)) in_table = Source(p, memory, layer.i_desc);

  in_delta = delta_of(p, layer.i_desc);
  out_delta = delta_of(p, layer.o_desc);
  slope_delta =
      delta_of(p, vector_of(layer.activation.function == BNNSActivationFunctionPReLUPerChannel
                                ? channels_of(layer.i_desc)
                                : 1));
  in_delta_batch = with_stride(p, batch, model_of(in_delta));
  out_delta_batch = with_stride(p, batch, model_of(out_delta));
  std::vector<size_t> earlier;
  for (size_t t : {in, out}) {
    if (t != kNowhere) earlier.push_back(t);
  }
  dy = place(p, memory, model_of(out_delta), out_delta_batch, earlier);
  if (dy != kNowhere) earlier.push_back(dy);
  dx = place(p, memory, model_of(in_delta), in_delta_batch, earlier);
  if (dx != kNowhere) earlier.push_back(dx);
  dalpha = place(p, memory, model_of(slope_delta), {}, earlier);

  const size_t channels = channels_of(layer.i_desc);
  if (layer.activation.function == BNNSActivationFunctionIntegerLinearSaturatePerChannel &&
      channels >= 1 && channels <= 8192) {
    BNNSNDArrayDescriptor values = vector_of(channels);
    values.data_type = BNNSDataTypeInt32;
    for (size_t& t : constants)
      t = memory.add(model_of(values), {}, p.one_in(30) ? p.between(1, 3) : 0);
  }
  memory.allocate(p.number<uint16_t>());
}

void Case::connect(Provider& p) {
  const int32_t** arrays[3] = {&layer.activation.iscale_per_channel,
                               &layer.activation.ioffset_per_channel,
                               &layer.activation.ishift_per_channel};
  for (size_t a = 0; a < 3; ++a) {
    if (!p.one_in(30)) *arrays[a] = reinterpret_cast<int32_t*>(address(memory, constants[a]));
  }
  // Shifts are checked value by value; random bits would never pass.
  if (constants[2] != kNowhere) {
    const size_t count = memory.tensor(constants[2]).offsets.size();
    for (size_t c = 0; c < count; ++c) {
      const int32_t shift = p.one_in(40) ? p.number<int32_t>() : static_cast<int32_t>(p.below(64));
      std::memcpy(memory.data(constants[2]) + c * sizeof shift, &shift, sizeof shift);
    }
    memory.accept();
  }
  layer.i_desc.table_data = address(memory, in_table.table);
  in_delta.data = address(memory, dx);
  out_delta.data = address(memory, dy);
  slope_delta.data = address(memory, dalpha);
  show(layer.activation);
  show("axis_flags", layer.axis_flags);
  show("i_desc", layer.i_desc);
  show("o_desc", layer.o_desc);
  show("in_delta", in_delta);
  show("out_delta", out_delta);
  show("slope", slope_delta);
  show("batch", in_batch.size);
  show("in_stride", in_batch.stride);
  show("out_stride", out_batch.stride);
}

void Case::check_creation() const {
  const char* function = "BNNSFilterCreateLayerActivation";
  expect(in_model.legal, function, "accepts an i_desc that must be refused");
  expect(out_model.legal, function, "accepts an o_desc that must be refused");
  expect(!in_model.opaque && !out_model.opaque, function, "accepts an opaque layout");
  expect(!overlaps_itself(out_model), function, "accepts an o_desc with overlapping elements");
  const bool gives_index = layer.activation.function == BNNSActivationFunctionGumbelMax &&
                           in_model.count % out_model.count == 0;
  expect(in_model.count == out_model.count || gives_index, function,
         "accepts tensors of differing counts");
}

Promise Case::forward_promise() const {
  Promise promise;
  promise.used = mask_of(in) | mask_of(out) | in_table.mask();
  for (size_t t : constants) promise.used |= mask_of(t);
  promise.written = in_batch.size == 0 ? 0 : mask_of(out);
  promise.overwritten = promise.written;
  promise.apart = mask_of(in);
  promise.in_place = true;
  promise.repeatable = !is_random(layer.activation.function);
  return promise;
}

void forward(Provider& p, Case& c, const Pair& filters) {
  // Without memory of the size the strides ask for, only a refusal can be tested.
  const bool possible = c.in != kNowhere && c.out != kNowhere;
  const void* in = p.one_in(40) || !possible ? nullptr : c.memory.data(c.in);
  void* out = p.one_in(40) || !possible ? nullptr : c.memory.data(c.out);
  if (c.in_batch.size == 1 && p.one_in(2)) {
    run("BNNSFilterApply", p, c.memory, c.forward_promise(),
        [&](size_t k) { return BNNSFilterApply(filters[k], in, out) == 0; });
    return;
  }
  run("BNNSFilterApplyBatch", p, c.memory, c.forward_promise(), [&](size_t k) {
    return BNNSFilterApplyBatch(filters[k], c.in_batch.size, in, c.in_batch.stride, out,
                                c.out_batch.stride) == 0;
  });
}

void backward(Provider& p, Case& c, const Pair& filters) {
  const bool give_in = c.in != kNowhere && !p.one_in(3);
  const bool give_out = c.out != kNowhere && !p.one_in(3);
  const bool want_x = c.dx != kNowhere && !p.one_in(6);
  const bool want_alpha = c.dalpha != kNowhere && p.one_in(4);
  BNNSNDArrayDescriptor no_data = c.in_delta;
  no_data.data = nullptr;
  BNNSNDArrayDescriptor* in_delta = want_x ? &c.in_delta : p.one_in(2) ? &no_data : nullptr;
  BNNSNDArrayDescriptor* bias_delta = p.one_in(40) ? &c.slope_delta : nullptr;
  const BNNSNDArrayDescriptor* out_delta = p.one_in(60) ? nullptr : &c.out_delta;

  Promise promise;
  promise.used = mask_of(c.dy) | (give_in ? mask_of(c.in) : 0) | (give_out ? mask_of(c.out) : 0);
  if (want_x) promise.written |= mask_of(c.dx);
  if (want_alpha) promise.written |= mask_of(c.dalpha);
  promise.used |= promise.written;
  if (c.in_batch.size == 0) promise.written = 0;
  if (c.in_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask_of(c.dx);
  if (c.slope_delta.flags == BNNSNDArrayFlagBackpropSet) promise.overwritten |= mask_of(c.dalpha);
  promise.overwritten &= promise.written;
  promise.apart = mask_of(c.dy);
  promise.in_place = true;
  run("BNNSFilterApplyBackwardBatch", p, c.memory, promise, [&](size_t k) {
    return BNNSFilterApplyBackwardBatch(
               filters[k], c.in_batch.size, give_in ? c.memory.data(c.in) : nullptr,
               c.in_batch.stride, in_delta, c.in_delta_batch.stride,
               give_out ? c.memory.data(c.out) : nullptr, c.out_batch.stride, out_delta,
               c.out_delta_batch.stride, want_alpha ? &c.slope_delta : nullptr, bias_delta) == 0;
  });
}

// A trainable parameter is the client's to change, to any value.
void change_parameter(Provider& p, const Pair& filters) {
  static constexpr BNNSPointerSpecifier kTargets[] = {BNNSPointerSpecifierAlpha,
                                                      BNNSPointerSpecifierBeta};
  const BNNSPointerSpecifier target = p.constant(kTargets);
  const float value = p.scalar();
  for (size_t k = 0; k < 2; ++k) {
    const Watch watch("BNNSGetPointer");
    const BNNSNDArrayDescriptor d = BNNSGetPointer(filters[k], target);
    watch.done(d.data != nullptr);
    if (d.data == nullptr) continue;
    expect(model_of(d).small() && d.data_type == BNNSDataTypeFloat32, "BNNSGetPointer",
           "gives a descriptor that is none");
    auto* values = static_cast<float*>(d.data);
    for (size_t i = 0; i < d.size[0]; ++i) values[i] = value;
  }
}

// An activation filter keeps no scratch, so that any number of callers is cheap to try.
void reserve_any(Provider& p, const Pair& filters) {
  const size_t batch = p.one_in(4) ? p.odd_size() : p.extent();
  const size_t callers = p.one_in(4) ? p.odd_size() : p.between(1, 4);
  const Watch watch("OpenBNNSFilterReserve");
  watch.done(OpenBNNSFilterReserve(filters[0], batch, callers) == 0);
}

void direct(Provider& p, Case& c, const BNNSFilterParameters& parameters) {
  BNNSLayerParametersActivation layer = c.layer;
  if (c.in != kNowhere && c.out != kNowhere) {
    if (!p.one_in(40)) layer.i_desc.data = c.memory.data(c.in);
    if (!p.one_in(40)) layer.o_desc.data = c.memory.data(c.out);
  }
  const BNNSFilterParameters twin = twin_of(parameters);
  const bool success =
      run("BNNSDirectApplyActivationBatch", p, c.memory, c.forward_promise(), [&](size_t k) {
        return BNNSDirectApplyActivationBatch(&layer, k == 0 ? &parameters : &twin, c.in_batch.size,
                                              c.in_batch.stride, c.out_batch.stride) == 0;
      });
  if (success) c.check_creation();
  Hooks::expect_no_leak();
}

void one_case(Provider& p) {
  const BNNSFilterParameters parameters = filter_parameters(p);
  Case c(p);
  c.connect(p);
  if (p.one_in(5)) return direct(p, c, parameters);
  const BNNSLayerParametersActivation* layer = p.one_in(100) ? nullptr : &c.layer;
  const Pair filters(
      "BNNSFilterCreateLayerActivation", p, parameters,
      [&](const BNNSFilterParameters* f) { return BNNSFilterCreateLayerActivation(layer, f); });
  c.memory.expect_untouched("BNNSFilterCreateLayerActivation");
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
        backward(p, c, filters);
        break;
      case 6:
        change_parameter(p, filters);
        break;
      default:
        reserve_any(p, filters);
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

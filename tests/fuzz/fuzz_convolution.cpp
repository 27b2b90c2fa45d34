// Convolution and transposed convolution filters: random geometry, any layout of weights, copied or
// the client's, fused activations, forward, and backward with every choice of gradients.
#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSDataLayout kWeights[] = {
    BNNSDataLayoutConvolutionWeightsOIHW, BNNSDataLayoutConvolutionWeightsOIHW,
    BNNSDataLayoutConvolutionWeightsOIHrWr, BNNSDataLayoutConvolutionWeightsIOHrWr,
    BNNSDataLayoutConvolutionWeightsOIHW_Pack32};

// One axis of the window, and the extent of the large image that fits it.
struct Axis {
  explicit Axis(Provider& p)
      : small(p.between(1, 12)),
        kernel(p.between(1, 4)),
        stride(p.one_in(3) ? p.between(0, 4) : 1),
        dilation(p.one_in(4) ? p.between(0, 3) : 1),
        before(p.below(4)),
        after(p.below(4)) {
    const size_t step = stride == 0 ? 1 : stride, far = dilation == 0 ? 1 : dilation;
    const size_t needed = step * (small - 1) + (kernel - 1) * far + 1;
    large = needed > before + after ? needed - before - after : 1;
    if (p.one_in(6)) large += p.below(3);
    if (p.one_in(40)) large -= 1;
    if (p.one_in(60)) stride = p.odd_size();
    if (p.one_in(60)) dilation = p.odd_size();
    if (p.one_in(60)) before = p.odd_size();
  }
  size_t large = 1, small, kernel, stride, dilation, before, after;
};

BNNSNDArrayDescriptor image_of(Provider& p, size_t width, size_t height, size_t channels) {
  BNNSNDArrayDescriptor d = {};
  d.layout = p.one_in(60) ? p.constant(kLayouts) : BNNSDataLayoutImageCHW;
  d.size[0] = width;
  d.size[1] = height;
  d.size[2] = channels;
  if (p.one_in(60)) d.size[p.below(3)] = p.odd_size();
  if (p.one_in(3)) choose_strides(p, d);
  choose_type(p, d, 8);
  return d;
}

struct Case {
  explicit Case(Provider& p);

  void choose_layer(Provider& p);
  void connect(Provider& p);
  void check_creation() const;
  uint32_t parameters() const { return client ? weights.mask() | bias.mask() : 0; }
  const char* creator() const {
    return transposed ? "BNNSFilterCreateLayerTransposedConvolution"
                      : "BNNSFilterCreateLayerConvolution";
  }

  BNNSFilterParameters filter;
  bool client;
  BNNSLayerParametersConvolution layer = {};
  bool transposed;
  Memory memory;
  Batch in_batch, out_batch, in_delta_batch, out_delta_batch;
  size_t in = kNowhere, out = kNowhere;
  Source weights, bias;
  BNNSNDArrayDescriptor in_delta = {}, out_delta = {}, weights_delta = {}, bias_delta = {};
  size_t dx = kNowhere, dy = kNowhere, dw = kNowhere, db = kNowhere;
};

void Case::choose_layer(Provider& p) {
  transposed = p.one_in(3);
  layer.activation = activation(p);
  if (!p.one_in(2)) layer.activation.function = BNNSActivationFunctionIdentity;
  const Axis x(p), y(p);
  const size_t groups = p.one_in(3) ? p.between(1, 4) : 1;
  const size_t in = p.between(1, 6), out = p.between(1, p.one_in(8) ? 40 : 6);  // of a group
  const auto image = [&](bool large, size_t channels) {
    return image_of(p, large ? x.large : x.small, large ? y.large : y.small, channels);
  };
  layer.i_desc = image(!transposed, groups * in);
  layer.o_desc = image(transposed, groups * out);
  layer.w_desc.layout = p.one_in(60) ? p.constant(kLayouts) : p.pick(kWeights);
  const bool swapped = layer.w_desc.layout == BNNSDataLayoutConvolutionWeightsIOHrWr;
  layer.w_desc.size[0] = x.kernel;
  layer.w_desc.size[1] = y.kernel;
  layer.w_desc.size[2] = swapped ? groups * out : in;
  layer.w_desc.size[3] = swapped ? in : groups * out;
  if (p.one_in(60)) layer.w_desc.size[p.below(4)] = p.odd_size();
  if (p.one_in(4)) choose_strides(p, layer.w_desc);
  choose_type(p, layer.w_desc, 6);
  if (!p.one_in(3)) {
    layer.bias = p.one_in(6) ? like(p, vector_of(groups * out)) : vector_of(groups * out);
    choose_type(p, layer.bias, 6);
  }
  if (!transposed && is_integer_function(layer.activation.function) && !p.one_in(8)) {
    layer.i_desc.data_type = integer_type(p);
    layer.o_desc.data_type = integer_type(p);
    layer.w_desc.data_type = integer_type(p);
    if (layer.bias.size[0] != 0) layer.bias.data_type = integer_type(p);
  }
  layer.groups = p.one_in(40) ? p.odd_size() : groups;
  layer.x_stride = x.stride;
  layer.y_stride = y.stride;
  layer.x_dilation_stride = x.dilation;
  layer.y_dilation_stride = y.dilation;
  if (x.before == x.after && y.before == y.after) {
    layer.x_padding = x.before;
    layer.y_padding = y.before;
  } else {
    layer.pad[0] = x.before;
    layer.pad[1] = x.after;
    layer.pad[2] = y.before;
    layer.pad[3] = y.after;
  }
}

Case::Case(Provider& p) : filter(filter_parameters(p)) {
  client = (filter.flags & BNNSFlagsUseClientPtr) != 0;
  choose_layer(p);
  weights = Source(p, memory, layer.w_desc);
  if (layer.bias.size[0] != 0) bias = Source(p, memory, layer.bias);

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
  const Model in_model = model_of(layer.i_desc), out_model = model_of(layer.o_desc);
  expect(in_model.legal && out_model.legal, creator(),
         "accepts an i_desc or o_desc it must refuse");
  expect(model_of(layer.w_desc).legal, creator(), "accepts a w_desc that must be refused");
  expect(layer.bias.data == nullptr || model_of(layer.bias).legal, creator(),
         "accepts a bias that must be refused");
  expect(!overlaps_itself(out_model), creator(), "accepts an o_desc with overlapping elements");
  const size_t groups = layer.groups == 0 ? 1 : layer.groups;
  expect(model_of(layer.w_desc).count == layer.w_desc.size[0] * layer.w_desc.size[1] *
                                             layer.i_desc.size[2] / groups * layer.o_desc.size[2],
         creator(), "accepts weights of another size");
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
  const Pair filters(c.creator(), p, c.filter, [&](const BNNSFilterParameters* f) {
    return c.transposed ? BNNSFilterCreateLayerTransposedConvolution(&c.layer, f)
                        : BNNSFilterCreateLayerConvolution(&c.layer, f);
  });
  c.memory.expect_untouched(c.creator());
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

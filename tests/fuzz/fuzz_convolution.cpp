// Convolution and transposed convolution filters: random geometry, any layout of weights, copied or
// the client's, fused activations, forward, and backward with every choice of gradients.
#include "weighted.h"

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

struct Case : Weighted<BNNSLayerParametersConvolution> {
  explicit Case(Provider& p);

  void choose_layer(Provider& p);
  void check_creation() const;
  const char* creator() const {
    return transposed ? "BNNSFilterCreateLayerTransposedConvolution"
                      : "BNNSFilterCreateLayerConvolution";
  }

  bool transposed;
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

Case::Case(Provider& p) : Weighted(p) {
  choose_layer(p);
  weights = Source(p, memory, layer.w_desc);
  if (layer.bias.size[0] != 0) bias = Source(p, memory, layer.bias);
  place_tensors(p);
}

void Case::check_creation() const {
  check_descriptors(creator());
  const size_t groups = layer.groups == 0 ? 1 : layer.groups;
  expect(model_of(layer.w_desc).count == layer.w_desc.size[0] * layer.w_desc.size[1] *
                                             layer.i_desc.size[2] / groups * layer.o_desc.size[2],
         creator(), "accepts weights of another size");
}

void one_case(Provider& p) {
  Case c(p);
  c.connect_tensors(p);
  const Pair filters(c.creator(), p, c.filter, [&](const BNNSFilterParameters* f) {
    return c.transposed ? BNNSFilterCreateLayerTransposedConvolution(&c.layer, f)
                        : BNNSFilterCreateLayerConvolution(&c.layer, f);
  });
  c.memory.expect_untouched(c.creator());
  if (!filters) return;
  c.check_creation();
  some_calls(p, c, filters);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}

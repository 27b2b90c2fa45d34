#include "layers/convolution_read.h"

#include <algorithm>
#include <cstdint>

#include "core/checked.h"
#include "layers/activation.h"

namespace bnns::impl {
namespace {

constexpr size_t kPack = 32;
// The largest kernel, stride, dilation or padding.
constexpr size_t kLargest = (size_t{1} << 31) - 1;

// The logical coordinates of weights.
enum : size_t { kKernelWidth, kKernelHeight, kInChannels, kOutChannels };

bool is_weight_layout(const LayoutInfo& layout) {
  return layout.layout == BNNSDataLayoutConvolutionWeightsOIHW ||
         layout.layout == BNNSDataLayoutConvolutionWeightsOIHrWr ||
         layout.layout == BNNSDataLayoutConvolutionWeightsIOHrWr || layout.packed32;
}

void check_image(const Descriptor& d, const char* field, bool transposed) {
  require(d.layout->layout == BNNSDataLayoutImageCHW, field, ".layout is ", d.layout->name,
          "; it must be ImageCHW");
  const bool number = d.type->kind == TypeClass::kFloat ||
                      (d.type->is_integer() && d.type->bits >= 8 && d.type->bits <= 32);
  require(number, field, ".data_type is ", d.type->name,
          "; a convolution takes floating-point types and integers of 8 to 32 bits");
  if (transposed && !d.view.is_float()) {
    fail_unsupported(field, ".data_type is ", d.type->name,
                     "; a transposed convolution takes Float32 only");
  }
}

size_t at_least_one(size_t value) {
  return std::max<size_t>(value, 1);
}

void require_moderate(size_t value, const char* field) {
  require(value <= kLargest, field, " is ", value, "; it must be at most ", kLargest);
}

// Checks the channels of input, output and weights against each other and against the groups.
void check_channels(const ConvolutionParameters& c, size_t groups) {
  const size_t in = c.in.size[2], out = c.out.size[2];
  const Descriptor& w = c.weights;
  require(in % groups == 0, "i_desc has ", in, " channels, groups is ", groups,
          "; groups must divide the channels");
  require(out % groups == 0, "o_desc has ", out, " channels, groups is ", groups,
          "; groups must divide the channels");
  if (groups > 1) {
    const BNNSDataLayout layout = w.layout->layout;
    require(layout == BNNSDataLayoutConvolutionWeightsOIHW ||
                layout == BNNSDataLayoutConvolutionWeightsOIHrWr,
            "w_desc.layout is ", w.layout->name, " with ", groups,
            " groups; grouped weights are ConvolutionWeightsOIHW or ConvolutionWeightsOIHrWr");
  }
  require(w.logical_extent(kInChannels) == in / groups, "w_desc has ",
          w.logical_extent(kInChannels), " input channels, i_desc has ", in, " in ", groups,
          groups == 1 ? " group" : " groups", "; w_desc must have ", in / groups);
  require(w.logical_extent(kOutChannels) == out, "w_desc has ", w.logical_extent(kOutChannels),
          " output channels, o_desc has ", out, "; they must be equal");
}

void check_weights(const ConvolutionParameters& c) {
  const Descriptor& w = c.weights;
  require(is_weight_layout(*w.layout), "w_desc.layout is ", w.layout->name,
          "; it must be a layout of convolution weights");
  require(w.type->kind != TypeClass::kBoolean && w.type->bits <= 32, "w_desc.data_type is ",
          w.type->name, "; weights are floating-point, indexed or integers of at most 32 bits");
  require_moderate(w.logical_extent(kKernelWidth), "w_desc.size[0]");
  require_moderate(w.logical_extent(kKernelHeight), "w_desc.size[1]");
  require_data(w.view.data, w.view.type, "w_desc.data");
  if (w.layout->packed32) {
    require(reinterpret_cast<uintptr_t>(w.view.data) % 128 == 0, "w_desc.data is ",
            static_cast<const void*>(w.view.data), "; packed weights must be aligned to 128 bytes");
  }
}

void check_bias(const ConvolutionParameters& c) {
  if (!c.has_bias) return;
  const Descriptor& b = c.bias;
  require_plain_layout(b, "bias");
  require(b.type->kind != TypeClass::kBoolean && b.type->bits <= 32, "bias.data_type is ",
          b.type->name, "; a bias is floating-point, indexed or an integer of at most 32 bits");
  require(b.view.count == c.out.size[2], "bias has ", b.view.count, " elements, o_desc has ",
          c.out.size[2], " channels; they must be equal");
  require_data(b.view.data, b.view.type, "bias.data");
}

void check_activation(const ConvolutionParameters& c) {
  require(c.activation->kind != ActivationClass::kChannel, "activation.function is ",
          c.activation->name, "; it exists only as an activation filter of its own");
  if (!c.integer()) return;
  const bool integers = c.in.type->is_integer() && c.out.type->is_integer() &&
                        c.weights.type->is_integer() && (!c.has_bias || c.bias.type->is_integer());
  require(integers, "activation.function is ", c.activation->name, "; i_desc (", c.in.type->name,
          "), o_desc (", c.out.type->name, "), w_desc (", c.weights.type->name,
          ") and bias must have integer types");
}

struct Padding {
  size_t before, after;
};

// The padding is x_padding or y_padding on both sides; pad[] is used only if both of them are 0.
Padding read_padding(const BNNSLayerParametersConvolution& p, size_t symmetric,
                     const char* symmetric_field, size_t first, const char* const (&fields)[2]) {
  require_moderate(symmetric, symmetric_field);
  if (p.x_padding > 0 || p.y_padding > 0) return {symmetric, symmetric};
  require_moderate(p.pad[first], fields[0]);
  require_moderate(p.pad[first + 1], fields[1]);
  return {p.pad[first], p.pad[first + 1]};
}

// Requires large + padding >= stride * (small - 1) + (taps - 1) * dilation + 1. Rows and columns of
// the large image beyond that are allowed; no window reaches them.
void check_sizes(const ConvolutionAxis& a, const Padding& pad, bool transposed, const char* size) {
  const char *large = transposed ? "o_desc" : "i_desc", *small = transposed ? "i_desc" : "o_desc";
  const size_t window = checked_add(checked_mul(a.taps - 1, a.dilation, "the window"), 1, size);
  const size_t steps = checked_mul(a.stride, a.small - 1, "the outputs");
  const size_t needed = checked_add(steps, window, size);
  const size_t given = checked_add(a.large, pad.before + pad.after, size);
  require(given >= needed, large, " has ", size, " ", a.large, " and padding ", pad.before, " + ",
          pad.after, ", which is ", given, "; ", small, " has ", size, " ", a.small,
          ", which with kernel ", a.taps, ", stride ", a.stride, " and dilation ", a.dilation,
          " needs ", needed);
  // The op computes positions in signed arithmetic, which must not overflow.
  require(given <= SIZE_MAX / 4, large, " has ", size, " ", a.large, " with padding; too large");
}

ConvolutionGeometry read_geometry(const BNNSLayerParametersConvolution& p,
                                  const ConvolutionParameters& c) {
  const size_t groups = at_least_one(p.groups);
  check_channels(c, groups);
  const Descriptor &large = c.transposed ? c.out : c.in, &small = c.transposed ? c.in : c.out;
  require_moderate(p.x_stride, "x_stride");
  require_moderate(p.y_stride, "y_stride");
  require_moderate(p.x_dilation_stride, "x_dilation_stride");
  require_moderate(p.y_dilation_stride, "y_dilation_stride");
  const Padding x_pad = read_padding(p, p.x_padding, "x_padding", 0, {"pad[0]", "pad[1]"});
  const Padding y_pad = read_padding(p, p.y_padding, "y_padding", 2, {"pad[2]", "pad[3]"});
  const ConvolutionGeometry g = {.groups = groups,
                                 .large_channels = large.size[2] / groups,
                                 .small_channels = small.size[2] / groups,
                                 .y = {.large = large.size[1],
                                       .small = small.size[1],
                                       .taps = c.weights.logical_extent(kKernelHeight),
                                       .stride = at_least_one(p.y_stride),
                                       .dilation = at_least_one(p.y_dilation_stride),
                                       .before = y_pad.before},
                                 .x = {.large = large.size[0],
                                       .small = small.size[0],
                                       .taps = c.weights.logical_extent(kKernelWidth),
                                       .stride = at_least_one(p.x_stride),
                                       .dilation = at_least_one(p.x_dilation_stride),
                                       .before = x_pad.before}};
  check_sizes(g.x, x_pad, c.transposed, "width");
  check_sizes(g.y, y_pad, c.transposed, "height");
  return g;
}

}  // namespace

ConvolutionParameters read_convolution(const BNNSLayerParametersConvolution* p, bool transposed) {
  require(p != nullptr, "layer_params is NULL");
  ConvolutionParameters c = {.activation = &read_activation(p->activation),
                             .in = read_descriptor(p->i_desc, "i_desc", Use::kInput),
                             .out = read_descriptor(p->o_desc, "o_desc", Use::kOutput),
                             .weights = read_descriptor(p->w_desc, "w_desc", Use::kInput),
                             .bias = {},
                             .has_bias = p->bias.data != nullptr,
                             .transposed = transposed,
                             .geometry = {}};
  if (c.has_bias) c.bias = read_descriptor(p->bias, "bias", Use::kInput);
  check_image(c.in, "i_desc", transposed);
  check_image(c.out, "o_desc", transposed);
  check_weights(c);
  c.geometry = read_geometry(*p, c);
  check_bias(c);
  check_activation(c);
  return c;
}

ConvolutionTensors check_forward(const ForwardArgs& args, const ConvolutionParameters& c,
                                 bool client) {
  Call call(args.batch);
  const Batch in = call.reads(c.in, args.in, args.in_stride, kIn);
  const Batch out = call.writes(c.out, args.out, args.out_stride, kOut);
  if (client) call.reads(range_of(c.weights.view), "w_desc.data");
  if (client && c.has_bias) call.reads(range_of(c.bias.view), "bias.data");
  call.check_overlaps();
  return {in, out};
}

ConvolutionWeights map_weights(const Descriptor& w, bool transposed) {
  const size_t width = w.logical_extent(kKernelWidth), height = w.logical_extent(kKernelHeight);
  if (w.layout->packed32) {
    const size_t plane = kPack * width * height;
    return {.view = w.view,
            .origin = 0,
            .column = kPack,
            .row = static_cast<ptrdiff_t>(kPack * width),
            .in = plane,
            .out = 1,
            .block = kPack,
            .next_block = plane * w.logical_extent(kInChannels),
            .transposed = transposed};
  }
  const auto column = static_cast<ptrdiff_t>(w.logical_stride(kKernelWidth));
  const auto row = static_cast<ptrdiff_t>(w.logical_stride(kKernelHeight));
  const bool rotated = w.layout->rotated;
  const ptrdiff_t end =
      static_cast<ptrdiff_t>(width - 1) * column + static_cast<ptrdiff_t>(height - 1) * row;
  return {.view = w.view,
          .origin = rotated ? end : 0,
          .column = rotated ? -column : column,
          .row = rotated ? -row : row,
          .in = w.logical_stride(kInChannels),
          .out = w.logical_stride(kOutChannels),
          .block = SIZE_MAX,
          .next_block = 0,
          .transposed = transposed};
}

Descriptor read_weights_delta(const BNNSNDArrayDescriptor& given, const char* field,
                              const ConvolutionParameters& c) {
  const Descriptor d = read_descriptor(given, field, Use::kOutput);
  require_delta_flags(given, field);
  bool equal = is_weight_layout(*d.layout);
  for (size_t i = 0; equal && i < 4; ++i)
    equal = d.logical_extent(i) == c.weights.logical_extent(i);
  if (!equal) {
    fail(field, " is ", describe(d), ", but w_desc is ", describe(c.weights),
         "; they must have the same elements");
  }
  require(d.view.is_float(), field, ".data_type is ", d.type->name, "; gradients are Float32");
  require_data(d.view.data, d.view.type, field);
  return d;
}

}  // namespace bnns::impl

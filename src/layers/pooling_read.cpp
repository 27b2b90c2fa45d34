// Reads and checks the parameters of a pooling layer. The input of Max, Average and L2Norm has the
// cells, and the output has the windows; for UnMax it is the other way round.
#include "layers/pooling_read.h"

#include <limits>

#include "core/checked.h"

namespace bnns::impl {
namespace {

// The largest kernel, stride, dilation or padding.
constexpr size_t kMost = std::numeric_limits<int32_t>::max();

struct FunctionInfo {
  const char* name;
  PoolingKind kind;
};

// The functions by their value.
constexpr FunctionInfo kFunctions[] = {
    {"Max", PoolingKind::kMax},
    {"AverageCountIncludePadding", PoolingKind::kAverage},
    {"AverageCountExcludePadding", PoolingKind::kAverageInside},
    {"UnMax", PoolingKind::kUnMax},
    {"L2Norm", PoolingKind::kL2Norm},
};

void check_image(const Descriptor& d, const char* field) {
  require(d.layout->layout == BNNSDataLayoutImageCHW, field, ".layout is ", d.layout->name,
          "; it must be ImageCHW");
  require(d.type->kind == TypeClass::kFloat, field, ".data_type is ", d.type->name,
          "; pooling takes Float32, Float16 and BFloat16");
  const size_t plane = d.size[0] * d.size[1];
  if (plane > kMost) {
    fail_unsupported(field, " is ", describe(d), ", a plane of ", plane,
                     " elements; more than 2^31 - 1 are not supported");
  }
}

void check_bias(const PoolingParameters& p) {
  if (!p.has_bias) return;
  require_plain_layout(p.bias, "bias");
  require(p.bias.type->kind == TypeClass::kFloat, "bias.data_type is ", p.bias.type->name,
          "; it must be a floating-point type");
  require(p.bias.view.count == p.problem.channels, "bias has ", p.bias.view.count,
          " elements, o_desc has ", p.problem.channels, " channels; they must be equal");
  require_data(p.bias.view.data, p.bias.view.type, "bias.data");
}

void check_activation(const ActivationInfo& row) {
  require(row.kind != ActivationClass::kChannel && row.kind != ActivationClass::kInteger,
          "activation.function is ", row.name,
          "; it exists only as an activation filter of its own");
}

// The fields of one axis, with their names for messages.
struct AxisFields {
  size_t cells, windows, kernel, stride, dilation, before, after;
  const char *extent, *k, *s, *d, *pad_before, *pad_after;
};

PoolingAxis read_axis(const AxisFields& f, bool un_max) {
  require(f.kernel > 0, f.k, " is 0; it must be at least 1");
  const auto check = [](size_t value, const char* field) {
    require(value <= kMost, field, " is ", value, "; it must be at most 2^31 - 1");
  };
  check(f.kernel, f.k);
  check(f.stride, f.s);
  check(f.dilation, f.d);
  check(f.before, f.pad_before);
  check(f.after, f.pad_after);
  const PoolingAxis axis = {.cells = f.cells,
                            .windows = f.windows,
                            .taps = f.kernel,
                            .stride = f.stride == 0 ? 1 : f.stride,
                            .dilation = f.dilation == 0 ? 1 : f.dilation,
                            .pad = f.before};
  const size_t padded = axis.cells + f.before + f.after;
  const size_t reach = checked_mul(axis.stride, axis.windows - 1, f.extent);
  require(reach < padded, un_max ? "o_desc has " : "i_desc has ", axis.cells, " and ",
          f.before + f.after, " of padding in ", f.extent, ", but ", axis.windows, " windows of ",
          un_max ? "i_desc" : "o_desc", " at a stride of ", axis.stride, " begin within ", reach,
          " + 1; they must begin inside the padded image");
  return axis;
}

// The number of windows that lie inside the padded image; 1 if none does, as one may overhang.
size_t fitting_windows(const AxisFields& f, const PoolingAxis& axis) {
  const size_t padded = axis.cells + f.before + f.after;
  const size_t span = (axis.taps - 1) * axis.dilation + 1;  // below 2^62
  return span > padded ? 1 : (padded - span) / axis.stride + 1;
}

void read_axes(const BNNSLayerParametersPooling& p, PoolingParameters& result) {
  const bool un_max = result.problem.un_max(), symmetric = p.x_padding > 0 || p.y_padding > 0;
  const Descriptor& cells = un_max ? result.out : result.in;
  const Descriptor& windows = un_max ? result.in : result.out;
  const AxisFields x = {.cells = cells.size[0],
                        .windows = windows.size[0],
                        .kernel = p.k_width,
                        .stride = p.x_stride,
                        .dilation = p.x_dilation_stride,
                        .before = symmetric ? p.x_padding : p.pad[0],
                        .after = symmetric ? p.x_padding : p.pad[1],
                        .extent = "width",
                        .k = "k_width",
                        .s = "x_stride",
                        .d = "x_dilation_stride",
                        .pad_before = symmetric ? "x_padding" : "pad[0]",
                        .pad_after = symmetric ? "x_padding" : "pad[1]"};
  const AxisFields y = {.cells = cells.size[1],
                        .windows = windows.size[1],
                        .kernel = p.k_height,
                        .stride = p.y_stride,
                        .dilation = p.y_dilation_stride,
                        .before = symmetric ? p.y_padding : p.pad[2],
                        .after = symmetric ? p.y_padding : p.pad[3],
                        .extent = "height",
                        .k = "k_height",
                        .s = "y_stride",
                        .d = "y_dilation_stride",
                        .pad_before = symmetric ? "y_padding" : "pad[2]",
                        .pad_after = symmetric ? "y_padding" : "pad[3]"};
  result.problem.x = read_axis(x, un_max);
  result.problem.y = read_axis(y, un_max);
  result.fitting[0] = fitting_windows(x, result.problem.x);
  result.fitting[1] = fitting_windows(y, result.problem.y);
}

}  // namespace

PoolingParameters read_pooling(const BNNSLayerParametersPooling* p) {
  require(p != nullptr, "layer_params is NULL");
  require(static_cast<size_t>(p->pooling_function) < std::size(kFunctions), "pooling_function is ",
          static_cast<uint32_t>(p->pooling_function), "; that is no BNNSPoolingFunction");
  const FunctionInfo& function = kFunctions[p->pooling_function];
  PoolingParameters result = {.name = function.name,
                              .activation = &read_activation(p->activation),
                              .in = read_descriptor(p->i_desc, "i_desc", Use::kInput),
                              .out = read_descriptor(p->o_desc, "o_desc", Use::kOutput),
                              .bias = {},
                              .has_bias = p->bias.data != nullptr,
                              .problem = {},
                              .fitting = {}};
  const Descriptor &in = result.in, &out = result.out;
  if (result.has_bias) result.bias = read_descriptor(p->bias, "bias", Use::kInput);
  check_image(in, "i_desc");
  check_image(out, "o_desc");
  require(in.type == out.type, "i_desc.data_type is ", in.type->name, ", o_desc.data_type is ",
          out.type->name, "; they must be equal");
  require(in.size[2] == out.size[2], "i_desc has ", in.size[2], " channels, o_desc has ",
          out.size[2], "; they must be equal");
  result.problem.kind = function.kind;
  result.problem.channels = in.size[2];
  result.problem.in = in.view;
  result.problem.out = out.view;
  read_axes(*p, result);
  check_bias(result);
  check_activation(*result.activation);
  result.problem.activation = FusedActivation(*result.activation, coefficients_of(p->activation));
  return result;
}

}  // namespace bnns::impl

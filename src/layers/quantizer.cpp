// BNNSLayerParametersQuantization -> QuantizeProblem, and the call without a filter.
#include "layers/quantizer.h"

#include <bit>

namespace bnns::impl {
namespace {

bool is_wide(BNNSDataType type) {
  return type == BNNSDataTypeInt32 || type == BNNSDataTypeFloat16 || type == BNNSDataTypeFloat32;
}
bool is_quantized(BNNSDataType type) {
  switch (type) {
    case BNNSDataTypeInt8:
    case BNNSDataTypeUInt8:
    case BNNSDataTypeInt16:
    case BNNSDataTypeUInt16:
    case BNNSDataTypeInt32:
    case BNNSDataTypeUInt32:
      return true;
    default:
      return false;
  }
}

void check_type(const Descriptor& d, const char* field, bool wide) {
  const BNNSDataType type = d.type->type;
  require(wide ? is_wide(type) : is_quantized(type), field, ".data_type is ", d.type->name,
          wide ? "; it must be Int32, Float16 or Float32"
               : "; it must be an integer of 8, 16 or 32 bits");
}

void check_tensors(const QuantizerParameters& p) {
  require_plain_layout(p.in, "i_desc");
  require_plain_layout(p.out, "o_desc");
  check_type(p.in, "i_desc", !p.problem.dequantize);
  check_type(p.out, "o_desc", p.problem.dequantize);
  bool equal = p.in.layout == p.out.layout;
  for (size_t k = 0; equal && k < p.in.rank(); ++k) equal = p.in.size[k] == p.out.size[k];
  if (!equal) {
    fail("o_desc is ", describe(p.out), ", i_desc is ", describe(p.in),
         "; they must have the same layout and sizes");
  }
}

View read_coefficients(const BNNSNDArrayDescriptor& given, const char* field, size_t extent,
                       bool by_batch, Descriptor& d) {
  d = read_descriptor(given, field, Use::kInput);
  require(d.layout->layout == BNNSDataLayoutVector, field, ".layout is ", d.layout->name,
          "; it must be Vector");
  require(d.type->kind == TypeClass::kFloat, field, ".data_type is ", d.type->name,
          "; it must be a floating-point type");
  require_data(d.view.data, d.view.type, field);
  require(by_batch || d.view.count == extent, field, " has ", d.view.count,
          " values; axis_mask asks for ", extent);
  return collapsed(d.view);
}

// Sets inner and extent for the one axis of the mask.
void set_axis(size_t mask, QuantizerParameters& p) {
  if (mask == 0) return;
  const size_t axis = static_cast<size_t>(std::countr_zero(mask)), rank = p.in.rank();
  require(std::has_single_bit(mask) && axis <= rank, "axis_mask is ", mask,
          "; it must be 0 or one bit, at most ", size_t{1} << rank, " for the batch");
  p.by_batch = axis == rank;
  p.problem.inner = 1;
  for (size_t k = 0; k < rank; ++k) {
    if (p.in.layout->pair[k] == axis) {
      p.problem.extent = p.in.view.extent[k];
      return;
    }
    p.problem.inner *= p.in.view.extent[k];
  }
}

}  // namespace

QuantizerParameters read_quantizer(const BNNSLayerParametersQuantization* given) {
  require(given != nullptr, "layer_params is NULL");
  require(given->function == BNNSQuantizerFunctionQuantize ||
              given->function == BNNSQuantizerFunctionDequantize,
          "function is ", static_cast<uint32_t>(given->function),
          "; it must be Quantize (0) or Dequantize (1)");
  QuantizerParameters p;
  p.problem.dequantize = given->function == BNNSQuantizerFunctionDequantize;
  p.in = read_descriptor(given->i_desc, "i_desc", Use::kInput);
  p.out = read_descriptor(given->o_desc, "o_desc", Use::kOutput);
  check_tensors(p);
  set_axis(given->axis_mask, p);
  p.has_scale = given->scale.data != nullptr;
  p.has_bias = given->bias.data != nullptr;
  QuantizeProblem& problem = p.problem;
  if (p.has_scale)
    problem.scale = read_coefficients(given->scale, "scale", problem.extent, p.by_batch, p.scale);
  if (p.has_bias)
    problem.bias = read_coefficients(given->bias, "bias", problem.extent, p.by_batch, p.bias);
  if (!p.by_batch) return p;
  require(!p.has_scale || !p.has_bias || p.scale.view.count == p.bias.view.count, "scale has ",
          p.has_scale ? p.scale.view.count : 0, " values, bias has ",
          p.has_bias ? p.bias.view.count : 0, "; both need one for each sample");
  if (p.has_scale || p.has_bias)
    problem.extent = p.has_scale ? p.scale.view.count : p.bias.view.count;
  return p;
}

void require_batch_of_scales(const QuantizerParameters& p, size_t batch) {
  if (!p.by_batch || (!p.has_scale && !p.has_bias)) return;
  require(batch == p.problem.extent, "batch_size is ", batch, "; ", p.has_scale ? "scale" : "bias",
          " has ", p.problem.extent, " values, one for each sample");
}

void apply_quantizer(const BNNSLayerParametersQuantization* parameters,
                     const BNNSFilterParameters* filter_parameters, size_t batch, size_t in_stride,
                     size_t out_stride) {
  const QuantizerParameters p = read_quantizer(parameters);
  if (batch == 0) return;
  require_batch_of_scales(p, batch);
  const Batch in =
      read_batch(p.in, batch, p.in.view.data, in_stride, {"i_desc.data", "input_stride"});
  const Batch out =
      read_batch(p.out, batch, p.out.view.data, out_stride, {"o_desc.data", "output_stride"});
  require_apart_or_same(out, "o_desc.data", in, "i_desc.data");
  Call call(batch);
  call.writes(range_of(out), "o_desc.data");
  if (p.has_scale) call.reads(range_of(p.scale.view), "scale.data");
  if (p.has_bias) call.reads(range_of(p.bias.view), "bias.data");
  call.check_overlaps();
  const FilterOptions options(filter_parameters);
  QuantizeOp(options.memory, options.threads, p.problem, true).run(whole(in), whole(out));
}

}  // namespace bnns::impl

// BNNSTile: output(i) = input(i mod size of the input), along every axis; axis a is that of
// size[a]. BNNSTileBackward: in_delta(i) = the sum of out_delta over all copies of element i.
//   BNNSTile reads size[] of FirstMajor layouts and of RowMajorMatrix back to front: size[0] is the
//   fastest axis of the former and the slowest of the latter, and stride[] goes with it. Its
//   gradient reads them like every other function.
#include "layers/tile.h"

#include "core/call.h"
#include "core/filter.h"
#include "layers/stored_values.h"
#include "ops/movement/tile.h"

namespace bnns::impl {
namespace {

// The layout that pairs sizes and strides as BNNSTile does.
BNNSDataLayout tile_layout(BNNSDataLayout layout) {
  const auto value = static_cast<uint32_t>(layout);
  if (layout == BNNSDataLayoutRowMajorMatrix) return BNNSDataLayout2DFirstMajor;
  const bool first_major = (value & 0xFFFF) == 0x8001 && find_layout(layout) != nullptr;
  return first_major ? static_cast<BNNSDataLayout>(value - 1) : layout;
}

Descriptor read_tile_tensor(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  BNNSNDArrayDescriptor turned = given;
  turned.layout = tile_layout(given.layout);
  Descriptor result = read_stored_values(turned, field, use);
  require(turned.layout == given.layout || !result.view.overlaps, field,
          ".stride makes elements overlap; BNNSTile reads size[] of ",
          find_layout(given.layout)->name, " back to front, and stride[] with it");
  const Text data(field, ".data");
  require_data(given.data, result.view.type, data.c_str());
  return result;
}

Descriptor read_gradient(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  const Descriptor result = read_stored_values(given, field, use);
  require(result.type->kind == TypeClass::kFloat, field, ".data_type is ", result.type->name,
          "; it must be Float32, Float16 or BFloat16");
  const Text data(field, ".data");
  require_data(given.data, result.view.type, data.c_str());
  return result;
}

TileProblem read_problem(const Descriptor& in, const char* in_name, const Descriptor& out,
                         const char* out_name) {
  require(in.rank() == out.rank(), out_name, " has ", out.rank(), " axes, ", in_name, " has ",
          in.rank(), "; they must have the same number");
  TileProblem p;
  for (size_t a = 0; a < in.rank(); ++a) {
    require(out.size[a] % in.size[a] == 0, out_name, ".size[", a, "] is ", out.size[a], ", ",
            in_name, ".size[", a, "] is ", in.size[a], "; it must be a multiple of that");
    p.axis[p.rank++] = {.extent = in.size[a],
                        .times = out.size[a] / in.size[a],
                        .in = in.view.stride[view_axis_of_size(*in.layout, a)],
                        .out = out.view.stride[view_axis_of_size(*out.layout, a)]};
  }
  return p;
}

}  // namespace

void tile(const BNNSNDArrayDescriptor* input, const BNNSNDArrayDescriptor* output,
          const BNNSFilterParameters* filter_parameters) {
  require(input != nullptr, "input is NULL");
  require(output != nullptr, "output is NULL");
  const FilterOptions options(filter_parameters);
  const Descriptor in = read_tile_tensor(*input, "input", Use::kInput);
  const Descriptor out = read_tile_tensor(*output, "output", Use::kOutput);
  require_equal_types(out, "output", in, "input");
  const TileProblem problem = read_problem(in, "input", out, "output");
  require_apart(range_of(out.view), "output.data", range_of(in.view), "input.data");
  run_move(*move_kernels(), options.threads, in.type->bytes(), tile_move(problem), in.view.data,
           out.view.data);
}

void tile_backward(const BNNSNDArrayDescriptor* in_delta, const BNNSNDArrayDescriptor* out_delta,
                   const BNNSFilterParameters* filter_parameters) {
  require(in_delta != nullptr, "in_delta is NULL");
  require(out_delta != nullptr, "out_delta is NULL");
  const FilterOptions options(filter_parameters);
  require_delta_flags(*in_delta, "in_delta");
  if (in_delta->data == nullptr) return;  // not wanted
  const Descriptor dx = read_gradient(*in_delta, "in_delta", Use::kOutput);
  const Descriptor dy = read_gradient(*out_delta, "out_delta", Use::kInput);
  const TileProblem problem = read_problem(dx, "in_delta", dy, "out_delta");
  require_apart(range_of(dx.view), "in_delta.data", range_of(dy.view), "out_delta.data");
  run_tile_backward(options.memory, options.threads, problem, tensor_of(dx.view),
                    tensor_of(dy.view), dx.accumulate);
}

}  // namespace bnns::impl

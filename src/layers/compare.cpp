// BNNSCompareTensor: elements of equal logical coordinates are compared (a matrix is row, column in
// every layout). NOT looks at in0 only.
#include "layers/compare.h"

#include "core/call.h"
#include "core/filter.h"
#include "ops/compare.h"

namespace bnns::impl {
namespace {

Descriptor read_operand(const BNNSNDArrayDescriptor* given, const char* name) {
  require(given != nullptr, name, " is NULL");
  const Descriptor d = read_descriptor(*given, name, Use::kInput);
  require_plain_layout(d, name);
  require(d.type->kind != TypeClass::kIndexed, name, ".data_type is ", d.type->name,
          "; it must be a number or Boolean");
  const Text data(name, ".data");
  require_data(d.view.data, d.view.type, data.c_str());
  return d;
}

void require_shape(const Descriptor& in, const char* name, const Descriptor& out) {
  bool equal = in.rank() == out.rank();
  for (size_t i = 0; equal && i < in.rank(); ++i)
    equal = in.logical_extent(i) == out.logical_extent(i);
  if (!equal) {
    fail(name, " is ", describe(in), ", out is ", describe(out),
         "; they must have the same logical shape");
  }
}

// Pairs the axes by logical coordinate, in the memory order of `out`, whose strides are positive.
CompareAxes axes_of(const Descriptor& out, const Descriptor* const (&in)[2],
                    ptrdiff_t (&origin)[2]) {
  CompareAxes axes;
  for (size_t k = 0; k < out.rank(); ++k) {
    size_t i = 0;
    while (out.layout->tuple[i] != out.layout->pair[k]) ++i;
    CompareAxes::Axis axis = {.extent = out.view.extent[k], .reduced = false, .stride = {}};
    axis.stride[kCompareOut] = static_cast<ptrdiff_t>(out.view.stride[k]);
    for (size_t t = 0; t < 2; ++t) {
      if (in[t] == nullptr) continue;
      const auto stride = static_cast<ptrdiff_t>(in[t]->logical_stride(i));
      const bool against = i < 2 && in[t]->layout->rotated != out.layout->rotated;
      axis.stride[t] = against ? -stride : stride;
      if (against) origin[t] += static_cast<ptrdiff_t>(axis.extent - 1) * stride;
    }
    axes.push(axis);
  }
  return collapsed(axes);
}

}  // namespace

void compare_tensors(const BNNSNDArrayDescriptor* in0, const BNNSNDArrayDescriptor* in1,
                     BNNSRelationalOperator op, BNNSNDArrayDescriptor* out) {
  const CompareInfo* info = find_compare(op);
  require(info != nullptr, "op is ", static_cast<uint32_t>(op),
          "; that is no BNNSRelationalOperator");
  const Descriptor a = read_operand(in0, "in0");
  const Descriptor b = info->unary ? a : read_operand(in1, "in1");
  require(out != nullptr, "out is NULL");
  const Descriptor to = read_descriptor(*out, "out", Use::kOutput);
  require_plain_layout(to, "out");
  require(to.type->kind == TypeClass::kBoolean, "out.data_type is ", to.type->name,
          "; it must be Boolean");
  require_data(to.view.data, to.view.type, "out.data");
  require(a.type == b.type, "in0.data_type is ", a.type->name, ", in1.data_type is ", b.type->name,
          "; they must be equal");
  require_shape(a, "in0", to);
  if (!info->unary) require_shape(b, "in1", to);
  const Range written = range_of(to.view);
  require_apart(written, "out.data", range_of(a, make_batch(a.view, a.view.data, 1, 0)),
                "in0.data");
  require_apart(written, "out.data", range_of(b, make_batch(b.view, b.view.data, 1, 0)),
                info->unary ? "in0.data" : "in1.data");

  CompareProblem problem = {.info = info, .axes = {}, .out = static_cast<uint8_t*>(to.view.data)};
  const Descriptor* const in[] = {&a, info->unary ? nullptr : &b};
  problem.axes = axes_of(to, in, problem.origin);
  problem.in[0] = tensor_of(a.view);
  problem.in[1] = tensor_of(b.view);
  run_compare(default_threads(), problem);
}

}  // namespace bnns::impl

// BNNSComputeNorm: n = sqrt(sum of x^2) over the flagged axes.
// BNNSComputeNormBackward: dx = dn x / n.
#include "core/filter.h"
#include "layers/clip.h"
#include "layers/reduced_axes.h"
#include "ops/vector_norm/vector_norm.h"

namespace bnns::impl {
namespace {

void require_norm_type(BNNSNormType type) {
  require(type == BNNSL2Norm, "norm_type is ", static_cast<uint32_t>(type),
          "; it must be BNNSL2Norm (", static_cast<uint32_t>(BNNSL2Norm), ")");
}

Range range_of(const Descriptor& d, const void* data) {
  return range_of(make_batch(d.view, data, 1, 0));
}

}  // namespace

void compute_norm(const BNNSNDArrayDescriptor* dest_given, const BNNSNDArrayDescriptor* src_given,
                  BNNSNormType norm_type, uint32_t axis_flags) {
  require(dest_given != nullptr, "dest is NULL");
  require(src_given != nullptr, "src is NULL");
  require_norm_type(norm_type);
  const Descriptor dest = read_float_tensor(*dest_given, "dest", Use::kOutput);
  const Descriptor src = read_float_tensor(*src_given, "src", Use::kInput);
  require_same_type(dest, "dest", src, "src");
  Axes axes = whole_axes(src, src, axis_flags);
  const AxesTensor norms = add_values(axes, src, "src", dest, "dest");
  require_apart(range_of(dest, dest.view.data), "dest.data", range_of(src, src.view.data),
                "src.data");
  run_norms(NormRun(default_threads()), axes, tensor_of(src.view), norms);
}

void compute_norm_backward(const void* in, const BNNSNDArrayDescriptor* in_delta_given,
                           const void* out, const BNNSNDArrayDescriptor* out_delta_given,
                           BNNSNormType norm_type, uint32_t axis_flags) {
  require(in_delta_given != nullptr, "in_delta is NULL");
  require(out_delta_given != nullptr, "out_delta is NULL");
  require_norm_type(norm_type);
  require(in_delta_given->flags == BNNSNDArrayFlagBackpropSet ||
              in_delta_given->flags == BNNSNDArrayFlagBackpropAccumulate,
          "in_delta.flags is ", static_cast<uint32_t>(in_delta_given->flags),
          "; that is no BNNSNDArrayFlags");
  if (in_delta_given->data == nullptr) return;  // not wanted
  const Descriptor in_delta = read_float_tensor(*in_delta_given, "in_delta", Use::kOutput);
  const Descriptor out_delta = read_float_tensor(*out_delta_given, "out_delta", Use::kInput);
  require_same_type(in_delta, "in_delta", out_delta, "out_delta");
  require_data(in, in_delta.view.type, "in");
  require_data(out, out_delta.view.type, "out");
  Axes axes = whole_axes(in_delta, in_delta, axis_flags);
  const AxesTensor deltas = add_values(axes, in_delta, "in_delta", out_delta, "out_delta");
  const Range written = range_of(in_delta, in_delta.view.data);
  require_apart(written, "in_delta.data", range_of(in_delta, in), "in");
  require_apart(written, "in_delta.data", range_of(out_delta, out), "out");
  require_apart(written, "in_delta.data", range_of(out_delta, out_delta.view.data),
                "out_delta.data");
  const ptrdiff_t origin =
      static_cast<const char*>(deltas.data) - static_cast<const char*>(out_delta.view.data);
  const AxesTensor norms = {.data = static_cast<char*>(const_cast<void*>(out)) + origin,
                            .type = deltas.type};
  const AxesTensor x = {.data = const_cast<void*>(in), .type = in_delta.view.type};
  run_norms_backward(NormRun(default_threads()), axes, x, norms, deltas, tensor_of(in_delta.view),
                     in_delta.accumulate);
}

}  // namespace bnns::impl

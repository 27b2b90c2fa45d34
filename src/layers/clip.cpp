// Clipping of tensors: element by element, by the norm of groups, by the common norm of several
// tensors. dest and src have one type and one logical shape; dest may be src itself.
#include "layers/clip.h"

#include <cmath>

#include "core/filter.h"
#include "layers/reduced_axes.h"
#include "ops/activation/activation.h"
#include "ops/vector_norm/vector_norm.h"

namespace bnns::impl {
namespace {

// src and dest, with the axes of both in the memory order of src.
struct ClipPair {
  View src, dest;
  Axes axes;
  bool in_place;
};

ClipPair read_pair(const BNNSNDArrayDescriptor* dest_given, const BNNSNDArrayDescriptor* src_given,
                   const char* dest_name, const char* src_name, uint32_t axis_flags) {
  require(dest_given != nullptr, dest_name, " is NULL");
  require(src_given != nullptr, src_name, " is NULL");
  const Descriptor dest = read_float_tensor(*dest_given, dest_name, Use::kOutput);
  const Descriptor src = read_float_tensor(*src_given, src_name, Use::kInput);
  require_same_type(dest, dest_name, src, src_name);
  require_same_shape(dest, dest_name, src, src_name);
  ClipPair pair = {.src = src.view,
                   .dest = dest.view,
                   .axes = whole_axes(src, dest, axis_flags),
                   .in_place = src.view.data == dest.view.data};
  for (size_t k = 0; k < pair.axes.rank(); ++k) {
    const Axis& axis = pair.axes[k];
    pair.dest.extent[k] = axis.extent;
    pair.dest.stride[k] = static_cast<size_t>(axis.stride[kNormY]);
    pair.in_place &= axis.extent == 1 || axis.stride[kNormX] == axis.stride[kNormY];
  }
  pair.src = collapsed(pair.src);
  pair.dest = collapsed(pair.dest);
  return pair;
}

void require_apart(const ClipPair& pair, const char* dest_name, const char* src_name) {
  if (pair.in_place) return;
  require_apart(range_of(pair.dest), dest_name, range_of(pair.src), src_name);
}

void require_finite(float value, const char* name) {
  require(std::isfinite(value), name, " is ", double{value}, "; it must be finite");
}

void require_max_norm(float max_norm) {
  require_finite(max_norm, "max_norm");
  require(max_norm >= 0, "max_norm is ", double{max_norm}, "; it must not be negative");
}

// ---- Several tensors: a written tensor must not overlap any other one of the call ----

void require_all_apart(TensorRange* ranges, size_t count) {
  const Overlap overlap = find_overlap(ranges, count);
  if (overlap.first == nullptr) return;
  const auto name = [](const TensorRange& r) {
    return Text(r.written ? "dest[" : "src[", r.tensor, "]");
  };
  fail(name(*overlap.first), " and ", name(*overlap.second),
       " overlap in memory; they must be separate");
}

void read_pairs(const BNNSNDArrayDescriptor* const* dest, const BNNSNDArrayDescriptor* const* src,
                size_t count, const Memory& memory, ClipPair* pairs) {
  const Array<TensorRange> ranges(memory, checked_mul(count, 2, "count"));
  size_t n = 0;
  for (size_t i = 0; i < count; ++i) {
    const Text dest_name("dest[", i, "]"), src_name("src[", i, "]");
    pairs[i] = read_pair(dest[i], src[i], dest_name.c_str(), src_name.c_str(), 0);
    const auto add = [&](const View& view, bool written) {
      ranges[n++] = {.range = range_of(view), .tensor = i, .written = written};
    };
    add(pairs[i].dest, true);
    if (!pairs[i].in_place) add(pairs[i].src, false);
  }
  require_all_apart(ranges.data(), n);
}

}  // namespace

void clip_by_value(const BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                   float min_val, float max_val) {
  require_finite(min_val, "min_val");
  require_finite(max_val, "max_val");
  require(min_val <= max_val, "min_val is ", double{min_val}, ", max_val is ", double{max_val},
          "; the minimum must not be above the maximum");
  const ClipPair pair = read_pair(dest, src, "dest", "src", 0);
  require_apart(pair, "dest", "src");
  const ElementActivation clamp(*find_activation(BNNSActivationFunctionClamp),
                                {.alpha = min_val, .beta = max_val});
  run_forward(ElementRun(default_threads()), clamp, pair.src, pair.dest);
}

void clip_by_norm(const BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                  float max_norm, uint32_t axis_flags) {
  require_max_norm(max_norm);
  const ClipPair pair = read_pair(dest, src, "dest", "src", axis_flags);
  require_apart(pair, "dest", "src");
  run_clip_groups(NormRun(default_threads()), pair.axes, double{max_norm}, tensor_of(pair.src),
                  tensor_of(pair.dest));
}

void clip_by_global_norm(const BNNSNDArrayDescriptor* const* dest,
                         const BNNSNDArrayDescriptor* const* src, size_t count, float max_norm,
                         float use_norm) {
  require_max_norm(max_norm);
  require_finite(use_norm, "use_norm");
  require(use_norm >= 0, "use_norm is ", double{use_norm}, "; it must not be negative");
  if (count == 0) return;
  require(dest != nullptr, "dest is NULL");
  require(src != nullptr, "src is NULL");
  const Memory memory;
  const Array<ClipPair> pairs(memory, count);
  read_pairs(dest, src, count, memory, pairs.data());
  const NormRun run(default_threads());
  double norm = double{use_norm};
  if (norm == 0) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += run_sum_squares(run, pairs[i].src);
    norm = std::sqrt(sum);
  }
  const double factor = clip_factor(norm, double{max_norm});
  for (size_t i = 0; i < count; ++i) run_scale(run, factor, pairs[i].src, pairs[i].dest);
}

}  // namespace bnns::impl

// The padding filter: y has padding_size[d][0] cells before and padding_size[d][1] cells behind the
// elements of x along axis d, counted by size[]. They hold a constant, or the mirror image of x.
//   dx(p) = the sum of dy over all cells that are copies of x(p)
#include "layers/padding.h"

#include <cstring>
#include <limits>

#include "core/call.h"
#include "core/checked.h"
#include "core/filter.h"
#include "layers/stored_values.h"
#include "ops/movement/padding.h"

namespace bnns::impl {
namespace {

struct PaddingParameters {
  Descriptor in, out;
  PaddingKind kind;
  uint32_t fill;
  size_t before[kMaxRank], after[kMaxRank];  // by axis of the output's view
  uint8_t in_axis[kMaxRank];                 // the same axis in the view of the input
};

PaddingKind read_kind(BNNSPaddingMode mode) {
  switch (mode) {
    case BNNSPaddingModeConstant:
      return PaddingKind::kConstant;
    case BNNSPaddingModeReflect:
      return PaddingKind::kReflect;
    case BNNSPaddingModeSymmetric:
      return PaddingKind::kSymmetric;
  }
  fail("padding_mode is ", static_cast<uint32_t>(mode), "; that is no BNNSPaddingMode");
}

void check_axis(const PaddingParameters& p, size_t axis, size_t before, size_t after) {
  constexpr size_t kMost = std::numeric_limits<int32_t>::max();
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const size_t cells = side == 0 ? before : after;
    require(cells <= kMost, "padding_size[", axis, "][", side, "] is ", cells,
            "; it must be at most ", kMost);
  }
  const size_t wanted = checked_add(p.in.size[axis], before + after, "the size of o_desc");
  require(p.out.size[axis] == wanted, "o_desc.size[", axis, "] is ", p.out.size[axis],
          "; i_desc.size[", axis, "] is ", p.in.size[axis], " and padding_size[", axis, "] is {",
          before, ", ", after, "}, so it must be ", wanted);
  require(p.kind != PaddingKind::kReflect || p.in.size[axis] > 1 || before + after == 0,
          "i_desc.size[", axis,
          "] is 1; an axis that is padded with BNNSPaddingModeReflect must "
          "have at least 2 elements, because its edge is not repeated");
}

PaddingParameters read_padding(const BNNSLayerParametersPadding* given) {
  require(given != nullptr, "layer_params is NULL");
  PaddingParameters p = {.in = read_stored_values(given->i_desc, "i_desc", Use::kInput),
                         .out = read_stored_values(given->o_desc, "o_desc", Use::kOutput),
                         .kind = read_kind(given->padding_mode),
                         .fill = given->padding_value,
                         .before = {},
                         .after = {},
                         .in_axis = {}};
  require_equal_types(p.out, "o_desc", p.in, "i_desc");
  require(p.kind != PaddingKind::kConstant || p.in.type->bytes() <= sizeof p.fill,
          "i_desc.data_type is ", p.in.type->name, "; a constant has ", sizeof p.fill, " bytes");
  if (p.in.rank() != p.out.rank()) {
    fail("o_desc is ", describe(p.out), ", i_desc is ", describe(p.in),
         "; they must have the same number of axes");
  }
  for (size_t k = 0; k < p.out.rank(); ++k) {
    const size_t axis = p.out.layout->pair[k];
    p.before[k] = given->padding_size[axis][0];
    p.after[k] = given->padding_size[axis][1];
    p.in_axis[k] = static_cast<uint8_t>(view_axis_of_size(*p.in.layout, axis));
    check_axis(p, axis, p.before[k], p.after[k]);
  }
  return p;
}

class PaddingFilter final : public Filter {
 public:
  PaddingFilter(const FilterOptions& options, const PaddingParameters& p)
      : Filter("a padding filter", options), p_(p) {}

  void apply(const ForwardArgs& args) override {
    if (args.batch == 0) return;
    Call call(args.batch);
    const Batch x = call.reads(p_.in, args.in, args.in_stride, kIn);
    const Batch y = call.writes(p_.out, args.out, args.out_stride, kOut);
    call.check_overlaps();
    run_padding(threads(), p_.in.type->bytes(), problem(x, y), x.data, y.data);
  }

  void apply_backward(const BackwardArgs& args) override {
    constexpr DeltaRules kRules = {.bfloat16 = true, .same_layout = true};
    require(!is_wanted(args.weights_delta),
            "weights_delta has data; a padding layer has no weights");
    require(!is_wanted(args.bias_delta), "bias_delta has data; a padding layer has no bias");
    if (args.batch == 0 || !is_wanted(args.in_delta)) return;
    Call call(args.batch);
    const Batch dy = call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, p_.out,
                                      "o_desc", kRules);
    const Gradient dx =
        call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.in, "i_desc", kRules);
    call.check_overlaps();
    run_padding_backward(*kernels_, *convert_, threads(), problem(dx, dy),
                         {.data = dx.data, .type = dx.sample->type},
                         {.data = dy.data, .type = dy.sample->type}, dx.accumulate);
  }

  Text plan() const override { return Text(describe(p_.in), " to ", describe(p_.out)); }

 private:
  PaddingProblem problem(const Batch& in, const Batch& out) const {
    PaddingProblem result;
    result.kind = p_.kind;
    std::memcpy(result.fill, &p_.fill, sizeof p_.fill);
    for (size_t k = 0; k < p_.out.rank(); ++k) {
      result.push({.extent = in.sample->extent[p_.in_axis[k]],
                   .before = p_.before[k],
                   .after = p_.after[k],
                   .in = in.sample->stride[p_.in_axis[k]],
                   .out = out.sample->stride[k]});
    }
    result.push({.extent = in.size, .before = 0, .after = 0, .in = in.step, .out = out.step});
    return result;
  }

  PaddingParameters p_;
  const MoveKernels* kernels_ = move_kernels();
  const ConvertKernels* convert_ = convert_kernels();
};

}  // namespace

BNNSFilter make_padding_filter(const BNNSLayerParametersPadding* parameters,
                               const BNNSFilterParameters* filter_parameters) {
  return make_filter<PaddingFilter>(FilterOptions(filter_parameters), read_padding(parameters));
}

}  // namespace bnns::impl

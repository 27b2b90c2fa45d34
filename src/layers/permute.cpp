// The permute filter: axis k of the output is axis permutation[k] of the input, counted by size[].
//   y(i_0, i_1, ...) = x(j_0, j_1, ...) with j_permutation[k] = i_k
//   dx = the same elements of dy, moved back
// Stored values are moved by ops/movement, whatever their type.
#include "layers/permute.h"

#include "core/call.h"
#include "layers/stored_values.h"
#include "ops/movement/move.h"

namespace bnns::impl {
namespace {

struct PermuteParameters {
  Descriptor in, out;
  uint8_t in_axis[kMaxRank], out_axis[kMaxRank];  // axes of the views, by axis of the output
};

PermuteParameters read_permute(const BNNSLayerParametersPermute* given) {
  require(given != nullptr, "layer_params is NULL");
  PermuteParameters p = {.in = read_stored_values(given->i_desc, "i_desc", Use::kInput),
                         .out = read_stored_values(given->o_desc, "o_desc", Use::kOutput),
                         .in_axis = {},
                         .out_axis = {}};
  require_equal_types(p.out, "o_desc", p.in, "i_desc");
  const size_t rank = p.in.rank();
  bool fits = p.out.rank() == rank, used[kMaxRank] = {};
  for (size_t k = 0; fits && k < rank; ++k) {
    const size_t axis = given->permutation[k];
    require(axis < rank, "permutation[", k, "] is ", axis, "; i_desc has ", rank, " axes");
    require(!used[axis], "permutation[", k, "] is ", axis,
            " for the second time; each axis of "
            "i_desc must be named once");
    used[axis] = true;
    fits = p.out.size[k] == p.in.size[axis];
    p.in_axis[k] = static_cast<uint8_t>(view_axis_of_size(*p.in.layout, axis));
    p.out_axis[k] = static_cast<uint8_t>(view_axis_of_size(*p.out.layout, k));
  }
  if (!fits) {
    fail("o_desc is ", describe(p.out), ", i_desc is ", describe(p.in),
         "; o_desc.size[k] must be i_desc.size[permutation[k]]");
  }
  return p;
}

class PermuteFilter final : public Filter, public PermuteCalls {
 public:
  PermuteFilter(const FilterOptions& options, const PermuteParameters& p)
      : Filter("a permute filter", options), p_(p) {}

  void apply(const ForwardArgs& args) override {
    if (args.batch == 0) return;
    Call call(args.batch);
    const Batch x = call.reads(p_.in, args.in, args.in_stride, kIn);
    const Batch y = call.writes(p_.out, args.out, args.out_stride, kOut);
    call.check_overlaps();
    run_move(*kernels_, threads(), p_.in.type->bytes(), move(x, p_.in_axis, y, p_.out_axis), x.data,
             y.data);
  }

  void apply_backward(const BackwardArgs& args) override {
    require(!is_wanted(args.weights_delta),
            "weights_delta has data; a permute layer has no weights");
    require(!is_wanted(args.bias_delta), "bias_delta has data; a permute layer has no bias");
    apply_permute_backward({.batch = args.batch,
                            .in_delta = args.in_delta,
                            .in_delta_stride = args.in_delta_stride,
                            .out_delta = args.out_delta,
                            .out_delta_stride = args.out_delta_stride});
  }

  void apply_permute_backward(const PermuteBackwardArgs& args) override {
    constexpr DeltaRules kRules = {.bfloat16 = true, .same_layout = true};
    if (args.batch == 0 || !is_wanted(args.in_delta)) return;
    Call call(args.batch);
    const Batch dy = call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, p_.out,
                                      "o_desc", kRules);
    const Gradient dx =
        call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.in, "i_desc", kRules);
    call.check_overlaps();
    run_gradient_move(*kernels_, *convert_, threads(), move(dy, p_.out_axis, dx, p_.in_axis),
                      {.data = dy.data, .type = dy.sample->type},
                      {.data = dx.data, .type = dx.sample->type}, dx.accumulate);
  }

  Text plan() const override { return Text(describe(p_.in), " to ", describe(p_.out)); }

 private:
  Move move(const Batch& from, const uint8_t* from_axis, const Batch& to,
            const uint8_t* to_axis) const {
    Move move;
    for (size_t k = 0; k < p_.in.rank(); ++k) {
      move.push({.extent = p_.out.size[k],
                 .from = from.sample->stride[from_axis[k]],
                 .to = to.sample->stride[to_axis[k]]});
    }
    move.push({.extent = from.size, .from = from.step, .to = to.step});
    return move;
  }

  PermuteParameters p_;
  const MoveKernels* kernels_ = move_kernels();
  const ConvertKernels* convert_ = convert_kernels();
};

}  // namespace

BNNSFilter make_permute_filter(const BNNSLayerParametersPermute* parameters,
                               const BNNSFilterParameters* filter_parameters) {
  return make_filter<PermuteFilter>(FilterOptions(filter_parameters), read_permute(parameters));
}

}  // namespace bnns::impl

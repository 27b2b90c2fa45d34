// The resize filter. Coordinates of i_desc and o_desc pair up by their place in the tuple of the
// layout; those whose sizes differ are resized by the maps of ops/resize/axis_map.h. The gradient
// is the transpose of that linear map, so that it reads neither x nor y.
#include "layers/resize.h"

#include <algorithm>

#include "core/call.h"
#include "core/filter.h"
#include "ops/resize/resize.h"

namespace bnns::impl {
namespace {

struct ResizeParameters {
  Descriptor in, out;
  ResizeProblem problem;
};

Descriptor read_tensor(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  const Descriptor d = read_descriptor(given, field, use);
  require(d.type->kind == TypeClass::kFloat, field, ".data_type is ", d.type->name,
          "; it must be a floating-point type");
  require_plain_layout(d, field);
  require(!d.layout->rotated, field, ".layout is ", d.layout->name,
          "; an array with rotated axes cannot be resized");
  return d;
}

ResizeParameters read_resize(const BNNSLayerParametersResize* p) {
  require(p != nullptr, "layer_params is NULL");
  require(p->method == BNNSInterpolationMethodNearest || p->method == BNNSInterpolationMethodLinear,
          "method is ", static_cast<uint32_t>(p->method), "; that is no BNNSInterpolationMethod");
  ResizeParameters r = {.in = read_tensor(p->i_desc, "i_desc", Use::kInput),
                        .out = read_tensor(p->o_desc, "o_desc", Use::kOutput),
                        .problem = {}};
  if (r.in.rank() != r.out.rank()) {
    fail("o_desc is ", describe(r.out), ", i_desc is ", describe(r.in),
         "; they must have the same number of axes");
  }
  ResizeProblem& problem = r.problem;
  problem.rule = {.linear = p->method == BNNSInterpolationMethodLinear,
                  .corners = p->align_corners};
  problem.rank = r.in.rank();
  for (size_t i = 0; i < problem.rank; ++i) {
    const size_t from = r.in.logical_extent(i), to = r.out.logical_extent(i);
    const size_t in_axis = r.in.memory_axis(i), out_axis = r.out.memory_axis(i);
    require(from == to || from <= kLongestResizedAxis, "i_desc has an axis of ", from,
            ", o_desc of ", to, "; an axis that is resized has at most ", kLongestResizedAxis);
    require(from == to || to <= kLongestResizedAxis, "o_desc has an axis of ", to, ", i_desc of ",
            from, "; an axis that is resized has at most ", kLongestResizedAxis);
    problem.in[in_axis] = from;
    problem.out[out_axis] = to;
    problem.in_axis[out_axis] = static_cast<uint8_t>(in_axis);
  }
  return r;
}

class ResizeFilter final : public Filter {
 public:
  ResizeFilter(const FilterOptions& options, const ResizeParameters& p)
      : Filter("a resize filter", options), p_(p), op_(memory(), threads(), p.problem) {}

  void apply(const ForwardArgs& args) override {
    if (args.batch == 0) return;
    Call call(args.batch);
    const Batch x = call.reads(p_.in, args.in, args.in_stride, kIn);
    const Batch y = call.writes(p_.out, args.out, args.out_stride, kOut);
    call.check_overlaps();
    op_.forward(x, y);
  }

  void apply_backward(const BackwardArgs& args) override {
    constexpr DeltaRules kRules = {.bfloat16 = true, .same_layout = true};
    require(!is_wanted(args.weights_delta), "weights_delta has data; a resize layer has no ",
            "weights");
    require(!is_wanted(args.bias_delta), "bias_delta has data; a resize layer has no bias");
    if (args.batch == 0 || !is_wanted(args.in_delta)) return;
    Call call(args.batch);
    const Batch dy = call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, p_.out,
                                      "o_desc", kRules);
    const Gradient dx =
        call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, p_.in, "i_desc", kRules);
    call.check_overlaps();
    op_.backward(dy, dx);
  }

  Text plan() const override {
    return Text(p_.problem.rule.linear ? "linear" : "nearest",
                p_.problem.rule.corners ? ", corners aligned, " : ", ", describe(p_.in), " to ",
                describe(p_.out));
  }

 private:
  ResizeParameters p_;
  ResizeOp op_;
};

}  // namespace

BNNSFilter make_resize_filter(const BNNSLayerParametersResize* parameters,
                              const BNNSFilterParameters* filter_parameters) {
  return make_filter<ResizeFilter>(FilterOptions(filter_parameters), read_resize(parameters));
}

}  // namespace bnns::impl

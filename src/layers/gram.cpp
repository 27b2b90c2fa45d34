// The Gram filter. An image x has pixels p and channels; its Gram matrix and its gradient are
//   G(f, c)  = alpha sum over p of x(p, f) x(p, c)
//   dx(p, f) = alpha sum over c of S(f, c) x(p, c), where S(f, c) = dG(f, c) + dG(c, f)
// Both are contractions over the same indices, which ops/contraction computes from tensors of any
// strides and types. S is made in working memory, for some samples at a time.
#include "layers/gram.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/scratch_pool.h"
#include "layers/contraction.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

// The last coordinate of i_desc counts channels, the two before it pixels, further ones images.
ContractionParameters read_gram(const BNNSLayerParametersGram* p) {
  require(p != nullptr, "layer_params is NULL");
  check_contraction_scalars(p->alpha, 0);
  const Descriptor in = read_contraction_tensor(p->i_desc, "i_desc", Use::kInput, 2);
  const Descriptor out = read_contraction_tensor(p->o_desc, "o_desc", Use::kOutput, 2);
  const size_t rank = in.rank(), out_rank = std::max<size_t>(2, rank - 1);
  const size_t channels = in.logical_extent(rank - 1);
  bool fits = out.rank() == out_rank;
  for (size_t i = 0; fits && i < out_rank; ++i)
    fits = out.logical_extent(i) == (i + 2 < out_rank ? in.logical_extent(i) : channels);
  if (!fits) {
    fail("o_desc is ", describe(out), ", i_desc is ", describe(in), "; o_desc must hold a ",
         channels, " x ", channels, " matrix for each image");
  }
  // Each index has its extent and the axes of x(p, f), of x(p, c) and of G that it runs along.
  constexpr uint8_t kNo = ContractionIndex::kNoAxis;
  const auto g_axis = [&](size_t i) { return view_axis(*out.layout, i); };
  const uint8_t channel = view_axis(*in.layout, rank - 1);
  ContractionParameters g = {.kind = "a Gram filter", .tensor = {in, in, out}, .alpha = p->alpha};
  g.index[g.indices++] = {channels, {channel, kNo, g_axis(out_rank - 2)}};
  g.index[g.indices++] = {channels, {kNo, channel, g_axis(out_rank - 1)}};
  for (size_t i = 0; i + 1 < rank; ++i) {
    const uint8_t axis = view_axis(*in.layout, i), image = i + 2 < out_rank ? g_axis(i) : kNo;
    g.index[g.indices++] = {in.logical_extent(i), {axis, axis, image}};
  }
  return g;
}

class GramFilter final : public Filter {
 public:
  GramFilter(const FilterOptions& options, const ContractionParameters& p)
      : Filter(p.kind, options), p_(p), scratch_(options.memory) {}

  void apply(const ForwardArgs& args) override {
    if (args.batch == 0) return;
    Call call(args.batch);
    const Batch x = call.reads(in_, args.in, args.in_stride, kIn);
    const Batch g = call.writes(out_, args.out, args.out_stride, kOut);
    call.check_overlaps();

    const ContractionOp op = forward(x, g);
    const auto scratch = scratch_.take();
    scratch->grow(memory(), op.scratch());
    op.run({.a = x.data, .b = x.data, .c = g.data}, scratch->data());
  }

  void apply_backward(const BackwardArgs& args) override {
    constexpr DeltaRules kRules = {.bfloat16 = true, .same_layout = true};
    require(!is_wanted(args.weights_delta), "weights_delta has data; a Gram layer has no weights");
    require(!is_wanted(args.bias_delta), "bias_delta has data; a Gram layer has no bias");
    if (args.batch == 0 || !is_wanted(args.in_delta)) return;
    Call call(args.batch);
    const Batch x = call.reads(in_, args.in, args.in_stride, kIn);
    const Batch dg =
        call.reads_delta(args.out_delta, args.out_delta_stride, kOutDelta, out_, "o_desc", kRules);
    const Gradient dx =
        call.writes_delta(*args.in_delta, args.in_delta_stride, kInDelta, in_, "i_desc", kRules);
    call.check_overlaps();

    const size_t most = std::min(most_, args.batch), floats = backward(x, dx, most).scratch();
    const auto scratch = scratch_.take();
    scratch->grow(memory(), floats + most * s_.count);
    float* s = scratch->data() + floats;
    for (size_t i = 0; i < args.batch; i += most) {
      const size_t n = std::min(most, args.batch - i);
      const void* x_part = x.part(i, n).data;
      void* dx_part = dx.part(i, n).data;
      add_transposed(dg.part(i, n), s);
      backward(x, dx, n).run({.a = s, .b = x_part, .c = dx_part, .accumulate = dx.accumulate},
                             scratch->data());
    }
  }

  // A gradient may have either type, and gaps. A smaller batch needs no more memory.
  void reserve(size_t batch, size_t callers) override {
    Filter::reserve(batch, callers);
    const size_t most = std::clamp<size_t>(batch, 1, most_);
    const Batch x = make_batch(in_.view, nullptr, std::max<size_t>(1, batch), 0);
    size_t floats = forward(x, make_batch(out_.view, nullptr, x.size, 0)).scratch();
    for (const size_t gap : {0, 1})
      for (const BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeBFloat16}) {
        View delta = in_.view;
        delta.type = type;
        for (size_t k = 0; k < delta.rank; ++k) delta.stride[k] += gap * k;
        const Batch dx = make_batch(delta, nullptr, x.size, 0);
        floats = std::max(floats, backward(x, dx, most).scratch() + most * s_.count);
      }
    scratch_.reserve(callers, [&](Array<float>& set) { set.grow(memory(), floats); });
  }
  Text plan() const override { return Text(describe(in_), " to ", describe(out_)); }

 private:
  ContractionOp forward(const Batch& x, const Batch& g) const {
    const ContractionView views[] = {{x.sample, x.step}, {x.sample, x.step}, {g.sample, g.step}};
    return {*gemm_, *convert_, threads(),
            contraction_problem(p_, x.size, {kLeft, kRight, kResult}, views)};
  }
  // Of n samples: S takes the place of G, and dx that of x(p, f).
  ContractionOp backward(const Batch& x, const Batch& dx, size_t n) const {
    const ContractionView views[] = {{&s_, s_.count}, {x.sample, x.step}, {dx.sample, dx.step}};
    return {*gemm_, *convert_, threads(),
            contraction_problem(p_, n, {kResult, kRight, kLeft}, views)};
  }
  // S of some samples, in the order of G in memory.
  void add_transposed(const Batch& dg, float* s) const {
    View turned = *dg.sample;
    std::swap(turned.stride[p_.index[0].axis[kResult]], turned.stride[p_.index[1].axis[kResult]]);
    const Operand both[] = {{whole(dg)}, {batched(turned, dg.data, dg.size, dg.step)}};
    for_blocks(*convert_, std::to_array(both), 0, both[0].view.count, [&](auto& rows, size_t n) {
      for (size_t i = 0; i < n; ++i) *s++ = rows[0][i] + rows[1][i];
    });
  }

  ContractionParameters p_;
  const Descriptor &in_ = p_.tensor[kLeft], &out_ = p_.tensor[kResult];
  View s_ = dense_floats(out_.view);
  size_t most_ = std::max<size_t>(1, (size_t{1} << 18) / s_.count);  // samples with 1 MB of S
  const GemmKernels* gemm_ = gemm_kernels();
  const ConvertKernels* convert_ = convert_kernels();
  ScratchPool<Array<float>> scratch_;
};

}  // namespace

BNNSFilter make_gram_filter(const BNNSLayerParametersGram* parameters,
                            const BNNSFilterParameters* filter_parameters) {
  return make_filter<GramFilter>(FilterOptions(filter_parameters), read_gram(parameters));
}

}  // namespace bnns::impl

// The lstm primitives of oneDNN 2.x and 3.x, whose gates have the order of ours: with weights in
// the layouts they ask for, to which those of the user are reordered in every call.
#include "workloads/lstm.h"

#include "onednn/convolution.h"

namespace bench {
namespace {

using Forward = dnnl::lstm_forward;
using Backward = dnnl::lstm_backward;
using dnnl::memory;

constexpr auto kFloat = memory::data_type::f32;

struct Descs {
  Desc x, y, first, last, iw, hw, bias, any_iw, any_hw;

  explicit Descs(const Lstm& p) {
    const auto dim = [](size_t v) { return memory::dim(v); };
    const memory::dim t = dim(p.steps), n = dim(p.batch), i = dim(p.inputs), h = dim(p.hidden);
    x = Desc({t, n, i}, kFloat, Tag::tnc);
    y = Desc({t, n, h}, kFloat, Tag::tnc);
    iw = Desc({1, 1, i, 4, h}, kFloat, Tag::ldgoi);
    hw = Desc({1, 1, h, 4, h}, kFloat, Tag::ldgoi);
    any_iw = Desc({1, 1, i, 4, h}, kFloat, Tag::any);
    any_hw = Desc({1, 1, h, 4, h}, kFloat, Tag::any);
    bias = Desc({1, 1, 4, h}, kFloat, Tag::ldgo);
    first = Desc({1, 1, n, h}, kFloat, Tag::ldnc);
  }
};

Sequence sequence(const Lstm& p, bool train) {
  const Descs d(p);
  const auto direction = dnnl::rnn_direction::unidirectional_left2right;
  const auto kind = train ? dnnl::prop_kind::forward_training : dnnl::prop_kind::forward_inference;
  const auto f = describe<Forward>(kind, direction, d.x, d.first, d.first, d.any_iw, d.any_hw,
                                   d.bias, d.y, d.last, d.last);
  Sequence s;
  const memory x = s.user("in", d.x, p.in.data()), bias = s.user("bias", d.bias, p.bias.data()),
               y = s.user("out", d.y, nullptr);
  s.user("iw", d.iw, p.iw.data());
  s.user("hw", d.hw, p.hw.data());
  // Without initial states, 2.6 computes wrong gradients of the recurrent weights.
  const memory h = s.user("h", d.first, nullptr), c = s.user("c", d.first, nullptr);
  for (const memory& m : {h, c}) s.zero(m);
  Arguments arguments = {{DNNL_ARG_SRC_LAYER, x},
                         {DNNL_ARG_SRC_ITER, h},
                         {DNNL_ARG_SRC_ITER_C, c},
                         {DNNL_ARG_WEIGHTS_LAYER, s.in("iw", f.weights_layer_desc())},
                         {DNNL_ARG_WEIGHTS_ITER, s.in("hw", f.weights_iter_desc())},
                         {DNNL_ARG_BIAS, bias},
                         {DNNL_ARG_DST_LAYER, y}};
  if (train) arguments[DNNL_ARG_WORKSPACE] = memory(f.workspace_desc(), engine());
  s.add(Forward(f), arguments);
  s.back("out", y);
  if (!train) return s;
  const auto b = describe_backward<Backward>(
      f, dnnl::prop_kind::backward, direction, d.x, d.first, d.first, d.any_iw, d.any_hw, d.bias,
      d.y, d.last, d.last, d.x, d.first, d.first, d.any_iw, d.any_hw, d.bias, d.y, d.last, d.last);
  const memory dy = s.user("out_delta", d.y, p.out_delta.data());
  const memory dx = s.user("in_delta", d.x, nullptr), db = s.user("bias_delta", d.bias, nullptr);
  s.user("iw_delta", d.iw, nullptr);
  s.user("hw_delta", d.hw, nullptr);
  const memory diw = s.out("iw_delta", b.diff_weights_layer_desc()),
               dhw = s.out("hw_delta", b.diff_weights_iter_desc());
  arguments[DNNL_ARG_WEIGHTS_LAYER] = s.in("iw", b.weights_layer_desc());
  arguments[DNNL_ARG_WEIGHTS_ITER] = s.in("hw", b.weights_iter_desc());
  arguments[DNNL_ARG_DIFF_DST_LAYER] = dy;
  arguments[DNNL_ARG_DIFF_SRC_LAYER] = dx;
  arguments[DNNL_ARG_DIFF_SRC_ITER] = memory(d.first, engine());
  arguments[DNNL_ARG_DIFF_SRC_ITER_C] = memory(d.first, engine());
  arguments[DNNL_ARG_DIFF_WEIGHTS_LAYER] = diw;
  arguments[DNNL_ARG_DIFF_WEIGHTS_ITER] = dhw;
  arguments[DNNL_ARG_DIFF_BIAS] = db;
  // Gradients of weights are added to what is there.
  for (const memory& m : {diw, dhw, db}) s.zero(m);
  s.add(Backward(b), arguments);
  s.back("in_delta", dx);
  s.back("iw_delta", diw);
  s.back("hw_delta", dhw);
  s.back("bias_delta", db);
  return s;
}

}  // namespace

void add_onednn_lstm(const Lstm& p, Rows& rows) {
  rows.add("fwd", entry("onednn-reorder", sequence(p, false), ""));
  rows.add("fwd+bwd", entry("onednn-reorder", sequence(p, true), ""));
}

}  // namespace bench

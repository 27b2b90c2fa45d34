// Pooling with oneDNN 2.x and 3.x: "onednn-plain" on the user's layout, "onednn-reorder" on blocks
// of 8 or 16 channels with the reorders from and to the user's layout counted. Maxima keep oneDNN's
// workspace.
#include <unordered_map>

#include "onednn/onednn.h"
#include "workloads/pooling.h"

namespace bench {
namespace {
using dnnl::memory;
using Arguments = std::unordered_map<int, memory>;

Desc f32(const Pooling& p, size_t side, Tag tag) {
  return {{memory::dim(p.batch), memory::dim(p.channels), memory::dim(side), memory::dim(side)},
          memory::data_type::f32,
          tag};
}

// A primitive between the reorders of its input and its output.
class Steps {
 public:
  Steps(dnnl::primitive p, int in_id, const Desc& in_layout, const Desc& in_plain, float* in,
        int out_id, const Desc& out_layout, const Desc& out_plain, const memory* workspace)
      : primitive_(std::move(p)), user_in_(in_plain, engine(), in), user_out_(out_plain, engine()) {
    const bool same = in_layout == in_plain;
    in_ = same ? user_in_ : memory(in_layout, engine());
    out_ = same ? user_out_ : memory(out_layout, engine());
    arguments_ = {{in_id, in_}, {out_id, out_}};
    if (workspace != nullptr) arguments_.emplace(DNNL_ARG_WORKSPACE, *workspace);
    if (same) return;
    before_ = dnnl::reorder(user_in_, in_);
    after_ = dnnl::reorder(out_, user_out_);
  }

  void run() {
    if (before_) before_.execute(stream(), user_in_, in_);
    primitive_.execute(stream(), arguments_);
    if (after_) after_.execute(stream(), out_, user_out_);
    stream().wait();
  }
  Result result(const char* tensor) {
    run();
    const float* data = static_cast<const float*>(user_out_.get_data_handle());
    return {.tensor = tensor,
            .value = {data, data + user_out_.get_desc().get_size() / sizeof(float)}};
  }

 private:
  dnnl::primitive primitive_;
  memory user_in_, user_out_, in_, out_;
  Arguments arguments_;
  dnnl::reorder before_, after_;
};

Entry entry(const char* who, const char* tensor, Steps steps, std::string note) {
  const auto shared = std::make_shared<Steps>(std::move(steps));
  return {.who = who,
          .run = repeated([shared] { shared->run(); }),
          .results = [=] { return std::vector<Result>{shared->result(tensor)}; },
          .note = std::move(note)};
}

void add(const Pooling& p, Tag tag, const char* who, Rows& rows) {
  const PoolingWindow& w = p.window;
  const auto algorithm =
      w.max ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_include_padding;
  const Desc x = f32(p, p.side, tag), y = f32(p, p.out_side(), tag);
  const Desc plain_x = f32(p, p.side, Tag::nchw), plain_y = f32(p, p.out_side(), Tag::nchw);
  const auto pair = [](size_t n) { return memory::dims{memory::dim(n), memory::dim(n)}; };
  const memory::dims stride = pair(w.stride), kernel = pair(w.kernel), pad = pair(w.pad);
  using Forward = dnnl::pooling_forward;
  using Backward = dnnl::pooling_backward;
  const auto training = dnnl::prop_kind::forward_training;
#if DNNL_VERSION_MAJOR >= 3
  const memory::dims none = pair(0);
  const Forward::primitive_desc forward(engine(), training, algorithm, x, y, stride, kernel, none,
                                        pad, pad);
  const Backward::primitive_desc backward(engine(), algorithm, x, y, stride, kernel, none, pad, pad,
                                          forward);
#else
  const Forward::primitive_desc forward(
      Forward::desc(training, algorithm, x, y, stride, kernel, pad, pad), engine());
  const Backward::primitive_desc backward(Backward::desc(algorithm, x, y, stride, kernel, pad, pad),
                                          engine(), forward);
#endif
  memory workspace;
  if (w.max) workspace = memory(forward.workspace_desc(), engine());
  const memory* kept = w.max ? &workspace : nullptr;
  Steps f(Forward(forward), DNNL_ARG_SRC, x, plain_x, p.in.data(), DNNL_ARG_DST, y, plain_y, kept);
  Steps b(Backward(backward), DNNL_ARG_DIFF_DST, y, plain_y, p.out_delta.data(), DNNL_ARG_DIFF_SRC,
          x, plain_x, kept);
  f.run();  // fills the workspace
  rows.add("fwd", entry(who, "out", std::move(f), forward.impl_info_str()));
  rows.add("bwd", entry(who, "in_delta", std::move(b), backward.impl_info_str()));
}

}  // namespace

void add_onednn_pooling(const Pooling& p, Rows& rows) {
  if (p.window.fused != Fused::kNone) return;
  const bool wide = dnnl::get_effective_cpu_isa() >= dnnl::cpu_isa::avx512_core;
  add(p, Tag::nchw, "onednn-plain", rows);
  add(p, wide ? Tag::nChw16c : Tag::nChw8c, "onednn-reorder", rows);
}

}  // namespace bench

// Normalization with oneDNN 2.x and 3.x: "onednn-plain" on the user's layout, "onednn-reorder" on
// blocks of channels with the reorders from and to the user's layout counted.
#include <unordered_map>

#include "workloads/normalization.h"
#include "onednn/normalization.h"

namespace bench {
namespace {
using dnnl::memory;
using Flags = dnnl::normalization_flags;

Desc f32(const memory::dims& dims, Tag tag) {
  return {dims, memory::data_type::f32, tag};
}

// A primitive with the reorders of the tensors that are not in its layout.
class Steps {
 public:
  void input(int id, const Desc& plain, const Desc& wanted, float* data) {
    const memory user(plain, engine(), data);
    arguments_[id] = plain == wanted ? user : memory(wanted, engine());
    if (plain != wanted)
      before_.push_back({dnnl::reorder(user, arguments_[id]), user, arguments_[id]});
  }
  void output(int id, const char* tensor, const Desc& plain, const Desc& made) {
    const memory user(plain, engine());
    arguments_[id] = plain == made ? user : memory(made, engine());
    if (plain != made)
      after_.push_back({dnnl::reorder(arguments_[id], user), arguments_[id], user});
    if (tensor != nullptr) results_.push_back({tensor, user});
  }
  void share(int id, const memory& m) { arguments_[id] = m; }
  const memory& at(int id) const { return arguments_.at(id); }
  void set(const dnnl::primitive& p) { primitive_ = p; }

  void run() const {
    for (const Move& m : before_) m.run();
    primitive_.execute(stream(), arguments_);
    for (const Move& m : after_) m.run();
  }
  std::vector<Result> results() const {
    run();
    stream().wait();
    std::vector<Result> list;
    for (const auto& [tensor, m] : results_) {
      const float* data = static_cast<const float*>(m.get_data_handle());
      list.push_back(
          {.tensor = tensor, .value = {data, data + m.get_desc().get_size() / sizeof(float)}});
    }
    return list;
  }

 private:
  struct Move {
    dnnl::reorder how;
    memory from, to;
    void run() const { how.execute(stream(), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}); }
  };
  std::unordered_map<int, memory> arguments_;
  std::vector<Move> before_, after_;
  std::vector<std::pair<std::string, memory>> results_;
  dnnl::primitive primitive_;
};

Entry entry(const char* who, const std::shared_ptr<const Steps>& steps, std::string note) {
  return {.who = who,
          .run = repeated([steps] { steps->run(); }),
          .results = [steps] { return steps->results(); },
          .note = std::move(note)};
}

struct Layouts {
  Desc user, data, channels, statistics;
};

template <class Primitive, class Descriptor>
std::shared_ptr<Steps> forward_steps(const Normalization& p, const Layouts& l,
                                     const Descriptor& d) {
  const auto steps = std::make_shared<Steps>();
  steps->input(DNNL_ARG_SRC, l.user, l.data, p.in.data());
  steps->input(DNNL_ARG_SCALE, l.channels, l.channels, p.gamma.data());
  steps->input(DNNL_ARG_SHIFT, l.channels, l.channels, p.beta.data());
  steps->output(DNNL_ARG_DST, "out", l.user, l.data);
  steps->output(DNNL_ARG_MEAN, nullptr, l.statistics, l.statistics);
  steps->output(DNNL_ARG_VARIANCE, nullptr, l.statistics, l.statistics);
  if (!p.by_row()) steps->share(DNNL_ARG_WORKSPACE, memory(d.workspace_desc(), engine()));
  steps->set(Primitive(d));
  steps->run();
  return steps;
}

template <class Primitive, class Descriptor>
std::shared_ptr<Steps> backward_steps(const Normalization& p, const Layouts& l, const Descriptor& d,
                                      const Steps& forward) {
  const auto steps = std::make_shared<Steps>();
  steps->input(DNNL_ARG_SRC, l.user, l.data, p.in.data());
  steps->input(DNNL_ARG_DIFF_DST, l.user, l.data, p.out_delta.data());
  steps->input(DNNL_ARG_SCALE, l.channels, l.channels, p.gamma.data());
  steps->output(DNNL_ARG_DIFF_SRC, "in_delta", l.user, l.data);
  steps->output(DNNL_ARG_DIFF_SCALE, "gamma_delta", l.channels, l.channels);
  steps->output(DNNL_ARG_DIFF_SHIFT, "beta_delta", l.channels, l.channels);
  steps->share(DNNL_ARG_MEAN, forward.at(DNNL_ARG_MEAN));
  steps->share(DNNL_ARG_VARIANCE, forward.at(DNNL_ARG_VARIANCE));
  // 2.x fails without this argument, batch normalization of 3.x fails with it.
  if (DNNL_VERSION_MAJOR < 3 || p.by_row())
    steps->share(DNNL_ARG_SHIFT, forward.at(DNNL_ARG_SHIFT));
  if (!p.by_row()) steps->share(DNNL_ARG_WORKSPACE, forward.at(DNNL_ARG_WORKSPACE));
  steps->set(Primitive(d));
  return steps;
}

void add_batch(const Normalization& p, Tag tag, const char* who, Rows& rows) {
  const memory::dims dims = {int64_t(p.batch), int64_t(p.channels), int64_t(p.side),
                             int64_t(p.side)};
  const Desc channels = f32({int64_t(p.channels)}, Tag::x);
  const Layouts l = {f32(dims, Tag::nchw), f32(dims, tag), channels, channels};
  const Flags flags = Flags::use_scale | Flags::use_shift | Flags::fuse_norm_relu;
  using Forward = dnnl::batch_normalization_forward;
  using Backward = dnnl::batch_normalization_backward;
  const auto f = describe_training<Forward>(l.data, Normalization::kEpsilon, flags);
  const auto b = describe_gradient<Backward>(f, l.data, Normalization::kEpsilon, flags);
  const auto forward = forward_steps<Forward>(p, l, f);
  rows.add("fwd", entry(who, forward, f.impl_info_str()));
  rows.add("bwd", entry(who, backward_steps<Backward>(p, l, b, *forward), b.impl_info_str()));
}

}  // namespace

void add_onednn_normalization(const Normalization& p, Rows& rows) {
  if (!p.by_row()) {
    add_batch(p, Tag::nchw, "onednn-plain", rows);
    add_batch(p, Tag::nChw8c, "onednn-reorder", rows);
    return;
  }
  const Desc data = f32({int64_t(p.batch), int64_t(p.channels)}, Tag::ab);
  const Layouts l = {data, data, f32({int64_t(p.channels)}, Tag::x),
                     f32({int64_t(p.batch)}, Tag::a)};
  const Flags flags = Flags::use_scale | Flags::use_shift;
  using Forward = dnnl::layer_normalization_forward;
  using Backward = dnnl::layer_normalization_backward;
  const auto f = describe_training<Forward>(data, l.statistics, Normalization::kEpsilon, flags);
  const auto b = describe_gradient<Backward>(f, data, l.statistics, Normalization::kEpsilon, flags);
  const auto forward = forward_steps<Forward>(p, l, f);
  rows.add("fwd", entry("onednn-plain", forward, f.impl_info_str()));
  rows.add("bwd",
           entry("onednn-plain", backward_steps<Backward>(p, l, b, *forward), b.impl_info_str()));
}

}  // namespace bench

// The attention filter: its parameters, its working memory, and the checks of its calls.
#include "layers/attention.h"

#include <atomic>

#include "core/filter.h"
#include "core/scratch_pool.h"
#include "layers/attention_cache.h"
#include "layers/attention_read.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

constexpr DeltaRules kDeltaRules = {.same_layout = true};
constexpr AttentionRole kInputs[] = {kQuery, kKey, kValue};

class AttentionFilter final : public Filter, public AttentionCalls {
 public:
  AttentionFilter(const FilterOptions& options, const AttentionLayer& layer);

  void apply_attention(const AttentionForwardArgs& args) override;
  void apply_attention_backward(const AttentionBackwardArgs& args) override;
  void reserve(size_t batch, size_t callers) override;
  Text plan() const override {
    const AttentionProblem& p = op_.problem();
    return Text(p.heads, " heads, ", p.target, " queries, ", p.keys(), " keys, ", p.key_depth,
                " and ", p.value_depth, " columns each, weights ",
                client_weights_ ? "of the client" : "copied");
  }

 private:
  static AttentionProblem problem_of(const AttentionLayer& layer, bool client);
  void copy_parameters(const FilterOptions& options);
  size_t workspace_bytes(size_t batch, AttentionPass pass) const;
  AttentionRows read_rows(AttentionRole role, const void* data, size_t stride, Call& call) const;
  void read_parameters(Call& call) const;
  AttentionDelta read_delta(AttentionRole role, const BNNSMHAProjectionParameters* given,
                            Call& call) const;
  void read_rows_delta(AttentionRole role, const AttentionBackwardArgs& args, Call& call,
                       Call& coinciding, AttentionDelta (&delta)[kAttentionRoles]) const;
  AttentionTensor read_bias_delta(const BNNSNDArrayDescriptor* given, const char* name,
                                  const Descriptor& frozen, const char* field, bool& accumulate,
                                  Call& call) const;
  void use_workspace(const AttentionArgs& args, AttentionPass pass, Call& call) const;
  template <class Body>
  void with_memory(const AttentionArgs& args, const AttentionPlan& plan, const Body& body);

  AttentionLayer layer_;
  bool client_weights_;
  AttentionOp op_;
  Array<float> copied_;  // parameters that are not the client's
  PackedMatrix packed_[kAttentionRoles];
  RandomStreams streams_;
  std::atomic<uint64_t> calls_{0};
  ScratchPool<Array<float>> scratch_;
};

AttentionProblem AttentionFilter::problem_of(const AttentionLayer& layer, bool client) {
  AttentionProblem p = layer.problem;
  if (client) return p;
  for (size_t i = 0; i < kAttentionRoles; ++i) p.gathers_weights[i] = p.gathers_bias[i] = false;
  p.gathers_attention_bias = false;
  p.packs_weights = true;
  return p;
}

AttentionFilter::AttentionFilter(const FilterOptions& options, const AttentionLayer& layer)
    : Filter("a multi-head attention filter", options),
      layer_(layer),
      client_weights_(options.use_client_pointer),
      op_(problem_of(layer, options.use_client_pointer), options.threads),
      streams_(layer.problem.dropout > 0 && layer.seed == 0),
      scratch_(options.memory) {
  op_.plan(1, AttentionPass::kBackwardAlone);  // refuses sizes whose products overflow
  if (!client_weights_) copy_parameters(options);
}

// Dense copies of all parameters, and panels of the weights.
void AttentionFilter::copy_parameters(const FilterOptions& options) {
  AttentionSources& s = layer_.sources;
  const auto each = [&](const auto& body) {
    for (size_t i = 0; i < kAttentionRoles; ++i) {
      body(s.weights[i]);
      if (s.bias[i].data != nullptr) body(s.bias[i]);
    }
    if (s.key_bias.data == nullptr) return;
    body(s.key_bias);
    body(s.value_bias);
  };
  size_t floats = 0;
  each([&](const AttentionTensor& t) {
    floats = checked_add(floats, t.view().count, "the parameters of an attention layer");
  });
  copied_ = Array<float>(options.memory, floats);
  float* to = copied_.data();
  each([&](AttentionTensor& t) {
    op_.gather(t.view(), to);
    t.data = to;
    to += t.view().count;
    for (size_t k = 0, stride = 1; k < 3; stride *= t.extent[k++]) t.stride[k] = stride;
  });
  const AttentionProblem& p = op_.problem();
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const auto role = static_cast<AttentionRole>(i);
    packed_[i] =
        PackedMatrix(options.memory, op_.gemm(), GemmSide::kB, p.results(role), p.depth(role));
    packed_[i].pack(op_.gemm(), options.threads, {.row = p.results(role)}, s.weights[i].data);
  }
  s.packed = packed_;
}

// ---- Working memory ----

// With room to align whatever the client passes.
size_t AttentionFilter::workspace_bytes(size_t batch, AttentionPass pass) const {
  const size_t floats = op_.plan(batch, pass).floats;
  return checked_add(checked_mul(floats, sizeof(float), "the workspace"), kAlignment,
                     "the workspace");
}

void AttentionFilter::use_workspace(const AttentionArgs& args, AttentionPass pass,
                                    Call& call) const {
  if (args.workspace == nullptr || args.workspace_size == nullptr) return;
  const size_t needed = workspace_bytes(args.batch, pass);
  require(*args.workspace_size >= needed, "*workspace_size is ", *args.workspace_size,
          "; this call needs ", needed, " bytes");
  const char* begin = static_cast<const char*>(args.workspace);
  call.writes(Range{begin, begin + needed}, "workspace");
}

// body(memory), with the client's workspace if there is one.
template <class Body>
void AttentionFilter::with_memory(const AttentionArgs& args, const AttentionPlan& plan,
                                  const Body& body) {
  if (args.workspace != nullptr && args.workspace_size != nullptr) {
    const auto address = reinterpret_cast<uintptr_t>(args.workspace);
    char* begin = static_cast<char*>(args.workspace);
    return body(reinterpret_cast<float*>(begin + (kAlignment - address % kAlignment) % kAlignment));
  }
  const auto scratch = scratch_.take();
  scratch->grow(memory(), plan.floats);
  body(scratch->data());
}

// Enough for every smaller batch, too: the rest of a batch behind its chunks may have any size.
void AttentionFilter::reserve(size_t batch, size_t callers) {
  Filter::reserve(batch, callers);
  if (batch == 0) return;
  const size_t chunk = op_.plan(batch, AttentionPass::kForward).chunk;
  size_t floats = 0;
  for (size_t n = 1; n <= std::min(batch, 2 * chunk); ++n) {
    floats = std::max({floats, op_.plan(n, AttentionPass::kForward).floats,
                       op_.plan(n, AttentionPass::kBackwardAlone).floats});
  }
  scratch_.reserve(callers, [&](Array<float>& set) { set.grow(memory(), floats); });
}

// ---- Calls ----

AttentionRows AttentionFilter::read_rows(AttentionRole role, const void* data, size_t stride,
                                         Call& call) const {
  const AttentionNames& names = attention_names(role);
  return attention_rows(call.reads(layer_.target[role], data, stride, {names.data, names.stride}),
                        layer_.target[role]);
}

// Parameters of the client are read in each call.
void AttentionFilter::read_parameters(Call& call) const {
  if (!client_weights_) return;
  const AttentionProblem& p = op_.problem();
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    call.reads(range_of(layer_.weights[i].view), attention_names(i).weights);
    if (p.has_bias[i]) call.reads(range_of(layer_.bias[i].view), attention_names(i).bias);
  }
  if (!p.attention_bias) return;
  call.reads(range_of(layer_.key_bias.view), "key_attn_bias");
  call.reads(range_of(layer_.value_bias.view), "value_attn_bias");
}

void AttentionFilter::apply_attention(const AttentionForwardArgs& args) {
  const AttentionArgs& in = args.inputs;
  const bool keeps = args.backprop_cache != nullptr;
  const bool asks_cache = args.backprop_cache_size != nullptr && !keeps;
  const bool asks_workspace = in.workspace_size != nullptr && in.workspace == nullptr;
  const AttentionPass pass =
      keeps || asks_cache ? AttentionPass::kForwardKeeping : AttentionPass::kForward;
  if (asks_cache || asks_workspace) {
    const size_t cache = asks_cache ? attention_cache_bytes(op_.problem(), in.batch) : 0;
    if (asks_workspace) *in.workspace_size = workspace_bytes(in.batch, pass);
    if (asks_cache) *args.backprop_cache_size = cache;
    return;
  }
  require(!keeps || args.backprop_cache_size != nullptr,
          "backprop_cache_size is NULL; it must tell the bytes of backprop_cache");
  if (in.batch == 0) return;
  Call call(in.batch);
  AttentionForward f = {
      .batch = in.batch,
      .query = read_rows(kQuery, in.query, in.query_stride, call),
      .key = read_rows(kKey, in.key, in.key_stride, call),
      .value = read_rows(kValue, in.value, in.value_stride, call),
      .output = attention_rows(call.writes(layer_.target[kOutput], args.output, args.output_stride,
                                           {"output", "output_stride"}),
                               layer_.target[kOutput]),
      .masks = read_attention_masks(in, op_.problem(), call),
      .parameters = layer_.sources};
  read_parameters(call);
  auto* cache = static_cast<char*>(args.backprop_cache);
  if (keeps) {
    require_attention_cache(op_.problem(), *args.backprop_cache_size, cache, in.batch);
    call.writes(Range{cache, cache + attention_cache_bytes(op_.problem(), in.batch)},
                "backprop_cache");
    f.state = reinterpret_cast<float*>(cache + kAttentionHeader);
  }
  use_workspace(in, pass, call);
  call.check_overlaps();
  const AttentionPlan plan = op_.plan(in.batch, pass);
  with_memory(in, plan, [&](float* memory) {
    if (op_.problem().dropout > 0) {
      // Streams of seeds have the highest bit set, which those of filters never have.
      const uint64_t number = calls_.fetch_add(1, std::memory_order_relaxed) & 0x7FFFFFFF;
      f.stream = layer_.seed == 0 ? streams_.next()
                                  : uint64_t{1} << 63 | uint64_t{layer_.seed} << 31 | number;
    }
    if (keeps) {
      write_attention_header(op_.problem(), in.batch, f.masks, cache);
    }
    op_.forward(f, plan, memory);
  });
}

AttentionTensor AttentionFilter::read_bias_delta(const BNNSNDArrayDescriptor* given,
                                                 const char* name, const Descriptor& frozen,
                                                 const char* field, bool& accumulate,
                                                 Call& call) const {
  const Gradient g = call.writes_parameter_delta(given, name, frozen, field, kDeltaRules);
  if (!g) return {};
  accumulate = g.accumulate;
  View view = *g.sample;
  view.data = g.data;
  return attention_bias(view, frozen);
}

// Gradients of the parameters of a projection.
AttentionDelta AttentionFilter::read_delta(AttentionRole role,
                                           const BNNSMHAProjectionParameters* given,
                                           Call& call) const {
  AttentionDelta delta;
  if (given == nullptr) return delta;
  const AttentionNames& names = attention_names(role);
  const Gradient w = call.writes_parameter_delta(&given->weights, names.weights_delta,
                                                 layer_.weights[role], names.weights, kDeltaRules);
  if (w) {
    View view = *w.sample;
    view.data = w.data;
    delta.weights = attention_weights(view, layer_.weights[role], role);
    delta.weights_accumulate = w.accumulate;
  }
  require(op_.problem().has_bias[role] || given->bias.data == nullptr, names.bias_delta,
          ".data is given, but the filter has no ", names.bias);
  delta.bias = read_bias_delta(&given->bias, names.bias_delta, layer_.bias[role], names.bias,
                               delta.bias_accumulate, call);
  return delta;
}

// The gradient of the rows of a role. One that is the same memory as that of an earlier role must
// describe it in the same way; it is read through a call of its own, as the two do not clash.
void AttentionFilter::read_rows_delta(AttentionRole role, const AttentionBackwardArgs& args,
                                      Call& call, Call& coinciding,
                                      AttentionDelta (&delta)[kAttentionRoles]) const {
  const BNNSMHAProjectionParameters* given = args.param_delta[role];
  if (given == nullptr || given->target_desc.data == nullptr) return;
  const BNNSNDArrayDescriptor& d = given->target_desc;
  const AttentionNames& names = attention_names(role);
  size_t twin = 0;
  while (twin < role && delta[twin].rows.data != d.data) ++twin;
  const Gradient g = (twin < role ? coinciding : call)
                         .writes_delta(d, d.stride[2], {names.target_delta, names.batch_stride},
                                       layer_.target[role], names.target, kDeltaRules);
  delta[role].rows = attention_rows(g, layer_.target[role]);
  delta[role].rows_accumulate = g.accumulate;
  if (twin == role) return;
  const AttentionRows &a = delta[twin].rows, &b = delta[role].rows;
  const AttentionProblem& p = op_.problem();
  const auto rank_of = [&](size_t r) { return p.rows(static_cast<AttentionRole>(r)); };
  require(p.columns[twin] == p.columns[role] && rank_of(twin) == rank_of(role) && a.row == b.row &&
              a.column == b.column && a.step == b.step,
          names.target_delta, ".data is that of ", attention_names(twin).target_delta,
          "; sizes and strides must be equal then, too");
  require(delta[twin].rows_accumulate == g.accumulate, names.target_delta, ".flags is not that of ",
          attention_names(twin).target_delta, "; gradients of the same memory have equal flags");
}

void AttentionFilter::apply_attention_backward(const AttentionBackwardArgs& args) {
  const AttentionArgs& in = args.inputs;
  const AttentionProblem& p = op_.problem();
  const bool kept = args.backprop_cache != nullptr;
  const AttentionPass pass = kept ? AttentionPass::kBackward : AttentionPass::kBackwardAlone;
  if (in.workspace_size != nullptr && in.workspace == nullptr) {
    *in.workspace_size = workspace_bytes(in.batch, pass);
    return;
  }
  require(kept || p.dropout == 0, "backprop_cache is NULL, but dropout is ", double{p.dropout},
          "; only the cache of the forward call tells what was dropped");
  require(args.param_delta[kOutput] != nullptr, "output_param_delta is NULL");
  for (const auto& [delta, name] : {std::pair{args.key_attn_bias_delta, "key_attn_bias_delta"},
                                    std::pair{args.value_attn_bias_delta, "value_attn_bias_delta"}})
    require(!is_wanted(delta) || p.attention_bias, name, " has data; the filter has no such rows");
  if (in.batch == 0) return;
  Call call(in.batch), coinciding(in.batch);
  AttentionBackward b = {.batch = in.batch, .parameters = layer_.sources};
  const BNNSNDArrayDescriptor& dy = args.param_delta[kOutput]->target_desc;
  const AttentionNames& out = attention_names(kOutput);
  b.output_delta =
      attention_rows(call.reads_delta(&dy, dy.stride[2], {out.target_delta, out.batch_stride},
                                      layer_.target[kOutput], out.target, kDeltaRules),
                     layer_.target[kOutput]);
  bool wanted = false, wants_parameters = false;
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const auto role = static_cast<AttentionRole>(i);
    b.delta[i] = read_delta(role, args.param_delta[i], call);
    if (role != kOutput) read_rows_delta(role, args, call, coinciding, b.delta);
    wanted |= b.delta[i].any();
    wants_parameters |= b.delta[i].wants_parameters();
  }
  b.key_bias = read_bias_delta(args.key_attn_bias_delta, "key_attn_bias_delta", layer_.key_bias,
                               "key_attn_bias", b.key_bias_accumulate, call);
  b.value_bias =
      read_bias_delta(args.value_attn_bias_delta, "value_attn_bias_delta", layer_.value_bias,
                      "value_attn_bias", b.value_bias_accumulate, call);
  if (!wanted && b.key_bias.data == nullptr && b.value_bias.data == nullptr) return;
  // With a cache, inputs are needed for the gradients of their weights only.
  const void* const inputs[] = {in.query, in.key, in.value};
  const size_t strides[] = {in.query_stride, in.key_stride, in.value_stride};
  AttentionRows* const rows[] = {&b.query, &b.key, &b.value};
  for (const AttentionRole role : kInputs) {
    if (!kept || b.delta[role].weights.data != nullptr)
      *rows[role] = read_rows(role, inputs[role], strides[role], call);
  }
  b.masks = read_attention_masks(in, p, call);
  read_parameters(call);
  if (kept) {
    require_attention_cache(p, args.backprop_cache_size, args.backprop_cache, in.batch);
    require_attention_header(p, in.batch, b.masks, args.backprop_cache);
    const auto* cache = static_cast<const char*>(args.backprop_cache);
    call.reads(Range{cache, cache + attention_cache_bytes(op_.problem(), in.batch)},
               "backprop_cache");
    b.state = reinterpret_cast<const float*>(cache + kAttentionHeader);
  }
  use_workspace(in, pass, call);
  call.check_overlaps();
  if (wants_parameters && !client_weights_)
    warn_of_copy("BNNSApplyMultiheadAttentionBackward", "weights delta", "weights");
  const AttentionPlan plan = op_.plan(in.batch, pass);
  with_memory(in, plan, [&](float* memory) { op_.backward(b, plan, memory); });
}

}  // namespace

BNNSFilter make_attention_filter(const BNNSLayerParametersMultiheadAttention* parameters,
                                 const BNNSFilterParameters* filter_parameters) {
  const AttentionLayer layer = read_attention(parameters);
  return make_filter<AttentionFilter>(FilterOptions(filter_parameters), layer);
}

}  // namespace bnns::impl

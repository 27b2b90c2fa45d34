// Sizes of an attention layer: T = rows of query.target_desc, S = rows of key.target_desc, heads, D
// and E = sizes of the weights, by logical coordinate whatever the layout.
#include "layers/attention_read.h"

#include "core/checked.h"
#include "layers/contraction.h"

namespace bnns::impl {
namespace {

constexpr AttentionNames kNames[] = {
    {"query.target_desc", "query.weights", "query.bias", "query", "query_stride",
     "query_param_delta", "query_param_delta->target_desc",
     "query_param_delta->target_desc.stride[2]", "query_param_delta->weights",
     "query_param_delta->bias"},
    {"key.target_desc", "key.weights", "key.bias", "key", "key_stride", "key_param_delta",
     "key_param_delta->target_desc", "key_param_delta->target_desc.stride[2]",
     "key_param_delta->weights", "key_param_delta->bias"},
    {"value.target_desc", "value.weights", "value.bias", "value", "value_stride",
     "value_param_delta", "value_param_delta->target_desc",
     "value_param_delta->target_desc.stride[2]", "value_param_delta->weights",
     "value_param_delta->bias"},
    {"output.target_desc", "output.weights", "output.bias", "output", "output_stride",
     "output_param_delta", "output_param_delta->target_desc",
     "output_param_delta->target_desc.stride[2]", "output_param_delta->weights",
     "output_param_delta->bias"},
};

Descriptor read_floats(const BNNSNDArrayDescriptor& given, const char* field, size_t rank,
                       Use use) {
  const Descriptor d = read_descriptor(given, field, use);
  require_plain_layout(d, field);
  require(d.rank() == rank, field, ".layout is ", d.layout->name, "; it must have ", rank,
          rank == 1 ? " axis" : " axes");
  require(d.view.is_float(), field, ".data_type is ", d.type->name, "; attention works on Float32");
  return d;
}

Descriptor read_parameter(const BNNSNDArrayDescriptor& given, const char* field, size_t rank) {
  const Descriptor d = read_floats(given, field, rank, Use::kInput);
  require_data(given.data, d.view.type, Text(field, ".data").c_str());
  return d;
}

void require_extent(const Descriptor& d, const char* field, size_t axis, size_t right,
                    const char* what) {
  require(d.logical_extent(axis) == right, field, " is ", describe(d), "; its coordinate ", axis,
          " must be ", right, ", ", what);
}

void read_targets(const BNNSMHAProjectionParameters* const (&roles)[kAttentionRoles],
                  AttentionLayer& a) {
  AttentionProblem& p = a.problem;
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    const Use use = i == kOutput ? Use::kOutput : Use::kInput;
    a.target[i] = read_floats(roles[i]->target_desc, kNames[i].target, 2, use);
    p.columns[i] = a.target[i].logical_extent(1);
  }
  p.target = a.target[kQuery].logical_extent(0);
  p.source = a.target[kKey].logical_extent(0);
  require_extent(a.target[kValue], kNames[kValue].target, 0, p.source,
                 "the rows of key.target_desc");
  require_extent(a.target[kOutput], kNames[kOutput].target, 0, p.target,
                 "the rows of query.target_desc");
  require_extent(a.target[kOutput], kNames[kOutput].target, 1, p.columns[kQuery],
                 "the columns of query.target_desc");
}

void read_weights(const BNNSMHAProjectionParameters* const (&roles)[kAttentionRoles],
                  AttentionLayer& a) {
  AttentionProblem& p = a.problem;
  for (size_t i = 0; i < kAttentionRoles; ++i)
    a.weights[i] = read_parameter(roles[i]->weights, kNames[i].weights, i == kOutput ? 2 : 3);
  p.heads = a.weights[kQuery].logical_extent(2);
  p.key_depth = a.weights[kKey].logical_extent(1);
  p.value_depth = a.weights[kValue].logical_extent(1);
  for (const size_t i : {kQuery, kKey, kValue}) {
    const Descriptor& w = a.weights[i];
    require_extent(w, kNames[i].weights, 0, p.columns[i], "the columns of its target_desc");
    require_extent(w, kNames[i].weights, 2, p.heads, "the heads of query.weights");
  }
  require_extent(a.weights[kQuery], kNames[kQuery].weights, 1, p.key_depth, "d_key of key.weights");
  checked_mul(p.heads, p.key_depth, "query.weights");
  const size_t width = checked_mul(p.heads, p.value_depth, "value.weights");
  require_extent(a.weights[kOutput], kNames[kOutput].weights, 0, width,
                 "the heads times d_value of value.weights");
  require_extent(a.weights[kOutput], kNames[kOutput].weights, 1, p.columns[kOutput],
                 "the columns of output.target_desc");
}

// {depth, heads}; with one head, a vector too.
Descriptor read_head_bias(const BNNSNDArrayDescriptor& given, const char* field, size_t depth,
                          size_t heads) {
  const LayoutInfo* layout = find_layout(given.layout);
  const size_t rank = heads == 1 && layout != nullptr && layout->rank == 1 ? 1 : 2;
  const Descriptor d = read_parameter(given, field, rank);
  require_extent(d, field, 0, depth, "the second size of the weights");
  if (rank == 2) require_extent(d, field, 1, heads, "the heads of query.weights");
  return d;
}

void read_biases(const BNNSLayerParametersMultiheadAttention& given,
                 const BNNSMHAProjectionParameters* const (&roles)[kAttentionRoles],
                 AttentionLayer& a) {
  AttentionProblem& p = a.problem;
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    p.has_bias[i] = roles[i]->bias.data != nullptr;
    if (!p.has_bias[i]) continue;
    if (i == kOutput) {
      a.bias[i] = read_parameter(roles[i]->bias, kNames[i].bias, 1);
      require_extent(a.bias[i], kNames[i].bias, 0, p.columns[kOutput],
                     "the columns of output.target_desc");
    } else {
      const size_t depth = i == kValue ? p.value_depth : p.key_depth;
      a.bias[i] = read_head_bias(roles[i]->bias, kNames[i].bias, depth, p.heads);
    }
  }
  p.attention_bias = given.key_attn_bias.data != nullptr;
  require(p.attention_bias == (given.value_attn_bias.data != nullptr),
          p.attention_bias ? "key_attn_bias" : "value_attn_bias", ".data is given, but ",
          p.attention_bias ? "value_attn_bias" : "key_attn_bias",
          ".data is NULL; the two rows are appended together");
  if (!p.attention_bias) return;
  a.key_bias = read_head_bias(given.key_attn_bias, "key_attn_bias", p.key_depth, p.heads);
  a.value_bias = read_head_bias(given.value_attn_bias, "value_attn_bias", p.value_depth, p.heads);
}

bool is_dense(const AttentionTensor& t) {
  const View view = t.view();
  return view.rank == 1 && view.stride[0] == 1;
}

void find_sources(AttentionLayer& a) {
  AttentionProblem& p = a.problem;
  AttentionSources& s = a.sources;
  for (size_t i = 0; i < kAttentionRoles; ++i) {
    s.weights[i] = attention_weights(a.weights[i].view, a.weights[i], i);
    const auto role = static_cast<AttentionRole>(i);
    p.gathers_weights[i] = matrix_row(s.weights[i].view(), p.results(role)) == 0;
    if (!p.has_bias[i]) continue;
    s.bias[i] = attention_bias(a.bias[i].view, a.bias[i]);
    p.gathers_bias[i] = !is_dense(s.bias[i]);
  }
  if (!p.attention_bias) return;
  s.key_bias = attention_bias(a.key_bias.view, a.key_bias);
  s.value_bias = attention_bias(a.value_bias.view, a.value_bias);
  p.gathers_attention_bias = !is_dense(s.key_bias) || !is_dense(s.value_bias);
}

AttentionMasks::Matrix read_matrix(const AttentionArgs& args, const AttentionProblem& p,
                                   Call& call) {
  const char* field = "add_to_attention";
  const Descriptor d = read_descriptor(*args.add_to_attention, field, Use::kInput);
  require_plain_layout(d, field);
  const bool is_boolean = d.type->kind == TypeClass::kBoolean;
  require(is_boolean || d.view.is_float(), field, ".data_type is ", d.type->name,
          "; it must be Float32 or Boolean");
  const size_t rank = d.rank();
  require(rank >= 2 && rank <= 4, field, ".layout is ", d.layout->name,
          "; it must have 2, 3 or 4 axes");
  require_extent(d, field, rank - 1, p.source, "the rows of key.target_desc");
  require_extent(d, field, rank - 2, p.target, "the rows of query.target_desc");
  if (rank > 2) require_extent(d, field, rank - 3, p.heads, "the heads of query.weights");
  if (rank > 3) require_extent(d, field, 0, args.batch, "batch_size");
  require(!d.layout->rotated, field, ".layout is ", d.layout->name,
          "; it must be a plain array here");
  require_data(args.add_to_attention->data, d.view.type, "add_to_attention->data");
  call.reads(range_of(d.view), field);
  return {.data = d.view.data,
          .is_boolean = is_boolean,
          .key = d.logical_stride(rank - 1),
          .query = d.logical_stride(rank - 2),
          .head = rank > 2 ? d.logical_stride(rank - 3) : 0,
          .sample = rank > 3 ? d.logical_stride(0) : 0};
}

}  // namespace

const AttentionNames& attention_names(size_t role) {
  return kNames[role];
}

AttentionLayer read_attention(const BNNSLayerParametersMultiheadAttention* p) {
  require(p != nullptr, "layer_params is NULL");
  const BNNSMHAProjectionParameters* const roles[] = {&p->query, &p->key, &p->value, &p->output};
  AttentionLayer a;
  read_targets(roles, a);
  read_weights(roles, a);
  read_biases(*p, roles, a);
  require(p->dropout >= 0 && p->dropout < 1, "dropout is ", double{p->dropout},
          "; it must be at least 0 and below 1");
  a.problem.zero_row = p->add_zero_attn;
  a.problem.dropout = p->dropout;
  a.seed = p->seed;
  find_sources(a);
  return a;
}

AttentionRows attention_rows(const Batch& batch, const Descriptor& frozen) {
  const auto stride = [&](size_t i) { return batch.sample->stride[view_axis(*frozen.layout, i)]; };
  return {.data = static_cast<float*>(batch.data),
          .row = stride(0),
          .column = stride(1),
          .step = batch.step};
}

AttentionTensor attention_weights(const View& view, const Descriptor& frozen, size_t role) {
  AttentionTensor t = {.data = static_cast<float*>(view.data)};
  // (row, column of the head, head) or (row, column), as (row, head, column).
  constexpr size_t kOfHeads[] = {1, 2, 0}, kOfOutput[] = {1, 0};
  for (size_t i = 0; i < frozen.rank(); ++i) {
    const size_t axis = view_axis(*frozen.layout, role == kOutput ? kOfOutput[i] : kOfHeads[i]);
    t.extent[i] = view.extent[axis];
    t.stride[i] = view.stride[axis];
  }
  return t;
}

AttentionTensor attention_bias(const View& view, const Descriptor& frozen) {
  AttentionTensor t = {.data = static_cast<float*>(view.data)};
  for (size_t i = 0; i < frozen.rank(); ++i) {
    const size_t axis = view_axis(*frozen.layout, i);
    t.extent[i] = view.extent[axis];
    t.stride[i] = view.stride[axis];
  }
  return t;
}

AttentionMasks read_attention_masks(const AttentionArgs& args, const AttentionProblem& p,
                                    Call& call) {
  AttentionMasks masks;
  if (is_wanted(args.key_mask)) {
    const Descriptor d = read_descriptor(*args.key_mask, "key_mask", Use::kInput);
    require(d.type->kind == TypeClass::kBoolean || (d.type->is_integer() && d.type->bytes() > 0),
            "key_mask.data_type is ", d.type->name,
            "; it must be Boolean or integers of whole bytes");
    require(d.rank() == 1, "key_mask.layout is ", d.layout->name, "; it must have 1 axis");
    require_extent(d, "key_mask", 0, p.source, "the rows of key.target_desc");
    const Batch batch = call.reads(d, args.key_mask->data, args.key_mask_stride,
                                   {"key_mask->data", "key_mask_stride"});
    masks.keys = {.data = batch.data,
                  .bytes = d.type->bytes(),
                  .stride = d.view.stride[0],
                  .step = batch.step};
  }
  if (is_wanted(args.add_to_attention)) masks.matrix = read_matrix(args, p, call);
  return masks;
}

}  // namespace bnns::impl

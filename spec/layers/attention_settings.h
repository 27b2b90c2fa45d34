// The sizes and options of attention cases, their operands, and the calls of the library.
#ifndef OPENBNNS_SPEC_ATTENTION_SETTINGS_H
#define OPENBNNS_SPEC_ATTENTION_SETTINGS_H

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "layers/einsum.h"
#include "runner/case.h"
#include "runner/shapes.h"

namespace spec {

// Numbers of the operands of a case; 0 is the query, for others it means that there is none.
struct AttentionPlaces {
  size_t key = 0, value = 0, weights[4] = {}, bias[4] = {};
  size_t key_bias = 0, value_bias = 0, key_mask = 0, matrix = 0;
};

struct AttentionSettings {
  size_t target, source, model, key_size, value_size, heads, key_depth, value_depth;
  bool self = false;  // key and value are the query, and so are their gradients
  bool bias = false, attention_bias = false, zero_row = false, key_mask = false;
  BNNSDataType mask_type = BNNSDataTypeBoolean;
  size_t matrix_rank = 0;  // of X; 0: there is none
  bool boolean_matrix = false;
  bool thorough = false;
  BNNSDataLayout rows_layout = BNNSDataLayoutRowMajorMatrix;
  BNNSDataLayout weights_layout = BNNSDataLayoutMHA_DHK;
  BNNSDataLayout bias_layout = BNNSDataLayout2DLastMajor;

  void all_options() {
    bias = attention_bias = zero_row = key_mask = true;
    matrix_rank = 3;
  }
  size_t columns(size_t role) const {
    return role == 1 ? key_size : role == 2 ? value_size : model;
  }
  AttentionPlaces places() const {
    AttentionPlaces p;
    size_t next = 2;
    if (!self) p.key = next++;
    if (!self) p.value = next++;
    for (size_t& w : p.weights) w = next++;
    if (bias)
      for (size_t& b : p.bias) b = next++;
    if (attention_bias) p.key_bias = next++;
    if (attention_bias) p.value_bias = next++;
    if (key_mask) p.key_mask = next++;
    if (matrix_rank != 0) p.matrix = next++;
    return p;
  }
  std::string function() const {
    std::string name = self ? "self" : "plain";
    if (bias) name += ", bias";
    if (attention_bias) name += ", attn_bias";
    if (zero_row) name += ", zero";
    if (key_mask) name += ", key_mask";
    if (matrix_rank != 0)
      name += std::string(", ") + (boolean_matrix ? "Boolean " : "") + std::to_string(matrix_rank) +
              "-D matrix";
    return name;
  }
  std::string shape(size_t batch) const {
    std::string text = "t" + std::to_string(target) + "s" + std::to_string(source) + "m" +
                       std::to_string(model) + "x" + std::to_string(key_size) + "x" +
                       std::to_string(value_size) + "h" + std::to_string(heads) + "d" +
                       std::to_string(key_depth) + "x" + std::to_string(value_depth) + "b" +
                       std::to_string(batch);
    if (weights_layout != BNNSDataLayoutMHA_DHK)
      text += "_" + std::string(layout_name(weights_layout));
    if (rows_layout != BNNSDataLayoutRowMajorMatrix)
      text += "_" + std::string(layout_name(rows_layout));
    return text;
  }
  Shape rows(size_t count, size_t width) const {
    if (rows_layout == BNNSDataLayoutRowMajorMatrix) return {rows_layout, {width, count}};
    return {rows_layout, {count, width}};
  }
  Shape matrix(size_t batch) const {
    std::vector<size_t> size = {batch, heads, target, source};
    size.erase(size.begin(), size.end() - static_cast<ptrdiff_t>(matrix_rank));
    const auto layout =
        static_cast<BNNSDataLayout>((matrix_rank << 16) | 0x8000 | (boolean_matrix ? 0 : 1));
    return {layout, Index(size.begin(), size.end())};
  }
};

inline void fill_attention_operands(Case& c, const AttentionSettings& s) {
  const AttentionPlaces at = s.places();
  c.operands = {{.name = "query", .role = Role::kIn, .shape = s.rows(s.target, s.model)},
                {.name = "output", .role = Role::kOut, .shape = s.rows(s.target, s.model)}};
  if (!s.self) {
    c.operands.push_back({.name = "key", .role = Role::kIn, .shape = s.rows(s.source, s.key_size)});
    c.operands.push_back(
        {.name = "value", .role = Role::kIn, .shape = s.rows(s.source, s.value_size)});
  }
  const auto parameter = [&](const std::string& name, const Shape& shape) {
    c.operands.push_back(
        {.name = name, .role = Role::kParameter, .shape = shape, .fill = {.lo = -1, .hi = 1}});
  };
  static const char* const kRoles[] = {"query", "key", "value"};
  for (size_t role = 0; role < 3; ++role) {
    parameter(
        std::string(kRoles[role]) + "_weights",
        {s.weights_layout, {s.columns(role), role == 2 ? s.value_depth : s.key_depth, s.heads}});
  }
  parameter("output_weights", s.rows(s.heads * s.value_depth, s.model));
  const auto bias = [&](const std::string& name, size_t depth) {
    parameter(name, {s.bias_layout, {depth, s.heads}});
  };
  for (size_t role = 0; role < 3 && s.bias; ++role)
    bias(std::string(kRoles[role]) + "_bias", role == 2 ? s.value_depth : s.key_depth);
  if (s.bias) parameter("output_bias", vector_of(s.model));
  if (s.attention_bias) bias("key_attn_bias", s.key_depth);
  if (s.attention_bias) bias("value_attn_bias", s.value_depth);
  const Fill hidden = {.choices = {0, 0, 1}};
  if (s.key_mask) {
    c.operands.push_back({.name = "key_mask",
                          .role = Role::kIn,
                          .shape = vector_of(s.source),
                          .fill = hidden,
                          .has_delta = false});
  }
  if (s.matrix_rank != 0) {
    c.operands.push_back({.name = "add_to_attention",
                          .role = Role::kIn,
                          .shape = s.matrix(c.batch),
                          .fill = s.boolean_matrix ? hidden : Fill{},
                          .has_delta = false,
                          .once = true});
  }
  c.types = {same_type(c, BNNSDataTypeFloat32, Need::kRequired)};
  if (at.key_mask != 0) c.types[0].types[at.key_mask] = ElementType{.type = s.mask_type};
  if (s.boolean_matrix) c.types[0].types[at.matrix] = ElementType{.type = BNNSDataTypeBoolean};
}

// Groups of gradients, of which a thorough case asks for every subset.
inline std::vector<std::vector<size_t>> attention_deltas(const AttentionSettings& s) {
  const AttentionPlaces at = s.places();
  std::vector<size_t> rows = {0}, weights(at.weights, at.weights + 4), biases;
  if (!s.self) rows.insert(rows.end(), {at.key, at.value});
  if (s.attention_bias) rows.insert(rows.end(), {at.key_bias, at.value_bias});
  if (s.bias) biases.assign(at.bias, at.bias + 4);
  if (s.thorough && !biases.empty()) return {rows, weights, biases};
  if (s.thorough) return {rows, weights};
  rows.insert(rows.end(), weights.begin(), weights.end());
  rows.insert(rows.end(), biases.begin(), biases.end());
  return {rows};
}

// ---- Calls ----

inline BNNSFilter create_attention(Call& call, const AttentionSettings& s) {
  const AttentionPlaces at = s.places();
  BNNSLayerParametersMultiheadAttention p = {};
  BNNSMHAProjectionParameters* const roles[] = {&p.query, &p.key, &p.value, &p.output};
  const size_t rows[] = {0, at.key, at.value, 1};
  for (size_t i = 0; i < 4; ++i) {
    roles[i]->target_desc = call.value[rows[i]].shape_only();
    roles[i]->weights = call.value[at.weights[i]].desc;
    if (s.bias) roles[i]->bias = call.value[at.bias[i]].desc;
  }
  if (s.attention_bias) p.key_attn_bias = call.value[at.key_bias].desc;
  if (s.attention_bias) p.value_attn_bias = call.value[at.value_bias].desc;
  p.add_zero_attn = s.zero_row;
  return BNNSFilterCreateLayerMultiheadAttention(&p, &call.parameters);
}

// Memory of the size that a query tells, at an odd place for a workspace.
class AttentionBuffer {
 public:
  AttentionBuffer(size_t bytes, size_t shift) : bytes_(bytes), data_(bytes + 16), shift_(shift) {}
  size_t* size() { return &bytes_; }
  void* data() { return data_.data() + shift_; }

 private:
  size_t bytes_;
  std::vector<char> data_;
  size_t shift_;
};

struct AttentionMaskArguments {
  const BNNSNDArrayDescriptor *keys = nullptr, *matrix = nullptr;
  size_t stride = 0;

  AttentionMaskArguments(const Call& call, const AttentionPlaces& at) {
    if (at.key_mask != 0) keys = &call.value[at.key_mask].desc;
    if (at.key_mask != 0) stride = call.value[at.key_mask].stride;
    if (at.matrix != 0) matrix = &call.value[at.matrix].desc;
  }
};

inline int apply_attention(Call& call, const AttentionSettings& s, void* output = nullptr,
                           size_t* cache_size = nullptr, void* cache = nullptr,
                           size_t* workspace_size = nullptr, void* workspace = nullptr) {
  const AttentionPlaces at = s.places();
  const AttentionMaskArguments m(call, at);
  const Argument &q = call.value[0], &k = call.value[at.key], &v = call.value[at.value];
  return BNNSApplyMultiheadAttention(
      call.filter, call.batch, q.desc.data, q.stride, k.desc.data, k.stride, m.keys, m.stride,
      v.desc.data, v.stride, output != nullptr ? output : call.value[1].desc.data,
      call.value[1].stride, m.matrix, cache_size, cache, workspace_size, workspace);
}

// Fills a cache by a forward pass whose output goes elsewhere.
inline int fill_attention_cache(Call& call, const AttentionSettings& s,
                                std::vector<AttentionBuffer>& buffers) {
  size_t cache = 0, workspace = 0;
  if (const int status = apply_attention(call, s, nullptr, &cache, nullptr, &workspace);
      status != 0)
    return status;
  buffers = {AttentionBuffer(cache, 4), AttentionBuffer(workspace, 3)};
  const Argument& out = call.value[1];
  const auto* begin = static_cast<const char*>(out.desc.data);
  const auto bytes =
      static_cast<size_t>(static_cast<char*>(sample_of(out, call.batch + 1)) - begin) * 2;
  std::vector<float> output(bytes / sizeof(float) + 4096);
  return apply_attention(call, s, output.data(), buffers[0].size(), buffers[0].data(),
                         buffers[1].size(), buffers[1].data());
}

inline int apply_attention_backward(Call& call, const AttentionSettings& s, bool cached) {
  const AttentionPlaces at = s.places();
  std::vector<AttentionBuffer> buffers;
  if (cached) {
    if (const int status = fill_attention_cache(call, s, buffers); status != 0) return status;
  }
  BNNSMHAProjectionParameters deltas[4] = {};
  const size_t rows[] = {0, at.key, at.value, 1};
  bool given[4] = {};
  for (size_t i = 0; i < 4; ++i) {
    const auto set = [&](BNNSNDArrayDescriptor& to, Argument& from) {
      if (!from.given) return;
      to = from.desc;
      given[i] = true;
    };
    set(deltas[i].target_desc, call.delta[rows[i]]);
    deltas[i].target_desc.stride[2] = call.delta[rows[i]].stride;
    set(deltas[i].weights, call.delta[at.weights[i]]);
    if (s.bias) set(deltas[i].bias, call.delta[at.bias[i]]);
  }
  const auto pointer = [&](size_t i) { return given[i] ? &deltas[i] : nullptr; };
  const auto extra = [&](size_t operand) {
    return operand == 0 ? nullptr : call.delta[operand].pointer();
  };
  // With a cache, an input is needed for the gradient of its weights alone.
  const auto input = [&](size_t i) -> const void* {
    const bool needed = !cached || call.delta[at.weights[i]].data() != nullptr;
    return needed ? call.value[rows[i]].desc.data : nullptr;
  };
  const AttentionMaskArguments m(call, at);
  const auto apply = [&](size_t* workspace_size, void* workspace) {
    return BNNSApplyMultiheadAttentionBackward(
        call.filter, call.batch, input(0), call.value[0].stride, pointer(0), input(1),
        call.value[at.key].stride, m.keys, m.stride, pointer(1), input(2),
        call.value[at.value].stride, pointer(2), m.matrix, extra(at.key_bias), extra(at.value_bias),
        nullptr, 0, pointer(3), cached ? *buffers[0].size() : 0,
        cached ? buffers[0].data() : nullptr, workspace_size, workspace);
  };
  if (!cached) return apply(nullptr, nullptr);
  size_t size = 0;
  if (const int status = apply(&size, nullptr); status != 0) return status;
  AttentionBuffer workspace(size, 5);
  return apply(workspace.size(), workspace.data());
}

// ---- Settings ----

inline std::vector<AttentionSettings> small_attentions() {
  const AttentionSettings plain = {.target = 3,
                                   .source = 4,
                                   .model = 5,
                                   .key_size = 2,
                                   .value_size = 3,
                                   .heads = 2,
                                   .key_depth = 3,
                                   .value_depth = 2};
  std::vector<AttentionSettings> list(9, plain);
  list[0].thorough = true;
  list[1].bias = true;
  list[1].thorough = true;
  list[2].attention_bias = true;
  list[2].thorough = true;
  list[3].zero_row = true;
  list[4].all_options();
  list[4].weights_layout = BNNSDataLayout3DFirstMajor;
  list[4].bias_layout = BNNSDataLayout2DFirstMajor;
  list[5].all_options();
  list[5].weights_layout = BNNSDataLayout3DLastMajor;
  list[5].rows_layout = BNNSDataLayout2DLastMajor;
  list[6] = {.target = 4,
             .source = 4,
             .model = 5,
             .key_size = 5,
             .value_size = 5,
             .heads = 2,
             .key_depth = 3,
             .value_depth = 2,
             .self = true};
  list[6].thorough = true;
  list[7] = list[6];
  list[7].thorough = false;
  list[7].all_options();
  list[8] = {.target = 1,
             .source = 1,
             .model = 1,
             .key_size = 1,
             .value_size = 1,
             .heads = 1,
             .key_depth = 1,
             .value_depth = 1};
  list[8].bias = list[8].attention_bias = list[8].zero_row = true;
  return list;
}

inline std::vector<AttentionSettings> attention_masks() {
  const AttentionSettings plain = {.target = 4,
                                   .source = 5,
                                   .model = 3,
                                   .key_size = 3,
                                   .value_size = 3,
                                   .heads = 2,
                                   .key_depth = 2,
                                   .value_depth = 3};
  std::vector<AttentionSettings> list;
  for (const BNNSDataType type : {BNNSDataTypeBoolean, BNNSDataTypeInt8, BNNSDataTypeUInt16,
                                  BNNSDataTypeInt32, BNNSDataTypeUInt64}) {
    list.push_back(plain);
    list.back().key_mask = true;
    list.back().mask_type = type;
  }
  for (size_t rank = 2; rank <= 4; ++rank) {
    for (const bool boolean : {false, true}) {
      list.push_back(plain);
      list.back().matrix_rank = rank;
      list.back().boolean_matrix = boolean;
      list.push_back(list.back());
      list.back().key_mask = list.back().attention_bias = true;
    }
  }
  return list;
}

// Sizes around the vector widths, and options in turn.
inline AttentionSettings sized_attention(size_t n) {
  AttentionSettings s = {.target = 1 + n * 7 % 37,
                         .source = n,
                         .model = 1 + n * 5 % 23,
                         .key_size = 1 + n * 3 % 19,
                         .value_size = 1 + n * 11 % 17,
                         .heads = 1 + n % 3,
                         .key_depth = 1 + n * 13 % 21,
                         .value_depth = 1 + n * 17 % 29};
  s.bias = n % 2 == 0;
  s.attention_bias = n % 3 == 0;
  s.zero_row = n % 5 == 0;
  s.key_mask = n % 4 == 1;
  s.matrix_rank = n % 7 == 0 ? 2 : n % 7 == 3 ? 4 : 0;
  s.boolean_matrix = n % 2 == 1;
  if (s.matrix_rank == 0) s.boolean_matrix = false;
  if (n % 6 == 1) s.weights_layout = BNNSDataLayout3DFirstMajor;
  return s;
}

}  // namespace spec
#endif

// Attention filters that must not be made, and calls on them that must be refused.
#include <cmath>
#include <limits>

#include "support/attention_call.h"

namespace bnns::test {
namespace {

using D = BNNSNDArrayDescriptor;

template <class C>
D& target(C& c, size_t role) {
  BNNSMHAProjectionParameters* const roles[] = {&c.params.query, &c.params.key, &c.params.value,
                                                &c.params.output};
  return roles[role]->target_desc;
}
template <class C>
D& weights(C& c, size_t role) {
  BNNSMHAProjectionParameters* const roles[] = {&c.params.query, &c.params.key, &c.params.value,
                                                &c.params.output};
  return roles[role]->weights;
}
// For faults of strides: of extents above 1, and in a layout whose strides are in the order of
// sizes.
D& grown(D& d, BNNSDataLayout weights = BNNSDataLayoutMHA_DHK) {
  if (d.layout == BNNSDataLayoutMHA_DHK) d.layout = weights;
  for (size_t k = 0; k < 3; ++k)
    if (d.size[k] == 1) d.size[k] = 2;
  return d;
}
constexpr const char* kRoles[] = {"query", "key", "value", "output"};

TEST(BadAttention, Descriptors) {
  using C = AttentionCreate;
  std::vector<Row<C>> rows;
  for (size_t role = 0; role < 4; ++role) {
    const std::string name = kRoles[role];
    const auto get_target = [=](C& c) -> D& { return grown(target(c, role)); };
    const auto get_weights = [=](C& c) -> D& {
      return grown(weights(c, role), BNNSDataLayout3DLastMajor);
    };
    append(rows, descriptor_rows<C>(name + ".target_desc", 2, get_target, role == 3));
    append(rows, descriptor_rows<C>(name + ".weights", 2, get_weights, false));
    rows.push_back({"a vector", {name + ".target_desc.layout is Vector", "2 axes"}, [=](C& c) {
                      target(c, role) = vector_of(1);
                    }});
    rows.push_back({"halves", {name + ".target_desc.data_type is Float16", "Float32"}, [=](C& c) {
                      target(c, role).data_type = BNNSDataTypeFloat16;
                    }});
    rows.push_back({"sparse", {name + ".target_desc.layout", "plain"}, [=](C& c) {
                      target(c, role).layout = BNNSDataLayoutFullyConnectedSparse;
                    }});
    rows.push_back({"no weights", {name + ".weights.data is NULL"}, [=](C& c) {
                      weights(c, role).data = nullptr;
                    }});
    rows.push_back({"weights misaligned", {name + ".weights.data is", "aligned to 4"}, [=](C& c) {
                      weights(c, role).data = reinterpret_cast<char*>(c.spare.data()) + 2;
                    }});
    rows.push_back({"axes of weights", {name + ".weights.layout is Vector", "axes"}, [=](C& c) {
                      weights(c, role) = vector_of(1, c.spare.data());
                    }});
    rows.push_back({"type of weights", {name + ".weights.data_type is Int8"}, [=](C& c) {
                      weights(c, role).data_type = BNNSDataTypeInt8;
                    }});
  }
  expect_refused(rows);
}

TEST(BadAttention, Parameters) {
  using C = AttentionCreate;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"nothing but zeros",
       {"query.target_desc"},
       [](C& c) { c.params = BNNSLayerParametersMultiheadAttention{}; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }},
      {"rows of value",
       {"value.target_desc", "coordinate 0 must be 1", "rows of key.target_desc"},
       [](C& c) { c.params.value.target_desc.size[1] = 2; }},
      {"rows of output",
       {"output.target_desc", "rows of query.target_desc"},
       [](C& c) { c.params.output.target_desc.size[1] = 2; }},
      {"columns of output",
       {"output.target_desc", "columns of query.target_desc"},
       [](C& c) { c.params.output.target_desc.size[0] = 2; }},
      {"columns of key",
       {"key.weights", "columns of its target_desc"},
       [](C& c) { c.params.key.target_desc.size[0] = 2; }},
      {"heads of value",
       {"value.weights", "heads of query.weights"},
       [](C& c) { c.params.value.weights.size[2] = 2; }},
      {"d_key of query",
       {"query.weights", "d_key of key.weights"},
       [](C& c) { c.params.query.weights.size[1] = 2; }},
      {"heads times d_value",
       {"output.weights", "must be 2", "d_value"},
       [](C& c) { c.params.value.weights.size[1] = 2; }},
      {"columns of output weights",
       {"output.weights", "columns of output.target_desc"},
       [](C& c) { c.params.output.weights.size[0] = 2; }},
      {"axes of a bias",
       {"query.bias.layout is 3DFirstMajor", "2 axes"},
       [](C& c) {
         c.params.query.bias = array(BNNSDataLayout3DFirstMajor, {1, 1, 1}, c.b.data());
       }},
      {"sizes of a bias",
       {"query.bias", "second size of the weights"},
       [](C& c) { c.params.query.bias = matrix_of(1, 2, c.spare.data()); }},
      {"heads of a bias",
       {"value.bias", "heads of query.weights"},
       [](C& c) { c.params.value.bias = matrix_of(2, 1, c.spare.data()); }},
      {"output bias with two axes",
       {"output.bias.layout", "1 axis"},
       [](C& c) { c.params.output.bias = matrix_of(1, 1, c.b.data()); }},
      {"length of the output bias",
       {"output.bias", "columns of output.target_desc"},
       [](C& c) { c.params.output.bias = vector_of(2, c.spare.data()); }},
      {"key_attn_bias alone",
       {"key_attn_bias.data is given", "value_attn_bias.data is NULL"},
       [](C& c) { c.params.key_attn_bias = matrix_of(1, 1, c.bk.data()); }},
      {"value_attn_bias alone",
       {"value_attn_bias.data is given", "key_attn_bias.data is NULL"},
       [](C& c) { c.params.value_attn_bias = matrix_of(1, 1, c.bv.data()); }},
      {"sizes of key_attn_bias",
       {"key_attn_bias", "second size of the weights"},
       [](C& c) {
         c.append_attention_bias();
         c.params.key_attn_bias = vector_of(2, c.spare.data());
       }},
      {"weights that cannot be multiplied", {"overflow"}, [](C& c) {
         c.params.query.target_desc.size[1] = c.params.output.target_desc.size[1] = size_t{1} << 59;
         c.params.key.target_desc.size[1] = c.params.value.target_desc.size[1] = size_t{1} << 59;
       }}};
  for (const float rate : {NAN, 1.0f, 1.5f, -0.5f, std::numeric_limits<float>::infinity()})
    rows.push_back({"dropout", {"dropout is", "below 1"}, [=](C& c) { c.params.dropout = rate; }});
  expect_refused(rows);
}

TEST(BadAttention, Forward) {
  using C = AttentionForward;
  const auto wants_cache = [](C& c) {
    c.cache_size = 4096;
    c.cache_size_pointer = &c.cache_size;
    c.cache = c.spare.data();  // too short, but nothing may be written before that is known
  };
  std::vector<Row<C>> rows = {
      {"query", {"query is NULL"}, [](C& c) { c.q_pointer = nullptr; }},
      {"key", {"key is NULL"}, [](C& c) { c.k_pointer = nullptr; }},
      {"value", {"value is NULL"}, [](C& c) { c.v_pointer = nullptr; }},
      {"output", {"output is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"key misaligned",
       {"key is", "aligned to 4"},
       [](C& c) { c.k_pointer = reinterpret_cast<char*>(c.k.data()) + 2; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
      {"output is query", {"output and query overlap"}, [](C& c) { c.out_pointer = c.q.data(); }},
      {"output is a mask",
       {"output and add_to_attention overlap"},
       [](C& c) { c.add.data = c.out.data(); }},
      {"output is the weights",
       {"output and value.weights overlap"},
       [](C& c) {
         c.options = client_pointers();
         c.out_pointer = c.wv.data();
         c.batch = 1;
       }},
      {"key_mask of floats",
       {"key_mask.data_type is Float32", "Boolean"},
       [](C& c) { c.key_mask.data_type = BNNSDataTypeFloat32; }},
      {"key_mask of bits",
       {"key_mask.data_type is UInt4", "whole bytes"},
       [](C& c) { c.key_mask.data_type = BNNSDataTypeUInt4; }},
      {"key_mask that is a matrix",
       {"key_mask.layout is RowMajorMatrix", "1 axis"},
       [](C& c) { c.key_mask.layout = BNNSDataLayoutRowMajorMatrix, c.key_mask.size[1] = 1; }},
      {"length of key_mask",
       {"key_mask", "rows of key.target_desc"},
       [](C& c) { c.key_mask.size[0] = 2; }},
      {"key_mask misaligned",
       {"key_mask->data is", "aligned to 2"},
       [](C& c) {
         c.key_mask.data_type = BNNSDataTypeInt16;
         c.key_mask.data = c.mask.data() + 1;
       }},
      {"type of the matrix",
       {"add_to_attention.data_type is Float16", "Float32 or Boolean"},
       [](C& c) { c.add.data_type = BNNSDataTypeFloat16; }},
      {"rank of the matrix",
       {"add_to_attention.layout is Vector", "2, 3 or 4"},
       [](C& c) { c.add.layout = BNNSDataLayoutVector; }},
      {"keys of the matrix",
       {"add_to_attention", "rows of key.target_desc"},
       [](C& c) { c.add.size[0] = 2; }},
      {"queries of the matrix",
       {"add_to_attention", "rows of query.target_desc"},
       [](C& c) { c.add.size[1] = 2; }},
      {"heads of the matrix",
       {"add_to_attention", "heads of query.weights"},
       [](C& c) {
         c.add = array(BNNSDataLayout3DFirstMajor, {2, 1, 1}, c.matrix.data());
       }},
      {"samples of the matrix",
       {"add_to_attention", "must be 2, batch_size"},
       [](C& c) {
         c.add = array(BNNSDataLayout4DFirstMajor, {1, 1, 1, 1}, c.matrix.data());
       }},
      {"rotated matrix",
       {"add_to_attention.layout", "plain"},
       [](C& c) {
         c.batch = 1;
         c.add = array(BNNSDataLayoutConvolutionWeightsOIHrWr, {1, 1, 1, 1}, c.matrix.data());
       }},
      {"matrix misaligned",
       {"add_to_attention->data is", "aligned to 4"},
       [](C& c) { c.add.data = reinterpret_cast<char*>(c.spare.data()) + 1; }},
      {"cache without a size",
       {"backprop_cache_size is NULL"},
       [](C& c) { c.cache = c.spare.data(); }},
      {"cache too small",
       {"backprop_cache_size is 9", "needs"},
       [=](C& c) {
         wants_cache(c);
         c.cache_size = 9;
       }},
      {"cache misaligned",
       {"backprop_cache is", "aligned to 4"},
       [=](C& c) {
         wants_cache(c);
         c.cache = reinterpret_cast<char*>(c.spare.data()) + 2;
       }},
      {"cache over the output",
       {"backprop_cache", "overlap"},
       [=](C& c) {
         wants_cache(c);
         c.cache = c.out.data();
       }},
      {"workspace too small",
       {"*workspace_size is 1", "needs"},
       [](C& c) {
         c.workspace_size = 1;
         c.workspace_size_pointer = &c.workspace_size;
         c.workspace = c.spare.data();
       }},
      {"workspace over the output", {"output and workspace overlap"}, [](C& c) {
         c.workspace_size = size_t{1} << 30;
         c.workspace_size_pointer = &c.workspace_size;
         c.workspace = c.out.data();
       }}};
  for (size_t i = 0; i < 4; ++i) {
    const std::string name = std::string(kRoles[i]) + "_stride";
    rows.push_back(
        {name, {name, "1"}, [=](C& c) {
           size_t* const strides[] = {&c.q_stride, &c.k_stride, &c.v_stride, &c.out_stride};
           *strides[i] = SIZE_MAX / 4;
         }});
  }
  append(rows, descriptor_rows<C>(
                   "key_mask", 1,
                   [](C& c) -> D& {
                     c.key_mask.data_type = BNNSDataTypeInt64;
                     return grown(c.key_mask);
                   },
                   false));
  append(rows, descriptor_rows<C>(
                   "add_to_attention", 2, [](C& c) -> D& { return grown(c.add); }, false));
  expect_refused(rows);
  // Calls that have nothing to do with this filter.
  C c;
  const Filter filter = c.make();
  EXPECT_NE(BNNSFilterApplyBatch(filter.get(), 1, c.q.data(), 0, c.out.data(), 0), 0);
  EXPECT_NE(
      BNNSApplyMultiheadAttention(nullptr, 1, c.q.data(), 0, c.k.data(), 0, nullptr, 0, c.v.data(),
                                  0, c.out.data(), 0, nullptr, nullptr, nullptr, nullptr, nullptr),
      0);
  EXPECT_TRUE(c.out.untouched());
}

TEST(BadAttention, Backward) {
  using C = AttentionBackward;
  const auto with_cache = [](const std::function<void(C&)>& damage) {
    return [=](C& c) {
      c.cached = true;
      c.damage_cache = damage;
    };
  };
  const auto twin = [](C& c) { c.delta[1].target_desc.data = c.dq.data(); };
  const std::vector<Row<C>> rows = {
      {"query", {"query is NULL"}, [](C& c) { c.q_pointer = nullptr; }},
      {"value", {"value is NULL"}, [](C& c) { c.v_pointer = nullptr; }},
      {"no output_param_delta",
       {"output_param_delta is NULL"},
       [](C& c) { c.delta_pointer[3] = nullptr; }},
      {"no gradient of the output",
       {"output_param_delta->target_desc", "NULL"},
       [](C& c) { c.delta[3].target_desc.data = nullptr; }},
      {"flags",
       {"query_param_delta->target_desc.flags is 9"},
       [](C& c) { c.delta[0].target_desc.flags = static_cast<BNNSNDArrayFlags>(9); }},
      {"sizes of a gradient",
       {"key_param_delta->target_desc", "key.target_desc"},
       [](C& c) { c.delta[1].target_desc.size[0] = 2; }},
      {"layout of weights",
       {"value_param_delta->weights.layout", "equal"},
       [](C& c) { c.delta[2].weights.layout = BNNSDataLayout3DFirstMajor; }},
      {"type of weights",
       {"output_param_delta->weights.data_type is BFloat16"},
       [](C& c) { c.delta[3].weights.data_type = BNNSDataTypeBFloat16; }},
      {"batch stride",
       {"query_param_delta->target_desc.stride[2] 4611", "batch"},
       [](C& c) { c.delta[0].target_desc.stride[2] = SIZE_MAX / 4; }},
      {"gradient of a bias that is not there",
       {"key_param_delta->bias.data is given", "no key.bias"},
       [](C& c) { c.delta[1].bias = matrix_of(1, 1, c.spare.data()); }},
      {"gradient of a row that is not there",
       {"key_attn_bias_delta has data"},
       [](C& c) { c.key_bias_delta = matrix_of(1, 1, c.dbk.data()); }},
      {"gradient of the other one",
       {"value_attn_bias_delta has data"},
       [](C& c) { c.value_bias_delta = matrix_of(1, 1, c.dbv.data()); }},
      {"dq is q", {"overlap"}, [](C& c) { c.delta[0].target_desc.data = c.q.data(); }},
      {"dWo is dy", {"overlap"}, [](C& c) { c.delta[3].weights.data = c.dy.data(); }},
      {"dk begins in dq", {"overlap"}, [](C& c) { c.delta[1].target_desc.data = c.dq.data() + 1; }},
      {"the same memory with another stride",
       {"key_param_delta->target_desc.data is that of query_param_delta", "equal"},
       [=](C& c) {
         twin(c);
         c.delta[1].target_desc.stride[2] = 2;
       }},
      {"the same memory with other flags",
       {"key_param_delta->target_desc.flags", "equal flags"},
       [=](C& c) {
         twin(c);
         c.delta[1].target_desc.flags = BNNSNDArrayFlagBackpropAccumulate;
       }},
      {"dropout without a cache",
       {"backprop_cache is NULL", "dropout is"},
       [](C& c) { c.params.dropout = 0.5f; }},
      {"cache too small", {"backprop_cache_size is 7", "needs"}, with_cache([](C& c) {
         c.given_cache_size = 7;
       })},
      {"cache misaligned", {"backprop_cache is", "aligned"}, with_cache([](C& c) {
         c.cache = reinterpret_cast<char*>(c.cache) + 1;
       })},
      {"no header", {"backprop_cache", "BNNSMHA1"}, with_cache([](C& c) {
         c.cache_memory[0] = 0;
       })},
      {"size in the header", {"backprop_cache", "queries", "equal"}, with_cache([](C& c) {
         c.cache_memory[6] = 77;  // rows of queries
       })},
      {"reserved bytes", {"backprop_cache", "reserved bytes"}, with_cache([](C& c) {
         c.cache_memory[31] = 1;
       })},
      {"another batch", {"batch_size is 1", "had 2"}, with_cache([](C& c) { c.batch = 1; })},
      {"another mask", {"key_mask is not given"}, with_cache([](C& c) {
         c.key_mask.data = nullptr;
       })},
      {"another matrix", {"add_to_attention is not given"}, with_cache([](C& c) {
         c.add.data = nullptr;
       })},
      {"a gradient in the cache", {"backprop_cache overlap"}, with_cache([](C& c) {
         c.delta[0].weights.data = c.cache_memory.data() + 40;
       })},
      {"workspace too small", {"*workspace_size is 1", "needs"}, [](C& c) {
         c.workspace_size = 1;
         c.workspace_size_pointer = &c.workspace_size;
         c.workspace = c.spare.data();
       }}};
  expect_refused(rows);
  // With the cache, and where the inputs are not needed.
  expect_accepted<C>({{"cached", {}, [](C& c) { c.cached = true; }}});
  C c;
  c.cached = true;
  c.q_pointer = c.k_pointer = c.v_pointer = nullptr;
  for (auto& d : c.delta) d.weights.data = nullptr;
  EXPECT_TRUE(c.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(AttentionCall::holds(c.dv, 6) && AttentionCall::holds(c.dq, 0));
  // No gradient is wanted: nothing is done.
  C none;
  none.delta_pointer[0] = none.delta_pointer[1] = none.delta_pointer[2] = nullptr;
  none.delta[3].weights.data = nullptr;
  none.q_pointer = nullptr;
  EXPECT_TRUE(none.run());
  EXPECT_TRUE(none.dv.untouched() && none.dwo.untouched());
}

}  // namespace
}  // namespace bnns::test

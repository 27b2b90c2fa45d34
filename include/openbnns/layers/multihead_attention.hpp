// Multi-head attention: softmax(Q K^T / sqrt(key depth) + mask) V for each head, with projections
// of queries, keys, values and of the joined heads. Swift has no class for it.
#ifndef OPENBNNS_LAYERS_MULTIHEAD_ATTENTION_HPP
#define OPENBNNS_LAYERS_MULTIHEAD_ATTENTION_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "../layer.hpp"

namespace bnns {

// Weights of queries, keys and values are (columns of the input, columns of a head, heads): a shape
// of Shape::attention_weights() or any three-dimensional one; their biases (columns of a head,
// heads). Those of the output are a matrix with a row for each column of the joined heads.
struct MultiheadAttentionLayerOptions {
  Required<Descriptor, field::query> query;  // matrices with a row for each position
  Required<Descriptor, field::key> key;
  Required<Descriptor, field::value> value;
  Required<Descriptor, field::output> output;
  Required<ParameterDescriptor, field::query_weights> query_weights;
  Required<ParameterDescriptor, field::key_weights> key_weights;
  Required<ParameterDescriptor, field::value_weights> value_weights;
  Required<ParameterDescriptor, field::output_weights> output_weights;
  std::optional<ParameterDescriptor> query_bias = std::nullopt;
  std::optional<ParameterDescriptor> key_bias = std::nullopt;
  std::optional<ParameterDescriptor> value_bias = std::nullopt;
  std::optional<ParameterDescriptor> output_bias = std::nullopt;
  // A row that is appended to the projected keys, and one to the values; both or neither.
  std::optional<ParameterDescriptor> key_attention_bias = std::nullopt;
  std::optional<ParameterDescriptor> value_attention_bias = std::nullopt;
  bool adds_zero_attention = false;  // appends a row of zeros to both
  float dropout_rate = 0;
  std::uint32_t seed = 0;  // 0: numbers of its own for each layer
  FilterParameters filter_parameters = {};
};

// What a forward pass leaves for the backward one. It may be used again and again, and belongs to
// no layer.
class MultiheadAttentionCache {
 public:
  MultiheadAttentionCache() = default;

  std::size_t size() const noexcept { return bytes_.size(); }

 private:
  friend class MultiheadAttentionLayer;
  std::vector<std::byte> bytes_;
};

struct MultiheadAttentionArguments {
  Required<Descriptor, field::query> query;
  Required<Descriptor, field::key> key;
  Required<Descriptor, field::value> value;
  Required<Descriptor, field::output> output;
  // True, or a nonzero integer, hides a key from all queries: a vector for each sample.
  std::optional<Descriptor> key_mask = std::nullopt;
  // Added to the scores, or hiding them where a Boolean is true: (queries, keys), (heads, queries,
  // keys) or (samples, heads, queries, keys). It has no batch.
  std::optional<Descriptor> added_to_attention = std::nullopt;
  MultiheadAttentionCache* cache = nullptr;  // is filled; grows on its first use
};

// Without a cache, the forward pass is computed again. With one, `query`, `key` and `value` are
// needed for the gradients of their weights only. Gradients of inputs may be the same tensor, which
// then receives their sum: that is self-attention.
struct MultiheadAttentionBackwardArguments {
  Descriptor query = {}, key = {}, value = {};
  std::optional<Descriptor> key_mask = std::nullopt;
  std::optional<Descriptor> added_to_attention = std::nullopt;
  Required<Descriptor, field::output_gradient> output_gradient;
  std::optional<Descriptor> query_gradient = std::nullopt;
  std::optional<Descriptor> key_gradient = std::nullopt;
  std::optional<Descriptor> value_gradient = std::nullopt;
  std::optional<Descriptor> query_weights_gradient = std::nullopt;
  std::optional<Descriptor> key_weights_gradient = std::nullopt;
  std::optional<Descriptor> value_weights_gradient = std::nullopt;
  std::optional<Descriptor> output_weights_gradient = std::nullopt;
  std::optional<Descriptor> query_bias_gradient = std::nullopt;
  std::optional<Descriptor> key_bias_gradient = std::nullopt;
  std::optional<Descriptor> value_bias_gradient = std::nullopt;
  std::optional<Descriptor> output_bias_gradient = std::nullopt;
  std::optional<Descriptor> key_attention_bias_gradient = std::nullopt;
  std::optional<Descriptor> value_attention_bias_gradient = std::nullopt;
  const MultiheadAttentionCache* cache = nullptr;
};

// Calls without a batch size take all samples of their tensors.
class MultiheadAttentionLayer : public Layer {
 public:
  explicit MultiheadAttentionLayer(const MultiheadAttentionLayerOptions& options)
      : Layer(create(options), "MultiheadAttentionLayer",
              {options.query_weights, options.key_weights, options.value_weights,
               options.output_weights, options.query_bias, options.key_bias, options.value_bias,
               options.output_bias, options.key_attention_bias, options.value_attention_bias}),
        query_(*options.query),
        key_(*options.key),
        value_(*options.value),
        output_(*options.output) {}

  void apply(std::size_t batch_size, const MultiheadAttentionArguments& arguments) {
    constexpr const char* kOperation = "MultiheadAttentionLayer::apply";
    require_ready(batch_size, kOperation);
    query_.check(*arguments.query, batch_size, kOperation, "query");
    key_.check(*arguments.key, batch_size, kOperation, "key");
    value_.check(*arguments.value, batch_size, kOperation, "value");
    output_.check(*arguments.output, batch_size, kOperation, "output");
    require_masks(arguments, batch_size, kOperation);
    if (arguments.cache == nullptr) return forward(batch_size, arguments, nullptr, nullptr);
    std::size_t size = 0;
    forward(batch_size, arguments, &size, nullptr);
    auto& bytes = arguments.cache->bytes_;
    if (bytes.size() < size) bytes.resize(size);
    forward(batch_size, arguments, &size, bytes.data());
  }
  void apply(const MultiheadAttentionArguments& arguments) {
    apply(detail::common_batch_size("MultiheadAttentionLayer::apply",
                                    {{"query", *arguments.query},
                                     {"key", *arguments.key},
                                     {"value", *arguments.value},
                                     {"output", *arguments.output}}),
          arguments);
  }

  void apply_backward(std::size_t batch_size, const MultiheadAttentionBackwardArguments& a) {
    constexpr const char* kOperation = "MultiheadAttentionLayer::apply_backward";
    require_ready(batch_size, kOperation);
    query_.check_optional(a.query, batch_size, kOperation, "query");
    key_.check_optional(a.key, batch_size, kOperation, "key");
    value_.check_optional(a.value, batch_size, kOperation, "value");
    detail::require(a.cache == nullptr || a.cache->size() > 0, Error::Code::invalid_argument,
                    kOperation, "cache is empty; a forward pass must have filled it");
    detail::require_samples(*a.output_gradient, batch_size, kOperation, "output_gradient");
    require_masks(a, batch_size, kOperation);
    require_gradients(a, batch_size, kOperation);
    BNNSMHAProjectionParameters query =
        gradients(a.query_gradient, a.query_weights_gradient, a.query_bias_gradient);
    BNNSMHAProjectionParameters key =
        gradients(a.key_gradient, a.key_weights_gradient, a.key_bias_gradient);
    BNNSMHAProjectionParameters value =
        gradients(a.value_gradient, a.value_weights_gradient, a.value_bias_gradient);
    BNNSMHAProjectionParameters output =
        gradients(*a.output_gradient, a.output_weights_gradient, a.output_bias_gradient);
    BNNSNDArrayDescriptor key_bias = detail::value_or_zero(a.key_attention_bias_gradient);
    BNNSNDArrayDescriptor value_bias = detail::value_or_zero(a.value_attention_bias_gradient);
    // The C function takes a cache that it only reads as a plain pointer.
    auto* cache = a.cache == nullptr ? nullptr : const_cast<std::byte*>(a.cache->bytes_.data());
    detail::check(BNNSApplyMultiheadAttentionBackward(
                      native_handle(), batch_size, a.query.data, detail::batch_stride(a.query),
                      &query, a.key.data, detail::batch_stride(a.key), pointer(a.key_mask),
                      mask_stride(a.key_mask), &key, a.value.data, detail::batch_stride(a.value),
                      &value, pointer(a.added_to_attention), &key_bias, &value_bias, nullptr, 0,
                      &output, a.cache == nullptr ? 0 : a.cache->size(), cache, nullptr, nullptr),
                  Error::Code::layer_apply_fail, kOperation);
  }
  void apply_backward(const MultiheadAttentionBackwardArguments& arguments) {
    apply_backward(detail::common_batch_size("MultiheadAttentionLayer::apply_backward",
                                             {{"query", arguments.query},
                                              {"key", arguments.key},
                                              {"value", arguments.value},
                                              {"output_gradient", *arguments.output_gradient}}),
                   arguments);
  }

 private:
  template <class Arguments>
  static void require_masks(const Arguments& a, std::size_t batch_size, const char* operation) {
    if (a.key_mask) detail::require_samples(*a.key_mask, batch_size, operation, "key_mask");
    if (a.added_to_attention)
      detail::require_one_sample(*a.added_to_attention, operation, "added_to_attention");
  }
  static void require_gradients(const MultiheadAttentionBackwardArguments& a,
                                std::size_t batch_size, const char* operation) {
    struct Gradient {
      const std::optional<Descriptor>& descriptor;
      const char* name;
    };
    for (const Gradient& inputs : {Gradient{a.query_gradient, "query_gradient"},
                                   {a.key_gradient, "key_gradient"},
                                   {a.value_gradient, "value_gradient"}}) {
      if (inputs.descriptor)
        detail::require_samples(*inputs.descriptor, batch_size, operation, inputs.name);
    }
    for (const Gradient& parameter :
         {Gradient{a.query_weights_gradient, "query_weights_gradient"},
          {a.key_weights_gradient, "key_weights_gradient"},
          {a.value_weights_gradient, "value_weights_gradient"},
          {a.output_weights_gradient, "output_weights_gradient"},
          {a.query_bias_gradient, "query_bias_gradient"},
          {a.key_bias_gradient, "key_bias_gradient"},
          {a.value_bias_gradient, "value_bias_gradient"},
          {a.output_bias_gradient, "output_bias_gradient"},
          {a.key_attention_bias_gradient, "key_attention_bias_gradient"},
          {a.value_attention_bias_gradient, "value_attention_bias_gradient"}}) {
      if (parameter.descriptor)
        detail::require_one_sample(*parameter.descriptor, operation, parameter.name);
    }
  }

  static const BNNSNDArrayDescriptor* pointer(const std::optional<Descriptor>& mask) {
    return mask ? &*mask : nullptr;
  }
  static std::size_t mask_stride(const std::optional<Descriptor>& mask) {
    return mask ? detail::batch_stride(*mask) : 0;
  }

  void forward(std::size_t batch_size, const MultiheadAttentionArguments& a, std::size_t* size,
               std::byte* cache) {
    detail::check(BNNSApplyMultiheadAttention(
                      native_handle(), batch_size, a.query->data, detail::batch_stride(*a.query),
                      a.key->data, detail::batch_stride(*a.key), pointer(a.key_mask),
                      mask_stride(a.key_mask), a.value->data, detail::batch_stride(*a.value),
                      a.output->data, detail::batch_stride(*a.output),
                      pointer(a.added_to_attention), size, cache, nullptr, nullptr),
                  Error::Code::layer_apply_fail, "MultiheadAttentionLayer::apply");
  }

  static BNNSMHAProjectionParameters gradients(const std::optional<Descriptor>& rows,
                                               const std::optional<Descriptor>& weights,
                                               const std::optional<Descriptor>& bias) {
    BNNSMHAProjectionParameters result = {};
    result.target_desc = detail::value_or_zero(rows);
    result.weights = detail::value_or_zero(weights);
    result.bias = detail::value_or_zero(bias);
    // The distance of samples comes with the descriptor.
    if (rows) result.target_desc.stride[2] = detail::batch_stride(*rows);
    return result;
  }

  static BNNSMHAProjectionParameters projection(const Descriptor& rows,
                                                const ParameterDescriptor& weights,
                                                const std::optional<ParameterDescriptor>& bias) {
    BNNSMHAProjectionParameters result = {};
    result.target_desc = rows;
    result.weights = weights;
    result.bias = detail::value_or_zero(bias);
    return result;
  }

  static BNNSFilter create(const MultiheadAttentionLayerOptions& o) {
    BNNSLayerParametersMultiheadAttention parameters = {};
    parameters.query = projection(o.query, o.query_weights, o.query_bias);
    parameters.key = projection(o.key, o.key_weights, o.key_bias);
    parameters.value = projection(o.value, o.value_weights, o.value_bias);
    parameters.output = projection(o.output, o.output_weights, o.output_bias);
    parameters.key_attn_bias = detail::value_or_zero(o.key_attention_bias);
    parameters.value_attn_bias = detail::value_or_zero(o.value_attention_bias);
    parameters.add_zero_attn = o.adds_zero_attention;
    parameters.dropout = o.dropout_rate;
    parameters.seed = o.seed;
    const BNNSFilterParameters native = detail::native(o.filter_parameters);
    return BNNSFilterCreateLayerMultiheadAttention(&parameters, &native);
  }

  detail::Form query_, key_, value_, output_;
};

}  // namespace bnns

#endif

// The names of the C API in the texts of the library, and what the same things are called by the
// C++ classes. Texts are translated word by word when an error is thrown, not before.
#ifndef OPENBNNS_NAMES_HPP
#define OPENBNNS_NAMES_HPP

#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>

namespace bnns::detail {

struct CppName {
  std::string_view c;
  std::string_view cpp;
};

inline constexpr CppName kCppNames[] = {
    {"i_desc", "input"},
    {"o_desc", "output"},
    {"w_desc", "weights"},
    {"beta_desc", "beta"},
    {"gamma_desc", "gamma"},
    {"moving_mean_desc", "moving_mean"},
    {"moving_variance_desc", "moving_variance"},
    {"iA_desc", "input_a"},
    {"iB_desc", "input_b"},
    {"in1", "input_a"},
    {"in2", "input_b"},
    {"in3", "input_c"},
    {"in1_type", "input_a_descriptor_type"},
    {"in2_type", "input_b_descriptor_type"},
    {"in3_type", "input_c_descriptor_type"},
    {"in_type", "input_descriptor_type"},
    {"out_type", "output_descriptor_type"},
    {"arithmetic_function", "function"},
    {"reduce_func", "function"},
    {"inA", "input_a"},
    {"inB", "input_b"},
    {"inputA", "input_a"},
    {"inputB", "input_b"},
    {"inA_stride", "the batch stride of input_a"},
    {"inB_stride", "the batch stride of input_b"},
    {"inA_delta", "input_a_gradient"},
    {"inB_delta", "input_b_gradient"},
    {"inA_delta_stride", "the batch stride of input_a_gradient"},
    {"inB_delta_stride", "the batch stride of input_b_gradient"},
    {"quadratic", "is_quadratic"},
    {"in_stride", "the batch stride of input"},
    {"out_stride", "the batch stride of output"},
    {"labels_stride", "the batch stride of labels"},
    {"idx_stride", "the batch stride of indices"},
    {"in_delta", "input_gradient"},
    {"out_delta", "output_gradient"},
    {"weights_delta", "weights_gradient"},
    {"bias_delta", "bias_gradient"},
    {"beta_delta", "beta_gradient"},
    {"gamma_delta", "gamma_gradient"},
    {"in_delta_stride", "the batch stride of input_gradient"},
    {"out_delta_stride", "the batch stride of output_gradient"},
    {"k_width", "kernel_size.width"},
    {"k_height", "kernel_size.height"},
    {"x_stride", "stride.x"},
    {"y_stride", "stride.y"},
    {"x_dilation_stride", "dilation_stride.x"},
    {"y_dilation_stride", "dilation_stride.y"},
    {"x_padding", "padding.x"},
    {"y_padding", "padding.y"},
    {"pad[0]", "padding.left"},
    {"pad[1]", "padding.right"},
    {"pad[2]", "padding.up"},
    {"pad[3]", "padding.down"},
    {"padding_size", "size"},
    {"padding_mode", "mode"},
    {"groups", "group_count"},
    {"num_groups", "group_count"},
    {"reduction", "loss_reduction"},
    {"label_smooth", "label_smoothing"},
    {"layer_params", "layers"},
    {"delta_parameters", "parameters"},
    {"n_threads", "thread_count"},
    {"alloc_memory", "allocator"},
    {"free_memory", "deallocator"},
    {"nesterov", "uses_nesterov_momentum"},
    {"clip_gradients_min", "gradient_clipping.lower"},
    {"clip_gradients_max", "gradient_clipping.upper"},
    {"clip_gradients_max_norm", "gradient_clipping.threshold"},
    {"clip_gradients_use_norm", "gradient_clipping.global_norm"},
    {"regularization_func", "regularization_function"},
    {"src", "source"},
    {"dest", "destination"},
    {"desc", "output"},
    {"array", "descriptor"},
    {"min_val", "lower"},
    {"max_val", "upper"},
    {"stddev", "standard_deviation"},
    {"axis0", "first_transpose_axis"},
    {"axis1", "second_transpose_axis"},
    {"K", "k"},
    {"max_n_samples", "capacity"},
    {"n_features", "dimension_count"},
    {"n_neighbors", "neighbor_count"},
    {"n_new_samples", "the number of samples"},
    {"data_ptr", "samples.data"},
    {"input_batch_stride", "the batch stride of input"},
    {"best_values_batch_stride", "the batch stride of best_values"},
    {"best_indices_batch_stride", "the batch stride of best_indices"},
    {"test_indices_batch_stride", "the batch stride of test_indices"},
    {"output_batch_stride", "the batch stride of output"},
    {"roi", "region_of_interest"},
    {"input_descriptor", "input"},
    {"output_descriptor", "output"},
    {"sequence_descriptor", "lengths"},
    {"num_layers", "layer_count"},
    {"iw_desc", "input_weights"},
    {"hw_desc", "hidden_weights"},
    {"cw_desc", "cell_weights"},
    {"b_desc", "bias"},
    {"training_cache_ptr", "the cache"},
    {"key_attn_bias", "key_attention_bias"},
    {"value_attn_bias", "value_attention_bias"},
    {"key_attn_bias_delta", "key_attention_bias_gradient"},
    {"value_attn_bias_delta", "value_attention_bias_gradient"},
    {"query_param_delta", "query_gradient"},
    {"key_param_delta", "key_gradient"},
    {"value_param_delta", "value_gradient"},
    {"output_param_delta", "output_gradient"},
    {"add_to_attention", "added_to_attention"},
    {"backprop_cache", "cache"},
};

inline std::string_view cpp_name(std::string_view word) {
  for (const CppName& name : kCppNames) {
    if (name.c == word) return name.cpp;
  }
  return word;
}

// Without the C function at the beginning: the error names its own operation.
inline std::string in_cpp_names(std::string_view text) {
  if (text.starts_with("BNNS") || text.starts_with("OpenBNNS")) {
    const std::size_t colon = text.find(": ");
    if (colon != text.npos && text.find(' ') > colon) text.remove_prefix(colon + 2);
  }
  // These two are words of English elsewhere in a text.
  for (const auto& [c, cpp] : {CppName{"in", "input"}, CppName{"out", "output"}}) {
    for (const std::string_view verb : {" is ", " and ", " overlaps "}) {
      const std::string begin = std::string(c).append(verb);
      if (text.starts_with(begin)) {
        return std::string(cpp).append(in_cpp_names(text.substr(c.size())));
      }
    }
  }
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  std::string result;
  while (!text.empty()) {
    std::size_t n = 0;
    while (n < text.size() && in_word(text[n])) ++n;
    // An element of `pad` is one name.
    if (text.substr(0, n) == "pad" && text.find(']') == n + 2) n += 3;
    if (n > 0) {
      result += cpp_name(text.substr(0, n));
    } else if (text.starts_with("->")) {  // the classes have values where C has pointers
      result += '.';
      n = 2;
    } else {
      result += text[0];
      n = 1;
    }
    text.remove_prefix(n);
  }
  return result;
}

}  // namespace bnns::detail

#endif

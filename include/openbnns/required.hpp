// Fields of option structures that have no default. Leaving one out is an error of the compiler
// whose text names the field.
#ifndef OPENBNNS_REQUIRED_HPP
#define OPENBNNS_REQUIRED_HPP

#include <concepts>
#include <type_traits>
#include <utility>

namespace bnns {

// The names of such fields, as types. The text of a static_assert has to be a literal, so that each
// name brings its own.
namespace field {

#define OPENBNNS_FIELD(name)                                      \
  struct name {                                                   \
    template <bool given>                                         \
    static constexpr void require() {                             \
      static_assert(given, "the field ." #name " must be given"); \
    }                                                             \
  }

OPENBNNS_FIELD(alpha);
OPENBNNS_FIELD(axis);
OPENBNNS_FIELD(best_values);
OPENBNNS_FIELD(box_coordinate_mode);
OPENBNNS_FIELD(candidate_gate);
OPENBNNS_FIELD(capacity);
OPENBNNS_FIELD(column_indices);
OPENBNNS_FIELD(control);
OPENBNNS_FIELD(convolution_weights);
OPENBNNS_FIELD(dictionary);
OPENBNNS_FIELD(dimension_count);
OPENBNNS_FIELD(forget_gate);
OPENBNNS_FIELD(fully_connected_weights);
OPENBNNS_FIELD(function);
OPENBNNS_FIELD(group_count);
OPENBNNS_FIELD(hidden_weights);
OPENBNNS_FIELD(huber_delta);
OPENBNNS_FIELD(indices);
OPENBNNS_FIELD(input);
OPENBNNS_FIELD(input_a);
OPENBNNS_FIELD(input_b);
OPENBNNS_FIELD(input_c);
OPENBNNS_FIELD(input_dense_shape);
OPENBNNS_FIELD(input_gate);
OPENBNNS_FIELD(input_gradient);
OPENBNNS_FIELD(input_layout);
OPENBNNS_FIELD(input_values);
OPENBNNS_FIELD(input_weights);
OPENBNNS_FIELD(interpolation_method);
OPENBNNS_FIELD(k);
OPENBNNS_FIELD(kernel_size);
OPENBNNS_FIELD(key);
OPENBNNS_FIELD(key_weights);
OPENBNNS_FIELD(labels);
OPENBNNS_FIELD(learning_rate);
OPENBNNS_FIELD(loss_function);
OPENBNNS_FIELD(neighbor_count);
OPENBNNS_FIELD(normalization);
OPENBNNS_FIELD(output);
OPENBNNS_FIELD(output_gate);
OPENBNNS_FIELD(output_gradient);
OPENBNNS_FIELD(output_weights);
OPENBNNS_FIELD(query);
OPENBNNS_FIELD(query_weights);
OPENBNNS_FIELD(rate);
OPENBNNS_FIELD(region_of_interest);
OPENBNNS_FIELD(row_starts);
OPENBNNS_FIELD(seed);
OPENBNNS_FIELD(test_indices);
OPENBNNS_FIELD(type);
OPENBNNS_FIELD(value);
OPENBNNS_FIELD(value_weights);
OPENBNNS_FIELD(weights);
OPENBNNS_FIELD(weights_gradient);

#undef OPENBNNS_FIELD

}  // namespace field

// A T that must be given. It reads as a T: through a conversion, and for classes by `->` and `*`.
template <typename T, typename Field>
class Required {
 public:
  // Overload resolution looks at declarations only; the body, which does not compile, is reached
  // when the field is really left out.
  template <bool given = false>
  constexpr Required() : value_((Field::template require<given>(), T{})) {}

  constexpr Required(T value) requires(!std::is_class_v<T>) : value_(value) {}
  template <typename U>
  requires(std::is_class_v<T>&& std::convertible_to<U, T> &&
           !std::same_as<std::remove_cvref_t<U>, Required>) constexpr Required(U&& value)
      : value_(std::forward<U>(value)) {}

  constexpr operator const T&() const noexcept { return value_; }
  constexpr operator T&() noexcept { return value_; }
  constexpr const T& operator*() const noexcept { return value_; }
  constexpr T& operator*() noexcept { return value_; }
  constexpr const T* operator->() const noexcept { return &value_; }
  constexpr T* operator->() noexcept { return &value_; }

 private:
  T value_;
};

}  // namespace bnns

#endif

// From class numbers to labels and from scores to class numbers.
#ifndef OPENBNNS_LABELS_HPP
#define OPENBNNS_LABELS_HPP

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <ranges>
#include <span>
#include <vector>

#include "tensor.hpp"

namespace bnns {

// The place of the largest value, the first of equal ones. A NaN is never the largest; if there is
// nothing else the answer is 0.
inline std::size_t argmax(std::span<const float> values) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] > values[best] || (values[best] != values[best] && values[i] == values[i])) {
      best = i;
    }
  }
  return best;
}

// Of every sample, whose elements lie as in memory.
inline std::vector<std::size_t> argmax(const Tensor& scores) {
  std::vector<std::size_t> best(scores.batch_size());
  for (std::size_t n = 0; n < best.size(); ++n) best[n] = argmax(scores.sample(n));
  return best;
}

// Writes a 1 at the class of each sample and 0 elsewhere; `labels` has a sample per class number.
// Throws without writing if a number is not a class.
template <std::ranges::forward_range Range>
requires std::integral<std::ranges::range_value_t<Range>>
void one_hot(const Range& classes, Tensor& labels) {
  constexpr const char* kOperation = "one_hot";
  constexpr auto invalid = Error::Code::invalid_argument;
  const std::size_t count = labels.shape().dense_count();
  detail::require(count == labels.shape().batch_stride(), invalid, kOperation,
                  "the samples of labels have gaps");
  const auto given = static_cast<std::size_t>(std::ranges::distance(classes));
  detail::require(given == labels.batch_size(), invalid, kOperation, "there are ", given,
                  " class numbers, labels has ", labels.batch_size(), " samples");
  std::size_t n = 0;
  for (const auto label : classes) {
    detail::require(std::cmp_greater_equal(label, 0) && std::cmp_less(label, count), invalid,
                    kOperation, "class number ", n, " is ", +label, ", there are ", count,
                    " classes");
    ++n;
  }
  std::ranges::fill(labels.values(), 0.0f);
  n = 0;
  for (const auto label : classes) labels.sample(n++)[static_cast<std::size_t>(label)] = 1;
}

// The same as a new tensor of vectors.
template <std::ranges::forward_range Range>
requires std::integral<std::ranges::range_value_t<Range>> Tensor one_hot(const Range& classes,
                                                                         std::size_t class_count) {
  Tensor labels(Shape::vector(class_count),
                static_cast<std::size_t>(std::ranges::distance(classes)));
  one_hot(classes, labels);
  return labels;
}

}  // namespace bnns

#endif

// A tensor as the reference sees it: numbers by sample and position, without strides or types.
#ifndef OPENBNNS_SPEC_ARRAY_H
#define OPENBNNS_SPEC_ARRAY_H

#include <functional>
#include <initializer_list>
#include <vector>

#include "runner/layout.h"
#include "runner/tolerance.h"

namespace spec {

template <class T>
class Array {
 public:
  Array() = default;
  Array(const Shape& shape, size_t samples)
      : shape_(shape), count_(shape.count()), map_(logical_map(shape)), data_(count_ * samples) {}

  const Shape& shape() const { return shape_; }
  size_t count() const { return count_; }
  size_t samples() const { return data_.size() / count_; }
  std::vector<T>& data() { return data_; }
  const std::vector<T>& data() const { return data_; }

  // Sample b, k-th element in storage order.
  T& operator()(size_t b, size_t k) { return data_[b * count_ + k]; }
  const T& operator()(size_t b, size_t k) const { return data_[b * count_ + k]; }

  // Sample b, element at logical coordinates, e.g. (row, col).
  T& at(size_t b, std::initializer_list<size_t> c) { return data_[b * count_ + position(c)]; }
  const T& at(size_t b, std::initializer_list<size_t> c) const {
    return data_[b * count_ + position(c)];
  }
  template <class Coordinates>
  size_t position(const Coordinates& coordinates) const {
    ptrdiff_t p = map_.origin;
    size_t t = 0;
    for (size_t c : coordinates) p += static_cast<ptrdiff_t>(c) * map_.step[t++];
    return static_cast<size_t>(p);
  }

 private:
  Shape shape_;
  size_t count_ = 0;
  LogicalMap map_;
  std::vector<T> data_;
};

// The operands of a case by their number. A forward pass reads inputs and parameters and writes
// outputs; a backward pass reads the deltas of outputs and writes the others.
template <class T>
struct Values {
  size_t batch = 1;
  std::vector<Array<T>> value;
  std::vector<Array<T>> delta;
};

// A reference pass, written once as a generic lambda and kept for both number types.
struct Pass {
  std::function<void(Values<double>&)> exact;
  std::function<void(Values<Bounded>&)> bounded;

  Pass() = default;
  template <class F>
  Pass(F f) : exact(f), bounded(f) {}
  explicit operator bool() const { return static_cast<bool>(exact); }
};

}  // namespace spec
#endif

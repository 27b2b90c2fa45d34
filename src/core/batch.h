// A batch of samples, in the form that every call uses: the view of one sample, the address of the
// first one, and the distance to the next. What a batch stride of 0 means is decided here and
// nowhere else.
#pragma once

#include <cstddef>

#include "core/view.h"

namespace bnns::impl {

struct Batch {
  const View* sample = nullptr;  // one sample; the data pointer in it is not used
  void* data = nullptr;          // nullptr: this tensor does not exist, or is not wanted
  size_t size = 0;               // number of samples
  size_t step = 0;               // values from one sample to the next; never 0

  explicit operator bool() const { return data != nullptr; }

  template <class T>
  T* at(size_t index) const {
    return static_cast<T*>(data) + index * step;
  }

  // Samples [first, first + count). The type must have whole bytes.
  Batch part(size_t first, size_t count) const {
    Batch result = *this;
    result.data = static_cast<char*>(data) + first * step * type_bytes(sample->type);
    result.size = count;
    return result;
  }
};

// A gradient that a call sets or, with `accumulate`, adds to.
struct Gradient : Batch {
  bool accumulate = false;
};

// A batch stride of 0 stands for the packed step: the next sample begins behind the padding of the
// last row.
inline size_t batch_step(const View& sample, size_t stride) {
  return stride == 0 ? sample.step : stride;
}

inline Batch make_batch(const View& sample, const void* data, size_t size, size_t stride) {
  return {.sample = &sample,
          .data = const_cast<void*>(data),
          .size = size,
          .step = batch_step(sample, stride)};
}

// The batch as one collapsed view, sample after sample.
View whole(const Batch& batch);

}  // namespace bnns::impl

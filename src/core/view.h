// The elements of a tensor in the order of memory: axis 0 is the fastest. A View has no layout and
// no names of axes; two views of equal count pair up element by element.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/types.h"

namespace bnns::impl {

constexpr size_t kMaxRank = BNNS_MAX_TENSOR_DIMENSION;

// How stored values are converted to real ones: scale and bias of integers, the table of indexed
// types.
struct Scaling {
  float scale = 1;
  float bias = 0;
  const void* table = nullptr;
  BNNSDataType table_type = BNNSDataTypeFloat32;

  bool is_plain() const { return scale == 1 && bias == 0; }
};

struct View {
  void* data = nullptr;
  BNNSDataType type = BNNSDataTypeFloat32;
  size_t rank = 0;
  size_t extent[kMaxRank + 1] = {};  // one more for the batch
  size_t stride[kMaxRank + 1] = {};  // in values
  size_t count = 0;                  // number of elements
  size_t span = 0;                   // values from the first to the last element, both included
  size_t step = 0;                   // max(extent * stride): to the next sample of a packed batch
  bool overlaps = false;             // some elements have the same address; for inputs only
  Scaling scaling;

  bool is_dense() const { return count == span && !overlaps; }
  bool is_float() const { return type == BNNSDataTypeFloat32; }

  // The stride of the fastest axis that has more than one element.
  size_t inner_stride() const {
    for (size_t k = 0; k < rank; ++k) {
      if (extent[k] > 1) return stride[k];
    }
    return 1;
  }
};

// The same elements with as few axes as possible: neighbouring axes that one stride can describe
// are joined.
View collapsed(const View& view);

// One collapsed view of `size` samples that are `step` values apart.
View batched(const View& sample, const void* data, size_t size, size_t step);

// Iterates over a collapsed view in runs: consecutive elements of the fastest axis.
class Walker {
 public:
  Walker(const View& view, size_t first);

  size_t offset() const { return offset_; }  // in values, of the current element
  size_t run() const { return view_.extent[0] - index_[0]; }
  size_t stride() const { return view_.stride[0]; }
  // n must not exceed run().
  void advance(size_t n) {
    index_[0] += n;
    offset_ += n * view_.stride[0];
    if (index_[0] == view_.extent[0]) carry();
  }

 private:
  void carry();

  const View& view_;
  size_t index_[kMaxRank + 1] = {};
  size_t offset_ = 0;
};

}  // namespace bnns::impl

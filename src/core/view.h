// The elements of a tensor in the order of memory: axis 0 is the fastest. A View does not know
// layouts or names of axes any more; two views of equal count pair up element by element.
#pragma once

#include <algorithm>
#include <cstddef>

#include "core/types.h"

namespace bnns::impl {

constexpr size_t kMaxRank = BNNS_MAX_TENSOR_DIMENSION;

// How stored numbers become real ones: scale and bias of integers, the table of indexed types.
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
  size_t count = 0;                  // elements
  size_t span = 0;                   // values from the first to behind the last element
  size_t step = 0;                   // max(extent * stride): to the next sample of a packed batch
  bool overlaps = false;             // some elements share their place: inputs only
  Scaling scaling;

  bool is_dense() const { return count == span && !overlaps; }
  bool is_float() const { return type == BNNSDataTypeFloat32; }

  // Distance of neighbours along the fastest axis that has any.
  size_t inner_stride() const {
    for (size_t k = 0; k < rank; ++k) {
      if (extent[k] > 1) return stride[k];
    }
    return 1;
  }
};

// The same elements with as few axes as possible: neighbouring axes that form one line are joined.
View collapsed(const View& view);

// `size` samples, `step` values apart, as one collapsed view.
View batched(const View& sample, const void* data, size_t size, size_t step);

// Walks over the runs of a collapsed view: stretches of the fastest axis.
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

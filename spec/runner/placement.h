// A tensor in guarded memory: strides, batch stride, descriptor, and the checks that nothing but
// its elements was touched.
#ifndef OPENBNNS_SPEC_PLACEMENT_H
#define OPENBNNS_SPEC_PLACEMENT_H

#include <cstddef>
#include <cstring>
#include <vector>

#include "runner/buffer.h"
#include "runner/dtype.h"
#include "runner/layout.h"

namespace spec {

enum class Strides { kDense, kPadded, kStrided };
// Zero passes 0, which means the packed step; tight is the shortest valid stride; padded is longer.
enum class BatchStride { kZero, kTight, kPadded };

struct Arrangement {
  Strides strides = Strides::kDense;
  BatchStride batch_stride = BatchStride::kZero;
  Edge edge = Edge::kEnd;
  size_t shift = 0;    // values between the data and the guard page
  size_t padding = 1;  // values added to each padded stride
  size_t gap = 2;      // values added to a padded batch stride on top
};

class Placement {
 public:
  void place(const Shape& shape, const ElementType& type, size_t samples, Arrangement how) {
    shape_ = shape;
    type_ = type;
    table_ = type.table;
    if (is_pack32(shape.layout)) how = {.edge = Edge::kStart};
    choose_strides(how);
    const Index one = element_offsets(shape, stride_);
    const size_t span = span_of(shape, stride_);
    const size_t steps[] = {packed_step(shape, stride_), span, span + how.gap + how.padding};
    const size_t step = steps[static_cast<size_t>(how.batch_stride)];
    batch_argument_ = how.batch_stride == BatchStride::kZero ? 0 : step;
    offsets_.clear();
    for (size_t b = 0; b < samples; ++b)
      for (size_t o : one) offsets_.push_back((b * step + o) * bytes());
    buffer_.place((span + (samples - 1) * step) * bytes(), how.edge, how.shift * bytes());
    clear();
  }

  BNNSNDArrayDescriptor descriptor() const {
    BNNSNDArrayDescriptor d = {};
    d.layout = shape_.layout;
    for (size_t k = 0; k < shape_.rank(); ++k) {
      d.size[k] = shape_.size[k];
      d.stride[k] = passed_stride_[k];
    }
    d.data = data();
    d.data_type = type_.type;
    if (type_.info().kind == Kind::kIndexed) {
      d.table_data = const_cast<float*>(table_.data());
      d.table_data_type = BNNSDataTypeFloat32;
    }
    d.data_scale = type_.scale;
    d.data_bias = type_.bias;
    return d;
  }

  const Shape& shape() const { return shape_; }
  const ElementType& type() const { return type_; }
  size_t batch_argument() const { return batch_argument_; }
  size_t span_bytes() const { return span_of(shape_, stride_) * bytes(); }
  size_t elements() const { return offsets_.size(); }
  size_t bytes() const { return type_.info().bytes; }
  std::byte* data() const { return buffer_.data(); }

  void clear() { buffer_.fill(); }
  // A filter that copied its parameters must not notice that the client's memory is gone.
  void destroy_contents() {
    clear();
    std::fill(table_.begin(), table_.end(), -12345.0f);
  }
  void write(const std::vector<double>& stored) {
    table_ = type_.table;
    for (size_t i = 0; i < offsets_.size(); ++i)
      encode(stored[i], type_.type, data() + offsets_[i]);
  }
  void read(std::vector<double>& stored) const {
    stored.resize(offsets_.size());
    for (size_t i = 0; i < offsets_.size(); ++i)
      stored[i] = decode(type_.type, data() + offsets_[i]);
  }
  // The elements' bytes without padding, to compare runs bit by bit.
  void read_bytes(std::vector<std::byte>& to) const {
    to.resize(offsets_.size() * bytes());
    for (size_t i = 0; i < offsets_.size(); ++i)
      std::memcpy(to.data() + i * bytes(), data() + offsets_[i], bytes());
  }

  void remember() { image_.assign(buffer_.begin(), buffer_.end()); }
  bool unchanged() const {
    return std::memcmp(image_.data(), buffer_.begin(), buffer_.capacity()) == 0;
  }
  bool untouched() const { return buffer_.all_canary(); }
  // Wipes the elements and checks all other bytes, except the unused lanes of a packed layout.
  bool padding_untouched() {
    if (is_pack32(shape_.layout))
      std::memset(buffer_.data(), GuardedBuffer::kCanary, span_of(shape_, stride_) * bytes());
    for (size_t offset : offsets_)
      std::memset(buffer_.data() + offset, GuardedBuffer::kCanary, bytes());
    return buffer_.all_canary();
  }

 private:
  // A stride of 0 means the default, so a padded descriptor mixes zeros with explicit strides.
  void choose_strides(const Arrangement& how) {
    stride_ = dense_strides(shape_);
    passed_stride_ = Index(shape_.rank(), 0);
    if (how.strides == Strides::kDense) return;
    size_t next = how.strides == Strides::kStrided ? 2 : 1;
    for (size_t k = 0; k < shape_.rank(); ++k) {
      stride_[k] = next;
      const bool is_default = k == 0 && next == 1;
      passed_stride_[k] = is_default ? 0 : next;
      next = next * shape_.size[paired_axis(shape_, k)] + how.padding + k;
    }
  }

  Shape shape_ = {};
  ElementType type_;
  std::vector<float> table_;
  Index stride_, passed_stride_, offsets_;
  size_t batch_argument_ = 0;
  GuardedBuffer buffer_;
  std::vector<std::byte> image_;
};

}  // namespace spec
#endif

// A pass over all elements of an output and of the tensors that are broadcast to it. Stretches of
// contiguous Float32 are used where they lie. Others are converted and gathered in small buffers,
// which are written back if the tensor is written.
//   Where the fastest common axis is long, its rows are taken one by one, and a tensor that is
//   broadcast along it is a single value per row. Where it is short, elements of many rows are
//   gathered.
#pragma once

#include <algorithm>
#include <cstddef>
#include <new>

#include "core/axes.h"
#include "core/batch.h"
#include "ops/convert/blocks.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

class Pass {
 public:
  static constexpr size_t kTensors = 8;  // three inputs, their gradients, y and dy

  struct Block {
    float* row[kTensors];
    bool is_value[kTensors];  // a single value for all n elements
    size_t n;
  };

  Pass(const View& out, size_t samples) : out_(out), samples_(samples) {}

  // Adds a tensor that has the axes of the output with its extent or 1, and returns its number. One
  // that has no samples is the same in all of them.
  size_t add(const Batch& tensor, bool sample, Operand::Access access) {
    Tensor& t = *new (tensor_[count_]) Tensor;
    t.view.data = tensor.data;
    t.view.type = tensor.sample->type;
    t.view.scaling = tensor.sample->scaling;
    t.access = access;
    for (size_t k = 0; k < out_.rank; ++k)
      t.stride[k] = tensor.sample->extent[k] == 1 ? 0 : tensor.sample->stride[k];
    t.stride[out_.rank] = sample ? tensor.step : 0;
    return count_++;
  }

  // Appends axis k of the output, or, for k = rank, the samples. The pass runs along the axes in
  // the order in which they were pushed.
  void push(size_t k) {
    AxisOf<kTensors> axis = {.extent = extent(k), .reduced = false, .stride = {}};
    for (size_t t = 0; t < count_; ++t)
      axis.stride[t] = static_cast<ptrdiff_t>(tensor(t).stride[k]);
    axes_.push_collapsed(axis);
  }
  void push_all() {
    for (size_t k = 0; k <= out_.rank; ++k) push(k);
  }
  size_t extent(size_t k) const { return k == out_.rank ? samples_ : out_.extent[k]; }
  size_t count() const { return axes_.count(); }

  // After the last axis. `values` says whether the kernels take single values.
  void close(bool values);

  // Calls body(block) for elements [first, first + count), in order, with at most `most` at a time.
  template <class Body>
  void run(const ConvertKernels& kernels, size_t first, size_t count, size_t most,
           const Body& body) const;

 private:
  enum class Mode { kFlat, kRow, kValue, kFill, kGather };
  struct Tensor {
    View view;
    Operand::Access access;
    Mode mode;
    size_t stride[kMaxRank + 1];
  };
  static constexpr size_t kShort = 32;

  static bool is_direct(Mode mode) {
    return mode == Mode::kFlat || mode == Mode::kRow || mode == Mode::kValue;
  }
  Mode mode_of(const Tensor& t, size_t number, bool values) const;

  Tensor& tensor(size_t t) { return *std::launder(reinterpret_cast<Tensor*>(tensor_[t])); }
  const Tensor& tensor(size_t t) const {
    return *std::launder(reinterpret_cast<const Tensor*>(tensor_[t]));
  }

  const View& out_;
  size_t samples_;
  size_t count_ = 0;
  // Made when they are added: clearing all of them would be felt in calls on small tensors.
  alignas(Tensor) std::byte tensor_[kTensors][sizeof(Tensor)];
  AxesOf<kTensors> axes_;
  bool by_rows_ = false;
  bool buffered_ = false;
};

inline Pass::Mode Pass::mode_of(const Tensor& t, size_t number, bool values) const {
  const View& view = t.view;
  if (view.is_float() && view.rank == 1 && view.stride[0] == 1) return Mode::kFlat;
  if (!by_rows_) return Mode::kGather;
  const ptrdiff_t stride = axes_.rank() == 0 ? 1 : axes_[0].stride[number];
  if (stride == 0) return values && view.is_float() ? Mode::kValue : Mode::kFill;
  return view.is_float() && stride == 1 ? Mode::kRow : Mode::kGather;
}

inline void Pass::close(bool values) {
  by_rows_ = axes_.rank() <= 1 || axes_[0].extent >= kShort;
  for (size_t t = 0; t < count_; ++t) {
    const View own = view_of(axes_, t);
    View& view = tensor(t).view;
    view.rank = own.rank;
    view.count = own.count;
    std::copy_n(own.extent, own.rank, view.extent);
    std::copy_n(own.stride, own.rank, view.stride);
    tensor(t).mode = mode_of(tensor(t), t, values);
    buffered_ |= !is_direct(tensor(t).mode);
  }
}

template <class Body>
void Pass::run(const ConvertKernels& kernels, size_t first, size_t count, size_t most,
               const Body& body) const {
  alignas(64) float buffers[kTensors][kBlock];
  if (buffered_) most = std::min(most, kBlock);
  bool filled = false;  // the buffers of values hold those of this row
  AxesWalker<kTensors> walker(axes_, first);
  while (count > 0) {
    Block block;
    block.n = std::min(most, by_rows_ ? std::min(count, walker.run()) : count);
    for (size_t t = 0; t < count_; ++t) {
      const Tensor& source = tensor(t);
      auto* data = static_cast<float*>(source.view.data);
      block.is_value[t] = source.mode == Mode::kValue;
      block.row[t] = buffers[t];
      if (source.mode == Mode::kFlat) {
        block.row[t] = data + first;
      } else if (is_direct(source.mode)) {
        block.row[t] = data + walker.offsets()[t];
      } else if (source.mode == Mode::kFill) {
        // One value per row. Later blocks of a row are not longer than the first of this call.
        if (filled) continue;
        read_values(kernels, source.view, first, 1, buffers[t]);
        std::fill_n(buffers[t] + 1, block.n - 1, buffers[t][0]);
      } else if (source.access != Operand::kWrite) {
        read_values(kernels, source.view, first, block.n, buffers[t]);
      }
    }
    body(block);
    for (size_t t = 0; t < count_; ++t) {
      if (tensor(t).mode == Mode::kGather && tensor(t).access != Operand::kRead)
        write_values(kernels, tensor(t).view, first, block.n, buffers[t]);
    }
    filled = by_rows_ && block.n < walker.run();
    if (by_rows_) walker.advance(block.n);
    first += block.n;
    count -= block.n;
  }
}

}  // namespace bnns::impl

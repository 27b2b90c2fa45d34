// Base of all filters, and how they come to life: make_filter() places the object into memory of
// the client's hooks and registers its handle; destroy_filter() undoes both.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

#include "core/descriptor.h"
#include "core/handle.h"
#include "core/memory.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// What a creator reads from BNNSFilterParameters (NULL: all defaults).
struct FilterOptions {
  explicit FilterOptions(const BNNSFilterParameters* parameters);

  Memory memory;
  size_t threads;           // resolved: never 0
  bool use_client_pointer;  // BNNSFlagsUseClientPtr
};

// Threads for n_threads == 0: OpenBNNSSetDefaultThreads, OPENBNNS_THREADS or the core count.
void set_default_threads(size_t threads);
size_t default_threads();

struct ForwardArgs {
  size_t batch;
  const void* in;
  size_t in_stride;
  void* out;
  size_t out_stride;
};

// The checks of a layer that cannot work in place: pointers, strides, overlap. Returns what is
// written.
Range require_forward(const ForwardArgs& args, const View& in, const View& out);

struct BackwardArgs {
  size_t batch;
  const void* in;
  size_t in_stride;
  BNNSNDArrayDescriptor* in_delta;
  size_t in_delta_stride;
  const void* out;
  size_t out_stride;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
  BNNSNDArrayDescriptor* weights_delta;
  BNNSNDArrayDescriptor* bias_delta;
};

struct LossForwardArgs {
  size_t batch;
  const void* in;
  size_t in_stride;
  const void* labels;
  size_t labels_stride;
  const void* weights;
  size_t weights_size;
  void* out;
  const BNNSNDArrayDescriptor* in_delta;
  size_t in_delta_stride;
};

struct LossBackwardArgs {
  size_t batch;
  const void* in;
  size_t in_stride;
  const BNNSNDArrayDescriptor* in_delta;
  size_t in_delta_stride;
  const void* labels;
  size_t labels_stride;
  const void* weights;
  size_t weights_size;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
};

struct NormalizationForwardArgs {
  size_t batch;
  const void* in;
  size_t in_stride;
  void* out;
  size_t out_stride;
  bool training;
};

struct NormalizationBackwardArgs {
  size_t batch;
  BNNSNDArrayDescriptor* in_delta;
  size_t in_delta_stride;
  const void* out;
  size_t out_stride;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
  BNNSNDArrayDescriptor* beta_delta;
  BNNSNDArrayDescriptor* gamma_delta;
};

// indices: data NULL for none.
struct PoolingForwardArgs {
  ForwardArgs filter;
  BNNSDataType indices_type;
  void* indices;
  size_t indices_stride;
};

struct PoolingBackwardArgs {
  BackwardArgs filter;
  BNNSDataType indices_type;
  const void* indices;
  size_t indices_stride;
};

class Filter {
 public:
  // `kind` is the word for messages, e.g. "an activation filter".
  Filter(const char* kind, const FilterOptions& options)
      : kind_(kind), memory_(options.memory), threads_(options.threads) {}
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  virtual ~Filter() = default;

  // Each throws "does not accept this call" unless the layer overrides it.
  virtual void apply(const ForwardArgs& args);
  virtual void apply_backward(const BackwardArgs& args);
  virtual void apply_loss(const LossForwardArgs& args);
  virtual void apply_loss_backward(const LossBackwardArgs& args);
  virtual void apply_normalization(const NormalizationForwardArgs& args);
  virtual void apply_normalization_backward(const NormalizationBackwardArgs& args);
  virtual void apply_pooling(const PoolingForwardArgs& args);
  virtual void apply_pooling_backward(const PoolingBackwardArgs& args);
  virtual BNNSNDArrayDescriptor pointer(BNNSPointerSpecifier target);

  // Allocates now what applies of this size would allocate later.
  virtual void reserve(size_t batch, size_t callers);

  // Bytes held through the hooks, the filter itself included.
  size_t memory_size() const { return memory_.held(); }

  // What was decided at creation, for the log.
  virtual Text plan() const { return Text(); }

  const char* kind() const { return kind_; }
  const Memory& memory() const { return memory_; }
  size_t threads() const { return threads_; }

 private:
  const char* kind_;
  Memory memory_;
  size_t threads_;
};

[[noreturn]] void fail_no_filter(const void* handle);

// Throws if the handle is not that of a live filter.
inline Filter& find_filter(const void* handle) {
  void* object = handles().find(HandleKind::kFilter, handle);
  if (object == nullptr) [[unlikely]]
    fail_no_filter(handle);
  return *static_cast<Filter*>(object);
}
void destroy_filter(void* handle);
void log_plan(const Filter& filter);

// In front of every filter lies the count of the bytes it holds.
constexpr size_t kFilterHeader = kAlignment;

template <class Layer, class... Arguments>
BNNSFilter make_filter(const FilterOptions& options, Arguments&&... arguments) {
  static_assert(alignof(Layer) <= kAlignment);
  void* block = options.memory.allocate(kFilterHeader + sizeof(Layer));
  auto* held = new (block) std::atomic<size_t>(kFilterHeader + sizeof(Layer));
  FilterOptions counting = options;
  counting.memory = options.memory.counted_by(held);
  Filter* filter = nullptr;
  try {
    void* place = static_cast<char*>(block) + kFilterHeader;
    filter = new (place) Layer(counting, std::forward<Arguments>(arguments)...);
    void* handle = handles().insert(HandleKind::kFilter, filter);
    log_plan(*filter);
    return handle;
  } catch (...) {
    if (filter != nullptr) filter->~Filter();
    options.memory.release(block);
    throw;
  }
}

}  // namespace bnns::impl

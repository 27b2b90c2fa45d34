// Base of all filters, and their creation: make_filter() constructs the object in memory of the
// client's hooks and registers its handle; destroy_filter() undoes both.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>
#include <utility>

#include "core/handle.h"
#include "core/memory.h"
#include "core/text.h"
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

// Base of all filters. It has the calls that every filter may accept; those of a family (losses,
// pooling, ...) are an interface in the header of that layer.
class Filter {
 public:
  // `kind` is the word for messages, e.g. "an activation filter".
  Filter(const char* kind, const FilterOptions& options)
      : kind_(kind), memory_(options.memory), threads_(options.threads) {}
  Filter(const Filter&) = delete;
  Filter& operator=(const Filter&) = delete;
  virtual ~Filter() = default;

  // A call is refused unless the layer overrides the function.
  virtual void apply(const ForwardArgs& args);
  virtual void apply_backward(const BackwardArgs& args);

  // Allocates now what calls with this batch size from `callers` threads at once would allocate
  // later.
  virtual void reserve(size_t batch, size_t callers);

  // Bytes held through the hooks, the filter itself included.
  size_t memory_size() const { return memory_.held(); }

  // The decisions made at creation, as a text for the log.
  virtual Text plan() const { return Text(); }

  // Logs a warning, once per filter: `function` computes the gradient `delta` of parameters that
  // were copied at creation, so that a step of the client's array will have no effect here.
  void warn_of_copy(const char* function, const char* delta, const char* parameters) {
    if (!warned_of_copy_.load(std::memory_order_relaxed)) [[unlikely]]
      log_copy(function, delta, parameters);
  }

  const char* kind() const { return kind_; }
  const Memory& memory() const { return memory_; }
  size_t threads() const { return threads_; }

 private:
  void log_copy(const char* function, const char* delta, const char* parameters);

  const char* kind_;
  Memory memory_;
  size_t threads_;
  std::atomic<bool> warned_of_copy_{false};
};

[[noreturn]] void fail_no_filter(const void* handle);

// Throws if the handle is not that of a live filter.
inline Filter& find_filter(const void* handle) {
  void* object = handles().find(HandleKind::kFilter, handle);
  if (object == nullptr) [[unlikely]]
    fail_no_filter(handle);
  return *static_cast<Filter*>(object);
}

[[noreturn]] void fail_not_accepted(const Filter& filter);

// The calls of a family: an interface that the family's filters implement beside Filter, e.g.
//   class LossFilter final : public Filter, public LossCalls
// Filters of other kinds are refused.
template <class Calls>
Calls& find_filter_as(const void* handle) {
  Filter& filter = find_filter(handle);
  auto* calls = dynamic_cast<Calls*>(&filter);
  if (calls == nullptr) [[unlikely]]
    fail_not_accepted(filter);
  return *calls;
}

void destroy_filter(void* handle);
void log_plan(const Filter& filter);

// Every filter has a header in front of it: the counter of the bytes it holds.
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

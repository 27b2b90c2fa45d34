// Runs one call under all the promises of memory.h and check.h: refused, it changes nothing;
// accepted, it writes its outputs and nothing else; repeated, with other garbage around the data
// and on a filter with another number of threads, it gives the same bits.
#ifndef OPENBNNS_FUZZ_RUN_H
#define OPENBNNS_FUZZ_RUN_H

#include "check.h"
#include "hooks.h"
#include "memory.h"

namespace fuzz {

struct Promise {
  uint32_t used = 0;         // tensors the call is given
  uint32_t written = 0;      // those it may change
  uint32_t overwritten = 0;  // those of them whose old contents must not matter
  uint32_t apart = 0;        // read; must not overlap what is written
  bool in_place = false;     // unless it is exactly the same place
  bool repeatable = true;
};

// call(k) applies filter k (0, or its twin 1) and tells whether it succeeded.
template <class Call>
bool run(const char* function, Provider& p, Memory& memory, const Promise& promise,
         const Call& call) {
  const auto watched = [&](size_t k) {
    const Watch watch(function);
    const bool success = call(k);
    watch.done(success);
    if (!success) memory.expect_untouched(function);
    return success;
  };
  memory.set_used(promise.used);
  if (p.one_in(20)) Hooks::fail_at(p.between(1, 4));
  bool success = watched(0);
  // A filter must survive that its memory ran out.
  if (Hooks::disarm() && !success) success = watched(0);
  if (!success) return false;
  memory.expect_only(promise.written, function);
  memory.expect_apart(promise.written, promise.apart, promise.in_place, function);
  if (promise.repeatable) {
    const auto first = memory.contents();
    memory.restore(promise.overwritten, 99);
    expect(watched(1), function, "the same call is refused when repeated");
    memory.expect_only(promise.written, function);
    memory.expect_equal(first, promise.written, function);
  }
  memory.accept();
  return true;
}

// A filter and its twin. Creation is refused with a reason or succeeds for both.
class Pair {
 public:
  template <class Create>
  Pair(const char* function, Provider& p, const BNNSFilterParameters& parameters,
       const Create& create) {
    if (p.one_in(20)) Hooks::fail_at(p.between(1, 6));
    filters_[0] = watched(function, create, parameters);
    if (Hooks::disarm() && filters_[0] == nullptr)
      filters_[0] = watched(function, create, parameters);
    if (filters_[0] == nullptr) return;
    filters_[1] = watched(function, create, twin_of(parameters));
    expect(filters_[1] != nullptr, function, "a second filter like the first is refused");
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    for (BNNSFilter filter : filters_) {
      const Watch watch("BNNSFilterDestroy");
      BNNSFilterDestroy(filter);
      watch.done(true);
    }
    Hooks::expect_no_leak();
  }

  explicit operator bool() const { return filters_[0] != nullptr; }
  BNNSFilter operator[](size_t k) const { return filters_[k]; }

 private:
  template <class Create>
  static BNNSFilter watched(const char* function, const Create& create,
                            const BNNSFilterParameters& parameters) {
    const Watch watch(function);
    const BNNSFilter filter = create(&parameters);
    watch.done(filter != nullptr);
    return filter;
  }

  BNNSFilter filters_[2] = {};
};

inline void reserve(Provider& p, const Pair& filters) {
  const size_t batch = p.one_in(4) ? p.odd_size() : p.extent();
  const size_t callers = p.between(1, 4);
  const Watch watch("OpenBNNSFilterReserve");
  watch.done(OpenBNNSFilterReserve(filters[0], batch, callers) == 0);
}

// A few calls of a filter in any order.
template <class Forward, class Backward>
void some_calls(Provider& p, const Pair& filters, const Forward& forward,
                const Backward& backward) {
  const size_t calls = p.between(1, 4);
  for (size_t i = 0; i < calls; ++i) {
    const size_t kind = p.below(7);
    if (kind < 3) {
      forward();
    } else if (kind < 6) {
      backward();
    } else {
      reserve(p, filters);
    }
  }
}

}  // namespace fuzz
#endif

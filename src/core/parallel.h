// parallel_for over grains. Results must have the same bits for any number of threads: the order in
// which a value is summed depends on the problem alone, so that grains with partial sums must not
// depend on the number of threads; others may. This holds for NaN too. Below kSerialNanoseconds of
// work no thread is woken: a hand-off costs 1 to 20 us.
#pragma once

#include <cstddef>

#include "core/thread_pool.h"

namespace bnns::impl {

constexpr double kSerialNanoseconds = 20000;

// The number of threads to use for a job that takes about `nanoseconds` on one core.
inline size_t useful_threads(size_t threads, double nanoseconds) {
  return nanoseconds < kSerialNanoseconds ? 1 : threads;
}

// Calls body(grain, worker) for every grain; body must not throw.
template <class Body>
void parallel_for(size_t threads, size_t grains, const Body& body) {
  // Serial jobs go through the same function pointer, so that `body` is compiled once. A second,
  // inlined copy may swap the operands of a sum, and where two NaN meet, x86 keeps the first
  // operand: the bits of a NaN would depend on the number of threads.
  const ThreadPool::Body call = [](void* context, size_t grain, size_t worker) {
    (*static_cast<const Body*>(context))(grain, worker);
  };
  void* context = const_cast<Body*>(&body);
  if (threads <= 1 || grains <= 1) return ThreadPool::run_serially(grains, call, context);
  ThreadPool::instance().run(threads, grains, call, context);
}

}  // namespace bnns::impl

#include "ops/copy.h"

#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "core/types.h"
#include "ops/movement/move.h"
#include "ops/movement/rows.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 8192;
constexpr size_t kBuffer = 256;

bool same_numbers(const View& from, const View& to) {
  return from.type == to.type && from.scaling.scale == to.scaling.scale &&
         from.scaling.bias == to.scaling.bias;
}

// Views whose axes cannot be paired: run by run.
template <class T>
void copy_elements(const View& from, const View& to, size_t first, size_t n) {
  Walker source(from, first), target(to, first);
  while (n > 0) {
    const size_t run = std::min({n, source.run(), target.run()});
    copy_row(static_cast<const T*>(from.data) + source.offset(), source.stride(),
             static_cast<T*>(to.data) + target.offset(), target.stride(), run);
    source.advance(run);
    target.advance(run);
    n -= run;
  }
}

template <class Body>
void for_grains(size_t threads, const View& from, const Body& body) {
  const size_t useful = useful_threads(threads, 0.5 * static_cast<double>(from.count));
  parallel_for(useful, div_up(from.count, kGrain), [&](size_t g, size_t) {
    body(g * kGrain, std::min(kGrain, from.count - g * kGrain));
  });
}

template <class Body>
void for_buffers(size_t first, size_t n, const Body& body) {
  for (size_t done = 0; done < n; done += kBuffer) {
    body(first + done, std::min(kBuffer, n - done));
  }
}

}  // namespace

void run_copy(const ConvertKernels& kernels, size_t threads, const View& from, const View& to) {
  if (same_numbers(from, to)) {
    const size_t bytes = type_bytes(from.type);
    Move move;
    if (pair_axes(from, to, move))
      return run_move(*move_kernels(), threads, bytes, move, from.data, to.data);
    for_grains(threads, from, [&](size_t first, size_t n) {
      with_value_type(bytes, [&](auto type) { copy_elements<decltype(type)>(from, to, first, n); });
    });
  } else if (fits_float(*find_type(from.type)) && fits_float(*find_type(to.type))) {
    for_grains(threads, from, [&](size_t grain, size_t count) {
      for_buffers(grain, count, [&](size_t first, size_t n) {
        float buffer[kBuffer];
        read_values(kernels, from, first, n, buffer);
        write_values(kernels, to, first, n, buffer);
      });
    });
  } else {
    for_grains(threads, from, [&](size_t grain, size_t count) {
      for_buffers(grain, count, [&](size_t first, size_t n) {
        Wide buffer[kBuffer];
        read_values(from, first, n, buffer);
        write_values(to, first, n, buffer);
      });
    });
  }
}

}  // namespace bnns::impl

#include "ops/copy.h"

#include <algorithm>
#include <cstring>

#include "core/checked.h"
#include "core/parallel.h"
#include "core/types.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 8192;
constexpr size_t kBuffer = 256;

bool same_numbers(const View& from, const View& to) {
  return from.type == to.type && from.scaling.scale == to.scaling.scale &&
         from.scaling.bias == to.scaling.bias;
}

template <class T>
void copy_run(const void* from, size_t from_offset, size_t from_stride, void* to, size_t to_offset,
              size_t to_stride, size_t n) {
  const T* source = static_cast<const T*>(from) + from_offset;
  T* target = static_cast<T*>(to) + to_offset;
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(target, source, n * sizeof(T));
  } else {
    for (size_t i = 0; i < n; ++i) target[i * to_stride] = source[i * from_stride];
  }
}

template <class T>
void copy_elements(const View& from, const View& to, size_t first, size_t n) {
  Walker source(from, first), target(to, first);
  while (n > 0) {
    const size_t run = std::min({n, source.run(), target.run()});
    copy_run<T>(from.data, source.offset(), source.stride(), to.data, target.offset(),
                target.stride(), run);
    source.advance(run);
    target.advance(run);
    n -= run;
  }
}

using CopyElements = void (*)(const View&, const View&, size_t, size_t);
CopyElements copier(size_t bytes) {
  switch (bytes) {
    case 1:
      return copy_elements<uint8_t>;
    case 2:
      return copy_elements<uint16_t>;
    case 4:
      return copy_elements<uint32_t>;
    default:
      return copy_elements<uint64_t>;
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
    const CopyElements copy = copier(type_bytes(from.type));
    for_grains(threads, from, [&](size_t first, size_t n) { copy(from, to, first, n); });
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

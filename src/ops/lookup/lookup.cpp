#include "ops/lookup/lookup.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "core/checked.h"
#include "core/error.h"
#include "core/parallel.h"

namespace bnns::impl {
namespace {

constexpr size_t kNone = SIZE_MAX;
constexpr size_t kBlock = 128;            // places whose offsets are kept on the stack
constexpr size_t kGrainElements = 32768;  // of a grain; problems below it are one
constexpr size_t kCheckGrain = 16384;

// ---- Reading indices ----

// Negative indices become larger than any extent.
template <class I>
size_t coordinate(I index) {
  return static_cast<size_t>(static_cast<int64_t>(index));
}

template <class I>
bool is_bad(const LookupProblem& p, const I* indices) {
  for (size_t l = 0; l < p.lookups; ++l) {
    if (coordinate(indices[p.lookup[l].index]) >= p.lookup[l].extent) return true;
  }
  return false;
}

// The first of the places [first, first + n) with a coordinate outside the table, or kNone.
template <class I>
size_t find_bad(const LookupProblem& p, const void* data, size_t first, size_t n) {
  AxesWalker walker(p.places, first);
  const size_t end = first + n;
  while (first < end) {
    const I* indices = static_cast<const I*>(data) + walker.offsets()[kLookupIndices];
    const size_t run = std::min(walker.run(), end - first);
    const ptrdiff_t stride = p.places.rank() == 0 ? 0 : p.places[0].stride[kLookupIndices];
    bool bad = false;
    if (p.lookups == 1) {
      const size_t extent = p.lookup[0].extent;
      if (stride == 1) {
        for (size_t i = 0; i < run; ++i) bad |= coordinate(indices[i]) >= extent;
      } else {
        for (size_t i = 0; i < run; ++i)
          bad |= coordinate(indices[static_cast<ptrdiff_t>(i) * stride]) >= extent;
      }
    } else {
      for (size_t i = 0; i < run; ++i)
        bad |= is_bad(p, indices + static_cast<ptrdiff_t>(i) * stride);
    }
    for (size_t i = 0; bad && i < run; ++i) {
      if (is_bad(p, indices + static_cast<ptrdiff_t>(i) * stride)) return first + i;
    }
    walker.advance(run);
    first += run;
  }
  return kNone;
}

template <class I>
void offsets_of(const LookupProblem& p, const void* data, size_t first, size_t n, ptrdiff_t* table,
                ptrdiff_t* rows) {
  AxesWalker walker(p.places, first);
  for (size_t done = 0; done < n;) {
    const auto at = walker.offsets();
    const size_t run = std::min(walker.run(), n - done);
    OffsetsOf<kLookupTensors> step = {};
    if (p.places.rank() > 0) step = p.places[0].stride;
    const I* indices = static_cast<const I*>(data) + at[kLookupIndices];
    for (size_t i = 0; i < run; ++i)
      rows[done + i] = at[kLookupRows] + static_cast<ptrdiff_t>(i) * step[kLookupRows];
    for (size_t i = 0; i < run; ++i) {
      const I index = indices[static_cast<ptrdiff_t>(i) * step[kLookupIndices]];
      table[done + i] = at[kLookupTable] + static_cast<ptrdiff_t>(i) * step[kLookupTable] +
                        static_cast<ptrdiff_t>(index) * p.lookup[0].stride;
    }
    for (size_t l = 1; l < p.lookups; ++l) {
      const I* const from = indices + p.lookup[l].index;
      for (size_t i = 0; i < run; ++i) {
        const I index = from[static_cast<ptrdiff_t>(i) * step[kLookupIndices]];
        table[done + i] += static_cast<ptrdiff_t>(index) * p.lookup[l].stride;
      }
    }
    walker.advance(run);
    done += run;
  }
}

template <class I>
[[noreturn]] void fail_at(const LookupProblem& p, const void* data, size_t place, const char* name,
                          int status) {
  const I* indices = static_cast<const I*>(data) + p.places.at(place)[kLookupIndices];
  size_t l = 0;
  while (l + 1 < p.lookups && coordinate(indices[p.lookup[l].index]) < p.lookup[l].extent) ++l;
  Text text(name, " has ", indices[p.lookup[l].index], " at position ", place);
  if (p.lookups > 1) text.add(Text(" as coordinate ", l));
  text.add(Text("; it must be at least 0 and below ", p.lookup[l].extent));
  throw Error{.text = text, .status = status};
}

struct IndexFunctions {
  BNNSDataType type;
  size_t (*find_bad)(const LookupProblem&, const void*, size_t, size_t);
  void (*offsets)(const LookupProblem&, const void*, size_t, size_t, ptrdiff_t*, ptrdiff_t*);
  void (*fail)(const LookupProblem&, const void*, size_t, const char*, int);
};

template <class I>
constexpr IndexFunctions functions_of(BNNSDataType type) {
  return {type, find_bad<I>, offsets_of<I>, fail_at<I>};
}

constexpr IndexFunctions kIndexFunctions[] = {
    functions_of<int8_t>(BNNSDataTypeInt8),     functions_of<int16_t>(BNNSDataTypeInt16),
    functions_of<int32_t>(BNNSDataTypeInt32),   functions_of<int64_t>(BNNSDataTypeInt64),
    functions_of<uint8_t>(BNNSDataTypeUInt8),   functions_of<uint16_t>(BNNSDataTypeUInt16),
    functions_of<uint32_t>(BNNSDataTypeUInt32), functions_of<uint64_t>(BNNSDataTypeUInt64)};

const IndexFunctions& index_functions(BNNSDataType type) {
  size_t i = 0;
  while (kIndexFunctions[i].type != type) ++i;
  return kIndexFunctions[i];
}

// ---- Gather ----

// A grain: some places, and some elements of each slice.
struct Part {
  size_t place, places;
  size_t element, elements;
};

// Rows of the table lie anywhere: the row that is copied kAhead places later is prefetched, line by
// line beside the copies. (Rows of 64 bytes: 6.7 us for 4096 of them, where calls of memcpy take
// 11; rows of 1 KB: 346 us instead of 366.)
constexpr size_t kAhead = 8, kLine = 64;

template <class T>
void copy_rows(const T* table, T* rows, const ptrdiff_t* from, const ptrdiff_t* to, size_t places,
               size_t n) {
  const size_t bytes = n * sizeof(T), tail = bytes % kLine;
  for (size_t j = 0; j < places; ++j) {
    const size_t later = std::min(j + kAhead, places - 1);
    const char* ahead = reinterpret_cast<const char*>(table + from[later]);
    const char* source = reinterpret_cast<const char*>(table + from[j]);
    char* target = reinterpret_cast<char*>(rows + to[j]);
    for (const char* end = source + (bytes - tail); source < end; source += kLine) {
      __builtin_prefetch(ahead);
      std::memcpy(target, source, kLine);
      ahead += kLine;
      target += kLine;
    }
    if (tail != 0) std::memcpy(target, source, tail);
  }
}

template <class T>
void copy_run(const T* from, ptrdiff_t from_stride, T* to, ptrdiff_t to_stride, size_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, n * sizeof(T));
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    const auto at = static_cast<ptrdiff_t>(i);
    to[at * to_stride] = from[at * from_stride];
  }
}

// Calls body(offsets, strides, run) for the runs of some elements of the slice.
template <class Body>
void for_slice(const LookupAxes& slice, size_t first, size_t n, const Body& body) {
  OffsetsOf<kLookupTensors> stride = {};
  if (slice.rank() > 0) stride = slice[0].stride;
  AxesWalker walker(slice, first);
  while (n > 0) {
    const size_t run = std::min(n, walker.run());
    body(walker.offsets(), stride, run);
    walker.advance(run);
    n -= run;
  }
}

// The rows lie place by place.
template <class T>
void copy_slices(const LookupAxes& slice, const Part& part, const T* table, T* rows,
                 const ptrdiff_t* from, const ptrdiff_t* to, size_t places) {
  for (size_t j = 0; j < places; ++j) {
    for_slice(slice, part.element, part.elements, [&](const auto& at, const auto& step, size_t n) {
      copy_run(table + from[j] + at[kLookupTable], step[kLookupTable],
               rows + to[j] + at[kLookupRows], step[kLookupRows], n);
    });
  }
}

// Neighbours in the rows belong to neighbouring places: element by element of the slice.
template <class T>
void copy_columns(const LookupAxes& slice, const Part& part, const T* table, T* rows,
                  const ptrdiff_t* from, const ptrdiff_t* to, size_t places) {
  for_slice(slice, part.element, part.elements, [&](const auto& at, const auto& step, size_t n) {
    const T* source = table + at[kLookupTable];
    T* target = rows + at[kLookupRows];
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j < places; ++j) target[to[j]] = source[from[j]];
      source += step[kLookupTable];
      target += step[kLookupRows];
    }
  });
}

bool goes_by_columns(const LookupProblem& p) {
  if (p.slice.rank() == 0) return true;
  return p.places.rank() > 0 &&
         std::abs(p.places[0].stride[kLookupRows]) < std::abs(p.slice[0].stride[kLookupRows]);
}

template <class T>
void gather_part(const LookupProblem& p, const LookupData& d, const Part& part,
                 const LookupFinish* finish) {
  const IndexFunctions& indices = index_functions(p.index_type);
  const T* table = static_cast<const T*>(d.table);
  T* rows = static_cast<T*>(d.rows);
  const bool contiguous = p.slice.rank() == 1 && has_contiguous_slices(p);
  const bool by_columns = goes_by_columns(p);
  ptrdiff_t from[kBlock], to[kBlock];
  for (size_t done = 0; done < part.places; done += kBlock) {
    const size_t n = std::min(kBlock, part.places - done);
    indices.offsets(p, d.indices, part.place + done, n, from, to);
    if (contiguous) {
      copy_rows(table + part.element, rows + part.element, from, to, n, part.elements);
    } else if (by_columns) {
      copy_columns(p.slice, part, table, rows, from, to, n);
    } else {
      copy_slices(p.slice, part, table, rows, from, to, n);
    }
    for (size_t j = 0; finish != nullptr && j < n; ++j)
      finish->run(finish->context, from[j], to[j]);
  }
}

using GatherPart = void (*)(const LookupProblem&, const LookupData&, const Part&,
                            const LookupFinish*);
GatherPart gather_of(size_t bytes) {
  switch (bytes) {
    case 1:
      return gather_part<uint8_t>;
    case 2:
      return gather_part<uint16_t>;
    case 4:
      return gather_part<uint32_t>;
    default:
      return gather_part<uint64_t>;
  }
}

}  // namespace

void find_offsets(const LookupProblem& problem, const void* indices, size_t first, size_t n,
                  ptrdiff_t* table, ptrdiff_t* rows) {
  index_functions(problem.index_type).offsets(problem, indices, first, n, table, rows);
}

void require_coordinates(const LookupProblem& problem, size_t threads, const void* indices,
                         const char* name, int status) {
  const IndexFunctions& functions = index_functions(problem.index_type);
  const size_t count = problem.places.count();
  std::atomic<size_t> first_bad{kNone};
  const size_t useful = useful_threads(threads, static_cast<double>(count));
  parallel_for(useful, div_up(count, kCheckGrain), [&](size_t g, size_t) {
    const size_t first = g * kCheckGrain;
    const size_t bad =
        functions.find_bad(problem, indices, first, std::min(kCheckGrain, count - first));
    size_t known = first_bad.load(std::memory_order_relaxed);
    while (bad < known && !first_bad.compare_exchange_weak(known, bad, std::memory_order_relaxed)) {
    }
  });
  const size_t bad = first_bad.load(std::memory_order_relaxed);
  if (bad != kNone) functions.fail(problem, indices, bad, name, status);
}

void run_gather(const LookupProblem& problem, size_t threads, const LookupData& data,
                const LookupFinish* finish) {
  const size_t places = problem.places.count(), slice = problem.slice.count();
  // What finishes a place needs all of its slice.
  const size_t elements = finish == nullptr ? std::min(slice, kGrainElements) : slice;
  const size_t parts = div_up(slice, elements);
  const size_t some = std::max<size_t>(1, kGrainElements / elements);
  const size_t bytes = type_bytes(problem.type);
  const GatherPart gather = gather_of(bytes);
  const double copying = 0.04 * static_cast<double>(bytes) * static_cast<double>(slice);
  const double work = static_cast<double>(places) * (2 + copying);
  parallel_for(useful_threads(threads, work), div_up(places, some) * parts, [&](size_t g, size_t) {
    const size_t place = g / parts * some, element = g % parts * elements;
    gather(problem, data,
           {.place = place,
            .places = std::min(some, places - place),
            .element = element,
            .elements = std::min(elements, slice - element)},
           finish);
  });
}

}  // namespace bnns::impl

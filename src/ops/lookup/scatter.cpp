#include "ops/lookup/scatter.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <utility>

#include "core/checked.h"
#include "core/parallel.h"

namespace bnns::impl {
namespace {

constexpr size_t kBlock = 128;            // places whose offsets are kept on the stack
constexpr size_t kKeyGrain = 16384;       // places of a grain that makes keys
constexpr size_t kGrainElements = 16384;  // elements of the table in a grain
// Tables of so many bytes are cleared past the caches, which need not read them first: 1.6 ms for
// 30 MB on a machine whose memory is busy, instead of 5.5.
constexpr size_t kStreamed = size_t{8} << 20;
constexpr size_t kFew = 200;  // keys that comparisons sort faster than digits do

// ---- Sorting the places ----

// A key has the number of a slice of the table in its high bits and a place in its low bits. Slices
// are numbered by their offset, as a multiple of the greatest common divisor of all offsets.
struct KeySpace {
  size_t unit = 1;
  ptrdiff_t lowest = 0;  // offset of slice 0
  size_t slices = 1;
  int place_bits = 0;

  size_t slice(uint64_t key) const { return key >> place_bits; }
  size_t place(uint64_t key) const { return key & ((uint64_t{1} << place_bits) - 1); }
  uint64_t first_key(size_t slice) const { return uint64_t{slice} << place_bits; }
  ptrdiff_t offset(size_t slice) const { return lowest + static_cast<ptrdiff_t>(slice * unit); }
};

KeySpace key_space(const LookupProblem& p) {
  KeySpace space = {.unit = 0};
  size_t span = 0;
  const auto add = [&](size_t extent, ptrdiff_t stride) {
    if (extent <= 1 || stride == 0) return;
    const auto step = static_cast<size_t>(std::abs(stride));
    space.unit = std::gcd(space.unit, step);
    span += (extent - 1) * step;
    if (stride < 0) space.lowest -= static_cast<ptrdiff_t>((extent - 1) * step);
  };
  for (size_t l = 0; l < p.lookups; ++l) add(p.lookup[l].extent, p.lookup[l].stride);
  for (size_t k = 0; k < p.places.rank(); ++k)
    add(p.places[k].extent, p.places[k].stride[kLookupTable]);
  space.unit = std::max<size_t>(1, space.unit);
  space.slices = span / space.unit + 1;
  space.place_bits = static_cast<int>(std::bit_width(p.places.count() - 1));
  return space;
}

// The same problem with offsets of the table counted in units.
LookupProblem in_units(const LookupProblem& p, const KeySpace& space) {
  const auto unit = static_cast<ptrdiff_t>(space.unit);
  LookupProblem result;
  result.index_type = p.index_type;
  for (size_t k = 0; k < p.places.rank(); ++k) {
    AxisOf<kLookupTensors> axis = p.places[k];
    axis.stride[kLookupTable] /= unit;
    result.places.push(axis);
  }
  result.lookups = p.lookups;
  for (size_t l = 0; l < p.lookups; ++l) {
    result.lookup[l] = p.lookup[l];
    result.lookup[l].stride /= unit;
  }
  return result;
}

void make_keys(const LookupProblem& p, const KeySpace& space, size_t threads, const void* indices,
               uint64_t* keys) {
  const LookupProblem units = in_units(p, space);
  const size_t count = p.places.count();
  const ptrdiff_t lowest = space.lowest / static_cast<ptrdiff_t>(space.unit);
  const size_t useful = useful_threads(threads, 2.0 * static_cast<double>(count));
  parallel_for(useful, div_up(count, kKeyGrain), [&](size_t g, size_t) {
    ptrdiff_t table[kBlock], rows[kBlock];
    const size_t end = std::min(count, (g + 1) * kKeyGrain);
    for (size_t first = g * kKeyGrain; first < end; first += kBlock) {
      const size_t n = std::min(kBlock, end - first);
      find_offsets(units, indices, first, n, table, rows);
      for (size_t i = 0; i < n; ++i)
        keys[first + i] = space.first_key(static_cast<size_t>(table[i] - lowest)) | (first + i);
    }
  });
}

// Sorts by bits [low, low + bits), keeping the order of equal ones: digit by digit. Returns the
// one of the two arrays that has the result.
uint64_t* sort_keys(uint64_t* keys, uint64_t* other, size_t n, int low, int bits) {
  constexpr int kMostDigits = 11;
  if (bits == 0 || std::is_sorted(keys, keys + n)) return keys;
  if (n <= kFew) {
    std::sort(keys, keys + n);  // no two keys are equal
    return keys;
  }
  const int passes = (bits + kMostDigits - 1) / kMostDigits, width = (bits + passes - 1) / passes;
  const uint64_t mask = (uint64_t{1} << width) - 1;
  for (int pass = 0; pass < passes; ++pass) {
    const int shift = low + pass * width;
    size_t next[size_t{1} << kMostDigits] = {};
    for (size_t i = 0; i < n; ++i) ++next[keys[i] >> shift & mask];
    size_t sum = 0;
    for (size_t digit = 0; digit <= mask; ++digit) sum += std::exchange(next[digit], sum);
    for (size_t i = 0; i < n; ++i) other[next[keys[i] >> shift & mask]++] = keys[i];
    std::swap(keys, other);
  }
  return keys;
}

// ---- Combining ----

class Scatter {
 public:
  Scatter(const LookupProblem& p, const ScatterSettings& settings, const LookupData& data,
          const KeySpace& space, const uint64_t* keys, uint64_t* other)
      : p_(p),
        s_(settings),
        data_(data),
        space_(space),
        keys_(keys),
        offsets_(reinterpret_cast<int64_t*>(other)),
        count_(p.places.count()),
        bytes_(type_bytes(p.type)),
        contiguous_(has_contiguous_slices(p)),
        combine_(find_combine(settings.op, p.type)) {
    streams_ = p.type == BNNSDataTypeFloat32 && space.slices * space.unit * bytes_ >= kStreamed;
    if (contiguous_ && p.type == BNNSDataTypeFloat32 && settings.op == ScatterOp::kSum)
      sum_ = settings.kernels->sum;
  }

  // The slices whose first key is one of [begin, end).
  void combine_keys(size_t begin, size_t end) const {
    while (begin < end && begin > 0 && slice(begin) == slice(begin - 1)) ++begin;
    while (begin < end) begin = combine_slice(begin);
  }

  // Slices [first, last) of a table that is written as a whole.
  void write_slices(size_t first, size_t last) const {
    size_t key = first_key_of(first);
    while (first < last) {
      const size_t next = key < count_ ? std::min(last, slice(key)) : last;
      if (clears()) clear(first, next);
      if (next == last) return;
      first = next + 1;
      if (next != s_.skipped) {
        key = combine_slice(key);
        continue;
      }
      if (clears()) clear(next, first);
      key = first_key_of(first);
    }
  }

  // Whether the slices lie one after the other without gaps, so that they are cleared as memory,
  // together with the slices beside them. Other tables are cleared beforehand.
  bool clears() const { return contiguous_ && space_.unit == p_.slice.count(); }
  void clear_table(size_t threads) const;

 private:
  size_t slice(size_t key) const { return space_.slice(keys_[key]); }
  size_t first_key_of(size_t slice) const {
    return static_cast<size_t>(std::lower_bound(keys_, keys_ + count_, space_.first_key(slice)) -
                               keys_);
  }
  char* table_at(size_t slice) const {
    return static_cast<char*>(data_.table) + space_.offset(slice) * static_cast<ptrdiff_t>(bytes_);
  }
  void clear(size_t first, size_t last) const {
    if (first == last) return;
    if (streams_) {
      s_.kernels->clear(reinterpret_cast<float*>(table_at(first)), (last - first) * space_.unit);
    } else {
      std::memset(table_at(first), 0, (last - first) * space_.unit * bytes_);
    }
  }
  ptrdiff_t rows_offset(uint64_t key) const {
    const size_t place = space_.place(key);
    if (p_.places.rank() == 1)
      return static_cast<ptrdiff_t>(place) * p_.places[0].stride[kLookupRows];
    return p_.places.at(place)[kLookupRows];
  }
  size_t combine_slice(size_t begin) const;

  const LookupProblem& p_;
  const ScatterSettings& s_;
  const LookupData& data_;
  const KeySpace& space_;
  const uint64_t* keys_;
  int64_t* offsets_;  // in the rows, of every key
  size_t count_, bytes_;
  bool contiguous_, streams_;
  Combine combine_;
  void (*sum_)(const float*, const int64_t*, size_t, size_t, double, bool, float*) = nullptr;
};

// Combines the slice of the key at `begin`. Returns the first key of the next slice.
size_t Scatter::combine_slice(size_t begin) const {
  const size_t number = slice(begin);
  size_t end = begin;
  for (; end < count_ && slice(end) == number; ++end) offsets_[end] = rows_offset(keys_[end]);
  if (number == s_.skipped) return end;
  const size_t places = end - begin;
  if (sum_ != nullptr) {
    sum_(static_cast<const float*>(data_.rows), offsets_ + begin, places, p_.slice.count(),
         s_.mean ? static_cast<double>(places) : 1, s_.accumulate,
         reinterpret_cast<float*>(table_at(number)));
    return end;
  }
  combine_({.slice = p_.slice,
            .table = table_at(number),
            .rows = data_.rows,
            .offsets = offsets_ + begin,
            .count = places,
            .accumulate = s_.accumulate,
            .mean = s_.mean});
  return end;
}

// In the order of memory.
void Scatter::clear_table(size_t threads) const {
  View view;
  const auto push = [&](size_t extent, ptrdiff_t stride) {
    const auto step = static_cast<size_t>(stride);
    size_t k = view.rank++;
    for (; k > 0 && view.stride[k - 1] > step; --k) {
      view.extent[k] = view.extent[k - 1];
      view.stride[k] = view.stride[k - 1];
    }
    view.extent[k] = extent;
    view.stride[k] = step;
  };
  for (size_t k = 0; k < p_.slice.rank(); ++k)
    push(p_.slice[k].extent, p_.slice[k].stride[kLookupTable]);
  push(p_.lookup[0].extent, p_.lookup[0].stride);
  const View all = collapsed(view);
  const size_t count = p_.slice.count() * p_.lookup[0].extent;
  const size_t useful = useful_threads(threads, 0.2 * static_cast<double>(count));
  parallel_for(useful, div_up(count, kGrainElements), [&](size_t g, size_t) {
    size_t left = std::min(kGrainElements, count - g * kGrainElements);
    for (Walker walker(all, g * kGrainElements); left > 0;) {
      const size_t run = std::min(left, walker.run());
      char* to = static_cast<char*>(data_.table) + walker.offset() * bytes_;
      if (walker.stride() == 1) {
        std::memset(to, 0, run * bytes_);
      } else {
        for (size_t i = 0; i < run; ++i) std::memset(to + i * walker.stride() * bytes_, 0, bytes_);
      }
      walker.advance(run);
      left -= run;
    }
  });
}

}  // namespace

size_t scatter_scratch(const LookupProblem& problem) {
  const KeySpace space = key_space(problem);
  const int bits = space.place_bits + static_cast<int>(std::bit_width(space.slices - 1));
  require(bits <= 63, "there are ", problem.places.count(), " indices into ", space.slices,
          " slices; that is more than can be sorted");
  return checked_mul(2, problem.places.count(), "the sorted indices");
}

void run_scatter(const LookupProblem& problem, const ScatterSettings& settings, size_t threads,
                 const LookupData& data, uint64_t* scratch) {
  const KeySpace space = key_space(problem);
  const size_t count = problem.places.count();
  uint64_t* other = scratch + count;
  make_keys(problem, space, threads, data.indices, scratch);
  const uint64_t* keys = sort_keys(scratch, other, count, space.place_bits,
                                   static_cast<int>(std::bit_width(space.slices - 1)));
  if (keys == other) other = scratch;
  const Scatter scatter(problem, settings, data, space, keys, other);
  const auto slice = static_cast<double>(problem.slice.count());
  const size_t some = std::max<size_t>(1, kGrainElements / problem.slice.count());
  const double work = static_cast<double>(count) * (10 + 0.3 * slice);
  if (settings.accumulate) {
    parallel_for(useful_threads(threads, work), div_up(count, some), [&](size_t g, size_t) {
      scatter.combine_keys(g * some, std::min(count, (g + 1) * some));
    });
    return;
  }
  if (!scatter.clears()) scatter.clear_table(threads);
  const double writing = 0.3 * static_cast<double>(space.slices) * slice;
  parallel_for(useful_threads(threads, work + writing), div_up(space.slices, some),
               [&](size_t g, size_t) {
                 scatter.write_slices(g * some, std::min(space.slices, (g + 1) * some));
               });
}

}  // namespace bnns::impl

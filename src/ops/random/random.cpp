#include "ops/random/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "core/checked.h"
#include "core/parallel.h"
#include "math/double_math.h"
#include "math/half.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 4096;
constexpr size_t kNumbers = 256;     // numbers drawn per kernel call
constexpr double kNanoseconds = 10;  // estimated time per element

using Wide128 = unsigned __int128;

struct Numbers {
  alignas(64) uint64_t high[kNumbers], low[kNumbers];
};

void draw(PhiloxKernel kernel, RandomUse use, uint64_t key, uint64_t first, size_t n,
          Numbers& numbers) {
  kernel(static_cast<uint64_t>(use), key, first, n, numbers.high, numbers.low);
}

// Multiples of 2^-53 in [0, 1) and in (0, 1), all exact. The conversion is from signed integers,
// which is faster on most CPUs.
double half_open_unit(uint64_t bits) {
  return static_cast<double>(static_cast<int64_t>(bits >> 11)) * 0x1p-53;
}
double open_unit(uint64_t bits) {
  return (static_cast<double>(static_cast<int64_t>(bits >> 12)) + 0.5) * 0x1p-52;
}

// Calls body(numbers, first element, n) for all elements of y, kNumbers at a time.
template <class Body>
void for_numbers(const RandomRun& run, const View& y, const Body& body) {
  const size_t threads = useful_threads(run.threads, kNanoseconds * static_cast<double>(y.count));
  parallel_for(threads, div_up(y.count, kGrain), [&](size_t g, size_t) {
    const size_t end = std::min(y.count, (g + 1) * kGrain);
    Numbers numbers;
    for (size_t first = g * kGrain; first < end; first += kNumbers) {
      const size_t n = std::min(kNumbers, end - first);
      draw(run.philox, RandomUse::kGenerator, run.key, run.first + first, n, numbers);
      body(numbers, first, n);
    }
  });
}

// Fills y with value(numbers, i).
template <class Number, class Value>
void fill(const RandomRun& run, const View& y, const Value& value) {
  for_numbers(run, y, [&](const Numbers& numbers, size_t first, size_t n) {
    Number buffer[kNumbers];
    for (size_t i = 0; i < n; ++i) buffer[i] = value(numbers, i);
    if constexpr (std::is_same_v<Number, float>) {
      write_values(*run.convert, y, first, n, buffer);
    } else {
      write_values(y, first, n, buffer);
    }
  });
}

// ---- Values of the 16-bit types ----

// The next smaller value in any sign-magnitude format.
template <class Bits>
Bits below(Bits bits) {
  constexpr Bits kSign = Bits(1) << (8 * sizeof(Bits) - 1);
  if (bits == 0) [[unlikely]]
    return static_cast<Bits>(kSign | 1);
  return static_cast<Bits>((bits & kSign) != 0 ? bits + 1 : bits - 1);
}
float next_below(float v) {
  return std::bit_cast<float>(below(std::bit_cast<uint32_t>(v)));
}
float next_below(BNNSDataType type, float v) {
  switch (type) {
    case BNNSDataTypeFloat16:
      return half_to_float(below(float_to_half(v)));
    case BNNSDataTypeBFloat16:
      return bfloat_to_float(below(float_to_bfloat(v)));
    default:
      return next_below(v);
  }
}

float nearest(BNNSDataType type, float v) {
  switch (type) {
    case BNNSDataTypeFloat16:
      return half_to_float(float_to_half(v));
    case BNNSDataTypeBFloat16:
      return bfloat_to_float(float_to_bfloat(v));
    default:
      return v;
  }
}

float largest(BNNSDataType type) {
  switch (type) {
    case BNNSDataTypeFloat16:
      return 65504;
    case BNNSDataTypeBFloat16:
      return 0x1.FEp127f;
    default:
      return std::numeric_limits<float>::max();
  }
}

// The largest value of the type that is not above v, which lies in the type's range.
float floor_to(BNNSDataType type, double v) {
  const auto up_or_down = static_cast<float>(v);
  const float lower = next_below(up_or_down);
  const float rounded = double{up_or_down} > v ? lower : up_or_down;
  if (type == BNNSDataTypeFloat32) return rounded;
  const float result = nearest(type, rounded);
  return result > rounded ? next_below(type, result) : result;
}

}  // namespace

uint64_t RandomStreams::new_range() {
  static std::atomic<uint64_t> filters{1};
  return filters.fetch_add(1, std::memory_order_relaxed) << 32;
}

RandomNumber random_number(RandomUse use, uint64_t key, uint64_t number) {
  Numbers numbers;
  draw(philox_kernel(), use, key, number, 1, numbers);
  return {.high = numbers.high[0], .low = numbers.low[0]};
}

void random_open_units(uint64_t stream, uint64_t first, size_t n, float* out) {
  const PhiloxKernel kernel = philox_kernel();
  Numbers numbers;
  for (size_t done = 0; done < n; done += kNumbers) {
    const size_t m = std::min(kNumbers, n - done);
    draw(kernel, RandomUse::kFilter, stream, first + done, m, numbers);
    for (size_t i = 0; i < m; ++i)
      out[done + i] =
          (static_cast<float>(static_cast<int32_t>(numbers.high[i] >> 41)) + 0.5f) * 0x1p-23f;
  }
}

UniformRange::UniformRange(BNNSDataType type, float from, float to) {
  const float limit = largest(type);
  const float low = std::clamp(from, -limit, limit), high = std::clamp(to, -limit, limit);
  a = double{low};
  b = double{high};
  lowest = -floor_to(type, -a);
  highest = floor_to(type, b);
  if (highest == high) highest = next_below(type, highest);
}

void run_uniform(const RandomRun& run, const UniformRange& range, const View& y) {
  const double width = range.b - range.a;
  fill<float>(run, y, [&](const Numbers& numbers, size_t i) {
    const double v = range.a + half_open_unit(numbers.high[i]) * width;
    return std::clamp(floor_to(y.type, v), range.lowest, range.highest);
  });
}

void run_uniform_integer(const RandomRun& run, int64_t a, int64_t b, const View& y) {
  const uint64_t width = static_cast<uint64_t>(b) - static_cast<uint64_t>(a);
  fill<int64_t>(run, y, [&](const Numbers& numbers, size_t i) {
    const Wide128 carry = Wide128{numbers.low[i]} * width >> 64;
    const auto index = static_cast<uint64_t>((Wide128{numbers.high[i]} * width + carry) >> 64);
    return static_cast<int64_t>(static_cast<uint64_t>(a) + index);
  });
}

void run_normal(const RandomRun& run, double mean, double stddev, const View& y) {
  fill<float>(run, y, [&](const Numbers& numbers, size_t i) {
    const double radius = std::sqrt(-2 * portable_log(open_unit(numbers.high[i])));
    return static_cast<float>(mean + stddev * (radius * portable_cos_turn(numbers.low[i])));
  });
}

Weights sum_weights(const ConvertKernels& convert, const View& row, bool logarithms, double* sums) {
  float top = -std::numeric_limits<float>::infinity();
  float buffer[kNumbers];
  const auto for_pieces = [&](const auto& body) {
    for (size_t first = 0; first < row.count; first += kNumbers) {
      const size_t n = std::min(kNumbers, row.count - first);
      read_values(convert, row, first, n, buffer);
      for (size_t i = 0; i < n; ++i) body(first + i, buffer[i]);
    }
  };
  bool bad = false;
  for_pieces([&](size_t, float v) {
    bad |= !(v < std::numeric_limits<float>::infinity()) || (!logarithms && v < 0);
    top = std::max(top, v);
  });
  if (bad) return Weights::kBadValue;
  if (logarithms ? std::isinf(top) : top == 0) return Weights::kAllZero;
  double sum = 0;
  for_pieces([&](size_t k, float v) {
    sum += logarithms ? portable_exp(double{v} - double{top}) : double{v};
    sums[k] = sum;
  });
  return Weights::kFine;
}

void run_categorical(const RandomRun& run, const double* sums, size_t classes, const View& rows,
                     const View& y) {
  for_numbers(run, y, [&](const Numbers& numbers, size_t first, size_t n) {
    float buffer[kNumbers];
    Walker row(rows, first);
    for (size_t i = 0; i < n; ++i, row.advance(1)) {
      const double* begin = sums + row.offset() * classes;
      const double* end = begin + classes;
      const double total = end[-1];
      const double* found = std::upper_bound(begin, end, half_open_unit(numbers.high[i]) * total);
      // The product may round up to the total; the last class with a positive weight is chosen
      // then.
      if (found == end) found = std::lower_bound(begin, end, total);
      buffer[i] = static_cast<float>(found - begin);
    }
    write_values(*run.convert, y, first, n, buffer);
  });
}

}  // namespace bnns::impl

// Counter-based random numbers: number k of a key is a function of (key, k), so that any thread can
// draw any number, and results depend neither on the thread nor on the machine. The function is
// Philox4x32 with ten rounds (Salmon, Moraes, Dror, Shaw, 2011); a number is its block of 128 bits.
//   uniform       floor to the type of a + u (b - a)
//   integer       a + floor(u (b - a)), u with 128 bits: biased by less than 2^-64
//   normal        mean + stddev sqrt(-2 log u) cos(2 pi v)
//   categorical   the first k with p(0) + ... + p(k) > u
// Element k of a fill, in memory order, uses number first + k and no other. Only integer arithmetic
// and correctly rounded operations on doubles are used, without fused multiply-add.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/view.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

// Separates the numbers of equal keys that serve different purposes.
enum class RandomUse : uint64_t { kGenerator, kFilter, kCheck, kSeed };

// Blocks [first, first + n) of a key. The counter is the block's number and `use`, lower words
// first; high[i] holds the first two words of a block, low[i] the others. Whole vectors are
// written: both arrays are aligned to 64 bytes and have room for n rounded up to eight.
using PhiloxKernel = void (*)(uint64_t use, uint64_t key, uint64_t first, size_t n, uint64_t* high,
                              uint64_t* low);
PhiloxKernel philox_kernel();

struct RandomNumber {
  uint64_t high, low;
};
RandomNumber random_number(RandomUse use, uint64_t key, uint64_t number);

// The streams of one filter. The filters of the process that draw are numbered from 1 in the order
// of their creation, whatever their kind; filter k owns streams k * 2^32 and following, 2^32 of
// them. A call takes the next ones, so that no two calls of the process share a number, and a
// program that creates and applies its filters in the same order draws the same numbers again.
class RandomStreams {
 public:
  // A filter that does not draw takes no stream.
  explicit RandomStreams(bool draws) : next_(draws ? new_range() : 0) {}
  // The streams of a seed that the client chose, which are those of every filter with this seed.
  // They are for RandomUse::kSeed, apart from the streams above.
  static RandomStreams of_seed(uint32_t seed) { return RandomStreams(uint64_t{seed} << 32); }

  // Returns the first of `count` streams that belong to the caller. Any thread may call it.
  uint64_t next(uint64_t count = 1) { return next_.fetch_add(count, std::memory_order_relaxed); }

 private:
  explicit RandomStreams(uint64_t first) : next_(first) {}
  static uint64_t new_range();

  std::atomic<uint64_t> next_;
};

// Numbers [first, first + n) of a filter's stream, uniform in the open interval (0, 1).
void random_open_units(uint64_t stream, uint64_t first, size_t n, float* out);

struct RandomRun {
  explicit RandomRun(size_t thread_count) : threads(thread_count) {}

  PhiloxKernel philox = philox_kernel();
  const ConvertKernels* convert = convert_kernels();
  size_t threads;
  uint64_t key = 0, first = 0;
};

// The values of a floating-point type in [a, b), with a and b clamped to the range of the type.
struct UniformRange {
  double a, b;
  float lowest, highest;

  UniformRange(BNNSDataType type, float a, float b);
  bool is_empty() const { return !(lowest <= highest); }
};

// All views are collapsed.
void run_uniform(const RandomRun& run, const UniformRange& range, const View& y);
void run_uniform_integer(const RandomRun& run, int64_t a, int64_t b, const View& y);
void run_normal(const RandomRun& run, double mean, double stddev, const View& y);

// ---- Categorical ----

// sums[k] = p(0) + ... + p(k). If the row holds logarithms, p(k) = e^(value - largest value).
enum class Weights { kFine, kBadValue, kAllZero };
Weights sum_weights(const ConvertKernels& convert, const View& row, bool logarithms, double* sums);

// Each element of y gets an index drawn from one row of sums. `rows` is a view with the axes of y
// (not collapsed) whose offsets are the indices of rows of `classes` sums.
void run_categorical(const RandomRun& run, const double* sums, size_t classes, const View& rows,
                     const View& y);

}  // namespace bnns::impl

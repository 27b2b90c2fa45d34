// Reductions of the elements x of a group to one value y; with weights, u = w x takes the place of
// x. N is the number of elements of a group.
//   Max, Min            y = u of the extremum         du = dy at the first extremum, else 0
//   ArgMax, ArgMin      y = index of the first extremum
//   Sum, Mean           y = sum u, sum u / N          du = dy, dy / N
//   MeanNonZero         the mean of those with w != 0
//   SumSquare, L2Norm   y = sum u^2, sqrt(sum u^2)    du = 2 u dy, dy u / y
//   SumLog              y = sum ln(u + epsilon)       du = dy / (u + epsilon)
//   L1Norm, Product     y = sum |u|, product of u     du = dy sign(u), dy times the other factors
//   LogSumExp, LogSum   y = ln sum e^u, ln sum u      du = dy e^(u - y), dy / sum u
//   LogicalOr, And      y = whether any, all u != 0
// dx = w du and dw = x du. Grains are groups, blocks of neighbouring groups, or parts of a few
// large groups that are joined in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/axes.h"
#include "core/types.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

// What is computed of a group; functions that differ only in the last step share a kind.
enum class ReduceKind : uint8_t {
  kSum,
  kSumSquare,
  kSumAbs,
  kSumLog,
  kCount,  // of values that are not 0
  kMax,
  kMin,
  kArgMax,
  kArgMin,
  kProduct,
  kLogSumExp,
};
constexpr size_t kReduceKinds = 11;

struct ReduceInfo {
  BNNSReduceFunction function;
  const char* name;
  ReduceKind kind;
  enum Traits { kIntegers = 1, kGradient = 2, kFromX = 4, kFromOut = 8, kIndex = 16, kTruth = 32 };
  int traits;

  bool integers() const { return (traits & kIntegers) != 0; }  // exists for Boolean and Int32
  bool gradient() const { return (traits & kGradient) != 0; }
  // The gradient depends on x, also without weights.
  bool from_x() const { return (traits & kFromX) != 0; }
  // y saves the gradient a pass over x.
  bool from_out() const { return (traits & kFromOut) != 0; }
  bool index() const { return (traits & kIndex) != 0; }  // y is an index
  bool truth() const { return (traits & kTruth) != 0; }  // y is true or false
};
// nullptr for a value that is no function, or for None.
const ReduceInfo* find_reduce(BNNSReduceFunction function);

// The tensors of the axes. In backward calls kReduceY is the gradient of y, and kReduceOut y
// itself, if it is known.
enum : size_t {
  kReduceX,
  kReduceW,
  kReduceY,
  kReduceDx,
  kReduceDw,
  kReduceOut,
  kReduceTensors,
};
using ReduceAxes = AxesOf<kReduceTensors>;

// The axes are in the memory order of x, not collapsed; the strides of x, w and their gradients are
// not negative.
struct ReduceProblem {
  const ReduceInfo* info = nullptr;
  float epsilon = 0;
  bool weighted = false;
  ReduceAxes axes;
  uint32_t reversed = 0;  // bit k: coordinates of axis k count from the end of the memory of x
  AxesTensor tensor[kReduceTensors] = {};  // with the data of this call
};

// What is known of a group, or of a part of it:
//   sums         a = the sum, b = number of nonzero weights, if it is needed
//   extrema      a = the value, b = its index in the group (of kArg...)
//   product      a 2^b, so that it can neither overflow nor vanish on the way
//   log-sum-exp  a = the maximum, b = sum of e^(u - a)
struct ReduceState {
  double a, b;
};

// Kernels for one SIMD target, by kind.
struct ReduceKernels {
  // Of at most kReduceRow neighbouring values.
  ReduceState (*row[kReduceKinds])(const float* x, size_t n, float epsilon);
  // Of n neighbouring groups, over `rows` <= kReduceTileRows elements of each, whose rows are
  // `stride` apart. a and b have room for kReduceColumns values and one vector more.
  void (*columns[kReduceKinds])(const float* x, size_t stride, size_t rows, size_t n, float epsilon,
                                float* a, float* b);
  // u = w x; and the same with 0 where w is 0, whatever x is.
  void (*weigh)(const float* x, const float* w, float* u, size_t n);
  void (*weigh_nonzero)(const float* x, const float* w, float* u, size_t n);
  // What du is, by ReduceSlope; c and s differ by element.
  void (*slope[6])(const float* u, const float* c, const float* s, float* du, size_t n);
  void (*fill)(float value, float* to, size_t n);
  // to = or += factor * du; factor may be nullptr.
  void (*put)(const float* du, const float* factor, float* to, size_t n, bool accumulate);
};
constexpr size_t kReduceRow = 4096, kReduceColumns = 1024, kReduceTileRows = 256;
enum ReduceSlope : uint8_t {
  kSlopeConstant,    // du = c
  kSlopeLinear,      // du = c u
  kSlopeReciprocal,  // du = c / (u + s)
  kSlopeSign,        // du = c sign(u)
  kSlopeExp,         // du = c e^(u - s)
  kSlopeScaled,      // du = c (u s)
};
const ReduceKernels* reduce_kernels();

// The kernels of the target that is chosen when this object is made, and the threads to use.
struct ReduceRun {
  explicit ReduceRun(size_t thread_count) : threads(thread_count) {}

  const ReduceKernels* kernels = reduce_kernels();
  const ConvertKernels* convert = convert_kernels();
  size_t threads;
};

// Working memory of a call, in states; most calls need none.
size_t reduce_scratch(const ReduceProblem& problem);
// Enough for any strides of at most so many groups of `length` elements.
size_t reduce_most_scratch(size_t groups, size_t length);
void run_reduce(const ReduceRun& run, const ReduceProblem& problem, ReduceState* scratch);

// The gradients that have data, each set or added to.
struct ReduceAccumulate {
  bool dx = false, dw = false;
};
// Enough for any strides, as above.
size_t reduce_backward_scratch(const ReduceInfo& info, bool weighted, size_t groups, size_t length);
void run_reduce_backward(const ReduceRun& run, const ReduceProblem& problem,
                         ReduceAccumulate accumulate, ReduceState* scratch);

}  // namespace bnns::impl

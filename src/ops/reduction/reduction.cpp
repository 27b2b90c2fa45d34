// The table of functions, and the forward pass.
#include "ops/reduction/reduction.h"

#include "ops/reduction/groups.h"
#include "ops/reduction/integers.h"

namespace bnns::impl {
namespace {

using K = ReduceKind;
constexpr int kIntegers = ReduceInfo::kIntegers, kTruth = ReduceInfo::kTruth | kIntegers;
constexpr int kIndex = ReduceInfo::kIndex | kIntegers;
constexpr int kFromOut = ReduceInfo::kFromOut;
constexpr int kGradient = ReduceInfo::kGradient, kFromX = kGradient | ReduceInfo::kFromX;

constexpr ReduceInfo kFunctions[] = {
    {BNNSReduceFunctionMax, "Max", K::kMax, kFromX | kIntegers},
    {BNNSReduceFunctionMin, "Min", K::kMin, kFromX | kIntegers},
    {BNNSReduceFunctionArgMax, "ArgMax", K::kArgMax, kIndex},
    {BNNSReduceFunctionArgMin, "ArgMin", K::kArgMin, kIndex},
    {BNNSReduceFunctionMean, "Mean", K::kSum, kGradient},
    {BNNSReduceFunctionMeanNonZero, "MeanNonZero", K::kSum, kGradient},
    {BNNSReduceFunctionSum, "Sum", K::kSum, kGradient | kIntegers},
    {BNNSReduceFunctionSumSquare, "SumSquare", K::kSumSquare, kFromX | kIntegers},
    {BNNSReduceFunctionSumLog, "SumLog", K::kSumLog, kFromX},
    {BNNSReduceFunctionL1Norm, "L1Norm", K::kSumAbs, kFromX | kIntegers},
    {BNNSReduceFunctionLogicalOr, "LogicalOr", K::kCount, kTruth},
    {BNNSReduceFunctionLogicalAnd, "LogicalAnd", K::kCount, kTruth},
    {BNNSReduceFunctionL2Norm, "L2Norm", K::kSumSquare, kFromX | kFromOut},
    {BNNSReduceFunctionLogSumExp, "LogSumExp", K::kLogSumExp, kFromX | kFromOut},
    {BNNSReduceFunctionProduct, "Product", K::kProduct, kFromX | kIntegers},
    {BNNSReduceFunctionLogSum, "LogSum", K::kSum, kFromX},
};

template <class T>
void write_as(const AxesTensor& y, ptrdiff_t at, double index) {
  static_cast<T*>(y.data)[at] = static_cast<T>(index);
}

// Index types other than floats.
void write_index(const AxesTensor& y, ptrdiff_t at, double index) {
  switch (y.type) {
    case BNNSDataTypeInt8:
      return write_as<int8_t>(y, at, index);
    case BNNSDataTypeInt16:
      return write_as<int16_t>(y, at, index);
    case BNNSDataTypeInt32:
      return write_as<int32_t>(y, at, index);
    case BNNSDataTypeInt64:
      return write_as<int64_t>(y, at, index);
    case BNNSDataTypeUInt8:
      return write_as<uint8_t>(y, at, index);
    case BNNSDataTypeUInt16:
      return write_as<uint16_t>(y, at, index);
    case BNNSDataTypeUInt32:
      return write_as<uint32_t>(y, at, index);
    case BNNSDataTypeUInt64:
      return write_as<uint64_t>(y, at, index);
    default:
      return write_value(y, at, index);
  }
}

}  // namespace

const ReduceInfo* find_reduce(BNNSReduceFunction function) {
  for (const ReduceInfo& info : kFunctions) {
    if (info.function == function) return &info;
  }
  return nullptr;
}

void write_reduced(const ReduceProblem& problem, ptrdiff_t at, double value) {
  const AxesTensor& y = problem.tensor[kReduceY];
  if (problem.info->index()) return write_index(y, at, value);
  write_value(y, at, value);
}

size_t reduce_scratch(const ReduceProblem& problem) {
  if (is_integer_reduction(problem)) return 0;
  const ReducePlan plan(problem);
  return plan.parts > 1 ? plan.groups() * plan.parts : 0;
}

size_t reduce_most_scratch(size_t groups, size_t length) {
  const size_t parts = std::min(kMaxReduceParts, div_up(length, kMinReducePart));
  const size_t most = std::max(kMaxReduceParts, 2 * kManyReduceBlocks * kReduceColumns);
  return parts == 1 ? 0 : std::min(most, std::min(most, groups) * parts);
}

void run_reduce(const ReduceRun& run, const ReduceProblem& problem, ReduceState* scratch) {
  if (is_integer_reduction(problem)) return run_reduce_integers(run, problem);
  const ReducePlan plan(problem);
  const ReduceGroups groups(run, problem, plan, problem.info->kind);
  const auto n = static_cast<double>(plan.length);
  groups.run(scratch, [&](size_t, const ReduceOffsets& at, ReduceState s) {
    write_reduced(problem, at[kReduceY], result_of(problem.info->function, problem.weighted, s, n));
  });
}

}  // namespace bnns::impl

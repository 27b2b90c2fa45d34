// The table of functions and the forward pass. Grains are stretches of the output in memory order.
#include "ops/arithmetic/arithmetic.h"

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/arithmetic/pass.h"

namespace bnns::impl {
namespace {

using enum GradientInPlace;

// Entry k describes function k. The costs are those of the vectorised loop on cached data.
// clang-format off
constexpr ArithmeticInfo kArithmetic[] = {
    {BNNSArithmeticAdd, "Add", 2, {}, false, kAlways, 0.1f},
    {BNNSArithmeticSubtract, "Subtract", 2, {}, false, kAlways, 0.1f},
    {BNNSArithmeticMultiply, "Multiply", 2, {2, 1}, false, kNever, 0.1f},
    {BNNSArithmeticDivide, "Divide", 2, {2, 3}, false, kNever, 0.2f},
    {BNNSArithmeticSquareRoot, "SquareRoot", 1, {1}, true, kWithIdentity, 0.2f},
    {BNNSArithmeticReciprocalSquareRoot,
        "ReciprocalSquareRoot", 1, {1}, true, kWithIdentity, 0.2f},
    {BNNSArithmeticCeil, "Ceil", 1, {}, false, kAlways, 0.1f},
    {BNNSArithmeticFloor, "Floor", 1, {}, false, kAlways, 0.1f},
    {BNNSArithmeticRound, "Round", 1, {}, false, kAlways, 0.1f},
    {BNNSArithmeticSin, "Sin", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticCos, "Cos", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticTan, "Tan", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticAsin, "Asin", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticAcos, "Acos", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticAtan, "Atan", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticSinh, "Sinh", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticCosh, "Cosh", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticTanh, "Tanh", 1, {1}, true, kWithIdentity, 0.5f},
    {BNNSArithmeticAsinh, "Asinh", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticAcosh, "Acosh", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticAtanh, "Atanh", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticPow, "Pow", 2, {3, 3}, false, kNever, 2.0f},
    {BNNSArithmeticExp, "Exp", 1, {1}, true, kWithIdentity, 0.5f},
    {BNNSArithmeticExp2, "Exp2", 1, {1}, true, kWithIdentity, 0.5f},
    {BNNSArithmeticLog, "Log", 1, {1}, false, kNever, 0.5f},
    {BNNSArithmeticLog2, "Log2", 1, {1}, false, kNever, 1.0f},
    {BNNSArithmeticMultiplyNoNaN, "MultiplyNoNaN", 2, {2, 3}, false, kNever, 0.1f},
    {BNNSArithmeticDivideNoNaN, "DivideNoNaN", 2, {2, 3}, false, kNever, 0.2f},
    {BNNSArithmeticMultiplyAdd, "MultiplyAdd", 3, {2, 1, 0}, false, kNever, 0.1f},
    {BNNSArithmeticMinimum, "Minimum", 2, {3, 3}, false, kNever, 0.1f},
    {BNNSArithmeticMaximum, "Maximum", 2, {3, 3}, false, kNever, 0.1f},
    {BNNSArithmeticSelect, "Select", 3, {0, 1, 1}, false, kNever, 0.1f},
    {BNNSArithmeticAbs, "Abs", 1, {1}, false, kNever, 0.1f},
    {BNNSArithmeticSign, "Sign", 1, {}, false, kAlways, 0.1f},
    {BNNSArithmeticNegate, "Negate", 1, {}, false, kAlways, 0.1f},
    {BNNSArithmeticReciprocal, "Reciprocal", 1, {1}, true, kWithIdentity, 0.2f},
    {BNNSArithmeticSquare, "Square", 1, {1}, false, kNever, 0.1f},
    {BNNSArithmeticFloorDivide, "FloorDivide", 2, {}, false, kNever, 1.0f},
    {BNNSArithmeticTruncDivide, "TruncDivide", 2, {}, false, kNever, 1.0f},
    {BNNSArithmeticTruncRemainder, "TruncRemainder", 2, {0, 3}, false, kNever, 1.0f},
    {BNNSArithmeticErf, "Erf", 1, {1}, false, kNever, 0.5f},
};
// clang-format on
static_assert(std::size(kArithmetic) == kArithmeticFunctions);

// Elements of a grain: some microseconds of work for the cheapest functions.
constexpr size_t kGrain = 32768;
// Elements that are still in the first-level cache when the activation follows.
constexpr size_t kCached = 2048;

}  // namespace

const ArithmeticInfo* find_arithmetic(BNNSArithmeticFunction function) {
  const auto index = static_cast<uint32_t>(function);
  return index < std::size(kArithmetic) ? &kArithmetic[index] : nullptr;
}

ArithmeticOp::ArithmeticOp(const Memory& memory, size_t threads, const ArithmeticProblem& problem)
    : memory_(memory),
      threads_(threads),
      problem_(problem),
      kernels_{.forward = forward_arithmetic(problem.function->function),
               .backward = backward_arithmetic(problem.function->function),
               .sums = arithmetic_sums()},
      scratch_(memory) {}

void ArithmeticOp::forward(const Values& values, uint64_t stream) {
  const FusedActivation& activation = problem_.activation;
  if (activation.ignores_input())
    return activation.forward(threads_, with_samples(values.out), stream);

  const size_t inputs = problem_.inputs();
  Pass pass(problem_.out, values.out.size);
  for (size_t k = 0; k < inputs; ++k) pass.add(values.in[k], problem_.is_sample(k), Operand::kRead);
  const size_t out = pass.add(values.out, true, Operand::kWrite);
  pass.push_all();
  pass.close(inputs == 2);

  const ForwardArithmetic& kernels = kernels_.forward;
  const bool fused = !activation.is_identity() && activation.is_element();
  const auto body = [&](const Pass::Block& b) {
    float* y = b.row[out];
    if (inputs == 2 && b.is_value[0] && b.is_value[1]) {
      kernels.rows(b.row, y, 1);
      std::fill_n(y + 1, b.n - 1, y[0]);
    } else if (inputs == 2 && b.is_value[0]) {
      kernels.first_is_value(b.row, y, b.n);
    } else if (inputs == 2 && b.is_value[1]) {
      kernels.second_is_value(b.row, y, b.n);
    } else {
      kernels.rows(b.row, y, b.n);
    }
    if (fused) activation.forward(y, b.n);
  };
  const size_t count = pass.count();
  const size_t threads = useful_threads(threads_, static_cast<double>(count) * nanoseconds());
  parallel_for(threads, div_up(count, kGrain), [&](size_t grain, size_t) {
    const size_t first = grain * kGrain;
    pass.run(*convert_, first, std::min(kGrain, count - first), fused ? kCached : kGrain, body);
  });
  if (!activation.is_element()) activation.forward(threads_, with_samples(values.out), stream);
}

}  // namespace bnns::impl

#include "ops/activation/activation.h"

#include <array>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

using enum ActivationClass;

// The parameters that a function takes, and the tensors its gradient can be computed from.
enum Takes { kNone, kAlpha, kAlphaBeta };
enum Gradient { kNever, kX, kXY };

constexpr ActivationInfo row(BNNSActivationFunction function, const char* name,
                             ActivationClass kind, Takes takes, Gradient gradient,
                             float nanoseconds = 0.1f) {
  return {.function = function,
          .name = name,
          .kind = kind,
          .uses_alpha = takes != kNone,
          .uses_beta = takes == kAlphaBeta,
          .from_input = gradient != kNever,
          .from_output = gradient == kXY,
          .nanoseconds = nanoseconds};
}

// Entry k describes function k. The costs are those of the vectorised loop on cached data.
// clang-format off
constexpr ActivationInfo kActivations[] = {
    row(BNNSActivationFunctionIdentity, "Identity", kElement, kNone, kXY),
    row(BNNSActivationFunctionRectifiedLinear, "RectifiedLinear", kElement, kNone, kXY),
    row(BNNSActivationFunctionLeakyRectifiedLinear, "LeakyRectifiedLinear", kElement, kAlpha, kXY),
    row(BNNSActivationFunctionSigmoid, "Sigmoid", kElement, kNone, kXY, 0.5f),
    row(BNNSActivationFunctionTanh, "Tanh", kElement, kNone, kXY, 0.5f),
    row(BNNSActivationFunctionScaledTanh, "ScaledTanh", kElement, kAlphaBeta, kXY, 0.5f),
    row(BNNSActivationFunctionAbs, "Abs", kElement, kNone, kX),
    row(BNNSActivationFunctionLinear, "Linear", kElement, kAlpha, kXY),
    row(BNNSActivationFunctionClamp, "Clamp", kElement, kAlphaBeta, kXY),
    row(BNNSActivationFunctionIntegerLinearSaturate,
        "IntegerLinearSaturate", kInteger, kNone, kNever, 2),
    row(BNNSActivationFunctionIntegerLinearSaturatePerChannel,
        "IntegerLinearSaturatePerChannel", kInteger, kNone, kNever, 2),
    row(BNNSActivationFunctionSoftmax, "Softmax", kAxis, kNone, kXY, 1),
    row(BNNSActivationFunctionGELUApproximation,
        "GELUApproximation", kElement, kAlphaBeta, kX, 0.6f),
    row(BNNSActivationFunctionGumbel, "Gumbel", kRandom, kAlphaBeta, kNever, 3),
    row(BNNSActivationFunctionGumbelMax, "GumbelMax", kAxis, kAlphaBeta, kNever, 3),
    row(BNNSActivationFunctionHardSigmoid, "HardSigmoid", kElement, kAlphaBeta, kXY),
    row(BNNSActivationFunctionSoftplus, "Softplus", kElement, kAlphaBeta, kXY, 0.8f),
    row(BNNSActivationFunctionSoftsign, "Softsign", kElement, kNone, kXY),
    row(BNNSActivationFunctionELU, "ELU", kElement, kAlpha, kXY, 0.5f),
    row(BNNSActivationFunctionClampedLeakyRectifiedLinear,
        "ClampedLeakyRectifiedLinear", kElement, kAlphaBeta, kXY),
    row(BNNSActivationFunctionLinearWithBias, "LinearWithBias", kElement, kAlphaBeta, kXY),
    row(BNNSActivationFunctionLogSoftmax, "LogSoftmax", kAxis, kNone, kXY, 1),
    row(BNNSActivationFunctionLogSigmoid, "LogSigmoid", kElement, kNone, kXY, 0.8f),
    row(BNNSActivationFunctionSELU, "SELU", kElement, kNone, kXY, 0.5f),
    row(BNNSActivationFunctionCELU, "CELU", kElement, kAlpha, kXY, 0.5f),
    row(BNNSActivationFunctionHardShrink, "HardShrink", kElement, kAlpha, kXY),
    row(BNNSActivationFunctionSoftShrink, "SoftShrink", kElement, kAlpha, kXY),
    row(BNNSActivationFunctionTanhShrink, "TanhShrink", kElement, kNone, kXY, 0.6f),
    row(BNNSActivationFunctionThreshold, "Threshold", kElement, kAlphaBeta, kXY),
    row(BNNSActivationFunctionPReLUPerChannel, "PReLUPerChannel", kChannel, kAlpha, kXY),
    row(BNNSActivationFunctionHardSwish, "HardSwish", kElement, kNone, kX),
    row(BNNSActivationFunctionSiLU, "SiLU", kElement, kNone, kX, 0.5f),
    row(BNNSActivationFunctionReLU6, "ReLU6", kElement, kNone, kXY),
    row(BNNSActivationFunctionErf, "Erf", kElement, kNone, kX, 0.6f),
    row(BNNSActivationFunctionGELU, "GELU", kElement, kNone, kX, 0.8f),
    row(BNNSActivationFunctionGELUApproximationSigmoid,
        "GELUApproximationSigmoid", kElement, kNone, kXY, 0.5f),
};
// clang-format on

// Elements of a grain: 64 KB per tensor, some microseconds of work.
constexpr size_t kGrain = 16384;
// Most grains of a reduction: their partial sums must fit on the stack.
constexpr size_t kMaxPartials = 256;

size_t threads_for(const ElementRun& run, const ActivationInfo& info, size_t count) {
  return useful_threads(run.threads, static_cast<double>(count) * info.nanoseconds);
}

template <class Body>
void for_grains(size_t threads, size_t count, size_t grain, const Body& body) {
  parallel_for(threads, div_up(count, grain), [&](size_t g, size_t) {
    const size_t first = g * grain;
    body(first, std::min(grain, count - first));
  });
}

// To accumulate, the gradient is computed into a buffer and then added, so that each function needs
// one backward kernel only.
void backward_row(const ElementRun& run, BackwardKernel kernel, const ActivationCoefficients& p,
                  bool accumulate, const float* known, const float* dy, float* dx, size_t n) {
  if (!accumulate) return kernel(known, dy, dx, n, p);
  alignas(64) float buffer[kBlock];
  for (size_t i = 0; i < n; i += kBlock) {
    const size_t m = std::min(kBlock, n - i);
    kernel(known + i, dy + i, buffer, m, p);
    run.alpha->add(buffer, dx + i, m);
  }
}

std::array<Operand, 3> backward_operands(const View& known, const View& dy, const View& dx,
                                         bool accumulate) {
  return {Operand{known, Operand::kRead}, Operand{dy, Operand::kRead},
          Operand{dx, accumulate ? Operand::kUpdate : Operand::kWrite}};
}

BackwardKernel kernel_of(const ElementActivation& f, Slope slope) {
  return slope == Slope::kFromInput ? f.from_input_kernel() : f.from_output_kernel();
}

double leaky_gradient_part(const ElementRun& run, const std::array<Operand, 2>& operands,
                           size_t first, size_t n) {
  double sum = 0;
  for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 2> rows, size_t m) {
    sum += double{run.alpha->leaky_gradient(rows[0], rows[1], m)};
  });
  return sum;
}

}  // namespace

const ActivationInfo* find_activation(BNNSActivationFunction function) {
  const auto index = static_cast<uint32_t>(function);
  return index < std::size(kActivations) ? &kActivations[index] : nullptr;
}

bool slope_from_output(const ActivationInfo& info, const ActivationCoefficients& p) {
  switch (info.function) {
    case BNNSActivationFunctionLeakyRectifiedLinear:
    case BNNSActivationFunctionClampedLeakyRectifiedLinear:
    case BNNSActivationFunctionELU:
      return p.alpha > 0;
    case BNNSActivationFunctionScaledTanh:
    case BNNSActivationFunctionSoftplus:
    case BNNSActivationFunctionCELU:
      return p.alpha != 0;
    default:
      return info.from_output;
  }
}

ElementActivation::ElementActivation(const ActivationInfo& info, const ActivationCoefficients& p)
    : info_(&info),
      parameters_(p),
      forward_(forward_kernels()[info.function]),
      from_input_(from_input_kernels()[info.function]),
      from_output_(from_output_kernels()[info.function]) {}

void run_forward(const ElementRun& run, const ElementActivation& f, const View& x, const View& y) {
  const std::array<Operand, 2> operands = {Operand{x, Operand::kRead}, Operand{y, Operand::kWrite}};
  for_grains(threads_for(run, f.info(), x.count), x.count, kGrain, [&](size_t first, size_t n) {
    for_blocks(*run.convert, operands, first, n,
               [&](std::array<float*, 2> rows, size_t m) { f.forward(rows[0], rows[1], m); });
  });
}

void run_backward(const ElementRun& run, const ElementActivation& f, Slope slope, const View& known,
                  const View& dy, const View& dx, bool accumulate) {
  const auto operands = backward_operands(known, dy, dx, accumulate);
  const BackwardKernel kernel = kernel_of(f, slope);
  for_grains(threads_for(run, f.info(), dy.count), dy.count, kGrain, [&](size_t first, size_t n) {
    for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 3> r, size_t m) {
      backward_row(run, kernel, f.coefficients(), accumulate, r[0], r[1], r[2], m);
    });
  });
}

float run_leaky_gradient(const ElementRun& run, const View& x, const View& dy) {
  const std::array<Operand, 2> operands = {Operand{x, Operand::kRead}, Operand{dy, Operand::kRead}};
  const size_t grain = std::max(kGrain, div_up(x.count, kMaxPartials));
  double partials[kMaxPartials];
  const size_t threads = useful_threads(run.threads, static_cast<double>(x.count) * 0.1);
  for_grains(threads, x.count, grain, [&](size_t first, size_t n) {
    partials[first / grain] = leaky_gradient_part(run, operands, first, n);
  });
  double sum = 0;
  for (size_t g = 0; g < div_up(x.count, grain); ++g) sum += partials[g];
  return static_cast<float>(sum);
}

void run_forward_channels(const ElementRun& run, const ElementActivation& f, const float* alphas,
                          size_t channels, size_t plane, const View& x, const View& y) {
  const std::array<Operand, 2> operands = {Operand{x, Operand::kRead}, Operand{y, Operand::kWrite}};
  for_grains(threads_for(run, f.info(), x.count), x.count, plane, [&](size_t first, size_t n) {
    const ActivationCoefficients p = {.alpha = alphas[first / plane % channels]};
    for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 2> rows, size_t m) {
      f.forward_kernel()(rows[0], rows[1], m, p);
    });
  });
}

void run_backward_channels(const ElementRun& run, const ElementActivation& f, Slope slope,
                           const float* alphas, size_t channels, size_t plane, const View& known,
                           const View& dy, const View& dx, bool accumulate) {
  const auto operands = backward_operands(known, dy, dx, accumulate);
  const BackwardKernel kernel = kernel_of(f, slope);
  for_grains(threads_for(run, f.info(), dy.count), dy.count, plane, [&](size_t first, size_t n) {
    const ActivationCoefficients p = {.alpha = alphas[first / plane % channels]};
    for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 3> r, size_t m) {
      backward_row(run, kernel, p, accumulate, r[0], r[1], r[2], m);
    });
  });
}

void run_leaky_gradient_channels(const ElementRun& run, size_t channels, size_t plane,
                                 const View& x, const View& dy, float* gradients,
                                 size_t gradient_stride, bool accumulate) {
  const std::array<Operand, 2> operands = {Operand{x, Operand::kRead}, Operand{dy, Operand::kRead}};
  const size_t threads = useful_threads(run.threads, static_cast<double>(x.count) * 0.1);
  parallel_for(threads, channels, [&](size_t channel, size_t) {
    double sum = 0;
    for (size_t first = channel * plane; first < x.count; first += channels * plane) {
      sum += leaky_gradient_part(run, operands, first, plane);
    }
    float& gradient = gradients[channel * gradient_stride];
    gradient = (accumulate ? gradient : 0) + static_cast<float>(sum);
  });
}

void run_gumbel(const ElementRun& run, const ElementActivation& f, uint64_t stream, const View& y) {
  const std::array<Operand, 1> operands = {Operand{y, Operand::kWrite}};
  for_grains(threads_for(run, f.info(), y.count), y.count, kGrain, [&](size_t first, size_t n) {
    size_t k = first;
    for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 1> rows, size_t m) {
      random_open_units(stream, k, m, rows[0]);
      f.forward(rows[0], rows[0], m);
      k += m;
    });
  });
}

}  // namespace bnns::impl

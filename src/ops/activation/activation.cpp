#include "ops/activation/activation.h"

#include <array>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/blocks.h"
#include "ops/counter_random.h"

namespace bnns::impl {
namespace {

using enum ActivationClass;

// Row k describes function k. Costs are of the vectorised loop on cached data, rounded.
constexpr ActivationRow kRows[] = {
    {.function = BNNSActivationFunctionIdentity, .name = "Identity", .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionRectifiedLinear, .name = "RectifiedLinear", .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionLeakyRectifiedLinear, .name = "LeakyRectifiedLinear", .uses_alpha = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionSigmoid, .name = "Sigmoid", .from_input = true, .from_output = true, .nanoseconds = 0.5f},
    {.function = BNNSActivationFunctionTanh, .name = "Tanh", .from_input = true, .from_output = true, .nanoseconds = 0.5f},
    {.function = BNNSActivationFunctionScaledTanh, .name = "ScaledTanh", .uses_alpha = true, .uses_beta = true, .from_input = true, .from_output = true, .nanoseconds = 0.5f},
    {.function = BNNSActivationFunctionAbs, .name = "Abs", .from_input = true},
    {.function = BNNSActivationFunctionLinear, .name = "Linear", .uses_alpha = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionClamp, .name = "Clamp", .uses_alpha = true, .uses_beta = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionIntegerLinearSaturate, .name = "IntegerLinearSaturate", .kind = kInteger, .nanoseconds = 2},
    {.function = BNNSActivationFunctionIntegerLinearSaturatePerChannel, .name = "IntegerLinearSaturatePerChannel", .kind = kInteger, .nanoseconds = 2},
    {.function = BNNSActivationFunctionSoftmax, .name = "Softmax", .kind = kAxis, .from_input = true, .from_output = true, .nanoseconds = 1},
    {.function = BNNSActivationFunctionGELUApproximation, .name = "GELUApproximation", .uses_alpha = true, .uses_beta = true, .from_input = true, .nanoseconds = 0.6f},
    {.function = BNNSActivationFunctionGumbel, .name = "Gumbel", .kind = kRandom, .uses_alpha = true, .uses_beta = true, .nanoseconds = 3},
    {.function = BNNSActivationFunctionGumbelMax, .name = "GumbelMax", .kind = kAxis, .uses_alpha = true, .uses_beta = true, .nanoseconds = 3},
    {.function = BNNSActivationFunctionHardSigmoid, .name = "HardSigmoid", .uses_alpha = true, .uses_beta = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionSoftplus, .name = "Softplus", .uses_alpha = true, .uses_beta = true, .from_input = true, .from_output = true, .nanoseconds = 0.8f},
    {.function = BNNSActivationFunctionSoftsign, .name = "Softsign", .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionELU, .name = "ELU", .uses_alpha = true, .from_input = true, .from_output = true, .nanoseconds = 0.5f},
    {.function = BNNSActivationFunctionClampedLeakyRectifiedLinear, .name = "ClampedLeakyRectifiedLinear", .uses_alpha = true, .uses_beta = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionLinearWithBias, .name = "LinearWithBias", .uses_alpha = true, .uses_beta = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionLogSoftmax, .name = "LogSoftmax", .kind = kAxis, .from_input = true, .from_output = true, .nanoseconds = 1},
    {.function = BNNSActivationFunctionLogSigmoid, .name = "LogSigmoid", .from_input = true, .from_output = true, .nanoseconds = 0.8f},
    {.function = BNNSActivationFunctionSELU, .name = "SELU", .from_input = true, .from_output = true, .nanoseconds = 0.5f},
    {.function = BNNSActivationFunctionCELU, .name = "CELU", .uses_alpha = true, .from_input = true, .from_output = true, .nanoseconds = 0.5f},
    {.function = BNNSActivationFunctionHardShrink, .name = "HardShrink", .uses_alpha = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionSoftShrink, .name = "SoftShrink", .uses_alpha = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionTanhShrink, .name = "TanhShrink", .from_input = true, .from_output = true, .nanoseconds = 0.6f},
    {.function = BNNSActivationFunctionThreshold, .name = "Threshold", .uses_alpha = true, .uses_beta = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionPReLUPerChannel, .name = "PReLUPerChannel", .kind = kChannel, .uses_alpha = true, .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionHardSwish, .name = "HardSwish", .from_input = true},
    {.function = BNNSActivationFunctionSiLU, .name = "SiLU", .from_input = true, .nanoseconds = 0.5f},
    {.function = BNNSActivationFunctionReLU6, .name = "ReLU6", .from_input = true, .from_output = true},
    {.function = BNNSActivationFunctionErf, .name = "Erf", .from_input = true, .nanoseconds = 0.6f},
    {.function = BNNSActivationFunctionGELU, .name = "GELU", .from_input = true, .nanoseconds = 0.8f},
    {.function = BNNSActivationFunctionGELUApproximationSigmoid, .name = "GELUApproximationSigmoid", .from_input = true, .from_output = true, .nanoseconds = 0.5f},
};

// Elements of a grain: 64 KB a tensor, some microseconds of work.
constexpr size_t kGrain = 16384;
// Grains of a reduction at most, so that the partial sums fit on the stack.
constexpr size_t kMaxPartials = 256;

size_t threads_for(const ElementRun& run, const ActivationRow& row, size_t count) {
  return useful_threads(run.threads, static_cast<double>(count) * row.nanoseconds);
}

template <class Body>
void for_grains(size_t threads, size_t count, size_t grain, const Body& body) {
  parallel_for(threads, div_up(count, grain), [&](size_t g, size_t) {
    const size_t first = g * grain;
    body(first, std::min(grain, count - first));
  });
}

// The gradient into a buffer, then added: keeps one kernel per function.
void backward_row(const ElementRun& run, BackwardKernel kernel, const ActivationParameters& p,
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

const ActivationRow* find_activation(BNNSActivationFunction function) {
  const auto index = static_cast<uint32_t>(function);
  return index < std::size(kRows) ? &kRows[index] : nullptr;
}

bool slope_from_output(const ActivationRow& row, const ActivationParameters& p) {
  switch (row.function) {
    case BNNSActivationFunctionLeakyRectifiedLinear:
    case BNNSActivationFunctionClampedLeakyRectifiedLinear:
    case BNNSActivationFunctionELU:
      return p.alpha > 0;
    case BNNSActivationFunctionScaledTanh:
    case BNNSActivationFunctionSoftplus:
    case BNNSActivationFunctionCELU:
      return p.alpha != 0;
    default:
      return row.from_output;
  }
}

ElementActivation::ElementActivation(const ActivationRow& row, const ActivationParameters& p)
    : row_(&row),
      parameters_(p),
      forward_(forward_kernels()[row.function]),
      from_input_(from_input_kernels()[row.function]),
      from_output_(from_output_kernels()[row.function]) {}

void run_forward(const ElementRun& run, const ElementActivation& f, const View& x, const View& y) {
  const std::array<Operand, 2> operands = {Operand{x, Operand::kRead}, Operand{y, Operand::kWrite}};
  for_grains(threads_for(run, f.row(), x.count), x.count, kGrain, [&](size_t first, size_t n) {
    for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 2> rows, size_t m) {
      f.forward(rows[0], rows[1], m);
    });
  });
}

void run_backward(const ElementRun& run, const ElementActivation& f, Slope slope, const View& known,
                  const View& dy, const View& dx, bool accumulate) {
  const auto operands = backward_operands(known, dy, dx, accumulate);
  const BackwardKernel kernel = kernel_of(f, slope);
  for_grains(threads_for(run, f.row(), dy.count), dy.count, kGrain, [&](size_t first, size_t n) {
    for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 3> r, size_t m) {
      backward_row(run, kernel, f.parameters(), accumulate, r[0], r[1], r[2], m);
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
  for_grains(threads_for(run, f.row(), x.count), x.count, plane, [&](size_t first, size_t n) {
    const ActivationParameters p = {.alpha = alphas[first / plane % channels]};
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
  for_grains(threads_for(run, f.row(), dy.count), dy.count, plane, [&](size_t first, size_t n) {
    const ActivationParameters p = {.alpha = alphas[first / plane % channels]};
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
  for_grains(threads_for(run, f.row(), y.count), y.count, kGrain, [&](size_t first, size_t n) {
    size_t k = first;
    for_blocks(*run.convert, operands, first, n, [&](std::array<float*, 1> rows, size_t m) {
      for (size_t i = 0; i < m; ++i) rows[0][i] = random_open_unit(stream, k + i);
      f.forward(rows[0], rows[0], m);
      k += m;
    });
  });
}

}  // namespace bnns::impl

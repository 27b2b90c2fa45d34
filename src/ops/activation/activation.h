// Element-wise activations: one table of functions, the kernels of the chosen target, and the plan
// that runs them over views with threads. Softmax and its relatives are in ops/softmax/softmax.h,
// the integer functions in ops/activation/integer.h; the table lists all of them.
#pragma once

#include <cstddef>

#include "core/view.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

struct ActivationCoefficients {
  float alpha = 0;
  float beta = 0;
};

enum class ActivationClass {
  kElement,  // y_i depends on x_i alone
  kChannel,  // element-wise with one alpha per channel
  kAxis,     // a function of rows along chosen axes
  kInteger,
  kRandom,  // the input is ignored
};

struct ActivationInfo {
  BNNSActivationFunction function;
  const char* name;
  ActivationClass kind = ActivationClass::kElement;
  bool uses_alpha = false;
  bool uses_beta = false;
  bool from_input = false;   // the gradient can be computed from x
  bool from_output = false;  // the gradient can be computed from y if slope_from_output() agrees
  float nanoseconds = 0.1f;  // rough cost of an element; decides how many threads are used
};

// Whether the function draws random numbers at every call.
inline bool is_random(const ActivationInfo& info) {
  return info.kind == ActivationClass::kRandom || info.function == BNNSActivationFunctionGumbelMax;
}

// nullptr for a value that is no BNNSActivationFunction.
const ActivationInfo* find_activation(BNNSActivationFunction function);

// Whether y determines the slope for these parameters (a leaky slope must be positive, ...).
bool slope_from_output(const ActivationInfo& info, const ActivationCoefficients& p);

// Rows of n contiguous floats; outputs may be the inputs.
using ForwardKernel = void (*)(const float* x, float* y, size_t n, const ActivationCoefficients& p);
using BackwardKernel = void (*)(const float* x_or_y, const float* dy, float* dx, size_t n,
                                const ActivationCoefficients& p);
struct AlphaKernels {
  // Sum of dy * x over x < 0.
  float (*leaky_gradient)(const float* x, const float* dy, size_t n);
  void (*add)(const float* g, float* dx, size_t n);  // dx += g
};
// Tables indexed by function value; nullptr where the function has no such kernel.
const ForwardKernel* forward_kernels();
const BackwardKernel* from_input_kernels();
const BackwardKernel* from_output_kernels();
const AlphaKernels* alpha_kernels();

// One element-wise function with its kernels, for ops that apply it to a row while it is in the
// cache.
class ElementActivation {
 public:
  ElementActivation() = default;
  ElementActivation(const ActivationInfo& info, const ActivationCoefficients& p);

  const ActivationInfo& info() const { return *info_; }
  bool is_identity() const { return info_->function == BNNSActivationFunctionIdentity; }
  ActivationCoefficients& coefficients() { return parameters_; }
  const ActivationCoefficients& coefficients() const { return parameters_; }

  void forward(const float* x, float* y, size_t n) const { forward_(x, y, n, parameters_); }
  void from_input(const float* x, const float* dy, float* dx, size_t n) const {
    from_input_(x, dy, dx, n, parameters_);
  }
  void from_output(const float* y, const float* dy, float* dx, size_t n) const {
    from_output_(y, dy, dx, n, parameters_);
  }
  ForwardKernel forward_kernel() const { return forward_; }
  BackwardKernel from_input_kernel() const { return from_input_; }
  BackwardKernel from_output_kernel() const { return from_output_; }

 private:
  const ActivationInfo* info_ = nullptr;
  ActivationCoefficients parameters_;
  ForwardKernel forward_ = nullptr;
  BackwardKernel from_input_ = nullptr;
  BackwardKernel from_output_ = nullptr;
};

// ---- Over views of equal count ----

// The kernels of the target that is chosen when this object is made, and the threads to use.
struct ElementRun {
  explicit ElementRun(size_t thread_count) : threads(thread_count) {}

  const ConvertKernels* convert = convert_kernels();
  const AlphaKernels* alpha = alpha_kernels();
  size_t threads;
};

// y = f(x).
void run_forward(const ElementRun& run, const ElementActivation& f, const View& x, const View& y);

enum class Slope { kFromInput, kFromOutput };

// dx = or += f'(known) dy; `known` is x or y.
void run_backward(const ElementRun& run, const ElementActivation& f, Slope slope, const View& known,
                  const View& dy, const View& dx, bool accumulate);

// Sum of dy * x over x < 0: the gradient of a leaky slope. The order of the sum is fixed.
float run_leaky_gradient(const ElementRun& run, const View& x, const View& dy);

// The same with one slope per channel. A sample has `channels` planes of `plane` consecutive
// elements.
void run_forward_channels(const ElementRun& run, const ElementActivation& f, const float* alphas,
                          size_t channels, size_t plane, const View& x, const View& y);
void run_backward_channels(const ElementRun& run, const ElementActivation& f, Slope slope,
                           const float* alphas, size_t channels, size_t plane, const View& known,
                           const View& dy, const View& dx, bool accumulate);
// gradients[c] = or += the sum of dy * x over x < 0 in channel c of all samples.
void run_leaky_gradient_channels(const ElementRun& run, size_t channels, size_t plane,
                                 const View& x, const View& dy, float* gradients,
                                 size_t gradient_stride, bool accumulate);

// y = Gumbel noise; element k of the call uses random number k of the stream.
void run_gumbel(const ElementRun& run, const ElementActivation& f, uint64_t stream, const View& y);

}  // namespace bnns::impl

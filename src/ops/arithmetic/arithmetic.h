// Element-wise arithmetic of one to three tensors with broadcasting, as an operation that needs no
// filter around it.
//   forward   y = act(f(in1, in2, in3))
//   backward  g = dy act'(y),  d_k = g df/din_k, summed over the axes along which input k is
//             broadcast and, for parameters, over the samples
// Inputs have the axes of the output, with the same extent or 1. Constants and parameters exist
// once, samples once per sample of the batch. Arithmetic is in float, whatever the stored type;
// long sums are joined in double, in an order that follows from the problem alone.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/batch.h"
#include "core/scratch_pool.h"
#include "ops/activation/fused.h"
#include "ops/arithmetic/kernels.h"
#include "ops/convert/convert.h"

namespace bnns::impl {

// Where a gradient may be written over the gradient of the output.
enum class GradientInPlace : uint8_t { kNever, kWithIdentity, kAlways };

struct ArithmeticInfo {
  BNNSArithmeticFunction function;
  const char* name;
  uint8_t inputs;
  // Bit i of reads[k]: the gradient of input k is computed from the value of input i.
  uint8_t reads[kMaxArithmeticInputs];
  // The gradient can be computed from the result before the activation instead.
  bool from_result;
  GradientInPlace in_place;
  float nanoseconds;  // rough cost of an element; decides how many threads are used
};

// nullptr for a value that is no BNNSArithmeticFunction.
const ArithmeticInfo* find_arithmetic(BNNSArithmeticFunction function);

struct ArithmeticProblem {
  const ArithmeticInfo* function = nullptr;
  View in[kMaxArithmeticInputs];  // one sample each, with the axes of out
  BNNSDescriptorType in_type[kMaxArithmeticInputs] = {};
  View out;
  BNNSDescriptorType out_type = BNNSSample;
  FusedActivation activation;

  size_t inputs() const { return function->inputs; }
  // Samples that are computed in a call with this batch size.
  size_t samples(size_t batch) const { return out_type == BNNSSample ? batch : 1; }
  bool is_sample(size_t input) const { return in_type[input] == BNNSSample; }
  // Samples that a call with this batch size has of an input.
  size_t samples_of(size_t input, size_t batch) const {
    return is_sample(input) ? samples(batch) : 1;
  }
};

class ArithmeticOp {
 public:
  ArithmeticOp(const Memory& memory, size_t threads, const ArithmeticProblem& problem);

  const ArithmeticProblem& problem() const { return problem_; }
  const FusedActivation& activation() const { return problem_.activation; }

  // out may be an input that has its type, extents, strides and role.
  struct Values {
    Batch in[kMaxArithmeticInputs];
    Batch out;  // its size is the number of samples
  };
  // `stream` is used by random activations only.
  void forward(const Values& values, uint64_t stream);

  struct Gradients {
    // Only the inputs of inputs_read() need exist.
    Batch in[kMaxArithmeticInputs];
    Batch out;  // y; needed with an activation, or if reads_result() says so
    Batch dy;   // its size is the number of samples
    // Empty: not wanted. Two of them may be the same gradient of an input that is given twice; it
    // receives the sum. One with the extents and strides of dy may be dy itself.
    Gradient in_delta[kMaxArithmeticInputs];
  };
  // Whether the gradient is computed from the result, given that there is one to be read.
  bool reads_result(bool given) const {
    return given && problem_.function->from_result && problem_.activation.is_identity();
  }
  // Bit i: computing the gradients of the inputs in `wanted` (bit k) reads input i.
  uint32_t inputs_read(uint32_t wanted, bool result_given) const;

  void backward(const Gradients& gradients);

  // Whether input k is broadcast, or a parameter of several samples.
  bool is_reduced(size_t input, size_t samples) const;

  void reserve(size_t batch, size_t callers);

 private:
  struct Scratch {
    Array<float> g;
    Array<double> sums;
  };
  struct Reduction;

  Reduction plan_reduction(size_t input, size_t samples) const;
  void prepare(Scratch& scratch, uint32_t wanted, size_t samples) const;
  void backward_elements(const Gradients& gradients, uint32_t inputs) const;
  void backward_reduced(const Gradients& gradients, size_t input, bool accumulate,
                        double* sums) const;
  struct Sources;
  double nanoseconds() const {
    return double{problem_.function->nanoseconds} + problem_.activation.nanoseconds();
  }

  Memory memory_;
  size_t threads_;
  ArithmeticProblem problem_;
  ArithmeticKernels kernels_;
  const ConvertKernels* convert_ = convert_kernels();
  ScratchPool<Scratch> scratch_;
};

}  // namespace bnns::impl

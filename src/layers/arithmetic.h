// The parameters of arithmetic, for its filter and for filters that contain one, its calls and the
// maker.
#pragma once

#include "core/call.h"
#include "core/filter.h"
#include "ops/arithmetic/arithmetic.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

struct ArithmeticParameters {
  Descriptor in[kMaxArithmeticInputs], out;
  ArithmeticProblem problem;

  size_t inputs() const { return problem.inputs(); }
  // The name of an input in the structure of the client.
  const char* field(size_t input) const;
};

// Reads and checks all parameters.
ArithmeticParameters read_arithmetic(const BNNSLayerParametersArithmetic* parameters);

struct ArithmeticForwardArgs {
  size_t batch;
  size_t inputs;
  const void* const* in;
  const size_t* in_stride;
  void* out;
  size_t out_stride;
};

struct ArithmeticBackwardArgs {
  size_t batch;
  size_t inputs;
  const void* const* in;    // may be NULL, or have NULL in it
  const size_t* in_stride;  // may be NULL: samples are packed
  BNNSNDArrayDescriptor* const* in_delta;
  const size_t* in_delta_stride;
  const void* out;
  size_t out_stride;
  const BNNSNDArrayDescriptor* out_delta;
  size_t out_delta_stride;
};

// ---- The tensors of a call, checked; also for filters that go on with the result ----

// The inputs of a forward call.
void read_arithmetic_inputs(const ArithmeticParameters& p, const ArithmeticForwardArgs& args,
                            Batch (&in)[kMaxArithmeticInputs]);

// Bit k: the gradient of input k is wanted.
uint32_t arithmetic_deltas_wanted(const ArithmeticParameters& p,
                                  const ArithmeticBackwardArgs& args);

// The inputs that the wanted gradients are computed from, and these gradients. `call` must have as
// many samples as the output. g.out and g.dy are the caller's; g.out says whether there is a
// result to compute from.
void read_arithmetic_gradients(const ArithmeticParameters& p, const ArithmeticOp& op,
                               const ArithmeticBackwardArgs& args, uint32_t wanted, Call& call,
                               ArithmeticOp::Gradients& g);

// Refuses gradients that overlap each other or what is read, apart from those that may.
void check_arithmetic_overlaps(const ArithmeticParameters& p, const ArithmeticBackwardArgs& args,
                               const ArithmeticOp::Gradients& g);

// ---- The filter ----

class ArithmeticCalls {
 public:
  virtual void apply_arithmetic(const ArithmeticForwardArgs& args) = 0;
  virtual void apply_arithmetic_backward(const ArithmeticBackwardArgs& args) = 0;

 protected:
  ~ArithmeticCalls() = default;
};

BNNSFilter make_arithmetic_filter(const BNNSLayerParametersArithmetic* parameters,
                                  const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl

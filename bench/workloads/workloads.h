// The workloads: their input data, their right results, and the table of what is measured.
// A new family is a struct derived from Problem, its lines in workloads(), and one function in Peer
// that each library able to do it overrides.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/harness.h"
#include "harness/peer.h"

namespace bench {

// Inputs are shared by everybody and never written, so all read equally aligned memory.
struct Problem {
  virtual ~Problem() = default;
  virtual void offer(Peer& peer, Rows& rows) const = 0;
  virtual Row row(const std::string& op) const = 0;  // costs and expected values of one operation
};

enum class Function {
  kRelu,
  kSigmoid,
  kTanh,
  kGelu,
  kSilu
};  // gelu with erf, silu(x) = x sigma(x)

// The activation of another layer. Its slope is taken from the layer's output: all backward passes
// are given the same one.
enum class Fused { kNone, kRelu, kTanh };
std::string suffix(Fused f);  // of a workload's name

// out = f(in); in_delta = f'(in) out_delta. Operations: fwd, bwd.
struct Activation final : Problem {
  Activation(Function f, size_t count);
  void offer(Peer& peer, Rows& rows) const override { peer.activation(*this, rows); }
  Row row(const std::string& op) const override;

  Function function;
  size_t n;
  Buffer in, out, out_delta;  // out holds the right values, for slopes that are computed from it
};

// out = in weights^T + bias, weights [outputs][inputs]; in_delta = out_delta weights,
// weights_delta = out_delta^T in, bias_delta = sum of out_delta over the batch.
// Operations: fwd, bwd_data, bwd_weights (with bias), fwd+bwd; with an activation: fwd, bwd (all).
struct FullyConnected final : Problem {
  FullyConnected(size_t batch_size, size_t in_size, size_t out_size, Fused f = Fused::kNone);
  void offer(Peer& peer, Rows& rows) const override { peer.fully_connected(*this, rows); }
  Row row(const std::string& op) const override;

  size_t batch, inputs, outputs;
  Fused fused;
  Buffer in, weights, bias, out_delta;
  Buffer out;  // the output that backward passes of a fused activation are given; else empty
};

enum class LossFunction { kSoftmaxCrossEntropy, kSigmoidCrossEntropy, kMeanSquare, kHuber };

// out = mean loss of in against dense labels, per row (softmax, labels one-hot) or per element;
// in_delta its gradient. Operation: fwd+bwd.
struct Loss final : Problem {
  Loss(LossFunction f, size_t row_count, size_t row_width);
  void offer(Peer& peer, Rows& rows) const override { peer.loss(*this, rows); }
  Row row(const std::string& op) const override;

  static constexpr float kHuberDelta = 1;
  LossFunction function;
  size_t count, width;
  Buffer in, labels;
  std::vector<int64_t> classes;  // where each row of one-hot labels has its 1
};

enum class Algorithm { kAdam, kAdamW, kMomentum };

// Steps that update parameters in place. Everybody starts from `start` with zero state; compared
// are the parameters after one step with `gradient` and one with `gradient` in reverse order, so
// that the state of the first shows. Operation: step.
struct Optimizer final : Problem {
  Optimizer(Algorithm a, size_t tensor_count, size_t tensor_size);
  void offer(Peer& peer, Rows& rows) const override { peer.optimizer(*this, rows); }
  Row row(const std::string& op) const override;
  // The gradient of the second step, into a gradient that holds the first.
  static void reverse(float* gradient, size_t n);

  static constexpr double kRate = 0.1, kBeta1 = 0.9, kBeta2 = 0.999, kEpsilon = 1e-8;
  static constexpr double kDecay = 0.01, kMomentum = 0.9;
  Algorithm algorithm;
  size_t tensors, size;
  Buffer start, gradient;  // the tensors one after the other
};

struct Workload {
  std::string family, name;
  std::vector<std::string> ops;
  std::function<std::unique_ptr<Problem>()> make;
};

std::vector<Workload> workloads(bool quick);

// The families loss and optimizer.
void append_training(std::vector<Workload>& list, bool quick);

}  // namespace bench

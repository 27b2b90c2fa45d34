// The workloads: their input data, their right results, and the table of what is measured.
// A new family is a struct derived from Problem, its lines in workloads(), and one function in Peer
// that each library able to do it overrides.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness.h"
#include "peer.h"

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

// out = f(in); in_delta = f'(in) out_delta. Operations: fwd, bwd.
struct Activation final : Problem {
  Activation(Function f, size_t count);
  void offer(Peer& peer, Rows& rows) const override { peer.activation(*this, rows); }
  Row row(const std::string& op) const override;

  Function function;
  size_t n;
  Buffer in, out, out_delta;  // out holds the right values, for derivatives that are made from it
  std::vector<double> slope;
};

// out = in weights^T + bias, weights [outputs][inputs]; in_delta = out_delta weights,
// weights_delta = out_delta^T in, bias_delta = sum of out_delta over the batch.
// Operations: fwd, bwd_data, bwd_weights (with bias), fwd+bwd.
struct FullyConnected final : Problem {
  FullyConnected(size_t batch_size, size_t in_size, size_t out_size);
  void offer(Peer& peer, Rows& rows) const override { peer.fully_connected(*this, rows); }
  Row row(const std::string& op) const override;

  size_t batch, inputs, outputs;
  Buffer in, weights, bias, out_delta;
};

struct Workload {
  std::string family, name;
  std::vector<std::string> ops;
  std::function<std::unique_ptr<Problem>()> make;
};

std::vector<Workload> workloads(bool quick);

}  // namespace bench

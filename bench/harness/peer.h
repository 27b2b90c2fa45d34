// A library that takes part. One function per workload family; a library overrides those it can do,
// and in them adds one entry per operation and per way of calling it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "harness/harness.h"

namespace bench {

struct Activation;
struct Arithmetic;
struct Attention;
struct Convolution;
struct Embedding;
struct Dropout;
struct FullyConnected;
struct FusedConvolution;
struct Gram;
struct ImageLoss;
struct Loss;
struct Lstm;
struct MatMul;
struct Movement;
struct Normalization;
struct Optimizer;
struct Pooling;
struct Resize;
struct Sparse;
struct Reduction;
struct Neighbors;
struct Normalization;
struct Optimizer;
struct Pooling;
struct TopK;

class Peer {
 public:
  virtual ~Peer() = default;
  virtual std::string describe() const = 0;  // name, version, and the settings it runs with
  virtual void activation(const Activation&, Rows&) {}
  virtual void arithmetic(const Arithmetic&, Rows&) {}
  virtual void attention(const Attention&, Rows&) {}
  virtual void convolution(const Convolution&, Rows&) {}
  virtual void dropout(const Dropout&, Rows&) {}
  virtual void embedding(const Embedding&, Rows&) {}
  virtual void fully_connected(const FullyConnected&, Rows&) {}
  virtual void fused(const FusedConvolution&, Rows&) {}
  virtual void gram(const Gram&, Rows&) {}
  virtual void image_loss(const ImageLoss&, Rows&) {}
  virtual void loss(const Loss&, Rows&) {}
  virtual void lstm(const Lstm&, Rows&) {}
  virtual void matmul(const MatMul&, Rows&) {}
  virtual void movement(const Movement&, Rows&) {}
  virtual void neighbors(const Neighbors&, Rows&) {}
  virtual void normalization(const Normalization&, Rows&) {}
  virtual void optimizer(const Optimizer&, Rows&) {}
  virtual void pooling(const Pooling&, Rows&) {}
  virtual void reduction(const Reduction&, Rows&) {}
  virtual void resize(const Resize&, Rows&) {}
  virtual void sparse(const Sparse&, Rows&) {}
  virtual void top_k(const TopK&, Rows&) {}
};

std::unique_ptr<Peer> make_ours(int threads);
std::unique_ptr<Peer> make_onednn(int threads);
std::unique_ptr<Peer> make_torch(int threads);

}  // namespace bench

// Activations and fully connected layers: input data and right results; and the table of what is
// measured.
#include "workloads/workloads.h"

#include <cstdint>

#include "harness/random.h"
#include "spec/layers/activation.h"
#include "spec/layers/fully_connected.h"
#include "workloads/convolution.h"
#include "workloads/embedding.h"
#include "workloads/dropout.h"
#include "workloads/fused.h"
#include "workloads/gemm.h"
#include "workloads/arithmetic.h"
#include "workloads/attention.h"
#include "workloads/gram.h"
#include "workloads/lstm.h"
#include "workloads/image_loss.h"
#include "workloads/matmul.h"
#include "workloads/movement.h"
#include "workloads/normalization.h"
#include "workloads/pooling.h"
#include "workloads/reduction.h"
#include "workloads/reference.h"
#include "workloads/resize.h"
#include "workloads/sparse.h"
#include "workloads/top_k.h"

namespace bench {
namespace {

constexpr const char* kFunctionNames[] = {"relu", "sigmoid", "tanh", "gelu", "silu"};

// The reference of an activation, run on a problem's numbers.
struct ActivationReference {
  explicit ActivationReference(const Activation& p)
      : layer{.activation = activation_of(p.function)} {
    const spec::Shape shape = spec::vector_of(p.n);
    const Tensor x = gather(shape, p.in), y = gather(shape, p.out), dy = gather(shape, p.out_delta);
    values = {.batch = 1, .value = {x, y}, .delta = {x, dy}};
  }
  const Tensor& forward() {
    layer.forward(values);
    return values.value[1];
  }
  const Tensor& backward() {
    layer.backward(values, spec::derives_from_y(layer.activation.function));
    return values.delta[0];
  }

  spec::reference::ActivationLayer layer;
  Tensors values;
};

// A part of a fully connected layer, with the positions of its elements in the tensors of the
// whole.
struct PartialFullyConnected {
  PartialFullyConnected(const FullyConnected& p, const Part& part)
      : layer{.activation = activation_of(p.fused)},
        in(positions({{p.batch, part.samples}, {p.inputs, part.inputs}})),
        out(positions({{p.batch, part.samples}, {p.outputs, part.outputs}})),
        weights(positions({{p.outputs, part.outputs}, {p.inputs, part.inputs}})) {
    const size_t ni = part.inputs.size(), no = part.outputs.size();
    const spec::Shape out_shape = spec::vector_of(no);
    const Tensor x = gather(spec::vector_of(ni), p.in, in);
    const Tensor w =
        gather(spec::weights_shape(BNNSDataLayoutRowMajorMatrix, ni, no), p.weights, weights);
    const Tensor b = gather(out_shape, p.bias, part.outputs);
    const Tensor dy = gather(out_shape, p.out_delta, out);
    const Tensor y = p.fused == Fused::kNone ? dy : gather(out_shape, p.out, out);
    values = {.batch = part.samples.size(), .value = {x, y, w, b}, .delta = {x, dy, w, b}};
  }

  spec::reference::FullyConnected layer;
  Indices in, out, weights;
  Tensors values;
};

SumLayer sums_of(const FullyConnected& p) {
  return {.batch = p.batch, .inputs = p.inputs, .outputs = p.outputs, .products = 1};
}

Expected expected_out(const FullyConnected& p) {
  PartialFullyConnected f(p, sums_of(p).part_for_out());
  f.layer.forward(f.values);
  return expect("out", f.values.value[spec::reference::kOut], p.batch * p.outputs, f.out,
                approximation_of(p.fused));
}

Expected expected_in_delta(const FullyConnected& p) {
  PartialFullyConnected f(p, sums_of(p).part_for_in_delta());
  f.layer.backward(f.values);
  return expect("in_delta", f.values.delta[spec::reference::kIn], p.batch * p.inputs, f.in);
}

void append_parameter_deltas(const FullyConnected& p, std::vector<Expected>& list) {
  using namespace spec::reference;
  const Part part = sums_of(p).part_for_weights_delta();
  PartialFullyConnected f(p, part);
  f.layer.backward(f.values);
  list.push_back(
      expect("weights_delta", f.values.delta[kWeights], p.outputs * p.inputs, f.weights));
  list.push_back(expect("bias_delta", f.values.delta[kBias], p.outputs, part.outputs));
}

Workload activation(std::string family, Function f, size_t n, std::string size,
                    std::vector<std::string> ops) {
  return {.family = std::move(family),
          .name = kFunctionNames[size_t(f)] + (" " + size),
          .ops = std::move(ops),
          .make = [=] { return std::make_unique<Activation>(f, n); }};
}

Workload fully_connected(std::string family, size_t batch, size_t in, size_t out,
                         std::vector<std::string> ops, Fused f = Fused::kNone) {
  std::string name = "b";
  name.append(std::to_string(batch)).append(" ").append(std::to_string(in));
  name.append("->").append(std::to_string(out)).append(suffix(f));
  return {.family = std::move(family), .name = std::move(name), .ops = std::move(ops), .make = [=] {
            return std::make_unique<FullyConnected>(batch, in, out, f);
          }};
}

}  // namespace

std::string suffix(Fused f) {
  constexpr const char* kNames[] = {"", " relu", " tanh"};
  return kNames[size_t(f)];
}

Activation::Activation(Function f, size_t count)
    : function(f), n(count), in(count), out(count), out_delta(count) {
  Random random(uint64_t(f) + 1);
  random.fill(in, -4, 4);
  random.fill(out_delta, -1, 1);
  ActivationReference right(*this);
  const Tensor& y = right.forward();
  for (size_t i = 0; i < n; ++i) out.data()[i] = float(y(0, i).value);
}

Row Activation::row(const std::string& op) const {
  const double bytes = 4.0 * double(n);
  const bool forward = op == "fwd";
  Row row{.op = op,
          .read_bytes = forward ? bytes : 2 * bytes,
          .write_bytes = bytes,
          .working_set = forward ? 2 * bytes : 3 * bytes};
  ActivationReference right(*this);
  row.expected.push_back(forward ? expect("out", right.forward(), kApproximation)
                                 : expect("in_delta", right.backward(), kApproximation));
  return row;
}

FullyConnected::FullyConnected(size_t batch_size, size_t in_size, size_t out_size, Fused f)
    : batch(batch_size),
      inputs(in_size),
      outputs(out_size),
      fused(f),
      in(batch * inputs),
      weights(outputs * inputs),
      bias(outputs),
      out_delta(batch * outputs),
      out(f == Fused::kNone ? 0 : batch * outputs) {
  Random random(batch + inputs + outputs);
  random.fill(in, -1, 1);
  random.fill(weights, -1, 1);
  random.fill(bias, -1, 1);
  random.fill(out_delta, -1, 1);
  fill_output(f, random, out);
}

Row FullyConnected::row(const std::string& op) const {
  return layer_row(
      op,
      {.in = 4.0 * double(batch * inputs),
       .out = 4.0 * double(batch * outputs),
       .weights = 4.0 * double(inputs * outputs),
       .flops = 2.0 * double(batch * inputs * outputs)},
      {.out = [&] { return expected_out(*this); },
       .in_delta = [&] { return expected_in_delta(*this); },
       .append_parameter_deltas =
           [&](std::vector<Expected>& list) { append_parameter_deltas(*this, list); }});
}

std::vector<Workload> workloads(bool quick) {
  const std::vector<std::string> passes{"fwd", "bwd_data", "bwd_weights", "fwd+bwd"};
  std::vector<Workload> list;
  list.push_back(activation("latency", Function::kRelu, 16, "16", {"fwd"}));
  list.push_back(fully_connected("latency", 1, 16, 16, {"fwd"}));

  struct Shape {
    size_t in, out;
  };
  for (const Shape s : {Shape{784, 128}, Shape{1024, 1024}, Shape{4096, 1000}}) {
    for (size_t batch : {1, 32, 256}) {
      if (!quick || s.in * s.out * batch <= 784 * 128 * 32) {
        list.push_back(fully_connected("fc", batch, s.in, s.out, passes));
      }
    }
  }
  list.push_back(fully_connected("fc", 1, 16, 16, passes));
  for (const Fused f : {Fused::kRelu, Fused::kTanh}) {
    list.push_back(fully_connected("fc", 32, 784, 128, {"fwd", "bwd"}, f));
    if (!quick) list.push_back(fully_connected("fc", 256, 1024, 1024, {"fwd", "bwd"}, f));
  }
  append_gemm(list, quick);
  append_embedding(list, quick);
  append_gram(list, quick);
  append_movement(list, quick);
  append_lstm(list, quick);
  append_arithmetic(list, quick);
  append_reductions(list, quick);
  append_attention(list, quick);
  append_matmul(list, quick);

  for (Function f :
       {Function::kRelu, Function::kSigmoid, Function::kTanh, Function::kGelu, Function::kSilu}) {
    list.push_back(quick ? activation("activation", f, 1 << 16, "64K", {"fwd", "bwd"})
                         : activation("activation", f, 1 << 20, "1M", {"fwd", "bwd"}));
  }
  append_dropout(list, quick);
  append_normalization(list, quick);
  append_training(list, quick);
#ifdef OPENBNNS_BENCH_MPS
  append_image_loss(list, quick);
#endif
  append_convolution(list, quick);
  append_fused(list, quick);
  append_pooling(list, quick);
  append_resize(list, quick);
  append_sparse(list, quick);
  append_top_k(list, quick);
  return list;
}

}  // namespace bench

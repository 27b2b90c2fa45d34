// Input data and right results. Results are computed in double by plain loops. A sum of k products
// may be off by 4 sqrt(k) 2^-24 times the sum of the absolute products, four times what rounding
// does to random data in the worst order of adding; an activation by 4e-6 (1 + |value|), which
// admits the approximations in use and no other function.
#include "workloads/workloads.h"

#include <cmath>
#include <cstdint>

#include "workloads/convolution.h"
#include "workloads/gemm.h"
#include "workloads/gram.h"
#include "workloads/pooling.h"
#include "workloads/normalization.h"
#include "harness/random.h"

namespace bench {
namespace {

constexpr double kPi = 3.14159265358979323846;
constexpr double kActivationError = 4e-6;

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}
double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

struct Formula {
  const char* name;
  double (*value)(double);
  double (*slope)(double);
};

// In the order of Function.
constexpr Formula kFormulas[] = {
    {"relu", [](double x) { return x > 0 ? x : 0.0; }, [](double x) { return x > 0 ? 1.0 : 0.0; }},
    {"sigmoid", sigmoid, [](double x) { return sigmoid(x) * (1 - sigmoid(x)); }},
    {"tanh", [](double x) { return std::tanh(x); },
     [](double x) { return 1 - std::tanh(x) * std::tanh(x); }},
    {"gelu", [](double x) { return x * normal_cdf(x); },
     [](double x) { return normal_cdf(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * kPi); }},
    {"silu", [](double x) { return x * sigmoid(x); },
     [](double x) { return sigmoid(x) * (1 + x * (1 - sigmoid(x))); }},
};

Workload activation(std::string family, Function f, size_t n, std::string size,
                    std::vector<std::string> ops) {
  return {.family = std::move(family),
          .name = kFormulas[size_t(f)].name + (" " + size),
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

Expected expected_product(const std::string& tensor, const Product& p) {
  Expected e{.tensor = tensor,
             .value = std::vector<double>(p.rows * p.columns),
             .bound = std::vector<double>(p.rows * p.columns)};
  // b as [term][column] in double, so that the inner loop runs over neighbours.
  std::vector<double> b(p.terms * p.columns);
  for (size_t k = 0; k < p.terms; ++k) {
    for (size_t c = 0; c < p.columns; ++c) {
      b[k * p.columns + c] = double(p.b[k * p.b_term + c * p.b_column]);
    }
  }
  for (size_t r = 0; r < p.rows; ++r) {
    double *value = &e.value[r * p.columns], *sum = &e.bound[r * p.columns];
    for (size_t c = 0; c < p.columns && p.start != nullptr; ++c) {
      value[c] = double(p.start[c]);
      sum[c] = std::abs(value[c]);
    }
    for (size_t k = 0; k < p.terms; ++k) {
      const double a = double(p.a[r * p.a_row + k * p.a_term]);
      for (size_t c = 0; c < p.columns; ++c) {
        const double product = a * b[k * p.columns + c];
        value[c] += product;
        sum[c] += std::abs(product);
      }
    }
  }
  const double factor = 4 * std::sqrt(double(p.terms + 1)) * 0x1p-24;
  for (double& bound : e.bound) bound *= factor;
  return e;
}

std::string suffix(Fused f) {
  constexpr const char* kNames[] = {"", " relu", " tanh"};
  return kNames[size_t(f)];
}

Expected activated(Expected e, Fused f) {
  for (size_t i = 0; f != Fused::kNone && i < e.value.size(); ++i) {
    double& value = e.value[i];
    value = f == Fused::kTanh ? std::tanh(value) : value > 0 ? value : 0.0;
    if (f == Fused::kTanh) e.bound[i] += kActivationError * (1 + std::abs(value));
  }
  return e;
}

void fill_fused(Fused f, const Expected& right, const Buffer& out_delta, Buffer& out, Buffer& g) {
  for (size_t i = 0; i < out_delta.size(); ++i) {
    const float y = out.data()[i] = float(right.value[i]);
    const double slope = f == Fused::kTanh ? 1 - double(y) * double(y) : y > 0 ? 1.0 : 0.0;
    g.data()[i] = float(slope * double(out_delta.data()[i]));
  }
}

Activation::Activation(Function f, size_t count)
    : function(f), n(count), in(count), out(count), out_delta(count), slope(count) {
  Random random(uint64_t(f) + 1);
  random.fill(in, -4, 4);
  random.fill(out_delta, -1, 1);
  for (size_t i = 0; i < n; ++i) {
    const double x = double(in.data()[i]);
    out.data()[i] = float(kFormulas[size_t(f)].value(x));
    slope[i] = kFormulas[size_t(f)].slope(x);
  }
}

Row Activation::row(const std::string& op) const {
  const double bytes = 4.0 * double(n);
  const bool forward = op == "fwd";
  Row row{.op = op,
          .read_bytes = forward ? bytes : 2 * bytes,
          .write_bytes = bytes,
          .working_set = forward ? 2 * bytes : 3 * bytes};
  Expected e{.tensor = forward ? "out" : "in_delta", .value = {}, .bound = {}};
  for (size_t i = 0; i < n; ++i) {
    const double right = forward ? kFormulas[size_t(function)].value(double(in.data()[i]))
                                 : slope[i] * double(out_delta.data()[i]);
    e.value.push_back(right);
    e.bound.push_back(kActivationError * (1 + std::abs(right)));
  }
  row.expected.push_back(std::move(e));
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
      out(f == Fused::kNone ? 0 : batch * outputs),
      gradient(out.size()) {
  Random random(batch + inputs + outputs);
  random.fill(in, -1, 1);
  random.fill(weights, -1, 1);
  random.fill(bias, -1, 1);
  random.fill(out_delta, -1, 1);
  if (f != Fused::kNone) fill_fused(f, row("fwd").expected[0], out_delta, out, gradient);
}

Row FullyConnected::row(const std::string& op) const {
  const double x = 4.0 * double(batch * inputs), y = 4.0 * double(batch * outputs);
  const double w = 4.0 * double(inputs * outputs), flops = 2.0 * double(batch * inputs * outputs);
  const bool both = op == "fwd+bwd", backward = both || op == "bwd";
  const float* g = fused == Fused::kNone ? out_delta.data() : gradient.data();
  Row row{.op = op, .working_set = x + y + w, .expected = {}};
  if (both || op == "fwd") {
    row.flops += flops, row.read_bytes += x + w, row.write_bytes += y;
    row.expected.push_back(expected_product("out", {.rows = batch,
                                                    .columns = outputs,
                                                    .terms = inputs,
                                                    .a = in.data(),
                                                    .a_row = inputs,
                                                    .a_term = 1,
                                                    .b = weights.data(),
                                                    .b_term = 1,
                                                    .b_column = inputs,
                                                    .start = bias.data()}));
    row.expected.back() = activated(std::move(row.expected.back()), fused);
  }
  if (backward || op == "bwd_data") {
    row.flops += flops, row.read_bytes += y + w, row.write_bytes += x;
    row.expected.push_back(expected_product("in_delta", {.rows = batch,
                                                         .columns = inputs,
                                                         .terms = outputs,
                                                         .a = g,
                                                         .a_row = outputs,
                                                         .a_term = 1,
                                                         .b = weights.data(),
                                                         .b_term = inputs,
                                                         .b_column = 1}));
  }
  if (backward || op == "bwd_weights") {
    const float one = 1;
    row.flops += flops, row.read_bytes += x + y, row.write_bytes += w;
    row.expected.push_back(expected_product("weights_delta", {.rows = outputs,
                                                              .columns = inputs,
                                                              .terms = batch,
                                                              .a = g,
                                                              .a_row = 1,
                                                              .a_term = outputs,
                                                              .b = in.data(),
                                                              .b_term = inputs,
                                                              .b_column = 1}));
    row.expected.push_back(expected_product("bias_delta", {.rows = 1,
                                                           .columns = outputs,
                                                           .terms = batch,
                                                           .a = &one,
                                                           .a_row = 0,
                                                           .a_term = 0,
                                                           .b = g,
                                                           .b_term = outputs,
                                                           .b_column = 1}));
  }
  if (both) row.working_set = 2 * (x + y + w);
  return row;
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
  append_gram(list, quick);

  for (Function f :
       {Function::kRelu, Function::kSigmoid, Function::kTanh, Function::kGelu, Function::kSilu}) {
    list.push_back(quick ? activation("activation", f, 1 << 16, "64K", {"fwd", "bwd"})
                         : activation("activation", f, 1 << 20, "1M", {"fwd", "bwd"}));
  }
  append_normalization(list, quick);
  append_training(list, quick);
  append_convolution(list, quick);
  append_pooling(list, quick);
  return list;
}

}  // namespace bench

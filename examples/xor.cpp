// Trains a 2-8-1 network on exclusive or with nothing but the C API: two fully connected filters
// with fused activations, forward and backward, squared error and plain gradient descent by hand.
#include <openbnns/openbnns.h>

#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

namespace {

using Filter = std::unique_ptr<void, decltype(&BNNSFilterDestroy)>;

BNNSNDArrayDescriptor vector_of(std::vector<float>& values, size_t size) {
  return {.layout = BNNSDataLayoutVector,
          .size = {size},
          .data = values.data(),
          .data_type = BNNSDataTypeFloat32};
}

// One layer with its parameters and their gradients.
struct Layer {
  size_t in, out;
  std::vector<float> w, b, dw, db;
  Filter filter{nullptr, BNNSFilterDestroy};

  Layer(size_t in_size, size_t out_size, BNNSActivationFunction function)
      : in(in_size), out(out_size), w(in * out), b(out), dw(in * out), db(out) {
    for (size_t i = 0; i < w.size(); ++i) w[i] = std::sin(12.9898f * static_cast<float>(i + in));
    // [snippet]
    const BNNSLayerParametersFullyConnected parameters = {.i_desc = vector_of(w, in),
                                                          .w_desc = matrix(w),
                                                          .o_desc = vector_of(b, out),
                                                          .bias = vector_of(b, out),
                                                          .activation = {.function = function}};
    // The filter reads w and b at every call, so that a training step needs no copy.
    const BNNSFilterParameters options = {.flags = BNNSFlagsUseClientPtr};
    filter.reset(BNNSFilterCreateLayerFullyConnected(&parameters, &options));
    if (!filter) std::fprintf(stderr, "%s\n", OpenBNNSGetLastError());
    // [snippet]
  }

  BNNSNDArrayDescriptor matrix(std::vector<float>& values) const {
    return {.layout = BNNSDataLayoutRowMajorMatrix,
            .size = {in, out},
            .data = values.data(),
            .data_type = BNNSDataTypeFloat32};
  }

  bool forward(size_t batch, const std::vector<float>& x, std::vector<float>& y) const {
    return BNNSFilterApplyBatch(filter.get(), batch, x.data(), in, y.data(), out) == 0;
  }

  bool backward(size_t batch, const std::vector<float>& x, std::vector<float>& dx,
                const std::vector<float>& y, std::vector<float>& dy) {
    BNNSNDArrayDescriptor in_delta = vector_of(dx, in), out_delta = vector_of(dy, out);
    BNNSNDArrayDescriptor weights_delta = matrix(dw), bias_delta = vector_of(db, out);
    return BNNSFilterApplyBackwardBatch(filter.get(), batch, x.data(), in, &in_delta, in, y.data(),
                                        out, &out_delta, out, &weights_delta, &bias_delta) == 0;
  }

  void step(float rate) {
    for (size_t i = 0; i < w.size(); ++i) w[i] -= rate * dw[i];
    for (size_t i = 0; i < b.size(); ++i) b[i] -= rate * db[i];
  }
};

}  // namespace

int main() {
  constexpr size_t kBatch = 4, kHidden = 8;
  const std::vector<float> x = {0, 0, 0, 1, 1, 0, 1, 1}, wanted = {0, 1, 1, 0};
  std::vector<float> h(kBatch * kHidden), y(kBatch), dy(kBatch), dh(h.size()), dx(x.size());
  Layer hidden(2, kHidden, BNNSActivationFunctionTanh);
  Layer output(kHidden, 1, BNNSActivationFunctionSigmoid);

  std::printf("OpenBNNS %s, target %s: training exclusive or\n", OpenBNNSGetVersion(),
              OpenBNNSGetTarget());
  float loss = 0;
  for (int step = 0; step <= 2000; ++step) {
    bool ok = hidden.forward(kBatch, x, h) && output.forward(kBatch, h, y);
    loss = 0;
    for (size_t i = 0; i < kBatch; ++i) {
      dy[i] = 2 * (y[i] - wanted[i]) / kBatch;
      loss += (y[i] - wanted[i]) * (y[i] - wanted[i]) / kBatch;
    }
    ok = ok && output.backward(kBatch, h, dh, y, dy) && hidden.backward(kBatch, x, dx, h, dh);
    if (!ok) {
      std::fprintf(stderr, "%s\n", OpenBNNSGetLastError());
      return 1;
    }
    output.step(2);
    hidden.step(2);
    if (step % 400 == 0) std::printf("  step %4d  loss %.5f\n", step, static_cast<double>(loss));
  }
  for (size_t i = 0; i < kBatch; ++i) {
    std::printf("  %g xor %g = %.3f\n", static_cast<double>(x[2 * i]),
                static_cast<double>(x[2 * i + 1]), static_cast<double>(y[i]));
  }
  return loss < 0.01f ? 0 : 1;
}

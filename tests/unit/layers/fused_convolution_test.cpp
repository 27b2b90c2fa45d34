// Gradients of convolutions with a fused activation, for batches of which g = dy act'(y) is made a
// few samples at a time: they have the bits of a convolution without activation that is given g.
#include <random>
#include <vector>

#include "support/convolution_call.h"

namespace bnns::test {
namespace {

constexpr size_t kSide = 40, kIn = 3, kOut = 9, kKernel = 3, kBatch = 17;
constexpr size_t kInStep = kIn * kSide * kSide + 5, kOutStep = kOut * kSide * kSide + 7;

std::vector<float> random_values(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(n);
  for (float& value : values) value = uniform(engine);
  return values;
}

struct Problem {
  bool transposed;
  BNNSActivation activation;
  size_t threads;
};

struct Gradients {
  std::vector<float> in, weights, bias;
  bool operator==(const Gradients&) const = default;
};

Filter make(const Problem& problem, std::vector<float>& weights, std::vector<float>& bias) {
  BNNSLayerParametersConvolution p = {};
  p.i_desc = image_of(kSide, kSide, kIn);
  p.o_desc = image_of(kSide, kSide, kOut);
  p.w_desc =
      array(BNNSDataLayoutConvolutionWeightsOIHW, {kKernel, kKernel, kIn, kOut}, weights.data());
  p.bias = vector_of(kOut, bias.data());
  p.x_padding = p.y_padding = 1;
  p.activation = problem.activation;
  BNNSFilterParameters options = {};
  options.n_threads = problem.threads;
  return Filter(problem.transposed ? BNNSFilterCreateLayerTransposedConvolution(&p, &options)
                                   : BNNSFilterCreateLayerConvolution(&p, &options));
}

Gradients backward(const Filter& filter, const std::vector<float>& x, const std::vector<float>& y,
                   std::vector<float>& dy) {
  Gradients g = {std::vector<float>(kBatch * kInStep, 1),
                 std::vector<float>(kIn * kOut * kKernel * kKernel), std::vector<float>(kOut)};
  BNNSNDArrayDescriptor dx = image_of(kSide, kSide, kIn, g.in.data());
  BNNSNDArrayDescriptor dw =
      array(BNNSDataLayoutConvolutionWeightsOIHW, {kKernel, kKernel, kIn, kOut}, g.weights.data());
  BNNSNDArrayDescriptor db = vector_of(kOut, g.bias.data());
  const BNNSNDArrayDescriptor out_delta = image_of(kSide, kSide, kOut, dy.data());
  EXPECT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), kBatch, x.data(), kInStep, &dx, kInStep,
                                         y.data(), kOutStep, &out_delta, kOutStep, &dw, &db),
            0)
      << OpenBNNSGetLastError();
  return g;
}

// alpha: the slope below 0; its products are exact.
void expect_bits_of_the_slope(BNNSActivation activation, float alpha) {
  std::vector<float> w = random_values(kIn * kOut * kKernel * kKernel, 1),
                     bias = random_values(kOut, 4);
  const std::vector<float> x = random_values(kBatch * kInStep, 2);
  std::vector<float> dy = random_values(kBatch * kOutStep, 3);
  for (const bool transposed : {false, true}) {
    for (const size_t threads : {1u, 2u, 3u}) {
      std::vector<float> y(kBatch * kOutStep);
      const Filter fused = make({transposed, activation, threads}, w, bias);
      const Filter plain = make({transposed, {}, threads}, w, bias);
      ASSERT_TRUE(fused && plain) << OpenBNNSGetLastError();
      ASSERT_EQ(BNNSFilterApplyBatch(fused.get(), kBatch, x.data(), kInStep, y.data(), kOutStep),
                0);
      std::vector<float> g = dy;
      for (size_t i = 0; i < g.size(); ++i) g[i] *= y[i] > 0 ? 1 : alpha;
      EXPECT_TRUE(backward(fused, x, y, dy) == backward(plain, x, y, g))
          << "transposed " << transposed << ", threads " << threads;
    }
  }
}

TEST(FusedConvolution, GradientsHaveTheBitsOfTheSlope) {
  BNNSActivation relu = {}, leaky = {};
  relu.function = BNNSActivationFunctionRectifiedLinear;
  leaky.function = BNNSActivationFunctionLeakyRectifiedLinear;
  leaky.alpha = 0.25f;
  expect_bits_of_the_slope(relu, 0);
  expect_bits_of_the_slope(leaky, leaky.alpha);
}

}  // namespace
}  // namespace bnns::test

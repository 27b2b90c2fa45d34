// Fused filters against published values, and against the same two layers as filters of their own:
// every first layer before every normalization, training and inference, all gradients.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;

Filter fuse(BNNSFilterType first, const void* first_params, BNNSFilterType second,
            const void* second_params, size_t threads = 1, uint32_t flags = BNNSFlagsUseClientPtr) {
  const BNNSFilterType types[] = {first, second};
  const void* params[] = {first_params, second_params};
  BNNSFilterParameters options = {};
  options.flags = flags;
  options.n_threads = threads;
  return Filter(BNNSFilterCreateFusedLayer(2, types, params, &options));
}

BNNSLayerParametersNormalization normalization(const BNNSNDArrayDescriptor& tensor) {
  BNNSLayerParametersNormalization n = {};
  n.i_desc = n.o_desc = tensor;
  n.epsilon = 1e-5f;
  n.momentum = 0.9f;
  return n;
}

void expect_near(const Floats& actual, const Floats& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], expected[i], tolerance) << what << " " << i;
}

TEST(Fused, PublishedFullyConnectedAndBatchNorm) {
  Floats w = {1, 0, 0, 1}, b = {0, 0}, beta = {0, 0}, gamma = {1, 1}, x = {1, 2, 3, 4}, y(4);
  BNNSLayerParametersFullyConnected fc = {};
  fc.i_desc = fc.o_desc = vector_of(2);
  fc.w_desc = matrix_of(2, 2, w.data());
  fc.bias = vector_of(2, b.data());
  BNNSLayerParametersNormalization norm = normalization(vector_of(2));
  norm.beta_desc = vector_of(2, beta.data());
  norm.gamma_desc = vector_of(2, gamma.data());
  const Filter filter = fuse(BNNSFullyConnected, &fc, BNNSBatchNorm, &norm);
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  ASSERT_EQ(BNNSFusedFilterApplyBatch(filter.get(), 2, x.data(), 2, y.data(), 2, true), 0)
      << OpenBNNSGetLastError();
  expect_near(y, {-1, -1, 1, 1}, 1e-4, "y");
  Floats dy = {1, 0, 0, 2}, dx(4, 9), dw(4, 9), db(2, 9), dbeta(2), dgamma(2);
  BNNSNDArrayDescriptor out_delta = vector_of(2, dy.data()), in_delta = vector_of(2, dx.data());
  BNNSNDArrayDescriptor deltas[] = {matrix_of(2, 2, dw.data()), vector_of(2, db.data()),
                                    vector_of(2, dbeta.data()), vector_of(2, dgamma.data())};
  BNNSNDArrayDescriptor* slots[] = {&deltas[0], &deltas[1], &deltas[2], &deltas[3]};
  ASSERT_EQ(BNNSFusedFilterApplyBackwardBatch(filter.get(), 2, x.data(), 2, &in_delta, 2, nullptr,
                                              0, &out_delta, 2, slots),
            0)
      << OpenBNNSGetLastError();
  expect_near(dbeta, {1, 2}, 1e-6, "dbeta");
  expect_near(dgamma, {-1, 2}, 1e-4, "dgamma");
  expect_near(dx, {0, 0, 0, 0}, 1e-4, "dx");
  expect_near(dw, {0, 0, 0, 0}, 1e-4, "dw");
  expect_near(db, {0, 0}, 1e-4, "db");
}

TEST(Fused, PublishedAddAndBatchNorm) {
  Floats a = {1, 2, 2, 3}, b = {0, 0, 1, 1}, beta = {0, 0}, gamma = {1, 1}, y(4);
  BNNSArithmeticBinary add = {};
  add.in1 = add.in2 = add.out = vector_of(2);
  add.in1_type = add.in2_type = add.out_type = BNNSSample;
  BNNSLayerParametersArithmetic arithmetic = {};
  arithmetic.arithmetic_function = BNNSArithmeticAdd;
  arithmetic.arithmetic_function_fields = &add;
  BNNSLayerParametersNormalization norm = normalization(vector_of(2));
  norm.beta_desc = vector_of(2, beta.data());
  norm.gamma_desc = vector_of(2, gamma.data());
  const Filter filter = fuse(BNNSArithmetic, &arithmetic, BNNSBatchNorm, &norm);
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  const void* in[] = {a.data(), b.data()};
  const size_t strides[] = {2, 2};
  ASSERT_EQ(BNNSFusedFilterApplyMultiInputBatch(filter.get(), 2, 2, in, strides, y.data(), 2, true),
            0)
      << OpenBNNSGetLastError();
  expect_near(y, {-1, -1, 1, 1}, 1e-4, "y");
  Floats dy = {1, 0, 0, 2}, da(4, 9), db(4, 9), dbeta(2), dgamma(2);
  BNNSNDArrayDescriptor out_delta = vector_of(2, dy.data()),
                        d[] = {vector_of(2, da.data()), vector_of(2, db.data())};
  BNNSNDArrayDescriptor* in_delta[] = {&d[0], &d[1]};
  BNNSNDArrayDescriptor p[] = {vector_of(2, dbeta.data()), vector_of(2, dgamma.data())};
  BNNSNDArrayDescriptor* slots[] = {&p[0], &p[1]};
  ASSERT_EQ(
      BNNSFusedFilterApplyBackwardMultiInputBatch(filter.get(), 2, 2, nullptr, nullptr, in_delta,
                                                  strides, nullptr, 0, &out_delta, 2, slots),
      0)
      << OpenBNNSGetLastError();
  expect_near(dbeta, {1, 2}, 1e-6, "dbeta");
  expect_near(dgamma, {-1, 2}, 1e-4, "dgamma");
  expect_near(da, {0, 0, 0, 0}, 1e-4, "da");
  expect_near(db, da, 0, "db");
}

// ---- Against two filters ----

struct Random {
  std::mt19937 engine{1};
  Floats operator()(size_t n, float scale = 1) {
    std::uniform_real_distribution<float> uniform(-scale, scale);
    Floats values(n);
    for (float& v : values) v = uniform(engine);
    return values;
  }
};

constexpr size_t kBatch = 5, kWidth = 6, kHeight = 4, kChannels = 4, kIn = 3;
constexpr size_t kOutCount = kWidth * kHeight * kChannels;

// A first layer with all that it needs, by itself and in a fused filter.
struct First {
  std::string name;
  BNNSFilterType type;
  size_t inputs = 1, in_count = 0, weights = 0, bias = 0;
  BNNSNDArrayDescriptor in, out;
  Floats w, b;
  BNNSLayerParametersConvolution convolution = {};
  BNNSLayerParametersFullyConnected connected = {};
  BNNSLayerParametersArithmetic arithmetic = {};
  BNNSArithmeticTernary ternary = {};
  BNNSArithmeticBinary binary = {};
  BNNSArithmeticUnary unary = {};
  const void* params = nullptr;
};

void set_convolution(First& f, bool transposed, Random& random) {
  f.name = transposed ? "transposed" : "convolution";
  f.type = transposed ? BNNSTransposedConvolution : BNNSConvolution;
  f.in = array(BNNSDataLayoutImageCHW, {kWidth, kHeight, kIn});
  f.out = array(BNNSDataLayoutImageCHW, {kWidth, kHeight, kChannels});
  f.in_count = kWidth * kHeight * kIn;
  f.weights = 9 * kIn * kChannels;
  f.bias = kChannels;
  f.w = random(f.weights);
  f.b = random(f.bias);
  f.convolution.i_desc = f.in;
  f.convolution.o_desc = f.out;
  f.convolution.w_desc =
      array(BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, kIn, kChannels}, f.w.data());
  f.convolution.bias = vector_of(kChannels, f.b.data());
  f.convolution.x_stride = f.convolution.y_stride = 1;
  f.convolution.x_padding = f.convolution.y_padding = 1;
  f.params = &f.convolution;
}

void set_connected(First& f, Random& random) {
  f.name = "fully connected";
  f.type = BNNSFullyConnected;
  f.in = vector_of(7);
  f.out = vector_of(kOutCount);
  f.in_count = 7;
  f.weights = 7 * kOutCount;
  f.bias = kOutCount;
  f.w = random(f.weights);
  f.b = random(f.bias);
  f.connected.i_desc = f.in;
  f.connected.o_desc = f.out;
  f.connected.w_desc = matrix_of(7, kOutCount, f.w.data());
  f.connected.bias = vector_of(kOutCount, f.b.data());
  f.params = &f.connected;
}

void set_arithmetic(First& f, size_t inputs) {
  f.name = "arithmetic of " + std::to_string(inputs);
  f.type = BNNSArithmetic;
  f.inputs = inputs;
  f.in = f.out = array(BNNSDataLayoutImageCHW, {kWidth, kHeight, kChannels});
  f.in_count = kOutCount;
  f.unary = {.in = f.in, .in_type = BNNSSample, .out = f.out, .out_type = BNNSSample};
  f.binary.in1 = f.binary.in2 = f.binary.out = f.in;
  f.binary.in1_type = f.binary.in2_type = f.binary.out_type = BNNSSample;
  f.ternary.in1 = f.ternary.in2 = f.ternary.in3 = f.ternary.out = f.in;
  f.ternary.in1_type = f.ternary.in2_type = f.ternary.in3_type = f.ternary.out_type = BNNSSample;
  f.arithmetic.arithmetic_function = inputs == 1   ? BNNSArithmeticExp
                                     : inputs == 2 ? BNNSArithmeticMultiply
                                                   : BNNSArithmeticMultiplyAdd;
  f.arithmetic.arithmetic_function_fields = inputs == 1   ? static_cast<void*>(&f.unary)
                                            : inputs == 2 ? static_cast<void*>(&f.binary)
                                                          : static_cast<void*>(&f.ternary);
  f.params = &f.arithmetic;
}

struct Gradients {
  std::vector<Floats> dx;
  Floats dw, db, dbeta, dgamma;
};

// Runs both ways with the same data and compares everything that comes out.
void compare(First& f, BNNSFilterType second, bool moving, bool training, uint32_t flags,
             bool accumulate, size_t threads) {
  Random random;
  const bool by_element = second == BNNSLayerNorm;
  const size_t channels = f.type == BNNSFullyConnected ? kOutCount : kChannels;
  const size_t affine = by_element ? kOutCount : channels;
  Floats beta = random(affine), gamma = random(affine), mean = random(channels),
         variance(channels, 0.7f);
  BNNSLayerParametersNormalization norm = normalization(f.out);
  norm.activation = activation(BNNSActivationFunctionTanh);
  norm.num_groups = 2;
  const auto affine_array = [&](Floats& v) {
    if (!by_element) return vector_of(affine, v.data());
    BNNSNDArrayDescriptor d = f.out;
    d.data = v.data();
    return d;
  };
  norm.beta_desc = affine_array(beta);
  norm.gamma_desc = affine_array(gamma);
  Floats fused_mean = mean, fused_variance = variance;
  const auto with_moving = [&](Floats& m, Floats& v) {
    BNNSLayerParametersNormalization n = norm;
    if (moving) {
      n.moving_mean_desc = vector_of(channels, m.data());
      n.moving_variance_desc = vector_of(channels, v.data());
    }
    return n;
  };
  const BNNSLayerParametersNormalization separate_norm = with_moving(mean, variance),
                                         fused_norm = with_moving(fused_mean, fused_variance);
  const std::string what = f.name + " -> " + std::to_string(second) +
                           (training ? " training" : " inference") + (moving ? " moving" : "");

  std::vector<Floats> x;
  std::vector<const void*> in;
  std::vector<size_t> strides;
  for (size_t k = 0; k < f.inputs; ++k) {
    x.push_back(random(kBatch * f.in_count));
    strides.push_back(f.in_count);
  }
  for (const Floats& values : x) in.push_back(values.data());
  Floats z(kBatch * kOutCount), y(kBatch * kOutCount), fused_y(kBatch * kOutCount);

  // Two filters.
  BNNSFilterParameters options = client_pointers();
  const bool arithmetic = f.type == BNNSArithmetic;
  Filter first(arithmetic ? BNNSFilterCreateLayerArithmetic(&f.arithmetic, &options)
               : f.type == BNNSFullyConnected
                   ? BNNSFilterCreateLayerFullyConnected(&f.connected, &options)
               : f.type == BNNSConvolution
                   ? BNNSFilterCreateLayerConvolution(&f.convolution, &options)
                   : BNNSFilterCreateLayerTransposedConvolution(&f.convolution, &options));
  ASSERT_TRUE(first) << OpenBNNSGetLastError();
  const Filter last(BNNSFilterCreateLayerNormalization(second, &separate_norm, &options));
  ASSERT_TRUE(last) << OpenBNNSGetLastError();
  ASSERT_EQ(arithmetic
                ? BNNSArithmeticFilterApplyBatch(first.get(), kBatch, f.inputs, in.data(),
                                                 strides.data(), z.data(), kOutCount)
                : BNNSFilterApplyBatch(first.get(), kBatch, in[0], strides[0], z.data(), kOutCount),
            0);
  ASSERT_EQ(BNNSNormalizationFilterApplyBatch(last.get(), kBatch, z.data(), kOutCount, y.data(),
                                              kOutCount, training),
            0);

  const Filter fused = fuse(f.type, f.params, second, &fused_norm, threads, flags);
  ASSERT_TRUE(fused) << OpenBNNSGetLastError();
  ASSERT_EQ(f.inputs == 1 ? BNNSFusedFilterApplyBatch(fused.get(), kBatch, in[0], strides[0],
                                                      fused_y.data(), kOutCount, training)
                          : BNNSFusedFilterApplyMultiInputBatch(
                                fused.get(), kBatch, f.inputs, in.data(), strides.data(),
                                fused_y.data(), kOutCount, training),
            0)
      << OpenBNNSGetLastError();
  expect_near(fused_y, y, 2e-6, what + " y");
  if (moving && training && flags != 0) {
    expect_near(fused_mean, mean, 2e-6, what + " moving mean");
    expect_near(fused_variance, variance, 4e-6, what + " moving variance");
  }
  if (!training) return;

  // Backward: the second filter, then the first.
  Floats dy = random(kBatch * kOutCount), dz(kBatch * kOutCount);
  const float before = accumulate ? 1.5f : 99.0f;
  const auto start = [&] {
    return Gradients{std::vector<Floats>(f.inputs, Floats(kBatch * f.in_count, before)),
                     Floats(f.weights, before), Floats(f.bias, before), Floats(affine, before),
                     Floats(affine, before)};
  };
  Gradients separate = start(), together = start();
  const auto set = [&](BNNSNDArrayDescriptor d, Floats& data, bool adds) {
    d.data = data.data();
    d.flags = adds ? BNNSNDArrayFlagBackpropAccumulate : BNNSNDArrayFlagBackpropSet;
    return d;
  };
  BNNSNDArrayDescriptor out_delta = set(f.out, dy, false), between = set(f.out, dz, false);
  const auto deltas_of = [&](Gradients& g) {
    std::vector<BNNSNDArrayDescriptor> d;
    const BNNSNDArrayDescriptor w =
        f.type == BNNSFullyConnected ? f.connected.w_desc : f.convolution.w_desc;
    if (!arithmetic) {
      d.push_back(set(w, g.dw, accumulate));
      d.push_back(set(vector_of(f.bias), g.db, accumulate));
    }
    d.push_back(set(affine_array(beta), g.dbeta, accumulate));
    d.push_back(set(affine_array(gamma), g.dgamma, accumulate));
    for (Floats& dx : g.dx) d.push_back(set(f.in, dx, accumulate));
    return d;
  };
  std::vector<BNNSNDArrayDescriptor> s = deltas_of(separate), t = deltas_of(together);
  const size_t slots = arithmetic ? 2 : 4;
  ASSERT_EQ(BNNSNormalizationFilterApplyBackwardBatch(last.get(), kBatch, &between, kOutCount,
                                                      y.data(), kOutCount, &out_delta, kOutCount,
                                                      &s[slots - 2], &s[slots - 1]),
            0);
  std::vector<BNNSNDArrayDescriptor*> s_in, t_in, t_slots;
  for (size_t k = 0; k < f.inputs; ++k) {
    s_in.push_back(&s[slots + k]);
    t_in.push_back(&t[slots + k]);
  }
  for (size_t k = 0; k < slots; ++k) t_slots.push_back(&t[k]);
  ASSERT_EQ(arithmetic ? BNNSArithmeticFilterApplyBackwardBatch(
                             first.get(), kBatch, f.inputs, in.data(), strides.data(), s_in.data(),
                             strides.data(), nullptr, 0, &between, kOutCount)
                       : BNNSFilterApplyBackwardBatch(first.get(), kBatch, in[0], strides[0],
                                                      s_in[0], strides[0], z.data(), kOutCount,
                                                      &between, kOutCount, &s[0], &s[1]),
            0)
      << OpenBNNSGetLastError();
  ASSERT_EQ(f.inputs == 1
                ? BNNSFusedFilterApplyBackwardBatch(fused.get(), kBatch, in[0], strides[0], t_in[0],
                                                    strides[0], y.data(), kOutCount, &out_delta,
                                                    kOutCount, t_slots.data())
                : BNNSFusedFilterApplyBackwardMultiInputBatch(
                      fused.get(), kBatch, f.inputs, in.data(), strides.data(), t_in.data(),
                      strides.data(), y.data(), kOutCount, &out_delta, kOutCount, t_slots.data()),
            0)
      << OpenBNNSGetLastError();
  for (size_t k = 0; k < f.inputs; ++k)
    expect_near(together.dx[k], separate.dx[k], 4e-5, what + " dx");
  expect_near(together.dw, separate.dw, 1e-4, what + " dw");
  expect_near(together.db, separate.db, 1e-4, what + " db");
  expect_near(together.dbeta, separate.dbeta, 1e-5, what + " dbeta");
  expect_near(together.dgamma, separate.dgamma, 1e-5, what + " dgamma");
}

TEST(Fused, EveryPairIsTwoFilters) {
  Random random;
  const std::function<void(First&)> makers[] = {
      [&](First& f) { set_convolution(f, false, random); },
      [&](First& f) { set_convolution(f, true, random); },
      [&](First& f) { set_connected(f, random); },
      [&](First& f) { set_arithmetic(f, 1); },
      [&](First& f) { set_arithmetic(f, 2); },
      [&](First& f) { set_arithmetic(f, 3); },
  };
  for (const auto& make : makers) {
    for (const BNNSFilterType second :
         {BNNSBatchNorm, BNNSInstanceNorm, BNNSLayerNorm, BNNSGroupNorm}) {
      for (const bool moving : {false, true}) {
        for (const bool training : {false, true}) {
          for (const uint32_t flags : {uint32_t{0}, uint32_t{BNNSFlagsUseClientPtr}}) {
            First f;
            make(f);
            compare(f, second, moving, training, flags, moving, flags == 0 ? 1 : 2);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace bnns::test

// Published and worked values, through every entry point that reaches them: single and batched
// apply with default, packed and padded strides, copied and client weights, direct calls, and the
// creators of 2016.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;

struct DenseLayer {
  size_t in, out;
  Floats weights, bias;
  std::vector<Floats> x, y;  // sample by sample

  BNNSLayerParametersFullyConnected params() {
    BNNSLayerParametersFullyConnected p = {};
    p.i_desc = vector_of(in);
    p.o_desc = vector_of(out);
    p.w_desc = matrix_of(in, out, weights.data());
    if (!bias.empty()) p.bias = vector_of(out, bias.data());
    return p;
  }
};

DenseLayer pair_to_one() {
  return {.in = 2,
          .out = 1,
          .weights = {3, 4},
          .bias = {5},
          .x = {{1, 2}, {10, 20}},
          .y = {{16}, {115}}};
}

const DenseLayer kDense[] = {
    pair_to_one(),
    {.in = 3,
     .out = 2,
     .weights = {1, 2, 3, 4, 5, 6},
     .bias = {0.5f, -1},
     .x = {{1, 1, 1}, {1, 0, -1}},
     .y = {{6.5f, 14}, {-1.5f, -3}}},
    {.in = 4,
     .out = 3,
     .weights = {10, 20, 30, 40, 100, 200, 300, 400, 1000, 2000, 3000, 4000},
     .bias = {},
     .x = {{1, 2, 3, 4}},
     .y = {{300, 3000, 30000}}},
};

// Samples `step` values apart, 99 between them.
Floats laid_out(const std::vector<Floats>& samples, size_t step) {
  Floats all(samples.size() * step, 99);
  for (size_t b = 0; b < samples.size(); ++b)
    std::copy(samples[b].begin(), samples[b].end(), all.begin() + static_cast<ptrdiff_t>(b * step));
  return all;
}

// One sample at a time, and the batch with strides 0, packed and padded.
void expect_samples(const Filter& filter, const std::vector<Floats>& x,
                    const std::vector<Floats>& y) {
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  const size_t in = x[0].size(), out = y[0].size();
  for (size_t b = 0; b < x.size(); ++b) {
    Floats result(out);
    EXPECT_EQ(BNNSFilterApply(filter.get(), x[b].data(), result.data()), 0)
        << OpenBNNSGetLastError();
    EXPECT_EQ(result, y[b]);
  }
  struct Strides {
    size_t in_given, out_given, in_step, out_step;
  };
  for (const Strides& s : {Strides{0, 0, in, out},
                           {in, out, in, out},
                           {in + 1, out + 3, in + 1, out + 3},
                           {in + 5, 0, in + 5, out}}) {
    SCOPED_TRACE(testing::Message() << "strides " << s.in_given << " " << s.out_given);
    const Floats from = laid_out(x, s.in_step);
    Floats to(x.size() * s.out_step, 99);
    EXPECT_EQ(BNNSFilterApplyBatch(filter.get(), x.size(), from.data(), s.in_given, to.data(),
                                   s.out_given),
              0)
        << OpenBNNSGetLastError();
    EXPECT_EQ(to, laid_out(y, s.out_step));
  }
}

TEST(Golden, FullyConnectedForward) {
  for_targets([](const char* target) {
    SCOPED_TRACE(target);
    for (DenseLayer layer : kDense) {
      const BNNSFilterParameters client = client_pointers();
      for (const BNNSFilterParameters* options :
           {static_cast<const BNNSFilterParameters*>(nullptr), &client}) {
        const auto p = layer.params();
        expect_samples(Filter(BNNSFilterCreateLayerFullyConnected(&p, options)), layer.x, layer.y);
      }
    }
  });
}

TEST(Golden, FullyConnectedWeightLayouts) {
  for (const auto layout : {BNNSDataLayoutColumnMajorMatrix, BNNSDataLayout2DLastMajor,
                            BNNSDataLayout2DFirstMajor, BNNSDataLayoutRowMajorMatrix}) {
    for (const size_t padding : {0, 2}) {
      SCOPED_TRACE(testing::Message() << std::hex << layout << " padding " << padding);
      DenseLayer layer = kDense[1];
      const bool row_major =
          layout == BNNSDataLayoutRowMajorMatrix || layout == BNNSDataLayout2DFirstMajor;
      const size_t line = (row_major ? layer.in : layer.out) + padding;
      Floats weights(line * (row_major ? layer.out : layer.in), 1e9f);
      for (size_t o = 0; o < layer.out; ++o) {
        for (size_t i = 0; i < layer.in; ++i)
          weights[row_major ? o * line + i : i * line + o] = layer.weights[o * layer.in + i];
      }
      auto p = layer.params();
      p.w_desc = array(layout, {layer.out, layer.in}, weights.data());
      if (layout == BNNSDataLayoutRowMajorMatrix) std::swap(p.w_desc.size[0], p.w_desc.size[1]);
      if (padding != 0) p.w_desc.stride[1] = line;
      const BNNSFilterParameters client = client_pointers();
      expect_samples(Filter(BNNSFilterCreateLayerFullyConnected(&p, nullptr)), layer.x, layer.y);
      expect_samples(Filter(BNNSFilterCreateLayerFullyConnected(&p, &client)), layer.x, layer.y);
    }
  }
}

// A batch stride below the distance of neighbours interleaves the samples.
TEST(Golden, FullyConnectedInterleavedBatch) {
  DenseLayer layer = kDense[1];
  auto p = layer.params();
  p.i_desc.stride[0] = p.o_desc.stride[0] = 2;
  const Filter filter(BNNSFilterCreateLayerFullyConnected(&p, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  const Floats x = {1, 1, 1, 0, 1, -1};
  Floats y(4);
  ASSERT_EQ(BNNSFilterApplyBatch(filter.get(), 2, x.data(), 1, y.data(), 1), 0)
      << OpenBNNSGetLastError();
  EXPECT_EQ(y, (Floats{6.5f, -1.5f, 14, -3}));
}

// Copied weights stay as they were, client weights are read at every call.
TEST(Golden, FullyConnectedWeightsThatChange) {
  DenseLayer layer = pair_to_one();
  const auto p = layer.params();
  const BNNSFilterParameters client = client_pointers();
  const Filter copied(BNNSFilterCreateLayerFullyConnected(&p, nullptr));
  const Filter shared(BNNSFilterCreateLayerFullyConnected(&p, &client));
  layer.weights = {1, 1};
  layer.bias = {0};
  expect_samples(copied, layer.x, layer.y);
  expect_samples(shared, layer.x, {{3}, {30}});
}

TEST(Golden, FullyConnectedBackward) {
  for (const uint32_t flags : {0u, uint32_t{BNNSFlagsUseClientPtr}}) {
    for (const bool padded : {false, true}) {
      DenseLayer layer = pair_to_one();
      const auto p = layer.params();
      BNNSFilterParameters options = {};
      options.flags = flags;
      const Filter filter(BNNSFilterCreateLayerFullyConnected(&p, &options));
      ASSERT_TRUE(filter);
      const size_t in = padded ? 3 : 2, out = padded ? 4 : 1;
      const Floats x = laid_out(layer.x, in);
      Floats dy = laid_out({{1}, {2}}, out), dx(2 * in, 99), dw(2, -99), db(1, -99);
      auto dx_desc = vector_of(2, dx.data()), dy_desc = vector_of(1, dy.data());
      auto dw_desc = matrix_of(2, 1, dw.data()), db_desc = vector_of(1, db.data());
      const auto backward = [&](size_t in_stride, size_t out_stride) {
        return BNNSFilterApplyBackwardBatch(filter.get(), 2, x.data(), in_stride, &dx_desc,
                                            in_stride, nullptr, 0, &dy_desc, out_stride, &dw_desc,
                                            &db_desc);
      };
      EXPECT_EQ(backward(padded ? in : 0, padded ? out : 0), 0) << OpenBNNSGetLastError();
      EXPECT_EQ(dx, laid_out({{3, 4}, {6, 8}}, in));
      EXPECT_EQ(dw, (Floats{21, 42}));
      EXPECT_EQ(db, (Floats{3}));
      dx_desc.flags = dw_desc.flags = db_desc.flags = BNNSNDArrayFlagBackpropAccumulate;
      EXPECT_EQ(backward(in, out), 0) << OpenBNNSGetLastError();
      EXPECT_EQ(dx, laid_out({{6, 8}, {12, 16}}, in));
      EXPECT_EQ(dw, (Floats{42, 84}));
      EXPECT_EQ(db, (Floats{6}));
    }
  }
}

// ---- The creators of 2016 ----

TEST(Golden, LegacyFullyConnected) {
  static const Floats weights = {1, 2, 3, 4, 5, 6}, bias = {0.5f, -1};
  static const uint8_t indices[6] = {255, 0, 7, 200, 1, 2};
  Floats table(256, 1e9f);
  for (size_t i = 0; i < 6; ++i) table[indices[i]] = weights[i];
  static const int8_t bytes[6] = {-2, -1, 0, 1, 2, 3};     // 1 * w + 3
  static const int16_t words[6] = {4, 8, 12, 16, 20, 24};  // w / 4
  static const Floats x = {1, 0, -1};
  static const int8_t x_bytes[3] = {4, 2, 0};      // 0.5 * x - 1
  static const int16_t x_words[3] = {10, 0, -10};  // 0.1 * x, exact in float after rounding
  const BNNSVectorDescriptor plain = {.size = 3, .data_type = BNNSDataTypeFloat32};
  const BNNSVectorDescriptor in8 = {3, BNNSDataTypeInt8, 0.5f, -1};
  const BNNSVectorDescriptor in16 = {3, BNNSDataTypeInt16, 0.1f, 0};
  const BNNSLayerData w32 = {weights.data(), BNNSDataTypeFloat32};
  const BNNSLayerData wi8 = {bytes, BNNSDataTypeInt8, 1, 3};
  const BNNSLayerData wi16 = {words, BNNSDataTypeInt16, 0.25f, 0};
  const BNNSLayerData windex = {indices, BNNSDataTypeIndexed8, 0, 0, table.data()};
  struct Case {
    BNNSVectorDescriptor in;
    const void* x;
    BNNSLayerData weights;
  };
  for (const Case& c : {Case{plain, x.data(), w32},
                        {plain, x.data(), wi8},
                        {plain, x.data(), wi16},
                        {plain, x.data(), windex},
                        {in8, x_bytes, w32},
                        {in8, x_bytes, wi8},
                        {in8, x_bytes, windex},
                        {in16, x_words, w32},
                        {in16, x_words, wi16}}) {
    for (const uint32_t flags : {0u, uint32_t{BNNSFlagsUseClientPtr}}) {
      SCOPED_TRACE(testing::Message()
                   << "in " << c.in.data_type << " weights " << c.weights.data_type);
      BNNSFullyConnectedLayerParameters p = {};
      p.in_size = 3;
      p.out_size = 2;
      p.weights = c.weights;
      p.bias = {bias.data(), BNNSDataTypeFloat32};
      BNNSFilterParameters options = {};
      options.flags = flags;
      const BNNSVectorDescriptor out = {.size = 2, .data_type = BNNSDataTypeFloat32};
      const Filter filter(BNNSFilterCreateFullyConnectedLayer(&c.in, &out, &p, &options));
      ASSERT_TRUE(filter) << OpenBNNSGetLastError();
      Floats y(2);
      EXPECT_EQ(BNNSFilterApply(filter.get(), c.x, y.data()), 0) << OpenBNNSGetLastError();
      EXPECT_EQ(y, (Floats{-1.5f, -3}));
      EXPECT_EQ(BNNSFilterApplyBatch(filter.get(), 1, c.x, 3, y.data(), 2), 0);
      EXPECT_EQ(y, (Floats{-1.5f, -3}));
    }
  }
}

// Scaled integers on the output side: stored = round(y / scale - bias).
TEST(Golden, LegacyFullyConnectedIntegerOutput) {
  const Floats weights = {1, 2, 3, 4, 5, 6}, x = {1, 1, 1};
  const BNNSVectorDescriptor in = {.size = 3, .data_type = BNNSDataTypeFloat32};
  const BNNSVectorDescriptor out = {2, BNNSDataTypeInt16, 0.5f, 3};
  BNNSFullyConnectedLayerParameters p = {};
  p.in_size = 3;
  p.out_size = 2;
  p.weights = {weights.data(), BNNSDataTypeFloat32};
  const Filter filter(BNNSFilterCreateFullyConnectedLayer(&in, &out, &p, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  int16_t y[2];
  EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(y[0], 6 * 2 - 3);
  EXPECT_EQ(y[1], 15 * 2 - 3);
}

// ---- Activations ----

struct ActivationCase {
  BNNSActivation function;
  Floats x, y;
};
const ActivationCase kActivations[] = {
    {activation(BNNSActivationFunctionLeakyRectifiedLinear, 0.25f), {-4, 2}, {-1, 2}},
    {activation(BNNSActivationFunctionClamp, -1, 2), {-5, -1, 0.5f, 2, 7}, {-1, -1, 0.5f, 2, 2}},
};

TEST(Golden, Activation) {
  for (const ActivationCase& c : kActivations) {
    const size_t n = c.x.size();
    expect_samples(make_activation(vector_of(n), vector_of(n), c.function), {c.x, c.x}, {c.y, c.y});
    const BNNSVectorDescriptor d = {.size = n, .data_type = BNNSDataTypeFloat32};
    expect_samples(Filter(BNNSFilterCreateVectorActivationLayer(&d, &d, &c.function, nullptr)),
                   {c.x, c.x}, {c.y, c.y});
  }
}

TEST(Golden, DirectActivation) {
  for (const ActivationCase& c : kActivations) {
    const size_t n = c.x.size();
    for (const size_t padding : {0, 2}) {
      Floats x = laid_out({c.x, c.x, c.x}, n + padding), y(3 * (n + padding), 99);
      BNNSLayerParametersActivation p = {};
      p.i_desc = vector_of(n, x.data());
      p.o_desc = vector_of(n, y.data());
      p.activation = c.function;
      const size_t stride = padding == 0 ? 0 : n + padding;
      EXPECT_EQ(BNNSDirectApplyActivationBatch(&p, nullptr, 3, stride, stride), 0)
          << OpenBNNSGetLastError();
      EXPECT_EQ(y, laid_out({c.y, c.y, c.y}, n + padding));
    }
  }
}

TEST(Golden, SlopeThroughGetPointer) {
  const Filter filter = make_activation(vector_of(2), vector_of(2), kActivations[0].function);
  const BNNSNDArrayDescriptor alpha = BNNSGetPointer(filter.get(), BNNSPointerSpecifierAlpha);
  ASSERT_NE(alpha.data, nullptr);
  EXPECT_EQ(alpha.layout, BNNSDataLayoutVector);
  EXPECT_EQ(alpha.size[0], 1u);
  EXPECT_EQ(alpha.data_type, BNNSDataTypeFloat32);
  auto* slope = static_cast<float*>(alpha.data);
  EXPECT_EQ(*slope, 0.25f);
  expect_samples(filter, {{-4, 2}}, {{-1, 2}});
  *slope = 0.5f;
  expect_samples(filter, {{-4, 2}}, {{-2, 2}});
}

TEST(Golden, SlopesPerChannelThroughGetPointer) {
  const auto image = array(BNNSDataLayoutImageCHW, {2, 1, 3});
  const Filter filter =
      make_activation(image, image, activation(BNNSActivationFunctionPReLUPerChannel, 0.25f));
  const BNNSNDArrayDescriptor alpha = BNNSGetPointer(filter.get(), BNNSPointerSpecifierAlpha);
  ASSERT_NE(alpha.data, nullptr);
  EXPECT_EQ(alpha.size[0], 3u);
  auto* slopes = static_cast<float*>(alpha.data);
  for (size_t c = 0; c < 3; ++c) EXPECT_EQ(slopes[c], 0.25f);
  expect_samples(filter, {{-4, 4, -4, 4, -4, 4}}, {{-1, 4, -1, 4, -1, 4}});
  slopes[1] = 0.5f;
  slopes[2] = 2;
  expect_samples(filter, {{-4, 4, -4, 4, -4, 4}}, {{-1, 4, -2, 4, -8, 4}});
}

TEST(Golden, BetaThroughGetPointer) {
  const Filter filter = make_activation(vector_of(2), vector_of(2), kActivations[1].function);
  const auto beta = BNNSGetPointer(filter.get(), BNNSPointerSpecifierBeta);
  ASSERT_NE(beta.data, nullptr);
  EXPECT_EQ(*static_cast<float*>(beta.data), 2);
  *static_cast<float*>(beta.data) = 5;
  expect_samples(filter, {{-5, 7}}, {{-1, 5}});
}

// The published digits are those of floats; two units in the last place are the error allowed.
TEST(Golden, Softmax) {
  const Floats x = {3, 5, 1, 6, 2, 1, 4};
  const Floats expected = {0.031415492f, 0.23213086f,  0.004251625f, 0.63099706f,
                           0.011557114f, 0.004251625f, 0.08539616f};
  for_targets([&](const char* target) {
    SCOPED_TRACE(target);
    const Filter filter =
        make_activation(vector_of(7), vector_of(7), activation(BNNSActivationFunctionSoftmax));
    ASSERT_TRUE(filter);
    for (const size_t stride : {0, 7, 10}) {
      const size_t step = stride == 0 ? 7 : stride;
      const Floats in = laid_out({x, x}, step);
      Floats out(2 * step, 99);
      ASSERT_EQ(BNNSFilterApplyBatch(filter.get(), 2, in.data(), stride, out.data(), stride), 0);
      for (size_t b = 0; b < 2; ++b) {
        for (size_t i = 0; i < 7; ++i) {
          const auto got = std::bit_cast<int32_t>(out[b * step + i]);
          EXPECT_LE(std::abs(got - std::bit_cast<int32_t>(expected[i])), 2) << i;
        }
        for (size_t i = 7; i < step; ++i) EXPECT_EQ(out[b * step + i], 99);
      }
    }
  });
}

TEST(Golden, ConversionByIdentity) {
  const Floats x = {1.5f, -2.5f, 300.25f, 4};
  const std::vector<int32_t> expected = {2, -2, 300, 4};
  const auto identity = activation(BNNSActivationFunctionIdentity, NAN, NAN);
  std::vector<int32_t> y(4), z(4);
  const Filter filter =
      make_activation(vector_of(4), vector_of(4, nullptr, BNNSDataTypeInt32), identity);
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0);
  EXPECT_EQ(y, expected);
  const BNNSVectorDescriptor in = {.size = 4, .data_type = BNNSDataTypeFloat32};
  const BNNSVectorDescriptor out = {.size = 4, .data_type = BNNSDataTypeInt32};
  const Filter legacy(BNNSFilterCreateVectorActivationLayer(&in, &out, &identity, nullptr));
  ASSERT_TRUE(legacy) << OpenBNNSGetLastError();
  EXPECT_EQ(BNNSFilterApply(legacy.get(), x.data(), z.data()), 0);
  EXPECT_EQ(z, expected);
}

TEST(Golden, ConversionFromInt16) {
  std::vector<int16_t> x(10);
  Floats y(10), expected(10);
  for (size_t i = 0; i < 10; ++i)
    expected[i] = static_cast<float>(x[i] = static_cast<int16_t>(i + 1));
  for (const float scale : {0.0f, 1.0f}) {
    auto in = vector_of(10, x.data(), BNNSDataTypeInt16);
    in.data_scale = scale;
    const Filter filter =
        make_activation(in, vector_of(10), activation(BNNSActivationFunctionIdentity));
    ASSERT_TRUE(filter) << OpenBNNSGetLastError();
    EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0);
    EXPECT_EQ(y, expected);
  }
}

}  // namespace
}  // namespace bnns::test

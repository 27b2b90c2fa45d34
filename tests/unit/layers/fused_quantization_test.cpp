// Fused filters that end with a quantization, against the same two layers by themselves: exactly,
// as integers leave no room. Also those whose values between the layers are integers.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

constexpr size_t kBatch = 3, kWidth = 5, kHeight = 3, kIn = 2, kChannels = 4;
constexpr size_t kOutCount = kWidth * kHeight * kChannels, kInCount = kWidth * kHeight * kIn;

// A convolution, also transposed, or a fully connected layer, of small integers.
struct First {
  BNNSFilterType type;
  std::vector<float> w, b;
  BNNSLayerParametersConvolution convolution = {};
  BNNSLayerParametersFullyConnected connected = {};

  First(BNNSFilterType t, const BNNSNDArrayDescriptor& out) : type(t), b(kChannels) {
    const bool product = t == BNNSFullyConnected;
    w.resize(product ? kInCount * kOutCount : 9 * kIn * kChannels);
    if (product) b.resize(kOutCount);
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i * 7 % 11) - 5;
    for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i * 5 % 13) - 6.25f;
    convolution.i_desc = array(BNNSDataLayoutImageCHW, {kWidth, kHeight, kIn});
    convolution.w_desc =
        array(BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, kIn, kChannels}, w.data());
    convolution.x_padding = convolution.y_padding = 1;
    connected.i_desc = vector_of(kInCount);
    connected.w_desc = matrix_of(kInCount, kOutCount, w.data());
    convolution.o_desc = connected.o_desc = out;
    convolution.bias = connected.bias = vector_of(b.size(), b.data());
  }
  const void* params() const {
    return type == BNNSFullyConnected ? static_cast<const void*>(&connected) : &convolution;
  }
  Filter make() const {
    if (type == BNNSFullyConnected)
      return Filter(BNNSFilterCreateLayerFullyConnected(&connected, nullptr));
    return Filter(type == BNNSConvolution
                      ? BNNSFilterCreateLayerConvolution(&convolution, nullptr)
                      : BNNSFilterCreateLayerTransposedConvolution(&convolution, nullptr));
  }
};

BNNSNDArrayDescriptor between(BNNSFilterType first, BNNSDataType type) {
  BNNSNDArrayDescriptor d = first == BNNSFullyConnected
                                ? vector_of(kOutCount)
                                : array(BNNSDataLayoutImageCHW, {kWidth, kHeight, kChannels});
  d.data_type = type;
  return d;
}

struct Settings {
  BNNSFilterType first;
  bool dequantize = false;
  BNNSDataType between = BNNSDataTypeFloat32, out = BNNSDataTypeInt8;
  size_t axis_mask = 0, scales = 1;
  float data_scale = 0;  // of what lies between the layers
};

void compare(const Settings& s) {
  const std::string what = std::to_string(s.first) + " mask " + std::to_string(s.axis_mask) +
                           " type " + std::to_string(s.between);
  BNNSNDArrayDescriptor middle = between(s.first, s.between);
  middle.data_scale = s.data_scale;
  const First first(s.first, middle);
  std::vector<float> x(kBatch * kInCount), scale(s.scales), bias(s.scales);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 3 % 7) - 3.5f;
  for (size_t i = 0; i < s.scales; ++i) scale[i] = 0.375f + 0.5f * static_cast<float>(i % 5);
  for (size_t i = 0; i < s.scales; ++i) bias[i] = static_cast<float>(i % 3) - 1;
  BNNSLayerParametersQuantization q = {};
  q.function = s.dequantize ? BNNSQuantizerFunctionDequantize : BNNSQuantizerFunctionQuantize;
  q.i_desc = q.o_desc = middle;
  q.o_desc.data_type = s.out;
  q.axis_mask = s.axis_mask;
  q.scale = vector_of(s.scales, scale.data());
  q.bias = vector_of(s.scales, bias.data());

  std::vector<float> z(kBatch * kOutCount);  // room enough for every type
  std::vector<float> expected(kBatch * kOutCount, 0.0f), y;
  const Filter alone = first.make();
  ASSERT_TRUE(alone) << what << OpenBNNSGetLastError();
  ASSERT_EQ(BNNSFilterApplyBatch(alone.get(), kBatch, x.data(), 0, z.data(), 0), 0);
  BNNSLayerParametersQuantization direct = q;
  direct.i_desc.data = z.data();
  direct.o_desc.data = expected.data();
  ASSERT_EQ(BNNSDirectApplyQuantizer(&direct, nullptr, kBatch, 0, 0), 0) << OpenBNNSGetLastError();

  const BNNSFilterType types[] = {s.first, BNNSQuantization};
  const void* params[] = {first.params(), &q};
  for (const uint32_t flags : {uint32_t{0}, uint32_t{BNNSFlagsUseClientPtr}}) {
    for (const size_t threads : {1, 2, 3}) {
      BNNSFilterParameters options = {};
      options.flags = flags;
      options.n_threads = threads;
      const Filter fused(BNNSFilterCreateFusedLayer(2, types, params, &options));
      ASSERT_TRUE(fused) << what << OpenBNNSGetLastError();
      for (const bool training : {false, true}) {  // it is ignored
        y.assign(expected.size(), 0.0f);
        ASSERT_EQ(
            BNNSFusedFilterApplyBatch(fused.get(), kBatch, x.data(), 0, y.data(), 0, training), 0)
            << what << OpenBNNSGetLastError();
        ASSERT_EQ(std::memcmp(y.data(), expected.data(), y.size() * sizeof(float)), 0) << what;
      }
    }
  }
}

constexpr BNNSFilterType kFirst[] = {BNNSConvolution, BNNSTransposedConvolution,
                                     BNNSFullyConnected};

TEST(FusedQuantization, FloatsBetween) {
  for (const BNNSFilterType first : kFirst) {
    for (const auto out : {BNNSDataTypeInt8, BNNSDataTypeUInt8, BNNSDataTypeInt16,
                           BNNSDataTypeUInt16, BNNSDataTypeInt32, BNNSDataTypeUInt32})
      compare({.first = first, .out = out});
    compare({.first = first,
             .axis_mask = 1,
             .scales = first == BNNSFullyConnected ? kOutCount : kWidth});
    const size_t batch_axis = first == BNNSFullyConnected ? 2 : 8;
    compare({.first = first, .axis_mask = batch_axis, .scales = kBatch});
    if (first == BNNSFullyConnected) continue;
    compare({.first = first, .axis_mask = 2, .scales = kHeight});
    compare({.first = first, .axis_mask = 4, .scales = kChannels});
  }
}

// What the first layer gives is rounded and saturated before the second one sees it.
TEST(FusedQuantization, IntegersBetween) {
  for (const BNNSFilterType first : {BNNSConvolution, BNNSFullyConnected}) {
    for (const float data_scale : {0.0f, 0.5f}) {
      compare({.first = first, .between = BNNSDataTypeInt32, .data_scale = data_scale});
      for (const auto type :
           {BNNSDataTypeInt8, BNNSDataTypeUInt8, BNNSDataTypeInt16, BNNSDataTypeInt32}) {
        compare({.first = first,
                 .dequantize = true,
                 .between = type,
                 .out = BNNSDataTypeFloat32,
                 .data_scale = data_scale});
      }
    }
  }
}

// Float16 between the layers: values are rounded once, at the end. These are exact in 16 bits.
TEST(FusedQuantization, HalvesBetween) {
  for (const BNNSFilterType first : {BNNSConvolution, BNNSFullyConnected})
    compare({.first = first, .between = BNNSDataTypeFloat16});
}

}  // namespace
}  // namespace bnns::test

// BNNSDirectApplyQuantizer: published values, every type, the axes of scale and bias in every plain
// layout, strides, batches, threads, rounding and saturation.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "support/call_builder.h"
#include "support/layouts.h"

namespace bnns::test {
namespace {

using Quantization = BNNSLayerParametersQuantization;

Quantization quantization(const BNNSNDArrayDescriptor& in, const BNNSNDArrayDescriptor& out,
                          bool dequantize = false) {
  Quantization q = {};
  q.function = dequantize ? BNNSQuantizerFunctionDequantize : BNNSQuantizerFunctionQuantize;
  q.i_desc = in;
  q.o_desc = out;
  return q;
}

int apply(const Quantization& q, size_t batch = 1, size_t in_stride = 0, size_t out_stride = 0,
          size_t threads = 1) {
  BNNSFilterParameters options = {};
  options.n_threads = threads;
  return BNNSDirectApplyQuantizer(&q, &options, batch, in_stride, out_stride);
}

TEST(Quantizer, PublishedValues) {
  std::vector<float> x = {0, 2, 4, 6}, scale = {0.5f}, bias = {1}, back(4);
  std::vector<int8_t> y(4);
  Quantization q = quantization(vector_of(4, x.data()), vector_of(4, y.data(), BNNSDataTypeInt8));
  q.scale = vector_of(1, scale.data());
  q.bias = vector_of(1, bias.data());
  ASSERT_EQ(apply(q), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(y, (std::vector<int8_t>{1, 2, 3, 4}));
  Quantization d = quantization(q.o_desc, vector_of(4, back.data()), true);
  d.scale = q.scale;
  d.bias = q.bias;
  ASSERT_EQ(apply(d), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(back, x);

  std::vector<float> rows = {1, 2, 3, 4, 5, 6, 7, 8}, scales = {1, 10, 100, 1000};
  std::vector<int16_t> z(8);
  Quantization m =
      quantization(matrix_of(4, 2, rows.data()), matrix_of(4, 2, z.data(), BNNSDataTypeInt16));
  m.axis_mask = 1;
  m.scale = vector_of(4, scales.data());
  ASSERT_EQ(apply(m), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(z, (std::vector<int16_t>{1, 20, 300, 4000, 5, 60, 700, 8000}));
}

template <class T>
void expect_saturated(BNNSDataType type) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x = {-inf, -1e20f, -0.5f, 0.5f, 1.5f, 2.5f, 1e20f, inf, std::nanf("")};
  std::vector<T> y(x.size(), T{77});
  ASSERT_EQ(apply(quantization(vector_of(x.size(), x.data()), vector_of(x.size(), y.data(), type))),
            0);
  constexpr T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  EXPECT_EQ(y, (std::vector<T>{low, low, 0, 0, 2, 2, high, high, 0}));
}

TEST(Quantizer, RoundsToEvenAndSaturates) {
  expect_saturated<int8_t>(BNNSDataTypeInt8);
  expect_saturated<uint8_t>(BNNSDataTypeUInt8);
  expect_saturated<int16_t>(BNNSDataTypeInt16);
  expect_saturated<uint16_t>(BNNSDataTypeUInt16);
  expect_saturated<int32_t>(BNNSDataTypeInt32);
  expect_saturated<uint32_t>(BNNSDataTypeUInt32);
}

// Int32 is not squeezed through float on its way.
TEST(Quantizer, LargeIntegersKeepTheirDigits) {
  std::vector<int32_t> x = {2147483647, -2147483647, 16777217}, y(3);
  ASSERT_EQ(apply(quantization(vector_of(3, x.data(), BNNSDataTypeInt32),
                               vector_of(3, y.data(), BNNSDataTypeInt32))),
            0);
  EXPECT_EQ(y, x);
  std::vector<uint32_t> u = {4294967295u, 7};
  std::vector<int32_t> back(2);
  ASSERT_EQ(apply(quantization(vector_of(2, u.data(), BNNSDataTypeUInt32),
                               vector_of(2, back.data(), BNNSDataTypeInt32), true)),
            0);
  EXPECT_EQ(back, (std::vector<int32_t>{2147483647, 7}));
}

TEST(Quantizer, HalfFloats) {
  std::vector<uint16_t> x = {0x3C00, 0xC000}, back(2);  // 1, -2
  std::vector<int8_t> y(2);
  std::vector<float> scale = {3};
  Quantization q = quantization(vector_of(2, x.data(), BNNSDataTypeFloat16),
                                vector_of(2, y.data(), BNNSDataTypeInt8));
  q.scale = vector_of(1, scale.data());
  ASSERT_EQ(apply(q), 0);
  EXPECT_EQ(y, (std::vector<int8_t>{3, -6}));
  Quantization d = quantization(q.o_desc, vector_of(2, back.data(), BNNSDataTypeFloat16), true);
  d.scale = q.scale;
  ASSERT_EQ(apply(d), 0);
  EXPECT_EQ(back, x);
}

// Every axis of every plain layout, and the batch, against the address formula; samples have gaps,
// the data scale of the descriptors must not matter.
TEST(Quantizer, AxesOfAllLayouts) {
  for (const ::test::Layout& layout : ::test::all_layouts()) {
    const ::test::Sizes size = {3, 2, 4, 2, 2, 3, 1, 2};
    size_t count = 1;
    ::test::Sizes packed = {};
    for (size_t k = 0; k < layout.rank; ++k) {
      packed[k] = count;
      count *= size[layout.paired_size(k)];
    }
    for (size_t axis = 0; axis <= layout.rank; ++axis) {
      constexpr size_t kBatch = 3;
      const size_t step = count + 5, extent = axis == layout.rank ? kBatch : size[axis];
      std::vector<float> x(kBatch * step), scale(extent), bias(extent);
      for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 101) - 50;
      for (size_t i = 0; i < extent; ++i) scale[i] = static_cast<float>(i + 1);
      for (size_t i = 0; i < extent; ++i) bias[i] = static_cast<float>(7 * i);
      std::vector<int32_t> y(kBatch * step, 12345);
      BNNSNDArrayDescriptor in = {}, out = {};
      in.layout = layout.value;
      std::copy_n(size.begin(), layout.rank, in.size);
      in.data_type = BNNSDataTypeFloat32;
      in.data_scale = 9;
      out = in;
      in.data = x.data();
      out.data = y.data();
      out.data_type = BNNSDataTypeInt32;
      Quantization q = quantization(in, out);
      q.axis_mask = size_t{1} << axis;
      q.scale = vector_of(extent, scale.data());
      q.bias = vector_of(extent, bias.data());
      const int status = apply(q, kBatch, step, step);
      if (status != 0) {  // layouts that are no plain arrays
        EXPECT_NE(std::string(OpenBNNSGetLastError()).find("layout"), std::string::npos)
            << layout.name << OpenBNNSGetLastError();
        break;
      }
      for (size_t b = 0; b < kBatch; ++b) {
        for (size_t i = 0; i < step; ++i) {
          if (i >= count) {
            EXPECT_EQ(y[b * step + i], 12345);
            continue;
          }
          size_t index = b;
          for (size_t k = 0, rest = i; k < layout.rank; ++k) {
            const size_t here = rest % size[layout.paired_size(k)];
            rest /= size[layout.paired_size(k)];
            if (layout.paired_size(k) == axis) index = here;
          }
          const float expected = scale[index] * x[b * step + i] + bias[index];
          ASSERT_EQ(static_cast<float>(y[b * step + i]), expected) << layout.name << " " << axis;
        }
      }
    }
  }
}

TEST(Quantizer, ThreadsDoNotMatter) {
  constexpr size_t kCount = 100'003;
  std::vector<float> x(kCount), scale = {0.37f};
  for (size_t i = 0; i < kCount; ++i) x[i] = std::sin(static_cast<float>(i)) * 500;
  std::vector<std::vector<int8_t>> results;
  for (const size_t threads : {1, 2, 3}) {
    std::vector<int8_t> y(kCount);
    Quantization q =
        quantization(vector_of(kCount, x.data()), vector_of(kCount, y.data(), BNNSDataTypeInt8));
    q.scale = vector_of(1, scale.data());
    ASSERT_EQ(apply(q, 1, 0, 0, threads), 0);
    results.push_back(y);
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(Quantizer, Refusals) {
  std::vector<float> x(8, 1), scale(8, 1);
  std::vector<int8_t> y(8, 55);
  const Quantization right =
      quantization(matrix_of(4, 2, x.data()), matrix_of(4, 2, y.data(), BNNSDataTypeInt8));
  const auto refuse = [&](const auto& change, const char* part, size_t batch = 1) {
    Quantization q = right;
    change(q);
    EXPECT_EQ(apply(q, batch), -1) << part;
    const std::string text = OpenBNNSGetLastError();
    EXPECT_EQ(text.find("BNNSDirectApplyQuantizer: "), 0u) << text;
    EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(y, std::vector<int8_t>(8, 55));
  };
  EXPECT_EQ(BNNSDirectApplyQuantizer(nullptr, nullptr, 1, 0, 0), -1);
  using Q = Quantization;
  refuse([](Q& q) { q.function = static_cast<BNNSQuantizerFunction>(2); }, "function is 2");
  refuse([](Q& q) { q.axis_mask = 3; }, "axis_mask is 3");
  refuse([](Q& q) { q.axis_mask = 8; }, "axis_mask is 8");
  refuse([](Q& q) { q.axis_mask = SIZE_MAX; }, "axis_mask is");
  refuse([](Q& q) { q.o_desc.data_type = BNNSDataTypeFloat32; }, "o_desc.data_type is Float32");
  refuse([](Q& q) { q.i_desc.data_type = BNNSDataTypeInt8; }, "i_desc.data_type is Int8");
  refuse([](Q& q) { q.function = BNNSQuantizerFunctionDequantize; }, "i_desc.data_type is Float32");
  refuse([](Q& q) { q.o_desc.size[0] = 3; }, "o_desc is RowMajorMatrix {3, 2}");
  refuse([](Q& q) { q.i_desc.data = nullptr; }, "i_desc.data is NULL");
  refuse([](Q& q) { q.o_desc.data = nullptr; }, "o_desc.data is NULL");
  refuse([&](Q& q) { q.scale = vector_of(2, scale.data()); }, "scale has 2 values");
  refuse([&](Q& q) { q.axis_mask = 1, q.bias = vector_of(3, scale.data()); }, "bias has 3 values");
  refuse([&](Q& q) { q.scale = matrix_of(1, 1, scale.data()); }, "scale.layout");
  refuse([&](Q& q) { q.scale = vector_of(1, scale.data(), BNNSDataTypeInt32); }, "scale.data_type");
  refuse([&](Q& q) { q.axis_mask = 4, q.scale = vector_of(3, scale.data()); }, "batch_size is 2",
         2);
  refuse(
      [&](Q& q) {
        q.axis_mask = 4;
        q.scale = vector_of(2, scale.data());
        q.bias = vector_of(3, scale.data());
      },
      "scale has 2 values, bias has 3", 2);
  refuse([&](Q& q) { q.i_desc.data = y.data(); }, "i_desc.data");
  refuse([&](Q& q) { q.scale = vector_of(1, y.data()); }, "scale.data");
}

}  // namespace
}  // namespace bnns::test

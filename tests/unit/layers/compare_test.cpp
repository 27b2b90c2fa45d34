// BNNSCompareTensor: types and numbers that the spec's runner does not have.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Bytes = std::vector<uint8_t>;

Bytes compared(const BNNSNDArrayDescriptor& in0, const BNNSNDArrayDescriptor& in1,
               BNNSRelationalOperator op, size_t n) {
  Bytes out(n, 9);
  BNNSNDArrayDescriptor to = vector_of(n, out.data(), BNNSDataTypeBoolean);
  EXPECT_EQ(BNNSCompareTensor(&in0, &in1, op, &to), 0) << OpenBNNSGetLastError();
  return out;
}

TEST(Compare, NumbersOf64Bits) {
  std::vector<uint64_t> a = {UINT64_MAX, uint64_t{1} << 63, 5}, b = {UINT64_MAX - 1, 1, 5};
  const auto u64 = [](auto& v) { return vector_of(v.size(), v.data(), BNNSDataTypeUInt64); };
  EXPECT_EQ(compared(u64(a), u64(b), BNNSRelationalOperatorGreater, 3), (Bytes{1, 1, 0}));
  EXPECT_EQ(compared(u64(a), u64(b), BNNSRelationalOperatorEqual, 3), (Bytes{0, 0, 1}));
  std::vector<int64_t> c = {INT64_MIN, (int64_t{1} << 53) + 1}, d = {INT64_MAX, int64_t{1} << 53};
  const auto i64 = [](auto& v) { return vector_of(v.size(), v.data(), BNNSDataTypeInt64); };
  EXPECT_EQ(compared(i64(c), i64(d), BNNSRelationalOperatorLess, 2), (Bytes{1, 0}));
  EXPECT_EQ(compared(i64(c), i64(d), BNNSRelationalOperatorNotEqual, 2), (Bytes{1, 1}));
  BNNSNDArrayDescriptor scaled = i64(c);
  scaled.data_scale = -1;
  EXPECT_EQ(compared(scaled, i64(d), BNNSRelationalOperatorGreater, 2), (Bytes{1, 0}));
}

TEST(Compare, NaNIsTrueAndEqualToNothing) {
  const float nan = std::nanf("");
  std::vector<float> a = {nan, nan, 0, -0.0f}, b = {nan, 0, nan, 0};
  const auto f32 = [](auto& v) { return vector_of(v.size(), v.data()); };
  const auto by = [&](BNNSRelationalOperator op) { return compared(f32(a), f32(b), op, 4); };
  EXPECT_EQ(by(BNNSRelationalOperatorEqual), (Bytes{0, 0, 0, 1}));
  EXPECT_EQ(by(BNNSRelationalOperatorNotEqual), (Bytes{1, 1, 1, 0}));
  EXPECT_EQ(by(BNNSRelationalOperatorLessEqual), (Bytes{0, 0, 0, 1}));
  EXPECT_EQ(by(BNNSRelationalOperatorLogicalAND), (Bytes{1, 0, 0, 0}));
  EXPECT_EQ(by(BNNSRelationalOperatorLogicalXOR), (Bytes{0, 1, 1, 0}));
  EXPECT_EQ(by(BNNSRelationalOperatorLogicalNOT), (Bytes{0, 0, 1, 1}));
}

// Three and six bits cross bytes; one bit that is signed is 0 or -1.
TEST(Compare, ValuesBelowAByte) {
  const auto packed = [](const std::vector<int>& values, size_t bits) {
    Bytes bytes(values.size() * bits / 8 + 1);
    for (size_t i = 0; i < values.size() * bits; ++i)
      bytes[i / 8] |= static_cast<uint8_t>((values[i / bits] >> (i % bits) & 1) << (i % 8));
    return bytes;
  };
  const std::vector<int> a = {0, 1, 5, 7, 3, 6, 2, 4, 7}, b = {1, 1, 6, 3, 3, 0, 4, 4, 0};
  for (const auto& [type, bits] :
       {std::pair{BNNSDataTypeUInt3, 3}, {BNNSDataTypeUInt4, 4}, {BNNSDataTypeUInt6, 6}}) {
    Bytes left = packed(a, size_t(bits)), right = packed(b, size_t(bits)), expected;
    for (size_t i = 0; i < a.size(); ++i) expected.push_back(a[i] < b[i]);
    EXPECT_EQ(compared(vector_of(a.size(), left.data(), type),
                       vector_of(b.size(), right.data(), type), BNNSRelationalOperatorLess, 9),
              expected);
  }
  Bytes ones = {0b0101}, zeros = {0};
  EXPECT_EQ(compared(vector_of(4, ones.data(), BNNSDataTypeInt1),
                     vector_of(4, zeros.data(), BNNSDataTypeInt1), BNNSRelationalOperatorLess, 4),
            (Bytes{1, 0, 1, 0}));
}

TEST(Compare, NotNeedsOneTensor) {
  std::vector<int32_t> a = {0, 3, -1};
  Bytes out(3, 9);
  const BNNSNDArrayDescriptor in0 = vector_of(3, a.data(), BNNSDataTypeInt32);
  BNNSNDArrayDescriptor to = vector_of(3, out.data(), BNNSDataTypeBoolean);
  EXPECT_EQ(BNNSCompareTensor(&in0, nullptr, BNNSRelationalOperatorLogicalNOT, &to), 0)
      << OpenBNNSGetLastError();
  EXPECT_EQ(out, (Bytes{1, 0, 0}));
}

}  // namespace
}  // namespace bnns::test

// Products of matrices and contractions: published values, products without a filter and their
// workspace, and that inputs which no wanted gradient needs may be missing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;

BNNSNDArrayDescriptor matrix(size_t rows, size_t columns, const Floats& values = {}) {
  return matrix_of(columns, rows, const_cast<float*>(values.data()));
}

Filter make_matmul(const BNNSNDArrayDescriptor& a, const BNNSNDArrayDescriptor& b,
                   const BNNSNDArrayDescriptor& out, float alpha = 1, float beta = 0) {
  BNNSLayerParametersBroadcastMatMul p = {};
  p.alpha = alpha;
  p.beta = beta;
  p.iA_desc = a;
  p.iB_desc = b;
  p.o_desc = out;
  return Filter(BNNSFilterCreateLayerBroadcastMatMul(&p, nullptr));
}

TEST(MatMul, Published) {
  const Floats a = {1, 2, 3, 4}, b = {5, 6, 7, 8};
  const auto m = matrix(2, 2);
  const Filter filter = make_matmul(m, m, m);
  Floats out(4), da(4, -99), db(4, -99);
  ASSERT_EQ(BNNSFilterApplyTwoInput(filter.get(), a.data(), b.data(), out.data()), 0);
  EXPECT_EQ(out, (Floats{19, 22, 43, 50}));
  auto a_delta = matrix(2, 2, da), b_delta = matrix(2, 2, db), out_delta = matrix(2, 2, a);
  ASSERT_EQ(BNNSFilterApplyBackwardTwoInputBatch(filter.get(), 1, a.data(), 0, &a_delta, 0,
                                                 b.data(), 0, &b_delta, 0, nullptr, 0, &out_delta,
                                                 0, nullptr, nullptr),
            0);
  EXPECT_EQ(da, (Floats{17, 23, 39, 53}));
  EXPECT_EQ(db, (Floats{10, 14, 14, 20}));
  // An input is needed for the gradient of the other one alone.
  std::fill(da.begin(), da.end(), 0.0f);
  ASSERT_EQ(
      BNNSFilterApplyBackwardTwoInputBatch(filter.get(), 1, nullptr, 0, &a_delta, 0, b.data(), 0,
                                           nullptr, 0, nullptr, 0, &out_delta, 0, nullptr, nullptr),
      0);
  EXPECT_EQ(da, (Floats{17, 23, 39, 53}));
  // Added to what is there.
  b_delta.flags = BNNSNDArrayFlagBackpropAccumulate;
  ASSERT_EQ(BNNSFilterApplyBackwardTwoInputBatch(filter.get(), 1, a.data(), 0, nullptr, 0, nullptr,
                                                 0, &b_delta, 0, nullptr, 0, &out_delta, 0, nullptr,
                                                 nullptr),
            0);
  EXPECT_EQ(db, (Floats{20, 28, 28, 40}));
}

// The gradient of an output with one column has all its rows.
TEST(MatMul, OneColumn) {
  const Floats a = {1, 2, 3, 4, 5, 6}, b = {7, 8}, dc = {1, 2, 3};
  const Filter filter = make_matmul(matrix(3, 2), matrix(2, 1), matrix(3, 1));
  Floats out(3), da(6);
  ASSERT_EQ(BNNSFilterApplyTwoInput(filter.get(), a.data(), b.data(), out.data()), 0);
  EXPECT_EQ(out, (Floats{23, 53, 83}));
  auto a_delta = matrix(3, 2, da), out_delta = matrix(3, 1, dc);
  ASSERT_EQ(
      BNNSFilterApplyBackwardTwoInputBatch(filter.get(), 1, nullptr, 0, &a_delta, 0, b.data(), 0,
                                           nullptr, 0, nullptr, 0, &out_delta, 0, nullptr, nullptr),
      0);
  EXPECT_EQ(da, (Floats{7, 8, 14, 16, 21, 24}));
}

// BroadcastMatMul of an image {3, 4, 2} with a matrix contracts the channels.
TEST(MatMul, ImageTimesMatrix) {
  Floats x(24), out(24);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i);
  const Floats w = {1, 10, 100, 1000};  // w(c, d)
  const auto image = array(BNNSDataLayoutImageCHW, {3, 4, 2});
  const Filter filter = make_matmul(image, matrix(2, 2), image);
  ASSERT_EQ(BNNSFilterApplyTwoInput(filter.get(), x.data(), w.data(), out.data()), 0);
  for (size_t pixel = 0; pixel < 12; ++pixel) {
    EXPECT_EQ(out[pixel], x[pixel] + 100 * x[12 + pixel]);
    EXPECT_EQ(out[12 + pixel], 10 * x[pixel] + 1000 * x[12 + pixel]);
  }
}

TEST(MatMul, Direct) {
  const Floats a = {1, 2, 3, 4, 5, 6}, turned = {1, 4, 2, 5, 3, 6}, b = {7, 8, 9, 10, 11, 12};
  Floats out(4);
  const auto A = matrix(2, 3, a), T = matrix(3, 2, turned), B = matrix(3, 2, b);
  auto C = matrix(2, 2, out);
  ASSERT_EQ(BNNSMatMul(false, false, 1, &A, &B, &C, nullptr, nullptr), 0);
  EXPECT_EQ(out, (Floats{58, 64, 139, 154}));
  ASSERT_EQ(BNNSMatMul(false, false, 2, &A, &B, &C, nullptr, nullptr), 0);
  EXPECT_EQ(out, (Floats{116, 128, 278, 308}));
  ASSERT_EQ(BNNSMatMul(true, false, 1, &T, &B, &C, nullptr, nullptr), 0);
  EXPECT_EQ(out, (Floats{58, 64, 139, 154}));
  BNNSDirectApplyBroadcastMatMul(false, false, 2, &A, &B, &C, nullptr);
  EXPECT_EQ(out, (Floats{116, 128, 278, 308}));
  // B is repeated for both matrices of A.
  Floats twice = a, both(8);
  for (const float v : a) twice.push_back(10 * v);
  const auto stack = array(BNNSDataLayout3DFirstMajor, {2, 2, 3}, twice.data());
  const auto result = array(BNNSDataLayout3DFirstMajor, {2, 2, 2}, both.data());
  ASSERT_EQ(BNNSMatMul(false, false, 1, &stack, &B, &result, nullptr, nullptr), 0);
  EXPECT_EQ(both, (Floats{58, 64, 139, 154, 580, 640, 1390, 1540}));
}

int allocations = 0;
int counting_alloc(void** block, size_t alignment, size_t size) {
  ++allocations;
  return posix_memalign(block, alignment, size);
}

// With a workspace the call allocates nothing and stays inside of it, however it is aligned.
TEST(MatMul, Workspace) {
  constexpr size_t kSize = 150;
  BNNSFilterParameters options = {};
  options.n_threads = 2;
  options.alloc_memory = counting_alloc;
  options.free_memory = std::free;
  for (const BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeBFloat16}) {
    std::vector<uint32_t> a(kSize * kSize, 0x3F803F80), b = a, out = a, right = a;
    const auto of = [&](std::vector<uint32_t>& values) {
      return matrix_of(kSize, kSize, values.data(), type);
    };
    const auto A = of(a), B = of(b), C = of(out), R = of(right);
    const ssize_t size = BNNSMatMulWorkspaceSize(true, true, 1, &A, &B, &C, &options);
    ASSERT_GT(size, 0);
    allocations = 0;
    ASSERT_EQ(BNNSMatMul(true, true, 1, &A, &B, &R, nullptr, &options), 0);
    EXPECT_EQ(allocations, 1);
    for (size_t shift = 0; shift < 70; shift += 3) {
      std::vector<char> workspace(static_cast<size_t>(size) + 200, 'x');
      allocations = 0;
      std::fill(out.begin(), out.end(), 0u);
      ASSERT_EQ(BNNSMatMul(true, true, 1, &A, &B, &C, workspace.data() + shift, &options), 0);
      EXPECT_EQ(allocations, 0);
      EXPECT_EQ(std::memcmp(out.data(), right.data(), kSize * kSize * (type & 0x7FFF) / 8), 0);
      const auto x = [](char c) { return c == 'x'; };
      EXPECT_TRUE(
          std::all_of(workspace.begin(), workspace.begin() + static_cast<ptrdiff_t>(shift), x));
      EXPECT_TRUE(std::all_of(workspace.begin() + static_cast<ptrdiff_t>(shift) + size,
                              workspace.end(), x));
    }
    // A workspace that lies in an operand is refused.
    EXPECT_NE(BNNSMatMul(true, true, 1, &A, &B, &C, a.data() + 5, &options), 0);
    EXPECT_NE(std::string(OpenBNNSGetLastError()).find("workspace"), std::string::npos);
  }
}

TEST(Contraction, Published) {
  BNNSLayerParametersTensorContraction p = {};
  p.operation = "a_ip, b_iq -> o_pq";
  p.alpha = 10;
  p.iA_desc = p.iB_desc = matrix_of(2, 1);
  p.o_desc = matrix_of(2, 2);
  const Filter filter(BNNSFilterCreateLayerTensorContraction(&p, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  const Floats a = {1, 2}, b = {3, 4};
  Floats out(4);
  ASSERT_EQ(BNNSFilterApplyTwoInput(filter.get(), a.data(), b.data(), out.data()), 0);
  EXPECT_EQ(out, (Floats{30, 40, 60, 80}));
}

// The strings that the documentation gives for products of matrices, and their gradients: the same
// bits as the product itself.
TEST(Contraction, EqualsMatMul) {
  constexpr size_t kSize = 37;
  Floats a(kSize * kSize), b = a;
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<float>(i % 29) - 13.7f;
    b[i] = static_cast<float>(i % 23) / 7 - 1;
  }
  const char* const kTexts[] = {"a_*ik, b_*kj -> c_*ij", "a_*ik,b_*jk->c_*ij", "a_*ki,b_*kj->c_*ij",
                                "a_*ki,b_*jk->c_*ij"};
  for (size_t i = 0; i < 4; ++i) {
    BNNSLayerParametersBroadcastMatMul m = {};
    m.alpha = 1.5f;
    m.transA = i >= 2;
    m.transB = i % 2 != 0;
    m.iA_desc = m.iB_desc = m.o_desc = matrix_of(kSize, kSize);
    BNNSLayerParametersTensorContraction c = {};
    c.operation = kTexts[i];
    c.alpha = 1.5f;
    c.iA_desc = c.iB_desc = c.o_desc = m.o_desc;
    const Filter filters[] = {Filter(BNNSFilterCreateLayerBroadcastMatMul(&m, nullptr)),
                              Filter(BNNSFilterCreateLayerTensorContraction(&c, nullptr))};
    Floats out[2], da[2], db[2];
    for (size_t f = 0; f < 2; ++f) {
      for (Floats* v : {&out[f], &da[f], &db[f]}) v->resize(kSize * kSize);
      ASSERT_EQ(BNNSFilterApplyTwoInput(filters[f].get(), a.data(), b.data(), out[f].data()), 0);
      auto a_delta = matrix(kSize, kSize, da[f]), b_delta = matrix(kSize, kSize, db[f]);
      const auto out_delta = matrix(kSize, kSize, b);
      ASSERT_EQ(BNNSFilterApplyBackwardTwoInputBatch(filters[f].get(), 1, a.data(), 0, &a_delta, 0,
                                                     b.data(), 0, &b_delta, 0, nullptr, 0,
                                                     &out_delta, 0, nullptr, nullptr),
                0);
    }
    EXPECT_EQ(out[0], out[1]);
    EXPECT_EQ(da[0], da[1]);
    EXPECT_EQ(db[0], db[1]);
  }
}

}  // namespace
}  // namespace bnns::test

// Convolution filters: what the spec cannot see. Memory they hold, presence of arguments, exact
// results of many random problems (bound 0).
#include "openbnns/openbnns.h"

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "support/convolution_call.h"

namespace bnns::test {
namespace {

using Floats = std::vector<float>;

TEST(Convolution, ValidCalls) {
  expect_works<ConvolutionForward>();
  expect_works<ConvolutionBackward>();
}

TEST(Convolution, UnusualButRight) {
  expect_accepted<ConvolutionForward>(
      {{"as it is", {}, [](ConvolutionForward&) {}},
       {"steps of 1",
        {},
        [](ConvolutionForward& c) {
          c.params.x_stride = c.params.y_stride = c.params.groups = 1;
          c.params.x_dilation_stride = c.params.y_dilation_stride = 1;
        }},
       {"client pointers", {}, [](ConvolutionForward& c) { c.options = client_pointers(); }},
       {"padding behind the last window", {}, [](ConvolutionForward& c) {
          c.params.pad[1] = 3;
          c.params.pad[3] = 1;
        }}});
  // Without weights_delta the input is not read.
  ConvolutionBackward call;
  call.in_pointer = nullptr;
  call.weights_delta_pointer = nullptr;
  EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
  EXPECT_EQ(call.db[0], 12);
}

TEST(Convolution, NothingWantedNothingDone) {
  ConvolutionBackward call;
  call.in_delta.data = call.weights_delta.data = call.bias_delta.data = nullptr;
  call.out_delta_pointer = nullptr;
  EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(call.dx.untouched() && call.dw.untouched() && call.db.untouched());
}

// The stride of a single row moves nothing, and no address may be made of it.
TEST(Convolution, ASingleRowMayHaveAnyStride) {
  Floats in = {2, 3, 5, 7}, weights(9, 1), out(4), dx(4), dw(9);
  BNNSLayerParametersConvolution params = {};
  params.i_desc = image_of(4, 1, 1);
  params.i_desc.stride[1] = size_t{1} << 60;
  params.o_desc = image_of(4, 1, 1);
  params.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, 1, 1}, weights.data());
  params.x_padding = params.y_padding = 1;
  const Filter filter(BNNSFilterCreateLayerConvolution(&params, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  ASSERT_EQ(BNNSFilterApplyBatch(filter.get(), 1, in.data(), 0, out.data(), 0), 0);
  EXPECT_EQ(out, (Floats{5, 10, 15, 12}));
  BNNSNDArrayDescriptor in_delta = params.i_desc, out_delta = params.o_desc;
  BNNSNDArrayDescriptor weights_delta = params.w_desc;
  in_delta.data = dx.data();
  out_delta.data = out.data();
  weights_delta.data = dw.data();
  ASSERT_EQ(BNNSFilterApplyBackwardBatch(filter.get(), 1, in.data(), 0, &in_delta, 0, nullptr, 0,
                                         &out_delta, 0, &weights_delta, nullptr),
            0)
      << OpenBNNSGetLastError();
  EXPECT_EQ(dx, (Floats{15, 30, 37, 27}));
  EXPECT_EQ(dw, (Floats{0, 0, 0, 2 * 10 + 3 * 15 + 5 * 12, 2 * 5 + 3 * 10 + 5 * 15 + 7 * 12,
                        3 * 5 + 5 * 10 + 7 * 15, 0, 0, 0}));
}

TEST(Convolution, EmptyBatch) {
  ConvolutionForward forward;
  forward.batch = 0;
  EXPECT_TRUE(forward.run());
  EXPECT_TRUE(forward.out.untouched());
}

TEST(Convolution, WeightsChangeBetweenCalls) {
  ConvolutionForward call;
  call.options = client_pointers();
  const Filter filter = call.make();
  ASSERT_TRUE(filter);
  EXPECT_EQ(call.forward(filter), 0);
  EXPECT_TRUE(call.correct());
  for (size_t i = 0; i < call.weights.size(); ++i) call.weights[i] = 0;
  EXPECT_EQ(call.forward(filter), 0);
  EXPECT_EQ(call.out[0], call.bias[0]);
}

// A huge dilation and stride must not make huge buffers.
TEST(Convolution, FarTapsInALittleMemory) {
  std::vector<float> w = {1, 10, 100, 1000}, x = {1, 2, 3, 4, 5, 6}, y(6, -1);
  constexpr size_t kFar = 1000000000;
  BNNSLayerParametersConvolution p = {};
  p.i_desc = image_of(3, 2, 1);
  p.o_desc = image_of(3, 2, 1);
  p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {2, 2, 1, 1}, w.data());
  p.x_dilation_stride = p.y_dilation_stride = kFar;
  p.pad[1] = p.pad[3] = kFar;
  Filter filter(BNNSFilterCreateLayerConvolution(&p, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0);
  EXPECT_EQ(y, x);  // only the first tap meets the image
  EXPECT_LT(OpenBNNSFilterGetMemorySize(filter.get()), size_t{4} << 20);
}

// Windows side by side: as many runs of columns as taps. Takes hours if a plan is not linear in
// them.
TEST(Convolution, WideKernelWithAWideStride) {
  constexpr size_t kWide = 1 << 20;
  std::vector<float> w(kWide, 1), x(2 * kWide, 1), y(2, -1);
  BNNSLayerParametersConvolution p = {};
  p.i_desc = image_of(2 * kWide, 1, 1);
  p.o_desc = image_of(2, 1, 1);
  p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {kWide, 1, 1, 1}, w.data());
  p.x_stride = kWide;
  x[1] = 3;
  x[kWide] = 0;
  Filter filter(BNNSFilterCreateLayerConvolution(&p, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0);
  EXPECT_EQ(y, (std::vector<float>{kWide + 2, kWide - 1}));
}

// Padding makes it fit the image; refused before a plan of gigabytes is made.
TEST(Convolution, AbsurdKernel) {
  constexpr size_t kHuge = (size_t{1} << 31) - 1;
  float w = 1;
  BNNSLayerParametersConvolution p = {};
  p.i_desc = image_of(1, 1, 2);
  p.o_desc = image_of(1, 1, 1);
  p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {kHuge, 1, 2, 1}, &w);
  p.pad[0] = kHuge;
  const BNNSFilterParameters options = client_pointers();
  const Filter filter(BNNSFilterCreateLayerConvolution(&p, &options));
  EXPECT_FALSE(filter);
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("4294967358 values"), std::string::npos)
      << OpenBNNSGetLastError();
}

TEST(Convolution, MemoryHeldIsBounded) {
  EXPECT_EQ(OpenBNNSFilterGetMemorySize(nullptr), 0u);
  constexpr size_t kChannels = 32, kSize = 64, kBatch = 4;
  std::vector<float> w(kChannels * kChannels * 9, 1);
  std::vector<float> x(kBatch * kChannels * kSize * kSize, 1), y(x.size());
  BNNSLayerParametersConvolution p = {};
  p.i_desc = p.o_desc = image_of(kSize, kSize, kChannels);
  p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, kChannels, kChannels}, w.data());
  p.x_padding = p.y_padding = 1;
  BNNSFilterParameters options = {};
  options.n_threads = 1;
  Filter filter(BNNSFilterCreateLayerConvolution(&p, &options));
  ASSERT_TRUE(filter);
  const size_t created = OpenBNNSFilterGetMemorySize(filter.get());
  EXPECT_EQ(BNNSFilterApplyBatch(filter.get(), 1, x.data(), 0, y.data(), 0), 0);
  const size_t one = OpenBNNSFilterGetMemorySize(filter.get());
  EXPECT_EQ(BNNSFilterApplyBatch(filter.get(), kBatch, x.data(), 0, y.data(), 0), 0);
  EXPECT_EQ(OpenBNNSFilterGetMemorySize(filter.get()), one);
  // Weights twice, offsets, and less than 1 MB of buffer: not the 4.7 MB of windows of a sample.
  EXPECT_GE(created, 2 * w.size() * sizeof(float));
  EXPECT_LT(one, 2 * w.size() * sizeof(float) + (size_t{1} << 20));
}

// Outputs of other types are computed in float first: a block of them, not the 4 MB of a sample.
TEST(Convolution, MemoryForConversionIsBounded) {
  constexpr size_t kMany = 256, kSize = 64;
  struct Shape {
    size_t in, out, groups;
  };
  for (const Shape& shape : {Shape{1, kMany, 1}, Shape{kMany, 1, 1}, Shape{kMany, kMany, kMany}}) {
    const size_t inputs = shape.in / shape.groups;
    const std::vector<float> w(inputs * shape.out * 9, 1);
    const std::vector<uint16_t> x(shape.in * kSize * kSize, 0x3c00);
    std::vector<uint16_t> y(shape.out * kSize * kSize);
    BNNSLayerParametersConvolution p = {};
    p.i_desc = image_of(kSize, kSize, shape.in);
    p.o_desc = image_of(kSize, kSize, shape.out);
    p.i_desc.data_type = p.o_desc.data_type = BNNSDataTypeFloat16;
    p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {3, 3, inputs, shape.out},
                     const_cast<float*>(w.data()));
    p.x_padding = p.y_padding = 1;
    p.groups = shape.groups;
    BNNSFilterParameters options = {};
    options.n_threads = 1;
    Filter filter(BNNSFilterCreateLayerConvolution(&p, &options));
    ASSERT_TRUE(filter) << OpenBNNSGetLastError();
    EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0);
    EXPECT_LT(OpenBNNSFilterGetMemorySize(filter.get()), size_t{1} << 20);
    EXPECT_EQ(y[0], inputs == 1 ? 0x4400 : 0x6400);  // 4 or 1024: the window of a corner
  }
}

// The largest error of an output, in eps of the sum of its absolute products, of 1 x 1 windows on
// `terms` channels with numbers of [low, 1).
double worst_error(size_t terms, size_t outputs, float low) {
  constexpr size_t kSize = 7;
  std::minstd_rand random(static_cast<unsigned>(terms + outputs));
  std::uniform_real_distribution<float> uniform(low, 1);
  std::vector<float> w(terms * outputs), x(terms * kSize * kSize), y(outputs * kSize * kSize);
  for (auto* values : {&w, &x})
    for (float& v : *values) v = uniform(random);
  BNNSLayerParametersConvolution p = {};
  p.i_desc = image_of(kSize, kSize, terms);
  p.o_desc = image_of(kSize, kSize, outputs);
  p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {1, 1, terms, outputs}, w.data());
  const Filter filter(BNNSFilterCreateLayerConvolution(&p, nullptr));
  EXPECT_EQ(BNNSFilterApply(filter.get(), x.data(), y.data()), 0) << OpenBNNSGetLastError();
  double worst = 0;
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t o = i / (kSize * kSize), at = i % (kSize * kSize);
    double sum = 0, size = 0;
    for (size_t c = 0; c < terms; ++c) {
      const double product = double{w[o * terms + c]} * double{x[c * kSize * kSize + at]};
      sum += product;
      size += std::abs(product);
    }
    worst = std::max(worst, std::abs(double{y[i]} - sum) / size * 0x1p23);
  }
  return worst;
}

// An addition errs by half an eps of its result: n terms of one sign and about one size, one after
// the other, by (1 + 2 + ... + n) / n / 2. Blocks of 256 terms are added one after the other, too.
TEST(Convolution, SumsErrByNoMoreThanTheirBlocks) {
  double seen[2] = {};
  for (const size_t terms : {25u, 256u, 1000u, 4608u}) {
    const double block = static_cast<double>(std::min<size_t>(terms, 256));
    const double blocks = std::ceil(static_cast<double>(terms) / 256);
    for (const size_t outputs : {3u, 18u}) {
      for (const bool positive : {false, true}) {
        const double error = worst_error(terms, outputs, positive ? 0.0f : -1.0f);
        EXPECT_LE(error, (block + 1) / 4 + (blocks + 1) / 4) << terms << " terms";
        seen[positive] = std::max(seen[positive], error);
      }
    }
  }
  std::printf("both signs %.2f eps, positive %.2f\n", seen[0], seen[1]);
}

}  // namespace
}  // namespace bnns::test

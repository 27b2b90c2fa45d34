// Layers with a fused IntegerLinearSaturate compute in integers: every result is the one of plain
// loops, for random problems, both forms of the constants, copied and client parameters.
#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "support/call_builder.h"

namespace bnns::test {
namespace {

template <class T>
constexpr BNNSDataType kType = BNNSDataTypeInt8;
template <>
constexpr BNNSDataType kType<uint8_t> = BNNSDataTypeUInt8;
template <>
constexpr BNNSDataType kType<int16_t> = BNNSDataTypeInt16;

class Numbers {
 public:
  explicit Numbers(uint32_t seed) : engine_(seed) {}
  size_t between(size_t low, size_t high) { return low + engine_() % (high - low + 1); }
  template <class T>
  std::vector<T> all(size_t n) {
    std::vector<T> values(n);
    for (T& v : values) v = static_cast<T>(engine_());
    return values;
  }

 private:
  std::mt19937 engine_;
};

// The activation with its arrays: scale, offset and shift, one or one per channel.
struct Constants {
  Constants(Numbers& r, size_t channels) {
    per_channel = r.between(0, 1) == 1;
    for (size_t c = 0; c < channels; ++c) {
      scale.push_back(static_cast<int32_t>(r.between(0, 40)) - 20);
      offset.push_back(static_cast<int32_t>(r.between(0, 2000)) - 1000);
      shift.push_back(static_cast<int32_t>(r.between(0, 16)));
    }
  }
  BNNSActivation function() const {
    BNNSActivation a =
        activation(per_channel ? BNNSActivationFunctionIntegerLinearSaturatePerChannel
                               : BNNSActivationFunctionIntegerLinearSaturate);
    a.iscale = scale[0];
    a.ioffset = offset[0];
    a.ishift = shift[0];
    a.iscale_per_channel = scale.data();
    a.ioffset_per_channel = offset.data();
    a.ishift_per_channel = shift.data();
    return a;
  }
  template <class T>
  T apply(size_t channel, int64_t sum) const {
    const size_t c = per_channel ? channel : 0;
    const int64_t value = (sum * scale[c] + offset[c]) >> shift[c];
    return static_cast<T>(
        std::clamp<int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  }

  bool per_channel;
  std::vector<int32_t> scale, offset, shift;
};

struct Axis {
  explicit Axis(Numbers& r)
      : kernel(r.between(1, 4)),
        stride(r.between(1, 3)),
        dilation(r.between(1, 2)),
        before(r.between(0, 3)),
        after(r.between(0, 3)),
        out(r.between(1, 9)) {
    const size_t needed = stride * (out - 1) + (kernel - 1) * dilation + 1;
    in = needed > before + after ? needed - before - after : 1;
  }
  // Place in the image of output o under a tap; SIZE_MAX: outside.
  size_t at(size_t o, size_t tap) const {
    const size_t place = o * stride + tap * dilation;
    return place < before || place - before >= in ? SIZE_MAX : place - before;
  }
  size_t kernel, stride, dilation, before, after, out, in;
};

BNNSFilterParameters options_of(Numbers& r) {
  BNNSFilterParameters p = {};
  if (r.between(0, 1) == 1) p.flags = BNNSFlagsUseClientPtr;
  p.n_threads = r.between(1, 3);
  return p;
}

template <class In, class Out>
void convolve(uint32_t seed) {
  Numbers r(seed);
  const Axis x(r), y(r);
  const size_t groups = r.between(1, 3), ci = r.between(1, 5), co = r.between(1, 20), batch = 2;
  const size_t taps = x.kernel * y.kernel, in_plane = x.in * y.in, out_plane = x.out * y.out;
  const auto in = r.all<In>(batch * groups * ci * in_plane);
  const auto weights = r.all<int8_t>(groups * co * ci * taps);
  std::vector<int32_t> bias(groups * co);
  for (int32_t& b : bias) b = static_cast<int32_t>(r.between(0, 4000)) - 2000;
  const Constants f(r, groups * co);
  BNNSLayerParametersConvolution p = {};
  const auto data = [](const auto& values) {
    return const_cast<void*>(static_cast<const void*>(values.data()));
  };
  p.i_desc = array(BNNSDataLayoutImageCHW, {x.in, y.in, groups * ci}, nullptr, kType<In>);
  p.o_desc = array(BNNSDataLayoutImageCHW, {x.out, y.out, groups * co}, nullptr, kType<Out>);
  p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {x.kernel, y.kernel, ci, groups * co},
                   data(weights), BNNSDataTypeInt8);
  p.bias = vector_of(bias.size(), data(bias), BNNSDataTypeInt32);
  p.activation = f.function();
  p.groups = groups;
  p.x_stride = x.stride;
  p.y_stride = y.stride;
  p.x_dilation_stride = x.dilation;
  p.y_dilation_stride = y.dilation;
  p.pad[0] = x.before;
  p.pad[1] = x.after;
  p.pad[2] = y.before;
  p.pad[3] = y.after;
  const BNNSFilterParameters options = options_of(r);
  const Filter filter(BNNSFilterCreateLayerConvolution(&p, &options));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  std::vector<Out> out(batch * groups * co * out_plane);
  ASSERT_EQ(BNNSFilterApplyBatch(filter.get(), batch, in.data(), 0, out.data(), 0), 0)
      << OpenBNNSGetLastError();

  for (size_t i = 0; i < out.size(); ++i) {
    const size_t q = i % x.out, row = i / x.out % y.out, o = i / out_plane % (groups * co);
    const size_t n = i / out_plane / (groups * co);
    int64_t sum = bias[o];
    for (size_t t = 0; t < ci * taps; ++t) {
      const size_t c = t / taps, ky = t % taps / x.kernel, kx = t % x.kernel;
      const size_t place_y = y.at(row, ky), place_x = x.at(q, kx);
      if (place_y == SIZE_MAX || place_x == SIZE_MAX) continue;
      const size_t channel = n * groups * ci + o / co * ci + c;
      sum +=
          int64_t{in[channel * in_plane + place_y * x.in + place_x]} * weights[o * ci * taps + t];
    }
    ASSERT_EQ(int64_t{out[i]}, int64_t{f.apply<Out>(o, sum)}) << "seed " << seed << " at " << i;
  }
}

template <class In, class Out>
void connect(uint32_t seed) {
  Numbers r(seed);
  const size_t n_in = r.between(1, 200), n_out = r.between(1, 30), batch = 3;
  const auto in = r.all<In>(batch * n_in);
  auto weights = r.all<int8_t>(n_in * n_out);
  std::vector<int32_t> bias(n_out, static_cast<int32_t>(r.between(0, 500)));
  const Constants f(r, n_out);
  BNNSLayerParametersFullyConnected p = {};
  p.i_desc = vector_of(n_in, nullptr, kType<In>);
  p.o_desc = vector_of(n_out, nullptr, kType<Out>);
  p.w_desc = matrix_of(n_in, n_out, weights.data(), BNNSDataTypeInt8);
  p.bias = vector_of(n_out, bias.data(), BNNSDataTypeInt32);
  p.activation = f.function();
  const BNNSFilterParameters options = options_of(r);
  const Filter filter(BNNSFilterCreateLayerFullyConnected(&p, &options));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  std::vector<Out> out(batch * n_out);
  ASSERT_EQ(BNNSFilterApplyBatch(filter.get(), batch, in.data(), n_in, out.data(), n_out), 0);
  for (size_t i = 0; i < out.size(); ++i) {
    const size_t o = i % n_out;
    int64_t sum = bias[o];
    for (size_t k = 0; k < n_in; ++k)
      sum += int64_t{in[i / n_out * n_in + k]} * weights[o * n_in + k];
    ASSERT_EQ(int64_t{out[i]}, int64_t{f.apply<Out>(o, sum)}) << "seed " << seed << " at " << i;
  }
}

TEST(IntegerLayers, Convolution) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    convolve<int8_t, int8_t>(seed);
    convolve<uint8_t, int8_t>(1000 + seed);
    convolve<int8_t, int16_t>(2000 + seed);
    convolve<uint8_t, uint8_t>(3000 + seed);
    if (HasFatalFailure()) return;
  }
}

TEST(IntegerLayers, FullyConnected) {
  for (uint32_t seed = 0; seed < 100; ++seed) {
    connect<int8_t, int8_t>(seed);
    connect<uint8_t, int16_t>(1000 + seed);
    if (HasFatalFailure()) return;
  }
}

// Rows wider than a block of columns, more channels than a block has.
TEST(IntegerLayers, WideConvolution) {
  const size_t width = 150, channels = 37;
  std::vector<int8_t> in(width), weights(channels), out(width * channels);
  for (size_t i = 0; i < width; ++i) in[i] = static_cast<int8_t>(i % 9);
  for (size_t o = 0; o < channels; ++o) weights[o] = static_cast<int8_t>(o % 10);
  BNNSLayerParametersConvolution p = {};
  p.i_desc = array(BNNSDataLayoutImageCHW, {width, 1, 1}, nullptr, BNNSDataTypeInt8);
  p.o_desc = array(BNNSDataLayoutImageCHW, {width, 1, channels}, nullptr, BNNSDataTypeInt8);
  p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHrWr, {1, 1, 1, channels}, weights.data(),
                   BNNSDataTypeInt8);
  p.activation = activation(BNNSActivationFunctionIntegerLinearSaturate);
  p.activation.iscale = 1;
  const Filter filter(BNNSFilterCreateLayerConvolution(&p, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  ASSERT_EQ(BNNSFilterApply(filter.get(), in.data(), out.data()), 0);
  for (size_t i = 0; i < out.size(); ++i)
    ASSERT_EQ(out[i], static_cast<int8_t>(i % width % 9 * (i / width % 10))) << i;
}

TEST(IntegerLayers, HaveNoGradient) {
  int8_t weights[1] = {1}, x[1] = {1};
  BNNSLayerParametersConvolution p = {};
  p.i_desc = array(BNNSDataLayoutImageCHW, {1, 1, 1}, nullptr, BNNSDataTypeInt8);
  p.o_desc = p.i_desc;
  p.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {1, 1, 1, 1}, weights, BNNSDataTypeInt8);
  p.activation = activation(BNNSActivationFunctionIntegerLinearSaturate);
  const Filter filter(BNNSFilterCreateLayerConvolution(&p, nullptr));
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  float delta[1] = {}, dy[1] = {1};
  BNNSNDArrayDescriptor dx = array(BNNSDataLayoutImageCHW, {1, 1, 1}, delta);
  BNNSNDArrayDescriptor g = array(BNNSDataLayoutImageCHW, {1, 1, 1}, dy);
  EXPECT_NE(
      BNNSFilterApplyBackwardBatch(filter.get(), 1, x, 0, &dx, 0, x, 0, &g, 0, nullptr, nullptr),
      0);
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("no gradient"), std::string::npos);
}

}  // namespace
}  // namespace bnns::test

// Random convolutions on small integers, where every sum is exact: results must equal those of
// plain loops over integers, bit by bit, for all passes, layouts, strides in memory and flags.
// OPENBNNS_EXACT_PROBLEMS sets how many problems are drawn (300); tools/exact_convolutions.sh runs
// many.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <random>
#include <vector>

#include "openbnns/openbnns.h"

namespace {

using Generator = std::mt19937;

size_t draw(Generator& g, size_t low, size_t high) {
  return low + g() % (high - low + 1);
}

struct Axis {
  size_t large, small, kernel, stride, dilation, before, after;

  // grid: three taps without stride.
  Axis(Generator& g, size_t longest, bool grid)
      : small(draw(g, 1, longest)),
        kernel(draw(g, 1, 4)),
        stride(draw(g, 0, 2) == 0 ? draw(g, 2, 4) : 1),
        dilation(draw(g, 0, 3) == 0 ? draw(g, 2, 4) : 1),
        before(draw(g, 0, 3)),
        after(draw(g, 0, 3)) {
    if (draw(g, 0, 3) == 0) {  // windows side by side
      kernel = stride = draw(g, 1, 3);
      dilation = 1;
      before = after = 0;
    }
    if (grid) {
      kernel = 3;
      stride = 1;
    }
    const size_t needed = stride * (small - 1) + (kernel - 1) * dilation + 1 + draw(g, 0, 6) / 5;
    large = needed > before + after ? needed - before - after : 1;
  }
};

// A tensor of integers in Float32 with padded strides; `at` is the offset of an element.
struct Tensor {
  std::vector<float> values;
  BNNSNDArrayDescriptor desc = {};
  size_t batch_stride = 0;

  Tensor(Generator& g, BNNSDataLayout layout, std::vector<size_t> size, size_t batch, bool zero) {
    desc.layout = layout;
    desc.data_type = BNNSDataTypeFloat32;
    const bool padded = g() % 2 == 0,
               packed32 = layout == BNNSDataLayoutConvolutionWeightsOIHW_Pack32;
    size_t next = padded && !packed32 ? 1 + g() % 2 : 1, span = 1;
    for (size_t k = 0; k < size.size(); ++k) {
      desc.size[k] = size[k];
      desc.stride[k] = packed32 ? 0 : next;
      span += (size[k] - 1) * next;
      next = next * size[k] + (padded ? g() % 3 : 0);
    }
    if (packed32) span = 32 * size[0] * size[1] * size[2] * ((size[3] + 31) / 32);
    batch_stride = span + g() % 4;
    values.resize(batch * batch_stride + 32);
    for (float& v : values) v = zero ? 0 : static_cast<float>(static_cast<int>(g() % 9) - 4);
    const auto address = reinterpret_cast<uintptr_t>(values.data());
    shift_ = packed32 ? (128 - address % 128) % 128 / sizeof(float) : 0;
    desc.data = values.data() + shift_;
  }
  float& image(size_t b, size_t x, size_t y, size_t c) {
    return values[b * batch_stride + x * desc.stride[0] + y * desc.stride[1] + c * desc.stride[2]];
  }
  float& weight(size_t kx, size_t ky, size_t i, size_t o) {
    const size_t w = desc.size[0], h = desc.size[1];
    if (desc.layout == BNNSDataLayoutConvolutionWeightsOIHW_Pack32)
      return values[shift_ + o % 32 + 32 * (kx + w * (ky + h * (i + desc.size[2] * (o / 32))))];
    if (desc.layout != BNNSDataLayoutConvolutionWeightsOIHW) {
      kx = w - 1 - kx;
      ky = h - 1 - ky;
    }
    if (desc.layout == BNNSDataLayoutConvolutionWeightsIOHrWr) std::swap(i, o);
    return values[kx * desc.stride[0] + ky * desc.stride[1] + i * desc.stride[2] +
                  o * desc.stride[3]];
  }
  const float* data() const { return static_cast<const float*>(desc.data); }

 private:
  size_t shift_;
};

// Grid: 3 x 3 taps without stride, one channel on one side at least. Wide: sums of several hundred
// terms for more than 256 channels.
enum class Kind { kAny, kGrid, kWide };

struct Problem {
  Problem(uint32_t seed, Kind kind)
      : g(seed),
        grid(kind == Kind::kGrid),
        transposed(g() % 3 == 0),
        groups(kind != Kind::kWide && g() % 3 == 0 ? draw(g, 2, 4) : 1),
        ig(kind == Kind::kWide   ? draw(g, 20, 40)
           : grid && g() % 4 > 0 ? 1
                                 : draw(g, 1, g() % 4 == 0 ? 20 : 5)),
        og(kind == Kind::kWide ? draw(g, 257, 259)
           : grid && ig > 1    ? 1
                               : draw(g, 1,
                                   g() % 4 == 0 ? 40
                                      : grid       ? 2
                                                   : 5)),
        batch(draw(g, 1, 3)),
        x(g,
          grid && g() % 16 == 0 ? 1200
          : g() % 4 == 0        ? 40
                                : 12,
          grid),
        y(g, grid && x.small < 50 && g() % 4 == 0 ? 80 : 8, grid),
        layout(kLayouts[g() % (groups == 1 ? 4 : 2)]),
        in(image(true, false)),
        out(image(false, true)),
        w(weights(false)),
        bias(g, BNNSDataLayoutVector, {groups * og}, 1, false),
        dx(image(true, false)),
        dy(image(false, false)),
        dw(weights(false)),
        db(g, BNNSDataLayoutVector, {groups * og}, 1, false) {}

  static constexpr BNNSDataLayout kLayouts[] = {
      BNNSDataLayoutConvolutionWeightsOIHW, BNNSDataLayoutConvolutionWeightsOIHrWr,
      BNNSDataLayoutConvolutionWeightsIOHrWr, BNNSDataLayoutConvolutionWeightsOIHW_Pack32};

  Tensor image(bool is_in, bool zero) {
    const bool large = is_in != transposed;
    return Tensor(
        g, BNNSDataLayoutImageCHW,
        {large ? x.large : x.small, large ? y.large : y.small, groups * (is_in ? ig : og)}, batch,
        zero);
  }
  Tensor weights(bool zero) {
    const bool swapped = layout == BNNSDataLayoutConvolutionWeightsIOHrWr;
    return Tensor(g, layout,
                  {x.kernel, y.kernel, swapped ? groups * og : ig, swapped ? ig : groups * og}, 1,
                  zero);
  }

  BNNSFilter make() {
    BNNSLayerParametersConvolution p = {};
    p.i_desc = in.desc;
    p.o_desc = out.desc;
    p.w_desc = w.desc;
    p.bias = bias.desc;
    p.x_stride = x.stride;
    p.y_stride = y.stride;
    p.x_dilation_stride = x.dilation;
    p.y_dilation_stride = y.dilation;
    p.pad[0] = x.before;
    p.pad[1] = x.after;
    p.pad[2] = y.before;
    p.pad[3] = y.after;
    p.groups = groups;
    BNNSFilterParameters f = {};
    f.n_threads = 1 + g() % 3;
    f.flags = g() % 2 == 0 ? uint32_t{BNNSFlagsUseClientPtr} : 0;
    return transposed ? BNNSFilterCreateLayerTransposedConvolution(&p, &f)
                      : BNNSFilterCreateLayerConvolution(&p, &f);
  }

  // f(sample, in x, in y, in channel, out x, out y, out channel, kx, ky, channel in the group)
  template <class F>
  void for_each_product(const F& f) {
    for (size_t b = 0; b < batch; ++b)
      for (size_t o = 0; o < groups * og; ++o)
        for (size_t i = 0; i < ig; ++i)
          for (size_t ky = 0; ky < y.kernel; ++ky)
            for (size_t kx = 0; kx < x.kernel; ++kx)
              for (size_t p = 0; p < y.small; ++p)
                for (size_t q = 0; q < x.small; ++q) {
                  const size_t ly = p * y.stride + ky * y.dilation - y.before;
                  const size_t lx = q * x.stride + kx * x.dilation - x.before;
                  if (ly >= y.large || lx >= x.large) continue;
                  const size_t c = o / og * ig + i;
                  if (transposed)
                    f(b, q, p, c, lx, ly, o, kx, ky, i);
                  else
                    f(b, lx, ly, c, q, p, o, kx, ky, i);
                }
  }

  void check();

  Generator g;
  bool grid;
  bool transposed;
  size_t groups, ig, og, batch;
  Axis x, y;
  BNNSDataLayout layout;
  Tensor in, out, w, bias, dx, dy, dw, db;
};

void Problem::check() {
  BNNSFilter filter = make();
  ASSERT_NE(filter, nullptr) << OpenBNNSGetLastError();
  // What is right: a copy of what lies there, with the results put in their places.
  Tensor right_out = out, right_dx = dx, right_dw = dw, right_db = db;
  const auto flag = [&](BNNSNDArrayDescriptor& d) {
    d.flags = g() % 2 == 0 ? BNNSNDArrayFlagBackpropSet : BNNSNDArrayFlagBackpropAccumulate;
    return d.flags == BNNSNDArrayFlagBackpropSet;
  };
  const bool set_x = flag(dx.desc), set_w = flag(dw.desc), set_b = flag(db.desc);
  const size_t out_w = out.desc.size[0], out_h = out.desc.size[1];
  for (size_t b = 0; b < batch; ++b)
    for (size_t o = 0; o < groups * og; ++o) {
      if (b == 0 && set_b) right_db.values[o * db.desc.stride[0]] = 0;
      for (size_t k = 0; k < out_w * out_h; ++k) {
        right_out.image(b, k % out_w, k / out_w, o) = bias.values[o * bias.desc.stride[0]];
        right_db.values[o * db.desc.stride[0]] += dy.image(b, k % out_w, k / out_w, o);
      }
    }
  if (set_x)
    for (size_t b = 0; b < batch; ++b)
      for (size_t c = 0; c < groups * ig; ++c)
        for (size_t k = 0; k < in.desc.size[0] * in.desc.size[1]; ++k)
          right_dx.image(b, k % in.desc.size[0], k / in.desc.size[0], c) = 0;
  if (set_w)
    for (size_t o = 0; o < groups * og; ++o)
      for (size_t i = 0; i < ig; ++i)
        for (size_t k = 0; k < x.kernel * y.kernel; ++k)
          right_dw.weight(k % x.kernel, k / x.kernel, i, o) = 0;
  for_each_product([&](size_t b, size_t ix, size_t iy, size_t c, size_t ox, size_t oy, size_t o,
                       size_t kx, size_t ky, size_t i) {
    const float weight = w.weight(kx, ky, i, o), value = in.image(b, ix, iy, c);
    right_out.image(b, ox, oy, o) += weight * value;
    right_dx.image(b, ix, iy, c) += weight * dy.image(b, ox, oy, o);
    right_dw.weight(kx, ky, i, o) += value * dy.image(b, ox, oy, o);
  });
  EXPECT_EQ(BNNSFilterApplyBatch(filter, batch, in.data(), in.batch_stride, out.values.data(),
                                 out.batch_stride),
            0)
      << OpenBNNSGetLastError();
  EXPECT_EQ(BNNSFilterApplyBackwardBatch(filter, batch, in.data(), in.batch_stride, &dx.desc,
                                         dx.batch_stride, nullptr, 0, &dy.desc, dy.batch_stride,
                                         &dw.desc, &db.desc),
            0)
      << OpenBNNSGetLastError();
  BNNSFilterDestroy(filter);
  EXPECT_EQ(out.values, right_out.values);
  EXPECT_EQ(dx.values, right_dx.values);
  EXPECT_EQ(dw.values, right_dw.values);
  EXPECT_EQ(db.values, right_db.values);
}

void check_problems(Kind kind, long problems) {
  ASSERT_GT(problems, 0);
  for (long n = 0; n < problems; ++n) {
    SCOPED_TRACE("seed " + std::to_string(n));
    Problem(static_cast<uint32_t>(n), kind).check();
    if (testing::Test::HasFailure()) break;
  }
  std::printf("%ld problems\n", problems);
}

long wanted() {
  const char* wish = std::getenv("OPENBNNS_EXACT_PROBLEMS");
  return wish == nullptr ? 300 : std::atol(wish);
}

TEST(ExactConvolution, RandomProblems) {
  check_problems(Kind::kAny, wanted());
}

TEST(ExactConvolution, RandomGrids) {
  check_problems(Kind::kGrid, wanted());
}

TEST(ExactConvolution, WideProblems) {
  check_problems(Kind::kWide, 6);
}

// One infinite pixel: exactly the weights that meet it have an infinite gradient, however vectors
// of pixels are masked or moved.
TEST(ExactConvolution, AnInfinityCountsWhereItIsMet) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr size_t kHeight = 4, kPad = 1;
  for (size_t width = 3; width < 40; ++width) {
    const size_t out_width = width + 2 * kPad - 2, out_height = kHeight - 2;
    std::vector<float> in(width * kHeight, 1), dy(out_width * out_height, 1), weights(9, 1), dw(9);
    BNNSLayerParametersConvolution p = {};
    const auto image = [](size_t w, size_t h, float* data) {
      BNNSNDArrayDescriptor d = {};
      d.layout = BNNSDataLayoutImageCHW;
      d.data_type = BNNSDataTypeFloat32;
      d.size[0] = w, d.size[1] = h, d.size[2] = 1;
      d.data = data;
      return d;
    };
    p.i_desc = image(width, kHeight, nullptr);
    p.o_desc = image(out_width, out_height, nullptr);
    p.w_desc = image(3, 3, weights.data());
    p.w_desc.layout = BNNSDataLayoutConvolutionWeightsOIHW;
    p.w_desc.size[3] = 1;
    p.x_padding = kPad;
    BNNSFilter filter = BNNSFilterCreateLayerConvolution(&p, nullptr);
    ASSERT_NE(filter, nullptr) << OpenBNNSGetLastError();
    for (size_t at = 0; at < in.size(); ++at) {
      in[at] = kInfinity;
      BNNSNDArrayDescriptor out_delta = image(out_width, out_height, dy.data());
      BNNSNDArrayDescriptor weights_delta = p.w_desc;
      weights_delta.data = dw.data();
      ASSERT_EQ(BNNSFilterApplyBackwardBatch(filter, 1, in.data(), 0, nullptr, 0, nullptr, 0,
                                             &out_delta, 0, &weights_delta, nullptr),
                0)
          << OpenBNNSGetLastError();
      in[at] = 1;
      for (size_t k = 0; k < 9; ++k) {
        // Before the first column or row very large.
        const size_t q = at % width + kPad - k % 3, r = at / width - k / 3;
        const bool meets = q < out_width && r < out_height;
        EXPECT_EQ(dw[k] == kInfinity, meets)
            << "width " << width << " pixel " << at << " tap " << k;
        EXPECT_TRUE(meets || std::isfinite(dw[k]));
      }
    }
    BNNSFilterDestroy(filter);
  }
}

}  // namespace

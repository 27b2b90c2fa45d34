// Scale and shift by channel, and moments by channel, of convolutions, transposed convolutions and
// fully connected layers, which no C function reaches alone. Data are small integers and factors
// powers of two, so that every kernel must give the exact result.
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ops/convolution/convolution.h"
#include "ops/fully_connected/fully_connected.h"
#include "support/gemm_matrix.h"

namespace bnns::impl {
namespace {

View tensor(std::vector<size_t> extents, size_t inner = 1, size_t gap = 0) {
  View view;
  view.rank = extents.size();
  view.span = view.count = 1;
  size_t step = inner;
  for (size_t k = 0; k < view.rank; ++k) {
    view.extent[k] = extents[k];
    view.stride[k] = step;
    view.span += (extents[k] - 1) * step;
    view.count *= extents[k];
    step = step * extents[k] + (k == 0 ? gap : 0);
  }
  view.step = step;
  return view;
}

std::vector<float> integers(size_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::vector<float> values(n);
  for (float& v : values) v = static_cast<float>(engine() % 7) - 3;
  return values;
}

std::vector<float> factors(size_t n) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = (i % 2 == 0 ? 0.5f : -2.0f) * (i % 3 == 0 ? 4.0f : 1.0f);
  return values;
}

FusedActivation activation_of(BNNSActivationFunction function) {
  return FusedActivation(*find_activation(function), {});
}

double activated(BNNSActivationFunction function, double z) {
  if (function == BNNSActivationFunctionRectifiedLinear) return std::max(z, 0.0);
  return function == BNNSActivationFunctionAbs ? std::abs(z) : z;
}

// Sums in double over values in the order they come; the data are integers.
struct Exact {
  double count = 0, sum = 0, squares = 0;
  void add(double v) {
    ++count;
    sum += v;
    squares += v * v;
  }
};

// Blocks of 2048 deviations are summed in float, in four chains at least: 512 roundings.
constexpr double kBound = 512 * 0x1p-24;

void expect_moments(const Moments& got, const Exact& right, const std::string& what) {
  const double mean = right.sum / right.count, variance = right.squares / right.count - mean * mean;
  EXPECT_EQ(got.count, right.count) << what;
  EXPECT_NEAR(got.mean, mean, kBound * std::sqrt(variance)) << what;
  EXPECT_NEAR(got.squares / got.count, variance, kBound * variance) << what;
}

// ---- Convolution ----

struct Layer {
  const char* name;
  size_t groups, in, out;  // channels of a group
  size_t width, height;    // of the input
  size_t taps, stride = 1, dilation = 1, padding = 0;
  bool transposed = false;
  size_t inner = 1, gap = 0;  // of the output: stride of columns, gap behind rows
};

const Layer kLayers[] = {
    {"many outputs", 1, 3, 16, 33, 9, 3, 1, 1, 1},
    {"many outputs, odd ones", 1, 5, 23, 17, 6, 3, 1, 1, 1, false, 1, 3},
    {"many terms", 1, 70, 18, 13, 7, 3, 1, 1, 1},
    {"in place", 1, 24, 20, 31, 8, 1},
    {"few outputs", 1, 3, 3, 40, 11, 3, 1, 1, 1},
    {"few outputs of narrow rows", 1, 4, 2, 5, 9, 3, 1, 1, 1},
    {"columns apart", 1, 3, 6, 19, 5, 3, 1, 1, 1, false, 2, 4},
    {"many outputs, columns apart", 1, 3, 17, 50, 5, 3, 1, 1, 1, false, 2},
    {"stride and dilation", 2, 3, 10, 41, 17, 3, 2, 2, 2},
    {"depthwise", 6, 1, 1, 37, 12, 3, 1, 1, 1},
    {"depthwise of narrow rows", 7, 1, 1, 3, 5, 3, 1, 1, 1},
    {"depthwise with a stride", 5, 1, 1, 40, 13, 3, 2, 1, 1},
    {"depthwise with more channels", 2, 12, 1, 29, 10, 3, 1, 1, 1},
    {"depthwise with many channels", 2, 41, 1, 29, 10, 3, 1, 1, 1},
    {"transposed", 1, 5, 9, 21, 8, 3, 1, 1, 1, true},
    {"transposed with a stride", 1, 4, 14, 15, 6, 4, 2, 1, 1, true},
    {"transposed with gaps", 1, 3, 5, 9, 4, 2, 3, 1, 0, true, 1, 2},
    {"transposed, columns apart", 1, 3, 5, 9, 4, 3, 2, 1, 1, true, 3},
    {"transposed depthwise", 4, 1, 1, 30, 9, 3, 1, 1, 1, true},
    {"several blocks of rows", 1, 96, 8, 60, 40, 3, 1, 1, 1},
};

ConvolutionAxis axis_of(const Layer& l, size_t in) {
  const size_t span = (l.taps - 1) * l.dilation + 1;
  const size_t out = l.transposed ? (in - 1) * l.stride + span - 2 * l.padding
                                  : (in + 2 * l.padding - span) / l.stride + 1;
  return {.large = l.transposed ? out : in,
          .small = l.transposed ? in : out,
          .taps = l.taps,
          .stride = l.stride,
          .dilation = l.dilation,
          .before = l.padding};
}

// Weights as (k, c, r, s).
ConvolutionWeights canonical(const ConvolutionGeometry& g, const View& view) {
  return {.view = view,
          .origin = 0,
          .column = 1,
          .row = static_cast<ptrdiff_t>(g.x.taps),
          .in = g.taps(),
          .out = g.taps() * g.large_channels,
          .block = SIZE_MAX,
          .next_block = 0,
          .transposed = false};
}

struct Convolution {
  explicit Convolution(const Layer& l)
      : layer(l),
        g{.groups = l.groups,
          .large_channels = l.transposed ? l.out : l.in,
          .small_channels = l.transposed ? l.in : l.out,
          .y = axis_of(l, l.height),
          .x = axis_of(l, l.width)},
        in(tensor({l.width, l.height, l.groups * l.in})),
        out(tensor({l.transposed ? g.x.large : g.x.small, l.transposed ? g.y.large : g.y.small,
                    l.groups * l.out},
                   l.inner, l.gap)),
        x(integers(kBatch * in.step, 1)),
        w(integers(g.weights(), 2)),
        bias(integers(channels(), 3)),
        scale(factors(channels())),
        shift(integers(channels(), 4)) {}

  static constexpr size_t kBatch = 3;
  size_t channels() const { return layer.groups * layer.out; }

  // The sums without bias, as out lies.
  std::vector<double> sums() const {
    std::vector<double> y(kBatch * out.step);
    const View& large = layer.transposed ? out : in;
    const View& small = layer.transposed ? in : out;
    const auto at = [](const View& v, size_t n, size_t c, size_t i, size_t j) {
      return n * v.step + c * v.stride[2] + i * v.stride[1] + j * v.stride[0];
    };
    const size_t all = layer.groups * g.small_channels;
    for (size_t n = 0; n < kBatch; ++n)
      for (size_t k = 0; k < all; ++k)
        for (size_t c = 0; c < g.large_channels; ++c)
          for (size_t r = 0; r < g.y.taps; ++r)
            for (size_t s = 0; s < g.x.taps; ++s) {
              const double weight =
                  double{w[((k * g.large_channels + c) * g.y.taps + r) * g.x.taps + s]};
              for (size_t p = 0; p < g.y.small; ++p)
                for (size_t q = 0; q < g.x.small; ++q) {
                  const size_t i = p * g.y.stride + r * g.y.dilation - g.y.before;
                  const size_t j = q * g.x.stride + s * g.x.dilation - g.x.before;
                  if (i >= g.y.large || j >= g.x.large) continue;
                  const size_t of_large =
                      at(large, n, k / g.small_channels * g.large_channels + c, i, j);
                  const size_t of_small = at(small, n, k, p, q);
                  if (layer.transposed)
                    y[of_large] += weight * double{x[of_small]};
                  else
                    y[of_small] += weight * double{x[of_large]};
                }
            }
    return y;
  }

  ConvolutionOp::Parameters parameters() {
    View weights = tensor({g.weights()});
    weights.data = w.data();
    View biases = tensor({channels()});
    biases.data = bias.data();
    return {.weights = canonical(g, weights), .bias = biases};
  }

  struct Result {
    std::vector<float> y;
    std::vector<Moments> moments;
    bool operator==(const Result&) const = default;
  };
  Result run(size_t threads, BNNSActivationFunction function, bool scaled) {
    ConvolutionOp op(Memory(), threads,
                     {.geometry = g,
                      .transposed = layer.transposed,
                      .in = in,
                      .out = out,
                      .has_bias = true,
                      .activation = activation_of(function)});
    op.own_parameters(parameters());
    Result result = {std::vector<float>(kBatch * out.step, -77), std::vector<Moments>(channels())};
    op.forward(make_batch(in, x.data(), kBatch, 0), make_batch(out, result.y.data(), kBatch, 0), 0,
               {.scale = scaled ? scale.data() : nullptr,
                .shift = scaled ? shift.data() : nullptr,
                .moments = result.moments.data()});
    return result;
  }

  const Layer layer;
  const ConvolutionGeometry g;
  const View in, out;
  std::vector<float> x, w, bias, scale, shift;
};

TEST(Epilogue, Convolutions) {
  for (const Layer& layer : kLayers) {
    Convolution c(layer);
    const std::vector<double> sums = c.sums();
    for (const auto function : {BNNSActivationFunctionIdentity, BNNSActivationFunctionAbs,
                                BNNSActivationFunctionRectifiedLinear}) {
      for (const bool scaled : {true, false}) {
        const std::string what = std::string(layer.name) + (scaled ? ", scaled" : "") +
                                 ", activation " + std::to_string(function);
        const Convolution::Result got = c.run(1, function, scaled);
        std::vector<bool> written(got.y.size());
        for (size_t k = 0; k < c.channels(); ++k) {
          Exact exact;
          for (size_t n = 0; n < Convolution::kBatch; ++n)
            for (size_t i = 0; i < c.out.extent[1]; ++i)
              for (size_t j = 0; j < c.out.extent[0]; ++j) {
                const size_t at = n * c.out.step + k * c.out.stride[2] + i * c.out.stride[1] +
                                  j * c.out.stride[0];
                double z = sums[at] + double{c.bias[k]};
                if (scaled) z = z * double{c.scale[k]} + double{c.shift[k]};
                const double y = activated(function, z);
                ASSERT_EQ(double{got.y[at]}, y)
                    << what << " at channel " << k << ", row " << i << ", column " << j;
                exact.add(y);
                written[at] = true;
              }
          expect_moments(got.moments[k], exact, what);
        }
        for (size_t i = 0; i < got.y.size(); ++i)
          ASSERT_TRUE(written[i] || got.y[i] == -77.0f) << what;
        for (const size_t threads : {2u, 3u})
          EXPECT_TRUE(c.run(threads, function, scaled) == got) << what << ", threads " << threads;
      }
    }
  }
}

// ---- Fully connected ----

struct Shape {
  size_t in, out, batch, inner = 1;
};

TEST(Epilogue, FullyConnected) {
  const Shape shapes[] = {{20, 9, 1},     {16, 16, 1},   {300, 70, 5},   {33, 41, 100},
                          {600, 129, 40}, {12, 3, 1000}, {50, 30, 70, 2}};
  for (const Shape& s : shapes) {
    const View in = tensor({s.in}), out = tensor({s.out}, s.inner);
    std::vector<float> x = integers(s.batch * s.in, 1), w = integers(s.in * s.out, 2),
                       bias = integers(s.out, 3), shift = integers(s.out, 4);
    const std::vector<float> scale = factors(s.out);
    const auto run = [&](size_t threads, std::vector<Moments>& moments) {
      FullyConnectedOp op(Memory(), threads,
                          {.in_size = s.in,
                           .out_size = s.out,
                           .in = in,
                           .out = out,
                           .has_bias = true,
                           .activation = activation_of(BNNSActivationFunctionRectifiedLinear)});
      View matrix = tensor({s.in, s.out}), biases = tensor({s.out});
      matrix.data = w.data();
      biases.data = bias.data();
      op.own_weights({.matrix = matrix, .out_stride = s.in, .in_stride = 1, .bias = biases});
      std::vector<float> y(s.batch * out.step, -77);
      moments.assign(s.out, {.count = 5, .mean = 5, .squares = 5});
      op.forward(make_batch(in, x.data(), s.batch, 0), make_batch(out, y.data(), s.batch, 0), 0,
                 {.scale = scale.data(), .shift = shift.data(), .moments = moments.data()});
      return y;
    };
    std::vector<Moments> moments, others;
    const std::vector<float> y = run(1, moments);
    const std::string what = std::to_string(s.in) + " to " + std::to_string(s.out);
    for (size_t o = 0; o < s.out; ++o) {
      Exact exact;
      for (size_t n = 0; n < s.batch; ++n) {
        double z = double{bias[o]};
        for (size_t i = 0; i < s.in; ++i) z += double{w[o * s.in + i]} * double{x[n * s.in + i]};
        const double right = std::max(0.0, z * double{scale[o]} + double{shift[o]});
        ASSERT_EQ(double{y[n * out.step + o * s.inner]}, right) << what;
        exact.add(right);
      }
      expect_moments(moments[o], exact, what);
    }
    for (const size_t threads : {2u, 3u}) {
      EXPECT_EQ(run(threads, others), y) << what;
      EXPECT_TRUE(others == moments) << what;
    }
  }
}

// A mean of 1e4 with a variance of 1, by the measure that normalization has for its own statistics:
// the error of a normalized value.
TEST(Epilogue, MomentsFarFromZero) {
  constexpr size_t kSide = 200, kBatch = 5;
  const View image = tensor({kSide, kSide, 1}), value = tensor({1});
  std::mt19937 random(1);
  std::normal_distribution<double> normal(1e4, 1);
  std::vector<float> x(kBatch * kSide * kSide), y(x.size()), one = {1};
  for (float& v : x) v = static_cast<float>(normal(random));
  double sum = 0, squares = 0;
  for (float v : x) sum += double{v};
  const double mean = sum / static_cast<double>(x.size());
  for (float v : x) squares += (double{v} - mean) * (double{v} - mean);
  const double variance = squares / static_cast<double>(x.size());
  const auto check = [&](const Moments& m) {
    EXPECT_EQ(x, y);
    EXPECT_EQ(m.count, static_cast<double>(x.size()));
    double worst = 0;
    for (float v : x) {
      const double k = (double{v} - mean) / std::sqrt(variance);
      const double got = (double{v} - m.mean) / std::sqrt(m.squares / m.count);
      worst = std::max(worst, std::abs(got - k) / (1 + std::abs(k)));
    }
    EXPECT_LT(worst, 4 * 0x1p-24);
  };
  Moments moments;
  View weight = tensor({1});
  weight.data = one.data();
  const ConvolutionAxis axis = {
      .large = kSide, .small = kSide, .taps = 1, .stride = 1, .dilation = 1, .before = 0};
  const ConvolutionGeometry g = {
      .groups = 1, .large_channels = 1, .small_channels = 1, .y = axis, .x = axis};
  ConvolutionOp convolution(Memory(), 2,
                            {.geometry = g,
                             .transposed = false,
                             .in = image,
                             .out = image,
                             .has_bias = false,
                             .activation = activation_of(BNNSActivationFunctionIdentity)});
  convolution.own_parameters({.weights = canonical(g, weight), .bias = {}});
  convolution.forward(make_batch(image, x.data(), kBatch, 0),
                      make_batch(image, y.data(), kBatch, 0), 0, {.moments = &moments});
  check(moments);

  std::fill(y.begin(), y.end(), 0.0f);
  FullyConnectedOp connected(Memory(), 2,
                             {.in_size = 1,
                              .out_size = 1,
                              .in = value,
                              .out = value,
                              .has_bias = false,
                              .activation = activation_of(BNNSActivationFunctionIdentity)});
  connected.own_weights({.matrix = weight, .out_stride = 1, .in_stride = 1});
  connected.forward(make_batch(value, x.data(), x.size(), 0),
                    make_batch(value, y.data(), x.size(), 0), 0, {.moments = &moments});
  check(moments);
}

// ---- Products ----

TEST(Epilogue, ProductsWithTermsOfRowsOrColumns) {
  const GemmShape shapes[] = {{1, 9, 20}, {4, 300, 1}, {5, 40, 300}, {37, 41, 19}, {40, 64, 2600}};
  for (const GemmShape& s : shapes) {
    for (const bool transposed : {false, true}) {
      for (const bool columns : {false, true}) {
        Matrix a(s.m, s.k), b(s.k, s.n), c(s.m, s.n, 1);
        a.fill_integers(1);
        b.fill_integers(2);
        c.fill_integers(3);
        const size_t channels = columns ? s.n : s.m;
        const std::vector<float> bias = integers(channels, 4), scale = factors(channels),
                                 shift = integers(channels, 5);
        std::vector<double> expected = right(a, b);
        for (size_t i = 0; i < expected.size(); ++i) {
          const size_t channel = columns ? i % s.n : i / s.n;
          const double z = expected[i] + double{bias[channel]};
          expected[i] =
              double{c.at(i / s.n, i % s.n)} + z * double{scale[channel]} + double{shift[channel]};
        }
        const ChannelTerms terms = {bias.data(), scale.data(), shift.data()};
        const Matrix turned = b.transposed();
        run(3, s, plain(a, false), plain(transposed ? turned : b, transposed),
            {.data = c.values.data(),
             .row = c.row,
             .epilogue = {.row = columns ? ChannelTerms() : terms,
                          .column = columns ? terms : ChannelTerms(),
                          .accumulate = true}});
        expect_equal(c, expected, name(s));
      }
    }
  }
}

}  // namespace
}  // namespace bnns::impl

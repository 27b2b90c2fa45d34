// Scale, shift and moments by channel of convolutions and transposed convolutions, which no C
// function reaches alone: every kernel, exact results.
#include "ops/convolution/convolution.h"
#include "support/op_tensors.h"

namespace bnns::impl {
namespace {

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

}  // namespace
}  // namespace bnns::impl

// Scale, shift and moments by channel of fully connected layers and products; accuracy of moments;
// normalization in two steps. No C function reaches these alone.
#include "ops/convolution/convolution.h"
#include "ops/fully_connected/fully_connected.h"
#include "ops/normalization/normalization.h"
#include "support/gemm_matrix.h"
#include "support/op_tensors.h"

namespace bnns::impl {
namespace {

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

// ---- Normalization in two steps ----

// statistics() and apply() give the bits of forward(), in training and outside.
TEST(Epilogue, NormalizationInTwoSteps) {
  struct Size {
    NormalizationKind kind;
    size_t width, height, channels, batch, row;
  };
  const Size sizes[] = {{NormalizationKind::kBatch, 1, 1, 37, 50, 1},
                        {NormalizationKind::kBatch, 5, 3, 6, 300, 1},
                        {NormalizationKind::kBatch, 30, 11, 5, 7, 1},
                        {NormalizationKind::kBatch, 300, 200, 2, 3, 1},
                        {NormalizationKind::kInstance, 20, 10, 6, 4, 200},
                        {NormalizationKind::kGroup, 20, 10, 6, 4, 400}};
  for (const Size& s : sizes) {
    NormalizationProblem problem = {.kind = s.kind,
                                    .width = s.width,
                                    .height = s.height,
                                    .channels = s.channels,
                                    .row = s.row,
                                    .epsilon = 1e-5f,
                                    .momentum = 0.5f};
    problem.activation = activation_of(BNNSActivationFunctionRectifiedLinear);
    const size_t size = s.batch * problem.count();
    std::vector<float> x = integers(size, 1), dy = integers(size, 2);
    const auto view = [&](std::vector<float>& data) {
      View v = tensor({size});
      v.data = data.data();
      return v;
    };
    std::vector<Moments> first;
    for (const size_t threads : {1u, 2u, 3u}) {
      NormalizationOp one(Memory(), threads, problem, false),
          two(Memory(), threads, problem, false);
      std::vector<Moments> moments(two.groups(s.batch));
      two.statistics(s.batch, view(x), moments.data());
      if (first.empty()) first = moments;
      EXPECT_TRUE(first == moments) << threads;
      for (const bool training : {false, true}) {
        std::vector<float> y(size), y2(size);
        one.forward(s.batch, view(x), view(y), training);
        two.apply(s.batch, view(x), view(y2), training, moments.data());
        EXPECT_EQ(y, y2) << size << ", training " << training;
        if (!training) continue;
        std::vector<float> dx(size), dx2(size);
        NormalizationOp::Gradients g = {};
        g.y = view(y);
        g.dy = view(dy);
        g.dx = view(dx);
        one.backward(g);
        g.dx = view(dx2);
        two.backward(g);
        EXPECT_EQ(dx, dx2) << size;
      }
    }
  }
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

// Every loss, its gradients and its sums against a reference in double: odd sizes, all formats,
// labels and weights with spare channels, weights that are 0.
#include "reference.h"

#include <random>

namespace mps_test {
namespace {

constexpr Format kFormats[] = {Format::Float32, Format::Float16, Format::Unorm16, Format::Unorm8};

// Images of multiples of 1/64, as near as their formats come, between 0 and 1; `wide` between -4
// and 4, for the losses whose predictions are not probabilities. Differences of such numbers have
// no error in float, so that ties and branches are the same in float and in double.
class Problem {
 public:
  Problem(Extent extent, unsigned seed)
      : extent_(extent),
        generator_(seed),
        source(make(extent.channels)),
        labels(make(extent.channels + seed % 3)),
        weights(make(extent.channels + seed % 2 * 5)),
        upstream(make(extent.channels)) {
    std::vector<float> v(extent.elements());
    for (float& one : v) one = static_cast<float>(generator_() % 511) / 64 - 255.0f / 64;
    wide = image(device, extent, kFormats[generator_() % 2], v);
    auto w = weights->toFloats();
    for (std::size_t i = 0; i < w.size(); i += 3) w[i] = 0;
    weights->fromFloats(w);
  }

  // The first channels of every pixel.
  std::vector<double> values(const std::shared_ptr<MPS::Image>& image) const {
    const auto all = image->toFloats();
    std::vector<double> taken;
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % image->featureChannels() < extent_.channels) taken.push_back(all[i]);
    }
    return taken;
  }
  Extent extent() const { return extent_; }

 private:
  std::shared_ptr<MPS::Image> make(std::size_t channels) {
    const Extent e{extent_.width, extent_.height, channels};
    std::vector<float> v(e.elements());
    for (float& one : v) one = static_cast<float>(generator_() % 63 + 1) / 64;
    return image(device, e, kFormats[generator_() % 4], v);
  }

  Extent extent_;
  std::mt19937 generator_;

 public:
  std::shared_ptr<MTL::Device> device = test_device();
  std::shared_ptr<MTL::CommandQueue> queue = device->newCommandQueue();
  std::shared_ptr<MPS::Image> source, labels, weights, upstream, wide;
};

void expect_near(const std::vector<float>& is, const std::vector<double>& expected,
                 const std::string& what) {
  ASSERT_EQ(is.size(), expected.size()) << what;
  for (std::size_t i = 0; i < is.size(); ++i)
    ASSERT_LE(std::fabs(is[i] - expected[i]), 1e-6 + 1e-5 * std::fabs(expected[i]))
        << what << " element " << i << " is " << is[i] << ", expected " << expected[i];
}

void check(const Problem& p, Type type, bool weighted) {
  MPS::CNNLossDescriptor d(type, type == Type::CosineDistance ? Reduction::Sum : Reduction::None);
  d.weight = 0.75f;
  d.labelSmoothing = 0.125f;
  d.numberOfClasses = p.extent().channels;
  d.epsilon = 0x1p-10f;
  d.delta = 0.25f;
  const Formula f{type, d.labelSmoothing, static_cast<double>(d.numberOfClasses), d.epsilon,
                  d.delta};
  const bool sums = d.reductionType == Reduction::Sum;
  const auto one = image(p.device, {}, Format::Float32, {0.5f});
  const bool probabilities = type == Type::CategoricalCrossEntropy || type == Type::Log;
  const auto& predictions = probabilities ? p.source : p.wide;
  const MPS::ImageBatch source{predictions}, labels{p.labels}, upstream{sums ? one : p.upstream},
      weights = weighted ? MPS::ImageBatch{p.weights} : MPS::ImageBatch{},
      loss = images(p.device, 1, sums ? Extent{} : p.extent()),
      by_y = images(p.device, 1, p.extent()), by_t = images(p.device, 1, p.extent()),
      total = images(p.device, 1, {});
  MPS::CNNLossDescriptor summed = d;
  summed.reductionType = Reduction::Sum;
  const MPS::NNForwardLoss forward(p.device, d), sum(p.device, summed);
  MPS::NNLossGradient gradient(p.device, d);
  run(p.queue, [&](MTL::CommandBuffer& buffer) {
    forward.encodeBatch(buffer, source, labels, weights, {}, loss);
    sum.encodeBatch(buffer, source, labels, weights, {}, total);
    gradient.encodeBatch(buffer, upstream, source, labels, weights, {}, by_y);
    gradient.setComputeLabelGradients(true);
    gradient.encodeBatch(buffer, upstream, source, labels, weights, {}, by_t);
  });
  auto y = p.values(predictions);
  const auto t = p.values(p.labels), w = p.values(p.weights), g = p.values(p.upstream);
  if (type == Type::SoftMaxCrossEntropy) y = log_softmax(y, p.extent().channels);
  std::vector<double> losses, slopes, label_slopes;
  double all = type == Type::CosineDistance ? 0.75 : 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double omega = 0.75 * (weighted ? w[i] : 1), factor = omega * (sums ? 0.5 : g[i]);
    losses.push_back(times(omega, f.loss(y[i], t[i])));
    slopes.push_back(times(factor, f.by_y(y[i], t[i])));
    label_slopes.push_back(times(factor, f.by_t(y[i], t[i])));
    all += losses.back();
  }
  const Extent e = p.extent();
  const std::string what = "type " + std::to_string(static_cast<int>(type)) + ", " +
                           std::to_string(e.width) + " x " + std::to_string(e.height) + " x " +
                           std::to_string(e.channels) + (weighted ? ", weighted" : "");
  if (!sums) expect_near(loss[0]->toFloats(), losses, what + " loss");
  expect_near(total[0]->toFloats(), {all}, what + " sum");
  expect_near(by_y[0]->toFloats(), slopes, what + " by y");
  expect_near(by_t[0]->toFloats(), label_slopes, what + " by t");
}

TEST(Reference, EveryLoss) {
  unsigned seed = 1;
  for (const Extent extent :
       {Extent{1, 1, 1}, Extent{7, 5, 3}, Extent{5, 3, 4}, Extent{19, 3, 7}, Extent{3, 2, 16},
        Extent{9, 4, 17}, Extent{3, 3, 33}, Extent{17, 2, 64}, Extent{2, 2, 100},
        Extent{1, 1, 1000}, Extent{2, 1, 1024}, Extent{1, 2, 1025}, Extent{2, 1, 2500}}) {
    for (int variant = 0; variant < 6; ++variant) {
      const Problem p(extent, seed++);
      for (int type = 0; type < 10; ++type) {
        for (const bool weighted : {false, true}) {
          check(p, static_cast<Type>(type), weighted);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace mps_test

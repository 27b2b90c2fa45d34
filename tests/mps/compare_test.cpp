// The OpenCL device against the CPU device: random losses, sizes, formats, weights, windows. Linked
// with the objects, because the platform is looked at.
//   OPENBNNS_TEST_TRIALS     number of random cases
//   OPENBNNS_TEST_PLATFORM   part of the name that the platform must have
#include <algorithm>
#include <cmath>
#include <random>

#include "mps/opencl/catalog.h"
#include "support.h"

namespace mps_test {
namespace {

using Random = std::mt19937;

std::size_t draw(Random& random, std::size_t low, std::size_t high) {
  return std::uniform_int_distribution<std::size_t>(low, high)(random);
}
bool chance(Random& random, std::size_t one_in) {
  return draw(random, 1, one_in) == 1;
}
template <class T, std::size_t kCount>
T pick(Random& random, const T (&values)[kCount]) {
  return values[draw(random, 0, kCount - 1)];
}

std::size_t trials(std::size_t usual) {
  const char* const text = std::getenv("OPENBNNS_TEST_TRIALS");
  return text == nullptr ? usual : std::strtoul(text, nullptr, 10);
}

constexpr Format kSourceFormats[] = {Format::Unorm8, Format::Unorm16, Format::Float16,
                                     Format::Float32};
constexpr Format kResultFormats[] = {Format::Float16, Format::Float32};

// Numbers of a batch for images on both devices.
struct Numbers {
  Extent extent;
  Format format;
  std::vector<std::vector<float>> values;

  MPS::ImageBatch on(const std::shared_ptr<MTL::Device>& device) const {
    MPS::ImageBatch batch;
    for (const auto& v : values) batch.push_back(image(device, extent, format, v));
    return batch;
  }
};

Numbers numbers(Random& random, std::size_t batch, Extent extent, Format format, float low,
                float high) {
  Numbers made{extent, format, {}};
  std::uniform_real_distribution<float> value(low, high);
  for (std::size_t n = 0; n < batch; ++n) {
    made.values.emplace_back(extent.elements());
    for (float& v : made.values.back()) v = value(random);
  }
  return made;
}

// The bound of the published vectors, relative to the value or to what was added up for it.
void expect_close(const MPS::ImageBatch& is, const MPS::ImageBatch& expected,
                  const std::string& what, double magnitude = 0) {
  ASSERT_EQ(is.size(), expected.size());
  for (std::size_t n = 0; n < is.size(); ++n) {
    const auto a = is[n]->toFloats(), b = expected[n]->toFloats();
    const bool half = is[n]->featureChannelFormat() == Format::Float16;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(b[i]) || std::isinf(b[i]) || std::isinf(a[i])) {
        ASSERT_TRUE(half || std::isnan(b[i]) ? std::isfinite(a[i]) == std::isfinite(b[i])
                                             : a[i] == b[i])
            << what << ": " << a[i] << ", expected " << b[i];
        continue;
      }
      const double scale = std::max(std::fabs(double{b[i]}), magnitude);
      const double bound = (half ? 1e-3 + 2e-3 * scale : 1e-6 + 1e-5 * scale);
      ASSERT_LE(std::fabs(double{a[i]} - b[i]), bound)
          << what << " image " << n << '[' << i << "] is " << a[i] << ", expected " << b[i];
    }
  }
}

// One random loss.
struct LossCase {
  explicit LossCase(unsigned seed) : random(seed) {
    const auto type = static_cast<Type>(draw(random, 0, 9));
    loss.lossType = type;
    loss.reductionType =
        type == Type::CosineDistance ? Reduction::Sum : static_cast<Reduction>(draw(random, 0, 3));
    loss.reduceAcrossBatch = chance(random, 2);
    loss.weight = pick(random, {1.0f, 0.75f, -2.0f, 0.0f});
    loss.labelSmoothing = pick(random, {0.0f, 0.1f, 1.0f});
    loss.delta = pick(random, {1.0f, 0.25f});
    batch = draw(random, 1, 3);
    extent = {draw(random, 1, 9), draw(random, 1, 6), draw(random, 1, 9)};
    if (chance(random, 10)) extent.channels = draw(random, 500, 1500);
    if (chance(random, 10)) extent.width = draw(random, 200, 900);
    loss.numberOfClasses = extent.channels;
    const bool logits = type == Type::SoftMaxCrossEntropy || type == Type::SigmoidCrossEntropy;
    const float low = logits ? -4 : 0.05f, high = logits ? 4 : 0.95f;
    const auto format = [&] { return pick(random, kSourceFormats); };
    sources = numbers(random, batch, extent, format(), low, high);
    Extent labels_extent = extent;
    labels_extent.channels += draw(random, 0, 2);
    labels = numbers(random, batch, labels_extent, format(), 0.05f, 0.95f);
    weighted = chance(random, 2);
    weights = numbers(random, batch, labels_extent, format(), -1, 1);
    for (auto& image_weights : weights.values)
      for (float& w : image_weights) w = chance(random, 3) ? 0 : w;
    const bool none = loss.reductionType == Reduction::None;
    gradients = numbers(random, batch, none ? extent : Extent{}, format(), -1, 1);
    result = pick(random, kResultFormats);
    room = {extent.width + draw(random, 0, 2), extent.height + draw(random, 0, 2),
            extent.channels + 4 + draw(random, 0, 2)};
    window_seed = static_cast<unsigned>(draw(random, 0, 1000000));
  }

  // Windows of the gradient, the same for both devices.
  void set_window(MPS::NNLossGradient& k) const {
    Random r(window_seed);
    k.setComputeLabelGradients(chance(r, 2));
    if (chance(r, 3)) k.setLossFormulaPolicy(MPS::LossFormulaPolicy::AsPrinted);
    if (chance(r, 2)) return;
    k.destinationFeatureChannelOffset = 4;
    if (chance(r, 2))
      k.clipRect = {{draw(r, 0, 3), draw(r, 0, 3), 0}, {draw(r, 0, 9), draw(r, 0, 5), 1}};
    const auto offset = [&] { return static_cast<std::int64_t>(draw(r, 0, 8)) - 4; };
    k.primaryOffset = {offset(), offset(), 0};
    k.secondaryOffset = {offset(), offset(), 0};
    const auto mode = [&] {
      return chance(r, 2) ? MPS::ImageEdgeMode::Clamp : MPS::ImageEdgeMode::Zero;
    };
    k.primaryEdgeMode = mode();
    k.secondaryEdgeMode = mode();
    if (extent.channels <= 4 || chance(r, 2)) return;
    k.primarySourceFeatureChannelOffset = k.secondarySourceFeatureChannelOffset = 4;
    const std::size_t most = draw(r, 1, 5);
    k.primarySourceFeatureChannelMaxCount = k.secondarySourceFeatureChannelMaxCount = most;
  }

  Random random;
  MPS::CNNLossDescriptor loss{Type::MeanSquaredError, Reduction::Sum};
  std::size_t batch;
  Extent extent, room;
  Numbers sources, labels, weights, gradients;
  bool weighted;
  Format result;
  unsigned window_seed;
};

struct LossResults {
  MPS::ImageBatch losses, slopes, one_shot_losses, one_shot_slopes;
};

LossResults run_loss(const LossCase& c, const std::shared_ptr<MTL::Device>& device) {
  const bool none = c.loss.reductionType == Reduction::None;
  const Extent loss_extent = none ? c.extent : Extent{};
  const auto sources = c.sources.on(device), labels = c.labels.on(device);
  const MPS::ImageBatch weights = c.weighted ? c.weights.on(device) : MPS::ImageBatch();
  LossResults results{.losses = images(device, c.batch, none ? c.room : Extent{}, c.result, 7),
                      .slopes = images(device, c.batch, c.room, c.result, 7),
                      .one_shot_losses = {},
                      .one_shot_slopes = images(device, c.batch, c.room, c.result, 7)};
  const MPS::NNForwardLoss forward(device, c.loss);
  MPS::NNLossGradient gradient(device, c.loss);
  c.set_window(gradient);
  const MPS::CNNLoss one_shot(device, c.loss);
  MPS::CNNLossLabelsBatch states;
  for (std::size_t n = 0; n < c.batch; ++n) {
    states.push_back(MPS::CNNLossLabels::create(
        device, {loss_extent.width, loss_extent.height, loss_extent.channels}, labels[n],
        c.weighted ? weights[n] : nullptr));
    results.one_shot_losses.push_back(states[n]->lossImage());
  }
  run(device->newCommandQueue(), [&](MTL::CommandBuffer& buffer) {
    forward.encodeBatch(buffer, sources, labels, weights, {}, results.losses);
    gradient.encodeBatch(buffer, c.gradients.on(device), sources, labels, weights, {},
                         results.slopes);
    one_shot.encodeBatch(buffer, sources, states, results.one_shot_slopes);
  });
  return results;
}

// The sum of the absolute values that a reduction adds up.
double magnitude_of(LossCase c, const std::shared_ptr<MTL::Device>& cpu) {
  if (c.loss.reductionType == Reduction::None) return 0;
  const auto all = static_cast<double>(c.extent.elements() * c.batch);
  if (c.loss.lossType == Type::CosineDistance) return 2 * (1 + all);
  c.loss.reductionType = Reduction::None;
  c.room = c.extent;
  c.result = Format::Float32;
  const auto losses = images(cpu, c.batch, c.extent);
  const MPS::NNForwardLoss forward(cpu, c.loss);
  run(cpu->newCommandQueue(), [&](MTL::CommandBuffer& buffer) {
    forward.encodeBatch(buffer, c.sources.on(cpu), c.labels.on(cpu),
                        c.weighted ? c.weights.on(cpu) : MPS::ImageBatch(), {}, losses);
  });
  double sum = 0;
  for (const auto& one : losses)
    for (const float v : one->toFloats()) sum += std::fabs(v);
  return sum;
}

TEST(Compare, Platform) {
  const char* const expected = std::getenv("OPENBNNS_TEST_PLATFORM");
  ASSERT_FALSE(impl::mps::opencl::catalog().entries.empty());
  const auto& entry = impl::mps::opencl::catalog().entries[0];
  std::printf("%s: %s, %s\n", entry.name().c_str(), entry.platform_name.c_str(),
              entry.device_name.c_str());
  if (expected == nullptr) return;
  EXPECT_NE(entry.platform_name.find(expected), std::string::npos) << entry.platform_name;
}

TEST(Compare, Losses) {
  const auto cpu = MTL::Device::create("cpu"), device = test_device();
  ASSERT_EQ(device->backend(), MTL::Backend::OpenCL);
  for (unsigned seed = 1; seed <= trials(400); ++seed) {
    const LossCase c(seed);
    const LossResults expected = run_loss(c, cpu), is = run_loss(c, device);
    const double magnitude = magnitude_of(c, cpu);
    const std::string name = "seed " + std::to_string(seed) + " type " +
                             std::to_string(static_cast<int>(c.loss.lossType)) + " reduction " +
                             std::to_string(static_cast<int>(c.loss.reductionType)) + " ";
    expect_close(is.losses, expected.losses, name + "loss", magnitude);
    expect_close(is.slopes, expected.slopes, name + "gradient");
    expect_close(is.one_shot_losses, expected.one_shot_losses, name + "one-shot loss", magnitude);
    expect_close(is.one_shot_slopes, expected.one_shot_slopes, name + "one-shot gradient");
    if (HasFatalFailure()) return;
  }
}

// ---- YOLO ----

struct YoloCase {
  explicit YoloCase(unsigned seed) {
    Random random(seed);
    constexpr Type kParts[] = {Type::MeanAbsoluteError, Type::MeanSquaredError, Type::Huber};
    constexpr Type kClassParts[] = {Type::SoftMaxCrossEntropy, Type::SigmoidCrossEntropy,
                                    Type::MeanSquaredError};
    const std::size_t anchors = draw(random, 1, 4), classes = draw(random, 1, 5);
    std::vector<float> sizes(2 * anchors);
    for (float& size : sizes) size = std::uniform_real_distribution<float>(0.5f, 3)(random);
    yolo = MPS::CNNYOLOLossDescriptor(pick(random, kParts), pick(random, kParts),
                                      chance(random, 2) ? Type::SigmoidCrossEntropy : Type::Huber,
                                      pick(random, kClassParts),
                                      static_cast<Reduction>(draw(random, 0, 3)), sizes);
    yolo.classesLossDescriptor.numberOfClasses = classes;
    yolo.classesLossDescriptor.labelSmoothing = pick(random, {0.0f, 0.1f});
    yolo.WHLossDescriptor.weight = pick(random, {1.0f, 0.5f});
    // The usual factors of 10 and 100 would also multiply the rounding of small differences.
    yolo.scaleXY = 1;
    yolo.scaleWH = 1.5f;
    yolo.scaleClass = 0.75f;
    yolo.scaleObject = 2;
    yolo.scaleNoObject = 0.5f;
    yolo.reduceAcrossBatch = chance(random, 2);
    yolo.rescore = chance(random, 2);
    batch = draw(random, 1, 3);
    extent = {draw(random, 1, 13), draw(random, 1, 5), anchors * (5 + classes)};
    sources = numbers(random, batch, extent, pick(random, kSourceFormats), -1, 1);
    labels = numbers(random, batch, extent, Format::Float32, 0.05f, 0.95f);
    for (auto& truth : labels.values) {
      for (std::size_t i = 4; i < truth.size(); i += 5 + classes) {
        truth[i] = chance(random, 2) ? 1 : 0;
        truth[i - 1] *= 3;  // height
        truth[i - 2] *= chance(random, 8) ? 0.0f : 3.0f;
      }
    }
    weighted = chance(random, 2);
    weights = numbers(random, batch, extent, pick(random, kSourceFormats), 0, 2);
    result = pick(random, kResultFormats);
  }

  static constexpr float kAnchor[] = {1, 1};
  MPS::CNNYOLOLossDescriptor yolo{Type::Huber, Type::Huber,    Type::Huber,
                                  Type::Huber, Reduction::Sum, kAnchor};
  std::size_t batch;
  Extent extent;
  Numbers sources, labels, weights;
  bool weighted;
  Format result;
};

struct YoloResults {
  MPS::ImageBatch losses, slopes;
};

YoloResults run_yolo(const YoloCase& c, const std::shared_ptr<MTL::Device>& device) {
  const bool none = c.yolo.reductionType == Reduction::None;
  const Extent size = none ? c.extent : Extent{};
  const auto sources = c.sources.on(device), labels = c.labels.on(device);
  const MPS::ImageBatch weights = c.weights.on(device);
  Extent room = c.extent;
  ++room.width;
  YoloResults results{{}, images(device, c.batch, room, c.result, 7)};
  MPS::CNNLossLabelsBatch states;
  for (std::size_t n = 0; n < c.batch; ++n) {
    states.push_back(MPS::CNNLossLabels::create(device, {size.width, size.height, size.channels},
                                                labels[n], c.weighted ? weights[n] : nullptr));
    results.losses.push_back(states[n]->lossImage());
  }
  const MPS::CNNYOLOLoss kernel(device, c.yolo);
  run(device->newCommandQueue(), [&](MTL::CommandBuffer& buffer) {
    kernel.encodeBatch(buffer, sources, states, results.slopes);
  });
  return results;
}

TEST(Compare, Yolo) {
  const auto cpu = MTL::Device::create("cpu"), device = test_device();
  for (unsigned seed = 1; seed <= trials(200); ++seed) {
    const YoloCase c(seed);
    const YoloResults expected = run_yolo(c, cpu), is = run_yolo(c, device);
    expect_close(is.losses, expected.losses, "seed " + std::to_string(seed) + " loss");
    expect_close(is.slopes, expected.slopes, "seed " + std::to_string(seed) + " gradient");
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace mps_test

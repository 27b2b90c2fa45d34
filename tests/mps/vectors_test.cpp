// Every case of the published vectors, on every format of sources and destinations.
#include <cmath>

#include "json.h"
#include "support.h"

namespace mps_test {
namespace {

const json::Value& vectors() {
  static const json::Value value = json::read_file(OPENBNNS_MPS_VECTORS);
  return value;
}

struct Formats {
  Format source, destination;
};
constexpr Formats kFormats[] = {{Format::Float32, Format::Float32},
                                {Format::Float16, Format::Float32},
                                {Format::Float32, Format::Float16},
                                {Format::Float16, Format::Float16}};

// The tolerances of the file.
void expect_near(const std::vector<float>& is, const std::vector<float>& expected, Format format,
                 const std::string& what) {
  ASSERT_EQ(is.size(), expected.size()) << what;
  const bool half = format == Format::Float16;
  for (std::size_t i = 0; i < is.size(); ++i) {
    if (std::isnan(expected[i])) {
      EXPECT_TRUE(std::isnan(is[i])) << what << '[' << i << "] is " << is[i];
      continue;
    }
    if (std::isinf(expected[i])) {
      EXPECT_EQ(is[i], expected[i]) << what << '[' << i << ']';
      continue;
    }
    if (half && std::fabs(expected[i]) > 65504) continue;
    const double bound =
        half ? 1e-3 + 2e-3 * std::fabs(expected[i]) : 1e-6 + 1e-5 * std::fabs(expected[i]);
    EXPECT_LE(std::fabs(double{is[i]} - expected[i]), bound)
        << what << '[' << i << "] is " << is[i] << ", expected " << expected[i];
  }
}

MPS::CNNLossDescriptor descriptor_of(const json::Value& d) {
  MPS::CNNLossDescriptor loss(
      static_cast<Type>(static_cast<int>(d["lossTypeValue"].number)),
      static_cast<Reduction>(static_cast<int>(d["reductionTypeValue"].number)));
  loss.reduceAcrossBatch = d["reduceAcrossBatch"].boolean;
  loss.weight = static_cast<float>(d["weight"].number);
  loss.labelSmoothing = static_cast<float>(d["labelSmoothing"].number);
  loss.numberOfClasses = static_cast<std::size_t>(d["numberOfClasses"].number);
  loss.epsilon = static_cast<float>(d["epsilon"].number);
  loss.delta = static_cast<float>(d["delta"].number);
  return loss;
}

// One case of the file as images.
class Case {
 public:
  Case(const json::Value& json, Formats formats) : json_(json), formats_(formats) {
    const json::Value& size = json["size"];
    extent_ = {static_cast<std::size_t>(size["width"].number),
               static_cast<std::size_t>(size["height"].number),
               static_cast<std::size_t>(size["featureChannels"].number)};
    batch_ = static_cast<std::size_t>(size["batch"].number);
    sources = read(json["sourceImages"], extent_);
    Extent labels_extent = extent_;
    const bool spare = json.has("labelsAsStored");
    if (spare)
      labels_extent.channels =
          static_cast<std::size_t>(json["labelsAsStored"]["featureChannels"].number);
    labels = read(spare ? json["labelsAsStored"]["images"] : json["labels"], labels_extent);
    weights = read(json["weights"], extent_);
    if (json.has("sourceGradients"))
      gradients = read(json["sourceGradients"], reduced() ? Extent{1, 1, 1} : extent_);
  }

  bool reduced() const { return json_["descriptor"]["reductionTypeValue"].number != 0; }
  std::string name() const { return json_["id"].text; }
  const json::Value& json() const { return json_; }
  Extent extent() const { return extent_; }
  MPS::ImageBatch results() const {
    return images(device, batch_, reduced() ? Extent{1, 1, 1} : extent_, formats_.destination, 7);
  }
  MPS::ImageBatch like_sources() const {
    return images(device, batch_, extent_, formats_.destination, 7);
  }
  void expect(const MPS::ImageBatch& is, const json::Value& expected,
              const std::string& what) const {
    ASSERT_EQ(is.size(), expected.items.size());
    for (std::size_t n = 0; n < is.size(); ++n)
      expect_near(is[n]->toFloats(), expected.items[n].as_floats(), is[n]->featureChannelFormat(),
                  name() + " " + what + " of image " + std::to_string(n));
  }

  std::shared_ptr<MTL::Device> device = test_device();
  std::shared_ptr<MTL::CommandQueue> queue = device->newCommandQueue();
  MPS::ImageBatch sources, labels, weights, gradients;

 private:
  MPS::ImageBatch read(const json::Value& arrays, Extent extent) const {
    MPS::ImageBatch batch;
    for (const json::Value& array : arrays.items)
      batch.push_back(image(device, extent, formats_.source, array.as_floats()));
    return batch;
  }

  const json::Value& json_;
  Formats formats_;
  Extent extent_;
  std::size_t batch_ = 0;
};

void check_two_calls(const Case& c) {
  const json::Value& expected = c.json()["expected"];
  const MPS::CNNLossDescriptor loss = descriptor_of(c.json()["descriptor"]);
  const MPS::NNForwardLoss forward(c.device, loss);
  MPS::CNNLossDescriptor own = loss;
  const bool uses_states = c.json().has("usesSourceStates");
  if (uses_states) {
    const json::Value& d = c.json()["gradientKernelProperties"];
    own.weight = static_cast<float>(d["weight"].number);
    own.delta = static_cast<float>(d["delta"].number);
  }
  MPS::NNLossGradient gradient(c.device, own);
  const MPS::ImageBatch losses = c.results(), by_y = c.like_sources(), by_t = c.like_sources(),
                        printed = c.like_sources();
  run(c.queue, [&](MTL::CommandBuffer& buffer) {
    const MPS::StateBatch states =
        uses_states ? forward.resultStateBatch(c.sources) : MPS::StateBatch();
    forward.encodeBatch(buffer, c.sources, c.labels, c.weights, states, losses);
    gradient.encodeBatch(buffer, c.gradients, c.sources, c.labels, c.weights, states, by_y);
    gradient.setComputeLabelGradients(true);
    gradient.encodeBatch(buffer, c.gradients, c.sources, c.labels, c.weights, states, by_t);
    gradient.setComputeLabelGradients(false);
    gradient.setLossFormulaPolicy(MPS::LossFormulaPolicy::AsPrinted);
    gradient.encodeBatch(buffer, c.gradients, c.sources, c.labels, c.weights, states, printed);
  });
  c.expect(losses, expected["forward"], "loss");
  c.expect(by_y, expected["predictionGradients"], "prediction gradient");
  if (expected.has("labelGradients")) c.expect(by_t, expected["labelGradients"], "label gradient");
  c.expect(printed,
           expected.has("predictionGradientsAsPrintedInHeader")
               ? expected["predictionGradientsAsPrintedInHeader"]
               : expected["predictionGradients"],
           "printed gradient");
}

void check_one_call(const Case& c) {
  const MPS::CNNLoss kernel(c.device, descriptor_of(c.json()["descriptor"]));
  const Extent e = c.extent();
  const MTL::Size loss_size =
      c.reduced() ? MTL::Size{1, 1, 1} : MTL::Size{e.width, e.height, e.channels};
  MPS::CNNLossLabelsBatch labels;
  MPS::ImageBatch losses;
  for (std::size_t n = 0; n < c.sources.size(); ++n) {
    labels.push_back(MPS::CNNLossLabels::create(c.device, loss_size, c.labels[n],
                                                c.weights.empty() ? nullptr : c.weights[n]));
    losses.push_back(labels[n]->lossImage());
  }
  const MPS::ImageBatch destinations = c.like_sources();
  run(c.queue, [&](MTL::CommandBuffer& buffer) {
    kernel.encodeBatch(buffer, c.sources, labels, destinations);
  });
  c.expect(losses, c.json()["expected"]["lossImages"], "loss");
  c.expect(destinations, c.json()["expected"]["destinationGradients"], "gradient");
}

TEST(Vectors, LossesAndGradients) {
  std::size_t two_calls = 0, one_call = 0;
  for (const json::Value& json : vectors()["cases"].items) {
    const bool one_shot = json["api"].text == "MPSCNNLoss";
    ++(one_shot ? one_call : two_calls);
    for (const Formats formats : kFormats) {
      const Case c(json, formats);
      one_shot ? check_one_call(c) : check_two_calls(c);
    }
  }
  EXPECT_EQ(two_calls, 179u);
  EXPECT_EQ(one_call, 8u);
}

TEST(Vectors, Yolo) {
  const auto device = test_device();
  const auto queue = device->newCommandQueue();
  for (const json::Value& json : vectors()["yolo"].items) {
    std::vector<float> anchors;
    for (const json::Value& box : json["anchorBoxes"].items)
      for (const float v : box.as_floats()) anchors.push_back(v);
    MPS::CNNYOLOLossDescriptor yolo(Type::MeanSquaredError, Type::Huber, Type::SigmoidCrossEntropy,
                                    Type::SoftMaxCrossEntropy, Reduction::Sum, anchors);
    yolo.classesLossDescriptor.numberOfClasses =
        static_cast<std::size_t>(json["numberOfClasses"].number);
    const MPS::CNNYOLOLoss kernel(device, yolo);
    const Extent e{1, 1, 14};
    const auto source =
        image(device, e, Format::Float32, json["sourceImages"].items[0].as_floats());
    const auto labels = MPS::CNNLossLabels::create(
        device, {1, 1, 1}, image(device, e, Format::Float32, json["labels"].items[0].as_floats()));
    const auto destination = image(device, e);
    run(queue,
        [&](MTL::CommandBuffer& buffer) { kernel.encode(buffer, source, labels, destination); });
    const json::Value& expected = json["expected"];
    expect_near(labels->lossImage()->toFloats(), {static_cast<float>(expected["loss"].as_double())},
                Format::Float32, "YOLO loss");
    expect_near(destination->toFloats(), expected["destinationGradients"].items[0].as_floats(),
                Format::Float32, "YOLO gradient");
  }
}

TEST(Vectors, StorageFormats) {
  const auto device = test_device();
  const json::Value& formats = vectors()["storageFormats"];
  for (const json::Value& v : formats["float16"].items) {
    const auto one = image(device, {}, Format::Float16, {static_cast<float>(v["value"].number)});
    std::uint16_t bits;
    one->readBytes(&bits, MPS::DataLayout::HeightxWidthxFeatureChannels, 0);
    EXPECT_EQ(bits, v["bits"].number) << v["value"].number;
  }
  for (const json::Value& v : formats["unorm8"].items) {
    const auto one = image(device, {}, Format::Unorm8, {static_cast<float>(v["value"].number)});
    std::uint8_t stored;
    one->readBytes(&stored, MPS::DataLayout::HeightxWidthxFeatureChannels, 0);
    EXPECT_EQ(stored, v["stored"].number) << v["value"].number;
    EXPECT_NEAR(one->toFloats()[0], v["readBack"].number, 1e-7);
  }
  for (const json::Value& v : formats["unorm16"].items) {
    const auto one = image(device, {}, Format::Unorm16, {static_cast<float>(v["value"].number)});
    std::uint16_t stored;
    one->readBytes(&stored, MPS::DataLayout::HeightxWidthxFeatureChannels, 0);
    EXPECT_EQ(stored, v["stored"].number) << v["value"].number;
    EXPECT_NEAR(one->toFloats()[0], v["readBack"].number, 1e-7);
  }
}

TEST(Vectors, Layouts) {
  const auto device = test_device();
  const json::Value& layouts = vectors()["layouts"];
  const std::vector<float> hwc = layouts["HeightxWidthxFeatureChannels"].as_floats();
  const std::vector<float> chw = layouts["FeatureChannelsxHeightxWidth"].as_floats();
  const auto one = image(device, {3, 2, 5}, Format::Float32, hwc);
  EXPECT_EQ(one->toFloats(MPS::DataLayout::FeatureChannelsxHeightxWidth), chw);
  std::vector<float> bytes(chw.size());
  one->readBytes(bytes.data(), MPS::DataLayout::FeatureChannelsxHeightxWidth, 0);
  EXPECT_EQ(bytes, chw);
  const auto other = image(device, {3, 2, 5});
  other->writeBytes(chw.data(), MPS::DataLayout::FeatureChannelsxHeightxWidth, 0);
  EXPECT_EQ(other->toFloats(), hwc);
  std::vector<float> part(2 * 2 * 5);
  one->readBytes(part.data(), MPS::DataLayout::HeightxWidthxFeatureChannels, 2 * 5 * 4, 0,
                 {{1, 0, 0}, {2, 2, 1}}, {0, 5}, 0);
  EXPECT_EQ(part, layouts["subRegion"]["HeightxWidthxFeatureChannels"].as_floats());
}

}  // namespace
}  // namespace mps_test

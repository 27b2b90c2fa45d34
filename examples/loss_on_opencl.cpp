// A loss and its gradient on an OpenCL device, and the same on the CPU for comparison. Nothing but
// the name of the device differs. Without an OpenCL device the program says why and uses the CPU.
// Fails if the two disagree by more than the rounding of single precision.
//   loss_on_opencl [DEVICE]     default: opencl, the first that can be used
#include <openbnns/mps.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace {
using namespace bnns;

constexpr std::size_t kImages = 4, kClasses = 10;
constexpr float kLargestDifference = 1e-5f;

// The scores of an image, and its class as one-hot labels.
std::vector<float> scores_of(std::size_t image) {
  std::vector<float> scores;
  for (std::size_t k = 0; k < kClasses; ++k)
    scores.push_back(3 * std::sin(static_cast<float>(image * kClasses + k)));
  return scores;
}
std::vector<float> labels_of(std::size_t image) {
  std::vector<float> labels(kClasses, 0);
  labels[3 * image % kClasses] = 1;
  return labels;
}

struct Results {
  float loss;
  std::vector<float> gradient;  // of all images
};

Results mean_loss(const std::shared_ptr<MTL::Device>& device) {
  const auto make = [&](std::size_t channels, const std::vector<float>& values) {
    auto image =
        MPS::Image::create(device, {MPS::ImageFeatureChannelFormat::Float32, 1, 1, channels, 1});
    image->fromFloats(values);
    return image;
  };
  MPS::ImageBatch scores, labels, gradients;
  for (std::size_t n = 0; n < kImages; ++n) {
    scores.push_back(make(kClasses, scores_of(n)));
    labels.push_back(make(kClasses, labels_of(n)));
    gradients.push_back(make(kClasses, std::vector<float>(kClasses)));
  }

  MPS::CNNLossDescriptor loss(MPS::CNNLossType::SoftMaxCrossEntropy, MPS::CNNReductionType::Mean);
  loss.reduceAcrossBatch = true;  // image 0 of the result has the mean of the whole batch
  loss.labelSmoothing = 0.1f;
  loss.numberOfClasses = kClasses;
  MPS::NNForwardLoss forward(device, loss);
  forward.destinationImageAllocator = MPS::ImageAllocator::images();  // we want to read the loss
  const MPS::NNInitialGradient ones(device);
  const MPS::NNLossGradient backward(device, loss);

  const auto buffer = device->newCommandQueue()->commandBuffer();
  const MPS::ImageBatch losses = forward.encodeBatch(*buffer, scores, labels);
  backward.encodeBatch(*buffer, ones.encodeBatch(*buffer, losses), scores, labels, {}, {},
                       gradients);
  buffer->commit();
  buffer->waitUntilCompleted();
  if (const auto error = buffer->error())  // what the device could not do
    throw MPS::Error(MPS::ErrorCode::DeviceError, error->message);

  Results results{losses[0]->toFloats()[0], {}};
  for (const auto& image : gradients) {
    const auto values = image->toFloats();
    results.gradient.insert(results.gradient.end(), values.begin(), values.end());
  }
  return results;
}

}  // namespace

int main(int argc, char** argv) try {
  std::string name = argc > 1 ? argv[1] : "opencl";
  const std::string reason = MTL::Device::unavailableReason(name);
  if (!reason.empty()) {
    std::printf("%s cannot be used: %s\n", name.c_str(), reason.c_str());
    name = "cpu";
  }
  const auto device = MTL::Device::create(name);
  const Results is = mean_loss(device), expected = mean_loss(MTL::Device::create("cpu"));
  float difference = std::fabs(is.loss - expected.loss);
  for (std::size_t i = 0; i < is.gradient.size(); ++i)
    difference = std::max(difference, std::fabs(is.gradient[i] - expected.gradient[i]));
  std::printf("%s: loss %.6f\ncpu: loss %.6f\nlargest difference, gradients included: %.1e\n",
              device->name().c_str(), is.loss, expected.loss, difference);
  return difference <= kLargestDifference ? 0 : 1;
} catch (const MPS::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}

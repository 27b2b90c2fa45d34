// A program for the installed MPS library, in the names of metal-cpp: the gradient of a smoothed
// soft-max cross entropy.
#include <MetalPerformanceShaders/MetalPerformanceShaders.hpp>

#include <cmath>
#include <cstdio>

int main() {
  auto dev = MTL::Device::create("cpu");
  auto queue = dev->newCommandQueue();
  MPS::CNNLossDescriptor d(MPS::CNNLossType::SoftMaxCrossEntropy, MPS::CNNReductionType::Mean);
  d.labelSmoothing = 0.1f;
  d.numberOfClasses = 3;
  d.weight = 0.25f;
  MPS::NNLossGradient grad(dev, d);
  using F = MPS::ImageFeatureChannelFormat;
  auto make = [&](std::size_t c, std::vector<float> v) {
    auto im = MPS::Image::create(dev, {F::Float32, 1, 1, c, 1});
    im->fromFloats(v);
    return im;
  };
  MPS::ImageBatch g{make(1, {1})}, y{make(3, {2, 1, 0.125f})}, t{make(3, {1, 0, 0})},
      w{make(3, {2, 2, 2})}, out{make(3, {0, 0, 0})};
  auto cb = queue->commandBuffer();
  grad.encodeBatch(*cb, g, y, t, w, {}, out);
  cb->commit();
  cb->waitUntilCompleted();
  const float expected[] = {-0.137986f, 0.104248f, 0.0337381f};
  bool right = true;
  for (int i = 0; i < 3; ++i) {
    const float is = out[0]->toFloats()[static_cast<std::size_t>(i)];
    std::printf("%g expected %g\n", is, expected[i]);
    right = right && std::fabs(is - expected[i]) < 1e-6f;
  }
  try {
    MTL::Device::create("gpu");
    return 1;
  } catch (const MPS::Error& error) {
    std::printf("%s\n", error.what());
    right = right && error.code() == MPS::ErrorCode::InvalidArgument;
  }
  return right ? 0 : 1;
}

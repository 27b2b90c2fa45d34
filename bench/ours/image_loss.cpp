// The gradient of a loss of images through the classes of libopenbnns_mps, on every device.
#include <openbnns/mps.hpp>
#include <openbnns/openbnns.h>

#include <cstdio>

#include "workloads/image_loss.h"

namespace bench {
namespace {

using namespace bnns;

struct Call {
  Call(const ImageLoss& p, const std::shared_ptr<MTL::Device>& on)
      : device(on), queue(on->newCommandQueue()), kernel(on, descriptor()) {
    const size_t size = p.pixels() * p.channels;
    for (size_t n = 0; n < p.batch; ++n) {
      upstream.push_back(image(1, 1));
      upstream.back()->fromFloats(std::vector<float>{1});
      for (auto [to, from] :
           {std::pair(&sources, &p.loss.in), std::pair(&labels, &p.loss.labels)}) {
        to->push_back(image(p.side, p.channels));
        to->back()->fromFloats({from->data() + n * size, size});
      }
      results.push_back(image(p.side, p.channels));
    }
  }

  static MPS::CNNLossDescriptor descriptor() {
    MPS::CNNLossDescriptor d(MPS::CNNLossType::SoftMaxCrossEntropy, MPS::CNNReductionType::Mean);
    d.reduceAcrossBatch = true;
    return d;
  }
  std::shared_ptr<MPS::Image> image(size_t side, size_t channels) const {
    return MPS::Image::create(device,
                              {MPS::ImageFeatureChannelFormat::Float32, side, side, channels, 1});
  }
  void run() const {
    const auto buffer = queue->commandBuffer();
    kernel.encodeBatch(*buffer, upstream, sources, labels, {}, {}, results);
    buffer->commit();
    buffer->waitUntilCompleted();
  }
  std::vector<float> gradient() const {
    std::vector<float> all;
    for (const auto& one : results) {
      const std::vector<float> values = one->toFloats();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  std::shared_ptr<MTL::Device> device;
  std::shared_ptr<MTL::CommandQueue> queue;
  MPS::NNLossGradient kernel;
  MPS::ImageBatch upstream, sources, labels, results;
};

void add(const ImageLoss& p, const char* device, const char* who, Rows& rows) {
  const auto call = std::make_shared<Call>(p, MTL::Device::create(device));
  rows.add("bwd",
           {.who = who,
            .run = repeated([=] { call->run(); }),
            .results =
                [=] {
                  call->run();
                  return std::vector<Result>{{.tensor = "in_delta", .value = call->gradient()}};
                },
            .note = ""});
}

}  // namespace

void add_our_image_loss(const ImageLoss& p, int threads, Rows& rows) {
  OpenBNNSSetDefaultThreads(size_t(threads));
  add(p, "cpu", "ours", rows);
  const std::string reason = MTL::Device::unavailableReason("opencl");
  if (reason.empty()) {
    add(p, "opencl", "ours-opencl", rows);
  } else {
    std::fprintf(stderr, "mps: no ours-opencl: %s\n", reason.c_str());
  }
}

}  // namespace bench

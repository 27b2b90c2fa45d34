// The CPU device: images in host memory, work on the thread of the queue or of a caller that waits
// for it, which calls the threads of the core library.
#include <cstdlib>

#include "mps/cpu.h"
#include "mps/device.h"

namespace bnns::impl::mps {
namespace {

class CpuDevice final : public DeviceBase {
 public:
  CpuDevice() : DeviceBase(size_t{64} << 20) {}
  std::string name() const override { return "cpu"; }
  MTL::Backend backend() const override { return MTL::Backend::Cpu; }

  std::unique_ptr<Memory> allocate(size_t bytes) override {
    auto* zeroed = static_cast<std::byte*>(std::calloc(bytes, 1));
    return zeroed == nullptr ? nullptr : std::make_unique<HostMemory>(zeroed);
  }

  void execute(const Work& work) override {
    std::visit([](const auto& w) { run_cpu(w); }, work);
  }
  bool callers_may_execute() const override { return true; }
};

}  // namespace

HostMemory::~HostMemory() {
  std::free(bytes_);
}

std::shared_ptr<DeviceBase> make_cpu_device() {
  return std::make_shared<CpuDevice>();
}

void run_cpu(const OnesWork& work) {
  run_grains(
      work.destinations.size(),
      static_cast<double>(work.width * work.height * work.channels * work.destinations.size()),
      [&](size_t n) {
        const ImageStorage& image = *work.destinations[n];
        const Pixels pixels(image);
        float ones[256];
        std::fill_n(ones, std::size(ones), 1.0f);
        for (size_t y = 0; y < work.height; ++y) {
          for (size_t x = 0; x < work.width; ++x) {
            for (size_t c = 0; c < work.channels; c += std::size(ones))
              pixels.store(y * image.width() + x, 1, c,
                           std::min(std::size(ones), work.channels - c), ones);
          }
        }
      });
}

}  // namespace bnns::impl::mps

// What every device gives to the classes above it: memory for images, and the execution of recorded
// work. Queues, command buffers, images and kernels are the same for all devices. A further device
// derives from DeviceBase and gets a line in the table of device.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "mps/temporary_pool.h"
#include "mps/work.h"
#include "openbnns/mps.hpp"

namespace bnns::impl::mps {

// The bytes of an image on its device.
class Memory {
 public:
  virtual ~Memory() = default;
  // The bytes as the host sees them, until unmap; `written`: the device needs them back. Both fail
  // with MPS::Error.
  virtual std::byte* map() = 0;
  virtual void unmap(bool written) = 0;
};

// Calls body(bytes), which must not throw, with the bytes of the memory; `writes`: body changes
// them.
template <class Body>
void with_bytes(Memory& memory, bool writes, const Body& body) {
  body(memory.map());
  memory.unmap(writes);
}

class DeviceBase : public MTL::Device {
 public:
  // `cached_bytes`: memory of temporary images that is kept for later ones. Memory that needs the
  // device when it goes must not be kept, because the cache goes after the derived class.
  explicit DeviceBase(size_t cached_bytes = 0) : memory_cache_(cached_bytes) {}
  std::shared_ptr<MTL::CommandQueue> newCommandQueue() override;

  // Zeroed memory; nullptr if there is not enough.
  virtual std::unique_ptr<Memory> allocate(size_t bytes) = 0;
  // Runs one piece of work to its end, on the thread of a queue. What it throws becomes the error
  // of the command buffer.
  virtual void execute(const Work& work) = 0;
  // True if execute may also be called on a thread that waits for the work.
  virtual bool callers_may_execute() const { return false; }

  MemoryCache& memory_cache() { return memory_cache_; }

 private:
  MemoryCache memory_cache_;
};

// The device as our class; fails for null (InvalidArgument) and for devices that are not ours
// (DeviceMismatch). `where` begins the text.
DeviceBase& base_of(const std::shared_ptr<MTL::Device>& device, const char* where);

// A CPU device that is not the one of Device::create; tests use it as "another device".
std::shared_ptr<DeviceBase> make_cpu_device();

}  // namespace bnns::impl::mps

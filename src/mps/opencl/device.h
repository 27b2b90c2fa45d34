// An OpenCL device: images in buffers of the device, one program for all work, a lane for each
// piece of work that runs at the same time.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "mps/device.h"
#include "mps/opencl/catalog.h"
#include "mps/opencl/lane.h"

namespace bnns::impl::mps::opencl {

class Device final : public DeviceBase {
 public:
  // nullptr if context or program cannot be made; `reason` then says why.
  static std::shared_ptr<Device> make(const Api& api, const Entry& entry, std::string& reason);

  std::string name() const override { return name_; }
  MTL::Backend backend() const override { return MTL::Backend::OpenCL; }
  std::unique_ptr<Memory> allocate(size_t bytes) override;
  void execute(const Work& work) override;

  // Calls body(lane) with a lane that nobody else uses, and waits until all that it began is done.
  template <class Body>
  void with_lane(const Body& body) {
    std::unique_ptr<Lane> lane = take_lane();
    try {
      body(*lane);
      lane->finish();
    } catch (...) {
      finish_quietly(*lane);
      throw;  // The lane goes: after an error nobody knows what is left in it.
    }
    return_lane(std::move(lane));
  }

 private:
  Device(const Api& api, const Entry& entry) : api_(api), id_(entry.device), name_(entry.name()) {}
  std::string open(const Entry& entry);
  Owner owner() const { return {api_, context_.get(), id_, program_.get()}; }
  std::unique_ptr<Lane> take_lane();
  void return_lane(std::unique_ptr<Lane> lane);
  static void finish_quietly(Lane& lane) noexcept;

  const Api api_;
  DeviceId id_;
  std::string name_;
  Owned<Context> context_;
  Owned<Program> program_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Lane>> idle_;
};

// The bytes of an image in a buffer. The host sees a copy of them, which all who look at the same
// time share.
class BufferMemory final : public Memory {
 public:
  BufferMemory(Device& device, Owned<Buffer> buffer, size_t bytes)
      : device_(device), buffer_(std::move(buffer)), bytes_(bytes) {}
  std::byte* map() override;
  void unmap(bool written) override;
  Buffer buffer() const { return buffer_.get(); }

 private:
  Device& device_;
  Owned<Buffer> buffer_;
  size_t bytes_;
  std::mutex mutex_;
  size_t users_ = 0;
  std::vector<std::byte> copy_;
};

// The pieces of work, on a lane.
void run(Lane& lane, const LossWork& work);
void run(Lane& lane, const YoloWork& work);
void run(Lane& lane, const OnesWork& work);

// The source of the program: the files of kernels/ behind params.h.
extern const char* const kProgramSource;

}  // namespace bnns::impl::mps::opencl

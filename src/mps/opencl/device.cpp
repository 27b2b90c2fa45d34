#include "mps/opencl/device.h"

#include <new>

#include "mps/error.h"

namespace bnns::impl::mps::opencl {
namespace {

// OpenCL C 1.2, and none of the options that trade accuracy for speed.
constexpr const char* kBuildOptions = "-cl-std=CL1.2";

// The first lines of a log, on one line.
std::string beginning(const std::string& log) {
  constexpr size_t kLines = 6, kCharacters = 600;
  std::string text;
  size_t lines = 0;
  for (const char c : log) {
    if (c == '\0' || text.size() >= kCharacters || (c == '\n' && ++lines == kLines)) break;
    text += c == '\n' ? ' ' : c;
  }
  return text;
}

std::string build_log(const Api& api, Program program, DeviceId device) {
  size_t size = 0;
  if (api.GetProgramBuildInfo(program, device, kProgramBuildLog, 0, nullptr, &size) != kSuccess)
    return "";
  std::string log(size, '\0');
  if (api.GetProgramBuildInfo(program, device, kProgramBuildLog, size, log.data(), nullptr) !=
      kSuccess)
    return "";
  return beginning(log);
}

}  // namespace

std::shared_ptr<Device> Device::make(const Api& api, const Entry& entry, std::string& reason) {
  reason = entry.reason;
  if (!reason.empty()) return nullptr;
  std::shared_ptr<Device> device(new Device(api, entry));
  reason = device->open(entry);
  return reason.empty() ? device : nullptr;
}

// Returns why it failed.
std::string Device::open(const Entry& entry) {
  int32_t code = kSuccess;
  const intptr_t properties[] = {kContextPlatform, reinterpret_cast<intptr_t>(entry.platform), 0};
  const Context context = api_.CreateContext(properties, 1, &id_, nullptr, nullptr, &code);
  if (code != kSuccess) return "clCreateContext failed with " + code_name(code);
  context_ = {context, api_.ReleaseContext};
  const char* source = kProgramSource;
  const Program program = api_.CreateProgramWithSource(context, 1, &source, nullptr, &code);
  if (code != kSuccess) return "clCreateProgramWithSource failed with " + code_name(code);
  program_ = {program, api_.ReleaseProgram};
  code = api_.BuildProgram(program, 1, &id_, kBuildOptions, nullptr, nullptr);
  if (code != kSuccess)
    return "the kernels cannot be built: clBuildProgram failed with " + code_name(code) + ": " +
           build_log(api_, program, id_);
  return "";
}

std::unique_ptr<Memory> Device::allocate(size_t bytes) {
  // Whole words, which is how they are cleared.
  constexpr size_t kWord = 4;
  const size_t words = bytes / kWord + (bytes % kWord != 0);
  int32_t code = kSuccess;
  Owned<Buffer> buffer = make_buffer(owner(), words * kWord, code);
  if (is_memory_failure(code)) return nullptr;
  check(code, "clCreateBuffer");
  try {
    with_lane([&](Lane& lane) { lane.clear(buffer.get(), words * kWord); });
  } catch (const MPS::Error& error) {
    if (error.code() == ErrorCode::OutOfMemory) return nullptr;
    throw;
  }
  return std::make_unique<BufferMemory>(*this, std::move(buffer), bytes);
}

void Device::execute(const Work& work) {
  with_lane([&](Lane& lane) { std::visit([&](const auto& w) { run(lane, w); }, work); });
}

std::unique_ptr<Lane> Device::take_lane() {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      std::unique_ptr<Lane> lane = std::move(idle_.back());
      idle_.pop_back();
      return lane;
    }
  }
  return std::make_unique<Lane>(owner());
}

void Device::return_lane(std::unique_ptr<Lane> lane) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(lane));
}

void Device::finish_quietly(Lane& lane) noexcept {
  try {
    lane.finish();
  } catch (...) {  // The first error is the one that is reported.
  }
}

std::byte* BufferMemory::map() {
  const std::lock_guard lock(mutex_);
  if (users_ == 0) {
    try {
      copy_.resize(bytes_);
    } catch (const std::bad_alloc&) {
      fail(ErrorCode::OutOfMemory, "Image: ", bytes_, " bytes cannot be allocated for the host");
    }
    device_.with_lane([&](Lane& lane) { lane.read(buffer_.get(), bytes_, copy_.data()); });
  }
  ++users_;
  return copy_.data();
}

void BufferMemory::unmap(bool written) {
  const std::lock_guard lock(mutex_);
  const bool last = --users_ == 0;
  const std::vector<std::byte> copy = last ? std::move(copy_) : std::vector<std::byte>();
  if (written)
    device_.with_lane(
        [&](Lane& lane) { lane.write(buffer_.get(), bytes_, (last ? copy : copy_).data()); });
}

}  // namespace bnns::impl::mps::opencl

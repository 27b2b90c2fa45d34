// Device names, the table of devices, and the one object per device.
#include "mps/device.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <string_view>

#include "mps/error.h"
#include "mps/queue.h"

namespace bnns::impl::mps {
namespace {

// What is known about a device name.
struct Choice {
  std::string name;    // the canonical one: two names of one device have the same
  std::string reason;  // why it is not available; empty if it is
  std::shared_ptr<DeviceBase> (*make)() = nullptr;
};

bool is_index(std::string_view text) {
  return !text.empty() && text.size() <= 9 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<Choice> choose_cpu(std::string_view name) {
  if (name != "cpu") return std::nullopt;
  return Choice{.name = "cpu", .make = make_cpu_device};
}

// "opencl" or "opencl:<platform>:<device>".
std::optional<Choice> choose_opencl(std::string_view name) {
  constexpr std::string_view kPrefix = "opencl";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::string_view rest = name.substr(kPrefix.size());
  if (!rest.empty()) {
    if (rest[0] != ':') return std::nullopt;
    rest.remove_prefix(1);
    const size_t colon = rest.find(':');
    if (colon == rest.npos || !is_index(rest.substr(0, colon)) || !is_index(rest.substr(colon + 1)))
      return std::nullopt;
  }
  return Choice{.name = std::string(name), .reason = "OpenCL devices are not implemented yet"};
}

using Chooser = std::optional<Choice> (*)(std::string_view name);
constexpr Chooser kChoosers[] = {choose_cpu, choose_opencl};
constexpr const char* kNames[] = {"cpu", "opencl"};

Choice choose(std::string_view name) {
  for (const Chooser chooser : kChoosers) {
    if (std::optional<Choice> choice = chooser(name)) return *choice;
  }
  fail(ErrorCode::InvalidArgument, "Device: name is \"", name,
       "\"; it must be cpu, opencl or opencl:<platform index>:<device index>");
}

// The devices that live.
struct Registry {
  struct Entry {
    std::string name;
    std::weak_ptr<DeviceBase> device;
  };
  std::mutex mutex;
  std::vector<Entry> entries;
};

Registry& registry() {
  static Registry* const one = new Registry;  // never destroyed: usable during exit
  return *one;
}

}  // namespace

DeviceBase& base_of(const std::shared_ptr<MTL::Device>& device, const char* where) {
  require(device != nullptr, ErrorCode::InvalidArgument, where, ": device is null");
  auto* base = dynamic_cast<DeviceBase*>(device.get());
  require(base != nullptr, ErrorCode::DeviceMismatch, where,
          ": device was not made by Device::create");
  return *base;
}

std::shared_ptr<MTL::CommandQueue> DeviceBase::newCommandQueue() {
  return make_queue(std::static_pointer_cast<DeviceBase>(shared_from_this()));
}

}  // namespace bnns::impl::mps

namespace bnns::MTL {

using namespace impl::mps;

std::shared_ptr<Device> Device::create(std::string_view name) {
  const Choice choice = choose(name);
  require(choice.reason.empty(), ErrorCode::DeviceUnavailable, "Device: ", name,
          " is not available: ", choice.reason);
  Registry& known = registry();
  const std::lock_guard lock(known.mutex);
  std::erase_if(known.entries, [](const auto& entry) { return entry.device.expired(); });
  for (const auto& entry : known.entries) {
    if (entry.name != choice.name) continue;
    if (auto device = entry.device.lock()) return device;
  }
  auto device = choice.make();
  known.entries.push_back({choice.name, device});
  return device;
}

std::vector<std::string> Device::available() {
  std::vector<std::string> names;
  for (const char* name : kNames) {
    if (choose(name).reason.empty()) names.push_back(name);
  }
  return names;
}

std::string Device::unavailableReason(std::string_view name) {
  return choose(name).reason;
}

}  // namespace bnns::MTL

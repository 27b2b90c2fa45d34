// Device names, the table of devices, and the one object per device.
#include "mps/device.h"

#include <charconv>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>

#include "mps/error.h"
#include "mps/opencl/device.h"
#include "mps/queue.h"

namespace bnns::impl::mps {
namespace {

// A device that a name may mean.
struct Candidate {
  std::string name;  // the canonical one: two names of one device have the same
  std::function<std::shared_ptr<DeviceBase>(std::string& reason)> make;
};
// All that a name may mean, best first; if there is none, why.
struct Choice {
  std::vector<Candidate> candidates;
  std::string reason;
};

std::optional<size_t> index_of(std::string_view text) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  return whole && text.size() <= 9 ? std::optional(value) : std::nullopt;
}

std::optional<Choice> choose_cpu(std::string_view name) {
  if (name != "cpu") return std::nullopt;
  return Choice{{{"cpu", [](std::string&) { return make_cpu_device(); }}}, ""};
}

// "opencl" or "opencl:<platform>:<device>".
std::optional<Choice> choose_opencl(std::string_view name) {
  constexpr std::string_view kPrefix = "opencl";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  std::string_view rest = name.substr(kPrefix.size());
  std::optional<size_t> platform, device;
  if (!rest.empty()) {
    if (rest[0] != ':') return std::nullopt;
    rest.remove_prefix(1);
    const size_t colon = rest.find(':');
    if (colon == rest.npos) return std::nullopt;
    platform = index_of(rest.substr(0, colon));
    device = index_of(rest.substr(colon + 1));
    if (!platform || !device) return std::nullopt;
  }
  Choice choice;
  const opencl::Catalog& catalog = opencl::catalog();
  const auto entries = platform ? opencl::candidates(catalog, *platform, *device, choice.reason)
                                : opencl::candidates(catalog, choice.reason);
  for (const opencl::Entry* entry : entries)
    choice.candidates.push_back({entry->name(), [entry](std::string& reason) {
                                   return opencl::Device::make(opencl::library().api, *entry,
                                                               reason);
                                 }});
  return choice;
}

std::vector<std::string> cpu_names() {
  return {"cpu"};
}
std::vector<std::string> opencl_names() {
  std::vector<std::string> names{"opencl"};
  for (const opencl::Entry& entry : opencl::catalog().entries) names.push_back(entry.name());
  return names;
}

// The kinds of devices: what a name means, or nothing if it is not of this kind, and the names that
// there may be.
constexpr struct {
  std::optional<Choice> (*choose)(std::string_view name);
  std::vector<std::string> (*names)();
} kKinds[] = {{choose_cpu, cpu_names}, {choose_opencl, opencl_names}};

Choice choose(std::string_view name) {
  for (const auto& kind : kKinds) {
    if (std::optional<Choice> choice = kind.choose(name)) return *choice;
  }
  fail(ErrorCode::InvalidArgument, "Device: name is \"", name,
       "\"; it must be cpu, opencl or opencl:<platform index>:<device index>");
}

// The devices that live, and what is known of those that were tried: a device whose program cannot
// be built is not tried again.
class Registry {
 public:
  // The device that a choice means; nullptr with the reason if none of the candidates can be made.
  std::shared_ptr<DeviceBase> obtain(const Choice& choice, std::string& reason) {
    const std::lock_guard lock(mutex_);
    reason = choice.reason;
    for (const Candidate& candidate : choice.candidates) {
      std::string own;
      if (auto device = obtain(candidate, own)) return device;
      reason += (reason.empty() ? "" : "; ") + candidate.name + ": " + own;
    }
    return nullptr;
  }

  // Why none of the candidates can be made; makes a device only if none was made before.
  std::string objection(const Choice& choice) {
    {
      const std::lock_guard lock(mutex_);
      for (const Candidate& candidate : choice.candidates) {
        const auto known = known_.find(candidate.name);
        if (known != known_.end() && known->second.reason.empty()) return "";
      }
    }
    std::string reason;
    return obtain(choice, reason) == nullptr ? reason : "";
  }

 private:
  struct Known {
    std::weak_ptr<DeviceBase> device;
    std::string reason;
  };

  std::shared_ptr<DeviceBase> obtain(const Candidate& candidate, std::string& reason) {
    const auto found = known_.find(candidate.name);
    if (found != known_.end()) {
      reason = found->second.reason;
      if (auto device = found->second.device.lock(); device != nullptr || !reason.empty())
        return device;
    }
    std::shared_ptr<DeviceBase> device = candidate.make(reason);
    known_[candidate.name] = {device, reason};
    return device;
  }

  std::mutex mutex_;
  std::map<std::string, Known> known_;
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
  std::string reason;
  auto device = registry().obtain(choose(name), reason);
  require(device != nullptr, ErrorCode::DeviceUnavailable, "Device: ", name,
          " is not available: ", reason);
  return device;
}

std::vector<std::string> Device::available() {
  std::vector<std::string> names;
  for (const auto& kind : kKinds) {
    for (std::string& name : kind.names()) {
      if (unavailableReason(name).empty()) names.push_back(std::move(name));
    }
  }
  return names;
}

std::string Device::unavailableReason(std::string_view name) {
  return registry().objection(choose(name));
}

}  // namespace bnns::MTL

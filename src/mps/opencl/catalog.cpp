#include "mps/opencl/catalog.h"

#include <algorithm>

namespace bnns::impl::mps::opencl {
namespace {

// A text, of a platform or a device; "?" if the library does not give it.
template <class Handle>
std::string text_of(int32_t (*get)(Handle, uint32_t, size_t, void*, size_t*), Handle handle,
                    uint32_t field) {
  size_t size = 0;
  if (get(handle, field, 0, nullptr, &size) != kSuccess || size == 0) return "?";
  std::string text(size, '\0');
  if (get(handle, field, size, text.data(), nullptr) != kSuccess) return "?";
  text.resize(text.find('\0') == text.npos ? size : text.find('\0'));
  return text;
}

template <class T>
T number_of(const Api& api, DeviceId device, DeviceField field) {
  T value{};
  return api.GetDeviceInfo(device, field, sizeof value, &value, nullptr) == kSuccess ? value : T{};
}

// "OpenCL 1.2 ..." and later.
bool is_recent(const std::string& version) {
  constexpr const char* kPrefix = "OpenCL ";
  if (!version.starts_with(kPrefix)) return false;
  const size_t major = version.find_first_of("0123456789");
  if (major == version.npos || major + 2 >= version.size()) return false;
  const char first = version[major], second = version[major + 2];
  return version[major + 1] != '.' || first > '1' || (first == '1' && second >= '2');
}

// What the kernels need and not every device has.
std::string objection(const Api& api, DeviceId device) {
  if (number_of<uint32_t>(api, device, kDeviceAvailable) == 0) return "the device is not available";
  if (number_of<uint32_t>(api, device, kDeviceCompilerAvailable) == 0)
    return "the device has no compiler";
  const std::string version = text_of(api.GetDeviceInfo, device, kDeviceVersion);
  if (!is_recent(version)) return "its version is \"" + version + "\"; OpenCL 1.2 is needed";
  const std::string profile = text_of(api.GetDeviceInfo, device, kDeviceProfile);
  if (profile != "FULL_PROFILE") return "its profile is " + profile + "; FULL_PROFILE is needed";
  if (number_of<uint32_t>(api, device, kDeviceLittleEndian) == 0)
    return "its numbers are big-endian";
  return "";
}

void read_platform(const Api& api, Platform platform, size_t index, Catalog& catalog) {
  uint32_t count = 0;
  if (api.GetDeviceIDs(platform, kAllDeviceTypes, 0, nullptr, &count) != kSuccess) return;
  std::vector<DeviceId> devices(count);
  if (count == 0 ||
      api.GetDeviceIDs(platform, kAllDeviceTypes, count, devices.data(), nullptr) != kSuccess)
    return;
  for (size_t d = 0; d < count; ++d)
    catalog.entries.push_back(
        {.platform_index = index,
         .device_index = d,
         .platform = platform,
         .device = devices[d],
         .platform_name = text_of(api.GetPlatformInfo, platform, kPlatformName),
         .device_name = text_of(api.GetDeviceInfo, devices[d], kDeviceName),
         .gpu = (number_of<uint64_t>(api, devices[d], kDeviceType) & kDeviceTypeGpu) != 0,
         .reason = objection(api, devices[d])});
}

}  // namespace

Catalog read_catalog(const Library& library) {
  Catalog catalog;
  if (!library.reason.empty()) {
    catalog.reason = library.reason;
    return catalog;
  }
  uint32_t count = 0;
  const int32_t code = library.api.GetPlatformIDs(0, nullptr, &count);
  if (code != kSuccess && code != kPlatformNotFound) {
    catalog.reason = "clGetPlatformIDs failed with " + code_name(code);
    return catalog;
  }
  std::vector<Platform> platforms(code == kSuccess ? count : 0);
  if (platforms.empty() ||
      library.api.GetPlatformIDs(count, platforms.data(), nullptr) != kSuccess) {
    catalog.reason = "no OpenCL platform is installed";
    return catalog;
  }
  catalog.platforms = platforms.size();
  for (size_t p = 0; p < platforms.size(); ++p)
    read_platform(library.api, platforms[p], p, catalog);
  if (catalog.entries.empty())
    catalog.reason = "no OpenCL platform has a device; platforms: " + std::to_string(count);
  return catalog;
}

const Catalog& catalog() {
  static const Catalog* const one = new Catalog(read_catalog(library()));  // usable during exit
  return *one;
}

std::vector<const Entry*> candidates(const Catalog& catalog, std::string& reason) {
  std::vector<const Entry*> found;
  for (const Entry& entry : catalog.entries) found.push_back(&entry);
  std::stable_partition(found.begin(), found.end(), [](const Entry* e) { return e->gpu; });
  if (found.empty()) reason = catalog.reason;
  return found;
}

std::vector<const Entry*> candidates(const Catalog& catalog, size_t platform, size_t device,
                                     std::string& reason) {
  size_t devices = 0;
  for (const Entry& entry : catalog.entries) {
    if (entry.platform_index != platform) continue;
    if (entry.device_index == device) return {&entry};
    ++devices;
  }
  if (catalog.platforms == 0) {
    reason = catalog.reason;
  } else if (platform >= catalog.platforms) {
    reason = "there is no platform " + std::to_string(platform) +
             "; platforms: " + std::to_string(catalog.platforms);
  } else {
    reason = "platform " + std::to_string(platform) + " has no device " + std::to_string(device) +
             "; devices: " + std::to_string(devices);
  }
  return {};
}

}  // namespace bnns::impl::mps::opencl

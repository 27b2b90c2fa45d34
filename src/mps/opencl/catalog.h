// The OpenCL platforms and devices of this machine.
#pragma once

#include <string>
#include <vector>

#include "mps/opencl/api.h"

namespace bnns::impl::mps::opencl {

struct Entry {
  size_t platform_index, device_index;
  Platform platform;
  DeviceId device;
  std::string platform_name, device_name;
  bool gpu;
  std::string reason;  // why it cannot be used; empty if nothing is known against it

  std::string name() const {
    return "opencl:" + std::to_string(platform_index) + ":" + std::to_string(device_index);
  }
};

struct Catalog {
  size_t platforms = 0;
  std::vector<Entry> entries;
  std::string reason;  // why there are none
};

Catalog read_catalog(const Library& library);
// That of this process, read once: the loader does not look for platforms a second time.
const Catalog& catalog();

// Candidates for a name, best first. Without indices: graphics processors before other devices. If
// there is none, `reason` says why.
std::vector<const Entry*> candidates(const Catalog& catalog, std::string& reason);
std::vector<const Entry*> candidates(const Catalog& catalog, size_t platform, size_t device,
                                     std::string& reason);

}  // namespace bnns::impl::mps::opencl

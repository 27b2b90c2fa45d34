#include "core/target.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <mutex>

#include "core/error.h"
#include "core/log.h"
#include "core/platform.h"
#include "hwy/highway.h"

namespace bnns::impl {
namespace {

struct Target {
  const char* name;
  int64_t bits;
};

// The best target comes first within an architecture. The scalar target is whatever Highway falls
// back to; the last entry is for a static build whose target is not listed by name.
constexpr Target kTargets[] = {
    {"avx3", HWY_AVX3 | HWY_AVX3_DL},
    {"avx2", HWY_AVX2},
    {"sse4", HWY_SSE4},
    {"sve2", HWY_SVE2},
    {"sve", HWY_SVE},
    {"neon", HWY_NEON},
    {"wasm", HWY_WASM},
    {"rvv", HWY_RVV},
    {"scalar", HWY_EMU128 | HWY_SCALAR},
    {"static", HWY_STATIC_TARGET},
};
constexpr size_t kCount = std::size(kTargets);

// Guards the chosen target.
constinit std::mutex target_mutex;
[[maybe_unused]] const bool held = (platform::hold_during_fork(target_mutex), true);

struct Targets {
  const char* names[kCount + 1] = {};
  int64_t available = 0;
  const Target* chosen = nullptr;
  hwy::ChosenTarget highway;

  Targets() {
    // A static build has one target only, even if the CPU supports better ones.
    available = hwy::SupportedTargets() & HWY_TARGETS;
    size_t n = 0;
    for (const Target& t : kTargets) {
      const bool nameless = &t == std::end(kTargets) - 1;
      if ((t.bits & available) == 0 || (nameless && chosen != nullptr)) continue;
      if (chosen == nullptr) chosen = &t;
      names[n++] = t.name;
    }
    choose(*chosen);
    const char* wish = std::getenv("OPENBNNS_TARGET");
    if (wish != nullptr && *wish != '\0') {
      const Target* t = find(wish);
      if (t != nullptr) {
        choose(*t);
      } else {
        const Text text("OPENBNNS_TARGET is \"", wish, "\", which is not available; using \"",
                        chosen->name, '"');
        log_message(OpenBNNSLogLevelError, text.c_str());
      }
    }
  }

  const Target* find(const char* name) const {
    for (const char* const* listed = names; *listed != nullptr; ++listed) {
      if (std::strcmp(*listed, name) != 0) continue;
      for (const Target& t : kTargets) {
        if (t.name == *listed) return &t;
      }
    }
    return nullptr;
  }

  void choose(const Target& t) {
    chosen = &t;
    highway.Update(t.bits & available);
  }
};

Targets& targets() {
  static Targets instance;
  return instance;
}

}  // namespace

void set_target(const char* name) {
  Targets& all = targets();
  const std::lock_guard lock(target_mutex);
  const Target* t = name == nullptr ? all.find(all.names[0]) : all.find(name);
  if (t == nullptr) {
    Text list;
    for (const char* const* n = all.names; *n != nullptr; ++n) {
      list.add(n == all.names ? "" : ", ");
      list.add(*n);
    }
    fail("name is \"", name, "\"; it must be one of: ", list);
  }
  all.choose(*t);
}

const char* target_name() {
  Targets& all = targets();
  const std::lock_guard lock(target_mutex);
  return all.chosen->name;
}

const hwy::ChosenTarget& chosen_target() {
  return targets().highway;
}

const char* const* supported_targets() {
  return targets().names;
}

}  // namespace bnns::impl

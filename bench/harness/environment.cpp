// libtorch's matrix products are as fast as the OpenBLAS that it finds. As distributions install
// it, a release that does not know the CPU's model number falls back to SSE kernels, and the build
// with threads of its own competes with the OpenMP threads of libtorch and oneDNN for the cores.
// Both are corrected here. OpenBLAS is queried only if it is loaded.
#include "harness/environment.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <string_view>

namespace bench {
namespace {
namespace fs = std::filesystem;

constexpr const char* kReady = "OPENBNNS_BENCH_ENVIRONMENT";

template <class F>
F* loaded_function(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_DEFAULT, name));
}

std::string openblas_core() {
  auto* name = loaded_function<char*()>("openblas_get_corename");
  return name != nullptr ? name() : "";
}

fs::path openblas_file() {
  auto* any = loaded_function<char*()>("openblas_get_config");
  Dl_info info{};
  if (any == nullptr || dladdr(reinterpret_cast<void*>(any), &info) == 0) return {};
  std::error_code ignored;
  return fs::canonical(info.dli_fname, ignored);
}

// The kernels OpenBLAS should use here, or "" if its own choice is good.
std::string better_core() {
#if defined(__x86_64__)
  static constexpr std::array kOld{"Prescott",  "Core2",      "Penryn",  "Dunnington",   "Nehalem",
                                   "Atom",      "Barcelona",  "Bobcat",  "Katmai",       "Banias",
                                   "Northwood", "Coppermine", "Opteron", "Opteron(SSE3)"};
  const std::string core = openblas_core();
  const auto is = [&](std::string_view name) { return core == name; };
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (std::none_of(kOld.begin(), kOld.end(), is)) return "";
  if (avx512) return "SKYLAKEX";
  if (avx2) return __builtin_cpu_is("amd") ? "ZEN" : "HASWELL";
#endif
  return "";
}

// The directory of the OpenMP build beside the one that is loaded, or "".
std::string openmp_build() {
  auto* parallel = loaded_function<int()>("openblas_get_parallel");
  constexpr int kOwnThreads = 1;
  if (parallel == nullptr || parallel() != kOwnThreads) return "";
  const fs::path directory = openblas_file().parent_path().parent_path() / "openblas-openmp";
  return fs::exists(directory / "libopenblas.so.0") ? directory.string() : "";
}

void set_default(const char* name, const std::string& value) {
  if (!value.empty()) setenv(name, value.c_str(), 0);
}

}  // namespace

void prepare_environment(char** argv, int threads) {
  if (std::getenv(kReady) != nullptr) return;
  setenv(kReady, "1", 1);
  setenv("OMP_NUM_THREADS", std::to_string(threads).c_str(), 1);
  setenv("OMP_DYNAMIC", "false", 1);
  set_default("OPENBLAS_CORETYPE", better_core());
  if (const std::string directory = openmp_build(); !directory.empty()) {
    std::string path = directory;
    if (const char* old = std::getenv("LD_LIBRARY_PATH")) path.append(":").append(old);
    setenv("LD_LIBRARY_PATH", path.c_str(), 1);
  }
  execv("/proc/self/exe", argv);  // returns only on failure; then the defaults are measured
}

std::vector<std::string> environment_settings() {
  std::vector<std::string> list;
  for (const char* name : {"OMP_NUM_THREADS", "OMP_DYNAMIC", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT",
                           "OPENBLAS_CORETYPE", "LD_LIBRARY_PATH", "OPENBNNS_TARGET"}) {
    if (const char* value = std::getenv(name)) list.push_back(std::string(name) + "=" + value);
  }
  if (const std::string core = openblas_core(); !core.empty()) {
    auto* parallel = loaded_function<int()>("openblas_get_parallel");
    constexpr int kOpenMp = 2;
    list.push_back("OpenBLAS kernels " + core + ", " +
                   (parallel != nullptr && parallel() == kOpenMp ? "OpenMP" : "own") +
                   " threads, " + openblas_file().string());
  }
  return list;
}

}  // namespace bench

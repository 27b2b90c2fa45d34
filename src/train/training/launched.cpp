// Finds out whether a launcher of MPI started this process, and loads the plug-in that can talk to
// it, so that the libraries and the program need no MPI where there is no launcher.
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "openbnns/openbnns.h"
#include "openbnns/train/communicator.hpp"
#include "openbnns/train/error.hpp"

namespace bnns::train {
namespace {

namespace fs = std::filesystem;

// What Open MPI's mpirun, PMI of MPICH and Slurm, and PMIx set for each process they start.
constexpr const char* kLaunchers[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};

const char* launcher() {
  for (const char* name : kLaunchers)
    if (std::getenv(name) != nullptr) return name;
  return nullptr;
}

// The folder of this library, or of the program that it is linked into.
fs::path own_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&launched_communicator), &info) == 0) return {};
  std::error_code error;
  const fs::path file = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : file.parent_path();
}

}  // namespace

std::unique_ptr<Communicator> launched_communicator() {
  const char* variable = launcher();
  if (variable == nullptr) return nullptr;
  const char* named = std::getenv("OPENBNNS_MPI_PLUGIN");
  const fs::path plugin = named != nullptr ? fs::path(named) : own_folder() / "libopenbnns_mpi.so";
  const std::string why =
      fmt::format("{} says that a launcher of MPI started this process", variable);
  // Never closed: MPI leaves handlers behind.
  void* const library = dlopen(plugin.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
  if (library == nullptr) {
    throw Error(Error::Kind::usage,
                fmt::format("{}, and the plug-in for MPI cannot be loaded: {}", why, dlerror()));
  }
  using Make = Communicator* (*)(const char* version);
  const auto make = reinterpret_cast<Make>(dlsym(library, "openbnns_make_communicator"));
  Communicator* const made = make != nullptr ? make(OpenBNNSGetVersion()) : nullptr;
  if (made == nullptr) {
    throw Error(Error::Kind::usage, plugin.string(),
                fmt::format("is not the plug-in of version {}", OpenBNNSGetVersion()));
  }
  return std::unique_ptr<Communicator>(made);
}

}  // namespace bnns::train

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

constexpr const char* kPlugin = "libopenbnns_mpi.so";
constexpr const char* kBinToLib = OPENBNNS_BIN_TO_LIB;

// What Open MPI's mpirun, PMI of MPICH and Slurm, and PMIx set for each process they start. PMIx
// itself tells no number of processes in the environment; Slurm, which uses it, does.
struct Launcher {
  const char *rank, *size;
};
constexpr Launcher kLaunchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
                                   {"PMI_RANK", "PMI_SIZE"},
                                   {"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}};

const Launcher* launcher() {
  for (const Launcher& launcher : kLaunchers)
    if (std::getenv(launcher.rank) != nullptr) return &launcher;
  return nullptr;
}

// MPI that cannot talk to the launcher takes each process for the only one, and all of them would
// train alone and write the same files.
void require_all_ranks(std::unique_ptr<Communicator>& ranks, const Launcher& launcher) {
  const char* const text = std::getenv(launcher.size);
  const std::size_t started = text != nullptr ? std::strtoul(text, nullptr, 10) : 0;
  const std::size_t found = ranks->size();
  if (found >= started) return;
  ranks.reset();  // while an error is on its way it would end the process
  throw Error(
      Error::Kind::usage,
      fmt::format("{} says that {} processes were started, and MPI finds {}: it cannot talk "
                  "to the launcher, which must be that of {}",
                  launcher.size, started, found,
                  "the MPI that the plug-in was built with, or srun --mpi=pmix"));
}

// The folder of this library, or of the program that it is linked into.
fs::path own_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&launched_communicator), &info) == 0) return {};
  // A program that was found by PATH has a name without a folder.
  const fs::path named = info.dli_fname;
  std::error_code error;
  const fs::path file = fs::canonical(named.has_parent_path() ? named : "/proc/self/exe", error);
  return error ? fs::path() : file.parent_path();
}

// Beside this library or, where a program was linked with a static one, in the folder of libraries
// that belongs to the program's. The first is named where there is none.
fs::path plugin_file() {
  const char* const named = std::getenv("OPENBNNS_MPI_PLUGIN");
  if (named != nullptr && *named != '\0') return named;
  const fs::path beside = own_folder() / kPlugin, of_program = own_folder() / kBinToLib / kPlugin;
  std::error_code ignored;
  return !fs::exists(beside, ignored) && fs::exists(of_program, ignored) ? of_program : beside;
}

}  // namespace

std::unique_ptr<Communicator> launched_communicator() {
  const Launcher* const found = launcher();
  if (found == nullptr) return nullptr;
  const fs::path plugin = plugin_file();
  const std::string why =
      fmt::format("{} says that a launcher of MPI started this process", found->rank);
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
  std::unique_ptr<Communicator> ranks(made);
  require_all_ranks(ranks, *found);
  return ranks;
}

}  // namespace bnns::train

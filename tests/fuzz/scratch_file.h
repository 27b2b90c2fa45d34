// Files that a fuzz target writes and the library reads: in memory, if the system has a place for
// them, and removed when the process ends.
#ifndef OPENBNNS_TESTS_FUZZ_SCRATCH_FILE_H
#define OPENBNNS_TESTS_FUZZ_SCRATCH_FILE_H

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace fuzz {

class ScratchFile {
 public:
  explicit ScratchFile(const std::string& name) {
    const std::filesystem::path memory = "/dev/shm";
    const std::filesystem::path folder =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    path_ = (folder / ("openbnns-fuzz-" + std::to_string(::getpid()) + "-" + name)).string();
  }
  ~ScratchFile() { std::filesystem::remove(path_); }
  ScratchFile(const ScratchFile&) = delete;

  // Returns the path.
  const std::string& write(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return path_;
  }

 private:
  std::string path_;
};

}  // namespace fuzz

#endif

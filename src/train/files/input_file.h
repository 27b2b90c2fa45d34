// A regular file that is read at given places. Failures are Errors of kind `file` with the path and
// the reason of the system.
#ifndef OPENBNNS_TRAIN_FILES_INPUT_FILE_H
#define OPENBNNS_TRAIN_FILES_INPUT_FILE_H

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "train/files/descriptor.h"

namespace bnns::train::impl {

class InputFile {
 public:
  // Pipes, devices and folders are refused: they have no size that could be trusted.
  explicit InputFile(const std::filesystem::path& path);

  const std::string& path() const { return path_; }
  // The size when it was opened.
  std::uint64_t size() const { return size_; }
  // Fills all of `bytes` from this place on; a file that has become shorter is an Error.
  void read(std::uint64_t place, std::span<std::byte> bytes) const;
  // The whole file; one above `limit` bytes is refused before it is read.
  std::vector<std::byte> read_all(std::uint64_t limit) const;

 private:
  std::string path_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
};

// The whole file; one above `limit` bytes is refused before it is read.
std::string read_text_file(const std::filesystem::path& path, std::size_t limit);

}  // namespace bnns::train::impl

#endif

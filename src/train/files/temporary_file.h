// A file without a name, in the folder $TMPDIR or, without that, in the system's for large files.
// It is gone with its owner, or with the process.
#ifndef OPENBNNS_TRAIN_FILES_TEMPORARY_FILE_H
#define OPENBNNS_TRAIN_FILES_TEMPORARY_FILE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "train/files/descriptor.h"

namespace bnns::train::impl {

class TemporaryFile {
 public:
  TemporaryFile();

  void append(std::span<const std::byte> bytes);
  void read(std::uint64_t place, std::span<std::byte> bytes) const;

 private:
  std::string folder_;
  FileDescriptor descriptor_;
};

}  // namespace bnns::train::impl

#endif

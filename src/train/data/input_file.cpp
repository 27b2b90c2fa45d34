#include "train/data/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <system_error>

#include "train/data/fail.h"

namespace bnns::train::impl {
namespace {

std::string reason(int error) {
  return std::generic_category().message(error);
}

void read_fully(int file, std::uint64_t offset, std::span<std::byte> bytes,
                const std::string& where) {
  while (!bytes.empty()) {
    const ssize_t count = pread(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      fail(Error::Kind::file, where, "cannot be read at byte {}: {}", offset, reason(errno));
    }
    if (count == 0) {
      fail(Error::Kind::file, where, "ends at byte {}; it was longer when it was opened", offset);
    }
    offset += static_cast<std::uint64_t>(count);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

// Never exists under a name where the file system allows that.
int open_unnamed(const std::string& folder) {
  int file = -1;
#ifdef O_TMPFILE
  file = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
  if (file < 0) {
    std::string name = folder + "/openbnns-XXXXXX";
    file = mkstemp(name.data());
    if (file >= 0) unlink(name.c_str());
  }
  return file;
}

}  // namespace

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) close(number_);
}

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  // Opening a pipe would wait for a writer without O_NONBLOCK.
  descriptor_ = FileDescriptor(open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (descriptor_.get() < 0 || fstat(descriptor_.get(), &status) != 0) {
    fail(Error::Kind::file, path_, "cannot be opened: {}", reason(errno));
  }
  if (!S_ISREG(status.st_mode)) {
    fail(Error::Kind::file, path_, "is {}; it must be a regular file",
         S_ISDIR(status.st_mode) ? "a folder" : "a pipe or a device");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  read_fully(descriptor_.get(), offset, bytes, path_);
}

std::vector<std::byte> InputFile::read_all(std::uint64_t limit) const {
  if (size_ > limit) {
    fail_data(path_, "has {} bytes; at most {} are read at once", size_, limit);
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(size_));
  read_at(0, bytes);
  return bytes;
}

TemporaryFile::TemporaryFile() {
  const char* folder = getenv("TMPDIR");
  folder_ = folder != nullptr && folder[0] != '\0' ? folder : "/var/tmp";
  descriptor_ = FileDescriptor(open_unnamed(folder_));
  if (descriptor_.get() < 0) {
    fail(Error::Kind::file, folder_, "no temporary file can be made there: {}", reason(errno));
  }
}

void TemporaryFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      fail(Error::Kind::file, folder_, "a temporary file cannot be written there: {}",
           reason(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void TemporaryFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  read_fully(descriptor_.get(), offset, bytes, folder_ + " (a temporary file)");
}

}  // namespace bnns::train::impl

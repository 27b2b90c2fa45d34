#include "train/files/temporary_file.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <unistd.h>

namespace bnns::train::impl {
namespace {

// Never exists under a name where the file system allows that.
int open_unnamed(const std::string& folder) {
  int number = -1;
#ifdef O_TMPFILE
  number = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
#endif
  if (number < 0) {
    std::string name = folder + "/openbnns-XXXXXX";
    number = ::mkstemp(name.data());
    if (number >= 0) ::unlink(name.c_str());
  }
  return number;
}

}  // namespace

TemporaryFile::TemporaryFile() {
  const char* folder = std::getenv("TMPDIR");
  folder_ = folder != nullptr && folder[0] != '\0' ? folder : "/var/tmp";
  descriptor_ = FileDescriptor(open_unnamed(folder_));
  if (descriptor_.get() < 0) fail_with_reason(folder_, "cannot make a temporary file", errno);
}

void TemporaryFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with_reason(folder_, "cannot write a temporary file", errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
  }
}

void TemporaryFile::read(std::uint64_t place, std::span<std::byte> bytes) const {
  descriptor_.read(place, bytes, folder_ + " (a temporary file)");
}

}  // namespace bnns::train::impl

#include "train/files/descriptor.h"

#include <cerrno>
#include <sys/types.h>
#include <system_error>
#include <unistd.h>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {

FileDescriptor::~FileDescriptor() {
  if (number_ >= 0) ::close(number_);
}

void FileDescriptor::read(std::uint64_t place, std::span<std::byte> bytes,
                          const std::string& where) const {
  while (!bytes.empty()) {
    const ssize_t count = ::pread(number_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_with_reason(where, "cannot read", errno);
    if (count == 0) {
      throw Error(Error::Kind::file, where,
                  "cannot read: it ends at byte " + std::to_string(place) +
                      "; it has become shorter since it was opened");
    }
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    place += static_cast<std::uint64_t>(count);
  }
}

void fail_with_reason(const std::string& where, const std::string& what, int code) {
  throw Error(Error::Kind::file, where, what + ": " + std::generic_category().message(code));
}

}  // namespace bnns::train::impl

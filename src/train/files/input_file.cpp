#include "train/files/input_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& text) {
  throw Error(Error::Kind::file, path.string(), "cannot read: " + text);
}

std::string reason(int code) {
  return std::generic_category().message(code);
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : path_(path) {
  do {
    // Without O_NONBLOCK, opening a pipe would wait for somebody who writes.
    number_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (number_ < 0 && errno == EINTR);
  if (number_ < 0) fail(path, reason(errno));
  struct stat status;
  const int code = ::fstat(number_, &status) == 0 ? 0 : errno;
  if (code != 0 || !S_ISREG(status.st_mode)) {
    ::close(number_);
    if (code != 0) fail(path, reason(code));
    fail(path, S_ISDIR(status.st_mode) ? "it is a folder" : "it is no regular file");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
}

InputFile::~InputFile() {
  ::close(number_);
}

void InputFile::read(std::uint64_t place, std::span<std::byte> bytes) const {
  if (place > size_ || bytes.size() > size_ - place) {
    fail(path_, "bytes from " + std::to_string(place) + " on are beyond its end");
  }
  while (!bytes.empty()) {
    const ssize_t count = ::pread(number_, bytes.data(), bytes.size(), static_cast<off_t>(place));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(path_, reason(errno));
    if (count == 0) fail(path_, "it has become shorter than " + std::to_string(size_) + " bytes");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    place += static_cast<std::uint64_t>(count);
  }
}

std::string read_text_file(const std::filesystem::path& path, std::size_t limit) {
  const InputFile file(path);
  if (file.size() > limit) {
    fail(path, "it has " + std::to_string(file.size()) + " bytes; at most " +
                   std::to_string(limit) + " are allowed");
  }
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace bnns::train::impl

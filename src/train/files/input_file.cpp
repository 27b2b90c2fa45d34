#include "train/files/input_file.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

[[noreturn]] void fail(const std::string& path, const std::string& text) {
  throw Error(Error::Kind::file, path, "cannot read: " + text);
}

void check_limit(const InputFile& file, std::uint64_t limit) {
  if (file.size() <= limit) return;
  fail(file.path(), "it has " + std::to_string(file.size()) + " bytes; at most " +
                        std::to_string(limit) + " are allowed");
}

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : path_(path.string()) {
  int number = -1;
  do {
    // Without O_NONBLOCK, opening a pipe would wait for somebody who writes.
    number = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  } while (number < 0 && errno == EINTR);
  if (number < 0) fail_with_reason(path_, "cannot read", errno);
  descriptor_ = FileDescriptor(number);
  struct stat status;
  if (::fstat(number, &status) != 0) fail_with_reason(path_, "cannot read", errno);
  if (S_ISDIR(status.st_mode)) fail(path_, "it is a folder");
  if (!S_ISREG(status.st_mode)) fail(path_, "it is no regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
}

void InputFile::read(std::uint64_t place, std::span<std::byte> bytes) const {
  if (place > size_ || bytes.size() > size_ - place) {
    fail(path_, "bytes from " + std::to_string(place) + " on are beyond its end");
  }
  descriptor_.read(place, bytes, path_);
}

std::vector<std::byte> InputFile::read_all(std::uint64_t limit) const {
  check_limit(*this, limit);
  std::vector<std::byte> bytes(static_cast<std::size_t>(size_));
  read(0, bytes);
  return bytes;
}

std::string read_text_file(const std::filesystem::path& path, std::size_t limit) {
  const InputFile file(path);
  check_limit(file, limit);
  std::string text(static_cast<std::size_t>(file.size()), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace bnns::train::impl

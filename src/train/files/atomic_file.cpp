#include "train/files/atomic_file.h"

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& text) {
  throw Error(Error::Kind::file, path.string(), text);
}

[[noreturn]] void fail_system(const std::filesystem::path& path, const std::string& text,
                              int code) {
  fail(path, text + ": " + std::generic_category().message(code));
}

// An open file that is closed at the end.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int number() const { return number_; }
  // 0 or -1 with errno. Linux closes the file even if it was interrupted.
  int close() {
    const int number = std::exchange(number_, -1);
    return number < 0 || ::close(number) == 0 || errno == EINTR ? 0 : -1;
  }

 private:
  int number_;
};

// Removes a file at the end unless it was renamed.
class TemporaryName {
 public:
  explicit TemporaryName(std::filesystem::path path) : path_(std::move(path)) {}
  ~TemporaryName() {
    if (!renamed_) ::unlink(path_.c_str());
  }
  TemporaryName(const TemporaryName&) = delete;
  TemporaryName& operator=(const TemporaryName&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void renamed() { renamed_ = true; }

 private:
  std::filesystem::path path_;
  bool renamed_ = false;
};

// What is replaced: where it lies, and its permissions if it exists.
struct Target {
  std::filesystem::path path, folder;
  bool exists = false;
  mode_t permissions = 0;
};

Target find_target(const std::filesystem::path& path) {
  Target target{.path = path, .folder = {}};
  if (path.filename().empty() || path.filename() == "." || path.filename() == "..") {
    fail(path, "this is no name of a file");
  }
  struct stat status;
  if (::stat(path.c_str(), &status) == 0) {
    if (S_ISDIR(status.st_mode)) fail(path, "cannot write: it is a folder");
    if (!S_ISREG(status.st_mode)) fail(path, "cannot write: it is no regular file");
    if (::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0)
      fail_system(path, "cannot write", errno);
    target.exists = true;
    target.permissions = status.st_mode & 07777;
    std::error_code code;
    target.path = std::filesystem::canonical(path, code);
    if (code) fail_system(path, "cannot write", code.value());
  } else if (errno != ENOENT) {
    fail_system(path, "cannot write", errno);
  }
  target.folder = target.path.parent_path();
  if (target.folder.empty()) target.folder = ".";
  return target;
}

std::string random_name(const std::filesystem::path& path) {
  std::uint64_t bits = 0;
  while (::getrandom(&bits, sizeof bits, 0) != static_cast<ssize_t>(sizeof bits)) {
    if (errno != EINTR) fail_system(path, "no random name for a temporary file", errno);
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string name = ".openbnns-";
  for (int i = 0; i < 16; ++i, bits >>= 4) name += kDigits[bits & 15];
  return name + ".tmp";
}

int open_new(const std::filesystem::path& temporary) {
  int number;
  do {
    number = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  } while (number < 0 && errno == EINTR);
  return number;
}

int flush(int number) {
  int result;
  do {
    result = ::fsync(number);
  } while (result != 0 && errno == EINTR);
  return result;
}

void write_all(const std::filesystem::path& path, int number, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(number, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_system(path, "cannot write", errno);
    if (written == 0) fail(path, "cannot write: the system takes no more bytes");
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

void flush_folder(const Target& target, const std::filesystem::path& path) {
  const Descriptor folder(::open(target.folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that may be written but not read cannot be opened; some file systems have no flush of
  // folders. The file is complete in either case.
  if (folder.number() < 0) return;
  if (flush(folder.number()) != 0 && errno != EINVAL && errno != ENOTSUP) {
    fail_system(path, "written, but its folder could not be flushed to the disk", errno);
  }
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> parts) {
  const Target target = find_target(path);
  std::filesystem::path name;
  int number = -1;
  for (int attempt = 0; attempt < 8 && number < 0; ++attempt) {
    name = target.folder / random_name(path);
    number = open_new(name);
    if (number < 0 && errno != EEXIST) break;
  }
  if (number < 0) {
    fail_system(path, "cannot create a file in folder " + target.folder.string(), errno);
  }
  Descriptor file(number);
  TemporaryName temporary(name);
  if (target.exists && ::fchmod(number, target.permissions) != 0) {
    fail_system(path, "cannot set the permissions of the new file", errno);
  }
  for (const std::span<const std::byte> part : parts) write_all(path, number, part);
  if (flush(number) != 0) fail_system(path, "cannot flush to the disk", errno);
  if (file.close() != 0) fail_system(path, "cannot close", errno);
  if (::rename(temporary.path().c_str(), target.path.c_str()) != 0) {
    fail_system(path, "cannot rename the new file", errno);
  }
  temporary.renamed();
  flush_folder(target, path);
}

void write_file_atomically(const std::filesystem::path& path, std::string_view text) {
  const std::span<const std::byte> part = std::as_bytes(std::span(text));
  write_file_atomically(path, std::span(&part, 1));
}

}  // namespace bnns::train::impl

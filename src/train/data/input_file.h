// A regular file that is read at any place, and temporary files that vanish with their owner.
#ifndef OPENBNNS_TRAIN_DATA_INPUT_FILE_H
#define OPENBNNS_TRAIN_DATA_INPUT_FILE_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace bnns::train::impl {

class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor();

  int get() const { return number_; }

 private:
  int number_;
};

class InputFile {
 public:
  // Refuses what is not a regular file: a folder, a pipe, a device.
  explicit InputFile(std::string path);

  const std::string& path() const { return path_; }
  // When it was opened.
  std::uint64_t size() const { return size_; }
  // Fills all of bytes. A file that has become shorter is an error.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;
  // The whole file; refused if it is longer than limit.
  std::vector<std::byte> read_all(std::uint64_t limit) const;

 private:
  std::string path_;
  FileDescriptor descriptor_;
  std::uint64_t size_ = 0;
};

// A file without a name, in the folder $TMPDIR or, without that, in the system's for large files.
class TemporaryFile {
 public:
  TemporaryFile();

  void append(std::span<const std::byte> bytes);
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string folder_;
  FileDescriptor descriptor_;
};

}  // namespace bnns::train::impl

#endif

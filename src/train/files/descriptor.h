// The number of an open file, which is closed with its owner.
#ifndef OPENBNNS_TRAIN_FILES_DESCRIPTOR_H
#define OPENBNNS_TRAIN_FILES_DESCRIPTOR_H

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

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
  // Fills all of `bytes` from this place on. `where` stands in errors.
  void read(std::uint64_t place, std::span<std::byte> bytes, const std::string& where) const;

 private:
  int number_;
};

// Throws an Error of kind `file`: what cannot be done, and the reason of the system.
[[noreturn]] void fail_with_reason(const std::string& where, const std::string& what, int code);

}  // namespace bnns::train::impl

#endif

// IDX files, the format of MNIST: two zero bytes, a type, a rank, the dimensions as big-endian
// 32-bit numbers, then all elements. Plain files are read where they lie; packed ones are unpacked
// into memory or, beyond a limit, into a temporary file.
#ifndef OPENBNNS_TRAIN_DATA_IDX_H
#define OPENBNNS_TRAIN_DATA_IDX_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "train/content_hash.h"
#include "train/files/input_file.h"
#include "train/files/temporary_file.h"

namespace bnns::train::impl {

struct IdxType {
  std::uint8_t code;
  std::size_t bytes;
  std::string_view name;
  bool is_integer;
  double (*value)(std::uint64_t bits);
};

class IdxFile {
 public:
  // Checks the header, and that the file holds what the header declares, no more and no less.
  IdxFile(const std::string& path, std::size_t memory_limit);

  const std::string& path() const { return file_.path(); }
  const IdxType& type() const { return *type_; }
  const std::vector<std::size_t>& dimensions() const { return dimensions_; }
  std::size_t size() const { return dimensions_[0]; }
  // Elements of one sample.
  std::size_t sample_count() const { return sample_count_; }
  // All elements as they are stored, packed or not.
  void add_to(ContentHash& hash) const;
  // One element of a sample as it is stored.
  double element(std::size_t index, std::size_t i = 0) const;
  // All elements of a sample: bytes as pixels in [0, 1], other types as they are, if finite.
  void read(std::size_t index, std::span<float> elements) const;

 private:
  void read_header(std::span<const std::byte> bytes);
  void unpack(std::size_t memory_limit);
  void read_bytes(std::uint64_t offset, std::span<std::byte> bytes) const;
  std::span<const std::byte> sample_bytes(std::size_t index) const;

  InputFile file_;
  const IdxType* type_ = nullptr;
  std::vector<std::size_t> dimensions_;
  std::size_t sample_count_ = 1;
  std::uint64_t header_bytes_ = 0, element_bytes_ = 0;
  // The elements of a packed file, in one of the two.
  std::unique_ptr<std::byte[]> memory_;
  std::unique_ptr<TemporaryFile> temporary_;
  mutable std::vector<std::byte> buffer_;
};

}  // namespace bnns::train::impl

#endif

// Unpacks a gzip file from its beginning to its end, in pieces.
#ifndef OPENBNNS_TRAIN_DATA_GZIP_H
#define OPENBNNS_TRAIN_DATA_GZIP_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "train/files/input_file.h"

namespace bnns::train::impl {

// No gzip file unpacks to more than this multiple of its size.
inline constexpr std::uint64_t kLargestGzipRatio = 1032;

bool is_gzip(const InputFile& file);

class GzipReader {
 public:
  // The file must outlive the reader.
  explicit GzipReader(const InputFile& file);
  ~GzipReader();

  // Fills bytes from the front and returns how many there were: fewer only at the end of the data.
  // Throws Error if the data is truncated or corrupt, or if anything follows it.
  std::size_t read(std::span<std::byte> bytes);

 private:
  struct Stream;

  bool refill();

  const InputFile& file_;
  std::unique_ptr<Stream> stream_;
  std::uint64_t offset_ = 0;
  bool finished_ = false;
};

}  // namespace bnns::train::impl

#endif

#include "train/data/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "train/data/fail.h"
#include "train/data/gzip.h"

namespace bnns::train::impl {
namespace {

constexpr std::size_t kMaxRank = 4;
constexpr std::size_t kMaxSampleCount = std::size_t{1} << 26;

template <class Stored, class Bits>
double value_of(std::uint64_t bits) {
  return static_cast<double>(std::bit_cast<Stored>(static_cast<Bits>(bits)));
}

constexpr std::uint8_t kPixels = 0x08;

constexpr IdxType kTypes[] = {
    {kPixels, 1, "unsigned byte", true, value_of<std::uint8_t, std::uint8_t>},
    {0x09, 1, "signed byte", true, value_of<std::int8_t, std::uint8_t>},
    {0x0B, 2, "16-bit integer", true, value_of<std::int16_t, std::uint16_t>},
    {0x0C, 4, "32-bit integer", true, value_of<std::int32_t, std::uint32_t>},
    {0x0D, 4, "float", false, value_of<float, std::uint32_t>},
    {0x0E, 8, "double", false, value_of<double, std::uint64_t>},
};

std::uint64_t big_endian(std::span<const std::byte> bytes) {
  std::uint64_t value = 0;
  for (const std::byte b : bytes) value = value << 8 | std::to_integer<std::uint64_t>(b);
  return value;
}

}  // namespace

IdxFile::IdxFile(const std::string& path, std::size_t memory_limit) : file_(path) {
  if (is_gzip(file_)) {
    unpack(memory_limit);
    return;
  }
  std::array<std::byte, 4 + 4 * kMaxRank> header;
  const auto begin = std::span(header).first(
      static_cast<std::size_t>(std::min<std::uint64_t>(header.size(), file_.size())));
  file_.read(0, begin);
  read_header(begin);
  const std::uint64_t declared = header_bytes_ + element_bytes_;
  if (file_.size() < declared) {
    fail_data(file_.path(), "its header declares {} bytes; the file has {}", declared,
              file_.size());
  }
  if (file_.size() > declared) {
    fail_data(file_.path(), "{} bytes follow the {} that its header declares; nothing may",
              file_.size() - declared, declared);
  }
}

void IdxFile::read_header(std::span<const std::byte> bytes) {
  const std::string& where = file_.path();
  if (bytes.size() < 4) {
    fail_data(where, "has {} bytes; the header of an IDX file has at least 8", bytes.size());
  }
  const std::uint64_t magic = big_endian(bytes.first(4));
  const std::size_t rank = magic & 0xFF;
  if (magic >> 16 != 0) {
    fail_data(where, "magic is 0x{:08X}; an IDX file begins with two zero bytes", magic);
  }
  const auto type =
      std::ranges::find(kTypes, static_cast<std::uint8_t>(magic >> 8), &IdxType::code);
  if (type == std::end(kTypes)) {
    fail_data(where, "magic is 0x{:08X}; the type 0x{:02X} is none of 08, 09, 0B, 0C, 0D, 0E",
              magic, magic >> 8);
  }
  if (rank < 1 || rank > kMaxRank) {
    fail_data(where, "magic is 0x{:08X}; the rank {} is not between 1 and {}", magic, rank,
              kMaxRank);
  }
  type_ = &*type;
  header_bytes_ = 4 + 4 * rank;
  if (bytes.size() < header_bytes_) {
    fail_data(where, "has {} bytes; a header of rank {} has {}", bytes.size(), rank, header_bytes_);
  }
  for (std::size_t i = 0; i < rank; ++i) {
    const std::uint64_t dimension = big_endian(bytes.subspan(4 + 4 * i, 4));
    if (dimension == 0) fail_data(where, "dimension {} is 0; it must be at least 1", i);
    dimensions_.push_back(static_cast<std::size_t>(dimension));
    if (i == 0) continue;
    // Both factors are below 2^32: the product cannot overflow.
    sample_count_ *= dimensions_[i];
    if (sample_count_ > kMaxSampleCount) {
      fail_data(where, "dimension {} is {}, so that a sample has more than {} elements", i,
                dimension, kMaxSampleCount);
    }
  }
  element_bytes_ = std::uint64_t{dimensions_[0]} * sample_count_ * type_->bytes;
}

void IdxFile::unpack(std::size_t memory_limit) {
  GzipReader reader(file_);
  std::array<std::byte, 4 + 4 * kMaxRank> header;
  const std::size_t first = reader.read(std::span(header).first(4));
  const std::size_t rank = std::min(std::to_integer<std::size_t>(header[3]), kMaxRank);
  const std::size_t more = first < 4 ? 0 : reader.read(std::span(header).subspan(4, 4 * rank));
  read_header(std::span(header).first(first + more));
  if (element_bytes_ / kLargestGzipRatio > file_.size()) {
    fail_data(file_.path(),
              "its header declares {} bytes; a gzip file of {} bytes cannot hold so many",
              element_bytes_, file_.size());
  }
  std::vector<std::byte> piece;
  if (element_bytes_ <= memory_limit) {
    // Not touched before data arrives: a small file that declares much does not cost much.
    memory_ = std::make_unique_for_overwrite<std::byte[]>(static_cast<std::size_t>(element_bytes_));
  } else {
    temporary_ = std::make_unique<TemporaryFile>();
    piece.resize(1 << 16);
  }
  for (std::uint64_t done = 0; done < element_bytes_;) {
    const std::uint64_t left = element_bytes_ - done;
    const std::span<std::byte> to =
        memory_ ? std::span(memory_.get() + done, static_cast<std::size_t>(left))
                : std::span(piece).first(std::min<std::uint64_t>(left, piece.size()));
    const std::size_t count = reader.read(to);
    if (count < to.size()) {
      fail_data(file_.path(), "its header declares {} bytes of elements; unpacked it has {}",
                element_bytes_, done + count);
    }
    if (temporary_) temporary_->append(to);
    done += count;
  }
  std::array<std::byte, 1> end;
  if (reader.read(end) != 0) {
    fail_data(file_.path(), "unpacked, bytes follow the {} that its header declares; nothing may",
              header_bytes_ + element_bytes_);
  }
}

void IdxFile::read_bytes(std::uint64_t offset, std::span<std::byte> bytes) const {
  if (memory_) {
    std::copy_n(memory_.get() + offset, bytes.size(), bytes.begin());
  } else if (temporary_) {
    temporary_->read(offset, bytes);
  } else {
    file_.read(header_bytes_ + offset, bytes);
  }
}

void IdxFile::add_to(ContentHash& hash) const {
  hash.add(type_->code);
  add_pieces(hash, element_bytes_, [this](std::uint64_t offset, std::span<std::byte> bytes) {
    read_bytes(offset, bytes);
  });
}

std::span<const std::byte> IdxFile::sample_bytes(std::size_t index) const {
  const std::size_t count = sample_count_ * type_->bytes;
  buffer_.resize(count);
  read_bytes(std::uint64_t{index} * count, buffer_);
  return buffer_;
}

double IdxFile::element(std::size_t index, std::size_t i) const {
  return type_->value(big_endian(sample_bytes(index).subspan(i * type_->bytes, type_->bytes)));
}

void IdxFile::read(std::size_t index, std::span<float> elements) const {
  const std::span<const std::byte> bytes = sample_bytes(index);
  const bool pixels = type_->code == kPixels;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (pixels) {
      elements[i] = static_cast<float>(std::to_integer<int>(bytes[i])) / 255.0f;
      continue;
    }
    const double value = type_->value(big_endian(bytes.subspan(i * type_->bytes, type_->bytes)));
    if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
      fail_data(path(), "element {} of sample {} is {}; it must be a finite float", i, index,
                value);
    }
    elements[i] = static_cast<float>(value);
  }
}

}  // namespace bnns::train::impl

// PGM (P2, P5) and PPM (P3, P6), with one or two bytes per value. A file may hold further pictures
// after the first; they are ignored.
#include <algorithm>

#include "train/data/fail.h"
#include "train/data/image.h"

namespace bnns::train::impl {
namespace {

constexpr std::uint32_t kLargestNumber = 1u << 30;

class PnmText {
 public:
  PnmText(std::span<const std::byte> bytes, std::size_t place, const std::string& where)
      : bytes_(bytes), place_(place), where_(where) {}

  std::size_t place() const { return place_; }

  // The next number, after blanks and comments, which reach from # to the end of a line.
  std::uint32_t number(const char* name) {
    skip_blanks();
    const std::size_t begin = place_;
    std::uint32_t value = 0;
    for (; place_ < bytes_.size() && is_digit(); ++place_) {
      value = value * 10 + static_cast<std::uint32_t>(current() - '0');
      if (value > kLargestNumber) fail_data(where_, "{} is above {}", name, kLargestNumber);
    }
    if (place_ == begin && place_ == bytes_.size()) {
      fail_data(where_, "the data ends at byte {} where {} is expected", place_, name);
    }
    if (place_ == begin) {
      fail_data(where_, "byte {} is 0x{:02X} where {} is expected; it must be a number", place_,
                static_cast<unsigned>(current()), name);
    }
    return value;
  }

  // The one blank between the header and binary values.
  void single_blank() {
    if (place_ >= bytes_.size() || !is_blank()) {
      fail_data(where_, "byte {} is no blank; one must stand between header and values", place_);
    }
    ++place_;
  }

 private:
  int current() const { return std::to_integer<int>(bytes_[place_]); }
  bool is_digit() const { return current() >= '0' && current() <= '9'; }
  bool is_blank() const { return current() == ' ' || (current() >= '\t' && current() <= '\r'); }
  void skip_blanks() {
    while (place_ < bytes_.size() && (is_blank() || current() == '#')) {
      if (current() == '#') {
        while (place_ < bytes_.size() && current() != '\n' && current() != '\r') ++place_;
      } else {
        ++place_;
      }
    }
  }

  std::span<const std::byte> bytes_;
  std::size_t place_;
  const std::string& where_;
};

}  // namespace

PnmHeader read_pnm_header(std::span<const std::byte> bytes, const std::string& where) {
  const char kind = static_cast<char>(bytes[1]);
  if (kind != '2' && kind != '3' && kind != '5' && kind != '6') {
    fail_data(where, "it is of kind P{}; P2, P3, P5 and P6 are read", kind);
  }
  PnmHeader header{.is_text = kind == '2' || kind == '3'};
  PnmText text(bytes, 2, where);
  header.shape = {.width = text.number("the width"),
                  .height = text.number("the height"),
                  .channels = kind == '3' || kind == '6' ? 3u : 1u};
  header.largest = text.number("the largest value");
  if (header.largest < 1 || header.largest > 65535) {
    fail_data(where, "the largest value is {}; it must be between 1 and 65535", header.largest);
  }
  if (!header.is_text) text.single_blank();
  header.bytes = text.place();
  return header;
}

void decode_pnm(std::span<const std::byte> bytes, const std::string& where, RowSink& sink) {
  const PnmHeader header = read_pnm_header(bytes, where);
  check_image_shape(where, header.shape, false);
  const std::size_t row_count = header.shape.width * header.shape.channels;
  const std::size_t value_bytes = header.largest > 255 ? 2 : 1;
  const std::span<const std::byte> data = bytes.subspan(header.bytes);
  // A value of text takes a digit and a blank, except for the last blank.
  const std::uint64_t total = std::uint64_t{row_count} * header.shape.height;
  const std::uint64_t needed = header.is_text ? 2 * total - 1 : total * value_bytes;
  if (data.size() < needed) {
    fail_data(where,
              "the picture is {} x {} pixels and needs at least {} bytes; {} follow the header",
              header.shape.width, header.shape.height, needed, data.size());
  }
  sink.begin(header.shape);
  PnmText text(bytes, header.bytes, where);
  std::vector<std::uint16_t> row(row_count);
  for (std::size_t y = 0; y < header.shape.height; ++y) {
    for (std::size_t i = 0; i < row_count; ++i) {
      std::uint32_t value = 0;
      if (header.is_text) {
        value = text.number("a value");
      } else {
        const std::byte* stored = &data[(y * row_count + i) * value_bytes];
        for (std::size_t k = 0; k < value_bytes; ++k) {
          value = value << 8 | std::to_integer<std::uint32_t>(stored[k]);
        }
      }
      if (value > header.largest) {
        fail_data(where, "value {} of row {} is {}; the largest is {}", i, y, value,
                  header.largest);
      }
      row[i] = static_cast<std::uint16_t>((value * 65535 + header.largest / 2) / header.largest);
    }
    sink.row(row);
  }
}

}  // namespace bnns::train::impl

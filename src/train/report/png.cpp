#include "train/report/png.h"

#include <string_view>
#include <zlib.h>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {
namespace {

void append_big_endian(std::string& bytes, std::uint64_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
}

void append_chunk(std::string& png, std::string_view type, const std::string& data) {
  append_big_endian(png, data.size());
  const std::string content = std::string(type) + data;
  png += content;
  append_big_endian(png, ::crc32(0, reinterpret_cast<const Bytef*>(content.data()),
                                 static_cast<uInt>(content.size())));
}

std::string compressed(const std::string& bytes) {
  uLongf size = ::compressBound(static_cast<uLong>(bytes.size()));
  std::string result(size, '\0');
  const int status = ::compress2(reinterpret_cast<Bytef*>(result.data()), &size,
                                 reinterpret_cast<const Bytef*>(bytes.data()),
                                 static_cast<uLong>(bytes.size()), Z_BEST_COMPRESSION);
  if (status != Z_OK) throw Error(Error::Kind::file, "report", "zlib has no memory for a picture");
  result.resize(size);
  return result;
}

std::string base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      group = group << 8 | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0u);
    }
    for (std::size_t j = 0; j < 4; ++j) {
      text += i + j <= bytes.size() ? kDigits[group >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

}  // namespace

std::string png_data_uri(std::size_t width, std::size_t height, std::size_t channels,
                         std::span<const std::uint8_t> pixels) {
  std::string header;
  append_big_endian(header, width);
  append_big_endian(header, height);
  header += {8, static_cast<char>(channels == 3 ? 2 : 0), 0, 0, 0};  // bits, grey or RGB

  std::string rows;
  const std::size_t row_bytes = width * channels;
  for (std::size_t y = 0; y < height; ++y) {
    rows += '\0';  // a row that is stored as it is
    for (std::size_t i = 0; i < row_bytes; ++i) {
      rows += static_cast<char>(pixels[y * row_bytes + i]);
    }
  }
  std::string png = "\x89PNG\r\n\x1A\n";
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", compressed(rows));
  append_chunk(png, "IEND", {});
  return "data:image/png;base64," + base64(png);
}

}  // namespace bnns::train::impl

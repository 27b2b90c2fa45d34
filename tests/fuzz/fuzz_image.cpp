// Any bytes as a picture. The first byte says what is made of the others: the file itself; the file
// behind the first bytes of a format; a PNG file whose checksums are made right; the pixels of a
// PNG file, packed by the target. It is refused with an Error of kind `data`, or all values are in
// [0, 1], from the header alone the same size is found, and a second reading gives the same bits.
#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "openbnns/train/error.hpp"
#include "scratch_file.h"
#include "train/data/image.h"
#include "train/data/resample.h"

namespace {

using namespace bnns::train;
using namespace bnns::train::impl;

std::string number(std::uint64_t value) {
  std::string text;
  for (int i = 3; i >= 0; --i) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

std::string chunk(std::string_view type, std::string_view data) {
  const std::string body = std::string(type) + std::string(data);
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size()));
  return number(data.size()) + body + number(crc);
}

constexpr std::string_view kPng = "\x89PNG\r\n\x1A\n";

// Chunks of the input: a type, a length of one byte, the data.
std::string png_of_chunks(std::string_view bytes) {
  constexpr std::string_view kTypes[] = {"IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA",
                                         "sRGB", "iCCP", "tEXt", "zTXt", "bKGD", "acTL"};
  std::string file(kPng);
  while (bytes.size() >= 2) {
    const std::size_t count =
        std::min<std::size_t>(static_cast<unsigned char>(bytes[1]), bytes.size() - 2);
    file += chunk(kTypes[static_cast<unsigned char>(bytes[0]) % std::size(kTypes)],
                  bytes.substr(2, count));
    bytes.remove_prefix(2 + count);
  }
  return file;
}

std::string png_of_pixels(std::string_view bytes) {
  if (bytes.size() < 6) return std::string(bytes);
  std::string header =
      number(static_cast<unsigned char>(bytes[0])) + number(static_cast<unsigned char>(bytes[1]));
  for (const char c : {bytes[2], bytes[3], '\0', '\0', static_cast<char>(bytes[4] & 1)})
    header += c;
  const std::size_t palette =
      std::min<std::size_t>(static_cast<unsigned char>(bytes[5]), bytes.size() - 6);
  const std::string_view colours = bytes.substr(6, palette), pixels = bytes.substr(6 + palette);
  std::string packed(compressBound(pixels.size()), '\0');
  uLongf count = packed.size();
  compress2(reinterpret_cast<Bytef*>(packed.data()), &count,
            reinterpret_cast<const Bytef*>(pixels.data()), pixels.size(), 1);
  packed.resize(count);
  return std::string(kPng) + chunk("IHDR", header) + (palette > 0 ? chunk("PLTE", colours) : "") +
         chunk("IDAT", packed) + chunk("IEND", "");
}

std::string file_of(unsigned kind, std::string_view bytes) {
  switch (kind % 6) {
    case 0:
      return std::string(bytes);
    case 1:
      return "P" + std::string(bytes);
    case 2:
      return "\xFF\xD8" + std::string(bytes);
    case 3:
      return std::string(kPng) + std::string(bytes);
    case 4:
      return png_of_chunks(bytes);
    default:
      return png_of_pixels(bytes);
  }
}

class ShapeOf final : public RowSink {
 public:
  void begin(SampleShape shape) override { shape_ = shape; }
  void row(std::span<const std::uint16_t> values) override {
    if (values.size() != shape_.width * shape_.channels) std::abort();
    ++rows_;
  }
  bool matches(SampleShape shape) const {
    return shape.width == shape_.width && shape.height == shape_.height && rows_ == shape.height;
  }

 private:
  SampleShape shape_;
  std::size_t rows_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::ScratchFile file("picture");
  if (size == 0) return 0;
  const std::string bytes = file_of(data[0], {reinterpret_cast<const char*>(data + 1), size - 1});
  const std::string& path = file.write(bytes);
  try {
    const SampleShape shape = {.width = 5, .height = 3, .channels = (data[0] & 8) != 0 ? 3u : 1u};
    std::vector<float> values(shape.count(), -1), again(shape.count(), -1);
    read_image_values(path, shape, true, values);
    read_image_values(path, shape, true, again);
    if (values != again) std::abort();
    if (!std::ranges::all_of(values, [](float v) { return v >= 0 && v <= 1; })) std::abort();
    ShapeOf sink;
    decode_image(std::as_bytes(std::span(bytes)), path, sink);
    if (!sink.matches(read_image_shape(InputFile(path)))) std::abort();
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::data) std::abort();
  }
  return 0;
}

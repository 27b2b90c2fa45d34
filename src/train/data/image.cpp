#include "train/data/image.h"

#include <algorithm>
#include <array>

#include "train/data/fail.h"
#include "train/data/resample.h"

namespace bnns::train::impl {
namespace {

constexpr std::array<unsigned char, 8> kPngSignature = {0x89, 'P',  'N',  'G',
                                                        '\r', '\n', 0x1A, '\n'};

enum class Format { png, jpeg, pnm };

unsigned byte_at(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<unsigned>(bytes[i]);
}

std::size_t number_at(std::span<const std::byte> bytes, std::size_t i, std::size_t count) {
  std::size_t value = 0;
  for (std::size_t k = 0; k < count; ++k) value = value << 8 | byte_at(bytes, i + k);
  return value;
}

// By the first bytes; the ending of the name means nothing.
Format format_of(std::span<const std::byte> bytes, const std::string& where) {
  const auto equal = [](unsigned char a, std::byte b) { return a == std::to_integer<int>(b); };
  if (bytes.size() >= kPngSignature.size() &&
      std::equal(kPngSignature.begin(), kPngSignature.end(), bytes.begin(), equal)) {
    return Format::png;
  }
  if (bytes.size() >= 2 && number_at(bytes, 0, 2) == 0xFFD8) return Format::jpeg;
  if (bytes.size() >= 2 && byte_at(bytes, 0) == 'P' && byte_at(bytes, 1) >= '1' &&
      byte_at(bytes, 1) <= '7') {
    return Format::pnm;
  }
  if (bytes.empty()) fail_data(where, "the file is empty; it must be a picture");
  fail_data(where, "it begins with the bytes {:02X}; it must be PNG, JPEG, PGM or PPM",
            fmt::join(bytes.first(std::min<std::size_t>(bytes.size(), 4)), " "));
}

SampleShape png_shape(std::span<const std::byte> bytes, const std::string& where) {
  constexpr std::size_t kHeader = 8 + 8 + 13;
  if (bytes.size() < kHeader || number_at(bytes, 12, 4) != 0x49484452) {
    fail_data(where, "the PNG data has no header chunk (IHDR) at its beginning");
  }
  constexpr unsigned kColour = 2;  // a bit of the colour type; palettes have it too
  return {.width = number_at(bytes, 16, 4),
          .height = number_at(bytes, 20, 4),
          .channels = (byte_at(bytes, 25) & kColour) != 0 ? 3u : 1u};
}

// Goes from marker to marker until the one that holds the size.
SampleShape jpeg_shape(const InputFile& file) {
  std::array<std::byte, 10> bytes;
  std::uint64_t offset = 2;
  while (offset + bytes.size() <= file.size()) {
    file.read(offset, bytes);
    const unsigned marker = byte_at(bytes, 1);
    if (byte_at(bytes, 0) != 0xFF) break;
    if (marker == 0xFF) {  // padding
      ++offset;
      continue;
    }
    const bool is_frame =
        marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (is_frame) {
      return {.width = number_at(bytes, 7, 2),
              .height = number_at(bytes, 5, 2),
              .channels = byte_at(bytes, 9) == 1 ? 1u : 3u};
    }
    if (marker == 0xD9 || marker == 0xDA) break;
    const bool has_length = marker != 0x01 && !(marker >= 0xD0 && marker <= 0xD8);
    offset += 2 + (has_length ? number_at(bytes, 2, 2) : 0);
  }
  fail_data(file.path(), "the JPEG data has no header with the size of the picture (SOF)");
}

}  // namespace

void check_image_shape(const std::string& where, SampleShape shape, bool buffered) {
  if (shape.width == 0 || shape.height == 0) {
    fail_data(where, "the picture is {} x {} pixels; it must have at least one", shape.width,
              shape.height);
  }
  const std::uint64_t limit = buffered ? kMaxBufferedPixels : kMaxPixels;
  if (shape.width > limit / shape.height) {
    fail_data(where, "the picture is {} x {} pixels; {} at most {} are read", shape.width,
              shape.height, buffered ? "of an interlaced or progressive one" : "of any", limit);
  }
}

SampleShape read_image_shape(const InputFile& file) {
  std::array<std::byte, 4096> buffer;
  const std::span<const std::byte> bytes = std::span(buffer).first(
      static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file.size())));
  file.read(0, std::span(buffer).first(bytes.size()));
  SampleShape shape;
  switch (format_of(bytes, file.path())) {
    case Format::png:
      shape = png_shape(bytes, file.path());
      break;
    case Format::jpeg:
      shape = jpeg_shape(file);
      break;
    case Format::pnm:
      shape = read_pnm_header(bytes, file.path()).shape;
      break;
  }
  check_image_shape(file.path(), shape, false);
  return shape;
}

void decode_image(std::span<const std::byte> bytes, const std::string& where, RowSink& sink) {
  switch (format_of(bytes, where)) {
    case Format::png:
      return decode_png(bytes, where, sink);
    case Format::jpeg:
      return decode_jpeg(bytes, where, sink);
    case Format::pnm:
      return decode_pnm(bytes, where, sink);
  }
}

void read_image_values(const std::string& path, SampleShape shape, bool resample,
                       std::span<float> values) {
  const InputFile file(path);
  const SampleShape own = read_image_shape(file);
  if (!resample && (own.width != shape.width || own.height != shape.height)) {
    fail_data(path, "the picture is {} x {} pixels; samples are {} x {}, and resampling is off",
              own.width, own.height, shape.width, shape.height);
  }
  Resampler sink(shape, values);
  decode_image(file.read_all(kMaxImageBytes), path, sink);
}

}  // namespace bnns::train::impl

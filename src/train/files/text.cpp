#include "train/files/text.h"

#include <cstdint>

namespace bnns::train::impl {
namespace {

bool continues(unsigned char byte) {
  return (byte & 0xC0) == 0x80;
}

// Bytes of the first character, 0 if it is none.
std::size_t first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t count = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (text.size() < count) return 0;
  for (std::size_t i = 1; i < count; ++i) {
    if (!continues(byte(i))) return 0;
  }
  const unsigned char second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool too_large = first == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : count;
}

}  // namespace

std::size_t valid_utf8_bytes(std::string_view text) {
  std::size_t place = 0;
  while (place < text.size()) {
    const std::size_t count = first_character(text.substr(place));
    if (count == 0) break;
    place += count;
  }
  return place;
}

std::string make_utf8(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t valid = valid_utf8_bytes(text);
    result += text.substr(0, valid);
    text.remove_prefix(valid);
    if (!text.empty()) {
      result += "\xEF\xBF\xBD";
      text.remove_prefix(1);
    }
  }
  return result;
}

std::string in_quotes(std::string_view text) {
  static constexpr std::size_t kShown = 60;
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string result = "\"";
  std::size_t place = 0;
  while (place < text.size() && place < kShown) {
    const std::size_t count = first_character(text.substr(place));
    const auto byte = static_cast<unsigned char>(text[place]);
    // U+0080 to U+009F are control characters too.
    const bool control =
        byte < 0x20 || byte == 0x7F ||
        (count == 2 && byte == 0xC2 && static_cast<unsigned char>(text[place + 1]) < 0xA0);
    if (count == 0 || control) {
      result += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
      ++place;
      // The second byte of a control character of two is no character and shown in the same way.
    } else {
      result += text.substr(place, count);
      place += count;
    }
  }
  return result + (place < text.size() ? "...\"" : "\"");
}

}  // namespace bnns::train::impl

// What the reader and the writer of safetensors files agree on.
#ifndef OPENBNNS_TRAIN_FILES_SAFETENSORS_FORMAT_H
#define OPENBNNS_TRAIN_FILES_SAFETENSORS_FORMAT_H

#include <cstddef>
#include <string>
#include <string_view>

#include "train/files/text.h"

namespace bnns::train::impl {

inline constexpr std::size_t kLengthBytes = 8;
inline constexpr std::size_t kMaxHeaderBytes = 100'000'000;
inline constexpr std::size_t kMaxTensors = 8192;
inline constexpr std::size_t kMaxRank = 8;
inline constexpr std::size_t kMaxTexts = 1024;
inline constexpr std::size_t kMaxNameBytes = 512;
inline constexpr std::string_view kMetadata = "__metadata__";

// Why this cannot be the name of a tensor or the key of a text; empty if it can.
inline std::string name_problem(std::string_view name) {
  if (name.empty()) return "a name is empty";
  if (name.size() > kMaxNameBytes) {
    return "name " + in_quotes(name) + " is longer than " + std::to_string(kMaxNameBytes) +
           " bytes";
  }
  if (valid_utf8_bytes(name) != name.size()) return "name " + in_quotes(name) + " is not UTF-8";
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F || c == '/' || c == '\\' || c == '"') {
      return "name " + in_quotes(name) + " has a slash, backslash, quote or control character";
    }
  }
  return {};
}

}  // namespace bnns::train::impl

#endif

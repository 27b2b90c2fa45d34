// Errors of the readers: where, what was found, which rule.
#ifndef OPENBNNS_TRAIN_DATA_FAIL_H
#define OPENBNNS_TRAIN_DATA_FAIL_H

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {

template <class... Arguments>
[[noreturn]] void fail(Error::Kind kind, const std::string& where,
                       fmt::format_string<Arguments...> text, Arguments&&... arguments) {
  throw Error(kind, where, fmt::format(text, std::forward<Arguments>(arguments)...));
}

template <class... Arguments>
[[noreturn]] void fail_data(const std::string& where, fmt::format_string<Arguments...> text,
                            Arguments&&... arguments) {
  throw Error(Error::Kind::data, where, fmt::format(text, std::forward<Arguments>(arguments)...));
}

// Text of a file as it may appear in a message: in quotes, short, without control characters.
inline std::string shown(std::string_view text) {
  constexpr std::size_t kLongest = 40;
  std::string result = "\"";
  for (const char c : text.substr(0, kLongest)) {
    result += static_cast<unsigned char>(c) < 0x20 || c == 0x7F ? '?' : c;
  }
  return result + (text.size() > kLongest ? "...\"" : "\"");
}

}  // namespace bnns::train::impl

#endif

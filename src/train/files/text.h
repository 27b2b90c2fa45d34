// Text of unknown origin: is it UTF-8, and how is it shown in a message.
#ifndef OPENBNNS_TRAIN_FILES_TEXT_H
#define OPENBNNS_TRAIN_FILES_TEXT_H

#include <cstddef>
#include <string>
#include <string_view>

namespace bnns::train::impl {

// The number of bytes, from the beginning, that are whole characters of UTF-8: text.size() if all
// are. Overlong forms, surrogates and values above U+10FFFF are no characters.
std::size_t valid_utf8_bytes(std::string_view text);

// The text with each byte that is no UTF-8 replaced by U+FFFD, so that it can be saved.
std::string make_utf8(std::string_view text);

// In double quotes for a message: at most 60 bytes, control characters and bytes that are no UTF-8
// as \xNN, so that a hostile name cannot give commands to a terminal.
std::string in_quotes(std::string_view text);

}  // namespace bnns::train::impl

#endif

#include "core/text.h"

#include <cinttypes>
#include <cstdio>

namespace bnns::impl {

void Text::add(char piece) {
  if (length_ + 1 >= kCapacity) return;
  // A name that the client passes may contain any bytes; the message must stay printable.
  chars_[length_++] = piece >= ' ' && piece <= '~' ? piece : '?';
  chars_[length_] = '\0';
}

void Text::add(const char* piece) {
  if (piece == nullptr) piece = "NULL";
  while (*piece != '\0') add(*piece++);
}

void Text::add(const void* pointer) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%p", pointer);
  add(static_cast<const char*>(digits));
}

void Text::add(double value) {
  char digits[32] = {};
  std::snprintf(digits, sizeof digits, "%g", value);
  // A locale with a decimal comma must not leak into messages.
  for (char& c : digits) {
    if (c == ',') c = '.';
  }
  add(static_cast<const char*>(digits));
}

void Text::add_signed(int64_t value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%" PRId64, value);
  add(static_cast<const char*>(digits));
}

void Text::add_unsigned(uint64_t value) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%" PRIu64, value);
  add(static_cast<const char*>(digits));
}

}  // namespace bnns::impl

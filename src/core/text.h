// A message in a fixed buffer: building one never allocates, so that running out of memory can be
// reported like any other failure. A message that is too long is truncated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace bnns::impl {

class Text {
 public:
  static constexpr size_t kCapacity = 512;

  Text() { chars_[0] = '\0'; }
  template <class... Pieces>
  explicit Text(const Pieces&... pieces) : Text() {
    (add(pieces), ...);
  }

  const char* c_str() const { return chars_; }

  void add(const char* piece);
  void add(char piece);
  void add(const void* pointer);
  void add(double value);
  void add(bool value) { add(value ? "true" : "false"); }
  void add(const Text& text) { add(text.c_str()); }
  template <class T>
  requires(std::is_integral_v<T> || std::is_enum_v<T>) void add(T value) {
    if constexpr (std::is_enum_v<T>) {
      add_unsigned(static_cast<uint64_t>(static_cast<std::underlying_type_t<T>>(value)));
    } else if constexpr (std::is_signed_v<T>) {
      add_signed(value);
    } else {
      add_unsigned(value);
    }
  }

 private:
  void add_signed(int64_t value);
  void add_unsigned(uint64_t value);

  size_t length_ = 0;
  char chars_[kCapacity];
};

}  // namespace bnns::impl

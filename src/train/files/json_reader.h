// Reads JSON of unknown origin from the first byte to the last, as RFC 8259 has it, without
// allocating anything: strings are pieces of the text until somebody asks for their characters.
// Values of a DOM would take up to ten times the memory of the text before the first rule is
// checked; they are made by json.h, from this reader, where the text is small.
//
// Beyond the grammar: the text is UTF-8, has at most `bytes` bytes and `depth` levels, integers fit
// into 64 bits and other numbers into a double. Duplicate keys are for the caller to find.
// A failure is an Error with the place (line and column) in front.
#ifndef OPENBNNS_TRAIN_FILES_JSON_READER_H
#define OPENBNNS_TRAIN_FILES_JSON_READER_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "openbnns/train/error.hpp"

namespace bnns::train::impl {

struct JsonLimits {
  std::size_t bytes = std::size_t{1} << 20;
  unsigned depth = 32;
};

// A string as it stands between its quotes; it has been checked.
struct JsonString {
  std::string_view raw;
  bool has_escapes = false;

  std::string text() const;
};

class JsonReader {
 public:
  enum class Value { object, array, string, number, boolean, null };
  using Number = std::variant<std::uint64_t, std::int64_t, double>;  // int64_t: below zero

  // `where` and `text` must outlive the reader.
  JsonReader(std::string_view text, const std::string& where, Error::Kind kind,
             const JsonLimits& limits = {});

  // What the next value is, judged by its first character.
  Value next();
  // Calls member(JsonString key), which reads the value, for each member.
  template <class Member>
  void object(Member member) {
    open('{');
    if (at('}')) return;
    do {
      if (peek() != '"') fail("a name in double quotes must be here");
      const JsonString key = string();
      expect(':');
      member(key);
    } while (another('}'));
  }
  // Calls element(), which reads a value, for each element.
  template <class Element>
  void array(Element element) {
    open('[');
    if (at(']')) return;
    do {
      element();
    } while (another(']'));
  }
  JsonString string();
  Number number();
  bool boolean();
  void null();
  // A number that is an integer, not below zero.
  std::uint64_t unsigned_integer();
  // Nothing but white space may follow.
  void finish();

  // Throws for the place that was read last.
  [[noreturn]] void fail(const std::string& text) const;

 private:
  char peek();  // the next character that is no white space; 0 at the end
  void open(char bracket);
  bool at(char bracket);       // takes the closing bracket, if it is next
  bool another(char bracket);  // takes a comma or the closing bracket
  void expect(char character);
  void literal(std::string_view word);
  std::size_t digits(std::size_t place) const;
  [[noreturn]] void fail_at(std::size_t place, const std::string& text) const;

  std::string_view text_;
  const std::string& where_;
  Error::Kind kind_;
  unsigned depth_limit_;
  unsigned depth_ = 0;
  std::size_t place_ = 0;  // the next character
  std::size_t begin_ = 0;  // of what was read last
};

}  // namespace bnns::train::impl

#endif

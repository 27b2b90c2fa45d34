#include "train/files/json_reader.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "train/files/text.h"

namespace bnns::train::impl {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// The value of four hexadecimal digits, -1 if they are not.
int hexadecimal(std::string_view four) {
  int value = 0;
  const auto [end, code] = std::from_chars(four.data(), four.data() + four.size(), value, 16);
  const bool sign = !four.empty() && four[0] == '-';
  return four.size() == 4 && end == four.data() + 4 && code == std::errc{} && !sign ? value : -1;
}

bool is_high_surrogate(int unit) {
  return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low_surrogate(int unit) {
  return unit >= 0xDC00 && unit < 0xE000;
}

// The unit of an escape \uNNNN at the beginning of the text, -1 if there is none.
int escaped_unit(std::string_view text) {
  return text.substr(0, 2) == "\\u" ? hexadecimal(text.substr(2, 4)) : -1;
}

void append_utf8(std::string& text, int value) {
  const auto put = [&](int byte) { text += static_cast<char>(byte); };
  if (value < 0x80) {
    put(value);
  } else if (value < 0x800) {
    put(0xC0 | value >> 6);
    put(0x80 | (value & 0x3F));
  } else if (value < 0x10000) {
    put(0xE0 | value >> 12);
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  } else {
    put(0xF0 | value >> 18);
    put(0x80 | (value >> 12 & 0x3F));
    put(0x80 | (value >> 6 & 0x3F));
    put(0x80 | (value & 0x3F));
  }
}

// Characters that may follow a backslash, and what they stand for.
constexpr std::string_view kEscapes = "\"\\/bfnrt", kEscaped = "\"\\/\b\f\n\r\t";

}  // namespace

std::string JsonString::text() const {
  if (!has_escapes) return std::string(raw);
  std::string text;
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\') {
      text += raw[i++];
      continue;
    }
    const int unit = escaped_unit(raw.substr(i));
    if (unit < 0) {
      text += kEscaped[kEscapes.find(raw[i + 1])];
      i += 2;
    } else if (is_high_surrogate(unit)) {
      const int low = escaped_unit(raw.substr(i + 6));
      append_utf8(text, 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00));
      i += 12;
    } else {
      append_utf8(text, unit);
      i += 6;
    }
  }
  return text;
}

JsonReader::JsonReader(std::string_view text, const std::string& where, Error::Kind kind,
                       const JsonLimits& limits)
    : text_(text), where_(where), kind_(kind), depth_limit_(limits.depth) {
  if (text.size() > limits.bytes) {
    throw Error(kind, where,
                "it has " + std::to_string(text.size()) + " bytes; at most " +
                    std::to_string(limits.bytes) + " are allowed");
  }
  const std::size_t valid = valid_utf8_bytes(text);
  if (valid != text.size()) fail_at(valid, "this is not UTF-8");
}

void JsonReader::fail_at(std::size_t place, const std::string& text) const {
  place = std::min(place, text_.size());
  const std::string_view before = text_.substr(0, place);
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t last = before.rfind('\n');
  const std::size_t column = last == std::string_view::npos ? place + 1 : place - last;
  throw Error(kind_, where_,
              "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + text);
}

void JsonReader::fail(const std::string& text) const {
  fail_at(begin_, text);
}

char JsonReader::peek() {
  while (place_ < text_.size() && is_space(text_[place_])) ++place_;
  begin_ = place_;
  return place_ < text_.size() ? text_[place_] : '\0';
}

void JsonReader::expect(char character) {
  if (peek() == character && place_ < text_.size()) {
    ++place_;
    return;
  }
  const std::string found =
      place_ < text_.size() ? in_quotes(text_.substr(place_, 1)) : "the end of the text";
  fail(std::string("'") + character + "' must be here, not " + found);
}

void JsonReader::open(char bracket) {
  expect(bracket);
  if (++depth_ > depth_limit_) {
    fail("more than " + std::to_string(depth_limit_) + " levels of objects and arrays");
  }
}

bool JsonReader::at(char bracket) {
  if (peek() != bracket) return false;
  ++place_;
  --depth_;
  return true;
}

bool JsonReader::another(char bracket) {
  if (at(bracket)) return false;
  if (peek() != ',') fail(std::string("',' or '") + bracket + "' must be here");
  ++place_;
  return true;
}

JsonReader::Value JsonReader::next() {
  const char first = peek();
  if (place_ == text_.size()) fail("the text ends where a value must be");
  if (first == '{') return Value::object;
  if (first == '[') return Value::array;
  if (first == '"') return Value::string;
  if (first == '-' || is_digit(first)) return Value::number;
  if (first == 't' || first == 'f') return Value::boolean;
  if (first == 'n') return Value::null;
  fail("no value begins with " + in_quotes(text_.substr(place_, 1)));
}

JsonString JsonReader::string() {
  if (next() != Value::string) fail("a string must be here");
  const std::size_t first = ++place_;
  JsonString result;
  for (; place_ < text_.size(); ++place_) {
    const char c = text_[place_];
    if (c == '"') {
      result.raw = text_.substr(first, place_++ - first);
      return result;
    }
    if (static_cast<unsigned char>(c) < 0x20) fail_at(place_, "a control character in a string");
    if (c != '\\') continue;
    result.has_escapes = true;
    const std::string_view rest = text_.substr(place_);
    const int unit = escaped_unit(rest);
    if (unit >= 0) {
      const bool pair = is_high_surrogate(unit) && rest.size() > 6 &&
                        is_low_surrogate(escaped_unit(rest.substr(6)));
      if (is_low_surrogate(unit) || (is_high_surrogate(unit) && !pair)) {
        fail_at(place_, "half of a pair of surrogates");
      }
      place_ += pair ? 11 : 5;
    } else if (rest.size() > 1 && kEscapes.find(rest[1]) != std::string_view::npos) {
      ++place_;
    } else {
      fail_at(place_, "an escape that JSON does not have");
    }
  }
  fail("the text ends inside of this string");
}

std::size_t JsonReader::digits(std::size_t place) const {
  while (place < text_.size() && is_digit(text_[place])) ++place;
  return place;
}

JsonReader::Number JsonReader::number() {
  if (next() != Value::number) fail("a number must be here");
  const auto character = [&](std::size_t place) {
    return place < text_.size() ? text_[place] : '\0';
  };
  const bool negative = text_[place_] == '-';
  const std::size_t whole = place_ + (negative ? 1 : 0);
  std::size_t end = digits(whole);
  if (end == whole) fail("digits must follow the sign");
  if (text_[whole] == '0' && end - whole > 1) fail("a number must not begin with 0");
  bool integer = true;
  const auto more_digits = [&](std::size_t from) {
    integer = false;
    end = digits(from);
    if (end == from) fail("digits are missing in this number");
  };
  if (character(end) == '.') more_digits(end + 1);
  if (character(end) == 'e' || character(end) == 'E') {
    const char sign = character(end + 1);
    more_digits(end + (sign == '+' || sign == '-' ? 2 : 1));
  }
  const std::string_view token = text_.substr(place_, end - place_);
  place_ = end;
  const auto convert = [&](auto value, const char* type) {
    const auto result = std::from_chars(token.data(), token.data() + token.size(), value);
    if (result.ec != std::errc{}) fail(in_quotes(token) + " does not fit into " + type);
    return value;
  };
  if (!integer) return convert(double{}, "a 64-bit floating-point number");
  if (negative) return convert(std::int64_t{}, "a 64-bit integer");
  return convert(std::uint64_t{}, "a 64-bit integer");
}

std::uint64_t JsonReader::unsigned_integer() {
  const Number value = number();
  if (const auto* integer = std::get_if<std::uint64_t>(&value)) return *integer;
  fail(in_quotes(text_.substr(begin_, place_ - begin_)) +
       " must be an integer that is not below zero, without point and exponent");
}

void JsonReader::literal(std::string_view word) {
  if (text_.substr(place_, word.size()) != word) fail("this is no value of JSON");
  place_ += word.size();
}

bool JsonReader::boolean() {
  if (next() != Value::boolean) fail("true or false must be here");
  const bool value = text_[place_] == 't';
  literal(value ? "true" : "false");
  return value;
}

void JsonReader::null() {
  if (next() != Value::null) fail("null must be here");
  literal("null");
}

void JsonReader::finish() {
  peek();
  if (place_ != text_.size()) fail("something follows the value");
}

}  // namespace bnns::train::impl

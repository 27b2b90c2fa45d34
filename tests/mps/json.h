// A reader for the JSON files of the tests: objects, arrays, strings, numbers, true, false, null.
// Malformed input ends in an exception.
#pragma once

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace json {

struct Value {
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };
  Kind kind = Kind::kNull;
  bool boolean = false;
  double number = 0;
  std::string text;
  std::vector<Value> items;
  std::map<std::string, Value> members;

  bool is_null() const { return kind == Kind::kNull; }
  bool has(const std::string& key) const { return members.count(key) > 0; }
  const Value& operator[](const std::string& key) const {
    const auto found = members.find(key);
    if (found == members.end()) throw std::runtime_error("JSON: no member " + key);
    return found->second;
  }
  // Numbers, and the strings "inf", "-inf" and "nan".
  double as_double() const {
    return kind == Kind::kString ? std::strtod(text.c_str(), nullptr) : number;
  }
  std::vector<float> as_floats() const {
    std::vector<float> values;
    for (const Value& item : items) values.push_back(static_cast<float>(item.as_double()));
    return values;
  }
};

class Parser {
 public:
  explicit Parser(const std::string& text) : text_(text) {}

  Value parse() {
    Value value = read();
    skip_blanks();
    if (at_ != text_.size()) fail("text behind the value");
    return value;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw std::runtime_error("JSON: " + std::string(what) + " at " + std::to_string(at_));
  }
  void skip_blanks() {
    while (at_ < text_.size() && std::string(" \t\r\n").find(text_[at_]) != std::string::npos)
      ++at_;
  }
  char peek() {
    skip_blanks();
    if (at_ == text_.size()) fail("the end");
    return text_[at_];
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail("an unexpected character");
  }

  Value read() {
    switch (peek()) {
      case '{':
        return read_object();
      case '[':
        return read_array();
      case '"':
        return {.kind = Value::Kind::kString, .text = read_string()};
      default:
        return read_word();
    }
  }
  Value read_object() {
    Value value{.kind = Value::Kind::kObject};
    expect('{');
    while (!take('}')) {
      if (!value.members.empty()) expect(',');
      peek();
      std::string key = read_string();
      expect(':');
      value.members[key] = read();
    }
    return value;
  }
  Value read_array() {
    Value value{.kind = Value::Kind::kArray};
    expect('[');
    while (!take(']')) {
      if (!value.items.empty()) expect(',');
      value.items.push_back(read());
    }
    return value;
  }
  // Escapes other than \" and \\ stay as they are.
  std::string read_string() {
    expect('"');
    std::string text;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') ++at_;
      if (at_ < text_.size()) text += text_[at_++];
    }
    expect('"');
    return text;
  }
  Value read_word() {
    const size_t end = text_.find_first_of(",]} \t\r\n", at_);
    const std::string word = text_.substr(at_, end - at_);
    at_ += word.size();
    if (word == "null") return {};
    if (word == "true" || word == "false")
      return {.kind = Value::Kind::kBool, .boolean = word == "true"};
    char* stop = nullptr;
    const double number = std::strtod(word.c_str(), &stop);
    if (word.empty() || *stop != '\0') fail("neither a number nor a word");
    return {.kind = Value::Kind::kNumber, .number = number};
  }

  const std::string& text_;
  size_t at_ = 0;
};

inline Value read_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot open " + path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  return Parser(text).parse();
}

}  // namespace json

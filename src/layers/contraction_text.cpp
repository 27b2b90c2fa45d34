#include "layers/contraction_text.h"

#include <cstring>

#include "core/error.h"

namespace bnns::impl {
namespace {

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

class Reader {
 public:
  explicit Reader(const char* text) : text_(text) { skip_blanks(); }

  char peek() const { return text_[at_]; }
  size_t position() const { return at_ + 1; }
  void next() {
    ++at_;
    skip_blanks();
  }
  bool take(char c) {
    if (peek() != c) return false;
    next();
    return true;
  }
  // The reason stands before the text, which may be long.
  template <class... Pieces>
  [[noreturn]] void fail_at(size_t position, const Pieces&... pieces) const {
    fail("operation, character ", position, ": ", pieces..., "; it is \"", text_, "\"");
  }
  template <class... Pieces>
  [[noreturn]] void fail_here(const Pieces&... wanted) const {
    if (peek() == '\0') fail_at(position(), "it ends where ", wanted..., " should follow");
    const Text found = printable();
    fail_at(position(), found, " stands where ", wanted..., " should");
  }

  ContractionTerm term();

 private:
  void skip_blanks() {
    while (is_blank(text_[at_])) ++at_;
  }
  Text printable() const {
    const char c = peek();
    if (c > ' ' && c < 127) return Text('\'', c, '\'');
    return Text("the byte ", static_cast<unsigned>(static_cast<unsigned char>(c)));
  }

  const char* text_;
  size_t at_ = 0;
};

ContractionTerm Reader::term() {
  ContractionTerm t;
  t.begin = position();
  size_t length = 0;
  for (; is_letter(peek()); next()) {
    if (length == ContractionTerm::kMostName)
      fail_at(position(), "a name has at most ", ContractionTerm::kMostName, " letters");
    t.name[length++] = peek();
  }
  t.name[length] = '\0';
  if (length == 0) fail_here("the name of an operand");
  if (!take('_')) fail_here("'_' after the name ", t.name);
  for (; peek() == '*' || is_letter(peek()); next()) {
    if (t.star_last) fail_at(t.star_position, "'*' must be the first or the last index");
    if (peek() == '*') {
      if (t.star_first) fail_at(position(), "'*' stands twice in one operand");
      (t.letters == 0 ? t.star_first : t.star_last) = true;
      t.star_position = position();
      continue;
    }
    if (t.find(peek()) < t.letters)
      fail_at(position(), "index ", peek(), " stands twice in operand ", t.name);
    if (t.letters == kMaxRank)
      fail_at(position(), "operand ", t.name, " has more than ", kMaxRank, " indices");
    t.position[t.letters] = position();
    t.letter[t.letters++] = peek();
  }
  return t;
}

// "*" stands at the same end of all operands, and on both sides.
void check_stars(const Reader& reader, const ContractionText& text) {
  const ContractionTerm* first = nullptr;
  for (size_t i = 0; i < text.operands; ++i) {
    const ContractionTerm& t = text.left[i];
    if (!t.has_star()) continue;
    if (first == nullptr) first = &t;
    if (!text.right.has_star())
      reader.fail_at(t.star_position, "'*' is missing on the right; it cannot be summed");
  }
  if (first == nullptr && text.right.has_star())
    reader.fail_at(text.right.star_position, "'*' is not on the left");
  if (first == nullptr) return;
  // "a_*" alone may be read either way.
  const bool only = first->letters == 0;
  for (const ContractionTerm* t : {&text.left[1], &text.right}) {
    if (t == &text.left[1] && text.operands < 2) continue;
    if (!t->has_star() || only || t->letters == 0) continue;
    if (t->star_first != first->star_first)
      reader.fail_at(t->star_position, "'*' must stand at the same end of all operands");
  }
}

}  // namespace

size_t ContractionTerm::find(char index) const {
  size_t i = 0;
  while (i < letters && letter[i] != index) ++i;
  return i;
}

ContractionText read_contraction_text(const char* operation) {
  require(operation != nullptr, "operation is NULL");
  Reader reader(operation);
  ContractionText text;
  text.left[text.operands++] = reader.term();
  if (reader.take(',')) text.left[text.operands++] = reader.term();
  if (reader.peek() == ',')
    reader.fail_at(reader.position(), "there are more than two operands on the left");
  const size_t arrow = reader.position();
  if (!reader.take('-'))
    reader.fail_here(text.operands == 1 ? "an index, ',' or '->'" : "an index or '->'");
  if (reader.position() != arrow + 1 || !reader.take('>'))
    reader.fail_at(arrow, "'-' must be followed by '>'");
  text.right = reader.term();
  if (reader.peek() != '\0') reader.fail_here("the end");

  for (size_t i = 0; i < text.right.letters; ++i) {
    const char index = text.right.letter[i];
    bool known = false;
    for (size_t k = 0; k < text.operands; ++k)
      known |= text.left[k].find(index) < text.left[k].letters;
    if (!known) reader.fail_at(text.right.position[i], "index ", index, " is not on the left");
  }
  check_stars(reader, text);
  const auto is_weights = [](const ContractionTerm& t) { return std::strcmp(t.name, "w") == 0; };
  if (text.operands == 1 && is_weights(text.left[0]))
    reader.fail_at(text.left[0].begin, "w is the only operand; there must be an input");
  if (text.operands == 2 && is_weights(text.left[0]) && is_weights(text.left[1]))
    reader.fail_at(text.left[1].begin, "w stands twice; one operand must be an input");
  return text;
}

}  // namespace bnns::impl

// Cuts the text of a CSV file into rows and fields. Fields may be in double quotes, where "" stands
// for a quote and delimiters and line ends are text; blanks around other fields do not count. Rows
// end with LF, CR LF or CR. Lines without anything are skipped.
#ifndef OPENBNNS_TRAIN_DATA_CSV_PARSER_H
#define OPENBNNS_TRAIN_DATA_CSV_PARSER_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bnns::train::impl {

inline constexpr std::size_t kMaxCsvRowBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMaxCsvColumns = 100'000;

class CsvParser {
 public:
  // Where is the name of the file, for errors.
  CsvParser(std::string where, char delimiter) : where_(std::move(where)), delimiter_(delimiter) {}

  // Takes text from the front, to the end of a row at most. True: a row is complete.
  bool feed(std::string_view& text);
  // Begins with another text.
  void reset();
  // The text is at its end. True: it ended with a row.
  bool finish();

  // The row: it stays until the next call of feed.
  std::size_t size() const { return ends_.size(); }
  std::string_view field(std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return std::string_view(text_).substr(begin, ends_[i] - begin);
  }
  // Where it begins: the line, counted from 1, and the byte, counted from the first that was fed.
  std::uint64_t line() const { return row_line_; }
  std::uint64_t offset() const { return row_offset_; }

 private:
  enum class State { row_begin, field_begin, plain, quoted, after_quote };

  void take(char c);
  void take_field_byte(char c);
  void end_field();
  bool end_row();

  std::string where_;
  char delimiter_;
  State state_ = State::row_begin;
  bool after_cr_ = false;  // a LF that follows belongs to the same line end
  bool is_quoted_ = false;
  std::string text_;               // the fields of the row, one after the other
  std::vector<std::size_t> ends_;  // of the fields in text_
  std::uint64_t offset_ = 0, line_ = 1, row_offset_ = 0, row_line_ = 1, quote_line_ = 0;
};

}  // namespace bnns::train::impl

#endif

#include "train/data/csv_parser.h"

#include "train/data/fail.h"

namespace bnns::train::impl {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

}  // namespace

bool CsvParser::feed(std::string_view& text) {
  while (!text.empty()) {
    const char c = text.front();
    text.remove_prefix(1);
    const bool completes_line_end = after_cr_ && c == '\n';
    after_cr_ = c == '\r';
    if (completes_line_end && state_ != State::quoted) {
      ++offset_;
      continue;
    }
    if (state_ == State::row_begin) {
      text_.clear();
      ends_.clear();
      row_offset_ = offset_;
      row_line_ = line_;
      state_ = State::field_begin;
      is_quoted_ = false;
    }
    ++offset_;
    if (c == '\r' || (c == '\n' && !completes_line_end)) {
      ++line_;
      if (state_ != State::quoted) {
        if (end_row()) return true;
        continue;
      }
    }
    take(c);
  }
  return false;
}

void CsvParser::reset() {
  state_ = State::row_begin;
  after_cr_ = is_quoted_ = false;
  offset_ = row_offset_ = quote_line_ = 0;
  line_ = row_line_ = 1;
}

bool CsvParser::finish() {
  if (state_ == State::quoted) {
    fail_data(where_, "line {}: the quote that begins there is not closed", quote_line_);
  }
  return state_ != State::row_begin && end_row();
}

void CsvParser::take(char c) {
  if (c == '\0') {
    fail_data(where_, "line {}: it holds a zero byte; a CSV file is text (UTF-8)", line_);
  }
  switch (state_) {
    case State::row_begin:
    case State::field_begin:
      if (c == delimiter_) {
        end_field();
      } else if (c == '"') {
        state_ = State::quoted;
        is_quoted_ = true;
        quote_line_ = line_;
      } else if (!is_blank(c)) {
        state_ = State::plain;
        take_field_byte(c);
      }
      break;
    case State::plain:
      if (c == delimiter_) {
        end_field();
      } else {
        take_field_byte(c);
      }
      break;
    case State::quoted:
      if (c == '"') {
        state_ = State::after_quote;
      } else {
        take_field_byte(c);
      }
      break;
    case State::after_quote:
      if (c == '"') {
        state_ = State::quoted;
        take_field_byte(c);
      } else if (c == delimiter_) {
        end_field();
      } else if (!is_blank(c)) {
        fail_data(where_, "line {}, field {}: {} follows a closing quote; only {} may", line_,
                  ends_.size() + 1, in_quotes(std::string_view(&c, 1)),
                  delimiter_ == '\t' ? "a tab" : std::string(1, delimiter_));
      }
      break;
  }
}

void CsvParser::take_field_byte(char c) {
  if (text_.size() >= kMaxCsvRowBytes) {
    fail_data(where_, "line {}: the row has more than {} bytes{}", row_line_, kMaxCsvRowBytes,
              is_quoted_ ? "; is a quote not closed?" : "");
  }
  text_ += c;
}

void CsvParser::end_field() {
  if (!is_quoted_) {
    const std::size_t begin = ends_.empty() ? 0 : ends_.back();
    while (text_.size() > begin && is_blank(text_.back())) text_.pop_back();
  }
  if (ends_.size() >= kMaxCsvColumns) {
    fail_data(where_, "line {}: the row has more than {} fields", row_line_, kMaxCsvColumns);
  }
  ends_.push_back(text_.size());
  state_ = State::field_begin;
  is_quoted_ = false;
}

bool CsvParser::end_row() {
  const bool quoted = is_quoted_;
  end_field();
  state_ = State::row_begin;
  return ends_.size() > 1 || !text_.empty() || quoted;
}

}  // namespace bnns::train::impl

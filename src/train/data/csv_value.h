// What the text of a field means.
#ifndef OPENBNNS_TRAIN_DATA_CSV_VALUE_H
#define OPENBNNS_TRAIN_DATA_CSV_VALUE_H

#include <cstdint>
#include <string>
#include <string_view>

namespace bnns::train::impl {

enum class CsvKind {
  missing,        // nothing, ?, NA, N/A, nan or null in any case
  number,         // decimal, with a point, whatever the locale
  not_finite,     // inf, or more than a float holds
  decimal_comma,  // digits, a comma, digits
  text,
};

struct CsvValue {
  CsvKind kind;
  double number = 0;
};

CsvValue csv_value(std::string_view text);

// Names and categories become part of a model, whose text is UTF-8.
void require_utf8(const std::string& where, std::uint64_t line, std::string_view text);

// "is no number", "has a decimal comma" ...: why a value is none.
std::string_view why_no_number(CsvKind kind);

// Classes that are whole numbers are compared as such: 1, 01 and 1.0 are "1".
std::string class_name_of(std::string_view text);
bool is_whole(double number);

}  // namespace bnns::train::impl

#endif

#include "train/data/csv_value.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <system_error>

#include "train/data/fail.h"

namespace bnns::train::impl {
namespace {

constexpr std::array<std::string_view, 6> kMissing = {"", "?", "na", "n/a", "nan", "null"};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}

bool equals_ignoring_case(std::string_view text, std::string_view lower_case) {
  return std::ranges::equal(text, lower_case, {}, lower);
}

bool has_decimal_comma(std::string_view digits) {
  const std::size_t comma = digits.find(',');
  return comma != 0 && comma != std::string_view::npos && comma + 1 < digits.size() &&
         std::ranges::count_if(digits, is_digit) == static_cast<std::ptrdiff_t>(digits.size()) - 1;
}

}  // namespace

CsvValue csv_value(std::string_view text) {
  if (text.size() <= 4 && std::ranges::any_of(kMissing, [&](std::string_view missing) {
        return equals_ignoring_case(text, missing);
      })) {
    return {CsvKind::missing};
  }
  std::string_view digits = text;
  const bool negative = digits.front() == '-';
  if (negative || digits.front() == '+') digits.remove_prefix(1);
  if (equals_ignoring_case(digits, "inf") || equals_ignoring_case(digits, "infinity")) {
    return {CsvKind::not_finite};
  }
  if (digits.empty() || !(is_digit(digits.front()) || digits.front() == '.')) {
    return {CsvKind::text};
  }
  double number = 0;
  const char* last = digits.data() + digits.size();
  const auto [end, error] = std::from_chars(digits.data(), last, number);
  if (error == std::errc::invalid_argument || end != last) {
    return {has_decimal_comma(digits) ? CsvKind::decimal_comma : CsvKind::text};
  }
  if (error == std::errc::result_out_of_range) {
    // Too large, or so small that it is 0.
    const std::size_t exponent = digits.find_first_of("eE");
    const bool small = exponent == std::string_view::npos
                           ? digits.front() == '.' || digits.starts_with("0")
                           : digits.substr(exponent + 1, 1) == "-";
    if (!small) return {CsvKind::not_finite};
    number = 0;
  }
  if (number > std::numeric_limits<float>::max()) return {CsvKind::not_finite};
  return {CsvKind::number, negative ? -number : number};
}

void require_utf8(const std::string& where, std::uint64_t line, std::string_view text) {
  if (valid_utf8_bytes(text) == text.size()) return;
  fail_data(where, "line {}: {} is not in UTF-8; the file must be", line, in_quotes(text));
}

std::string_view why_no_number(CsvKind kind) {
  switch (kind) {
    case CsvKind::not_finite:
      return "is not finite, or too large for a float";
    case CsvKind::decimal_comma:
      return "looks like a number with a decimal comma; numbers are written with a point";
    default:
      return "is no number";
  }
}

bool is_whole(double number) {
  constexpr double kExact = 9007199254740992;  // 2^53
  return std::abs(number) <= kExact && number == std::floor(number);
}

std::string class_name_of(std::string_view text) {
  const CsvValue value = csv_value(text);
  if (value.kind != CsvKind::number || !is_whole(value.number)) return std::string(text);
  return std::to_string(static_cast<long long>(value.number));
}

}  // namespace bnns::train::impl

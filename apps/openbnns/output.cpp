#include "output.h"

#include <fmt/format.h>
#include <openbnns/train/error.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

namespace program {
namespace {

int first_error = 0;  // of standard output

// Columns that a text takes on a terminal, if every code point of UTF-8 takes one.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

void print(std::string_view text) {
  if (first_error == 0 && !write_all(STDOUT_FILENO, text)) first_error = errno;
}

void finish_output() {
  if (first_error == 0 || first_error == EPIPE) return;
  throw bnns::train::Error(bnns::train::Error::Kind::file, "standard output",
                           std::strerror(first_error));
}

void print_error(const std::string& text) {
  write_all(STDERR_FILENO, "openbnns: " + text + '\n');
}

std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + '\n';
}

std::string Table::text() const {
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_) {
    for (std::size_t n = 0; n < row.size(); ++n) widths[n] = std::max(widths[n], width_of(row[n]));
  }
  std::string text;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t n = 0; n < row.size(); ++n) {
      const std::string blanks(widths[n] - width_of(row[n]), ' ');
      if (n > 0) line += "  ";
      line += columns_[n] == Align::right ? blanks + row[n] : row[n] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + '\n';
  }
  return text;
}

std::string percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string duration(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  if (seconds < 60) return fmt::format("{:.{}f} s", seconds, seconds < 9.95 ? 1 : 0);
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

std::string figure(double value) {
  return fmt::format("{:.4g}", value);
}

}  // namespace program

#include "train/report/html.h"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "train/files/text.h"

namespace bnns::train::impl {
namespace {

constexpr std::size_t kNameCharacters = 60;
constexpr std::string_view kDash = "&ndash;";

// What stands for a figure that is no number; empty if it is one.
std::string no_number(double value) {
  if (std::isnan(value)) return std::string(kDash);
  if (std::isinf(value)) return value > 0 ? "&infin;" : "&minus;&infin;";
  return {};
}

std::string_view cut(std::string_view text, std::size_t characters) {
  std::size_t place = 0;
  for (; place < text.size(); ++place) {
    const bool begins = (static_cast<unsigned char>(text[place]) & 0xC0) != 0x80;
    if (begins && characters-- == 0) break;
  }
  return text.substr(0, place);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string result;
  for (const char c : make_utf8(text)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (c == '\'')
      result += "&#39;";
    else if ((byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7F)
      result += "&#65533;";
    else
      result += c;
  }
  return result;
}

std::string name_text(std::string_view name) {
  const std::string valid = make_utf8(name);
  const std::string_view shown = cut(valid, kNameCharacters);
  return escape(shown) + (shown.size() < valid.size() ? "&hellip;" : "");
}

std::string name_html(std::string_view name) {
  return "<bdi>" + name_text(name) + "</bdi>";
}

std::string loss_text(double value) {
  const double size = std::abs(value);
  if (const std::string none = no_number(value); !none.empty()) return none;
  return size != 0 && (size < 1e-3 || size >= 1e5) ? fmt::format("{:.3e}", value)
                                                   : fmt::format("{:.4f}", value);
}

std::string percent_text(double value) {
  if (const std::string none = no_number(value); !none.empty()) return none;
  return fmt::format("{:.2f}%", value * 100);
}

std::string short_text(double value) {
  if (const std::string none = no_number(value); !none.empty()) return none;
  return fmt::format("{:.3g}", value);
}

std::string milliseconds_text(double seconds) {
  if (const std::string none = no_number(seconds); !none.empty()) return none;
  return fmt::format("{:.2f} ms", seconds * 1e3);
}

std::string duration_text(double seconds) {
  if (const std::string none = no_number(seconds); !none.empty()) return none;
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  if (seconds < 60) return fmt::format("{:.0f} s", seconds);
  if (seconds > 1e9) return fmt::format("{:.3g} s", seconds);
  const auto whole = static_cast<std::int64_t>(seconds);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

std::string count_text(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t place = digits.size(); place > 3;) digits.insert(place -= 3, ",");
  return digits;
}

std::string large_text(double value, std::string_view unit) {
  if (const std::string none = no_number(value); !none.empty()) return none;
  static constexpr std::array<std::pair<double, std::string_view>, 4> kScales = {
      {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  for (const auto& [scale, prefix] : kScales) {
    if (value < scale) continue;
    const double scaled = value / scale;
    const int decimals = scaled < 10 ? 2 : scaled < 100 ? 1 : 0;
    return fmt::format("{:.{}f}&nbsp;{}{}", scaled, decimals, prefix, unit);
  }
  return fmt::format("{:.0f}{}{}", value, unit.empty() ? "" : "&nbsp;", unit);
}

Table::Table(std::string_view caption, std::vector<Column> columns) : columns_(std::move(columns)) {
  html_ = fmt::format(
      " tabindex=\"0\" role=\"region\" aria-label=\"{0}\">"
      "<table><caption class=\"unseen\">{0}</caption><thead><tr>",
      caption);
  for (const Column& column : columns_) {
    html_ += fmt::format("<th scope=\"col\"{}>{}</th>", column.number ? " class=\"n\"" : "",
                         column.title);
  }
  html_ += "</tr></thead><tbody>\n";
}

void Table::cells(const std::vector<std::string>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const char* right = columns_[i].number ? " class=\"n\"" : "";
    if (i == 0) {
      html_ += fmt::format("<th scope=\"row\"{}>{}</th>", right, cells[i]);
    } else {
      html_ += fmt::format("<td{}>{}</td>", right, cells[i]);
    }
  }
  html_ += "</tr>\n";
}

void Table::row(const std::vector<std::string>& row_cells, std::string_view css_class) {
  html_ += css_class.empty() ? "<tr>" : fmt::format("<tr class=\"{}\">", css_class);
  cells(row_cells);
}

void Table::footer(const std::vector<std::string>& row_cells) {
  html_ += "</tbody><tfoot><tr>";
  cells(row_cells);
  footer_ = "</tfoot>";
}

std::string Table::finish(bool tall) {
  html_ += footer_.empty() ? "</tbody>" : footer_;
  html_ += "</table></div>\n";
  return (tall ? "<div class=\"scroll tall\"" : "<div class=\"scroll\"") + html_;
}

std::string section(std::string_view id, std::string_view title, const std::string& body,
                    bool wide) {
  if (body.empty()) return {};
  return fmt::format(
      "<section id=\"{0}\" class=\"card{1}\" aria-labelledby=\"h-{0}\">"
      "<h2 id=\"h-{0}\">{2}</h2>\n{3}</section>\n",
      id, wide ? " wide" : "", title, body);
}

}  // namespace bnns::train::impl

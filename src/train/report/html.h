// Pieces of HTML: text that cannot become markup, and numbers in a form of their own for each kind
// of figure. Numbers do not depend on the locale.
#ifndef OPENBNNS_TRAIN_REPORT_HTML_H
#define OPENBNNS_TRAIN_REPORT_HTML_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace bnns::train::impl {

// For text and for attributes in double quotes. Bytes that are no UTF-8 and control characters
// become U+FFFD.
std::string escape(std::string_view text);
// A name that somebody else has given: escaped, cut after 60 characters, and isolated, so that
// characters that turn the direction of writing end with it.
std::string name_html(std::string_view name);
// The same for an attribute, where there is no markup.
std::string name_text(std::string_view name);

// A dash if the figure is not known, an infinity sign if it is infinite.
std::string loss_text(double value);            // 0.1234, 1.234e+05
std::string percent_text(double value);         // 0.9731 -> 97.31%
std::string short_text(double value);           // three significant digits: 0.001, 1.5e-05
std::string duration_text(double seconds);      // 0.8 s, 42 s, 3 min 05 s, 2 h 14 min
std::string milliseconds_text(double seconds);  // 1.25 ms
std::string count_text(std::uint64_t value);    // 12,345
std::string large_text(double value, std::string_view unit);  // 1.23 M, with the unit behind

// A table: numbers right, text left, its own scroll bar if the page is too narrow.
class Table {
 public:
  struct Column {
    std::string_view title;
    bool number = true;
  };
  // The caption (HTML) is for those who cannot see the heading.
  Table(std::string_view caption, std::vector<Column> columns);

  // Cells are HTML; the first is the heading of the row.
  void row(const std::vector<std::string>& cells, std::string_view css_class = {});
  void footer(const std::vector<std::string>& cells);
  // `tall`: with a limited height and a scroll bar, except on paper.
  std::string finish(bool tall = false);

 private:
  void cells(const std::vector<std::string>& cells);

  std::vector<Column> columns_;
  std::string html_, footer_;
};

// A card of the page; an empty body gives nothing.
std::string section(std::string_view id, std::string_view title, const std::string& body,
                    bool wide = false);

}  // namespace bnns::train::impl

#endif

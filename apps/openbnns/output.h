// What the program writes to standard output and standard error.
#ifndef APPS_OPENBNNS_OUTPUT_H
#define APPS_OPENBNNS_OUTPUT_H

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace program {

// To standard output, at once. A reader that has closed its end is not an error: what follows is
// dropped, and the command goes on, so that `train | head` still saves its model.
void print(std::string_view text);
// Throws Error if something could not be written for another reason, such as a full disk.
void finish_output();

// "openbnns: text" to standard error.
void print_error(const std::string& text);

// One line of JSON. Bytes that are no UTF-8 are replaced; numbers that are not finite are null.
std::string json_line(const nlohmann::ordered_json& json);

// Columns side by side, two blanks between them, those with numbers aligned to the right.
class Table {
 public:
  enum class Align { left, right };

  explicit Table(std::vector<Align> columns) : columns_(std::move(columns)) {}
  void add(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  std::string text() const;

 private:
  std::vector<Align> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// 0.98123 as "98.1 %".
std::string percent(double share);
// 4.2 as "4.2 s", 200 as "3 min 20 s".
std::string duration(double seconds);
// Four significant digits.
std::string figure(double value);

}  // namespace program

#endif

// A CSV file: its names, and its rows one after the other or by their number. In memory are the
// places of the rows (8 bytes each), not the rows.
#ifndef OPENBNNS_TRAIN_DATA_CSV_FILE_H
#define OPENBNNS_TRAIN_DATA_CSV_FILE_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "openbnns/train/open_data.hpp"
#include "train/content_hash.h"
#include "train/data/csv_parser.h"
#include "train/files/input_file.h"

namespace bnns::train::impl {

class CsvFile {
 public:
  // Takes header and delimiter from the options. Reads the first row: where the header is to be
  // detected, it is one if it has the known name or, without one, if it has no number.
  CsvFile(const std::string& path, const TableOptions& options,
          const std::string* known_name = nullptr);

  const std::string& path() const { return file_.path(); }
  bool has_header() const { return has_header_; }
  // Of the header, or "column 1" and so on.
  const std::vector<std::string>& names() const { return names_; }
  // All bytes.
  void add_to(ContentHash& hash) const;
  // The number of the column of this name, or names().size().
  std::size_t find(const std::string& name) const;

  // Reads the whole file. Every row must have as many fields as the first.
  void for_each_row(const std::function<void(const CsvParser&)>& visit);

  // The rows that for_each_row found, without the header.
  std::size_t size() const { return offsets_.size(); }
  // Good until the next call.
  const CsvParser& row(std::size_t index);
  // The line where a row begins, for a message: reads the file up to there.
  std::uint64_t line_of(std::size_t index) const;

 private:
  void parse(const std::function<bool(const CsvParser&)>& visit) const;
  void check_encoding();
  char find_delimiter() const;
  void read_names(TableHeader header, const std::string* known_name);
  std::string_view text_of(std::size_t index);

  InputFile file_;
  std::uint64_t begin_ = 0;  // after the mark of UTF-8
  char delimiter_ = ',';
  bool has_header_ = false;
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> places_;  // of the names
  std::vector<std::uint64_t> offsets_;
  CsvParser row_;
  std::vector<std::byte> window_;  // the part of the file that was read last
  std::uint64_t window_begin_ = 0;
  std::size_t last_index_ = 0;
};

}  // namespace bnns::train::impl

#endif

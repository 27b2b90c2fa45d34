#include "train/data/csv_file.h"

#include <algorithm>
#include <array>
#include <utility>

#include "train/data/csv_value.h"
#include "train/data/fail.h"

namespace bnns::train::impl {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 18;
constexpr std::array<char, 3> kDelimiters = {',', ';', '\t'};

std::string_view text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

CsvFile::CsvFile(const std::string& path, const TableOptions& options,
                 const std::string* known_name)
    : file_(path), row_(path, ',') {
  check_encoding();
  delimiter_ = options.delimiter != '\0' ? options.delimiter : find_delimiter();
  if (delimiter_ == '"' || delimiter_ == '\n' || delimiter_ == '\r') {
    fail(Error::Kind::usage, "delimiter", "it must not be a quote or the end of a line");
  }
  row_ = CsvParser(path, delimiter_);
  read_names(options.header, known_name);
}

void CsvFile::check_encoding() {
  std::array<std::byte, 3> mark = {};
  const std::size_t count = std::min<std::uint64_t>(file_.size(), mark.size());
  file_.read(0, std::span(mark).first(count));
  const std::string_view bytes = text(std::span(mark).first(count));
  if (bytes == "\xEF\xBB\xBF") begin_ = 3;
  if (bytes.starts_with("\xFF\xFE") || bytes.starts_with("\xFE\xFF")) {
    fail_data(path(), "it is in UTF-16; it must be in UTF-8");
  }
}

// The one that occurs most often in the first line, outside of quotes; a comma if none does.
char CsvFile::find_delimiter() const {
  std::vector<std::byte> bytes(std::min<std::uint64_t>(file_.size() - begin_, kPiece));
  file_.read(begin_, bytes);
  std::array<std::size_t, kDelimiters.size()> counts = {};
  bool quoted = false, begun = false;
  for (const char c : text(bytes)) {
    if (c == '"') quoted = !quoted;
    if ((c == '\n' || c == '\r') && !quoted && begun) break;
    begun = begun || (c != '\n' && c != '\r' && c != ' ');
    const auto found = std::ranges::find(kDelimiters, c);
    if (!quoted && found != kDelimiters.end()) {
      ++counts[static_cast<std::size_t>(found - kDelimiters.begin())];
    }
  }
  return kDelimiters[static_cast<std::size_t>(std::ranges::max_element(counts) - counts.begin())];
}

void CsvFile::parse(const std::function<bool(const CsvParser&)>& visit) const {
  CsvParser parser(path(), delimiter_);
  std::vector<std::byte> piece(std::min<std::uint64_t>(kPiece, file_.size()));
  for (std::uint64_t offset = begin_; offset < file_.size();) {
    const auto bytes =
        std::span(piece).first(std::min<std::uint64_t>(piece.size(), file_.size() - offset));
    file_.read(offset, bytes);
    offset += bytes.size();
    std::string_view rest = text(bytes);
    while (parser.feed(rest)) {
      if (!visit(parser)) return;
    }
  }
  if (parser.finish()) visit(parser);
}

void CsvFile::read_names(TableHeader header, const std::string* known_name) {
  parse([&](const CsvParser& row) {
    bool has_number = false, has_known_name = false;
    for (std::size_t i = 0; i < row.size(); ++i) {
      has_number = has_number || csv_value(row.field(i)).kind == CsvKind::number;
      has_known_name = has_known_name || (known_name != nullptr && row.field(i) == *known_name);
    }
    has_header_ = header == TableHeader::detect ? !has_number || has_known_name
                                                : header == TableHeader::present;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool has_name = has_header_ && !row.field(i).empty();
      require_utf8(path(), row.line(), row.field(i));
      names_.push_back(has_name ? std::string(row.field(i)) : fmt::format("column {}", i + 1));
    }
    return false;
  });
  if (names_.empty()) fail_data(path(), "there is no row in it");
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const auto [place, is_new] = places_.emplace(names_[i], i);
    if (!is_new) {
      fail_data(path(), "columns {} and {} have the same name, {}", place->second + 1, i + 1,
                in_quotes(names_[i]));
    }
  }
}

std::size_t CsvFile::find(const std::string& name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? names_.size() : place->second;
}

void CsvFile::add_to(ContentHash& hash) const {
  add_pieces(hash, file_.size(),
             [this](std::uint64_t place, std::span<std::byte> bytes) { file_.read(place, bytes); });
}

void CsvFile::for_each_row(const std::function<void(const CsvParser&)>& visit) {
  offsets_.clear();
  bool is_header = has_header_;
  parse([&](const CsvParser& row) {
    if (row.size() != names_.size()) {
      fail_data(path(), "line {}: the row has {} fields; the first row has {}", row.line(),
                row.size(), names_.size());
    }
    if (!std::exchange(is_header, false)) {
      offsets_.push_back(begin_ + row.offset());
      visit(row);
    }
    return true;
  });
  if (offsets_.empty()) fail_data(path(), "there is no row below the header");
  offsets_.shrink_to_fit();
}

std::uint64_t CsvFile::line_of(std::size_t index) const {
  std::uint64_t line = 0;
  std::size_t left = index + (has_header_ ? 1 : 0);
  parse([&](const CsvParser& row) {
    line = row.line();
    return left-- > 0;
  });
  return line;
}

std::string_view CsvFile::text_of(std::size_t index) {
  const std::uint64_t begin = offsets_[index];
  const std::uint64_t end = index + 1 < offsets_.size() ? offsets_[index + 1] : file_.size();
  // Quotes may double the bytes of a row.
  const std::size_t count = std::min<std::uint64_t>(end - begin, 4 * kMaxCsvRowBytes);
  const bool in_window = begin >= window_begin_ && begin + count <= window_begin_ + window_.size();
  if (!in_window) {
    // Who reads in order will want the rows behind this one.
    const std::uint64_t ahead = index == last_index_ + 1 ? kPiece : 0;
    window_.resize(std::min(std::max<std::uint64_t>(count, ahead), file_.size() - begin));
    window_begin_ = begin;
    file_.read(begin, window_);
  }
  last_index_ = index;
  return text(window_).substr(begin - window_begin_, count);
}

const CsvParser& CsvFile::row(std::size_t index) {
  std::string_view rest = text_of(index);
  row_.reset();
  const bool complete = row_.feed(rest) || row_.finish();
  if (!complete || row_.size() != names_.size()) {
    fail_data(path(), "row {} has {} fields; it had {} when the file was opened", index + 1,
              complete ? row_.size() : 0, names_.size());
  }
  return row_;
}

}  // namespace bnns::train::impl

// Any bytes as a CSV file; the first byte chooses the options. A file is refused with an Error of
// kind `data` or `usage`, or every row is finite or missing. Then the preprocessing is learnt,
// written and read again as the same, and the file read for prediction has the same samples.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "openbnns/train/error.hpp"
#include "openbnns/train/preprocessing.hpp"
#include "scratch_file.h"

namespace {

using namespace bnns::train;

TableOptions options_of(unsigned bits) {
  constexpr char kDelimiters[] = {'\0', ',', ';', '|'};
  TableOptions options;
  options.delimiter = kDelimiters[bits & 3];
  if ((bits & 4) != 0) options.header = TableHeader::present;
  if ((bits & 8) != 0) options.header = TableHeader::absent;
  if ((bits & 16) != 0) options.task = Task::classification;
  if ((bits & 32) != 0) options.task = Task::regression;
  if ((bits & 64) != 0) options.target = "y";
  options.max_categories = (bits & 128) != 0 ? 2 : 20;
  return options;
}

struct Sample {
  std::vector<float> values, targets;
};

Sample read(const Data& data, std::size_t n) {
  Sample s{std::vector<float>(data.description().shape.count(), -1), std::vector<float>(1)};
  data.read(n, s.values, s.targets);
  return s;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i])) return false;
  }
  return true;
}

void check(const std::string& path, const TableOptions& options) {
  const Data data = open_table(path, options);
  const DataDescription& d = data.description();
  const Preprocessing preprocessing = Preprocessing::learn(data);
  if (Preprocessing::from_json(preprocessing.to_json()) != preprocessing) std::abort();
  // A row that holds the name "column 1" is taken for a header then.
  const Data again = read_table(path, preprocessing, options);
  for (std::size_t n = data.size(); n-- > 0;) {
    const Sample s = read(data, n);
    for (const float v : s.values) {
      if (std::isinf(v)) std::abort();
    }
    if (d.task == Task::classification
            ? !(s.targets[0] >= 0 && s.targets[0] < static_cast<float>(d.class_names.size()))
            : !std::isfinite(s.targets[0])) {
      std::abort();
    }
    if (again.size() != data.size()) continue;
    const Sample t = read(again, n);
    if (!same(s.values, t.values) || !same(s.targets, t.targets)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const fuzz::ScratchFile file("table");
  if (size == 0) return 0;
  try {
    check(file.write({reinterpret_cast<const char*>(data + 1), size - 1}), options_of(data[0]));
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::data && error.kind() != Error::Kind::usage) std::abort();
  }
  return 0;
}

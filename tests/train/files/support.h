// What the tests of files share: a folder that is removed at the end, files as bytes, and what an
// Error must say.
#ifndef OPENBNNS_TESTS_TRAIN_FILES_SUPPORT_H
#define OPENBNNS_TESTS_TRAIN_FILES_SUPPORT_H

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "openbnns/train/error.hpp"

namespace bnns::train::test {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "openbnns-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  // The names of what is in it, sorted.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::filesystem::path path_;
};

inline void write_bytes(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) std::abort();
}

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

// Runs it; it must throw an Error of this kind whose text contains all the pieces.
template <class Function>
void expect_error(Function function, Error::Kind kind, const std::vector<std::string>& pieces) {
  try {
    function();
    ADD_FAILURE() << "nothing was thrown; expected: " << (pieces.empty() ? "" : pieces.back());
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    for (const std::string& piece : pieces) {
      EXPECT_NE(std::string(error.what()).find(piece), std::string::npos)
          << "\"" << error.what() << "\" does not say \"" << piece << "\"";
    }
  }
}

}  // namespace bnns::train::test

#endif

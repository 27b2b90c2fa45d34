// A folder that vanishes with its owner, and files in it written byte by byte.
#ifndef OPENBNNS_TESTS_TRAIN_FILES_H
#define OPENBNNS_TESTS_TRAIN_FILES_H

#include <gtest/gtest.h>
#include <openbnns/train.hpp>
#include <stdlib.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace bnns::train {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "openbnns-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;

  std::string path(const std::string& name = "") const {
    return name.empty() ? path_ : path_ + "/" + name;
  }
  // Returns the path.
  std::string write(const std::string& name, const std::string& bytes) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

 private:
  std::string path_;
};

inline std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = bytes; i-- > 0;) text += static_cast<char>(value >> 8 * i & 0xFF);
  return text;
}

inline std::string gzip(const std::string& bytes) {
  z_stream z = {};
  deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&z, bytes.size()) + 64, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  z.avail_in = static_cast<uInt>(bytes.size());
  z.next_out = reinterpret_cast<Bytef*>(packed.data());
  z.avail_out = static_cast<uInt>(packed.size());
  deflate(&z, Z_FINISH);
  packed.resize(z.total_out);
  deflateEnd(&z);
  return packed;
}

// The text of the Error that action throws; all of parts must be in it.
template <class Action>
void expect_error(Action action, Error::Kind kind, const std::vector<std::string>& parts) {
  try {
    action();
    ADD_FAILURE() << "nothing was thrown; expected: " << testing::PrintToString(parts);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    for (const std::string& part : parts) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos)
          << "\"" << part << "\" is not in: " << error.what();
    }
  }
}

struct Sample {
  std::vector<float> values, targets;
};

inline Sample sample(const Data& data, std::size_t index) {
  Sample s{std::vector<float>(data.description().shape.count()),
           std::vector<float>(data.description().target_count())};
  data.read(index, s.values, s.targets);
  return s;
}

}  // namespace bnns::train

#endif

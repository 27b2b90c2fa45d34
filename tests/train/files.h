// A folder that vanishes with its owner, and files in it written byte by byte.
#ifndef OPENBNNS_TESTS_TRAIN_FILES_H
#define OPENBNNS_TESTS_TRAIN_FILES_H

#include <gtest/gtest.h>
#include <openbnns/train.hpp>
#include <stdlib.h>
#include <sys/resource.h>
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

// The bytes packed as zlib does it, as often as told, without having them in memory as often.
inline std::string deflated(const std::string& bytes, std::size_t times = 1, int format = 0) {
  z_stream z = {};
  deflateInit2(&z, 9, Z_DEFLATED, MAX_WBITS + format, 8, Z_DEFAULT_STRATEGY);
  std::string packed, piece(1 << 16, '\0');
  for (std::size_t n = 1; n <= times; ++n) {
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    z.avail_in = static_cast<uInt>(bytes.size());
    do {
      z.next_out = reinterpret_cast<Bytef*>(piece.data());
      z.avail_out = static_cast<uInt>(piece.size());
      deflate(&z, n == times ? Z_FINISH : Z_NO_FLUSH);
      packed.append(piece, 0, piece.size() - z.avail_out);
    } while (z.avail_out == 0);
  }
  deflateEnd(&z);
  return packed;
}

inline std::string gzip(const std::string& bytes, std::size_t times = 1) {
  return deflated(bytes, times, 16);
}

// With a sanitizer, memory that was freed stays in use.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kMeasuresMemory = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool kMeasuresMemory = false;
#else
inline constexpr bool kMeasuresMemory = true;
#endif
#else
inline constexpr bool kMeasuresMemory = true;
#endif

// The most memory that the process has had in use so far.
inline long peak_kilobytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
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

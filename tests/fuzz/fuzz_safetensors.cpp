// Any bytes as a safetensors file, and any bytes as JSON. A file is refused with an Error of kind
// `model`, or read; what was read is written, and read again as the same. A text is refused, or its
// value is the one that nlohmann::json reads.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unistd.h>

#include "openbnns/train/error.hpp"
#include "train/files/json.h"
#include "train/files/safetensors.h"

namespace {

using namespace bnns::train;
using namespace bnns::train::impl;

// A file in memory, if the system has a place for it.
std::filesystem::path file_path() {
  static const std::filesystem::path path = [] {
    const std::filesystem::path memory = "/dev/shm";
    const std::filesystem::path folder =
        std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    return folder / ("openbnns-fuzz-" + std::to_string(::getpid()));
  }();
  static const struct Remover {
    ~Remover() { std::filesystem::remove(path); }
    const std::filesystem::path& path;
  } remover{path};
  return path;
}

void read_archive(std::string_view bytes) {
  const std::filesystem::path path = file_path();
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  TensorFile file;
  try {
    file = read_safetensors(path);
  } catch (const Error& error) {
    if (error.kind() != Error::Kind::model) std::abort();
    return;
  }
  // The writer sorts by the size of the elements, and the reader keeps the order.
  std::stable_sort(file.tensors.begin(), file.tensors.end(),
                   [](const NamedTensor& a, const NamedTensor& b) {
                     return size_of(a.dtype) > size_of(b.dtype);
                   });
  write_safetensors(path, file);
  if (read_safetensors(path) != file) std::abort();
}

// The header of the input with a right length in front, so that its rules are reached.
void read_header(std::string_view bytes) {
  const std::size_t end = bytes.rfind('}');
  const std::size_t count = end == std::string_view::npos ? bytes.size() : end + 1;
  std::string archive;
  for (int i = 0; i < 8; ++i) archive += static_cast<char>(count >> (8 * i));
  read_archive(archive + std::string(bytes));
}

// What nlohmann::json accepts and we do not: the rules beyond the grammar, a byte order mark in
// front, and what follows a NUL.
bool breaks_own_rule(std::string_view text, std::string_view error) {
  for (const char* rule :
       {"appears twice", "does not fit", "levels of objects", "bytes; at most"}) {
    if (error.find(rule) != std::string_view::npos) return true;
  }
  return text.starts_with("\xEF\xBB\xBF") || text.find('\0') != std::string_view::npos;
}

void read_text(std::string_view text) {
  nlohmann::json value;
  try {
    value = parse_json(text, "fuzz", Error::Kind::model);
  } catch (const Error& error) {
    if (!breaks_own_rule(text, error.what()) && nlohmann::json::accept(text)) std::abort();
    return;
  }
  if (nlohmann::json::parse(text) != value) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_archive(bytes);
      break;
    case 1:
      read_header(bytes);
      break;
    default:
      read_text(bytes);
      break;
  }
  return 0;
}

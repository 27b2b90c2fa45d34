#include "run_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <openbnns/train/error.hpp>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <vector>

namespace program {
namespace {

namespace fs = std::filesystem;
using bnns::train::Error;

// A temporary file of this size is made beside `path` and removed.
void require_room(const fs::path& path, std::size_t bytes) {
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw Error(Error::Kind::file, path.string(), "it is a folder; a file is to be written there");
  }
  if (!fs::is_directory(folder, error)) {
    throw Error(Error::Kind::file, path.string(),
                fmt::format("there is no folder \"{}\"", folder.string()));
  }
  std::string name = (folder / ".openbnns-XXXXXX").string();
  const int file = ::mkostemp(name.data(), O_CLOEXEC);
  if (file < 0) {
    throw Error(Error::Kind::file, path.string(),
                fmt::format("cannot be written: {}", std::strerror(errno)));
  }
  ::unlink(name.c_str());
  const int failure = bytes > 0 ? ::posix_fallocate(file, 0, static_cast<off_t>(bytes)) : 0;
  ::close(file);
  if (failure == ENOSPC || failure == EDQUOT || failure == EFBIG) {
    throw Error(Error::Kind::file, path.string(),
                fmt::format("no room for {} bytes: {}", bytes, std::strerror(failure)));
  }
}

}  // namespace

void RunFiles::resolve() {
  if (model.empty()) throw Error(Error::Kind::usage, "--output is empty; it must name a file");
  fs::path stem = model;
  if (stem.extension() == ".safetensors") stem.replace_extension();
  const auto fill = [&](std::string& name, const char* ending) {
    if (name.empty()) name = stem.string() + ending;
    if (name == "none") name.clear();
  };
  fill(report, ".html");
  fill(log, ".jsonl");
  fill(checkpoint, ".checkpoint");
  const std::vector<std::string> all = {model, report, log, checkpoint};
  for (std::size_t a = 0; a < all.size(); ++a) {
    for (std::size_t b = a + 1; b < all.size(); ++b) {
      if (all[a].empty() ||
          fs::path(all[a]).lexically_normal() != fs::path(all[b]).lexically_normal()) {
        continue;
      }
      throw Error(
          Error::Kind::usage,
          fmt::format("\"{}\" is named for two of model, report, log and checkpoint", all[a]));
    }
  }
}

void RunFiles::require_writable(std::size_t bytes) const {
  for (const std::string& name : {model, checkpoint, report, log}) {
    if (!name.empty()) require_room(name, bytes);
  }
}

}  // namespace program

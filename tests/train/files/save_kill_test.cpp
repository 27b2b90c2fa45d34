// Kills a process that saves one file after the other, at random moments, and looks at the file: it
// must be there and be one of those that were saved, as a whole.
// Usage: train_save_kill_test [kills]   (20)
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "files/support.h"
#include "train/files/safetensors.h"

namespace {

using namespace bnns::train;
using namespace bnns::train::impl;

// The n-th model: every number in it is n, and its size changes with n.
TensorFile model(int n) {
  TensorFile file;
  file.metadata["number"] = std::to_string(n);
  for (std::size_t i = 0; i < 20; ++i) {
    const std::size_t count = 10000 + 7 * (static_cast<std::size_t>(n) % 100) * (i + 1);
    file.tensors.push_back(NamedTensor::of("layer" + std::to_string(i), {count},
                                           std::vector<float>(count, static_cast<float>(n))));
  }
  return file;
}

[[noreturn]] void save_forever(const std::filesystem::path& path, int first) {
  try {
    for (int n = first;; ++n) write_safetensors(path, model(n));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "saving failed: %s\n", error.what());
    ::_exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int kills = argc > 1 ? std::atoi(argv[1]) : 20;
  const test::TemporaryFolder folder;
  const std::filesystem::path path = folder / "model.safetensors";
  write_safetensors(path, model(0));
  std::mt19937 random(1);
  int last = 0, unfinished = 0;
  for (int kill = 0; kill < kills; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) save_forever(path, last + 1);
    if (child < 0) return std::perror("fork"), 1;
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 40000));
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!WIFSIGNALED(status)) {
      std::fprintf(stderr, "kill %d: the child had ended by itself\n", kill);
      return 1;
    }
    // A temporary file shows that the kill came while a file was written.
    for (const std::string& name : folder.names()) {
      if (name == "model.safetensors") continue;
      ++unfinished;
      std::filesystem::remove(folder / name);
    }
    try {
      const TensorFile file = read_safetensors(path);
      const int number = std::atoi(file.metadata.at("number").c_str());
      if (number < last || file != model(number)) {
        std::fprintf(stderr, "kill %d: the file is not what was saved\n", kill);
        return 1;
      }
      last = number;
    } catch (const Error& error) {
      std::fprintf(stderr, "kill %d: torn file: %s\n", kill, error.what());
      return 1;
    }
  }
  std::printf("%d kills, %d of them while a file was written, %d files saved, none torn\n", kills,
              unfinished, last);
  return unfinished > 0 && last > 0 ? 0 : 1;
}

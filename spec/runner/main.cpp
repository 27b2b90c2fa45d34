// openbnns_spec: runs the executable definition of the layers against the library.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "runner/options.h"

namespace spec {
namespace {

char current_name[512] = "before the first case";
struct sigaction previous[NSIG];

// Prints the name of the case that crashed, most often on a guard page, and restores the previous
// handler. The faulting instruction then runs again and ends the program with a sanitizer's report
// or a core dump.
void on_crash(int signal_number) {
  const char* text = signal_number == SIGSEGV || signal_number == SIGBUS
                         ? ": touched memory outside its tensors\n"
                         : ": crashed\n";
  if (write(STDOUT_FILENO, current_name, std::strlen(current_name)) < 0 ||
      write(STDOUT_FILENO, text, std::strlen(text)) < 0)
    _exit(3);
  sigaction(signal_number, &previous[signal_number], nullptr);
}

void watch_for_crashes() {
  for (int s : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction action = {};
    action.sa_handler = on_crash;
    sigaction(s, &action, &previous[s]);
  }
}

int usage() {
  std::fprintf(stderr,
               "usage: openbnns_spec test|threads|grad|bench|support|list [options]\n"
               "  --case NAME      only what begins with NAME (as failures print it)\n"
               "  --filter TEXT    only cases whose layer/function/shape contains TEXT\n"
               "  --part I/N       test, threads: the I-th of N parts, which are all cases\n"
               "  --quick          a fixed sample of the cases\n"
               "  --digest         test: also print a checksum of all results by layer and target\n"
               "  --json           bench: JSON instead of a table\n");
  return 2;
}

struct Mode {
  const char* name;
  int (*run)(const Options&);
};

constexpr Mode kModes[] = {{"test", run_test},   {"threads", run_threads}, {"grad", run_grad},
                           {"bench", run_bench}, {"support", run_support}, {"list", run_list}};

}  // namespace

void set_current_name(const std::string& name) {
  const size_t n = std::min(name.size(), sizeof current_name - 1);
  std::memcpy(current_name, name.data(), n);
  current_name[n] = 0;
}

int main(int argc, char** argv) {
  if (argc < 2) return usage();
  Options options{.mode = argv[1]};
  for (int i = 2; i < argc; ++i) {
    const std::string option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--case" && has_value)
      options.only_case = argv[++i];
    else if (option == "--filter" && has_value)
      options.filter = argv[++i];
    else if (option == "--part" && has_value) {
      if (std::sscanf(argv[++i], "%zu/%zu", &options.part, &options.parts) != 2 ||
          options.part < 1 || options.part > options.parts)
        return usage();
    } else if (option == "--quick")
      options.quick = true;
    else if (option == "--digest")
      options.digest = true;
    else if (option == "--json")
      options.json = true;
    else
      return usage();
  }
  watch_for_crashes();
  for (const Mode& mode : kModes)
    if (options.mode == mode.name) return mode.run(options);
  return usage();
}

}  // namespace spec

int main(int argc, char** argv) {
  return spec::main(argc, argv);
}

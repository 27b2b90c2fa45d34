// The commands of the program. Each of these functions adds one command to the command line; what
// the command does is stored in `chosen` when the user names it, and returns the exit status.
#ifndef APPS_OPENBNNS_COMMANDS_H
#define APPS_OPENBNNS_COMMANDS_H

#include <CLI/CLI.hpp>
#include <openbnns/train/error.hpp>

#include <functional>
#include <string>

namespace program {

// docs/program.md and the manual page list these.
enum ExitStatus : int {
  kDone = 0,
  kInternal = 1,
  kUsage = 2,
  kNetwork = 3,
  kData = 4,
  kModel = 5,
  kFile = 6,
  kDiverged = 7,
  kWrongGradient = 8,
  kSignal = 128,  // and the number of the signal: 130 for Ctrl-C
};

int status_of(bnns::train::Error::Kind kind);

using Command = std::function<int()>;

void add_train(CLI::App& program, Command& chosen, const std::string& command_line);
void add_eval(CLI::App& program, Command& chosen);
void add_predict(CLI::App& program, Command& chosen);
void add_info(CLI::App& program, Command& chosen);
void add_gradcheck(CLI::App& program, Command& chosen);
void add_bench(CLI::App& program, Command& chosen);

}  // namespace program

#endif

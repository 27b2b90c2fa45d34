// openbnns: trains networks, measures and applies them. This file reads the command line and turns
// failures into exit statuses.
#include <fmt/format.h>
#include <openbnns/openbnns.h>
#include <openbnns/train.hpp>

#include <csignal>
#include <exception>
#include <new>
#include <string>

#include "commands.h"
#include "output.h"

namespace {

using bnns::train::Error;

// As a shell would take it back: words with other characters than these are quoted.
std::string command_line(int count, char** words) {
  std::string line = "openbnns";
  for (int n = 1; n < count; ++n) {
    const std::string word = words[n];
    const bool plain = !word.empty() && word.find_first_not_of(
                                            "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                            "0123456789-_=+.,:/@%") == std::string::npos;
    line += ' ';
    if (plain) {
      line += word;
      continue;
    }
    line += '\'';
    for (const char c : word) line += c == '\'' ? std::string("'\\''") : std::string(1, c);
    line += '\'';
  }
  return line;
}

constexpr const char* kExamples = R"(Examples:
  openbnns train --data synthetic-digits
  openbnns train --data iris.csv --output iris.safetensors
  openbnns predict iris.safetensors new-flowers.csv

Data is one of: synthetic-digits, a folder with the files of MNIST, a folder with
one sub-folder of images per class, IMAGES.idx,LABELS.idx, or a table NAME.csv.

Exit status: 0 done, 1 internal error, 2 usage, 3 network description, 4 data,
5 model or checkpoint, 6 file system, 7 training diverged, 8 wrong gradient,
130 interrupted and saved. "openbnns COMMAND --help" tells the options of a command.
)";

int run(int count, char** words) {
  CLI::App app("Trains neural networks on the CPU, measures them and applies them.", "openbnns");
  app.require_subcommand(1);
  app.set_version_flag("--version", std::string("openbnns ") + OpenBNNSGetVersion());
  app.footer(kExamples);
  program::Command chosen;
  program::add_train(app, chosen, command_line(count, words));
  program::add_eval(app, chosen);
  program::add_predict(app, chosen);
  program::add_info(app, chosen);
  program::add_gradcheck(app, chosen);
  program::add_bench(app, chosen);
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    const auto used = app.get_subcommands();
    program::print(used.empty() ? app.help() : used.front()->help());
    return program::kDone;
  } catch (const CLI::CallForVersion& version) {
    program::print(std::string(version.what()) + '\n');
    return program::kDone;
  } catch (const CLI::ParseError& error) {
    const auto used = app.get_subcommands();
    program::print_error(fmt::format("{}; see openbnns {}--help", error.what(),
                                     used.empty() ? "" : used.front()->get_name() + ' '));
    return program::kUsage;
  }
  return chosen();
}

}  // namespace

int program::status_of(Error::Kind kind) {
  switch (kind) {
    case Error::Kind::usage:
    case Error::Kind::ranks:
      return kUsage;
    case Error::Kind::network:
      return kNetwork;
    case Error::Kind::data:
      return kData;
    case Error::Kind::model:
      return kModel;
    case Error::Kind::file:
      return kFile;
    case Error::Kind::training:
      return kDiverged;
  }
  return kInternal;
}

int main(int count, char** words) {
  // A reader that leaves is no reason to lose a run: see output.h.
  std::signal(SIGPIPE, SIG_IGN);
  int status = program::kInternal;
  try {
    status = run(count, words);
  } catch (const Error& error) {
    program::print_error(error.what());
    status = program::status_of(error.kind());
  } catch (const std::bad_alloc&) {
    program::print_error("out of memory");
  } catch (const std::exception& error) {
    program::print_error(fmt::format("internal error: {}", error.what()));
  }
  try {
    program::finish_output();
  } catch (const Error& error) {
    program::print_error(error.what());
    if (status == program::kDone) status = program::kFile;
  }
  return status;
}

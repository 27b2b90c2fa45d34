// Shows how training goes: one line that is drawn again and again on a terminal, plain lines
// elsewhere.
#ifndef APPS_OPENBNNS_PROGRESS_H
#define APPS_OPENBNNS_PROGRESS_H

#include <openbnns/train/fit.hpp>

#include <chrono>
#include <cstddef>
#include <string>

namespace program {

class Progress {
 public:
  enum class Stream {
    none,
    standard_output,
    terminal_only,  // standard error, if it is a terminal: standard output has JSON
  };

  Progress(Stream stream, bnns::train::Task task);
  void step(const bnns::train::StepRecord& record);
  void epoch(const bnns::train::EpochRecord& record, std::size_t epochs);
  // Ends the live line, if there is one.
  void clear();

 private:
  void write(const std::string& text);
  bool is_regression() const { return task_ == bnns::train::Task::regression; }

  using Clock = std::chrono::steady_clock;
  Stream stream_;
  bnns::train::Task task_;
  bool live_ = false;        // the stream is a terminal that can move its cursor
  bool line_open_ = false;   // the live line is on the screen
  Clock::time_point shown_;  // when the last line was written
};

}  // namespace program

#endif

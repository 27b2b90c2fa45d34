#include "progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "output.h"

namespace program {
namespace {

using bnns::train::EpochRecord;
using bnns::train::StepRecord;

constexpr auto kLiveInterval = std::chrono::milliseconds(100);
constexpr auto kPlainInterval = std::chrono::seconds(30);
constexpr std::size_t kBarWidth = 20;

// Columns of the terminal. Asked for every time, since a window changes its size.
std::size_t terminal_width(int file) {
  winsize size = {};
  if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool is_capable_terminal(int file) {
  const char* kind = std::getenv("TERM");
  return isatty(file) && kind && std::string_view(kind) != "dumb" && *kind != '\0';
}

// As many of the parts, from the first one on, as fit into a line.
std::string fitted(const std::vector<std::string>& parts, std::size_t width) {
  std::string line;
  for (const std::string& part : parts) {
    if (part.empty()) continue;
    const std::size_t gap = line.empty() ? 0 : 2;
    if (line.size() + gap + part.size() > width) break;
    line += std::string(gap, ' ') + part;
  }
  return line;
}

std::string bar(double share) {
  const auto filled =
      static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(kBarWidth));
  return '[' + std::string(filled, '=') + std::string(kBarWidth - filled, ' ') + ']';
}

double share_of(const StepRecord& record) {
  return static_cast<double>(record.step) /
         static_cast<double>(std::max<std::size_t>(1, record.steps));
}

double seconds_left(const StepRecord& record) {
  const double per_step =
      record.seconds / static_cast<double>(std::max<std::size_t>(1, record.step));
  const std::size_t steps =
      record.steps - record.step + (record.epochs - record.epoch) * record.steps;
  return per_step * static_cast<double>(steps);
}

}  // namespace

Progress::Progress(Stream stream, bnns::train::Task task) : stream_(stream), task_(task) {
  const int file = stream == Stream::standard_output ? STDOUT_FILENO : STDERR_FILENO;
  live_ = stream != Stream::none && is_capable_terminal(file);
  if (stream_ == Stream::terminal_only && !live_) stream_ = Stream::none;
  shown_ = Clock::now();
}

void Progress::write(const std::string& text) {
  if (stream_ == Stream::standard_output) {
    print(text);
  } else if (::write(STDERR_FILENO, text.data(), text.size()) < 0) {
    stream_ = Stream::none;
  }
}

void Progress::step(const StepRecord& record) {
  if (stream_ == Stream::none) return;
  const auto now = Clock::now();
  if (now - shown_ < (live_ ? Clock::duration(kLiveInterval) : Clock::duration(kPlainInterval))) {
    return;
  }
  shown_ = now;
  const double share = share_of(record);
  const double rate = static_cast<double>(record.samples) / std::max(1e-9, record.seconds);
  const std::string name = fmt::format("epoch {}/{}", record.epoch, record.epochs);
  const std::string part = fmt::format("{:3.0f} %", 100 * share);
  const std::string loss = "loss " + figure(record.loss);
  const std::string accuracy = is_regression() ? "" : "accuracy " + percent(record.accuracy);
  const std::string speed = fmt::format("{:.0f} samples/s", rate);
  const std::string left = duration(seconds_left(record)) + " left";
  if (!live_) {
    write(fitted({name, part, loss, accuracy, speed, left}, std::string::npos) + '\n');
    return;
  }
  // One column stays free: a full line would wrap on some terminals.
  const std::size_t width =
      terminal_width(stream_ == Stream::standard_output ? STDOUT_FILENO : STDERR_FILENO) - 1;
  const bool wide = width >= 100;
  write("\r" + fitted({name, part, wide ? bar(share) : "", loss, accuracy, left, speed}, width) +
        "\x1b[K");
  line_open_ = true;
}

void Progress::epoch(const EpochRecord& record, std::size_t epochs) {
  if (stream_ == Stream::none) return;
  const std::size_t digits = std::to_string(epochs).size();
  std::vector<std::string> parts = {fmt::format("epoch {:>{}}/{}", record.epoch, digits, epochs),
                                    fmt::format("loss {:<9}", figure(record.training_loss))};
  if (!is_regression()) parts.push_back("accuracy " + percent(record.training_accuracy));
  if (record.validation.samples > 0) {
    parts.push_back(fmt::format("validation loss {:<9}", figure(record.validation.loss)));
    parts.push_back(is_regression() ? "RMSE " + figure(record.validation.root_mean_square_error)
                                    : "accuracy " + percent(record.validation.accuracy));
  }
  parts.push_back(duration(record.seconds));
  parts.push_back(fmt::format("{:.0f} samples/s", record.samples_per_second));
  if (record.is_best) parts.push_back("best");
  const std::string line = fitted(
      parts, live_ ? std::max<std::size_t>(
                         20, terminal_width(stream_ == Stream::standard_output ? STDOUT_FILENO
                                                                               : STDERR_FILENO) -
                                 1)
                   : std::string::npos);
  clear();
  write(line + '\n');
  shown_ = Clock::now();
}

void Progress::clear() {
  if (line_open_) write("\r\x1b[K");
  line_open_ = false;
}

}  // namespace program

// The log of a run: one line of JSON per epoch.
#ifndef APPS_OPENBNNS_EPOCH_LOG_H
#define APPS_OPENBNNS_EPOCH_LOG_H

#include <openbnns/train/fit.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace program {

nlohmann::ordered_json epoch_json(const bnns::train::EpochRecord& record, bnns::train::Task task);

class EpochLog {
 public:
  // An empty name: nothing is written. A resumed run keeps the lines of the epochs before it.
  EpochLog(std::string file, bool resume) : file_(std::move(file)), resume_(resume) {}
  // Throws Error of kind file.
  void add(const bnns::train::EpochRecord& record, bnns::train::Task task);

 private:
  std::string kept_lines(std::size_t first_epoch) const;

  std::string file_;
  bool resume_;
  bool begun_ = false;
};

}  // namespace program

#endif

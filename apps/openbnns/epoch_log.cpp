#include "epoch_log.h"

#include <openbnns/train/error.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "metrics.h"
#include "output.h"

namespace program {

using bnns::train::EpochRecord;
using bnns::train::Error;
using bnns::train::Task;

nlohmann::ordered_json epoch_json(const EpochRecord& record, Task task) {
  nlohmann::ordered_json json = {{"epoch", record.epoch}, {"training_loss", record.training_loss}};
  if (task == Task::classification) json["training_accuracy"] = record.training_accuracy;
  if (record.validation.samples > 0) add_metrics(json, "validation_", record.validation, task);
  json["learning_rate"] = record.learning_rate;
  json["seconds"] = record.seconds;
  json["samples_per_second"] = record.samples_per_second;
  json["best"] = record.is_best;
  return json;
}

std::string EpochLog::kept_lines(std::size_t first_epoch) const {
  std::string kept, line;
  std::ifstream stream(file_);
  while (std::getline(stream, line)) {
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (!json.is_object() || !json.contains("epoch") || !json["epoch"].is_number_unsigned()) break;
    if (json["epoch"].get<std::size_t>() >= first_epoch) break;
    kept += line + '\n';
  }
  return kept;
}

void EpochLog::add(const EpochRecord& record, Task task) {
  if (file_.empty()) return;
  const std::string before = !begun_ && resume_ ? kept_lines(record.epoch) : "";
  std::ofstream stream(file_, begun_ ? std::ios::app : std::ios::trunc);
  stream << before << json_line(epoch_json(record, task));
  stream.close();
  if (!stream) {
    throw Error(Error::Kind::file, file_,
                std::string("cannot be written: ") + std::strerror(errno));
  }
  begun_ = true;
}

}  // namespace program

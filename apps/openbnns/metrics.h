// Figures of a network on data, for people and for scripts.
#ifndef APPS_OPENBNNS_METRICS_H
#define APPS_OPENBNNS_METRICS_H

#include <openbnns/train/data.hpp>
#include <openbnns/train/metrics.hpp>

#include <nlohmann/json.hpp>
#include <string>

namespace program {

// "loss 0.05, accuracy 98.3 %", or MAE, RMSE and R2.
std::string metrics_text(const bnns::train::Metrics& metrics, bnns::train::Task task);
// Precision and recall of every class, and the confusion matrix if it is not too wide.
std::string class_tables(const bnns::train::Metrics& metrics,
                         const std::vector<std::string>& names);
// Adds "PREFIXloss", "PREFIXaccuracy" and so on.
void add_metrics(nlohmann::ordered_json& json, const std::string& prefix,
                 const bnns::train::Metrics& metrics, bnns::train::Task task);
// Adds "classes" and "confusion".
void add_classes(nlohmann::ordered_json& json, const bnns::train::Metrics& metrics,
                 const std::vector<std::string>& names);

}  // namespace program

#endif

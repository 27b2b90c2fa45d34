// Turns what is known of a run into the report that the library writes.
#ifndef APPS_OPENBNNS_REPORT_H
#define APPS_OPENBNNS_REPORT_H

#include <openbnns/train/fit.hpp>
#include <openbnns/train/network.hpp>
#include <openbnns/train/report.hpp>

namespace program {

// Name of the processor as the system tells it, or empty.
std::string cpu_name();

void add_network(bnns::train::Report& report, const bnns::train::Network& network);
void add_epoch(bnns::train::Report& report, const bnns::train::EpochRecord& record);
void set_layer_times(bnns::train::Report& report, const std::vector<bnns::train::LayerTime>& times);
void add_figures(bnns::train::Report& report, const bnns::train::Metrics& metrics,
                 const std::vector<std::string>& class_names);
// Pictures that were recognised and others that were not, or pairs of truth and prediction.
void add_samples(bnns::train::Report& report, bnns::train::Network& network,
                 const bnns::train::Data& data, std::size_t threads);
// The weights of the first layer, if it is a convolution of pictures.
void add_filters(bnns::train::Report& report, bnns::train::Network& network);

}  // namespace program

#endif

// Options that several commands share, and what they say about data, network and training.
#ifndef APPS_OPENBNNS_OPTIONS_H
#define APPS_OPENBNNS_OPTIONS_H

#include <CLI/CLI.hpp>
#include <openbnns/train.hpp>

#include <string>

namespace program {

// --data and how it is read.
struct DataArguments {
  std::string text;
  bnns::train::DataOptions options;
  std::string image_size;  // "WxH"
  std::string delimiter;

  // Throws Error of kind usage if a value cannot be read.
  bnns::train::DataOptions resolved() const;
};

void add_data_options(CLI::App& app, DataArguments& data);
void add_training_options(CLI::App& app, bnns::train::TrainingOptions& training);
CLI::Option* add_header_option(CLI::App& app, bnns::train::TableHeader& header);
void add_threads_option(CLI::App& app, std::size_t& threads);

// A name of Network::names() or a JSON file. The shape and the outputs are those of the data.
bnns::train::Network open_network(const std::string& name, const bnns::train::SampleShape& input,
                                  std::size_t outputs, bnns::train::OutputKind output);
// The network for data that comes without a choice: mlp for tables, digits for grey images of up to
// 32 pixels in each direction, resnet-mini for other images.
std::string default_network(const bnns::train::DataDescription& data);

bnns::train::OutputKind output_kind(bnns::train::Task task);
std::string shape_text(const bnns::train::SampleShape& shape);

}  // namespace program

#endif

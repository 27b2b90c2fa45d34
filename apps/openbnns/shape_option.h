// --input and --outputs, for commands that need a network and no data.
#ifndef APPS_OPENBNNS_SHAPE_OPTION_H
#define APPS_OPENBNNS_SHAPE_OPTION_H

#include <CLI/CLI.hpp>
#include <openbnns/train/data.hpp>

#include <cstddef>
#include <string>

namespace program {

struct ShapeArguments {
  std::string input = "28x28x1";
  std::size_t outputs = 10;

  // Throws Error of kind usage.
  bnns::train::SampleShape resolved() const;
};

void add_shape_options(CLI::App& app, ShapeArguments& shape);

}  // namespace program

#endif

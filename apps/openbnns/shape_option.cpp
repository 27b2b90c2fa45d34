#include "shape_option.h"

#include <fmt/format.h>
#include <openbnns/train/error.hpp>

#include <array>
#include <charconv>

namespace program {

bnns::train::SampleShape ShapeArguments::resolved() const {
  std::array<std::size_t, 3> sizes = {1, 1, 1};
  const char *place = input.data(), *last = place + input.size();
  bool right = false;
  for (std::size_t& size : sizes) {
    const auto [end, error] = std::from_chars(place, last, size);
    if (error != std::errc() || size == 0 || size > 65536) break;
    right = end == last;
    if (right || *end != 'x') break;
    place = end + 1;
  }
  if (!right) {
    using bnns::train::Error;
    throw Error(Error::Kind::usage, "--input",
                fmt::format("is \"{}\"; it must be WIDTH, WIDTHxHEIGHT or WIDTHxHEIGHTxCHANNELS, "
                            "with numbers from 1 to 65536",
                            input));
  }
  return {.width = sizes[0], .height = sizes[1], .channels = sizes[2]};
}

void add_shape_options(CLI::App& app, ShapeArguments& shape) {
  app.add_option("--input", shape.input, "samples of a named network")
      ->type_name("WxHxC")
      ->capture_default_str();
  app.add_option("--outputs", shape.outputs, "outputs of a named network")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000000).description(""))
      ->capture_default_str();
}

}  // namespace program

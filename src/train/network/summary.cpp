// What a network looks like as a table.
#include <fmt/format.h>

#include "openbnns/train/network.hpp"
#include "train/network/state.h"

namespace bnns::train {
namespace {

void add_layers(std::span<const impl::ResolvedLayer> layers, std::vector<LayerSummary>& rows) {
  for (const impl::ResolvedLayer& layer : layers) {
    LayerSummary row = {.path = layer.path,
                        .kind = std::string(layer.kind->name),
                        .output = layer.output,
                        .frozen = layer.frozen};
    for (const impl::ParameterRule& rule : layer.parameters) {
      std::size_t count = 1;
      for (const std::size_t dimension : rule.dimensions) count *= dimension;
      row.parameters += count;
    }
    row.bytes = sizeof(float) * (row.parameters + layer.output.count());
    if (layer.kind->multiply_adds) row.multiply_adds = layer.kind->multiply_adds(layer);
    add_layers(layer.inside, rows);
    rows.push_back(std::move(row));
  }
}

// 1234567 as "1.23 M".
std::string short_number(double number) {
  const char* units[] = {"", " k", " M", " G", " T"};
  std::size_t unit = 0;
  while (number >= 1000 && unit + 1 < std::size(units)) {
    number /= 1000;
    ++unit;
  }
  return fmt::format("{:.{}f}{}", number,
                     unit == 0      ? 0
                     : number < 10  ? 2
                     : number < 100 ? 1
                                    : 0,
                     units[unit]);
}

}  // namespace

std::vector<LayerSummary> Network::layers() const {
  std::vector<LayerSummary> rows;
  add_layers(state_->layers, rows);
  return rows;
}

std::size_t Network::parameter_count() const {
  std::size_t count = 0;
  for (const LayerSummary& row : layers()) count += row.parameters;
  return count;
}

std::string Network::summary() const {
  constexpr const char* kLine = "{:<10} {:<22} {:>16} {:>11} {:>10} {:>13}\n";
  std::string text =
      fmt::format(kLine, "layer", "kind", "output", "parameters", "bytes", "multiply-adds");
  double multiply_adds = 0;
  std::size_t bytes = 0;
  text += fmt::format(kLine, "", "input", impl::text_of(input_shape()), "", "", "");
  for (const LayerSummary& row : layers()) {
    text += fmt::format(kLine, row.path, row.kind + (row.frozen ? " (frozen)" : ""),
                        impl::text_of(row.output),
                        row.parameters ? fmt::format("{}", row.parameters) : "",
                        short_number(static_cast<double>(row.bytes)),
                        row.multiply_adds > 0 ? short_number(row.multiply_adds) : "");
    multiply_adds += row.multiply_adds;
    bytes += row.bytes;
  }
  return text + fmt::format(kLine, "", "all", "", parameter_count(),
                            short_number(static_cast<double>(bytes)), short_number(multiply_adds));
}

}  // namespace bnns::train

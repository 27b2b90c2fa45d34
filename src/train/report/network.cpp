// The layers of the network, and where the time goes.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "train/report/html.h"
#include "train/report/sections.h"

namespace bnns::train::impl {
namespace {

double known(double seconds) {
  return std::isfinite(seconds) && seconds > 0 ? seconds : 0;
}

}  // namespace

std::string network_section(const Report& report) {
  if (report.layers.empty()) return {};
  Table table("Layers of the network",
              {{"Layer", false}, {"Output", false}, {"Parameters"}, {"Memory"}, {"Multiply-adds"}});
  Report::Layer total;
  for (const Report::Layer& layer : report.layers) {
    table.row({name_html(layer.name), name_html(layer.output_shape), count_text(layer.parameters),
               large_text(static_cast<double>(layer.memory_bytes), "B"),
               large_text(static_cast<double>(layer.multiply_adds), "")});
    total.parameters += layer.parameters;
    total.memory_bytes += layer.memory_bytes;
    total.multiply_adds += layer.multiply_adds;
  }
  table.footer({"Total", "", count_text(total.parameters),
                large_text(static_cast<double>(total.memory_bytes), "B"),
                large_text(static_cast<double>(total.multiply_adds), "")});
  return section("network", "Network", table.finish(), true);
}

std::string times_section(const Report& report) {
  double longest = 0, forward = 0, backward = 0;
  for (const Report::LayerTime& layer : report.layer_times) {
    forward += known(layer.forward_seconds);
    backward += known(layer.backward_seconds);
    longest = std::max(longest, known(layer.forward_seconds) + known(layer.backward_seconds));
  }
  if (longest == 0) return {};
  Table table("Time per layer", {{"Layer", false}, {"Forward"}, {"Backward"}, {"Share", false}});
  for (const Report::LayerTime& layer : report.layer_times) {
    table.row(
        {name_html(layer.name), duration_text(layer.forward_seconds),
         duration_text(layer.backward_seconds),
         fmt::format("<span class=\"bar\" aria-hidden=\"true\"><i style=\"width:{:.1f}%\"></i>"
                     "<i style=\"width:{:.1f}%\"></i></span>",
                     100 * known(layer.forward_seconds) / longest,
                     100 * known(layer.backward_seconds) / longest)});
  }
  table.footer({"Total", duration_text(forward), duration_text(backward), ""});
  return section("times", "Time per layer",
                 "<p class=\"small\"><span class=\"key s0\">forward</span> &nbsp; "
                 "<span class=\"key s1\">backward</span></p>\n" +
                     table.finish());
}

}  // namespace bnns::train::impl

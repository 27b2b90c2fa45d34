// Charts as inline SVG. They take their colours from the classes "s0", "s1" of the style sheet, and
// show the figures of a place when a pointer or a finger is there; they need no script.
#ifndef OPENBNNS_TRAIN_REPORT_CHART_H
#define OPENBNNS_TRAIN_REPORT_CHART_H

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bnns::train::impl {

struct Series {
  std::string name;            // HTML
  std::vector<double> values;  // one per place; what is not finite is not drawn
};

struct LineChart {
  std::string id;
  std::string title, place_name;  // "Loss", "epoch"
  std::vector<std::size_t> places;
  std::vector<Series> series;  // at most two
  std::size_t marked = 0;      // a place, by its number, that gets a ring on the last series
  std::string marked_text;
  double most = 0;                          // the axis does not go beyond; 0: no limit
  std::function<std::string(double)> text;  // a figure
  std::function<std::string(double)> tick;  // a number of the axis
};

// Empty if there is no finite value.
std::string line_chart(const LineChart& chart);

// Predicted values above true values, with the line on which both are equal.
std::string scatter_chart(const std::string& id, const std::string& title,
                          const std::vector<std::pair<double, double>>& points);

// Round numbers for an axis that covers [low, high]; the first and the last are its ends.
std::vector<double> axis_ticks(double low, double high, int intervals);

}  // namespace bnns::train::impl

#endif

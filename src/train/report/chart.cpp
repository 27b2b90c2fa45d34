#include "train/report/chart.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>

#include "train/report/html.h"

namespace bnns::train::impl {
namespace {

// Beyond it the difference of two values may not be finite any more.
constexpr double kMost = 1e300;
// More places than this are not told apart by a pointer.
constexpr std::size_t kMostHoverPlaces = 250;

bool drawable(double value) {
  return std::isfinite(value) && std::abs(value) < kMost;
}

// Values to coordinates of the picture.
struct Scale {
  double low, high, from, to;

  double operator()(double value) const {
    return from + (value - low) / (high - low) * (to - from);
  }
};

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!drawable(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool empty() const { return low > high; }
  // One value only: an axis around it.
  void widen() {
    if (low < high) return;
    const double margin = low == 0 ? 1 : std::abs(low) * 0.1;
    low -= margin;
    high += margin;
  }
};

constexpr double kWidth = 360, kHeight = 220, kLeft = 54, kRight = 354, kTop = 24, kBottom = 186;

std::string open_svg(const std::string& id, const std::string& title, const std::string& text,
                     double height) {
  return fmt::format(
      "<svg id=\"{0}\" viewBox=\"0 0 {1} {2}\" role=\"img\" aria-labelledby=\"{0}-t {0}-d\">"
      "<title id=\"{0}-t\">{3}</title><desc id=\"{0}-d\">{4}</desc>\n",
      id, kWidth, height, title, text);
}

void horizontal_grid(std::string& svg, const std::vector<double>& ticks, const Scale& y,
                     const std::function<std::string(double)>& text) {
  for (const double tick : ticks) {
    svg += fmt::format(
        "<line class=\"grid\" x1=\"{0}\" x2=\"{1}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3}\" y=\"{4:.1f}\" text-anchor=\"end\">{5}</text>\n",
        kLeft, kRight, y(tick), kLeft - 7, y(tick) + 3.5, text(tick));
  }
}

// The places that get a number: about eight, at round steps.
std::vector<std::size_t> labelled(const std::vector<std::size_t>& places) {
  const std::size_t span = places.back() - places.front();
  std::size_t step = 1;
  for (int i = 0; span / step > 8; ++i) step = i % 3 == 1 ? step / 2 * 5 : step * 2;
  std::vector<std::size_t> result;
  for (const std::size_t place : places) {
    if (place % step == 0 || span < 8) result.push_back(place);
  }
  return result;
}

// The line of a series, interrupted where a value is missing. A value without neighbours is a dot.
std::string series_path(const LineChart& chart, std::size_t index, const Scale& x, const Scale& y) {
  const std::vector<double>& values = chart.series[index].values;
  std::string path, dots;
  bool pen_down = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!drawable(values[i])) {
      pen_down = false;
      continue;
    }
    const double px = x(static_cast<double>(chart.places[i])), py = y(values[i]);
    path += fmt::format("{}{:.1f} {:.1f}", pen_down ? "L" : "M", px, py);
    const bool next = i + 1 < values.size() && drawable(values[i + 1]);
    if (!pen_down && !next) {
      dots += fmt::format("<circle class=\"dot s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>",
                          index, px, py);
    }
    pen_down = true;
  }
  return fmt::format("<path class=\"curve s{}\" d=\"{}\"/>{}\n", index, path, dots);
}

std::string values_at(const LineChart& chart, std::size_t i) {
  std::string text = fmt::format("{} {}", chart.place_name, chart.places[i]);
  for (const Series& series : chart.series) {
    if (!std::isnan(series.values[i])) {
      text += fmt::format(" &middot; {} {}", series.name, chart.text(series.values[i]));
    }
  }
  return text;
}

// Invisible columns, one per place; the pointer makes the figures of its column visible.
std::string hover_columns(const LineChart& chart, const Scale& x, const Scale& y) {
  const std::size_t count = chart.places.size(), step = 1 + count / kMostHoverPlaces;
  std::string svg;
  for (std::size_t i = 0; i < count; i += step) {
    const auto middle = [&](std::size_t a, std::size_t b) {
      return x((static_cast<double>(chart.places[a]) + static_cast<double>(chart.places[b])) / 2);
    };
    const double left = i == 0 ? kLeft : middle(i - step, i);
    const double right = i + step >= count ? kRight : middle(i, i + step);
    const double px = x(static_cast<double>(chart.places[i]));
    svg += fmt::format(
        "<g class=\"column\"><rect x=\"{0:.1f}\" y=\"0\" width=\"{1:.1f}\" height=\"{2}\"/>"
        "<g class=\"seen\"><line class=\"cross\" x1=\"{3:.1f}\" x2=\"{3:.1f}\" y1=\"{4}\" "
        "y2=\"{5}\"/>",
        left, std::max(right - left, 0.0), kBottom, px, kTop, kBottom);
    for (std::size_t s = 0; s < chart.series.size(); ++s) {
      if (!drawable(chart.series[s].values[i])) continue;
      svg += fmt::format("<circle class=\"dot s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>", s, px,
                         y(chart.series[s].values[i]));
    }
    svg += fmt::format("<text class=\"figures\" x=\"{}\" y=\"14\" text-anchor=\"end\">{}</text>",
                       kRight, values_at(chart, i));
    svg += "</g></g>\n";
  }
  return svg;
}

std::string legend(const LineChart& chart) {
  std::string html = fmt::format("<figcaption><strong>{}</strong>", chart.title);
  for (std::size_t s = 0; s < chart.series.size(); ++s) {
    html += fmt::format("<span class=\"key s{}\">{} <b>{}</b></span>", s, chart.series[s].name,
                        chart.text(chart.series[s].values.back()));
  }
  return html + "</figcaption>";
}

std::string mark(const LineChart& chart, const Scale& x, const Scale& y) {
  const auto found = std::find(chart.places.begin(), chart.places.end(), chart.marked);
  if (chart.marked == 0 || found == chart.places.end()) return {};
  const std::size_t i = static_cast<std::size_t>(found - chart.places.begin());
  const double value = chart.series.back().values[i];
  if (!drawable(value)) return {};
  return fmt::format(
      "<circle class=\"ring s{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"5\"><title>{}</title></circle>\n",
      chart.series.size() - 1, x(static_cast<double>(*found)), y(value), chart.marked_text);
}

}  // namespace

std::vector<double> axis_ticks(double low, double high, int intervals) {
  const double rough = (high - low) / intervals;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {1.0, 2.0, 2.5, 5.0}) {
    if (factor * power >= rough * (1 - 1e-9)) {
      step = factor * power;
      break;
    }
  }
  std::vector<double> ticks;
  const double first = std::floor(low / step + 1e-9);
  // The limit is for steps that vanish beside the numbers themselves.
  for (int i = 0; i < 4 * intervals; ++i) {
    const double tick = (first + i) * step;
    ticks.push_back(tick == 0 ? 0 : tick);
    if (tick >= high - step * 1e-9) break;
  }
  return ticks;
}

std::string line_chart(const LineChart& chart) {
  Range range;
  for (const Series& series : chart.series) {
    for (const double value : series.values) range.add(value);
  }
  if (range.empty()) return {};
  // A curve that comes near zero gets an axis that begins there.
  if (range.low > 0 && range.low < 0.4 * range.high) range.low = 0;
  range.widen();
  std::vector<double> ticks = axis_ticks(range.low, range.high, 4);
  if (chart.most > 0) {
    while (ticks.size() > 2 && ticks.back() > chart.most * (1 + 1e-9)) ticks.pop_back();
  }
  const Scale y{ticks.front(), std::max(ticks.back(), range.high), kBottom, kTop};
  Range places;
  for (const std::size_t place : chart.places) places.add(static_cast<double>(place));
  if (places.low == places.high) places.low -= 1, places.high += 1;
  const Scale x{places.low, places.high, kLeft + 10, kRight - 10};

  const std::size_t last = chart.places.size() - 1;
  std::string svg =
      open_svg(chart.id, chart.title,
               fmt::format("{} figures; the last: {}", chart.places.size(), values_at(chart, last)),
               kHeight);
  horizontal_grid(svg, ticks, y, chart.tick);
  for (const std::size_t place : labelled(chart.places)) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                       x(static_cast<double>(place)), kBottom + 16, place);
  }
  svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kRight, kHeight - 3,
                     chart.place_name);
  for (std::size_t s = 0; s < chart.series.size(); ++s) svg += series_path(chart, s, x, y);
  svg += mark(chart, x, y);
  svg += hover_columns(chart, x, y);
  return "<figure>" + legend(chart) + svg + "</svg></figure>\n";
}

std::string scatter_chart(const std::string& id, const std::string& title,
                          const std::vector<std::pair<double, double>>& points) {
  Range range;
  std::size_t drawn = 0;
  for (const auto& [truth, prediction] : points) {
    if (!drawable(truth) || !drawable(prediction)) continue;
    range.add(truth);
    range.add(prediction);
    ++drawn;
  }
  if (range.empty()) return {};
  range.widen();
  const std::vector<double> ticks = axis_ticks(range.low, range.high, 4);
  constexpr double kScatterHeight = 320, kScatterBottom = 286;
  const Scale y{ticks.front(), ticks.back(), kScatterBottom, 14};
  const Scale x{ticks.front(), ticks.back(), kLeft, kRight};
  std::string svg =
      open_svg(id, title, fmt::format("{} samples, predicted values above true values", drawn),
               kScatterHeight);
  horizontal_grid(svg, ticks, y, short_text);
  for (const double tick : ticks) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x(tick),
                       kScatterBottom + 16, short_text(tick));
  }
  svg += fmt::format(
      "<line class=\"equal\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
      x(ticks.front()), y(ticks.front()), x(ticks.back()), y(ticks.back()));
  for (const auto& [truth, prediction] : points) {
    if (!drawable(truth) || !drawable(prediction)) continue;
    svg += fmt::format(
        "<circle class=\"point s0\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\"><title>true {}, predicted "
        "{}</title></circle>\n",
        x(truth), y(prediction), short_text(truth), short_text(prediction));
  }
  return "<figure><figcaption><strong>" + title +
         "</strong><span>predicted (up) against true "
         "(right); on the line both are equal</span></figcaption>" +
         svg + "</svg></figure>\n";
}

}  // namespace bnns::train::impl

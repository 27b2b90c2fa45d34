// Pictures: samples with what the network says about them, and the filters of the first layer.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "train/report/html.h"
#include "train/report/png.h"
#include "train/report/sections.h"

namespace bnns::train::impl {
namespace {

constexpr std::size_t kShownImages = 96, kShownFilters = 128, kShownChannels = 16;

double magnitude(const Report::Filter& filter) {
  double most = 0;
  for (const float value : filter.values) {
    if (std::isfinite(value)) most = std::max(most, static_cast<double>(std::abs(value)));
  }
  return most > 0 ? most : 1;
}

// -most is black, 0 middle grey, most is white.
std::uint8_t grey(float value, double most) {
  if (!std::isfinite(value)) return 128;
  return static_cast<std::uint8_t>(std::clamp(std::lround(127.5 + 127.5 * value / most), 0L, 255L));
}

// Three channels are a colour; of any other number each channel is a square, side by side.
std::string filter_image(const Report::Filter& filter) {
  const std::size_t plane = filter.width * filter.height;
  const double most = magnitude(filter);
  const bool colour = filter.channels == 3;
  const std::size_t squares = colour ? 1 : std::min(filter.channels, kShownChannels);
  const std::size_t gaps = squares - 1, width = squares * filter.width + gaps;
  const std::size_t depth = colour ? 3 : 1;
  std::vector<std::uint8_t> pixels(width * filter.height * depth, 128);
  for (std::size_t square = 0; square < squares; ++square) {
    for (std::size_t y = 0; y < filter.height; ++y) {
      for (std::size_t x = 0; x < filter.width; ++x) {
        const std::size_t column = square * (filter.width + 1) + x;
        for (std::size_t d = 0; d < depth; ++d) {
          const std::size_t channel = colour ? d : square;
          pixels[(y * width + column) * depth + d] =
              grey(filter.values[channel * plane + y * filter.width + x], most);
        }
      }
    }
  }
  return png_data_uri(width, filter.height, depth, pixels);
}

std::string shown_note(std::size_t shown, std::size_t all, const char* what) {
  if (shown == all) return {};
  return fmt::format("<p class=\"small\">The first {} of {} {}.</p>\n", shown, count_text(all),
                     what);
}

}  // namespace

std::string images_section(const Report& report) {
  if (report.images.empty()) return {};
  const std::size_t count = std::min(report.images.size(), kShownImages);
  std::string html =
      shown_note(count, report.images.size(), "images") + "<ul class=\"pictures\">\n";
  for (std::size_t i = 0; i < count; ++i) {
    const Report::SampleImage& image = report.images[i];
    const bool right = image.truth == image.prediction;
    html +=
        fmt::format("<li><img src=\"{}\" width=\"{}\" height=\"{}\" alt=\"Sample of class {}\">",
                    png_data_uri(image.width, image.height, image.channels, image.pixels),
                    image.width, image.height, name_text(image.truth));
    if (!right) html += name_html(image.truth) + "<br>";
    html += fmt::format("<span class=\"{}\">{} {}</span>", right ? "right" : "wrong",
                        right ? "&#10003;" : "&#10007;", name_html(image.prediction));
    if (std::isfinite(image.probability)) {
      html += fmt::format(" <span class=\"soft\">{:.0f}%</span>", image.probability * 100);
    }
    html += "</li>\n";
  }
  html += "</ul>\n";
  return section(
      "images", "Samples",
      "<p class=\"small\">A tick: predicted right, with the probability that the network "
      "gives. A cross: the true class, then what was predicted instead.</p>\n" +
          html,
      true);
}

std::string filters_section(const Report& report) {
  if (report.filters.empty()) return {};
  const std::size_t count = std::min(report.filters.size(), kShownFilters);
  std::string html =
      "<p class=\"small\">Weights of the first layer; grey is zero, each filter has "
      "its own scale.</p>\n" +
      shown_note(count, report.filters.size(), "filters") + "<div class=\"filters\">\n";
  for (std::size_t i = 0; i < count; ++i) {
    html +=
        fmt::format("<img src=\"{}\" alt=\"Filter {}\">\n", filter_image(report.filters[i]), i + 1);
  }
  return section("filters", "First-layer filters", html + "</div>\n");
}

}  // namespace bnns::train::impl

#include "openbnns/train/report.hpp"

#include <fmt/format.h>
#include <optional>
#include <string>

#include "openbnns/train/error.hpp"
#include "train/files/atomic_file.h"
#include "train/report/html.h"
#include "train/report/sections.h"
#include "train/report/style.h"

namespace bnns::train {
namespace {

constexpr std::size_t kMostPixels = 4096;  // of a side

void require(bool condition, const std::string& text) {
  if (!condition) throw Error(Error::Kind::usage, "write_report", text);
}

void check_picture(const std::string& what, std::size_t width, std::size_t height,
                   std::size_t channels, std::size_t count) {
  require(width > 0 && height > 0 && width <= kMostPixels && height <= kMostPixels,
          fmt::format("{} is {} x {}; a side must have 1 to {} pixels", what, width, height,
                      kMostPixels));
  require(channels > 0 && count / width / height == channels && count % (width * height) == 0,
          fmt::format("{} has {} values; {} x {} with {} channels need another number", what, count,
                      width, height, channels));
}

void check(const Report& report) {
  const std::size_t classes = report.class_figures.size(), cells = report.confusion.size();
  require(cells == 0 || (classes > 0 && cells / classes == classes && cells % classes == 0),
          fmt::format("the confusion matrix has {} cells; {} classes need another number", cells,
                      classes));
  for (std::size_t i = 0; i < report.images.size(); ++i) {
    const Report::SampleImage& image = report.images[i];
    const std::string what = fmt::format("images[{}]", i);
    require(image.channels == 1 || image.channels == 3,
            fmt::format("{} has {} channels; 1 and 3 are allowed", what, image.channels));
    check_picture(what, image.width, image.height, image.channels, image.pixels.size());
  }
  for (std::size_t i = 0; i < report.filters.size(); ++i) {
    const Report::Filter& filter = report.filters[i];
    check_picture(fmt::format("filters[{}]", i), filter.width, filter.height, filter.channels,
                  filter.values.size());
  }
}

// Nothing is loaded from anywhere and no script runs, whatever a name may contain.
constexpr std::string_view kPolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'";

std::string page(const Report& report) {
  using namespace impl;
  const std::string title = report.title.empty() ? "Training report" : escape(report.title);
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n{}"
      "<link rel=\"icon\" "
      "href=\"data:,\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      kPolicy,
      report.state == Report::State::running ? "<meta http-equiv=\"refresh\" content=\"5\">\n" : "",
      title, kStyle);
  html += header_html(report) + "<main>\n" + figures_html(report) + curves_section(report) +
          confusion_section(report) + classes_section(report) + regression_section(report) +
          images_section(report) + mistakes_section(report) + filters_section(report) +
          times_section(report) + facts_section(report) + network_section(report) +
          epochs_section(report) + "</main>\n";
  html += "<footer>Written by OpenBNNS" +
          (report.version.empty() ? std::string() : " " + escape(report.version)) +
          "</footer>\n</body>\n</html>\n";
  return html;
}

}  // namespace

void write_report(const std::filesystem::path& path, const Report& report) {
  check(report);
  impl::write_file_atomically(path, page(report));
}

}  // namespace bnns::train

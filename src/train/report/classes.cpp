// What the classifier gets right and wrong, class by class: a table of counts up to 20 classes, a
// picture up to 100, and of more the 100 with the most samples.
#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

#include "train/report/html.h"
#include "train/report/sections.h"

namespace bnns::train::impl {
namespace {

constexpr std::size_t kTableClasses = 20, kShownClasses = 100, kShownMistakes = 10;

struct Mistake {
  std::size_t truth, prediction;
  std::uint64_t count;
};

std::uint64_t at(const Report& report, std::size_t truth, std::size_t prediction) {
  return report.confusion[truth * report.class_figures.size() + prediction];
}

std::uint64_t row_sum(const Report& report, std::size_t truth) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < report.class_figures.size(); ++i) sum += at(report, truth, i);
  return sum;
}

double share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// The strength of a cell: the square root makes single mistakes visible beside full rows.
double strength(double part) {
  return std::round(100 * (0.08 + 0.92 * std::sqrt(part))) / 100;
}

// Which classes are shown: all, or those with the most samples, in their own order.
std::vector<std::size_t> shown_classes(const Report& report) {
  std::vector<std::size_t> classes(report.class_figures.size());
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  if (classes.size() <= kShownClasses) return classes;
  std::stable_sort(classes.begin(), classes.end(), [&](std::size_t a, std::size_t b) {
    return report.class_figures[a].count > report.class_figures[b].count;
  });
  classes.resize(kShownClasses);
  std::sort(classes.begin(), classes.end());
  return classes;
}

std::string matrix_table(const Report& report) {
  const std::size_t classes = report.class_figures.size();
  std::string html =
      "<div class=\"scroll matrix\" tabindex=\"0\" role=\"region\" aria-label=\"Confusion matrix\">"
      "<table><caption class=\"unseen\">Rows are true classes, columns are predicted classes"
      "</caption><thead><tr><td class=\"none\"></td>";
  for (std::size_t i = 0; i < classes; ++i) {
    html += fmt::format("<th scope=\"col\" title=\"{}\">{}</th>",
                        name_text(report.class_figures[i].name), i);
  }
  html += "</tr></thead><tbody>\n";
  for (std::size_t truth = 0; truth < classes; ++truth) {
    // The number leads to the column; a class that is called by its number needs no other name.
    const std::string& name = report.class_figures[truth].name;
    const std::string number = std::to_string(truth);
    html += fmt::format("<tr><th scope=\"row\">{}</th>",
                        name == number ? number : name_html(name) + " " + number);
    const std::uint64_t sum = row_sum(report, truth);
    for (std::size_t i = 0; i < classes; ++i) {
      const std::uint64_t count = at(report, truth, i);
      if (count == 0) {
        html += "<td><span class=\"unseen\">0</span></td>";
        continue;
      }
      const double part = share(count, sum), a = strength(part);
      html += fmt::format("<td class=\"{}{}\" style=\"--a:{}\" title=\"{} as {}: {}\">{}</td>",
                          i == truth ? "r" : "w", a > 0.6 ? " strong" : "", a,
                          name_text(report.class_figures[truth].name),
                          name_text(report.class_figures[i].name), percent_text(part), count);
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

// Many classes: squares whose colour has one of eight strengths; one path for each, as ten thousand
// elements would make the page slow.
std::string matrix_picture(const Report& report, const std::vector<std::size_t>& classes) {
  constexpr int kLevels = 8;
  std::array<std::array<std::string, kLevels>, 2> paths;
  for (std::size_t y = 0; y < classes.size(); ++y) {
    const std::uint64_t sum = row_sum(report, classes[y]);
    for (std::size_t x = 0; x < classes.size(); ++x) {
      const std::uint64_t count = at(report, classes[y], classes[x]);
      if (count == 0) continue;
      const double part = std::sqrt(share(count, sum));
      const int level = std::clamp(static_cast<int>(part * kLevels), 0, kLevels - 1);
      paths[x == y ? 0 : 1][static_cast<std::size_t>(level)] += fmt::format("M{} {}h1v1h-1z", x, y);
    }
  }
  std::string svg = fmt::format(
      "<svg class=\"heat\" id=\"confusion-picture\" viewBox=\"0 0 {0} {0}\" role=\"img\" "
      "aria-label=\"Confusion matrix of {0} classes: rows are true classes, columns predicted "
      "ones\"><rect width=\"{0}\" height=\"{0}\"/>\n",
      classes.size());
  for (const std::size_t kind : {0u, 1u}) {
    for (std::size_t level = 0; level < kLevels; ++level) {
      if (paths[kind][level].empty()) continue;
      svg +=
          fmt::format("<path class=\"{}\" opacity=\"{:.2f}\" d=\"{}\"/>\n", kind == 0 ? "r" : "w",
                      static_cast<double>(level + 1) / kLevels, paths[kind][level]);
    }
  }
  return svg + "</svg>\n";
}

std::string mistakes_body(const Report& report) {
  std::vector<Mistake> mistakes;
  const std::size_t classes = report.class_figures.size();
  for (std::size_t truth = 0; truth < classes; ++truth) {
    for (std::size_t i = 0; i < classes; ++i) {
      const std::uint64_t count = at(report, truth, i);
      if (i != truth && count > 0) mistakes.push_back({truth, i, count});
    }
  }
  if (mistakes.empty()) return {};
  const std::size_t shown = std::min(mistakes.size(), kShownMistakes);
  std::partial_sort(mistakes.begin(), mistakes.begin() + static_cast<std::ptrdiff_t>(shown),
                    mistakes.end(), [](const Mistake& a, const Mistake& b) {
                      return a.count != b.count   ? a.count > b.count
                             : a.truth != b.truth ? a.truth < b.truth
                                                  : a.prediction < b.prediction;
                    });
  Table table("Most frequent mistakes",
              {{"True class", false}, {"Predicted as", false}, {"Count"}, {"Of the class"}});
  for (std::size_t i = 0; i < shown; ++i) {
    const Mistake& mistake = mistakes[i];
    table.row({name_html(report.class_figures[mistake.truth].name),
               name_html(report.class_figures[mistake.prediction].name), count_text(mistake.count),
               percent_text(share(mistake.count, row_sum(report, mistake.truth)))});
  }
  return table.finish();
}

std::string samples_note(const Report& report) {
  return report.figures_of.empty() ? "" : " on " + name_html(report.figures_of) + " data";
}

double f1_score(const Report::ClassFigures& figures) {
  if (std::isnan(figures.precision) || std::isnan(figures.recall)) return Report::kUnknown;
  const double sum = figures.precision + figures.recall;
  return sum == 0 ? 0 : 2 * figures.precision * figures.recall / sum;
}

}  // namespace

std::string confusion_section(const Report& report) {
  if (report.confusion.empty()) return {};
  std::string body =
      fmt::format("<p class=\"small\">Rows: true class; columns: predicted class{}.</p>\n",
                  samples_note(report));
  if (report.class_figures.size() <= kTableClasses) {
    body += matrix_table(report);
  } else {
    const std::vector<std::size_t> classes = shown_classes(report);
    if (classes.size() < report.class_figures.size()) {
      body += fmt::format(
          "<p class=\"small\">The picture shows the {} classes with the most "
          "samples, of {}; the most frequent mistakes are of all.</p>\n",
          classes.size(), count_text(report.class_figures.size()));
    }
    body += matrix_picture(report, classes);
  }
  return section("confusion", "Confusion matrix", body);
}

std::string mistakes_section(const Report& report) {
  if (report.confusion.empty()) return {};
  return section("mistakes", "Most frequent mistakes", mistakes_body(report));
}

std::string classes_section(const Report& report) {
  if (report.class_figures.empty()) return {};
  std::vector<std::size_t> classes(report.class_figures.size());
  std::iota(classes.begin(), classes.end(), std::size_t{0});
  std::string note;
  if (classes.size() > kShownClasses) {
    // Those that need attention; a class without a figure comes last.
    const auto key = [&](std::size_t i) {
      const double score = f1_score(report.class_figures[i]);
      return std::isnan(score) ? 2.0 : score;
    };
    std::stable_sort(classes.begin(), classes.end(),
                     [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
    note = fmt::format("<p class=\"small\">The {} classes with the lowest F1, of {}.</p>\n",
                       kShownClasses, count_text(classes.size()));
    classes.resize(kShownClasses);
  }
  Table table("Figures of each class",
              {{"Class", false}, {"Precision"}, {"Recall"}, {"F1"}, {"Samples"}});
  for (const std::size_t i : classes) {
    const Report::ClassFigures& figures = report.class_figures[i];
    table.row({name_html(figures.name), percent_text(figures.precision),
               percent_text(figures.recall), percent_text(f1_score(figures)),
               count_text(figures.count)});
  }
  return section("classes", "Classes", note + table.finish(classes.size() > kTableClasses));
}

}  // namespace bnns::train::impl

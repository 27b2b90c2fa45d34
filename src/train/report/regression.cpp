// Figures of a regression, and predicted values beside true ones.
#include <cmath>
#include <fmt/format.h>
#include <utility>

#include "train/report/chart.h"
#include "train/report/html.h"
#include "train/report/sections.h"

namespace bnns::train::impl {

std::string regression_section(const Report& report) {
  std::string facts;
  const auto add = [&](const char* name, double value) {
    if (!std::isnan(value)) {
      facts += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, loss_text(value));
    }
  };
  add("Mean absolute error", report.mean_absolute_error);
  add("Root mean square error", report.root_mean_square_error);
  add("R&sup2;", report.r_squared);
  std::string body;
  if (!report.figures_of.empty() && !facts.empty()) {
    body += "<p class=\"small\">Measured on " + name_html(report.figures_of) + " data.</p>\n";
  }
  if (!facts.empty()) body += "<dl class=\"facts\">\n" + facts + "</dl>\n";
  std::vector<std::pair<double, double>> points;
  for (const Report::Prediction& one : report.predictions) {
    points.emplace_back(one.truth, one.prediction);
  }
  body += scatter_chart("scatter-chart", "Predictions", points);
  return section("regression", "Regression", body);
}

}  // namespace bnns::train::impl

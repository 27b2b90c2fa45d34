// Curves and figures of the epochs.
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "train/report/chart.h"
#include "train/report/html.h"
#include "train/report/sections.h"

namespace bnns::train::impl {
namespace {

using Field = double Report::Epoch::*;

// More rows than this are shown on demand.
constexpr std::size_t kOpenRows = 20;

std::vector<double> values_of(const Report& report, Field field) {
  std::vector<double> values;
  for (const Report::Epoch& epoch : report.epochs) values.push_back(epoch.*field);
  return values;
}

bool any_known(const Report& report, Field field) {
  return std::any_of(report.epochs.begin(), report.epochs.end(),
                     [&](const Report::Epoch& epoch) { return !std::isnan(epoch.*field); });
}

bool varies(const Report& report, Field field) {
  return std::any_of(report.epochs.begin(), report.epochs.end(), [&](const Report::Epoch& epoch) {
    return !std::isnan(epoch.*field) && epoch.*field != report.epochs.front().*field;
  });
}

LineChart chart_of(const Report& report, const char* id, const char* title,
                   std::vector<Series> series) {
  LineChart chart{.id = id,
                  .title = title,
                  .place_name = "epoch",
                  .places = {},
                  .series = {},
                  .marked_text = {},
                  .text = loss_text,
                  .tick = short_text};
  for (const Report::Epoch& epoch : report.epochs) chart.places.push_back(epoch.number);
  for (Series& one : series) {
    const bool known = std::any_of(one.values.begin(), one.values.end(),
                                   [](double value) { return !std::isnan(value); });
    if (known) chart.series.push_back(std::move(one));
  }
  return chart;
}

std::string percent_tick(double value) {
  return fmt::format("{:.3g}%", value * 100);
}

}  // namespace

std::string curves_section(const Report& report) {
  if (report.epochs.empty()) return {};
  const bool classification = report.task == Task::classification;
  using Epoch = Report::Epoch;
  const auto pair = [&](Field training, Field validation) {
    return std::vector<Series>{{"training", values_of(report, training)},
                               {"validation", values_of(report, validation)}};
  };
  LineChart loss =
      chart_of(report, "loss-chart", "Loss", pair(&Epoch::training_loss, &Epoch::validation_loss));
  LineChart score = chart_of(report, "score-chart", classification ? "Accuracy" : "RMSE",
                             pair(&Epoch::training_score, &Epoch::validation_score));
  if (classification) {
    score.text = percent_text;
    score.tick = percent_tick;
    score.most = 1;
  }
  for (LineChart* chart : {&loss, &score}) {
    if (chart->series.size() < 2) continue;
    chart->marked = report.best_epoch;
    chart->marked_text = fmt::format("epoch {} was kept as the best", report.best_epoch);
  }
  std::string charts = line_chart(loss) + line_chart(score);
  const char* css_class = "charts pair";
  if (varies(report, &Epoch::learning_rate)) {
    LineChart rate = chart_of(report, "rate-chart", "Learning rate",
                              {{"rate", values_of(report, &Epoch::learning_rate)}});
    rate.text = short_text;
    charts += line_chart(rate);
    css_class = "charts";
  }
  if (charts.empty()) return {};
  std::string note;
  if (loss.marked > 0) {
    note = fmt::format(
        "<p class=\"small\">The ring marks epoch {}, which was kept as the best."
        "</p>\n",
        report.best_epoch);
  }
  return section("curves", "Progress",
                 fmt::format("<div class=\"{}\">\n{}</div>\n{}", css_class, charts, note), true);
}

std::string epochs_section(const Report& report) {
  if (report.epochs.empty()) return {};
  using Epoch = Report::Epoch;
  const bool classification = report.task == Task::classification;
  struct Shown {
    const char* title;
    Field field;
    std::string (*text)(double);
  };
  const auto score = classification ? percent_text : loss_text;
  const Shown all[] = {
      {"Loss", &Epoch::training_loss, loss_text},
      {classification ? "Accuracy" : "RMSE", &Epoch::training_score, score},
      {"Validation loss", &Epoch::validation_loss, loss_text},
      {classification ? "Validation accuracy" : "Validation RMSE", &Epoch::validation_score, score},
      {"Learning rate", &Epoch::learning_rate, short_text},
      {"Time", &Epoch::seconds, duration_text},
      {"Samples/s", &Epoch::samples_per_second, [](double value) { return large_text(value, ""); }},
  };
  std::vector<Shown> shown;
  std::vector<Table::Column> columns = {{"Epoch"}};
  for (const Shown& one : all) {
    if (!any_known(report, one.field)) continue;
    shown.push_back(one);
    columns.push_back({one.title});
  }
  Table table("Figures of each epoch", columns);
  for (const Report::Epoch& epoch : report.epochs) {
    std::vector<std::string> cells = {std::to_string(epoch.number)};
    for (const Shown& one : shown) cells.push_back(one.text(epoch.*one.field));
    table.row(cells, epoch.number == report.best_epoch ? "best" : "");
  }
  std::string body = table.finish();
  if (report.epochs.size() > kOpenRows) {
    body = fmt::format("<details><summary>All {} epochs</summary>\n{}</details>\n",
                       report.epochs.size(), body);
  }
  return section("epochs", "Epochs", body, true);
}

}  // namespace bnns::train::impl

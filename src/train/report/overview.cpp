// The top of the report, with the figures that everybody looks for first, and its end: what ran on
// which machine.
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fmt/format.h>

#include "train/report/html.h"
#include "train/report/sections.h"

namespace bnns::train::impl {
namespace {

struct StateText {
  const char* css_class;
  const char* text;
};

StateText state_text(Report::State state) {
  switch (state) {
    case Report::State::running:
      return {"running", "Training"};
    case Report::State::finished:
      return {"finished", "Finished"};
    case Report::State::stopped:
      return {"stopped", "Stopped"};
    case Report::State::diverged:
      return {"diverged", "Diverged"};
  }
  return {"stopped", "Unknown state"};
}

std::string time_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts = {};
  if (::gmtime_r(&seconds, &parts) == nullptr) return "&ndash;";
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900LL, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min);
}

// Epochs done and, as far as it can be told, the time that is left.
std::string progress_html(const Report& report) {
  if (report.state != Report::State::running || report.planned_epochs == 0) return {};
  const std::size_t done = std::min(report.epochs.size(), report.planned_epochs);
  std::string left;
  if (done > 0 && std::isfinite(report.elapsed_seconds)) {
    const double each = report.elapsed_seconds / static_cast<double>(done);
    left = ", about " + duration_text(each * static_cast<double>(report.planned_epochs - done)) +
           " left";
  }
  return fmt::format(
      "<progress max=\"{1}\" value=\"{0}\" aria-label=\"Epochs done\">{0} of {1}</progress>"
      "<p class=\"small\">Epoch {0} of {1}{2}</p>\n",
      done, report.planned_epochs, left);
}

class Figures {
 public:
  void add(const std::string& name, const std::string& value) {
    html_ += fmt::format("<div{}><dt>{}</dt><dd>{}</dd></div>\n",
                         html_.empty() ? " class=\"first\"" : "", name, value);
  }
  std::string finish() const {
    return html_.empty() ? std::string() : "<dl class=\"figures\">\n" + html_ + "</dl>\n";
  }

 private:
  std::string html_;
};

void add_fact(std::string& html, const char* name, const std::string& value) {
  if (!value.empty()) html += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, value);
}

std::string samples_text(const Report& report) {
  std::string text;
  const auto add = [&](std::size_t count, const char* part) {
    if (count > 0) {
      text += (text.empty() ? "" : ", ") + count_text(count) + " " + part;
    }
  };
  add(report.training_samples, "training");
  add(report.validation_samples, "validation");
  add(report.test_samples, "test");
  return text;
}

}  // namespace

std::string header_html(const Report& report) {
  const StateText state = state_text(report.state);
  const std::string title = report.title.empty() ? "Training report" : escape(report.title);
  std::string html =
      fmt::format("<header>\n<h1>{}</h1>\n<p class=\"lead\"><span class=\"state {}\">{}</span>",
                  title, state.css_class, state.text);
  if (!report.network_name.empty()) html += "<span>" + name_html(report.network_name) + "</span>";
  if (!report.data_name.empty()) html += "<span>" + name_html(report.data_name) + "</span>";
  html += "<span>" + time_text(report.started) + "</span></p>\n";
  if (!report.note.empty()) {
    html += fmt::format("<p class=\"note {}\">{}</p>\n", state.css_class, escape(report.note));
  }
  return html + progress_html(report) + "</header>\n";
}

std::string figures_html(const Report& report) {
  const bool classification = report.task == Task::classification;
  const auto score = classification ? percent_text : loss_text;
  const std::string score_name = classification ? "accuracy" : "RMSE";
  Figures figures;
  if (!std::isnan(report.test_score)) figures.add("Test " + score_name, score(report.test_score));
  if (!std::isnan(report.test_loss)) figures.add("Test loss", loss_text(report.test_loss));
  const auto best =
      std::find_if(report.epochs.begin(), report.epochs.end(),
                   [&](const Report::Epoch& epoch) { return epoch.number == report.best_epoch; });
  if (report.best_epoch > 0 && best != report.epochs.end() && !std::isnan(best->validation_score)) {
    figures.add(fmt::format("Best validation {}, epoch {}", score_name, best->number),
                score(best->validation_score));
  } else if (!report.epochs.empty() && !std::isnan(report.epochs.back().validation_score)) {
    figures.add("Validation " + score_name, score(report.epochs.back().validation_score));
  }
  if (!report.epochs.empty()) {
    figures.add("Training loss", loss_text(report.epochs.back().training_loss));
    figures.add("Epochs", count_text(report.epochs.size()));
  }
  if (!std::isnan(report.elapsed_seconds)) {
    figures.add("Time", duration_text(report.elapsed_seconds));
  }
  if (!report.epochs.empty() && !std::isnan(report.epochs.back().samples_per_second)) {
    figures.add("Samples per second", large_text(report.epochs.back().samples_per_second, ""));
  }
  if (!report.layers.empty()) {
    std::uint64_t parameters = 0;
    for (const Report::Layer& layer : report.layers) parameters += layer.parameters;
    figures.add("Parameters", count_text(parameters));
  }
  for (const Report::Figure& figure : report.figures) {
    figures.add(name_html(figure.name), name_html(figure.value));
  }
  return figures.finish();
}

std::string facts_section(const Report& report) {
  std::string html;
  add_fact(html, "Data", report.data_name.empty() ? "" : name_html(report.data_name));
  add_fact(html, "Samples", samples_text(report));
  add_fact(html, "Classes", report.classes == 0 ? "" : count_text(report.classes));
  add_fact(html, "Seed", std::to_string(report.seed));
  add_fact(html, "Started", time_text(report.started));
  add_fact(html, "Version", escape(report.version));
  add_fact(html, "Processor", escape(report.cpu_name));
  add_fact(html, "Vector instructions", escape(report.simd_target));
  add_fact(html, "Threads", report.threads == 0 ? "" : count_text(report.threads));
  add_fact(html, "Command",
           report.command_line.empty() ? "" : "<code>" + escape(report.command_line) + "</code>");
  return section("run", "The run", "<dl class=\"facts\">\n" + html + "</dl>\n");
}

}  // namespace bnns::train::impl

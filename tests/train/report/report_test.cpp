// The text of reports: names cannot become markup, figures that are not known are left out, and
// what does not fit together is refused. The browser test looks at the same with the eyes of a
// person.
#include <gtest/gtest.h>

#include <limits>
#include <regex>
#include <string>

#include "files/support.h"
#include "openbnns/train/report.hpp"
#include "report/example_report.h"
#include "train/report/chart.h"
#include "train/report/html.h"
#include "train/report/png.h"

namespace bnns::train {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string written(const Report& report) {
  const test::TemporaryFolder folder;
  write_report(folder / "report.html", report);
  return test::read_bytes(folder / "report.html");
}

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (std::size_t i = text.find(piece); i != std::string::npos; i = text.find(piece, i + 1)) {
    ++found;
  }
  return found;
}

// Every element that is opened is closed in its order; nothing in the page is "nan" or "inf".
void expect_well_formed(const std::string& html) {
  const std::size_t begin = html.find("<body>"), end_of_body = html.find("</html>");
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end_of_body, std::string::npos);
  const std::string body = html.substr(begin, end_of_body - begin);
  std::vector<std::string> open;
  const std::regex tag("<(/?)([a-z0-9]+)((?:[^>\"]|\"[^\"]*\")*)>");
  for (std::sregex_iterator i(body.begin(), body.end(), tag), end; i != end; ++i) {
    const std::string name = (*i)[2], rest = (*i)[3];
    if (name == "img" || name == "br") continue;
    if (!rest.empty() && rest.back() == '/') continue;
    if ((*i)[1].length() == 0) {
      open.push_back(name);
      continue;
    }
    ASSERT_FALSE(open.empty()) << "</" << name << ">";
    ASSERT_EQ(open.back(), name);
    open.pop_back();
  }
  EXPECT_TRUE(open.empty()) << open.back();
  std::smatch found;
  EXPECT_FALSE(std::regex_search(body, found, std::regex(".{0,30}[\" >](-?nan|-?inf)[\" <%L]")))
      << found.str();
}

TEST(Report, HasNoScriptAndLoadsNothing) {
  const std::string html = written(test::classification_report());
  expect_well_formed(html);
  EXPECT_EQ(count(html, "<script"), 0u);
  EXPECT_EQ(count(html, "http:"), 0u);
  EXPECT_EQ(count(html, "https:"), 0u);
  EXPECT_EQ(count(html, "url("), 0u);
  EXPECT_EQ(count(html, "Content-Security-Policy"), 1u);
  EXPECT_EQ(count(html, "src=\""), count(html, "src=\"data:image/png;base64,"));
  EXPECT_EQ(written(test::classification_report()), html);
}

TEST(Report, LoadsItselfAgainOnlyWhileItRuns) {
  Report report = test::classification_report();
  for (const auto state : {Report::State::running, Report::State::finished, Report::State::stopped,
                           Report::State::diverged}) {
    report.state = state;
    EXPECT_EQ(count(written(report), "http-equiv=\"refresh\""),
              state == Report::State::running ? 1u : 0u);
  }
}

TEST(Report, NamesCannotBecomeMarkup) {
  const std::string html = written(test::hostile_report());
  expect_well_formed(html);
  EXPECT_EQ(count(html, "<script"), 0u);
  EXPECT_EQ(count(html, "<img src=x"), 0u);
  EXPECT_EQ(count(html, "<h1"), 1u);
  EXPECT_EQ(count(html, "</style>"), 1u);
  EXPECT_EQ(html.find('\0'), std::string::npos);
  EXPECT_EQ(html.find('\x1B'), std::string::npos);
  EXPECT_EQ(impl::escape("<a href=\"x\">'&\x01\xFF"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#65533;\xEF\xBF\xBD");
  EXPECT_EQ(impl::name_html(std::string(61, 'W')),
            "<bdi>" + std::string(60, 'W') + "&hellip;</bdi>");
  EXPECT_EQ(impl::name_html("caf\xC3\xA9"), "<bdi>caf\xC3\xA9</bdi>");
}

TEST(Report, ShowsWhatThereIs) {
  const std::string nothing = written({});
  expect_well_formed(nothing);
  for (const char* id : {"curves", "confusion", "classes", "mistakes", "regression", "images",
                         "filters", "times", "network", "epochs"}) {
    EXPECT_EQ(nothing.find("id=\"" + std::string(id) + "\""), std::string::npos) << id;
  }
  Report one = test::empty_run();
  test::add_epochs(one, 1, false);
  test::add_classes(one, {"only"});
  const std::string html = written(one);
  expect_well_formed(html);
  EXPECT_EQ(count(html, "class=\"curve "), 2u);
  EXPECT_EQ(html.find("validation"), std::string::npos);
  EXPECT_EQ(html.find("Most frequent mistakes"), std::string::npos);
  EXPECT_NE(html.find(">1000</td>"), std::string::npos);
  expect_well_formed(written(test::regression_report()));
}

TEST(Report, LeavesOutFiguresThatAreNoNumbers) {
  Report report = test::classification_report();
  for (std::size_t i = 0; i < report.epochs.size(); ++i) {
    const double strange[] = {kNan, kInfinity, -kInfinity, 1e308};
    report.epochs[i].training_loss = strange[i % 4];
    if (i != 5) report.epochs[i].validation_loss = strange[(i + 1) % 3];
    report.epochs[i].samples_per_second = strange[i % 3];
    report.epochs[i].seconds = strange[i % 3];
    report.epochs[i].learning_rate = strange[i % 4];
  }
  report.test_loss = kInfinity;
  report.elapsed_seconds = kInfinity;
  report.class_figures[0].precision = kNan;
  report.layer_times[0].forward_seconds = kNan;
  report.layer_times[1].backward_seconds = kInfinity;
  report.filters[0].values[0] = static_cast<float>(kNan);
  report.filters[1].values.assign(9, static_cast<float>(kInfinity));
  report.filters[2].values.assign(9, 0.0f);
  report.images[0].probability = kNan;
  report.images[1].probability = kInfinity;
  report.state = Report::State::running;
  const std::string html = written(report);
  expect_well_formed(html);
  EXPECT_NE(html.find("&ndash;"), std::string::npos);
  Report regression = test::regression_report();
  regression.predictions = {{kNan, 1}, {1, kInfinity}, {2, 2}, {1e308, -1e308}};
  regression.r_squared = -kInfinity;
  const std::string scatter = written(regression);
  expect_well_formed(scatter);
  EXPECT_EQ(count(scatter, "class=\"point "), 1u);
}

TEST(Report, LimitsWhatIsShownAndSaysSo) {
  Report report = test::many_classes_report(150);
  report.images.resize(97, report.images[0]);
  report.filters.resize(129, report.filters[0]);
  const std::string html = written(report);
  expect_well_formed(html);
  EXPECT_NE(html.find("the 100 classes with the most samples, of 150"), std::string::npos);
  EXPECT_NE(html.find("The 100 classes with the lowest F1, of 150"), std::string::npos);
  EXPECT_NE(html.find("The first 96 of 97 images"), std::string::npos);
  EXPECT_NE(html.find("The first 128 of 129 filters"), std::string::npos);
  report.epochs.clear();
  test::add_epochs(report, 3000, true);
  EXPECT_LT(written(report).size(), 3u << 20);
}

TEST(Report, RefusesSizesThatDoNotFit) {
  const test::TemporaryFolder folder;
  test::write_bytes(folder / "r.html", "old");
  const auto refuses = [&](const Report& report, const std::string& piece) {
    test::expect_error([&] { write_report(folder / "r.html", report); }, Error::Kind::usage,
                       {"write_report: ", piece});
  };
  const Report good = test::classification_report();
  Report report = good;
  report.confusion.pop_back();
  refuses(report, "the confusion matrix has 99 cells");
  report = good;
  report.class_figures.clear();
  refuses(report, "0 classes need another number");
  report = good;
  report.images[2].pixels.pop_back();
  refuses(report, "images[2] has 783 values");
  report.images[2].channels = 4;
  refuses(report, "images[2] has 4 channels");
  report = good;
  report.images[0].width = 0;
  refuses(report, "images[0] is 0 x 28");
  report.images[0].width = std::numeric_limits<std::size_t>::max();
  refuses(report, "a side must have 1 to 4096 pixels");
  report = good;
  report.filters[1].channels = 0;
  refuses(report, "filters[1] has 9 values");
  EXPECT_EQ(test::read_bytes(folder / "r.html"), "old");
  test::expect_error([&] { write_report(folder / "none/r.html", good); }, Error::Kind::file,
                     {"none/r.html", "No such file"});
}

TEST(Report, WritesNumbersInTheirForms) {
  using namespace impl;
  EXPECT_EQ(loss_text(0.12345), "0.1235");
  EXPECT_EQ(loss_text(0), "0.0000");
  EXPECT_EQ(loss_text(1.5e-5), "1.500e-05");
  EXPECT_EQ(loss_text(kNan), "&ndash;");
  EXPECT_EQ(loss_text(-kInfinity), "&minus;&infin;");
  EXPECT_EQ(percent_text(0.97314), "97.31%");
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(1234567), "1,234,567");
  EXPECT_EQ(large_text(6545, ""), "6.54&nbsp;k");
  EXPECT_EQ(large_text(12, "B"), "12&nbsp;B");
  EXPECT_EQ(duration_text(0.84), "0.8 s");
  EXPECT_EQ(duration_text(185), "3 min 05 s");
  EXPECT_EQ(duration_text(8040), "2 h 14 min");
}

TEST(Report, AxesHaveRoundNumbersAroundTheValues) {
  for (const auto& [low, high] : std::vector<std::pair<double, double>>{
           {0, 0.5}, {0.83, 0.98}, {-3, 1e6}, {1e-9, 2e-9}, {1e15, 1e15 + 2}, {-1e299, 1e299}}) {
    const std::vector<double> ticks = impl::axis_ticks(low, high, 4);
    ASSERT_GE(ticks.size(), 2u);
    EXPECT_LE(ticks.size(), 8u);
    EXPECT_LE(ticks.front(), low + (high - low) * 1e-6);
    EXPECT_GE(ticks.back(), high - (high - low) * 1e-6);
  }
  EXPECT_EQ(impl::axis_ticks(0, 0.6, 3), (std::vector<double>{0, 0.2, 0.4, 0.2 * 3}));
}

TEST(Report, PicturesArePngOfRightLength) {
  // Three sizes end in the three forms of base64.
  for (std::size_t width = 1; width <= 3; ++width) {
    const std::string uri =
        impl::png_data_uri(width, 1, 3, std::vector<std::uint8_t>(3 * width, 77));
    const std::string start = "data:image/png;base64,iVBORw0KGgo";
    EXPECT_EQ(uri.substr(0, start.size()), start);
    EXPECT_EQ((uri.size() - 22) % 4, 0u);
  }
}

}  // namespace
}  // namespace bnns::train

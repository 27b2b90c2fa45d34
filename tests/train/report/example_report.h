// Reports with known figures: what training ten kinds of clothes could give, and others.
#ifndef OPENBNNS_TESTS_TRAIN_REPORT_EXAMPLE_REPORT_H
#define OPENBNNS_TESTS_TRAIN_REPORT_EXAMPLE_REPORT_H

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "openbnns/train/report.hpp"

namespace bnns::train::test {

// Numbers that look random and are the same everywhere.
class Sequence {
 public:
  // In [0, 1).
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 40) / 16777216.0;
  }

 private:
  std::uint64_t state_ = 1;
};

inline Report empty_run() {
  Report report;
  report.title = "lenet on Fashion-MNIST";
  report.command_line =
      "openbnns train --data fashion-mnist --network lenet --epochs 12 --batch 64 --seed 7 "
      "--output fashion.safetensors";
  report.version = "0.1.0";
  report.simd_target = "AVX3";
  report.threads = 2;
  report.cpu_name = "Example Processor 1000 @ 2.40GHz";
  report.seed = 7;
  report.started = std::chrono::system_clock::time_point(std::chrono::seconds(1763449200));
  report.data_name = "Fashion-MNIST";
  report.network_name = "lenet";
  return report;
}

inline void add_epochs(Report& report, std::size_t count, bool with_validation) {
  for (std::size_t i = 1; i <= count; ++i) {
    const double t = static_cast<double>(i);
    const bool classes = report.task == Task::classification;
    Report::Epoch epoch{.number = i,
                        .training_loss = 0.08 + 0.42 / std::pow(t, 0.9),
                        .training_score = classes ? 0.985 - 0.14 / t : 0.1 + 1 / t,
                        .learning_rate = 0.0005 * (1 + std::cos(3.14159265 * (t - 1) / 12)),
                        .seconds = 8.25 + 0.1 * std::sin(t),
                        .samples_per_second = 6545 + 40 * std::cos(t)};
    if (with_validation) {
      epoch.validation_loss = 0.225 + 0.2 / t + 0.0015 * t;
      epoch.validation_score = classes ? 0.925 - 0.065 / t - 0.0004 * t : 0.2 + 1 / t;
    }
    report.epochs.push_back(epoch);
  }
  report.elapsed_seconds = 8.3 * static_cast<double>(count);
}

inline void add_classes(Report& report, const std::vector<std::string>& names) {
  const std::size_t n = names.size();
  Sequence random;
  report.classes = n;
  report.confusion.assign(n * n, 0);
  for (std::size_t truth = 0; truth < n; ++truth) {
    std::uint64_t rest = 1000;
    for (int i = 0; i < 4 && n > 1; ++i) {
      const auto other = static_cast<std::size_t>(random.next() * static_cast<double>(n));
      const auto count = static_cast<std::uint64_t>(random.next() * random.next() * 90);
      if (other == truth) continue;
      report.confusion[truth * n + other] += count;
      rest -= count;
    }
    report.confusion[truth * n + truth] = rest;
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t predicted = 0;
    for (std::size_t truth = 0; truth < n; ++truth) predicted += report.confusion[truth * n + i];
    const auto right = static_cast<double>(report.confusion[i * n + i]);
    report.class_figures.push_back({.name = names[i],
                                    .precision = right / static_cast<double>(predicted),
                                    .recall = right / 1000,
                                    .count = 1000});
  }
}

// A drawn piece of clothing: a body with sleeves, or a ring.
inline std::vector<std::uint8_t> drawing(std::size_t kind, std::size_t channels, Sequence& random) {
  constexpr int kSize = 28;
  std::vector<std::uint8_t> pixels;
  const double wide = 5 + static_cast<double>(kind % 4) + random.next() * 2;
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      const double dx = std::abs(x - 13.5), dy = y - 13.5, r = std::hypot(dx, dy);
      const bool body = dx < wide && std::abs(dy) < 11;
      const bool sleeve = dy > -11 && dy < -2 && dx < wide + 5;
      const bool ring = r < 11 && r > 11 - wide / 2;
      const bool inside = kind % 3 == 0 ? body || sleeve : kind % 3 == 1 ? ring : body;
      for (std::size_t c = 0; c < channels; ++c) {
        const double light = inside ? 140 + 90 * random.next() - 40 * static_cast<double>(c) : 0;
        pixels.push_back(static_cast<std::uint8_t>(light));
      }
    }
  }
  return pixels;
}

inline void add_pictures(Report& report, std::size_t channels) {
  Sequence random;
  for (std::size_t i = 0; i < 30; ++i) {
    const std::size_t truth = i % report.class_figures.size();
    const bool wrong = i % 4 == 3;
    const std::size_t said = wrong ? (truth + 2) % report.class_figures.size() : truth;
    report.images.push_back({.width = 28,
                             .height = 28,
                             .channels = channels,
                             .pixels = drawing(truth, channels, random),
                             .truth = report.class_figures[truth].name,
                             .prediction = report.class_figures[said].name,
                             .probability = wrong ? 0.4 + 0.3 * random.next() : 0.99});
  }
  for (std::size_t i = 0; i < 32; ++i) {
    Report::Filter filter{.width = 3, .height = 3, .channels = channels, .values = {}};
    for (std::size_t k = 0; k < 9 * channels; ++k) {
      filter.values.push_back(static_cast<float>(random.next() - 0.5));
    }
    report.filters.push_back(filter);
  }
}

inline void add_network(Report& report) {
  report.layers = {{"convolution 32, 3 x 3", "28 x 28 x 32", 320, 6422528, 225792},
                   {"batch norm + ReLU", "28 x 28 x 32", 64, 6422528, 25088},
                   {"max pool 2", "14 x 14 x 32", 0, 1605632, 0},
                   {"convolution 64, 3 x 3", "14 x 14 x 64", 18496, 3211264, 3612672},
                   {"batch norm + ReLU", "14 x 14 x 64", 128, 3211264, 12544},
                   {"max pool 2", "7 x 7 x 64", 0, 802816, 0},
                   {"fully connected 128 + ReLU", "128", 401536, 32768, 401408},
                   {"fully connected 10", "10", 1290, 2560, 1280}};
  Sequence random;
  for (const Report::Layer& layer : report.layers) {
    const double work = 0.4 + static_cast<double>(layer.multiply_adds) * 4e-6;
    report.layer_times.push_back({layer.name, work, work * (1.2 + random.next())});
  }
}

inline Report classification_report() {
  Report report = empty_run();
  report.training_samples = 54000;
  report.validation_samples = 6000;
  report.test_samples = 10000;
  report.planned_epochs = 12;
  add_epochs(report, 12, true);
  report.best_epoch = 11;
  report.figures_of = "test";
  report.test_loss = 0.2431;
  report.test_score = 0.9187;
  add_classes(report, {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt",
                       "Sneaker", "Bag", "Ankle boot"});
  add_pictures(report, 1);
  add_network(report);
  return report;
}

// Names that try to be markup, to turn the direction of writing, to be no text at all.
inline Report hostile_report() {
  Report report = classification_report();
  const std::string hostile[] = {"<script>document.title='taken'</script>",
                                 "\"><img src=x onerror=\"document.title='taken'\">",
                                 "</title></style><h1>taken</h1>",
                                 "' onmouseover='document.title=1",
                                 "\xE2\x80\xAE right to left",
                                 std::string("nul\0 and \x1B[31m", 14),
                                 "no UTF-8: \xFF\xC3",
                                 "&amp; &lt;",
                                 std::string(3000, 'W'),
                                 "<!-- --> ]]> {{ }} %s %n"};
  for (std::size_t i = 0; i < report.class_figures.size(); ++i) {
    report.class_figures[i].name = hostile[i];
  }
  for (Report::SampleImage& image : report.images) image.prediction = hostile[1];
  for (Report::SampleImage& image : report.images) image.truth = hostile[0];
  for (Report::Layer& layer : report.layers) layer.name = layer.output_shape = hostile[1];
  for (Report::LayerTime& layer : report.layer_times) layer.name = hostile[2];
  report.figures = {{hostile[0], hostile[1]}};
  for (std::string* text :
       {&report.title, &report.note, &report.command_line, &report.version, &report.simd_target,
        &report.cpu_name, &report.data_name, &report.network_name, &report.figures_of}) {
    *text = hostile[2] + hostile[0] + hostile[1];
  }
  return report;
}

inline Report many_classes_report(std::size_t count) {
  Report report = empty_run();
  report.title = std::to_string(count) + " classes";
  add_epochs(report, 60, true);
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back("class " + std::to_string(i));
  add_classes(report, names);
  report.test_score = 0.81;
  add_pictures(report, 3);
  return report;
}

inline Report regression_report() {
  Report report = empty_run();
  report.title = "mlp on houses.csv";
  report.task = Task::regression;
  report.state = Report::State::running;
  report.planned_epochs = 20;
  add_epochs(report, 7, true);
  report.figures_of = "validation";
  report.mean_absolute_error = 0.2113;
  report.root_mean_square_error = 0.3021;
  report.r_squared = 0.8714;
  Sequence random;
  for (int i = 0; i < 150; ++i) {
    const double truth = 5 * random.next() + 0.5;
    report.predictions.push_back({truth, truth + (random.next() - 0.5) * (0.3 + truth / 5)});
  }
  return report;
}

}  // namespace bnns::train::test

#endif

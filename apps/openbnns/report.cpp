#include "report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <numeric>

#include "options.h"
#include "predict.h"

namespace program {
namespace {

using namespace bnns::train;

constexpr std::size_t kLookedAt = 2000;    // samples among which pictures are chosen
constexpr std::size_t kPictures = 12;      // right ones, and as many wrong ones
constexpr std::size_t kPredictions = 500;  // points of a regression
constexpr std::size_t kFilters = 64;
constexpr std::size_t kMostPixels = 256 * 256;

// Channel after channel becomes pixel after pixel.
std::vector<std::uint8_t> pixels_of(std::span<const float> values, const SampleShape& shape) {
  const std::size_t plane = shape.width * shape.height;
  std::vector<std::uint8_t> pixels(values.size());
  for (std::size_t channel = 0; channel < shape.channels; ++channel) {
    for (std::size_t n = 0; n < plane; ++n) {
      const float value = std::clamp(values[channel * plane + n], 0.0f, 1.0f);
      pixels[n * shape.channels + channel] = static_cast<std::uint8_t>(std::lround(255 * value));
    }
  }
  return pixels;
}

bool is_picture(const DataDescription& data) {
  const SampleShape& shape = data.shape;
  return data.kind == SampleKind::image && (shape.channels == 1 || shape.channels == 3) &&
         shape.width * shape.height <= kMostPixels;
}

void add_pictures(Report& report, const Data& data, std::span<const float> outputs) {
  const DataDescription& description = data.description();
  const std::size_t classes = description.class_names.size();
  std::vector<float> values(description.shape.count()), target(1);
  std::size_t right = 0, wrong = 0;
  for (std::size_t n = 0; n < data.size() && (right < kPictures || wrong < kPictures); ++n) {
    data.read_targets(n, target);
    const auto truth = static_cast<std::size_t>(target[0]);
    const Ranked best = best_classes(outputs.subspan(n * classes, classes), 1).front();
    std::size_t& count = best.index == truth ? right : wrong;
    if (count == kPictures) continue;
    ++count;
    data.read(n, values, target);
    report.images.push_back({.width = description.shape.width,
                             .height = description.shape.height,
                             .channels = description.shape.channels,
                             .pixels = pixels_of(values, description.shape),
                             .truth = description.class_names[truth],
                             .prediction = description.class_names[best.index],
                             .probability = best.probability});
  }
}

}  // namespace

std::string cpu_name() {
  std::ifstream stream("/proc/cpuinfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t colon = line.find(':');
    if (colon != std::string::npos && colon + 2 < line.size()) return line.substr(colon + 2);
  }
  return {};
}

void add_network(Report& report, const Network& network) {
  for (const LayerSummary& layer : network.layers()) {
    report.layers.push_back({.name = layer.path + ' ' + layer.kind,
                             .output_shape = shape_text(layer.output),
                             .parameters = layer.parameters,
                             .memory_bytes = layer.bytes,
                             .multiply_adds = static_cast<std::uint64_t>(layer.multiply_adds)});
  }
}

void add_epoch(Report& report, const EpochRecord& record) {
  Report::Epoch epoch = {.number = record.epoch,
                         .training_loss = record.training_loss,
                         .learning_rate = record.learning_rate,
                         .seconds = record.seconds,
                         .samples_per_second = record.samples_per_second};
  const bool classes = report.task == Task::classification;
  if (classes) epoch.training_score = record.training_accuracy;
  if (record.validation.samples > 0) {
    epoch.validation_loss = record.validation.loss;
    epoch.validation_score =
        classes ? record.validation.accuracy : record.validation.root_mean_square_error;
  }
  report.epochs.push_back(epoch);
  if (record.is_best) report.best_epoch = record.epoch;
}

void set_layer_times(Report& report, const std::vector<LayerTime>& times) {
  report.layer_times.clear();
  for (const LayerTime& time : times) {
    report.layer_times.push_back({time.name, time.forward, time.backward});
  }
}

void add_figures(Report& report, const Metrics& metrics,
                 const std::vector<std::string>& class_names) {
  report.figures_of = "test";
  report.test_loss = metrics.loss;
  if (report.task == Task::regression) {
    report.test_score = report.root_mean_square_error = metrics.root_mean_square_error;
    report.mean_absolute_error = metrics.mean_absolute_error;
    report.r_squared = metrics.r_squared;
    return;
  }
  report.test_score = metrics.accuracy;
  for (std::size_t n = 0; n < metrics.classes.size(); ++n) {
    const ClassMetrics& one = metrics.classes[n];
    report.class_figures.push_back({class_names[n], one.precision, one.recall, one.count});
  }
  for (const auto& row : metrics.confusion) {
    report.confusion.insert(report.confusion.end(), row.begin(), row.end());
  }
}

void add_samples(Report& report, Network& network, const Data& data, std::size_t threads) {
  const DataDescription& description = data.description();
  const bool regression = description.task == Task::regression;
  if (!regression && !is_picture(description)) return;
  std::vector<std::size_t> chosen(std::min(data.size(), regression ? kPredictions : kLookedAt));
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  const Data part = data.subset(chosen);
  const std::vector<float> outputs = predict(network, part, threads);
  if (!regression) {
    add_pictures(report, part, outputs);
    return;
  }
  const std::size_t count = description.target_count();
  std::vector<float> targets(count);
  for (std::size_t n = 0; n < part.size(); ++n) {
    part.read_targets(n, targets);
    report.predictions.push_back({targets[0], outputs[n * count]});
  }
}

void add_filters(Report& report, Network& network) {
  const std::size_t channels = network.input_shape().channels;
  if (network.input_shape().height == 1) return;
  // The first layer with weights, if these have four dimensions: outputs, inputs, height, width.
  for (const ParameterView& view : network.parameters()) {
    if (view.is_state) continue;
    const auto& d = view.dimensions;
    if (d.size() != 4 || d[1] != channels || d[2] * d[3] < 4) return;
    const std::size_t count = d[1] * d[2] * d[3];
    for (std::size_t n = 0; n < std::min(d[0], kFilters); ++n) {
      const auto values = view.values.subspan(n * count, count);
      report.filters.push_back({.width = d[3],
                                .height = d[2],
                                .channels = channels,
                                .values = {values.begin(), values.end()}});
    }
    return;
  }
}

}  // namespace program

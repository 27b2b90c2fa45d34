// The report of a training run: one HTML file with curves, tables and pictures, readable without a
// network, on a phone, in dark mode and on paper.
#ifndef OPENBNNS_TRAIN_REPORT_HPP
#define OPENBNNS_TRAIN_REPORT_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <string>
#include <vector>

#include "api.hpp"
#include "data.hpp"

namespace bnns::train {

// All texts may be anything, also bytes that are no UTF-8. A figure that is not known is NaN, a
// list that is not known is empty: what depends on it is left out.
struct Report {
  static constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

  enum class State { running, finished, stopped, diverged };

  struct Layer {
    std::string name;
    std::string output_shape;
    std::uint64_t parameters = 0;
    std::uint64_t memory_bytes = 0;
    std::uint64_t multiply_adds = 0;
  };

  // The score is the accuracy (0 to 1) of a classification and the RMSE of a regression.
  struct Epoch {
    std::size_t number = 0;
    double training_loss = kUnknown;
    double training_score = kUnknown;
    double validation_loss = kUnknown;
    double validation_score = kUnknown;
    double learning_rate = kUnknown;
    double seconds = kUnknown;
    double samples_per_second = kUnknown;
  };

  struct ClassFigures {
    std::string name;
    double precision = kUnknown;
    double recall = kUnknown;
    std::uint64_t count = 0;
  };

  struct Prediction {
    double truth = 0;
    double prediction = 0;
  };

  struct SampleImage {
    std::size_t width = 0;
    std::size_t height = 0;
    std::size_t channels = 1;          // 1: grey, 3: RGB
    std::vector<std::uint8_t> pixels;  // row by row, the channels of a pixel side by side
    std::string truth;
    std::string prediction;
    double probability = kUnknown;
  };

  struct Filter {
    std::size_t width = 0;
    std::size_t height = 0;
    std::size_t channels = 1;
    std::vector<float> values;  // channel by channel, row by row
  };

  struct LayerTime {
    std::string name;
    double forward_seconds = 0;
    double backward_seconds = 0;
  };

  struct Figure {
    std::string name;
    std::string value;
  };

  // The run.
  std::string title;
  Task task = Task::classification;
  State state = State::finished;
  std::string note;  // why it was stopped, where it diverged
  std::string command_line;
  std::string version;
  std::string simd_target;
  std::size_t threads = 0;
  std::string cpu_name;
  std::uint64_t seed = 0;
  std::chrono::system_clock::time_point started;
  double elapsed_seconds = kUnknown;
  std::size_t planned_epochs = 0;  // 0: not known

  // The data and the network.
  std::string data_name;
  std::size_t training_samples = 0;
  std::size_t validation_samples = 0;
  std::size_t test_samples = 0;
  std::size_t classes = 0;
  std::string network_name;
  std::vector<Layer> layers;

  // What happened.
  std::vector<Epoch> epochs;
  std::size_t best_epoch = 0;  // its number; 0: none was kept as the best
  std::vector<LayerTime> layer_times;

  // How good it is. `figures_of` says on which samples: "test", "validation".
  std::string figures_of;
  double test_loss = kUnknown;
  double test_score = kUnknown;
  std::vector<Figure> figures;  // further ones, shown as they are
  std::vector<ClassFigures> class_figures;
  std::vector<std::uint64_t> confusion;  // a row per true class, a column per predicted one; in the
                                         // order of class_figures
  double mean_absolute_error = kUnknown;
  double root_mean_square_error = kUnknown;
  double r_squared = kUnknown;
  std::vector<Prediction> predictions;  // a sample of them
  std::vector<SampleImage> images;
  std::vector<Filter> filters;  // of the first layer
};

// Replaces the file as a whole, so that a browser never sees half of it; while the state is
// `running` the page loads itself again every few seconds. Throws Error: of kind `usage` if the
// sizes of an image, a filter or the confusion matrix do not fit, of kind `file` if it cannot be
// written.
OPENBNNS_TRAIN_API void write_report(const std::filesystem::path& path, const Report& report);

}  // namespace bnns::train

#endif

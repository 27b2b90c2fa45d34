// openbnns bench: how fast a network is applied and trained on this machine.
#include <fmt/format.h>
#include <openbnns/openbnns.h>
#include <openbnns/train.hpp>

#include <algorithm>
#include <chrono>
#include <memory>

#include "commands.h"
#include "options.h"
#include "output.h"
#include "shape_option.h"

namespace program {
namespace {

using namespace bnns::train;

struct BenchArguments {
  std::string network = "lenet";
  ShapeArguments shape;
  std::size_t batch = 64, threads = 0;
  double seconds = 2;
  bool json = false;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Numbers without meaning, the same at every run.
Data noise(const SampleShape& shape, std::size_t outputs, Task task, std::size_t samples) {
  DataDescription description = {.task = task, .shape = shape};
  auto& names = task == Task::classification ? description.class_names : description.target_names;
  for (std::size_t n = 0; n < outputs; ++n) names.push_back(std::to_string(n));
  std::vector<float> values(samples * shape.count()), targets;
  std::uint32_t state = 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = static_cast<float>(state >> 8) / (1u << 24);
  }
  for (std::size_t n = 0; n < samples * description.target_count(); ++n) {
    targets.push_back(static_cast<float>(n % std::max<std::size_t>(1, outputs)));
  }
  return Data::arrays(std::move(description), std::move(values), std::move(targets));
}

// Ends training when the time is up. The first steps make filters and fill caches, and do not
// count.
class Watch final : public Observer {
 public:
  explicit Watch(double seconds) : seconds_(seconds) {}
  void on_step(const StepRecord&) override {
    if (++steps_ == kWarm) start_ = Clock::now();
  }
  bool stop_requested() override { return steps_ > kWarm && seconds_since(start_) >= seconds_; }
  double seconds_per_step() const {
    return seconds_since(start_) / static_cast<double>(std::max<std::size_t>(1, steps_ - kWarm));
  }

 private:
  static constexpr std::size_t kWarm = 3;
  double seconds_;
  std::size_t steps_ = 0;
  Clock::time_point start_;
};

struct Speed {
  double forward = 0, training = 0;  // samples per second
  std::vector<LayerTime> layers;
};

Speed measure(Network& network, const Data& data, const BenchArguments& arguments) {
  Speed speed;
  TrainingOptions options;
  options.batch_size = arguments.batch;
  options.threads = arguments.threads;
  options.epochs = 1'000'000;
  Watch watch(arguments.seconds);
  speed.layers = fit(network, data, {}, options, &watch).layers;
  speed.training = static_cast<double>(arguments.batch) / watch.seconds_per_step();
  predict(network, data, arguments.threads);
  const auto start = Clock::now();
  std::size_t samples = 0;
  do {
    predict(network, data, arguments.threads);
    samples += data.size();
  } while (seconds_since(start) < arguments.seconds);
  speed.forward = static_cast<double>(samples) / seconds_since(start);
  return speed;
}

int bench(const BenchArguments& arguments) {
  Network network = open_network(arguments.network, arguments.shape.resolved(),
                                 arguments.shape.outputs, OutputKind::softmax);
  const Task task =
      network.description().output == OutputKind::softmax ? Task::classification : Task::regression;
  // Many batches, so that one pass is long beside the making of the filters.
  const std::size_t bytes = network.input_shape().count() * sizeof(float) * arguments.batch;
  const std::size_t batches = std::clamp<std::size_t>((std::size_t{64} << 20) / bytes, 1, 64);
  const Data data =
      noise(network.input_shape(), network.output_count(), task, batches * arguments.batch);
  const Speed speed = measure(network, data, arguments);
  double operations = 0;  // of one sample, forward
  for (const LayerSummary& layer : network.layers()) operations += 2 * layer.multiply_adds;
  const double forward = speed.forward * operations / 1e9;
  const double training = 3 * speed.training * operations / 1e9;
  double all = 0;
  for (const LayerTime& time : speed.layers) all += time.forward + time.backward;
  if (arguments.json) {
    nlohmann::ordered_json json = {{"network", arguments.network},
                                   {"batch", arguments.batch},
                                   {"threads", arguments.threads},
                                   {"target", OpenBNNSGetTarget()},
                                   {"forward_samples_per_second", speed.forward},
                                   {"forward_gflops", forward},
                                   {"training_samples_per_second", speed.training},
                                   {"training_gflops", training},
                                   {"layers", nlohmann::ordered_json::array()}};
    for (const LayerTime& time : speed.layers) {
      json["layers"].push_back({{"name", time.name},
                                {"forward_share", all > 0 ? time.forward / all : 0},
                                {"backward_share", all > 0 ? time.backward / all : 0}});
    }
    print(json_line(json));
    return kDone;
  }
  print(fmt::format("{}, samples of {}, batches of {}, {}\n", arguments.network,
                    shape_text(network.input_shape()), arguments.batch, OpenBNNSGetTarget()));
  print(fmt::format("forward   {:.0f} samples/s, {:.1f} GFLOP/s\n", speed.forward, forward));
  print(
      fmt::format("training  {:.0f} samples/s, {:.1f} GFLOP/s (backward counted as two forward)\n",
                  speed.training, training));
  using enum Table::Align;
  Table table({left, right, right});
  table.add({"layer", "forward", "backward"});
  for (const LayerTime& time : speed.layers) {
    table.add({time.name, percent(all > 0 ? time.forward / all : 0),
               percent(all > 0 ? time.backward / all : 0)});
  }
  print("\nshare of the time of a training step\n" + table.text());
  return kDone;
}

constexpr const char* kExamples = R"(Examples:
  openbnns bench
  openbnns bench --network resnet-mini --input 32x32x3 --batch 128 --threads 1
)";

}  // namespace

void add_bench(CLI::App& program, Command& chosen) {
  const auto arguments = std::make_shared<BenchArguments>();
  CLI::App& app = *program.add_subcommand("bench", "Measures the speed of a network");
  app.footer(kExamples);
  app.add_option("--network", arguments->network, "mlp, lenet, resnet-mini, digits or a JSON file")
      ->type_name("NAME|FILE")
      ->capture_default_str();
  add_shape_options(app, arguments->shape);
  app.add_option("--batch", arguments->batch, "samples per step")
      ->type_name("NUMBER")
      ->check(CLI::Range(1, 1000000).description(""))
      ->capture_default_str();
  add_threads_option(app, arguments->threads);
  app.add_option("--seconds", arguments->seconds, "length of each measurement")
      ->type_name("NUMBER")
      ->check(CLI::Range(0.0, 3600.0).description(""))
      ->capture_default_str();
  app.add_flag("--json", arguments->json, "one line of JSON");
  app.callback([&chosen, arguments] { chosen = [arguments] { return bench(*arguments); }; });
}

}  // namespace program

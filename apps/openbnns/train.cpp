// openbnns train: opens data, makes a network, trains, saves and says where everything is.
#include <fmt/format.h>
#include <openbnns/openbnns.h>
#include <openbnns/train.hpp>

#include <chrono>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <utility>

#include "commands.h"
#include "epoch_log.h"
#include "interrupt.h"
#include "metrics.h"
#include "options.h"
#include "output.h"
#include "progress.h"
#include "report.h"
#include "run_files.h"

namespace program {
namespace {

using namespace bnns::train;

struct TrainArguments {
  DataArguments data;
  TrainingOptions training = {.epochs = 10};
  std::string network, from;
  std::vector<std::string> frozen;
  RunFiles files;
  bool json = false, quiet = false, shards_given = false;
  std::string command_line;
};

class Run final : public Observer {
 public:
  // `ranks` is NULL if this process trains alone.
  Run(const TrainArguments& arguments, Communicator* ranks)
      : arguments_(arguments), ranks_(ranks), writes_(ranks == nullptr || ranks->rank() == 0) {
    DataOptions options = arguments.data.resolved();
    options.seed = arguments.training.seed;
    files_ = arguments.files;
    files_.resolve();
    training_ = arguments.training;
    training_.communicator = ranks;
    training_.checkpoint = files_.checkpoint;
    if (training_.resume && files_.checkpoint.empty()) {
      throw Error(Error::Kind::usage, "--resume needs a checkpoint; --checkpoint is none");
    }
    data_ = open_data(arguments.data.text, options);
    task_ = data_.training.description().task;
    network_.emplace(make_network());
    for (const std::string& path : arguments.frozen) network_->freeze(path);
    describe_model(options);
    progress_.emplace(arguments.quiet || !writes_ ? Progress::Stream::none
                      : arguments.json            ? Progress::Stream::terminal_only
                                                  : Progress::Stream::standard_output,
                      task_);
    if (!writes_) return;
    // Parameters once in the model; with moments and the best ones in the checkpoint.
    files_.require_writable(network_->parameter_count() * sizeof(float) * 5 + (1 << 20));
    begin_report();
    log_.emplace(files_.log, training_.resume);
  }

  int run() {
    if (ranks_ != nullptr) require_same_data();
    if (writes_) print_start();
    watch_interrupts();
    const TrainingResult result = train();
    progress_->clear();
    if (writes_) network_->save(files_.model);
    if (!data_.test.empty()) test_ = evaluate(*network_, data_.test, training_);
    if (!writes_) return kDone;
    write_last_report(result);
    print_end(result);
    return result.stopped ? kSignal + interrupt_signal() : kDone;
  }

  void on_step(const StepRecord& record) override { progress_->step(record); }
  void on_epoch(const EpochRecord& record, const std::vector<LayerTime>& times) override {
    if (!writes_) return;
    progress_->epoch(record, training_.epochs);
    add_epoch(report_, record);
    set_layer_times(report_, times);
    write_report_as(Report::State::running);
    log_->add(record, task_);
    if (arguments_.json && !arguments_.quiet) print(json_line(epoch_json(record, task_)));
  }
  bool stop_requested() override { return interrupt_signal() != 0; }

 private:
  // All that decides how the data was split, and its parts. fit() never sees the test part.
  void require_same_data() const {
    const DataOptions options = arguments_.data.resolved();
    NamedValues values = {{"version", OpenBNNSGetVersion()},
                          {"seed", fmt::format("{}", training_.seed)},
                          {"shards", fmt::format("{}", training_.shards)},
                          {"batch", fmt::format("{}", training_.batch_size)},
                          {"validation fraction", fmt::format("{}", options.validation_fraction)},
                          {"test fraction", fmt::format("{}", options.test_fraction)}};
    for (const auto& [part, data] :
         {std::pair<const char*, const Data&>{"training", data_.training},
          {"validation", data_.validation},
          {"test", data_.test}}) {
      values.emplace_back(fmt::format("{} samples", part), fmt::format("{}", data.size()));
      values.emplace_back(fmt::format("{} checksum", part),
                          fmt::format("{:016x}", data.checksum()));
    }
    require_agreement(*ranks_, values);
  }

  // A run that diverges leaves a report that says so.
  TrainingResult train() {
    try {
      return fit(*network_, data_.training, data_.validation, training_, this);
    } catch (const Error& error) {
      progress_->clear();
      if (error.kind() == Error::Kind::training && writes_) {
        report_.note = error.what();
        write_report_as(Report::State::diverged);
      }
      throw;
    }
  }

  Network make_network() {
    const DataDescription& description = data_.training.description();
    const OutputKind output = output_kind(description.task);
    if (arguments_.from.empty()) {
      network_name_ =
          arguments_.network.empty() ? default_network(description) : arguments_.network;
      return open_network(network_name_, description.shape, description.output_count(), output);
    }
    network_name_ = "from " + arguments_.from;
    training_.initialize = false;
    Network network = Network::load(arguments_.from);
    const bool same = network.info().task == description.task &&
                      network.info().class_names == description.class_names &&
                      network.output_count() == description.output_count();
    return same ? network : network.with_outputs(description.output_count(), output);
  }

  // What a model says of itself beyond its parameters. No times: the same run gives the same file.
  void describe_model(const DataOptions& options) {
    ModelInfo& info = network_->info();
    info.seed = training_.seed;
    info.notes = {{"version", OpenBNNSGetVersion()},
                  {"target", OpenBNNSGetTarget()},
                  {"command line", arguments_.command_line},
                  {"data", arguments_.data.text},
                  {"validation fraction", fmt::format("{}", options.validation_fraction)},
                  {"test fraction", fmt::format("{}", options.test_fraction)}};
  }

  void begin_report() {
    const DataDescription& description = data_.training.description();
    report_.title = fmt::format("{} on {}", network_name_, arguments_.data.text);
    report_.task = task_;
    report_.command_line = arguments_.command_line;
    report_.version = OpenBNNSGetVersion();
    report_.simd_target = OpenBNNSGetTarget();
    report_.threads = training_.threads ? training_.threads : OpenBNNSGetDefaultThreads();
    report_.cpu_name = cpu_name();
    report_.seed = training_.seed;
    report_.started = std::chrono::system_clock::now();
    report_.planned_epochs = training_.epochs;
    report_.data_name = arguments_.data.text;
    report_.training_samples = data_.training.size();
    report_.validation_samples = data_.validation.size();
    report_.test_samples = data_.test.size();
    report_.classes = description.class_names.size();
    report_.network_name = network_name_;
    add_network(report_, *network_);
  }

  void write_report_as(Report::State state) {
    if (files_.report.empty()) return;
    report_.state = state;
    report_.elapsed_seconds =
        std::chrono::duration<double>(std::chrono::system_clock::now() - report_.started).count();
    write_report(files_.report, report_);
  }

  // All epochs, also those before a resumed run began.
  void write_last_report(const TrainingResult& result) {
    if (files_.report.empty()) return;
    report_.epochs.clear();
    for (const EpochRecord& record : result.epochs) add_epoch(report_, record);
    report_.best_epoch = result.best_epoch;
    set_layer_times(report_, result.layers);
    if (!data_.test.empty()) {
      add_figures(report_, test_, data_.training.description().class_names);
      add_samples(report_, *network_, data_.test, training_.threads);
    }
    add_filters(report_, *network_);
    if (result.stopped) report_.note = "Interrupted; --resume goes on.";
    if (result.stopped_early) {
      report_.note = fmt::format("No progress for {} epochs.", training_.patience);
    }
    const std::string note = note_on_target(result);
    if (!note.empty()) report_.note += (report_.note.empty() ? "" : " ") + note;
    write_report_as(result.stopped ? Report::State::stopped : Report::State::finished);
  }

  void print_start() const {
    if (arguments_.json || arguments_.quiet) return;
    const DataDescription& description = data_.training.description();
    print(fmt::format(
        "data       {}: {} samples for training, {} for validation, {} for the test; {}\n",
        arguments_.data.text, data_.training.size(), data_.validation.size(), data_.test.size(),
        task_ == Task::classification
            ? fmt::format("{} classes", description.class_names.size())
            : fmt::format("predicts {}", fmt::join(description.target_names, ", "))));
    print(fmt::format("network    {}: samples of {}, {} layers, {} parameters\n", network_name_,
                      shape_text(description.shape), network_->layers().size(),
                      network_->parameter_count()));
    print(fmt::format("training   {} epochs, batches of {}, seed {}, {}{}\n", training_.epochs,
                      training_.batch_size, training_.seed, OpenBNNSGetTarget(),
                      ranks_ == nullptr ? ""
                                        : fmt::format(", {} shards on {} ranks", training_.shards,
                                                      ranks_->size())));
  }

  // Empty unless a checkpoint of another SIMD target was resumed.
  static std::string note_on_target(const TrainingResult& result) {
    if (result.other_target.empty()) return "";
    return fmt::format(
        "Resumed with {} from a checkpoint of {}: these are not the bits of an uninterrupted run.",
        OpenBNNSGetTarget(), result.other_target);
  }

  void print_end(const TrainingResult& result) const {
    const char* state = result.stopped         ? "interrupted"
                        : result.stopped_early ? "stopped early"
                                               : "finished";
    if (arguments_.json) {
      nlohmann::ordered_json json = {{"state", state},
                                     {"epochs", result.epochs.size()},
                                     {"best_epoch", result.best_epoch},
                                     {"seed", training_.seed},
                                     {"network", network_name_},
                                     {"parameters", network_->parameter_count()}};
      if (!result.epochs.empty()) {
        json["training_loss"] = result.epochs.back().training_loss;
      }
      if (!data_.test.empty()) add_metrics(json, "test_", test_, task_);
      json["model"] = files_.model;
      if (!files_.report.empty()) json["report"] = files_.report;
      if (!files_.log.empty()) json["log"] = files_.log;
      if (!files_.checkpoint.empty()) json["checkpoint"] = files_.checkpoint;
      if (!result.other_target.empty()) json["resumed_target"] = result.other_target;
      print(json_line(json));
      return;
    }
    if (arguments_.quiet) return;
    std::string text = fmt::format("\n{}", state);
    if (result.stopped) {
      text += files_.checkpoint.empty() ? "; the model so far is saved"
                                        : "; the same command with --resume goes on";
    } else if (result.best_epoch > 0) {
      text += fmt::format("; the model is that of epoch {}", result.best_epoch);
    }
    text += '\n';
    if (!result.other_target.empty()) text += note_on_target(result) + '\n';
    if (!data_.test.empty()) {
      text += "test       " + metrics_text(test_, task_) + "\n\n";
      if (task_ == Task::classification) {
        text += class_tables(test_, data_.training.description().class_names) + '\n';
      }
    }
    const auto file = [&](const char* what, const std::string& name) {
      if (!name.empty()) text += fmt::format("{:<11}{}\n", what, name);
    };
    file("model", files_.model);
    file("report", files_.report);
    file("log", result.epochs.empty() ? "" : files_.log);
    file("checkpoint", files_.checkpoint);
    print(text);
  }

  const TrainArguments& arguments_;
  Communicator* ranks_;
  bool writes_;  // files, report and progress
  RunFiles files_;
  TrainingOptions training_;
  DataSplit data_;
  Task task_ = Task::classification;
  std::string network_name_;
  std::optional<Network> network_;
  std::optional<EpochLog> log_;
  std::optional<Progress> progress_;
  Report report_;
  Metrics test_;
};

// An error of all ranks where rank 0 has no --shards, which it prints once; of one rank otherwise.
void require_shards(const TrainArguments& arguments, Communicator& ranks) {
  bool given = arguments.shards_given;
  ranks.broadcast(std::as_writable_bytes(std::span(&given, 1)), 0);
  if (given && arguments.shards_given) return;
  throw Error(given ? Error::Kind::usage : Error::Kind::ranks,
              "--shards must be given where several ranks train: it decides the result, "
              "whatever their number");
}

// A rank that fails alone ends the others, which would wait for it.
int run_as_rank(const TrainArguments& arguments, Communicator& ranks) {
  std::string what;
  int status = kInternal;
  try {
    require_shards(arguments, ranks);
    agree_on_target(ranks);  // before anything is written that names it
    return Run(arguments, &ranks).run();
  } catch (const Error& error) {
    what = error.what();
    status = status_of(error.kind());
    if (error.kind() == Error::Kind::ranks) {
      if (ranks.rank() == 0) print_error(what);
      return status;
    }
  } catch (const std::bad_alloc&) {
    what = "out of memory";
  } catch (const std::exception& error) {
    what = fmt::format("internal error: {}", error.what());
  }
  print_error(fmt::format("rank {}: {}", ranks.rank(), what));
  ranks.abort(status);
  return status;  // gcc does not believe that a virtual function never returns
}

int run_train(const TrainArguments& arguments) {
  const std::unique_ptr<Communicator> ranks = launched_communicator();
  return ranks == nullptr ? Run(arguments, nullptr).run() : run_as_rank(arguments, *ranks);
}

constexpr const char* kExamples = R"(Examples:
  openbnns train --data synthetic-digits
  openbnns train --data photos --image-size 64x64 --augment-flip --epochs 20
  openbnns train --data houses.csv --target price --patience 5
  openbnns train --data photos --from model.safetensors --freeze 0 --freeze 1
  openbnns train --data synthetic-digits --resume        # goes on after Ctrl-C
  mpirun -n 4 openbnns train --data photos --shards 8    # on several machines
)";

}  // namespace

void add_train(CLI::App& program, Command& chosen, const std::string& command_line) {
  const auto arguments = std::make_shared<TrainArguments>();
  arguments->command_line = command_line;
  CLI::App& app = *program.add_subcommand("train", "Trains a network and saves it");
  app.footer(kExamples);
  add_data_options(app, arguments->data);
  const std::string group = "Network";
  auto* network = app.add_option("--network", arguments->network,
                                 "mlp, lenet, resnet-mini, digits or a JSON file; default: by data")
                      ->type_name("NAME|FILE")
                      ->group(group);
  app.add_option("--from", arguments->from, "start with the weights of this model")
      ->type_name("MODEL")
      ->excludes(network)
      ->group(group);
  app.add_option("--freeze", arguments->frozen, "layer that is not trained; may be given again")
      ->type_name("LAYER")
      ->group(group);
  add_training_options(app, arguments->training);
  const std::string files = "Files";
  app.add_option("--output", arguments->files.model, "the model")
      ->type_name("FILE")
      ->capture_default_str()
      ->group(files);
  app.add_option("--report", arguments->files.report, "default: OUTPUT with .html; none: no report")
      ->type_name("FILE")
      ->group(files);
  app.add_option("--log", arguments->files.log, "default: OUTPUT with .jsonl; none: no log")
      ->type_name("FILE")
      ->group(files);
  app.add_option("--checkpoint", arguments->files.checkpoint,
                 "default: OUTPUT with .checkpoint; none: no checkpoint")
      ->type_name("FILE")
      ->group(files);
  app.add_flag("--resume", arguments->training.resume, "go on from the checkpoint")->group(files);
  app.add_flag("--json", arguments->json, "lines of JSON; the last one has the result");
  app.add_flag("--quiet", arguments->quiet, "no progress; with --json the result alone");
  app.callback([&app, &chosen, arguments] {
    arguments->shards_given = app.get_option("--shards")->count() > 0;
    chosen = [arguments] { return run_train(*arguments); };
  });
}

}  // namespace program

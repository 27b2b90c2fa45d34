// fit() trains, evaluate() measures, predict() applies.
#ifndef OPENBNNS_TRAIN_FIT_HPP
#define OPENBNNS_TRAIN_FIT_HPP

#include <cstddef>
#include <string>
#include <vector>

#include "api.hpp"
#include "data.hpp"
#include "metrics.hpp"
#include "network.hpp"
#include "options.hpp"

namespace bnns::train {

struct EpochRecord {
  std::size_t epoch = 0;  // the first one is 1
  double training_loss = 0;
  double training_accuracy = 0;  // classification: as it was while the epoch went on
  Metrics validation;            // no samples: there is no validation data
  double learning_rate = 0;      // of the last step
  double seconds = 0;            // NaN: of an earlier run that this one resumed
  double samples_per_second = 0;
  bool is_best = false;

  friend bool operator==(const EpochRecord& a, const EpochRecord& b) {
    return a.epoch == b.epoch && a.training_loss == b.training_loss &&
           a.training_accuracy == b.training_accuracy;
  }
};

struct StepRecord {
  std::size_t epoch = 0, epochs = 0;
  std::size_t step = 0, steps = 0;  // of the epoch, the first one is 1
  std::size_t samples = 0;          // seen in this epoch
  double loss = 0;                  // mean of the epoch so far
  double accuracy = 0;
  double seconds = 0;             // since the epoch began, or the run that resumed it
  double samples_per_second = 0;  // over these seconds
};

struct LayerTime {
  std::string name;
  double forward = 0, backward = 0;  // seconds of the whole training
};

struct TrainingResult {
  std::vector<EpochRecord> epochs;
  std::size_t best_epoch = 0;
  bool stopped = false;        // by the observer
  bool stopped_early = false;  // by patience
  // Of the checkpoint that was resumed, where it was written with another SIMD target: the bits are
  // not those of an uninterrupted run then.
  std::string other_target;
  std::vector<LayerTime> layers;
};

// Is told what happens; called by the thread that called fit().
class OPENBNNS_TRAIN_API Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_step(const StepRecord&) {}
  virtual void on_epoch(const EpochRecord&, const std::vector<LayerTime>&) {}
  // Asked after every step; true ends training after it.
  virtual bool stop_requested() { return false; }
};

// Trains `network`. Validation data may be empty; then there is no best model and no early stop.
// Same data, options and network: same bits, whatever the number of threads. Throws Error.
OPENBNNS_TRAIN_API TrainingResult fit(Network& network, const Data& training,
                                      const Data& validation, const TrainingOptions& options = {},
                                      Observer* observer = nullptr);

// With the loss of `options`. If these have a communicator, all ranks call it with the same data,
// share the work, and get the same figures.
OPENBNNS_TRAIN_API Metrics evaluate(Network& network, const Data& data,
                                    const TrainingOptions& options = {});

// Probabilities of classes or predicted numbers, output_count() per sample.
OPENBNNS_TRAIN_API std::vector<float> predict(Network& network, const Data& data,
                                              std::size_t threads = 0);

}  // namespace bnns::train

#endif

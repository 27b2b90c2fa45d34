// Where a training run is: what a checkpoint holds beyond the network's own parameters.
#ifndef OPENBNNS_TRAIN_TRAINING_RUN_STATE_H
#define OPENBNNS_TRAIN_TRAINING_RUN_STATE_H

#include <string>
#include <vector>

#include "openbnns/train/fit.hpp"
#include "train/files/tensor_file.h"
#include "train/network/parameters.h"
#include "train/training/optimizer.h"

namespace bnns::train::impl {

class RunState {
 public:
  RunState(ParameterSet& parameters, Optimizer& optimizer)
      : parameters_(parameters), optimizer_(optimizer) {}

  // The epoch that goes on, counted from 0, and the steps of it that were made.
  std::size_t epoch = 0, step = 0;
  // Sums of this epoch.
  double loss = 0;
  std::size_t right = 0, samples = 0;
  // What of this epoch was done by this process: a run that is resumed does not know more.
  double seconds = 0;
  std::size_t timed_samples = 0;

  std::vector<EpochRecord> records;
  std::size_t best_epoch = 0;  // 0: there is none

  void begin_epoch(std::size_t next);
  bool has_best() const noexcept { return best_epoch > 0; }
  // Whether this is the best validation so far; its parameters are kept then.
  bool is_best(const EpochRecord& record) const;
  void keep_best(const EpochRecord& record);
  void restore_best();

  // Writes and reads options.checkpoint. Reading refuses the file of another network, other data or
  // options that change the arithmetic. There are no times in it: the same run, by any number of
  // ranks and threads, writes the same bytes. Rank 0 reads for all ranks, and alone tells what is
  // wrong with the file.
  void save(Network& network, const Data& training, const TrainingOptions& options) const;
  void load(Network& network, const Data& training, const TrainingOptions& options);
  // The SIMD target of the file that was read; empty if none was.
  const std::string& loaded_target() const noexcept { return loaded_target_; }

 private:
  void restore(const TensorFile& content, Network& network, const Data& training,
               const TrainingOptions& options);

  ParameterSet& parameters_;
  Optimizer& optimizer_;
  std::vector<float> best_weights_, best_state_;
  std::string loaded_target_;
};

}  // namespace bnns::train::impl

#endif

// Batches of samples in a given order. While one is trained, the next one is read by a thread of
// its own.
#ifndef OPENBNNS_TRAIN_TRAINING_BATCHES_H
#define OPENBNNS_TRAIN_TRAINING_BATCHES_H

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "openbnns/train/data.hpp"

namespace bnns::train::impl {

// The samples of an epoch in the order that seed and epoch give.
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t epoch);

struct Batch {
  std::size_t step = 0;
  std::size_t samples = 0;
  // Of the samples that were read; the first of them is sample `first` of the batch.
  std::size_t first = 0;
  std::vector<float> values, targets;
};

// The part of each batch that is read: of a batch of n samples those from floor(first n / parts) to
// floor(last n / parts).
struct BatchPart {
  std::size_t first = 0, last = 1, parts = 1;
};

class Batches {
 public:
  // Changes the sample at `place` of batch `step` after it was read.
  using Prepare = std::function<void(std::size_t step, std::size_t place, std::span<float> values,
                                     std::span<float> targets)>;

  // Begins with batch `first_step`. `data` must outlive it.
  Batches(const Data& data, std::vector<std::size_t> order, std::size_t batch_size,
          std::size_t first_step, Prepare prepare, BatchPart part = {});
  ~Batches();

  // Valid until the next call; null after the last one. Throws what reading threw.
  const Batch* next();

 private:
  void read_all();
  void read(Batch& batch, std::size_t step) const;

  const Data& data_;
  std::vector<std::size_t> order_;
  std::size_t batch_size_, steps_, first_step_;
  Prepare prepare_;
  BatchPart part_;

  std::mutex mutex_;
  std::condition_variable changed_;
  Batch batches_[2];
  std::size_t read_ = 0;      // batches that are ready, counted from the first one
  std::size_t returned_ = 0;  // batches that the caller has seen
  bool stop_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace bnns::train::impl

#endif

#include "train/training/batches.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "train/counter_random.h"

namespace bnns::train::impl {

std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  constexpr std::uint64_t kShuffle = 0x5348;  // a key of its own
  const CounterRandom random({seed, epoch, kShuffle});
  for (std::size_t k = count; k > 1; --k) std::swap(order[k - 1], order[random.below(k, k)]);
  return order;
}

Batches::Batches(const Data& data, std::vector<std::size_t> order, std::size_t batch_size,
                 std::size_t first_step, Prepare prepare, BatchPart part)
    : data_(data),
      order_(std::move(order)),
      batch_size_(batch_size),
      steps_((order_.size() + batch_size - 1) / batch_size),
      first_step_(first_step),
      prepare_(std::move(prepare)),
      part_(part),
      thread_([this] { read_all(); }) {}

Batches::~Batches() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const Batch* Batches::next() {
  std::unique_lock lock(mutex_);
  if (first_step_ + returned_ >= steps_) return nullptr;
  ++returned_;  // gives the batch before back
  changed_.notify_all();
  changed_.wait(lock, [&] { return read_ >= returned_ || failure_; });
  if (read_ < returned_) std::rethrow_exception(failure_);
  return &batches_[(returned_ - 1) % 2];
}

void Batches::read_all() {
  try {
    for (std::size_t k = 0; first_step_ + k < steps_; ++k) {
      {
        // The memory of batch k is that of batch k - 2: free once the caller asked for k - 1.
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return stop_ || returned_ >= k; });
        if (stop_) return;
      }
      read(batches_[k % 2], first_step_ + k);
      const std::lock_guard lock(mutex_);
      read_ = k + 1;
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    changed_.notify_all();
  }
}

void Batches::read(Batch& batch, std::size_t step) const {
  const std::size_t first = step * batch_size_;
  const std::size_t values = data_.description().shape.count();
  const std::size_t targets = data_.description().target_count();
  batch.step = step;
  batch.samples = std::min(batch_size_, order_.size() - first);
  batch.first = part_.first * batch.samples / part_.parts;
  const std::size_t count = part_.last * batch.samples / part_.parts - batch.first;
  batch.values.resize(count * values);
  batch.targets.resize(count * targets);
  for (std::size_t n = 0; n < count; ++n) {
    const std::size_t place = batch.first + n;
    const std::span<float> v = std::span(batch.values).subspan(n * values, values);
    const std::span<float> t = std::span(batch.targets).subspan(n * targets, targets);
    data_.read(order_[first + place], v, t);
    prepare_(step, place, v, t);
  }
}

}  // namespace bnns::train::impl

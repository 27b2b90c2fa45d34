#include "mps/temporary_pool.h"

#include <algorithm>
#include <new>

#include "mps/image_storage.h"

namespace bnns::impl::mps {

Piece Pieces::take(size_t bytes) {
  auto best = pieces_.end();
  for (auto p = pieces_.begin(); p != pieces_.end(); ++p) {
    if (p->bytes < bytes || p->bytes / 2 > bytes) continue;
    if (best == pieces_.end() || p->bytes < best->bytes) best = p;
  }
  if (best == pieces_.end()) return {};
  Piece piece = std::move(*best);
  pieces_.erase(best);
  bytes_ -= piece.bytes;
  return piece;
}

void Pieces::give(Piece piece) {
  const size_t bytes = piece.bytes;
  piece.used = true;
  pieces_.push_back(std::move(piece));
  bytes_ += bytes;
}

Piece MemoryCache::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  return pieces_.take(bytes);
}

void MemoryCache::give(Piece piece) noexcept {
  const std::lock_guard lock(mutex_);
  if (piece.bytes > most_ || pieces_.bytes() > most_ - piece.bytes) return;
  try {
    pieces_.give(std::move(piece));
  } catch (const std::bad_alloc&) {  // Then it is not kept.
  }
}

TemporaryPool::TemporaryPool(std::shared_ptr<DeviceBase> device) : device_(std::move(device)) {}

TemporaryPool::~TemporaryPool() {
  close();
}

Piece TemporaryPool::take(size_t bytes) {
  const std::lock_guard lock(mutex_);
  Piece piece = free_.take(bytes);
  if (piece.memory != nullptr) return piece;
  all_.reserve(all_.size() + 1);
  free_.reserve(all_.size() + 1);
  piece = device_->memory_cache().take(bytes);
  if (piece.memory == nullptr) piece = {device_->allocate(bytes), bytes};
  if (piece.memory != nullptr) all_.push_back(piece);
  return piece;
}

void TemporaryPool::give(const Piece& piece) noexcept {
  const std::lock_guard lock(mutex_);
  if (!closed_) free_.give(piece);
}

void TemporaryPool::close() noexcept {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  free_ = Pieces();
  for (Piece& piece : all_) device_->memory_cache().give(std::move(piece));
  all_.clear();
}

namespace {

bool has_size(const ImageStorage& image, size_t width, size_t height, size_t channels) {
  return image.width() == width && image.height() == height && image.channels() == channels;
}
bool has_size_of(const ImageStorage& image, const ImageStorage& other) {
  return has_size(image, other.width(), other.height(), other.channels());
}

struct Overwrites {
  const ImageStorage& image;

  // The loss of an image: one value, or one per element.
  bool by_losses(const std::vector<LossItem>& items, bool reduced) const {
    return std::any_of(items.begin(), items.end(), [&](const LossItem& item) {
      return item.loss.get() == &image &&
             (reduced ? has_size(image, 1, 1, 1) : has_size_of(image, *item.source));
    });
  }
  static bool has_gradient(const std::vector<LossItem>& items, const ImageStorage& image) {
    return std::any_of(items.begin(), items.end(),
                       [&](const LossItem& item) { return item.gradient.get() == &image; });
  }

  bool operator()(const LossWork& work) const {
    if (by_losses(work.items, work.formula.reduced())) return true;
    const GradientWindow& w = work.window;
    return has_gradient(work.items, image) && w.x == 0 && w.y == 0 && w.destination_channel == 0 &&
           has_size(image, w.width, w.height, w.channels);
  }
  bool operator()(const YoloWork& work) const {
    if (by_losses(work.items, work.reduction != MPS::CNNReductionType::None)) return true;
    return has_gradient(work.items, image) && has_size_of(image, *work.items[0].source);
  }
  bool operator()(const OnesWork& work) const {
    return has_size(image, work.width, work.height, work.channels);
  }
};

}  // namespace

bool overwrites(const Work& work, const ImageStorage& image) {
  return std::visit(Overwrites{image}, work);
}

}  // namespace bnns::impl::mps

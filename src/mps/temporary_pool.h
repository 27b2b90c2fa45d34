// Memory of temporary images. The commands of a buffer run one after the other, so that an image
// whose read count has reached 0 leaves its memory to the next temporary image of the same buffer.
// A buffer that is final, or that goes, returns its memory to the device, which keeps some of it
// for other buffers. Nobody can read a temporary image any more by then.
// Reused memory holds old values. What does not overwrite all of them, or reads them, has them
// cleared first, so that temporary images begin with zeros like all others.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "mps/work.h"

namespace bnns::impl::mps {

class DeviceBase;
class Memory;

// Memory that images own one after the other.
struct Piece {
  std::shared_ptr<Memory> memory;
  size_t bytes = 0;
  bool used = false;  // may hold old values
};

// Pieces that nobody uses; give and take in any order. Not for several threads at once.
class Pieces {
 public:
  // The smallest piece that is large enough and not more than twice as large; or one without
  // memory.
  Piece take(size_t bytes);
  void give(Piece piece);
  void reserve(size_t count) { pieces_.reserve(count); }  // give allocates nothing up to so many
  size_t bytes() const { return bytes_; }

 private:
  std::vector<Piece> pieces_;
  size_t bytes_ = 0;
};

// What a device keeps, up to `most` bytes.
class MemoryCache {
 public:
  explicit MemoryCache(size_t most) : most_(most) {}
  Piece take(size_t bytes);
  void give(Piece piece) noexcept;

 private:
  std::mutex mutex_;
  size_t most_;
  Pieces pieces_;
};

// The memory of the temporary images of one command buffer.
class TemporaryPool {
 public:
  explicit TemporaryPool(std::shared_ptr<DeviceBase> device);
  ~TemporaryPool();

  Piece take(size_t bytes);  // without memory if there is not enough
  void give(const Piece& piece) noexcept;
  void close() noexcept;  // everything goes back to the device

 private:
  std::shared_ptr<DeviceBase> device_;
  std::mutex mutex_;
  std::vector<Piece> all_;
  Pieces free_;
  bool closed_ = false;
};

// True if the work writes every element of an image that is one of its destinations.
bool overwrites(const Work& work, const ImageStorage& image);

}  // namespace bnns::impl::mps

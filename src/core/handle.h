// Handles of filters, random generators and neighbour tables. A handle points into a range of slots
// that is reserved once and never freed; its low bits carry the slot's generation. A foreign
// pointer fails the range check, the handle of a destroyed object the generation check: two
// compares, no lock. A freed slot waits until kQuarantine others were freed before it is used
// again, so a stale handle is mistaken for a live one only after kQuarantine * kGenerations further
// creations.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace bnns::impl {

enum class HandleKind : uint32_t { kNone, kFilter, kRandomGenerator, kNearestNeighbors };

class HandleTable {
 public:
  static constexpr size_t kSlots = size_t{1} << 18;
  static constexpr size_t kSlotBytes = 64;
  static constexpr size_t kGenerations = kSlotBytes;
  static constexpr size_t kQuarantine = 1024;

  // Throws when all slots are taken or no address space is left.
  void* insert(HandleKind kind, void* object);
  // Takes the object out; nullptr if the handle is not a live one of this kind.
  void* remove(HandleKind kind, const void* handle);

  // Called when the library is loaded: makes fork() wait for the table's mutex, and reserves the
  // addresses before workers and their memory can use up the limit of the process.
  void prepare() noexcept;

  // nullptr if the handle is not a live one of this kind.
  void* find(HandleKind kind, const void* handle) const noexcept {
    const size_t bytes = bytes_.load(std::memory_order_acquire);
    const uintptr_t offset =
        reinterpret_cast<uintptr_t>(handle) - base_.load(std::memory_order_relaxed);
    if (offset >= bytes) [[unlikely]]
      return nullptr;
    const Slot& slot =
        *reinterpret_cast<const Slot*>(reinterpret_cast<uintptr_t>(handle) - offset % kSlotBytes);
    if (slot.tag.load(std::memory_order_acquire) != tag_of(kind, offset % kSlotBytes)) [[unlikely]]
      return nullptr;
    return slot.object.load(std::memory_order_relaxed);
  }

 private:
  struct alignas(kSlotBytes) Slot {
    std::atomic<uint32_t> tag;  // kind and generation; 0 in a free slot
    uint32_t generation;        // the next generation to hand out
    uint32_t next_free;
    std::atomic<void*> object;
  };
  static_assert(sizeof(Slot) == kSlotBytes);

  static uint32_t tag_of(HandleKind kind, size_t generation) {
    return static_cast<uint32_t>(kind) << 8 | static_cast<uint32_t>(generation);
  }
  Slot* slots() { return reinterpret_cast<Slot*>(base_.load(std::memory_order_relaxed)); }
  bool reserve() noexcept;  // false if there is no address space left; the caller holds the mutex
  uint32_t take_slot();

  // bytes_ is 0 until the range is reserved: no handle passes the range check before.
  std::atomic<size_t> bytes_{0};
  std::atomic<uintptr_t> base_{0};
  std::mutex mutex_;
  uint32_t used_ = 0;  // slots ever touched
  uint32_t free_count_ = 0;
  uint32_t free_head_ = 0, free_tail_ = 0;
};

extern constinit HandleTable the_handles;
inline HandleTable& handles() {
  return the_handles;
}

}  // namespace bnns::impl

#include "core/handle.h"

#include "core/error.h"
#include "core/platform.h"

namespace bnns::impl {

bool HandleTable::reserve() noexcept {
  if (bytes_.load(std::memory_order_relaxed) != 0) return true;
  void* range = platform::reserve(kSlots * kSlotBytes);
  if (range == nullptr) return false;
  base_.store(reinterpret_cast<uintptr_t>(range), std::memory_order_relaxed);
  bytes_.store(kSlots * kSlotBytes, std::memory_order_release);
  return true;
}

uint32_t HandleTable::take_slot() {
  if (!reserve()) {
    throw Error{.text = Text("no address space left for the table of handles; out of memory"),
                .failure = Failure::kMemory};
  }
  const bool fresh = free_count_ < kQuarantine && used_ < kSlots;
  if (fresh) return used_++;
  require(free_count_ > 0, "there are ", kSlots, " live handles; no further one can be created");
  const uint32_t index = free_head_;
  free_head_ = slots()[index].next_free;
  --free_count_;
  return index;
}

void* HandleTable::insert(HandleKind kind, void* object) {
  const std::lock_guard lock(mutex_);
  const uint32_t index = take_slot();
  Slot& slot = slots()[index];
  const uint32_t generation = slot.generation;
  slot.generation = (generation + 1) % kGenerations;
  slot.object.store(object, std::memory_order_relaxed);
  slot.tag.store(tag_of(kind, generation), std::memory_order_release);
  return reinterpret_cast<char*>(&slot) + generation;
}

void* HandleTable::remove(HandleKind kind, const void* handle) {
  const std::lock_guard lock(mutex_);
  void* object = find(kind, handle);
  if (object == nullptr) return nullptr;
  const uintptr_t base = base_.load(std::memory_order_relaxed);
  const auto index =
      static_cast<uint32_t>((reinterpret_cast<uintptr_t>(handle) - base) / kSlotBytes);
  Slot& slot = slots()[index];
  slot.tag.store(0, std::memory_order_release);
  slot.object.store(nullptr, std::memory_order_relaxed);
  if (free_count_++ == 0) {
    free_head_ = index;
  } else {
    slots()[free_tail_].next_free = index;
  }
  free_tail_ = index;
  return object;
}

void HandleTable::prepare() noexcept {
  platform::hold_during_fork(mutex_);
  reserve();
}

constinit HandleTable the_handles;

namespace {
[[maybe_unused]] const bool prepared = (the_handles.prepare(), true);
}  // namespace

}  // namespace bnns::impl

// Working memory of a filter that concurrent callers must not share. A caller takes a set of
// buffers that nobody uses, or creates one, and gives it back for the next caller. The pool is
// lock-free: an array of slots, each of which is empty or holds an idle set.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <new>

#include "core/memory.h"

namespace bnns::impl {

template <class Set>
class ScratchPool {
 public:
  static constexpr size_t kSlots = 32;

  explicit ScratchPool(const Memory& memory) : memory_(memory) {}
  ~ScratchPool() {
    for (auto& slot : slots_) destroy(slot.load(std::memory_order_relaxed));
  }

  class Borrowed {
   public:
    Borrowed(ScratchPool& pool, Set* set) : pool_(&pool), set_(set) {}
    Borrowed(Borrowed&& other) noexcept : pool_(other.pool_), set_(other.set_) {
      other.set_ = nullptr;
    }
    Borrowed& operator=(Borrowed&&) = delete;
    ~Borrowed() {
      if (set_ != nullptr) pool_->give_back(set_);
    }
    Set* operator->() const { return set_; }
    Set& operator*() const { return *set_; }

   private:
    ScratchPool* pool_;
    Set* set_;
  };

  Borrowed take() {
    for (auto& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      Set* set = slot.exchange(nullptr, std::memory_order_acquire);
      if (set != nullptr) return Borrowed(*this, set);
    }
    return Borrowed(*this, new (memory_.allocate(sizeof(Set))) Set());
  }

  // Makes `count` sets exist and calls prepare(set) on each.
  template <class Prepare>
  void reserve(size_t count, const Prepare& prepare) {
    if (count == 0) return;
    Borrowed borrowed = take();
    prepare(*borrowed);
    reserve(count - 1, prepare);
  }

 private:
  void give_back(Set* set) noexcept {
    for (auto& slot : slots_) {
      Set* empty = nullptr;
      if (slot.compare_exchange_strong(empty, set, std::memory_order_release,
                                       std::memory_order_relaxed))
        return;
    }
    destroy(set);
  }
  void destroy(Set* set) noexcept {
    if (set == nullptr) return;
    set->~Set();
    memory_.release(set, sizeof(Set));
  }

  Memory memory_;
  std::array<std::atomic<Set*>, kSlots> slots_{};
};

}  // namespace bnns::impl

// Client memory under watch. Tensors are planned first, then allocated to the byte, so that
// AddressSanitizer's red zones begin right behind the last value. A byte knows which tensors own
// it; bytes between strides belong to none and must neither change nor matter. Tensors may share a
// block on purpose: in place, or overlapping in part.
#ifndef OPENBNNS_FUZZ_MEMORY_H
#define OPENBNNS_FUZZ_MEMORY_H

#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "check.h"
#include "model.h"
#include "provider.h"

namespace fuzz {

// A tensor somewhere in a block; data() is valid after Memory::allocate().
struct Tensor {
  size_t block = 0;
  size_t start = 0;             // byte of the first value in the block
  size_t bits = 8;              // of a value
  BNNSDataType type{};          // how to fill it
  std::vector<size_t> offsets;  // of the elements, in values
  size_t bytes = 0;
};

class Memory {
 public:
  // `shift` makes the address odd by that many bytes.
  size_t add(const Model& m, const Batch& batch, size_t shift = 0) {
    Tensor t = describe(m, batch);
    t.block = blocks_.size();
    t.start = shift;
    blocks_.emplace_back().size = shift + t.bytes;
    tensors_.push_back(std::move(t));
    return tensors_.size() - 1;
  }

  // In the block of `other`, `distance` bytes behind its first byte; the block grows if need be.
  size_t add_over(size_t other, const Model& m, const Batch& batch, size_t distance) {
    Tensor t = describe(m, batch);
    t.block = tensors_[other].block;
    t.start = tensors_[other].start + distance;
    size_t& size = blocks_[t.block].size;
    size = std::max(size, t.start + t.bytes);
    tensors_.push_back(std::move(t));
    return tensors_.size() - 1;
  }

  void allocate(uint64_t seed) {
    Random random(seed);
    for (Block& b : blocks_) {
      b.data.reset(static_cast<uint8_t*>(std::malloc(b.size)));
      b.owners.assign(b.size, 0);
      uint8_t* bytes = b.data.get();
      for (size_t i = 0; i < b.size; ++i) bytes[i] = static_cast<uint8_t>(random.next() >> 24);
    }
    for (size_t t = 0; t < tensors_.size(); ++t) {
      for_bytes(tensors_[t], [&](Block& b, size_t i) { b.owners[i] |= bit(t); });
      fill(tensors_[t], random);
    }
    for (Block& b : blocks_) b.before.assign(b.data.get(), b.data.get() + b.size);
  }

  uint8_t* data(size_t t) const {
    const Tensor& tensor = tensors_[t];
    return blocks_[tensor.block].data.get() + tensor.start;
  }
  const Tensor& tensor(size_t t) const { return tensors_[t]; }

  void expect_untouched(const char* function) const {
    for (const Block& b : blocks_) {
      expect(std::memcmp(b.data.get(), b.before.data(), b.size) == 0, function,
             "a failing call changed memory");
    }
  }

  // Only elements of the tensors in `written` may differ from before.
  void expect_only(uint32_t written, const char* function) const {
    for (const Block& b : blocks_) {
      const uint8_t *now = b.data.get(), *before = b.before.data();
      const uint32_t* owners = b.owners.data();
      bool changed = false;
      for (size_t i = 0; i < b.size; ++i)
        changed |= now[i] != before[i] && (owners[i] & written) == 0;
      expect(!changed, function, "a byte outside of the outputs changed");
    }
  }

  // Elements of an accepted output must not overlap each other, nor `others` that are read; exactly
  // in place is allowed to functions that can work so.
  void expect_apart(uint32_t written, uint32_t others, bool may_be_in_place,
                    const char* function) const {
    for (size_t t = 0; t < tensors_.size(); ++t) {
      if ((written & bit(t)) == 0) continue;
      std::vector<size_t> sorted = tensors_[t].offsets;
      std::sort(sorted.begin(), sorted.end());
      expect(std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end(), function,
             "an output with overlapping elements was accepted");
      for (size_t o = 0; o < tensors_.size(); ++o) {
        if (o == t || ((others | written) & bit(o)) == 0) continue;
        const bool same = may_be_in_place && same_place(tensors_[t], tensors_[o]);
        expect(same || !share_bytes(t, o), function, "an overlapping output was accepted");
      }
    }
  }

  // Tensors a call may read or write; the others of this memory must not matter to it.
  void set_used(uint32_t tensors) { used_ = tensors; }

  std::vector<std::vector<uint8_t>> contents() const {
    std::vector<std::vector<uint8_t>> all;
    for (const Block& b : blocks_) all.emplace_back(b.data.get(), b.data.get() + b.size);
    return all;
  }

  // Back to the state before the call, but with other garbage wherever it must not matter: between
  // the elements, in tensors the call is not given, and in outputs that are only written
  // (`overwritten`).
  void restore(uint32_t overwritten, uint64_t seed) {
    Random random(seed);
    for (Block& b : blocks_) {
      uint8_t* before = b.before.data();
      const uint32_t* owners = b.owners.data();
      const uint32_t matters = used_ & ~overwritten;
      for (size_t i = 0; i < b.size; ++i) {
        if ((owners[i] & matters) == 0) before[i] ^= random.next() >> 24 | 1;
      }
      std::memcpy(b.data.get(), before, b.size);
    }
  }

  // Makes what a call wrote the state the next one starts from.
  void accept() {
    for (Block& b : blocks_) b.before.assign(b.data.get(), b.data.get() + b.size);
  }

  void expect_equal(const std::vector<std::vector<uint8_t>>& first, uint32_t written,
                    const char* function) const {
    for (size_t k = 0; k < blocks_.size(); ++k) {
      const uint8_t *now = blocks_[k].data.get(), *then = first[k].data();
      const uint32_t* owners = blocks_[k].owners.data();
      bool differs = false;
      for (size_t i = 0; i < first[k].size(); ++i)
        differs |= now[i] != then[i] && (owners[i] & written) != 0;
      expect(!differs, function, "the same call gives other bits");
    }
  }

  static uint32_t bit(size_t t) { return uint32_t{1} << t; }

 private:
  struct Free {
    void operator()(uint8_t* block) const { std::free(block); }
  };
  struct Block {
    size_t size = 0;
    std::unique_ptr<uint8_t[], Free> data;
    std::vector<uint8_t> before;
    std::vector<uint32_t> owners;  // one bit per tensor
  };

  static Tensor describe(const Model& m, const Batch& batch) {
    Tensor t;
    t.bits = m.bits;
    t.type = m.type;
    const std::vector<size_t> sample = offsets_of(m);
    const size_t samples = std::max<size_t>(batch.size, 1);
    t.offsets.reserve(sample.size() * samples);
    for (size_t b = 0; b < samples; ++b) {
      for (size_t offset : sample)
        t.offsets.push_back(offset + b * static_cast<size_t>(batch.step(m)));
    }
    t.bytes = m.bytes(static_cast<size_t>(batch.values(m)));
    return t;
  }

  static bool same_place(const Tensor& a, const Tensor& b) {
    return a.block == b.block && a.start == b.start && a.bits == b.bits && a.offsets == b.offsets;
  }

  template <class Body>
  void for_bytes(const Tensor& t, const Body& body) {
    Block& b = blocks_[t.block];
    for (size_t offset : t.offsets) {
      const size_t first = offset * t.bits / 8, last = (offset * t.bits + t.bits - 1) / 8;
      for (size_t i = first; i <= last; ++i) body(b, t.start + i);
    }
  }

  bool share_bytes(size_t t, size_t o) const {
    if (tensors_[t].block != tensors_[o].block) return false;
    const uint32_t both = bit(t) | bit(o);
    for (uint32_t owners : blocks_[tensors_[t].block].owners) {
      if ((owners & both) == both) return true;
    }
    return false;
  }

  // Numbers of every kind: ordinary ones mostly, with NaN, infinities and subnormals between.
  void fill(const Tensor& t, Random& random) {
    if (t.type != BNNSDataTypeFloat32) return;  // any bits will do
    const uint64_t style = random.next() >> 60;
    for (size_t offset : t.offsets) {
      float value = random.ordinary();
      if (style >= 12 || (style >= 8 && random.next() >> 61 == 0)) {
        const auto bits = static_cast<uint32_t>(random.next() >> 32);
        std::memcpy(&value, &bits, sizeof value);
        if ((bits & 3) == 0) value = kFloats[(bits >> 2) % std::size(kFloats)];
      }
      std::memcpy(data_of(t) + offset * sizeof(float), &value, sizeof value);
    }
  }
  uint8_t* data_of(const Tensor& t) { return blocks_[t.block].data.get() + t.start; }

  std::vector<Block> blocks_;
  std::vector<Tensor> tensors_;
  uint32_t used_ = ~uint32_t{0};
};

}  // namespace fuzz
#endif

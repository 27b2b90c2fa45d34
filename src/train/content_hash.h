// A 64-bit hash of bytes and numbers in one pass: what tells data, files and parameters from
// others. It guards against mistakes, not against attacks. A block of 32 bytes is four words, each
// for a lane of its own that is mixed with it, multiplied and rotated; the lanes do not wait for
// each other. A step is a bijection of the word for a given state and of the state for a given
// word: contents of one length that differ in a single word never have the same hash.
#ifndef OPENBNNS_TRAIN_CONTENT_HASH_H
#define OPENBNNS_TRAIN_CONTENT_HASH_H

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace bnns::train {

class ContentHash {
 public:
  void add(std::uint64_t number) { state_ = step(state_, number); }
  // The length is part of it: "ab", "c" is not "a", "bc".
  void add(std::span<const std::byte> bytes) {
    add(bytes.size());
    std::array<std::uint64_t, 4> lanes = {state_, state_ + kOdd, state_ + 2 * kOdd,
                                          state_ + 3 * kOdd};
    std::array<std::uint64_t, 4> block = {};
    const auto take = [&] {
      for (std::size_t k = 0; k < lanes.size(); ++k) lanes[k] = step(lanes[k], block[k]);
    };
    for (; bytes.size() >= sizeof block; bytes = bytes.subspan(sizeof block)) {
      std::memcpy(block.data(), bytes.data(), sizeof block);
      take();
    }
    block = {};  // the rest, filled up with zeros
    if (!bytes.empty()) std::memcpy(block.data(), bytes.data(), bytes.size());
    take();
    for (const std::uint64_t lane : lanes) add(lane);
  }
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }

  std::uint64_t value() const { return step(step(state_, 0), 0); }

 private:
  static constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio

  static std::uint64_t step(std::uint64_t state, std::uint64_t word) {
    std::uint64_t x = state ^ word;
    x ^= x >> 32;  // a product alone would leave a change of the highest bit a single bit
    return std::rotl(x * kOdd, 29);
  }

  std::uint64_t state_ = kOdd;
};

// Adds `size` bytes in pieces that read(place, bytes) fetches.
template <typename Read>
void add_pieces(ContentHash& hash, std::uint64_t size, const Read& read) {
  constexpr std::uint64_t kPiece = std::uint64_t{1} << 18;
  std::vector<std::byte> piece;
  for (std::uint64_t place = 0; place < size; place += piece.size()) {
    piece.resize(static_cast<std::size_t>(std::min(kPiece, size - place)));
    read(place, std::span(piece));
    hash.add(std::span<const std::byte>(piece));
  }
}

}  // namespace bnns::train

#endif

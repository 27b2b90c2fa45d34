#include "ops/dropout/dropout.h"

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 8192;  // decisions or elements; a multiple of kChunk
constexpr size_t kChunk = 1024;  // decisions drawn at a time
constexpr size_t kBlocks = 256;  // Philox blocks of a chunk, four decisions each
constexpr double kDrawNanoseconds = 1, kApplyNanoseconds = 0.4;

// Moves each pair of neighbouring bits to twice its place: b3 b2 b1 b0 -> 0 0 b3 b2 0 0 b1 b0.
uint32_t spread_pairs(uint32_t x) {
  x = (x | x << 8) & 0x00FF00FF;
  x = (x | x << 4) & 0x0F0F0F0F;
  return (x | x << 2) & 0x33333333;
}

// `n` bits from bit `first` on, n from 1 to 32; those above them are undefined. No word is read
// that has none of them.
uint32_t bits_at(const uint32_t* mask, size_t first, size_t n) {
  const size_t shift = first % 32;
  const uint32_t* word = mask + first / 32;
  uint32_t bits = word[0] >> shift;
  if (shift + n > 32) bits |= word[1] << (32 - shift);
  return bits;
}

// The decisions of consecutive elements as consecutive bits.
class Bits {
 public:
  explicit Bits(const uint32_t* mask) : mask_(mask) {}

  // Elements from where the walker stands; it is moved behind them. n is at most kGrain.
  const uint32_t* take(AxesWalker<1>& walker, const AxesOf<1>& axes, size_t n) {
    const bool shared = axes.rank() > 0 && axes[0].stride[0] == 0;
    const auto first = static_cast<size_t>(walker.offsets()[0]);
    if (!shared && first % 32 == 0 && walker.run() >= n) {  // they lie in the mask as they are
      walker.advance(n);
      return mask_ + first / 32;
    }
    std::fill_n(bits_, div_up(n, 32), 0);
    for (size_t done = 0; done < n;) {
      const size_t run = std::min(n - done, walker.run());
      append(static_cast<size_t>(walker.offsets()[0]), shared, done, run);
      walker.advance(run);
      done += run;
    }
    return bits_;
  }

 private:
  void append(size_t from, bool shared, size_t to, size_t n) {
    const uint32_t all = shared && (bits_at(mask_, from, 1) & 1) != 0 ? ~uint32_t{0} : 0;
    while (n > 0) {
      const size_t at = to % 32, piece = std::min(n, 32 - at);
      const uint32_t low = ~uint32_t{0} >> (32 - piece);
      bits_[to / 32] |= ((shared ? all : bits_at(mask_, from, piece)) & low) << at;
      from += piece;
      to += piece;
      n -= piece;
    }
  }

  const uint32_t* mask_;
  uint32_t bits_[kGrain / 32];
};

}  // namespace

DropoutOp::DropoutOp(size_t threads, const DropoutProblem& problem)
    : threads_(threads),
      problem_(problem),
      threshold_(static_cast<uint32_t>(double{problem.rate} * 0x1p32)),
      scale_(static_cast<float>(1 / (1 - double{problem.rate}))) {
  for (size_t k = 0; k < problem.in.rank; ++k)
    if ((problem.shared >> k & 1) == 0) decisions_ *= problem.in.extent[k];
}

size_t DropoutOp::mask_words(size_t batch) const {
  return div_up(checked_mul(decisions_, batch, "the decisions of a batch"), 32);
}

void DropoutOp::draw(RandomUse use, uint64_t key, size_t batch, uint32_t* mask) const {
  const size_t words = mask_words(batch);
  constexpr size_t kGrainWords = kGrain / 32, kChunkWords = kChunk / 32;
  const double work = kDrawNanoseconds * 32 * static_cast<double>(words);
  parallel_for(useful_threads(threads_, work), div_up(words, kGrainWords), [&](size_t g, size_t) {
    alignas(64) uint64_t numbers[2][kBlocks];
    uint16_t bits[2][kChunkWords];
    const size_t end = std::min(words, (g + 1) * kGrainWords);
    for (size_t first = g * kGrainWords; first < end; first += kChunkWords) {
      const size_t n = std::min(kChunkWords, end - first);
      // Eight blocks make a word of the mask. The numbers come as the first two words of each
      // block and, apart from these, the last two.
      philox_(static_cast<uint64_t>(use), key, first * 8, n * 8, numbers[0], numbers[1]);
      for (size_t half = 0; half < 2; ++half) {
        kernels_->decide(reinterpret_cast<const uint32_t*>(numbers[half]), n * 16, threshold_,
                         bits[half]);
      }
      for (size_t i = 0; i < n; ++i)
        mask[first + i] = spread_pairs(bits[0][i]) | spread_pairs(bits[1][i]) << 2;
    }
  });
}

DropoutOp::DecisionAxes DropoutOp::axes_of(size_t batch) const {
  DecisionAxes axes;
  ptrdiff_t step = 1;
  for (size_t k = 0; k < problem_.in.rank; ++k) {
    const bool shared = (problem_.shared >> k & 1) != 0;
    const size_t extent = problem_.in.extent[k];
    axes.push_collapsed({.extent = extent, .reduced = false, .stride = {shared ? 0 : step}});
    if (!shared) step *= static_cast<ptrdiff_t>(extent);
  }
  axes.push_collapsed({.extent = batch, .reduced = false, .stride = {step}});
  return axes;
}

void DropoutOp::apply(const uint32_t* mask, size_t batch, const View& x, const View& y,
                      bool accumulate) const {
  const DecisionAxes axes = axes_of(batch);
  const auto operands = std::to_array<Operand>(
      {{x, Operand::kRead}, {y, accumulate ? Operand::kUpdate : Operand::kWrite}});
  const auto kernel = accumulate ? kernels_->add : kernels_->set;
  const double work = kApplyNanoseconds * static_cast<double>(x.count);
  parallel_for(useful_threads(threads_, work), div_up(x.count, kGrain), [&](size_t g, size_t) {
    const size_t first = g * kGrain;
    AxesWalker<1> walker(axes, first);
    Bits bits(mask);
    for_blocks(*convert_, operands, first, std::min(kGrain, x.count - first),
               [&](const std::array<float*, 2>& rows, size_t n) {
                 kernel(bits.take(walker, axes, n), scale_, rows[0], rows[1], n);
               });
  });
}

}  // namespace bnns::impl

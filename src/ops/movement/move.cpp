#include "ops/movement/move.h"

#include <algorithm>
#include <array>

#include "core/checked.h"
#include "core/parallel.h"
#include "core/types.h"
#include "ops/convert/blocks.h"
#include "ops/movement/rows.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 8192;  // values
constexpr size_t kSide = 64;     // of a block that is turned
constexpr size_t kLineBytes = 64, kFarBytes = 1024, kLargeBytes = size_t{4} << 20;
constexpr double kRowNanoseconds = 0.25, kTurnNanoseconds = 0.5;

bool is_line(const MoveAxis& low, const MoveAxis& high) {
  return high.from == low.from * low.extent && high.to == low.to * low.extent;
}

// As few axes as possible, the target's fastest one first. There is at least one.
Move simplified(const Move& given) {
  Move all, joined;
  for (size_t k = 0; k < given.rank; ++k)
    if (given.axis[k].extent > 1) all.push(given.axis[k]);
  std::sort(all.axis, all.axis + all.rank,
            [](const MoveAxis& a, const MoveAxis& b) { return a.to < b.to; });
  for (size_t k = 0; k < all.rank; ++k) {
    if (joined.rank > 0 && is_line(joined.axis[joined.rank - 1], all.axis[k])) {
      joined.axis[joined.rank - 1].extent *= all.axis[k].extent;
    } else {
      joined.push(all.axis[k]);
    }
  }
  if (joined.rank == 0) joined.push({.extent = 1, .from = 1, .to = 1});
  return joined;
}

// A plane of two axes, cut into blocks, and the other axes around it.
struct Plan {
  MoveAxis inner, second = {.extent = 1, .from = 0, .to = 0};
  bool turned = false;
  size_t width, height;  // of a block: along the inner and along the second axis
  size_t across, along;  // blocks
  Move outer;

  explicit Plan(const Move& given) {
    Move move = simplified(given);
    inner = move.axis[0];
    size_t nearest = 0;  // the axis in which neighbours of the source differ
    for (size_t k = 1; k < move.rank; ++k) {
      const size_t from = move.axis[k].from;
      if (inner.from != 0 && from != 0 && from < move.axis[nearest].from) nearest = k;
    }
    turned = nearest != 0;
    const size_t partner = turned ? nearest : 1;
    for (size_t k = 1; k < move.rank; ++k) {
      if (k == partner) {
        second = move.axis[k];
      } else {
        outer.push(move.axis[k]);
      }
    }
    width = std::min(inner.extent, turned ? kSide : kGrain);
    height =
        std::min(second.extent, std::max<size_t>(1, (turned ? kSide * kSide : kGrain) / width));
    across = div_up(inner.extent, width);
    along = div_up(second.extent, height);
  }
  size_t planes() const { return outer.count(); }
};

// Counts blocks: along the second axis first, then along the inner one, then the outer axes.
class Position {
 public:
  Position(const Plan& plan, size_t block) : plan_(plan) {
    along_ = block % plan.along;
    block /= plan.along;
    across_ = block % plan.across;
    block /= plan.across;
    for (size_t k = 0; k < plan.outer.rank; ++k) {
      index_[k] = block % plan.outer.axis[k].extent;
      block /= plan.outer.axis[k].extent;
      from_ += index_[k] * plan.outer.axis[k].from;
      to_ += index_[k] * plan.outer.axis[k].to;
    }
  }

  size_t from() const {
    return from_ + across_ * plan_.width * plan_.inner.from +
           along_ * plan_.height * plan_.second.from;
  }
  size_t to() const {
    return to_ + across_ * plan_.width * plan_.inner.to + along_ * plan_.height * plan_.second.to;
  }
  size_t width() const { return std::min(plan_.width, plan_.inner.extent - across_ * plan_.width); }
  size_t height() const {
    return std::min(plan_.height, plan_.second.extent - along_ * plan_.height);
  }

  void advance() {
    if (++along_ < plan_.along) return;
    along_ = 0;
    if (++across_ < plan_.across) return;
    across_ = 0;
    for (size_t k = 0; k < plan_.outer.rank; ++k) {
      const MoveAxis& a = plan_.outer.axis[k];
      from_ += a.from;
      to_ += a.to;
      if (++index_[k] < a.extent) return;
      from_ -= a.extent * a.from;
      to_ -= a.extent * a.to;
      index_[k] = 0;
    }
  }

 private:
  const Plan& plan_;
  size_t along_, across_;
  size_t index_[Move::kMaxAxes] = {};
  size_t from_ = 0, to_ = 0;
};

// kCache: 3 is the first level, 2 the second.
template <int kCache, class T>
void fetch(const T* rows, size_t step, size_t count, size_t length) {
  for (size_t i = 0; i < count; ++i)
    for (size_t k = 0; k < length; k += kLineBytes / sizeof(T))
      __builtin_prefetch(rows + i * step + k, 1, kCache);
}

// A block touches a little of each of many rows, and no hardware prefetcher follows that. With the
// lines of the target under way before the first store, large tensors take up to half the time.
// Tensors that do not fit the second-level cache also have the rows of the next block fetched,
// which saves up to another third where memory is busy, and costs a tenth where it is not used.
template <class T>
void turn_block(const Plan& plan, const MoveKernels& kernels, const T* from, T* to,
                const Position& at, const Position* next) {
  constexpr size_t kIndex = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
  const size_t from_row = plan.inner.from, to_row = plan.second.to;
  if (at.width() * sizeof(T) >= kLineBytes) {
    if (next != nullptr && from_row * sizeof(T) >= kFarBytes)
      fetch<2>(from + next->from(), from_row, next->width(), next->height());
    if (next != nullptr && to_row * sizeof(T) >= kFarBytes)
      fetch<2>(to + next->to(), to_row, next->height(), next->width());
    fetch<3>(to + at.to(), to_row, at.height(), at.width());
  }
  kernels.turn[kIndex](from + at.from(), from_row, to + at.to(), to_row, at.width(), at.height());
}

template <class T>
void move_block(const Plan& plan, const T* from, T* to, size_t width, size_t height) {
  const MoveAxis &inner = plan.inner, &second = plan.second;
  for (size_t k = 0; k < height; ++k, from += second.from, to += second.to) {
    if (inner.from == 0) {
      fill_row(*from, to, inner.to, width);
    } else {
      copy_row(from, inner.from, to, inner.to, width);
    }
  }
}

// to += from. What is turned goes through a buffer.
void add_block(const Plan& plan, const MoveKernels& kernels, const float* from, float* to,
               size_t width, size_t height) {
  float buffer[kSide * kSide];
  size_t step = plan.inner.from, row = plan.second.from;
  if (plan.turned && row == 1) {
    kernels.turn[2](from, step, buffer, width, width, height);
    from = buffer;
    step = 1;
    row = width;
  }
  for (size_t k = 0; k < height; ++k) {
    const float* x = from + k * row;
    float* y = to + k * plan.second.to;
    if (step == 1 && plan.inner.to == 1) {
      for (size_t i = 0; i < width; ++i) y[i] += x[i];
    } else {
      for (size_t i = 0; i < width; ++i) y[i * plan.inner.to] += x[i * step];
    }
  }
}

// Calls body(position, whether it is the last of all) for every block.
template <class Body>
void for_all_blocks(const Plan& plan, size_t threads, const Body& body) {
  const size_t blocks = plan.planes() * plan.across * plan.along;
  const size_t block_values = plan.width * plan.height;
  const size_t grain = std::max<size_t>(1, kGrain / block_values);
  const double each = plan.turned ? kTurnNanoseconds : kRowNanoseconds;
  const double work = each * static_cast<double>(blocks * block_values);
  parallel_for(useful_threads(threads, work), div_up(blocks, grain), [&](size_t g, size_t) {
    const size_t last = std::min(blocks, (g + 1) * grain);
    Position at(plan, g * grain);
    for (size_t block = g * grain; block < last; ++block, at.advance())
      body(at, block + 1 == blocks);
  });
}

}  // namespace

bool pair_axes(const View& from, const View& to, Move& move) {
  size_t f = 0, t = 0, from_left = from.extent[0], to_left = to.extent[0];
  size_t from_stride = from.stride[0], to_stride = to.stride[0];
  while (move.rank < Move::kMaxAxes) {
    const size_t extent = std::min(from_left, to_left);
    if (from_left % extent != 0 || to_left % extent != 0) return false;
    move.push({.extent = extent, .from = from_stride, .to = to_stride});
    from_left /= extent;
    to_left /= extent;
    from_stride *= extent;
    to_stride *= extent;
    if (from_left == 1) {
      if (++f == from.rank) return to_left == 1 && t + 1 == to.rank;
      from_left = from.extent[f];
      from_stride = from.stride[f];
    }
    if (to_left == 1) {
      if (++t == to.rank) return false;
      to_left = to.extent[t];
      to_stride = to.stride[t];
    }
  }
  return false;
}

void run_move(const MoveKernels& kernels, size_t threads, size_t bytes, const Move& move,
              const void* from, void* to) {
  const Plan plan(move);
  const bool is_large = move.count() * bytes >= kLargeBytes;
  with_value_type(bytes, [&](auto type) {
    using T = decltype(type);
    const T* source = static_cast<const T*>(from);
    T* target = static_cast<T*>(to);
    for_all_blocks(plan, threads, [&](const Position& at, bool is_last) {
      if (!plan.turned || plan.inner.to != 1 || plan.second.from != 1) {
        return move_block(plan, source + at.from(), target + at.to(), at.width(), at.height());
      }
      if (is_last || !is_large) return turn_block(plan, kernels, source, target, at, nullptr);
      Position next = at;
      next.advance();
      turn_block(plan, kernels, source, target, at, &next);
    });
  });
}

void run_move_converted(const ConvertKernels& kernels, size_t threads, const Move& given,
                        const AxesTensor& from, const AxesTensor& to, bool accumulate) {
  const Move move = simplified(given);
  View source, target;
  source.rank = target.rank = move.rank;
  source.count = target.count = move.count();
  for (size_t k = 0; k < move.rank; ++k) {
    source.extent[k] = target.extent[k] = move.axis[k].extent;
    source.stride[k] = move.axis[k].from;
    target.stride[k] = move.axis[k].to;
  }
  source.data = from.data;
  source.type = from.type;
  target.data = to.data;
  target.type = to.type;
  const std::array<Operand, 2> both = {
      {{source, Operand::kRead}, {target, accumulate ? Operand::kUpdate : Operand::kWrite}}};
  const size_t count = source.count;
  const double work = 2 * kTurnNanoseconds * static_cast<double>(count);
  parallel_for(useful_threads(threads, work), div_up(count, kGrain), [&](size_t g, size_t) {
    const auto add = [&](const std::array<float*, 2>& rows, size_t n) {
      const float* x = rows[0];
      float* y = rows[1];
      if (!accumulate) return copy_row(x, 1, y, 1, n);
      for (size_t i = 0; i < n; ++i) y[i] += x[i];
    };
    for_blocks(kernels, both, g * kGrain, std::min(kGrain, count - g * kGrain), add);
  });
}

void run_gradient_move(const MoveKernels& kernels, const ConvertKernels& convert, size_t threads,
                       const Move& move, const AxesTensor& from, const AxesTensor& to,
                       bool accumulate) {
  if (from.type != to.type || (accumulate && to.type != BNNSDataTypeFloat32))
    return run_move_converted(convert, threads, move, from, to, accumulate);
  if (!accumulate) return run_move(kernels, threads, type_bytes(to.type), move, from.data, to.data);
  const Plan plan(move);
  for_all_blocks(plan, threads, [&](const Position& at, bool) {
    add_block(plan, kernels, static_cast<const float*>(from.data) + at.from(),
              static_cast<float*>(to.data) + at.to(), at.width(), at.height());
  });
}

}  // namespace bnns::impl

#include "ops/movement/tile.h"

#include <algorithm>

#include "core/types.h"
#include "ops/arithmetic/arithmetic.h"

namespace bnns::impl {
namespace {

// An axis of dy: of the elements, or, with a stride of 0 in dx, of their copies.
using GradientAxis = MoveAxis;

bool is_sum(const GradientAxis& a) {
  return a.to == 0;
}

// As few axes as possible, in memory order of dy.
Move gradient_axes(const TileProblem& p) {
  Move all, joined;
  for (size_t k = 0; k < p.rank; ++k) {
    const TileAxis& a = p.axis[k];
    if (a.extent > 1) all.push({.extent = a.extent, .from = a.out, .to = a.in});
    if (a.times > 1) all.push({.extent = a.times, .from = a.out * a.extent, .to = 0});
  }
  std::sort(all.axis, all.axis + all.rank,
            [](const GradientAxis& a, const GradientAxis& b) { return a.from < b.from; });
  for (size_t k = 0; k < all.rank; ++k) {
    const GradientAxis& a = all.axis[k];
    GradientAxis* low = joined.rank > 0 ? &joined.axis[joined.rank - 1] : nullptr;
    if (low != nullptr && is_sum(a) == is_sum(*low) && a.from == low->from * low->extent &&
        a.to == low->to * low->extent) {
      low->extent *= a.extent;
    } else {
      joined.push(a);
    }
  }
  return joined;
}

void push(View& view, size_t extent, size_t stride) {
  view.extent[view.rank] = extent;
  view.stride[view.rank++] = stride;
  view.count *= extent;
  view.span += (extent - 1) * stride;
}

View empty_view(BNNSDataType type) {
  View view;
  view.type = type;
  view.count = view.span = view.step = 1;
  return view;
}

}  // namespace

Move tile_move(const TileProblem& p) {
  Move move;
  for (size_t k = 0; k < p.rank; ++k) {
    const TileAxis& a = p.axis[k];
    move.push({.extent = a.extent, .from = a.in, .to = a.out});
    move.push({.extent = a.times, .from = 0, .to = a.out * a.extent});
  }
  return move;
}

// The gradient is that of a broadcast sum. It takes up to kMaxRank axes: those of the copies, of
// which there are no more, and the fastest of the others. Along the rest one sum follows another.
void run_tile_backward(const Memory& memory, size_t threads, const TileProblem& problem,
                       const AxesTensor& dx, const AxesTensor& dy, bool accumulate) {
  const Move axes = gradient_axes(problem);
  ArithmeticProblem sum;
  sum.function = find_arithmetic(BNNSArithmeticAdd);
  sum.activation = FusedActivation(*find_activation(BNNSActivationFunctionIdentity), {});
  sum.out = empty_view(dy.type);
  sum.in[0] = empty_view(dx.type);
  size_t sums = 0;
  for (size_t k = 0; k < axes.rank; ++k) sums += is_sum(axes.axis[k]);
  Move outer;
  size_t places = kMaxRank - sums;  // for axes of elements
  for (size_t k = 0; k < axes.rank; ++k) {
    const GradientAxis& a = axes.axis[k];
    if (!is_sum(a) && places == 0) {
      outer.push(a);
      continue;
    }
    places -= !is_sum(a);
    push(sum.out, a.extent, a.from);
    push(sum.in[0], is_sum(a) ? 1 : a.extent, a.to);
  }
  sum.in[1] = empty_view(dx.type);
  for (size_t k = 0; k < sum.out.rank; ++k) push(sum.in[1], 1, 0);

  ArithmeticOp op(memory, threads, sum);
  const size_t turns = outer.count();
  for (size_t turn = 0; turn < turns; ++turn) {
    size_t index = turn, in = 0, out = 0;
    for (size_t k = 0; k < outer.rank; ++k) {
      in += index % outer.axis[k].extent * outer.axis[k].to;
      out += index % outer.axis[k].extent * outer.axis[k].from;
      index /= outer.axis[k].extent;
    }
    ArithmeticOp::Gradients g;
    g.dy = make_batch(sum.out, static_cast<char*>(dy.data) + out * type_bytes(dy.type), 1, 0);
    Gradient& d = g.in_delta[0];
    d.sample = &sum.in[0];
    d.data = static_cast<char*>(dx.data) + in * type_bytes(dx.type);
    d.size = d.step = 1;
    d.accumulate = accumulate;
    op.backward(g);
  }
}

}  // namespace bnns::impl

// Vectors of adjacent columns of a row with zero padding on both sides. Nothing beyond the row is
// read: a vector that is partly outside uses a masked load, or a load from inside the row whose
// lanes are then moved.

#if defined(OPENBNNS_OPS_CONVOLUTION_EDGES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef OPENBNNS_OPS_CONVOLUTION_EDGES_INL_H_
#undef OPENBNNS_OPS_CONVOLUTION_EDGES_INL_H_
#else
#define OPENBNNS_OPS_CONVOLUTION_EDGES_INL_H_
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"
#include "ops/convolution/kernels.h"
#include "simd/masks.h"

HWY_BEFORE_NAMESPACE();
namespace bnns::impl::HWY_NAMESPACE {
namespace {

// Loads columns [column, column + lanes) of rows that have `columns` values.
struct Edge {
  using D = hwy::HWY_NAMESPACE::ScalableTag<float>;
  using V = hwy::HWY_NAMESPACE::Vec<D>;
  using Mask = hwy::HWY_NAMESPACE::Mask<D>;

  ptrdiff_t at;  // first column that is loaded
  Mask has_column;
#if !OPENBNNS_MASKS_ARE_SAFE
  using DI = hwy::HWY_NAMESPACE::RebindToSigned<D>;
  decltype(hwy::HWY_NAMESPACE::IndicesFromVec(D(), hwy::HWY_NAMESPACE::Vec<DI>())) lane;
#endif

  // Rows must have at least this many columns.
  static size_t narrowest() {
    return OPENBNNS_MASKS_ARE_SAFE ? 1 : hwy::HWY_NAMESPACE::Lanes(D());
  }
  static bool is_needed(ptrdiff_t column, size_t columns) {
    return column < 0 || static_cast<size_t>(column) + hwy::HWY_NAMESPACE::Lanes(D()) > columns;
  }

  static HWY_INLINE Edge of(ptrdiff_t column, size_t columns) {
    namespace hn = hwy::HWY_NAMESPACE;
    const D d;
    const auto n = static_cast<ptrdiff_t>(hn::Lanes(d)), end = static_cast<ptrdiff_t>(columns);
    const auto first = [&](ptrdiff_t lanes) HWY_ATTR {
      return hn::FirstN(d, static_cast<size_t>(std::clamp<ptrdiff_t>(lanes, 0, n)));
    };
    const Mask has_column = hn::And(first(end - column), hn::Not(first(-column)));
#if OPENBNNS_MASKS_ARE_SAFE
    return {.at = column, .has_column = has_column};
#else
    const ptrdiff_t inside = std::clamp<ptrdiff_t>(column, 0, end - n);
    // Lane i of the result is lane i + distance of the vector that is loaded inside the row.
    const DI di;
    const auto distance = static_cast<int32_t>(std::clamp(column - inside, -n, n));
    const auto lane = hn::And(hn::Iota(di, distance), hn::Set(di, static_cast<int32_t>(n - 1)));
    return {.at = inside, .has_column = has_column, .lane = hn::IndicesFromVec(d, lane)};
#endif
  }
  HWY_INLINE V load(const float* row) const {
    namespace hn = hwy::HWY_NAMESPACE;
#if OPENBNNS_MASKS_ARE_SAFE
    return hn::MaskedLoad(has_column, D(), row + at);
#else
    return hn::IfThenElseZero(has_column, hn::TableLookupLanes(hn::LoadU(D(), row + at), lane));
#endif
  }
};

// The three vectors of a source row that a vector of outputs needs, one struct each for none, the
// first, the third, or any of them reaching beyond the row.
struct DepthwiseInside {
  ptrdiff_t at[kDepthwiseTaps];

  static HWY_INLINE Edge::V load(const float* row) {
    return hwy::HWY_NAMESPACE::LoadU(Edge::D(), row);
  }
  HWY_INLINE Edge::V first(const float* row) const { return load(row + at[0]); }
  HWY_INLINE Edge::V second(const float* row) const { return load(row + at[1]); }
  HWY_INLINE Edge::V third(const float* row) const { return load(row + at[2]); }
};
struct DepthwiseLeftEdge : DepthwiseInside {
  Edge edge;
  HWY_INLINE Edge::V first(const float* row) const { return edge.load(row); }
};
struct DepthwiseRightEdge : DepthwiseInside {
  Edge edge;
  HWY_INLINE Edge::V third(const float* row) const { return edge.load(row); }
};
struct DepthwiseEdges {
  Edge edge[kDepthwiseTaps];
  HWY_INLINE Edge::V first(const float* row) const { return edge[0].load(row); }
  HWY_INLINE Edge::V second(const float* row) const { return edge[1].load(row); }
  HWY_INLINE Edge::V third(const float* row) const { return edge[2].load(row); }
};

// Source columns of the vector of outputs that begins at `column`.
class DepthwiseColumns {
 public:
  DepthwiseColumns(const ConvolutionDepthwise& x, size_t column) : columns_(x.columns) {
    for (size_t s = 0; s < kDepthwiseTaps; ++s)
      inside_.at[s] = x.column[s] + static_cast<ptrdiff_t>(column);
  }

  DepthwiseEdges edges() const { return {{edge(0), edge(1), edge(2)}}; }

  template <class Body>
  HWY_INLINE void visit(const Body& body) const {
    const bool left = leaves(0), right = leaves(2);
    if (leaves(1) || (left && right)) return body(edges());
    if (left) return body(DepthwiseLeftEdge{inside_, edge(0)});
    if (right) return body(DepthwiseRightEdge{inside_, edge(2)});
    body(inside_);
  }

 private:
  bool leaves(size_t s) const { return Edge::is_needed(inside_.at[s], columns_); }
  Edge edge(size_t s) const { return Edge::of(inside_.at[s], columns_); }

  size_t columns_;
  DepthwiseInside inside_;
};

}  // namespace
}  // namespace bnns::impl::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

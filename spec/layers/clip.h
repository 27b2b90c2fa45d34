// Clipping and norms. A slice is all elements that differ in the flagged logical coordinates only;
// without flags the whole tensor is one.
//   clip_value   y = min(max(x, low), high)
//   norm         n = sqrt(sum over the slice of x^2)       dx = dn x / n, 0 where n = 0
//   clip_norm    y = x min(1, max_norm / n)
//   clip_global  the same with one norm over several tensors
#ifndef OPENBNNS_SPEC_CLIP_H
#define OPENBNNS_SPEC_CLIP_H

#include <openbnns/openbnns.h>

#include "runner/case.h"
#include "layers/copy.h"
#include "runner/shapes.h"

namespace spec::reference {

// f(storage position, logical coordinates) for every element.
template <class T, class F>
void for_elements(const Array<T>& a, F f) {
  const Index size = logical_size(a.shape());
  Index c(size.size(), 0);
  for (size_t n = 0; n < a.count(); ++n) {
    f(a.position(c), c);
    for (size_t t = 0; t < c.size() && ++c[t] == size[t]; ++t) c[t] = 0;
  }
}

inline Index remaining(const Index& c, uint32_t axis_flags) {
  Index kept;
  for (size_t t = 0; t < c.size(); ++t)
    if (axis_flags != 0 && (axis_flags >> t & 1) == 0) kept.push_back(c[t]);
  return kept.empty() ? Index{0} : kept;
}

template <class T>
T shrink(T norm, float max_norm) {
  return norm <= T(max_norm) ? T(1) : T(max_norm) / norm;
}

template <class T>
void clip_value(Values<T>& v, float low, float high) {
  for (size_t k = 0; k < v.value[0].count(); ++k) {
    const T x = v.value[0](0, k);
    v.value[1](0, k) = x < T(low) ? T(low) : x > T(high) ? T(high) : x;
  }
}

template <class T>
void clip_norm(Values<T>& v, uint32_t axis_flags, float max_norm) {
  const Array<T>& x = v.value[0];
  Array<T>& y = v.value[1];
  std::map<Index, Sum<T>> sums;
  for_elements(
      x, [&](size_t k, const Index& c) { sums[remaining(c, axis_flags)].add(x(0, k), x(0, k)); });
  for_elements(x, [&](size_t k, const Index& c) {
    using std::sqrt;
    const T norm = sqrt(sums[remaining(c, axis_flags)].get());
    y(0, y.position(c)) = x(0, k) * shrink(norm, max_norm);
  });
}

// Operands in0, out0, in1, out1, ...
template <class T>
void clip_global(Values<T>& v, float max_norm, float use_norm) {
  using std::sqrt;
  Sum<T> sum;
  for (size_t i = 0; i < v.value.size(); i += 2)
    for (const T& x : v.value[i].data()) sum.add(x, x);
  const T factor = shrink(use_norm != 0 ? T(use_norm) : sqrt(sum.get()), max_norm);
  for (size_t i = 0; i < v.value.size(); i += 2)
    for (size_t k = 0; k < v.value[i].count(); ++k)
      v.value[i + 1](0, k) = v.value[i](0, k) * factor;
}

template <class T>
void norm(Values<T>& v, uint32_t axis_flags) {
  using std::sqrt;
  const Array<T>& x = v.value[0];
  Array<T>& y = v.value[1];
  std::vector<Sum<T>> sums(y.count());
  for_elements(x, [&](size_t k, const Index& c) {
    sums[y.position(remaining(c, axis_flags))].add(x(0, k), x(0, k));
  });
  for (size_t k = 0; k < y.count(); ++k) y(0, k) = sqrt(sums[k].get());
}

template <class T>
void norm_backward(Values<T>& v, uint32_t axis_flags) {
  const Array<T>&x = v.value[0], &y = v.value[1], &dy = v.delta[1];
  for_elements(x, [&](size_t k, const Index& c) {
    const size_t slice = y.position(remaining(c, axis_flags));
    const T n = y(0, slice);
    v.delta[0](0, k) = n == T(0) ? T(0) : dy(0, slice) * x(0, k) / n;
  });
}

}  // namespace spec::reference

namespace spec {

// The functions take no filter parameters: threads are the default ones.
class DefaultThreads {
 public:
  explicit DefaultThreads(const Call& call) {
    OpenBNNSSetDefaultThreads(call.parameters.n_threads);
  }
  ~DefaultThreads() { OpenBNNSSetDefaultThreads(0); }
};

inline std::string flags_tag(uint32_t axis_flags) {
  return axis_flags ? "_axes" + std::to_string(axis_flags) : "";
}

inline Case clip_base(const std::string& function, const Shape& from, const Shape& to) {
  Case c{.layer = "clip", .function = function, .shape = tag(from)};
  if (from.layout != to.layout) c.shape += "_to_" + tag(to);
  c.operands = {{.name = "src", .role = Role::kIn, .shape = from, .fill = {.kinks = {0}}},
                {.name = "dest", .role = Role::kOut, .shape = to}};
  for (BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16})
    c.types.push_back(same_type(c, type, Need::kNone));
  c.in_place = from.layout == to.layout;
  c.wide = true;
  return c;
}

inline Case clip_value_case(const Shape& from, const Shape& to) {
  Case c = clip_base("clip_value", from, to);
  constexpr float kLow = -0.75f, kHigh = 1.25f;
  c.forward = [](auto& v) { reference::clip_value(v, kLow, kHigh); };
  if (from.layout != to.layout)
    c.forward = [](auto& v) {
      auto low = v;
      reference::copy(v);
      low.value[0] = v.value[1];
      reference::clip_value(low, kLow, kHigh);
      v.value[1] = low.value[1];
    };
  c.apply = [](Call& call) {
    const DefaultThreads threads(call);
    return BNNSClipByValue(&call.value[1].desc, &call.value[0].desc, kLow, kHigh);
  };
  return c;
}

inline size_t slice_length(const Shape& shape, uint32_t axis_flags) {
  size_t length = 1;
  const Index size = logical_size(shape);
  for (size_t t = 0; t < size.size(); ++t)
    if (axis_flags == 0 || (axis_flags >> t & 1) != 0) length *= size[t];
  return length;
}

// `share` of the root mean square that norms of the drawn numbers have: below 1 nearly all slices
// are clipped, above nearly none.
inline Case clip_norm_case(const Shape& from, const Shape& to, uint32_t axis_flags,
                           double share = 1) {
  Case c = clip_base("clip_norm", from, to);
  c.shape += flags_tag(axis_flags) + (share == 1 ? "" : share < 1 ? "_low" : "_high");
  const double length = static_cast<double>(slice_length(from, axis_flags));
  const auto max_norm = static_cast<float>(share * std::sqrt(length * 4 / 3));
  c.forward = [=](auto& v) { reference::clip_norm(v, axis_flags, max_norm); };
  c.apply = [=](Call& call) {
    const DefaultThreads threads(call);
    return BNNSClipByNorm(&call.value[1].desc, &call.value[0].desc, max_norm, axis_flags);
  };
  return c;
}

inline Case clip_global_case(const std::vector<Shape>& shapes, float max_norm, float use_norm) {
  Case c = clip_base("clip_global", shapes[0], shapes[0]);
  c.operands.clear();
  c.shape = "max" + std::to_string(static_cast<int>(max_norm)) + "_use" +
            std::to_string(static_cast<int>(use_norm));
  for (const Shape& shape : shapes) {
    const std::string number = std::to_string(c.operands.size() / 2);
    c.shape += "_" + tag(shape);
    c.operands.push_back({.name = "src" + number, .role = Role::kIn, .shape = shape});
    c.operands.push_back({.name = "dest" + number, .role = Role::kOut, .shape = shape});
  }
  for (TypeSet& t : c.types) t.types.resize(c.operands.size(), t.types[0]);
  c.forward = [=](auto& v) { reference::clip_global(v, max_norm, use_norm); };
  c.apply = [=](Call& call) {
    const DefaultThreads threads(call);
    std::vector<BNNSNDArrayDescriptor*> dest;
    std::vector<const BNNSNDArrayDescriptor*> src;
    for (size_t i = 0; i < call.value.size(); i += 2) {
      src.push_back(&call.value[i].desc);
      dest.push_back(&call.value[i + 1].desc);
    }
    return BNNSClipByGlobalNorm(dest.data(), src.data(), dest.size(), max_norm, use_norm);
  };
  c.in_place = c.in_place && shapes.size() == 1;
  c.wide = false;
  return c;
}

// What the shape of the norms is by default: a vector for one axis or none, else the generic layout
// of the source's order.
inline Shape norms_shape(const Shape& shape, uint32_t axis_flags) {
  Index kept;
  const Index size = logical_size(shape);
  for (size_t t = 0; t < size.size(); ++t)
    if (axis_flags != 0 && (axis_flags >> t & 1) == 0) kept.push_back(size[t]);
  if (kept.empty()) return vector_of(1);
  if (kept.size() == 1) return vector_of(kept[0]);
  const bool first = shape.layout == first_major(shape.rank());
  return {first ? first_major(kept.size()) : last_major(kept.size()), kept};
}

// in and out are laid out as in_delta and out_delta: moved into memory of that form.
class LikeDelta {
 public:
  LikeDelta(Argument& value, const Argument& delta) : bytes_(BNNSNDArrayGetDataSize(&delta.desc)) {
    BNNSNDArrayDescriptor to = delta.desc;
    to.data = bytes_.data();
    if (BNNSCopy(&to, &value.desc, nullptr) != 0) bytes_.clear();
  }
  const void* data() const { return bytes_.empty() ? nullptr : bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
};

inline Case norm_case(const Shape& from, const Shape& to, uint32_t axis_flags) {
  Case c = clip_base("norm", from, to);
  c.shape = tag(from) + flags_tag(axis_flags) + "_to_" + tag(to);
  for (TypeSet& t : c.types) t.backward = Need::kRequired;
  c.in_place = false;
  c.forward = [=](auto& v) { reference::norm(v, axis_flags); };
  c.backward = {{.name = "backward",
                 .reference = [=](auto& v) { reference::norm_backward(v, axis_flags); },
                 .pass_out = true,
                 .deltas = {0},
                 .needs_all = true}};
  c.apply = [=](Call& call) {
    const DefaultThreads threads(call);
    return BNNSComputeNorm(&call.value[1].desc, &call.value[0].desc, BNNSL2Norm, axis_flags);
  };
  c.apply_backward = [=](Call& call) {
    Argument& in_delta = call.delta[0];
    const DefaultThreads threads(call);
    const LikeDelta in(call.value[0], in_delta), out(call.value[1], call.delta[1]);
    return BNNSComputeNormBackward(in.data(), &in_delta.desc, out.data(), &call.delta[1].desc,
                                   BNNSL2Norm, axis_flags);
  };
  return c;
}

inline Case norm_case(const Shape& from, uint32_t axis_flags) {
  return norm_case(from, norms_shape(from, axis_flags), axis_flags);
}

inline void add_clip_layouts(Suite& suite) {
  const Index logical = {5, 3, 4, 6, 2, 2, 1, 3};
  for (size_t rank = 1; rank <= 8; ++rank) {
    const Index size(logical.begin(), logical.begin() + static_cast<ptrdiff_t>(rank));
    for (const Shape& from : shapes_of_rank(rank, size)) {
      if (is_pack32(from.layout)) continue;
      suite.cases.push_back(clip_value_case(from, from));
      for (uint32_t flags = 0; flags < (1u << rank); ++flags) {
        if (rank > 4 && flags % 37 != 5 && flags != 0) continue;
        for (Case c : {clip_norm_case(from, from, flags), norm_case(from, flags)}) {
          c.thorough = rank <= 3;
          suite.cases.push_back(c);
        }
      }
      for (const Shape& to : shapes_of_rank(rank, size)) {
        if (from.layout == to.layout || is_pack32(to.layout) || rank > 4) continue;
        if (is_rotated(from.layout) != is_rotated(to.layout)) continue;
        for (Case c : {clip_value_case(from, to), clip_norm_case(from, to, 0),
                       clip_norm_case(from, to, 1u << (rank - 1)), clip_norm_case(from, to, 1)}) {
          c.thorough = false;
          suite.cases.push_back(c);
        }
      }
    }
  }
  // Norms in every layout of the right logical sizes.
  for (const Shape& from : {image(5, 4, 3), Shape{BNNSDataLayout3DFirstMajor, {5, 4, 3}},
                            Shape{BNNSDataLayoutConvolutionWeightsOIHrWr, {5, 4, 3, 2}},
                            Shape{BNNSDataLayout5DFirstMajor, {3, 2, 4, 2, 3}}}) {
    const uint32_t flags = from.rank() == 5 ? 2 : from.rank() == 4 ? 8 : 1;
    const Shape plain = norms_shape(from, flags);
    for (const Shape& to : shapes_of_rank(plain.rank(), plain.size))
      if (!is_pack32(to.layout)) suite.cases.push_back(norm_case(from, to, flags));
  }
}

// Around the vector widths, and sizes that are cut into grains: long slices, many slices, blocks of
// neighbouring slices.
inline void add_clip_sizes(Suite& suite) {
  const auto add = [&](Case c) {
    c.thorough = false;
    suite.cases.push_back(c);
  };
  for (size_t n = 1; n <= 70; ++n) {
    const Shape rows{BNNSDataLayoutRowMajorMatrix, {n, 1 + n * 7 % 11}};
    for (const Shape& shape : {vector_of(n), rows}) {
      add(clip_value_case(shape, shape));
      for (uint32_t flags = 0; flags < (1u << shape.rank()); ++flags) {
        add(clip_norm_case(shape, shape, flags));
        add(norm_case(shape, flags));
      }
    }
  }
  const Shape image_of_many = image(61, 23, 17), wide{BNNSDataLayoutRowMajorMatrix, {1500, 40}};
  for (const Shape& shape : {vector_of(70001), image_of_many, wide}) {
    add(clip_value_case(shape, shape));
    for (uint32_t flags = 0; flags < (1u << shape.rank()); ++flags) {
      add(clip_norm_case(shape, shape, flags));
      add(norm_case(shape, flags));
    }
  }
  const Shape two_long{BNNSDataLayoutRowMajorMatrix, {50000, 2}};
  for (double share : {0.5, 2.0}) {
    add(clip_norm_case(vector_of(70001), vector_of(70001), 0, share));
    add(clip_norm_case(two_long, two_long, 2, share));
  }
  add(norm_case(two_long, 2));
}

inline void add_clip_global(Suite& suite) {
  const Shape matrix{BNNSDataLayoutRowMajorMatrix, {7, 5}};
  const std::vector<Shape> some = {vector_of(9), matrix, image(3, 4, 5), vector_of(1)};
  for (float max_norm : {0.0f, 3.0f, 1000.0f})
    for (float use_norm : {0.0f, 26.0f}) {
      suite.cases.push_back(clip_global_case(some, max_norm, use_norm));
      suite.cases.push_back(clip_global_case({image(7, 5, 3)}, max_norm, use_norm));
    }
  Case large = clip_global_case({vector_of(40000), vector_of(33), vector_of(70001)}, 30, 0);
  large.thorough = false;
  suite.cases.push_back(large);
}

inline void add_clip(Suite& suite) {
  add_clip_layouts(suite);
  add_clip_sizes(suite);
  add_clip_global(suite);
  for (const Shape& shape :
       {vector_of(5), image(3, 2, 4), Shape{BNNSDataLayout3DFirstMajor, {3, 2, 4}},
        Shape{BNNSDataLayoutRowMajorMatrix, {3, 4}}}) {
    for (uint32_t flags = 0; flags < (1u << shape.rank()); ++flags) {
      Case c = norm_case(shape, flags);
      c.shape += "_gradient";
      c.gradient = true;
      c.thorough = false;
      suite.cases.push_back(c);
    }
  }
  for (size_t n : {size_t{1000}, size_t{1} << 20}) {
    for (Case c :
         {clip_value_case(vector_of(n), vector_of(n)),
          clip_norm_case(vector_of(n), vector_of(n), 0, 0.5), norm_case(vector_of(n), 0)}) {
      c.speed = true;
      suite.cases.push_back(c);
    }
  }
}

}  // namespace spec
#endif

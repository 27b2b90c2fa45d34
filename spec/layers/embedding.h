// Embedding: items of a dictionary chosen by ids. Coordinates are entries of size[]; the last one
// of the dictionary counts items, the first ones of the output are those of an item, the others
// those of the ids.
//   y(i, j)  = f(D(i, x(j)))    f: 0 for the padding item, else times max_norm / |D(:, k)|_p where
//                               that norm is larger than max_norm
//   dD(i, k) = sum over the batch and the j with x(j) = k of dy(i, j), 0 for the padding item;
//              with `mean` divided by the number of terms
#ifndef OPENBNNS_SPEC_EMBEDDING_H
#define OPENBNNS_SPEC_EMBEDDING_H

#include <limits>

#include "runner/case.h"
#include "runner/shapes.h"

namespace spec::reference {

// Where a dense array of the shape holds the element with these coordinates by entry of size[].
inline size_t storage_position(const Shape& shape, const Index& by_size) {
  const Index stride = dense_strides(shape);
  size_t position = 0;
  for (size_t s = 0; s < shape.rank(); ++s) position += by_size[paired_axis(shape, s)] * stride[s];
  return position;
}

struct Embedding {
  enum : size_t { kIn, kOut, kDictionary };

  size_t padding = SIZE_MAX;
  float max_norm = 0, p = 2;
  bool mean = false;

  template <class T>
  void forward(Values<T>& v) const {
    const Array<T>& d = v.value[kDictionary];
    std::vector<T> factor;
    for (size_t k = 0; k < d.shape().size.back(); ++k) factor.push_back(factor_of(d, k));
    for_elements(v, [&](size_t b, size_t out, size_t item, size_t at) {
      T& y = v.value[kOut](b, out);
      y = item == padding ? T(0) : d(0, at);
      if (item != padding && value_of(factor[item]) != 1) y = y * factor[item];
    });
  }

  template <class T>
  void backward(Values<T>& v) const {
    Array<T>& d = v.delta[kDictionary];
    std::vector<Sum<T>> sums(d.count());
    std::vector<double> terms(d.count());
    for_elements(v, [&](size_t b, size_t out, size_t item, size_t at) {
      if (item == padding) return;
      sums[at].add(v.delta[kOut](b, out));
      terms[at] += 1;
    });
    for (size_t at = 0; at < d.count(); ++at) {
      d(0, at) = sums[at].get();
      if (mean && terms[at] > 1) d(0, at) = d(0, at) / T(terms[at]);
    }
  }

 private:
  // f(sample, position in the output, item, position in the dictionary) for every output.
  template <class T, class F>
  static void for_elements(const Values<T>& v, F f) {
    const Array<T>&x = v.value[kIn], &y = v.value[kOut], &d = v.value[kDictionary];
    const auto axes = static_cast<ptrdiff_t>(d.shape().rank()) - 1;
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t k = 0; k < y.count(); ++k) {
        const Index c = size_index(y.shape(), k);
        const Index place(c.begin() + axes, c.end());
        Index at(c.begin(), c.begin() + axes);
        at.push_back(static_cast<size_t>(value_of(x(b, storage_position(x.shape(), place)))));
        f(b, k, at.back(), storage_position(d.shape(), at));
      }
    }
  }

  template <class T>
  T factor_of(const Array<T>& d, size_t item) const {
    using std::abs;
    using std::pow;
    if (max_norm == 0) return T(1);
    Sum<T> sum;
    T most(0);
    for (size_t k = 0; k < d.count(); ++k) {
      if (size_index(d.shape(), k).back() != item) continue;
      const T a = abs(d(0, k));
      sum.add(std::isinf(p) ? T(0) : pow(a, T(p)));
      most = maximum(most, a);
    }
    const T norm = std::isinf(p) ? most : pow(sum.get(), T(1 / double{p}));
    return norm <= T(max_norm) ? T(1) : T(max_norm) / norm;
  }
};

}  // namespace spec::reference

namespace spec {

struct EmbeddingSettings {
  Shape dictionary, in;
  BNNSDataLayout out;
  size_t batch = 2;
  reference::Embedding layer = {};
  float norm_type = 0;  // as it is passed
};

inline std::vector<double> all_below(size_t n) {
  std::vector<double> numbers(n);
  for (size_t i = 0; i < n; ++i) numbers[i] = static_cast<double>(i);
  return numbers;
}

inline TypeSet embedding_types(BNNSDataType ids, BNNSDataType values, Need backward) {
  const ElementType id{.type = ids}, value{.type = values};
  return {.name = std::string(type_info(values).name) + "_by_" + type_info(ids).name,
          .types = {id, value, value},
          .backward = backward,
          .float_deltas = true};
}

inline Case embedding_case(const EmbeddingSettings& s) {
  Shape out{s.out, {s.dictionary.size.begin(), s.dictionary.size.end() - 1}};
  out.size.insert(out.size.end(), s.in.size.begin(), s.in.size.end());
  const size_t items = s.dictionary.size.back();
  Case c{.layer = "embedding", .function = "embedding"};
  c.shape = tag(s.dictionary) + "_by_" + tag(s.in, s.batch) + "_to_" + layout_name(s.out);
  if (s.layer.padding < items) c.shape += "_pad" + std::to_string(s.layer.padding);
  if (s.layer.max_norm != 0) {
    c.function = "max_norm";
    const int hundredths =
        std::isinf(s.norm_type) ? -1 : static_cast<int>(std::lround(100 * s.norm_type));
    c.shape += hundredths < 0 ? "_inf" : "_p" + std::to_string(hundredths);
  }
  if (s.layer.mean) c.function = "by_frequency";
  c.batch = s.batch;
  c.operands = {{.name = "in",
                 .role = Role::kIn,
                 .shape = s.in,
                 .fill = {.choices = all_below(items)},
                 .has_delta = false},
                {.name = "out", .role = Role::kOut, .shape = out},
                {.name = "dictionary", .role = Role::kParameter, .shape = s.dictionary}};
  const reference::Embedding layer = s.layer;
  c.forward = [layer](auto& v) { layer.forward(v); };
  c.backward = {{.name = "backward",
                 .reference = [layer](auto& v) { layer.backward(v); },
                 .deltas = {reference::Embedding::kDictionary},
                 .in_needed_by = reference::Embedding::kDictionary,
                 .in_grad = layer.max_norm == 0 && !layer.mean}};
  c.create = [s](Call& call) {
    const BNNSLayerParametersEmbedding p = {
        .flags = s.layer.mean ? BNNSEmbeddingFlagScaleGradientByFrequency : BNNSEmbeddingFlags{},
        .i_desc = call.value[0].shape_only(),
        .o_desc = call.value[1].shape_only(),
        .dictionary = call.value[2].desc,
        .padding_idx = s.layer.padding,
        .max_norm = s.layer.max_norm,
        .norm_type = s.norm_type};
    return BNNSFilterCreateLayerEmbedding(&p, &call.parameters);
  };
  for (BNNSDataType type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16})
    c.types.push_back(embedding_types(BNNSDataTypeUInt32, type, Need::kRequired));
  // Of integers, the runner draws those below 5.
  c.integers_are_exact = items >= 5 && layer.max_norm == 0 && !layer.mean;
  return c;
}

inline void add_embedding_types(Case& c) {
  for (const TypeInfo& row : kTypes) {
    if (row.kind == Kind::kInteger)
      c.types.push_back(embedding_types(row.type, BNNSDataTypeFloat32, Need::kRequired));
    if (row.kind == Kind::kInteger || row.kind == Kind::kBoolean)
      c.types.push_back(embedding_types(BNNSDataTypeInt32, row.type, Need::kNone));
  }
  c.integers_are_exact = false;  // the runner would draw negative ids
}

inline void add_embedding_layouts(Suite& suite, const auto& add) {
  const Shape rows{BNNSDataLayout2DLastMajor, {5, 7}};
  add(rows, vector_of(6), BNNSDataLayout2DLastMajor, 3);
  add(rows, vector_of(6), BNNSDataLayoutRowMajorMatrix, 2, {.padding = 2});
  add(rows, vector_of(9), BNNSDataLayout2DLastMajor, 3, {.padding = 6, .mean = true});
  const Shape columns{BNNSDataLayout2DFirstMajor, {4, 6}};
  add(columns, vector_of(37), BNNSDataLayout2DFirstMajor, 2, {.padding = 0});
  add(columns, vector_of(5), BNNSDataLayoutColumnMajorMatrix, 2, {.mean = true});
  add({BNNSDataLayoutRowMajorMatrix, {3, 9}}, {BNNSDataLayoutRowMajorMatrix, {4, 2}},
      BNNSDataLayoutSNE, 2);
  add(vector_of(11), image(3, 2, 4), BNNSDataLayoutImageCHW, 2, {.padding = 1});
  add({BNNSDataLayout3DFirstMajor, {3, 2, 8}}, {BNNSDataLayout2DLastMajor, {4, 5}},
      BNNSDataLayout4DFirstMajor, 2);
  add({BNNSDataLayout3DLastMajor, {3, 2, 8}}, {BNNSDataLayout2DFirstMajor, {4, 5}},
      BNNSDataLayout4DLastMajor, 2, {.padding = 7, .mean = true});
  add({BNNSDataLayout5DFirstMajor, {2, 1, 3, 2, 5}}, {BNNSDataLayout4DLastMajor, {2, 3, 1, 2}},
      BNNSDataLayout8DFirstMajor, 2);
  add({BNNSDataLayout2DLastMajor, {6, 1}}, vector_of(3), BNNSDataLayout2DLastMajor, 2);
  add({BNNSDataLayout2DLastMajor, {6, 1}}, vector_of(3), BNNSDataLayout2DLastMajor, 1,
      {.padding = 0});
  add_embedding_types(add(rows, vector_of(8), BNNSDataLayout2DLastMajor, 3, {.padding = 3}));
  suite.cases.back().shape += "_types";
  add_embedding_types(add(columns, vector_of(8), BNNSDataLayout2DFirstMajor, 2, {.padding = 3}));
  suite.cases.back().shape += "_types";
}

inline void add_embedding(Suite& suite) {
  // One argument each: gcc 12 is wrong about vectors in nested initialisers.
  const auto add = [&](const Shape& dictionary, const Shape& in, BNNSDataLayout out, size_t batch,
                       const reference::Embedding& layer = {}, float norm_type = 0) -> Case& {
    return suite.cases.emplace_back(embedding_case({dictionary, in, out, batch, layer, norm_type}));
  };
  add_embedding_layouts(suite, add);
  for (const Shape& d :
       {Shape{BNNSDataLayout2DLastMajor, {3, 5}}, Shape{BNNSDataLayout2DFirstMajor, {2, 6}}}) {
    Case& c = add(d, vector_of(4), d.layout, 2, {.padding = 4});
    c.gradient = true;
    c.shape += "_gradient";
  }
  // Dictionaries with values in -2 ... 2: about half of the items are longer than that.
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float p : {0.0f, 1.0f, 2.0f, 3.5f, 0.5f, infinity}) {
    const float used = p == 0 ? 2 : p;
    for (const size_t n : {5, 67}) {
      const double length = std::isinf(p) ? 1.8 : std::pow(n / (used + 1), 1 / used) * 2;
      reference::Embedding layer{.padding = 1, .max_norm = static_cast<float>(length), .p = used};
      add({BNNSDataLayout2DLastMajor, {n, 9}}, vector_of(7), BNNSDataLayout2DLastMajor, 2, layer,
          p);
      add({BNNSDataLayout2DFirstMajor, {n, 9}}, vector_of(7), BNNSDataLayout2DFirstMajor, 2, layer,
          p)
          .thorough = false;
    }
  }
  for (size_t n = 1; n <= 40; ++n) {  // every size around the vector widths
    const BNNSDataLayout layout =
        n % 4 == 0 ? BNNSDataLayout2DFirstMajor : BNNSDataLayout2DLastMajor;
    Case& c = add({layout, {n, 5 + n % 7}}, vector_of(1 + n * 11 % 53), layout, 1 + n % 3,
                  {.padding = n % 9, .mean = n % 5 == 0});
    c.thorough = false;
    c.types.resize(1);
  }
  // Worth several threads, with more ids than comparisons sort; items that occur often.
  for (const size_t items : {3000, 3}) {
    for (const auto layout : {BNNSDataLayout2DLastMajor, BNNSDataLayout2DFirstMajor}) {
      Case& c = add({layout, {33, items}}, vector_of(700), layout, 2, {.padding = 2});
      c.thorough = false;
      c.types.resize(1);
      c.integers_are_exact = false;
    }
  }
  for (const auto layout : {BNNSDataLayout2DLastMajor, BNNSDataLayout2DFirstMajor}) {
    Case& c = add({layout, {256, 30000}}, vector_of(4096), layout, 1);
    c.speed = true;
    c.types.resize(1);
  }
}

}  // namespace spec
#endif

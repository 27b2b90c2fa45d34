// Reductions of the elements along the axes where the output has the size 1. With weights u = w x
// takes the place of x; N is the number of reduced elements, i the index of one of them.
//   max, min            y = extremum of u             du_i = dy at the first extremum
//   arg_max, arg_min    y = index of the first extremum
//   sum, mean           y = sum u, sum u / N          du_i = dy, dy / N
//   mean_non_zero       y = sum u / M, M of w != 0    du_i = dy / M, 0 where w is 0
//   sum_square, l2      y = sum u^2, sqrt(sum u^2)    du_i = 2 u dy, dy u / y
//   sum_log             y = sum ln(u + e)             du_i = dy / (u + e)
//   l1, product         y = sum |u|, product of u     du_i = dy sign(u), dy product of the others
//   log_sum_exp         y = ln sum e^u                du_i = dy e^(u - y)
//   log_sum             y = ln sum u                  du_i = dy / sum u
//   any, all            y = 1 if any, all u != 0
// dx = w du, dw = sum over the batch of x du.
#ifndef OPENBNNS_SPEC_REDUCTION_H
#define OPENBNNS_SPEC_REDUCTION_H

#include "runner/case.h"
#include "layers/copy.h"
#include "runner/published.h"
#include "runner/shapes.h"

namespace spec {

struct ReductionRow {
  BNNSReduceFunction function;
  const char* name;
  bool gradient, from_x, integers, exact;
};
inline constexpr ReductionRow kReductions[] = {
    {BNNSReduceFunctionMax, "max", true, true, true, true},
    {BNNSReduceFunctionMin, "min", true, true, true, true},
    {BNNSReduceFunctionArgMax, "arg_max", false, true, true, true},
    {BNNSReduceFunctionArgMin, "arg_min", false, true, true, true},
    {BNNSReduceFunctionMean, "mean", true, false, false, false},
    {BNNSReduceFunctionMeanNonZero, "mean_non_zero", true, false, false, false},
    {BNNSReduceFunctionSum, "sum", true, false, true, true},
    {BNNSReduceFunctionSumSquare, "sum_square", true, true, true, true},
    {BNNSReduceFunctionSumLog, "sum_log", true, true, false, false},
    {BNNSReduceFunctionL1Norm, "l1_norm", true, true, true, true},
    {BNNSReduceFunctionLogicalOr, "logical_or", false, true, true, true},
    {BNNSReduceFunctionLogicalAnd, "logical_and", false, true, true, true},
    {BNNSReduceFunctionL2Norm, "l2_norm", true, true, false, false},
    {BNNSReduceFunctionLogSumExp, "log_sum_exp", true, true, false, false},
    {BNNSReduceFunctionProduct, "product", true, true, true, false},
    {BNNSReduceFunctionLogSum, "log_sum", true, true, false, false},
};

inline bool is_index_function(BNNSReduceFunction f) {
  return f == BNNSReduceFunctionArgMax || f == BNNSReduceFunctionArgMin;
}
inline bool is_truth_function(BNNSReduceFunction f) {
  return f == BNNSReduceFunctionLogicalOr || f == BNNSReduceFunctionLogicalAnd;
}

}  // namespace spec

namespace spec::reference {

class Reduction {
 public:
  Reduction(BNNSReduceFunction function, const Shape& in, const Shape& out, bool weighted)
      : function_(function), weighted_(weighted), groups_(out.count()) {
    for (size_t k = 0; k < in.count(); ++k) {
      const Index c = size_index(in, k);
      Index kept = c;
      for (size_t i = 0; i < c.size(); ++i)
        if (out.size[i] == 1) kept[i] = 0;
      groups_[position(out, kept)].push_back(position(in, c));
    }
  }

  static constexpr float kEpsilon = 0.25f;

  template <class T>
  void forward(Values<T>& v) const {
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t g = 0; g < groups_.size(); ++g) v.value[1](b, g) = result(terms(v, b, g));
  }

  template <class T>
  void backward(Values<T>& v) const {
    std::vector<Sum<T>> weights(weighted_ ? v.value[2].count() : 0);
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t g = 0; g < groups_.size(); ++g) {
        const Terms<T> t = terms(v, b, g);
        const std::vector<T> du = slopes(t, v.delta[1](b, g));
        for (size_t i = 0; i < du.size(); ++i) {
          const size_t at = groups_[g][i];
          v.delta[0](b, at) = weighted_ ? t.w[i] * du[i] : du[i];
          if (weighted_) weights[at].add(v.value[0](b, at), du[i]);
        }
      }
    }
    for (size_t k = 0; k < weights.size(); ++k) v.delta[2](0, k) = weights[k].get();
  }

 private:
  template <class T>
  struct Terms {
    std::vector<T> u, w;
  };

  // Where the element with these coordinates lies.
  static size_t position(const Shape& shape, Index c) {
    for (size_t i = 0; i < 2 && is_rotated(shape.layout); ++i) c[i] = shape.size[i] - 1 - c[i];
    const Index stride = dense_strides(shape);
    size_t p = 0;
    for (size_t k = 0; k < shape.rank(); ++k) p += c[paired_axis(shape, k)] * stride[k];
    return p;
  }

  template <class T>
  Terms<T> terms(const Values<T>& v, size_t b, size_t group) const {
    Terms<T> t;
    for (const size_t at : groups_[group]) {
      t.w.push_back(weighted_ ? v.value[2](0, at) : T(1));
      t.u.push_back(weighted_ ? t.w.back() * v.value[0](b, at) : v.value[0](b, at));
    }
    return t;
  }

  template <class T>
  static size_t extremum(const std::vector<T>& u, bool larger) {
    size_t best = 0;
    for (size_t i = 1; i < u.size(); ++i)
      if (larger ? u[i] > u[best] : u[i] < u[best]) best = i;
    return best;
  }
  template <class T, class F>
  static T sum(const std::vector<T>& u, F term) {
    Sum<T> total;
    for (const T& x : u) total.add(term(x));
    return total.get();
  }
  template <class T>
  static double non_zero(const std::vector<T>& u) {
    double n = 0;
    for (const T& x : u) n += x == T(0) ? 0 : 1;
    return n;
  }

  template <class T>
  T result(const Terms<T>& t) const {
    using std::abs, std::exp, std::log, std::sqrt;
    const std::vector<T>& u = t.u;
    const double n = static_cast<double>(u.size());
    const auto itself = [](T x) { return x; };
    switch (function_) {
      case BNNSReduceFunctionMax:
        return u[extremum(u, true)];
      case BNNSReduceFunctionMin:
        return u[extremum(u, false)];
      case BNNSReduceFunctionArgMax:
        return T(static_cast<double>(extremum(u, true)));
      case BNNSReduceFunctionArgMin:
        return T(static_cast<double>(extremum(u, false)));
      case BNNSReduceFunctionMean:
        return sum(u, itself) / T(n);
      case BNNSReduceFunctionMeanNonZero:
        return non_zero(t.w) == 0 ? T(0) : sum(u, itself) / T(non_zero(t.w));
      case BNNSReduceFunctionSumSquare:
        return sum(u, [](T x) { return x * x; });
      case BNNSReduceFunctionSumLog:
        return sum(u, [](T x) { return log(x + T(kEpsilon)); });
      case BNNSReduceFunctionL1Norm:
        return sum(u, [](T x) { return abs(x); });
      case BNNSReduceFunctionLogicalOr:
        return T(non_zero(u) > 0 ? 1 : 0);
      case BNNSReduceFunctionLogicalAnd:
        return T(non_zero(u) == n ? 1 : 0);
      case BNNSReduceFunctionL2Norm:
        return sqrt(sum(u, [](T x) { return x * x; }));
      case BNNSReduceFunctionLogSumExp: {
        const T top = u[extremum(u, true)];
        return top + log(sum(u, [&](T x) { return exp(x - top); }));
      }
      case BNNSReduceFunctionProduct: {
        T product = u[0];
        for (size_t i = 1; i < u.size(); ++i) product = product * u[i];
        return product;
      }
      case BNNSReduceFunctionLogSum:
        return log(sum(u, itself));
      default:
        return sum(u, itself);
    }
  }

  template <class T>
  std::vector<T> slopes(const Terms<T>& t, T dy) const {
    using std::exp;
    const std::vector<T>& u = t.u;
    const T zero(0), y = result(t), total = sum(u, [](T x) { return x; });
    const T weights(non_zero(t.w));
    const size_t best = extremum(u, function_ == BNNSReduceFunctionMax);
    std::vector<T> du;
    for (size_t i = 0; i < u.size(); ++i) {
      switch (function_) {
        case BNNSReduceFunctionMax:
        case BNNSReduceFunctionMin:
          du.push_back(i == best ? dy : zero);
          break;
        case BNNSReduceFunctionMean:
          du.push_back(dy / T(static_cast<double>(u.size())));
          break;
        case BNNSReduceFunctionMeanNonZero:
          du.push_back(t.w[i] == zero ? zero : dy / weights);
          break;
        case BNNSReduceFunctionSumSquare:
          du.push_back(T(2) * u[i] * dy);
          break;
        case BNNSReduceFunctionSumLog:
          du.push_back(dy / (u[i] + T(kEpsilon)));
          break;
        case BNNSReduceFunctionL1Norm:
          du.push_back(u[i] == zero ? zero : u[i] < zero ? -dy : dy);
          break;
        case BNNSReduceFunctionL2Norm:
          du.push_back(y == zero ? zero : dy * u[i] / y);
          break;
        case BNNSReduceFunctionLogSumExp:
          du.push_back(dy * exp(u[i] - y));
          break;
        case BNNSReduceFunctionProduct: {
          T others = dy;
          for (size_t j = 0; j < u.size(); ++j)
            if (j != i) others = others * u[j];
          du.push_back(others);
          break;
        }
        case BNNSReduceFunctionLogSum:
          du.push_back(dy / total);
          break;
        default:
          du.push_back(dy);
      }
    }
    return du;
  }

  BNNSReduceFunction function_;
  bool weighted_;
  std::vector<Index> groups_;  // the positions of the elements of each group, by index
};

}  // namespace spec::reference

namespace spec {

inline BNNSLayerParametersReduction reduction_parameters(Call& call, BNNSReduceFunction function) {
  BNNSLayerParametersReduction p = {};
  p.i_desc = call.value[0].desc;
  p.o_desc = call.value[1].desc;
  if (call.value.size() > 2) p.w_desc = call.value[2].desc;
  p.reduce_func = function;
  const bool log = function == BNNSReduceFunctionSumLog;
  p.epsilon = log ? reference::Reduction::kEpsilon : std::nanf("");  // not used
  return p;
}

// Numbers that the functions are defined and smooth at, or that make their cases occur.
inline Fill reduction_fill(BNNSReduceFunction function) {
  switch (function) {
    case BNNSReduceFunctionSumLog:
    case BNNSReduceFunctionLogSum:
      return {.lo = 0.5, .hi = 3};
    case BNNSReduceFunctionL1Norm:
      return {.kinks = {0}};
    case BNNSReduceFunctionProduct:
      return {.lo = 0.8, .hi = 1.25};
    case BNNSReduceFunctionLogicalOr:
      return {.choices = {0, 0, 0, 0, 0, 0, 0, -1.5}};
    case BNNSReduceFunctionLogicalAnd:
      return {.choices = {1, 0.5, -2, 1, 1, 3, 1, 1, 1, 1, 1, 0}};
    default:
      return {};
  }
}

inline TypeSet reduction_types(const Case& c, BNNSDataType in, BNNSDataType out) {
  TypeSet set = same_type(c, in, c.backward.empty() ? Need::kNone : Need::kRequired);
  set.types[1].type = out;
  set.float_deltas = true;
  if (in != out) set.name += std::string("_") + type_info(out).name;
  return set;
}

// All sets of types of a function, or one.
inline void add_reduction_types(Case& c, const ReductionRow& row, bool all) {
  constexpr BNNSDataType kFloats[] = {BNNSDataTypeFloat32, BNNSDataTypeFloat16,
                                      BNNSDataTypeBFloat16};
  const auto add = [&](BNNSDataType in, BNNSDataType out) {
    c.types.push_back(reduction_types(c, in, out));
    if (type_info(in).kind != Kind::kFloat) c.types.back().backward = Need::kNone;
  };
  const bool index = is_index_function(row.function);
  if (index)
    add(BNNSDataTypeFloat32, BNNSDataTypeInt32);
  else
    add(BNNSDataTypeFloat32, BNNSDataTypeFloat32);
  if (!all) return;
  for (const BNNSDataType in : kFloats) {
    for (const BNNSDataType out : kFloats)
      if (index || in != BNNSDataTypeFloat32 || out != in) add(in, out);
    if (is_truth_function(row.function)) add(in, BNNSDataTypeBoolean);
  }
  if (!row.integers) return;
  for (const BNNSDataType in : {BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    if (!index)
      for (const BNNSDataType out : {BNNSDataTypeInt32, BNNSDataTypeBoolean}) add(in, out);
    if (index)
      for (const TypeInfo& type : kTypes)
        if (type.kind != Kind::kBoolean && type.kind != Kind::kIndexed) add(in, type.type);
  }
}

inline Case reduction_case(const ReductionRow& row, const Shape& in, const Shape& out,
                           bool weighted, size_t batch = 1) {
  Case c{.layer = "reduction",
         .function = row.name,
         .shape = tag(in) + "_to_" + tag(out, batch) + (weighted ? "_weighted" : "")};
  const BNNSReduceFunction function = row.function;
  const reference::Reduction layer(function, in, out, weighted);
  c.batch = batch;
  c.operands = {{.name = "in", .role = Role::kIn, .shape = in, .fill = reduction_fill(function)},
                {.name = "out", .role = Role::kOut, .shape = out}};
  if (weighted) {
    const bool positive =
        function == BNNSReduceFunctionSumLog || function == BNNSReduceFunctionLogSum;
    Fill fill = positive ? Fill{.lo = 0.5, .hi = 2} : Fill{.lo = -1.5, .hi = 2, .kinks = {0}};
    if (function == BNNSReduceFunctionProduct) fill = {.lo = 0.9, .hi = 1.2};
    if (function == BNNSReduceFunctionMeanNonZero) fill.choices = {0, 1.5, 0, -0.5, 2, 1};
    c.operands.push_back({.name = "weights", .role = Role::kParameter, .shape = in, .fill = fill});
  }
  c.forward = [layer](auto& v) { layer.forward(v); };
  Backward way = {.name = "backward", .pass_in = row.from_x || weighted, .deltas = {0}};
  if (weighted) way.deltas.push_back(2);
  if (weighted && !row.from_x) way.in_needed_by = 2;
  way.refused = !row.gradient;
  if (row.gradient) way.reference = [layer](auto& v) { layer.backward(v); };
  c.backward = {way};
  if (function == BNNSReduceFunctionL2Norm || function == BNNSReduceFunctionLogSumExp) {
    way.name = "backward-y";
    way.pass_out = true;
    c.backward.push_back(way);
  }
  c.create = [function](Call& call) {
    BNNSLayerParametersReduction p = reduction_parameters(call, function);
    p.i_desc = call.value[0].shape_only();
    p.o_desc = call.value[1].shape_only();
    return BNNSFilterCreateLayerReduction(&p, &call.parameters);
  };
  c.integers_are_exact = row.exact;
  add_reduction_types(c, row, false);
  c.flops = static_cast<double>(batch * in.count());
  return c;
}

// BNNSDirectApplyReduction on the same.
inline Case direct_reduction_case(const ReductionRow& row, const Shape& in, const Shape& out,
                                  bool weighted) {
  Case c = reduction_case(row, in, out, weighted);
  c.shape += "_direct";
  c.create = {};
  c.backward.clear();
  if (weighted) c.operands[2].role = Role::kIn;
  for (TypeSet& t : c.types) t.backward = Need::kNone;
  c.apply = [function = row.function](Call& call) {
    const BNNSLayerParametersReduction p = reduction_parameters(call, function);
    return BNNSDirectApplyReduction(&p, &call.parameters);
  };
  return c;
}

// The shape with size 1 where a bit of `mask` is set.
inline Shape without(const Shape& shape, uint32_t mask) {
  Shape result = shape;
  for (size_t i = 0; i < shape.rank(); ++i)
    if ((mask >> i & 1) != 0) result.size[i] = 1;
  return result;
}

inline void add_reduction_layouts(Suite& suite) {
  const Index logical = {5, 3, 4, 2, 2, 3, 1, 2};
  for (size_t rank = 1; rank <= 8; ++rank) {
    const Index size(logical.begin(), logical.begin() + static_cast<ptrdiff_t>(rank));
    for (const Shape& in : shapes_of_rank(rank, size)) {
      if (is_pack32(in.layout)) continue;
      for (uint32_t mask = 0; mask < (1u << rank); ++mask) {
        if (rank > 3 && mask % 37 != 5 && mask % 11 != 2) continue;
        const ReductionRow& row =
            kReductions[hash(tag(in)) % 16 + mask < 16 ? hash(tag(in)) % 16 + mask
                                                       : (hash(tag(in)) + mask) % 16];
        Case c = reduction_case(row, in, without(in, mask), mask % 2 == 1, 1 + mask % 3);
        c.thorough = false;
        suite.cases.push_back(c);
        // Extrema depend on the order of the elements.
        c = reduction_case(kReductions[mask % 4], in, without(in, mask), mask % 3 == 1, 2);
        c.thorough = false;
        suite.cases.push_back(c);
      }
    }
  }
  // Another layout of the output, whose sizes pair up by entry of size[].
  for (const BNNSDataLayout from :
       {BNNSDataLayout4DFirstMajor, BNNSDataLayout4DLastMajor, BNNSDataLayoutConvolutionWeightsOIHW,
        BNNSDataLayoutConvolutionWeightsOIHrWr, BNNSDataLayoutConvolutionWeightsIOHrWr}) {
    for (const BNNSDataLayout to : {BNNSDataLayout4DFirstMajor, BNNSDataLayout4DLastMajor,
                                    BNNSDataLayoutConvolutionWeightsOIHrWr}) {
      for (uint32_t mask = 1; mask < 16; ++mask) {
        const Shape in = {from, {3, 4, 5, 2}};
        Shape out = without(in, mask);
        out.layout = to;
        Case c = reduction_case(kReductions[mask % 4], in, out, mask % 2 == 1, 2);
        c.thorough = false;
        suite.cases.push_back(c);
      }
    }
  }
}

// Around the vector widths, and sizes that are cut into grains, blocks and parts.
inline void add_reduction_sizes(Suite& suite) {
  const auto add = [&](Case c) {
    c.thorough = false;
    suite.cases.push_back(c);
  };
  for (size_t n = 1; n <= 70; ++n) {
    const Shape rows{BNNSDataLayoutRowMajorMatrix, {n, 1 + n * 7 % 11}};
    for (size_t f = n % 2; f < std::size(kReductions); f += 2)
      for (uint32_t mask = 1; mask < 4; ++mask)
        add(reduction_case(kReductions[f], rows, without(rows, mask), (n + f + mask) % 3 == 0));
  }
  const Shape tall{BNNSDataLayoutRowMajorMatrix, {3, 3001}};
  const Shape wide{BNNSDataLayoutRowMajorMatrix, {1030, 21}};
  const Shape strided{BNNSDataLayout3DFirstMajor, {40, 41, 17}};
  const Shape few{BNNSDataLayoutRowMajorMatrix, {70, 2500}};
  for (size_t f = 0; f < std::size(kReductions); ++f) {
    const ReductionRow& row = kReductions[f];
    if (row.function == BNNSReduceFunctionProduct) continue;  // overflows, see the next
    const bool weighted = f % 2 == 1;
    add(reduction_case(row, tall, without(tall, 2), weighted));
    add(reduction_case(row, tall, without(tall, 2), !weighted));
    add(reduction_case(row, wide, without(wide, 1), weighted));
    add(reduction_case(row, wide, without(wide, 2), !weighted));
    add(reduction_case(row, strided, without(strided, 2), !weighted, 2));
    add(reduction_case(row, strided, without(strided, 5), weighted));
  }
  for (const size_t f : {0, 3, 6, 13}) {
    add(reduction_case(kReductions[f], vector_of(70001), vector_of(1), false));
    add(reduction_case(kReductions[f], few, without(few, 2), false));
  }
  add(reduction_case(kReductions[6], vector_of(70001), vector_of(1), true));
  const Shape powers{BNNSDataLayoutRowMajorMatrix, {130, 60}};
  for (const uint32_t mask : {1u, 2u, 3u}) {
    Case c = reduction_case(kReductions[14], powers, without(powers, mask), false);
    c.operands[0].fill = {.choices = {2, -0.5, 1, 4, -1, 0.25}};
    add(c);
  }
}

// Zeros among the factors: the gradient is the product of the others.
inline void add_reduction_zeros(Suite& suite) {
  for (const uint32_t mask : {1u, 2u}) {
    const Shape rows{BNNSDataLayoutRowMajorMatrix, {6, 5}};
    for (const bool weighted : {false, true}) {
      Case c = reduction_case(kReductions[14], rows, without(rows, mask), weighted, 3);
      c.shape += "_zeros";
      c.operands[0].fill = {.choices = {0, -1.5, 1, 2, 0.5, -1}};
      if (weighted) c.operands[2].fill = {.choices = {0, -1, 1, 2, 0.5, 4}};
      c.integers_are_exact = !weighted;
      suite.cases.push_back(c);
    }
  }
}

inline void add_reduction_gradients(Suite& suite) {
  const Shape image_of_few = image(3, 2, 4);
  for (const ReductionRow& row : kReductions) {
    if (!row.gradient) continue;
    for (const uint32_t mask : {1u, 2u, 5u, 7u}) {
      for (const bool weighted : {false, true}) {
        Case c = reduction_case(row, image_of_few, without(image_of_few, mask), weighted, 2);
        if (weighted && row.function == BNNSReduceFunctionMeanNonZero)
          c.operands[2].fill = {.lo = 0.5, .hi = 2};
        c.shape += "_gradient";
        c.gradient = true;
        c.thorough = mask == 5;
        suite.cases.push_back(c);
      }
    }
  }
}

inline std::string check_published_reductions() {
  const Shape matrix{BNNSDataLayoutRowMajorMatrix, {3, 3}};
  std::vector<float> x = {1, 4, 7, 2, 5, 8, 3, 6, 9};
  const std::pair<Index, std::vector<double>> published[] = {
      {{1, 3}, {12, 15, 18}}, {{3, 1}, {6, 15, 24}}, {{1, 1}, {45}}};
  for (const auto& [size, sums] : published) {
    std::vector<float> y(sums.size());
    BNNSLayerParametersReduction p = {};
    p.i_desc = describe(matrix, x.data());
    p.o_desc = describe({BNNSDataLayoutRowMajorMatrix, size}, y.data());
    p.reduce_func = BNNSReduceFunctionSum;
    if (BNNSDirectApplyReduction(&p, nullptr) != 0) return failure();
    const std::string problem = expect("out", y, sums);
    if (!problem.empty()) return problem;
  }
  return "";
}

inline void add_reduction(Suite& suite) {
  const Shape small{BNNSDataLayout3DFirstMajor, {3, 5, 7}};
  for (const ReductionRow& row : kReductions) {
    for (const bool weighted : {false, true}) {
      for (const uint32_t mask : {1u, 4u}) {
        Case c = reduction_case(row, small, without(small, mask), weighted, 2);
        c.types.clear();
        add_reduction_types(c, row, true);
        suite.cases.push_back(c);
        suite.cases.push_back(direct_reduction_case(row, small, without(small, mask), weighted));
      }
    }
  }
  for (const uint32_t mask : {1u, 2u}) {  // gradients in BFloat16
    Case c = reduction_case(kReductions[12], small, without(small, mask), false, 2);
    c.shape += "_deltas";
    c.types = {reduction_types(c, BNNSDataTypeBFloat16, BNNSDataTypeBFloat16)};
    c.types[0].float_deltas = false;
    suite.cases.push_back(c);
  }
  add_reduction_layouts(suite);
  add_reduction_sizes(suite);
  add_reduction_zeros(suite);
  add_reduction_gradients(suite);
  suite.checks.push_back({"reduction/published/sum", check_published_reductions});
  const Shape square{BNNSDataLayoutRowMajorMatrix, {1024, 1024}};
  for (const size_t f : {0, 2, 4, 6, 12, 13})
    for (const uint32_t mask : {1u, 2u, 3u}) {
      Case c = reduction_case(kReductions[f], square, without(square, mask), false);
      c.speed = true;
      suite.cases.push_back(c);
    }
}

}  // namespace spec
#endif

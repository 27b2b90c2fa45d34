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
      : function_(function), weighted_(weighted), in_(in), out_(out) {}

  static constexpr float kEpsilon = 0.25f;

  template <class T>
  void forward(Values<T>& v) const {
    const std::vector<Index> groups = make_groups();
    for (size_t b = 0; b < v.batch; ++b)
      for (size_t g = 0; g < groups.size(); ++g) v.value[1](b, g) = result(terms(v, b, groups[g]));
  }

  template <class T>
  void backward(Values<T>& v) const {
    const std::vector<Index> groups = make_groups();
    std::vector<Sum<T>> weights(weighted_ ? v.value[2].count() : 0);
    for (size_t b = 0; b < v.batch; ++b) {
      for (size_t g = 0; g < groups.size(); ++g) {
        const Terms<T> t = terms(v, b, groups[g]);
        const std::vector<T> du = slopes(t, v.delta[1](b, g));
        for (size_t i = 0; i < du.size(); ++i) {
          const size_t at = groups[g][i];
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

  // The positions of the elements of each group, by index. Most cases of a list are not run.
  std::vector<Index> make_groups() const {
    std::vector<Index> groups(out_.count());
    for (size_t k = 0; k < in_.count(); ++k) {
      const Index c = size_index(in_, k);
      Index kept = c;
      for (size_t i = 0; i < c.size(); ++i)
        if (out_.size[i] == 1) kept[i] = 0;
      groups[position(out_, kept)].push_back(position(in_, c));
    }
    return groups;
  }

  // Where the element with these coordinates lies.
  static size_t position(const Shape& shape, Index c) {
    for (size_t i = 0; i < 2 && is_rotated(shape.layout); ++i) c[i] = shape.size[i] - 1 - c[i];
    const Index stride = dense_strides(shape);
    size_t p = 0;
    for (size_t k = 0; k < shape.rank(); ++k) p += c[paired_axis(shape, k)] * stride[k];
    return p;
  }

  template <class T>
  Terms<T> terms(const Values<T>& v, size_t b, const Index& group) const {
    Terms<T> t;
    for (const size_t at : group) {
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
  Shape in_, out_;
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

}  // namespace spec
#endif

// Gradients: dx = w du and dw = x du. What du needs to know of a group is computed first, for all
// groups; then du = slope(u, c, s), where c and s belong to the group. A group of a product, and
// the one element of an extremum, go their own ways.
#include <cfloat>

#include "ops/reduction/groups.h"
#include "ops/reduction/product.h"

namespace bnns::impl {
namespace {

constexpr double kNanoseconds = 0.4, kProductNanoseconds = 12;

struct SlopeInfo {
  ReduceSlope slope;
  bool state;  // c and s depend on the elements of the group
};

// L2Norm and LogSumExp need only y, which a client has from the forward pass.
SlopeInfo slope_of(const ReduceProblem& problem) {
  const bool known = problem.tensor[kReduceOut].data != nullptr;
  switch (problem.info->function) {
    case BNNSReduceFunctionMeanNonZero:
      return {kSlopeConstant, problem.weighted};
    case BNNSReduceFunctionLogSum:
      return {kSlopeConstant, true};
    case BNNSReduceFunctionSumSquare:
      return {kSlopeLinear, false};
    case BNNSReduceFunctionL2Norm:
      return {kSlopeLinear, !known};
    case BNNSReduceFunctionSumLog:
      return {kSlopeReciprocal, false};
    case BNNSReduceFunctionL1Norm:
      return {kSlopeSign, false};
    case BNNSReduceFunctionLogSumExp:
      return {kSlopeExp, !known};
    case BNNSReduceFunctionMax:
    case BNNSReduceFunctionMin:
      return {kSlopeConstant, true};
    default:
      return {kSlopeConstant, false};
  }
}

bool is_extremum(const ReduceProblem& problem) {
  return problem.info->kind == ReduceKind::kMax || problem.info->kind == ReduceKind::kMin;
}

struct Coefficients {
  float c, s;
};

// u dy / y for all u of a group of the norm y. Beside a tiny norm dy / y is beyond the range of
// float, while u / y, which is at most 1, is not: u is then multiplied by a power of two s first.
Coefficients norm_coefficients(double dy, double y) {
  if (y == 0) return {};
  const double c = dy / y;
  if (!std::isfinite(dy) || !(std::fabs(c) > FLT_MAX)) return {static_cast<float>(c), 0};
  const double s = std::ldexp(1.0, std::min(-std::ilogb(y), 127));
  return {static_cast<float>(dy / (y * s)), static_cast<float>(s)};
}

class Backward {
 public:
  Backward(const ReduceRun& run, const ReduceProblem& problem, ReduceAccumulate accumulate,
           const ReduceState* states)
      : run_(run),
        problem_(problem),
        plan_(problem),
        groups_(run, problem, plan_, problem.info->kind),
        accumulate_(accumulate),
        states_(states),
        has_dx_(problem.tensor[kReduceDx].data != nullptr),
        has_dw_(problem.tensor[kReduceDw].data != nullptr),
        known_(problem.tensor[kReduceOut].data != nullptr),
        slope_(slope_of(problem).slope) {
    if (plan_.across) plan_.set_width(kReduceColumns);
  }

  void run() const {
    if (problem_.info->kind == ReduceKind::kProduct) return products();
    // Beside its extremum a group has no gradient: there is nothing to add.
    const bool zeros = is_extremum(problem_);
    const bool dx = has_dx_ && !(zeros && accumulate_.dx);
    const bool dw = has_dw_ && !(zeros && accumulate_.dw);
    if (dx || dw) {
      if (plan_.across)
        across(dx, dw, zeros);
      else
        along(dx, dw, zeros);
    }
    if (!zeros) return;
    constexpr size_t kGrain = 1024;
    parallel_for(threads(kNanoseconds), div_up(plan_.groups(), kGrain), [&](size_t task, size_t) {
      const size_t end = std::min(plan_.groups(), (task + 1) * kGrain);
      for (size_t g = task * kGrain; g < end; ++g) extremum(g);
    });
  }

 private:
  size_t threads(double each) const {
    const auto count = static_cast<double>(plan_.groups()) * static_cast<double>(plan_.length);
    return useful_threads(run_.threads, each * count);
  }
  bool masked() const {  // no gradient where the weight is 0
    return problem_.weighted && problem_.info->function == BNNSReduceFunctionMeanNonZero;
  }
  double delta(const ReduceOffsets& at) const {
    return read_value(problem_.tensor[kReduceY], at[kReduceY]);
  }

  double known(const ReduceOffsets& at) const {
    return read_value(problem_.tensor[kReduceOut], at[kReduceOut]);
  }

  Coefficients coefficients(size_t group, const ReduceOffsets& at) const {
    const double dy = delta(at), n = static_cast<double>(plan_.length);
    const auto c = [](double value) { return Coefficients{static_cast<float>(value), 0}; };
    switch (problem_.info->function) {
      case BNNSReduceFunctionMean:
        return c(dy / n);
      case BNNSReduceFunctionMeanNonZero: {
        const double count = problem_.weighted ? states_[group].a : n;
        return c(count == 0 ? 0 : dy / count);
      }
      case BNNSReduceFunctionSumSquare:
        return c(2 * dy);
      case BNNSReduceFunctionL2Norm:
        return norm_coefficients(dy, known_ ? known(at) : std::sqrt(states_[group].a));
      case BNNSReduceFunctionSumLog:
        return {static_cast<float>(dy), problem_.epsilon};
      case BNNSReduceFunctionLogSumExp:
        if (known_) return {static_cast<float>(dy), static_cast<float>(known(at))};
        return {static_cast<float>(dy / states_[group].b), static_cast<float>(states_[group].a)};
      case BNNSReduceFunctionLogSum:
        return c(dy / states_[group].a);
      default:
        return c(dy);
    }
  }

  // The slope of a group, or of some of which one has these coefficients.
  ReduceSlope slope(const Coefficients& of_group) const {
    return slope_ == kSlopeLinear && of_group.s != 0 ? kSlopeScaled : slope_;
  }

  // Computes the gradients of n <= kReduceColumns elements.
  void row(ReduceSlope slope, const float* x, const float* w, const float* c, const float* s,
           float* dx, float* dw, size_t n, bool zeros) const {
    const ReduceKernels& kernels = *run_.kernels;
    alignas(64) float u[kReduceColumns], du[kReduceColumns];
    const float* values = x;
    if (problem_.weighted && problem_.info->from_x() && !zeros) {
      kernels.weigh(x, w, u, n);
      values = u;
    }
    if (zeros) {
      if (dx != nullptr) kernels.fill(0, dx, n);
      if (dw != nullptr) kernels.fill(0, dw, n);
      return;
    }
    if (!problem_.weighted && !accumulate_.dx) return kernels.slope[slope](values, c, s, dx, n);
    kernels.slope[slope](values, c, s, du, n);
    if (masked())
      for (size_t i = 0; i < n; ++i) du[i] = w[i] == 0 ? 0 : du[i];
    if (dx != nullptr) kernels.put(du, problem_.weighted ? w : nullptr, dx, n, accumulate_.dx);
    if (dw == nullptr) return;
    if (masked()) {  // an infinite x has no gradient either
      for (size_t i = 0; i < n; ++i) u[i] = w[i] == 0 ? 0 : x[i];
      x = u;
    }
    kernels.put(du, x, dw, n, accumulate_.dw);
  }

  // Whether all that is to be done is to set dx to a number that each group has.
  bool is_fill(bool dw) const {
    return slope_ == kSlopeConstant && !problem_.weighted && !accumulate_.dx && !dw;
  }

  void fill_across(const ReduceOffsets& start, const float* c, size_t n, size_t first,
                   size_t count) const {
    ReduceRow dx(run_, problem_, plan_, kReduceDx, n);
    alignas(64) float buffer[kReduceColumns];
    AxesWalker walker(plan_.reduced, first);
    for (size_t r = 0; r < count; ++r, walker.advance(1)) {
      float* to = dx.get(start[kReduceDx] + walker.offsets()[kReduceDx], buffer, false);
      run_.kernels->slope[kSlopeConstant](nullptr, c, nullptr, to, n);
      dx.put(buffer);
    }
  }

  bool needs_x(bool dw, bool zeros) const { return !zeros && (problem_.info->from_x() || dw); }

  void along(bool dx, bool dw, bool zeros) const {
    const size_t grain = std::max<size_t>(1, kReduceGrain / plan_.length);
    const size_t part = std::min(plan_.length, kReduceGrain), parts = div_up(plan_.length, part);
    parallel_for(threads(kNanoseconds), div_up(plan_.groups(), grain) * parts,
                 [&](size_t task, size_t) {
                   const size_t group = task / parts * grain, first = task % parts * part;
                   const size_t end = std::min(plan_.groups(), group + grain);
                   for (size_t g = group; g < end; ++g)
                     group_along(g, first, std::min(part, plan_.length - first), dx, dw, zeros);
                 });
  }

  void group_along(size_t group, size_t first, size_t count, bool dx, bool dw, bool zeros) const {
    const ReduceOffsets at = plan_.kept.at(group);
    const Coefficients of_group = zeros ? Coefficients{} : coefficients(group, at);
    const View to = groups_.view_at(kReduceDx, at);
    if (is_fill(dw) && to.is_float() && to.rank == 1 && to.stride[0] == 1)
      return run_.kernels->fill(of_group.c, static_cast<float*>(to.data) + first, count);
    alignas(64) float c[kBlock], s[kBlock];
    run_.kernels->fill(of_group.c, c, std::min(count, kBlock));
    const ReduceSlope slope_here = slope(of_group);
    if (slope_here != kSlopeConstant && slope_here != kSlopeLinear && slope_here != kSlopeSign)
      run_.kernels->fill(of_group.s, s, std::min(count, kBlock));
    for_rows(at, first, count, dx, dw, needs_x(dw, zeros), [&](const auto& rows, size_t n) {
      row(slope_here, rows[0], rows[1], c, s, dx ? rows[2] : nullptr, dw ? rows[3] : nullptr, n,
          zeros);
    });
  }

  // Calls body({x, w, dx, dw}, n) for the elements of a group. A tensor that is not needed is
  // replaced by one that is; it is then read only, and the row not used.
  template <class Body>
  void for_rows(const ReduceOffsets& at, size_t first, size_t count, bool dx, bool dw, bool with_x,
                const Body& body) const {
    const size_t x = with_x ? kReduceX : dx ? kReduceDx : kReduceDw;
    const size_t w = problem_.weighted ? kReduceW : x;
    const auto written = [&](bool wanted, size_t tensor, bool adds) {
      if (!wanted) return Operand{groups_.view_at(x, at), Operand::kRead};
      return Operand{groups_.view_at(tensor, at), adds ? Operand::kUpdate : Operand::kWrite};
    };
    const std::array<Operand, 4> operands = {Operand{groups_.view_at(x, at), Operand::kRead},
                                             Operand{groups_.view_at(w, at), Operand::kRead},
                                             written(dx, kReduceDx, accumulate_.dx),
                                             written(dw, kReduceDw, accumulate_.dw)};
    for_blocks(*run_.convert, operands, first, count, [&](std::array<float*, 4> rows, size_t n) {
      for (size_t i = 0; i < n; i += kBlock) {
        std::array<float*, 4> some = rows;
        for (float*& r : some) r += i;
        body(some, std::min(kBlock, n - i));
      }
    });
  }

  void across(bool dx, bool dw, bool zeros) const {
    // Each part computes the coefficients of its columns again.
    const size_t part = std::max<size_t>(1, 8 * kReduceGrain / plan_.width);
    const size_t parts = div_up(plan_.length, part);
    parallel_for(threads(kNanoseconds), plan_.all_blocks() * parts, [&](size_t task, size_t) {
      const size_t first = task % parts * part;
      block_across(task / parts, first, std::min(part, plan_.length - first), dx, dw, zeros);
    });
  }

  void block_across(size_t block, size_t first, size_t count, bool with_dx, bool with_dw,
                    bool zeros) const {
    const size_t group = plan_.first_group(block), n = plan_.block_groups(block);
    const ReduceOffsets start = plan_.kept.at(group);
    alignas(64) float c[kReduceColumns] = {}, s[kReduceColumns], buffer[4][kReduceColumns];
    ReduceOffsets at = start;
    ReduceSlope slope_here = slope_;
    for (size_t i = 0; i < n && !zeros; ++i) {
      const Coefficients of_group = coefficients(group + i, at);
      c[i] = of_group.c;
      s[i] = of_group.s;
      if (slope(of_group) != slope_) slope_here = kSlopeScaled;
      for (const size_t t : {kReduceY, kReduceOut}) at[t] += plan_.kept[0].stride[t];
    }
    if (slope_here == kSlopeScaled)
      for (size_t i = 0; i < n; ++i) s[i] = s[i] == 0 ? 1 : s[i];
    if (is_fill(with_dw)) return fill_across(start, c, n, first, count);
    ReduceRow x(run_, problem_, plan_, kReduceX, n), w(run_, problem_, plan_, kReduceW, n);
    ReduceRow dx(run_, problem_, plan_, kReduceDx, n), dw(run_, problem_, plan_, kReduceDw, n);
    const bool reads_x = needs_x(with_dw, zeros), reads_w = problem_.weighted && !zeros;
    AxesWalker walker(plan_.reduced, first);
    for (size_t r = 0; r < count; ++r, walker.advance(1)) {
      const auto offset = [&](size_t t) { return start[t] + walker.offsets()[t]; };
      const float* x_row = reads_x ? x.get(offset(kReduceX), buffer[0]) : nullptr;
      const float* w_row = reads_w ? w.get(offset(kReduceW), buffer[1]) : nullptr;
      float* dx_row = with_dx ? dx.get(offset(kReduceDx), buffer[2], accumulate_.dx) : nullptr;
      float* dw_row = with_dw ? dw.get(offset(kReduceDw), buffer[3], accumulate_.dw) : nullptr;
      row(slope_here, x_row, w_row, c, s, dx_row, dw_row, n, zeros);
      if (with_dx) dx.put(buffer[2]);
      if (with_dw) dw.put(buffer[3]);
    }
  }

  // ---- Extrema ----

  ptrdiff_t offset_in_group(size_t tensor, size_t position) const {
    ptrdiff_t offset = 0;
    for (size_t k = 0; k < plan_.reduced.rank(); ++k) {
      const auto& axis = plan_.reduced[k];
      offset += static_cast<ptrdiff_t>(position % axis.extent) * axis.stride[tensor];
      position /= axis.extent;
    }
    return offset;
  }

  void extremum(size_t group) const {
    const ReduceOffsets at = plan_.kept.at(group);
    const double dy = delta(at);
    const size_t position = groups_.index_of(static_cast<size_t>(states_[group].b));
    const auto place = [&](size_t t) { return at[t] + offset_in_group(t, position); };
    const auto put = [&](size_t tensor, bool adds, double gradient) {
      const AxesTensor& to = problem_.tensor[tensor];
      const double old = adds ? read_value(to, place(tensor)) : 0;
      write_value(to, place(tensor), old + gradient);
    };
    const auto value = [&](size_t t) { return read_value(problem_.tensor[t], place(t)); };
    if (has_dx_) put(kReduceDx, accumulate_.dx, problem_.weighted ? dy * value(kReduceW) : dy);
    if (has_dw_) put(kReduceDw, accumulate_.dw, dy * value(kReduceX));
  }

  // ---- Products ----

  // The product of the others is that of all divided by u. Where that says nothing because factors
  // are 0 or infinite, it follows from how many there are of each, and from the finite rest.
  struct Product {
    ReduceState rest = {1, 0};  // of the factors that are neither 0, infinite nor NaN
    size_t zeros = 0, infinities = 0, nans = 0;
    bool negative = false;  // the sign of the zeros and infinities

    void add(double u) {
      zeros += u == 0;
      infinities += std::isinf(u);
      nans += std::isnan(u);
      const bool normal = u != 0 && std::isfinite(u);
      if (normal) rest = joined_products(rest, {u, 0});
      negative ^= !normal && std::signbit(u);
    }

    double others(double u) const {
      const size_t z = zeros - (u == 0), i = infinities - std::isinf(u), n = nans - std::isnan(u);
      const bool normal = u != 0 && std::isfinite(u);
      const bool sign = negative ^ (!normal && std::signbit(u)) ^ std::signbit(rest.a) ^
                        (normal && std::signbit(u));
      if (n > 0 || (z > 0 && i > 0)) return std::numeric_limits<double>::quiet_NaN();
      if (z > 0 || i > 0) return (sign ? -1 : 1) * (z > 0 ? 0.0 : kInfinity);
      const double all = negative ^ (!normal && std::signbit(u)) ? -rest.a : rest.a;
      int exponent = 0;
      const double mantissa = normal ? std::frexp(u, &exponent) : 1;
      return scaled_product(all / mantissa, rest.b - exponent);
    }
  };

  void products() const {
    const size_t grain = std::max<size_t>(1, kReduceGrain / 8 / plan_.length);
    parallel_for(threads(kProductNanoseconds), div_up(plan_.groups(), grain),
                 [&](size_t task, size_t) {
                   const size_t end = std::min(plan_.groups(), (task + 1) * grain);
                   for (size_t g = task * grain; g < end; ++g) product(plan_.kept.at(g));
                 });
  }

  void product(const ReduceOffsets& at) const {
    const auto factor = [&](const auto& rows, size_t i) {
      return problem_.weighted ? double{rows[0][i]} * double{rows[1][i]} : double{rows[0][i]};
    };
    Product all;
    const View x = groups_.view_at(kReduceX, at);
    const std::array<Operand, 2> factors = {
        Operand{x, Operand::kRead},
        Operand{problem_.weighted ? groups_.view_at(kReduceW, at) : x, Operand::kRead}};
    for_blocks(*run_.convert, factors, 0, plan_.length, [&](const auto& rows, size_t n) {
      for (size_t i = 0; i < n; ++i) all.add(factor(rows, i));
    });
    const double dy = delta(at);
    for_rows(at, 0, plan_.length, has_dx_, has_dw_, true, [&](const auto& rows, size_t n) {
      for (size_t i = 0; i < n; ++i) {
        const double du = dy * all.others(factor(rows, i)), x_value = rows[0][i];
        const double dx = problem_.weighted ? double{rows[1][i]} * du : du;
        if (has_dx_) rows[2][i] = static_cast<float>(accumulate_.dx ? rows[2][i] + dx : dx);
        if (has_dw_) {
          const double dw = x_value * du;
          rows[3][i] = static_cast<float>(accumulate_.dw ? rows[3][i] + dw : dw);
        }
      }
    });
  }

  const ReduceRun& run_;
  const ReduceProblem& problem_;
  ReducePlan plan_;
  ReduceGroups groups_;
  ReduceAccumulate accumulate_;
  const ReduceState* states_;
  bool has_dx_, has_dw_, known_;
  ReduceSlope slope_;
};

// The problem whose forward pass gives the states that the gradient needs.
ReduceProblem problem_of_states(const ReduceProblem& problem) {
  ReduceProblem result = problem;
  if (is_extremum(problem)) {
    const bool max = problem.info->kind == ReduceKind::kMax;
    result.info = find_reduce(max ? BNNSReduceFunctionArgMax : BNNSReduceFunctionArgMin);
  }
  if (problem.info->function == BNNSReduceFunctionMeanNonZero) {
    // The number of nonzero weights; x may be missing.
    result.info = find_reduce(BNNSReduceFunctionLogicalOr);
    result.weighted = false;
    result.tensor[kReduceX] = problem.tensor[kReduceW];
    for (size_t k = 0; k < result.axes.rank(); ++k)
      result.axes[k].stride[kReduceX] = result.axes[k].stride[kReduceW];
  }
  return result;
}

}  // namespace

// A state for each group, and those of its parts.
size_t reduce_backward_scratch(const ReduceInfo& info, bool weighted, size_t groups,
                               size_t length) {
  ReduceProblem problem;
  problem.info = &info;
  problem.weighted = weighted;
  return slope_of(problem).state ? groups + reduce_most_scratch(groups, length) : 0;
}

void run_reduce_backward(const ReduceRun& run, const ReduceProblem& problem,
                         ReduceAccumulate accumulate, ReduceState* scratch) {
  if (slope_of(problem).state) {
    const ReduceProblem of_states = problem_of_states(problem);
    const ReducePlan plan(of_states);
    const ReduceGroups groups(run, of_states, plan, of_states.info->kind);
    groups.run(scratch + plan.groups(),
               [&](size_t group, const ReduceOffsets&, ReduceState s) { scratch[group] = s; });
  }
  Backward(run, problem, accumulate, scratch).run();
}

}  // namespace bnns::impl

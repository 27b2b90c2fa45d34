#include "ops/reduction/integers.h"

#include "ops/reduction/groups.h"

namespace bnns::impl {
namespace {

constexpr size_t kMaxPartials = 64;
constexpr size_t kGrain = 16384;
constexpr size_t kBuffer = 256;
constexpr double kNanoseconds = 2;

struct State {
  Wide a;        // the sum, the product or the extremum
  size_t index;  // of an extremum
};

struct Group {
  const ReduceProblem& problem;
  const ReducePlan& plan;
  const ReduceGroups& groups;

  State empty() const {
    switch (problem.info->kind) {
      case ReduceKind::kMax:
      case ReduceKind::kArgMax:
        return {-std::numeric_limits<Wide>::infinity(), std::numeric_limits<size_t>::max()};
      case ReduceKind::kMin:
      case ReduceKind::kArgMin:
        return {std::numeric_limits<Wide>::infinity(), std::numeric_limits<size_t>::max()};
      case ReduceKind::kProduct:
        return {1, 0};
      default:
        return {0, 0};
    }
  }

  State joined(State to, State part) const {
    switch (problem.info->kind) {
      case ReduceKind::kMax:
      case ReduceKind::kArgMax:
        return part.a > to.a || (part.a == to.a && part.index < to.index) ? part : to;
      case ReduceKind::kMin:
      case ReduceKind::kArgMin:
        return part.a < to.a || (part.a == to.a && part.index < to.index) ? part : to;
      case ReduceKind::kProduct:
        return {to.a * part.a, 0};
      default:
        return {to.a + part.a, 0};
    }
  }

  Wide term(Wide u) const {
    switch (problem.info->kind) {
      case ReduceKind::kSumSquare:
        return u * u;
      case ReduceKind::kSumAbs:
        return std::abs(u);
      case ReduceKind::kCount:
        return u != 0;
      default:
        return u;
    }
  }

  View view_at(size_t tensor, const ReduceOffsets& at) const {
    View view = groups.view_at(tensor, at);
    view.scaling = problem.tensor[tensor].scaling;
    return view;
  }

  // Of elements [first, first + n).
  State state(const ReduceOffsets& at, size_t first, size_t n) const {
    Wide x[kBuffer], w[kBuffer];
    State s = empty();
    const View x_view = view_at(kReduceX, at), w_view = view_at(kReduceW, at);
    for (const size_t end = first + n; first < end; first += kBuffer) {
      const size_t m = std::min(kBuffer, end - first);
      read_values(x_view, first, m, x);
      if (problem.weighted) {
        read_values(w_view, first, m, w);
        for (size_t i = 0; i < m; ++i) x[i] *= w[i];
      }
      for (size_t i = 0; i < m; ++i) {
        const size_t index = problem.info->index() ? groups.index_of(first + i) : 0;
        s = joined(s, {term(x[i]), index});
      }
    }
    return s;
  }

  void write(const ReduceOffsets& at, State s) const {
    const ReduceInfo& info = *problem.info;
    if (info.index()) return write_reduced(problem, at[kReduceY], static_cast<double>(s.index));
    Wide y = s.a;
    if (info.truth()) {
      const bool all = info.function == BNNSReduceFunctionLogicalAnd;
      y = all ? s.a == static_cast<Wide>(plan.length) : s.a > 0;
    }
    View to;
    to.data = shifted(problem.tensor[kReduceY], at[kReduceY]);
    to.type = problem.tensor[kReduceY].type;
    to.scaling = problem.tensor[kReduceY].scaling;
    to.rank = 1;
    to.extent[0] = to.stride[0] = to.count = 1;
    write_values(to, 0, 1, &y);
  }
};

}  // namespace

void run_reduce_integers(const ReduceRun& run, const ReduceProblem& problem) {
  const ReducePlan plan(problem);
  const ReduceGroups groups(run, problem, plan, problem.info->kind);
  const Group group = {.problem = problem, .plan = plan, .groups = groups};
  const double cost = kNanoseconds * static_cast<double>(plan.groups() * plan.length);
  const size_t threads = useful_threads(run.threads, cost);
  if (plan.groups() > kMaxPartials / 2) {
    const size_t grain = std::max<size_t>(1, kGrain / plan.length);
    parallel_for(threads, div_up(plan.groups(), grain), [&](size_t task, size_t) {
      for (size_t g = task * grain; g < std::min(plan.groups(), (task + 1) * grain); ++g) {
        const ReduceOffsets at = plan.kept.at(g);
        group.write(at, group.state(at, 0, plan.length));
      }
    });
    return;
  }
  // A few groups are cut into parts, which are joined in order.
  State partial[kMaxPartials];
  const size_t wanted = std::min(div_up(plan.length, kGrain), kMaxPartials / plan.groups());
  const size_t length = div_up(plan.length, wanted), parts = div_up(plan.length, length);
  parallel_for(threads, plan.groups() * parts, [&](size_t task, size_t) {
    const size_t first = task % parts * length;
    partial[task] =
        group.state(plan.kept.at(task / parts), first, std::min(length, plan.length - first));
  });
  for (size_t g = 0; g < plan.groups(); ++g) {
    State s = partial[g * parts];
    for (size_t p = 1; p < parts; ++p) s = group.joined(s, partial[g * parts + p]);
    group.write(plan.kept.at(g), s);
  }
}

}  // namespace bnns::impl

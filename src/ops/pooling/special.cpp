// The lists of special.h.
#include "ops/pooling/special.h"

#include "ops/pooling/pooling.h"

namespace bnns::impl {
namespace {

// Planes of up to this many cells are summed in float: they are small enough for an accurate sum.
constexpr size_t kSmallPlane = 1024;

bool is_max(const PoolingProblem& p) {
  return p.kind == PoolingKind::kMax;
}

bool is_average(const PoolingProblem& p) {
  return p.kind == PoolingKind::kAverage || p.kind == PoolingKind::kAverageInside;
}

// Windows of 3 cells at a stride of 2 whose middle cell is always inside the plane.
bool is_3by2(const PoolingAxis& axis) {
  return axis.taps == 3 && axis.stride == 2 && axis.dilation == 1 && axis.pad <= 1 &&
         2 * axis.windows <= axis.pad + axis.cells;
}

bool is_3x3(const PoolingProblem& p) {
  return is_3by2(p.x) && is_3by2(p.y);
}

// Windows of 2 cells at a stride of 2, all of which are inside the plane.
bool is_2by2(const PoolingAxis& axis) {
  return axis.taps == 2 && axis.stride == 2 && axis.dilation == 1 && axis.pad == 0 &&
         2 * axis.windows <= axis.cells;
}

bool is_2x2(const PoolingProblem& p) {
  return is_2by2(p.x) && is_2by2(p.y);
}

bool has_offsets(const PoolingProblem& p) {
  return is_max(p) && p.x.taps <= p.x.cells && p.x.cells <= kWidestOffset;
}

bool is_global_average(const PoolingProblem& p) {
  return is_average(p) && p.is_global() && p.cells() <= kSmallPlane;
}

bool always(const PoolingProblem&) {
  return true;
}

template <class Special>
const Special* general_steps() {
  static constexpr Special kNone = {};
  return &kNone;
}

constexpr PoolingChoice<PoolingForwardSpecial> kForward[] = {
    {"3x3 windows at stride 2",
     [](const PoolingProblem& p) { return (is_max(p) || is_average(p)) && is_3x3(p); },
     pooling_3x3},
    {"2x2 maximum at stride 2", [](const PoolingProblem& p) { return is_max(p) && is_2x2(p); },
     pooling_2x2_max},
    {"global average of small planes", is_global_average, pooling_global_average},
    {"2x2 average at stride 2", [](const PoolingProblem& p) { return is_average(p) && is_2x2(p); },
     pooling_2x2_average},
    {"any window", always, general_steps<PoolingForwardSpecial>},
};

constexpr PoolingChoice<PoolingBackwardSpecial> kBackward[] = {
    {"3x3 maximum at stride 2", [](const PoolingProblem& p) { return has_offsets(p) && is_3x3(p); },
     pooling_3x3_max_backward},
    {"2x2 maximum at stride 2", [](const PoolingProblem& p) { return has_offsets(p) && is_2x2(p); },
     pooling_2x2_max_backward},
    {"3x3 average at stride 2", [](const PoolingProblem& p) { return is_average(p) && is_3x3(p); },
     pooling_3x3_average_backward},
    {"global average of small planes", is_global_average, pooling_global_average_backward},
    {"2x2 average at stride 2", [](const PoolingProblem& p) { return is_average(p) && is_2x2(p); },
     pooling_2x2_average_backward},
    {"any window", always, general_steps<PoolingBackwardSpecial>},
};

template <class Special, size_t kCount>
const PoolingChoice<Special>& first_of(const PoolingChoice<Special> (&choices)[kCount],
                                       const PoolingProblem& problem) {
  for (const PoolingChoice<Special>& choice : choices) {
    if (!choice.accepts(problem)) continue;
    const Special* special = choice.special();
    if (special->takes == nullptr || special->takes(problem.x)) return choice;
  }
  return choices[kCount - 1];
}

}  // namespace

const PoolingChoice<PoolingForwardSpecial>& choose_pooling_forward(const PoolingProblem& problem) {
  return first_of(kForward, problem);
}

const PoolingChoice<PoolingBackwardSpecial>& choose_pooling_backward(
    const PoolingProblem& problem) {
  return first_of(kBackward, problem);
}

}  // namespace bnns::impl

#include "ops/softmax/softmax.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"
#include "ops/random/random.h"

namespace bnns::impl {
namespace {

constexpr size_t kLanes = 64;  // neighbouring rows computed together; whole vectors of any target
constexpr size_t kGrainElements = 4096;
constexpr size_t kSumBlock = 256;  // terms of a partial sum across rows
constexpr float kLowest = -std::numeric_limits<float>::infinity();

// How kernels traverse the rows: one call covers values of one axis, the run, which is the fastest
// axis of a row or, if `across`, an axis of neighbouring rows.
struct Plan {
  bool across = false;
  size_t run = 1;
  AxesOffsets run_stride = {1, 1, 1, 1};
  Axes inside;   // the other axes of a row
  Axes outside;  // the axes that count rows, without the run

  Plan(const Axes& axes, bool may_go_across) {
    across = may_go_across && axes.rank() > 0 && !axes[0].reduced;
    bool has_run = false;
    for (size_t k = 0; k < axes.rank(); ++k) {
      if (!has_run && (across || axes[k].reduced)) {
        has_run = true;
        run = axes[k].extent;
        run_stride = axes[k].stride;
      } else {
        (axes[k].reduced ? inside : outside).push(axes[k]);
      }
    }
  }
  size_t row_length() const { return across ? inside.count() : run * inside.count(); }
  // The offsets i values further along the run.
  AxesOffsets along(AxesOffsets at, size_t i) const {
    for (size_t t = 0; t < kMaxAxesTensors; ++t) at[t] += static_cast<ptrdiff_t>(i) * run_stride[t];
    return at;
  }
};

// Presents a tensor to kernels as contiguous floats, through a buffer where it is not.
class Port {
 public:
  Port(const ConvertKernels& convert, const AxesTensor& tensor, ptrdiff_t stride)
      : convert_(&convert), tensor_(tensor), stride_(stride) {}

  bool direct() const { return tensor_.type == BNNSDataTypeFloat32 && stride_ == 1; }
  float* in_place(ptrdiff_t offset) const { return static_cast<float*>(tensor_.data) + offset; }
  float* fetch(ptrdiff_t offset, size_t n, float* buffer) const {
    if (direct()) return in_place(offset);
    read_values(*convert_, view(offset, n), 0, n, buffer);
    return buffer;
  }
  float* target(ptrdiff_t offset, float* buffer) const {
    return direct() ? in_place(offset) : buffer;
  }
  void flush(ptrdiff_t offset, size_t n, const float* buffer) const {
    if (!direct()) write_values(*convert_, view(offset, n), 0, n, buffer);
  }

 private:
  View view(ptrdiff_t offset, size_t n) const {
    View v;
    const auto bytes = static_cast<ptrdiff_t>(type_bytes(tensor_.type));
    v.data = static_cast<char*>(tensor_.data) + offset * bytes;
    v.type = tensor_.type;
    v.rank = 1;
    v.extent[0] = v.count = n;
    v.stride[0] = static_cast<size_t>(stride_);
    v.scaling = tensor_.scaling;
    return v;
  }

  const ConvertKernels* convert_;
  AxesTensor tensor_;
  ptrdiff_t stride_;
};

// Calls body(offsets, n) for the pieces of one row, which have at most `limit` values each.
template <class Body>
void for_pieces(const Plan& plan, const AxesOffsets& row, size_t limit, const Body& body) {
  for (size_t j = 0; j < plan.inside.count(); ++j) {
    const AxesOffsets start = plan.inside.at(j, row);
    for (size_t i = 0; i < plan.run; i += limit) {
      body(plan.along(start, i), std::min(limit, plan.run - i));
    }
  }
}

// Calls body(offsets of a row, index of the row) for every row; if plan.across, body(offsets of the
// first of n neighbouring rows, n) for every block of rows.
template <class Body>
void for_rows(const SoftmaxRun& run, const Plan& plan, const Body& body) {
  const size_t blocks = plan.across ? div_up(plan.run, kLanes) : 1;
  const size_t rows = plan.outside.count() * blocks;
  const size_t width = plan.across ? std::min(plan.run, kLanes) : 1;
  const size_t grain = std::max<size_t>(1, kGrainElements / (plan.row_length() * width));
  const double work =
      2.0 * static_cast<double>(rows) * static_cast<double>(plan.row_length() * width);
  parallel_for(useful_threads(run.threads, work), div_up(rows, grain), [&](size_t g, size_t) {
    for (size_t r = g * grain; r < std::min(rows, (g + 1) * grain); ++r) {
      const AxesOffsets at = plan.outside.at(r / blocks);
      const size_t first = r % blocks * kLanes;
      if (plan.across) {
        body(plan.along(at, first), std::min(kLanes, plan.run - first));
      } else {
        body(at, r);
      }
    }
  });
}

struct RowStatistics {
  float max, sum;
};

RowStatistics row_statistics(const SoftmaxKernels& k, const Plan& plan, const AxesOffsets& row,
                             const Port& x, size_t limit, float* buffer) {
  float max = kLowest;
  for_pieces(plan, row, limit, [&](const AxesOffsets& at, size_t n) {
    max = std::max(max, k.max(x.fetch(at[0], n, buffer), n));
  });
  double sum = 0;
  for_pieces(plan, row, limit, [&](const AxesOffsets& at, size_t n) {
    sum += double{k.sum_exp(x.fetch(at[0], n, buffer), n, max)};
  });
  return {.max = max, .sum = static_cast<float>(sum)};
}

struct alignas(64) LaneStatistics {
  float max[kLanes], sum[kLanes];
};

// Sums neighbouring rows, one per lane: add(j, partial) adds element j of every row. Partial sums
// of kSumBlock terms keep long sums accurate.
template <class Add>
void sum_lanes(size_t count, float (&sums)[kLanes], const Add& add) {
  std::fill_n(sums, kLanes, 0.0f);
  for (size_t first = 0; first < count; first += kSumBlock) {
    alignas(64) float partial[kLanes] = {};
    for (size_t j = first; j < std::min(count, first + kSumBlock); ++j) add(j, partial);
    for (size_t i = 0; i < kLanes; ++i) sums[i] += partial[i];
  }
}

void lane_statistics(const SoftmaxKernels& k, const Plan& plan, const AxesOffsets& row,
                     const Port& x, size_t lanes, float* buffer, LaneStatistics& s) {
  std::fill_n(s.max, kLanes, kLowest);
  for (size_t j = 0; j < plan.inside.count(); ++j)
    k.max_into(x.fetch(plan.inside.at(j, row)[0], lanes, buffer), s.max, lanes);
  sum_lanes(plan.inside.count(), s.sum, [&](size_t j, float* partial) {
    k.sum_exp_into(x.fetch(plan.inside.at(j, row)[0], lanes, buffer), s.max, partial, lanes);
  });
}

// Turns the sum into what write_output needs: 1 / sum, or log(sum).
float finish_sum(SoftmaxKind kind, float sum) {
  return kind == SoftmaxKind::kSoftmax ? 1 / sum : std::log(sum);
}

void write_output(const SoftmaxKernels& k, SoftmaxKind kind, const float* x, float* y, size_t n,
                  float max, float finished) {
  (kind == SoftmaxKind::kSoftmax ? k.exp_scaled : k.subtract)(x, y, n, max, finished);
}

void write_output(const SoftmaxKernels& k, SoftmaxKind kind, const float* x, float* y, size_t n,
                  const LaneStatistics& s) {
  (kind == SoftmaxKind::kSoftmax ? k.exp_scaled_each : k.subtract_each)(x, y, n, s.max, s.sum);
}

}  // namespace

void run_softmax(const SoftmaxRun& run, SoftmaxKind kind, const Axes& axes,
                 const AxesTensor& x_tensor, const AxesTensor& y_tensor) {
  const Plan plan(axes, true);
  const SoftmaxKernels& k = *run.kernels;
  const Port x(*run.convert, x_tensor, plan.run_stride[0]);
  const Port y(*run.convert, y_tensor, plan.run_stride[1]);
  const size_t limit = x.direct() && y.direct() ? plan.run : kBlock;
  for_rows(run, plan, [&](const AxesOffsets& row, size_t lanes) {
    alignas(64) float buffer[kBlock], result[kBlock];
    if (plan.across) {
      LaneStatistics s;
      lane_statistics(k, plan, row, x, lanes, buffer, s);
      for (size_t i = 0; i < lanes; ++i) s.sum[i] = finish_sum(kind, s.sum[i]);
      for (size_t j = 0; j < plan.inside.count(); ++j) {
        const AxesOffsets at = plan.inside.at(j, row);
        write_output(k, kind, x.fetch(at[0], lanes, buffer), y.target(at[1], result), lanes, s);
        y.flush(at[1], lanes, result);
      }
      return;
    }
    const RowStatistics s = row_statistics(k, plan, row, x, limit, buffer);
    const float finished = finish_sum(kind, s.sum);
    for_pieces(plan, row, limit, [&](const AxesOffsets& at, size_t n) {
      write_output(k, kind, x.fetch(at[0], n, buffer), y.target(at[1], result), n, s.max, finished);
      y.flush(at[1], n, result);
    });
  });
}

namespace {

// Computes the gradient of one row, or of `lanes` neighbouring ones. y is recomputed if only x is
// given.
struct GradientRows {
  const SoftmaxKernels& k;
  SoftmaxKind kind;
  const Plan& plan;
  bool from_input, accumulate;
  Port known, dy, dx;

  size_t limit() const {
    return !from_input && known.direct() && dy.direct() && dx.direct() ? plan.run : kBlock;
  }

  void row(const AxesOffsets& row) const {
    alignas(64) float known_buffer[kBlock], dy_buffer[kBlock], dx_buffer[kBlock];
    RowStatistics s = {};
    if (from_input) {
      s = row_statistics(k, plan, row, known, limit(), known_buffer);
      s.sum = finish_sum(kind, s.sum);
    }
    const auto output = [&](ptrdiff_t offset, size_t n) -> const float* {
      const float* v = known.fetch(offset, n, known_buffer);
      if (!from_input) return v;
      write_output(k, kind, v, known_buffer, n, s.max, s.sum);
      return known_buffer;
    };
    double exact = 0;
    for_pieces(plan, row, limit(), [&](const AxesOffsets& at, size_t n) {
      const float* delta = dy.fetch(at[1], n, dy_buffer);
      exact += double{kind == SoftmaxKind::kSoftmax ? k.dot(output(at[0], n), delta, n)
                                                    : k.sum(delta, n)};
    });
    const auto total = static_cast<float>(exact);
    const auto gradient =
        kind == SoftmaxKind::kSoftmax ? k.softmax_gradient : k.log_softmax_gradient;
    for_pieces(plan, row, limit(), [&](const AxesOffsets& at, size_t n) {
      const float* delta = dy.fetch(at[1], n, dy_buffer);
      float* to = accumulate ? dx.fetch(at[2], n, dx_buffer) : dx.target(at[2], dx_buffer);
      gradient(output(at[0], n), delta, to, n, total, accumulate);
      dx.flush(at[2], n, dx_buffer);
    });
  }

  void across(const AxesOffsets& row, size_t lanes) const {
    alignas(64) float known_buffer[kLanes], dy_buffer[kLanes], dx_buffer[kLanes];
    LaneStatistics s;
    if (from_input) {
      lane_statistics(k, plan, row, known, lanes, known_buffer, s);
      for (size_t i = 0; i < lanes; ++i) s.sum[i] = finish_sum(kind, s.sum[i]);
    }
    const auto output = [&](ptrdiff_t offset) -> const float* {
      const float* v = known.fetch(offset, lanes, known_buffer);
      if (!from_input) return v;
      write_output(k, kind, v, known_buffer, lanes, s);
      return known_buffer;
    };
    alignas(64) float total[kLanes];
    sum_lanes(plan.inside.count(), total, [&](size_t j, float* partial) {
      const AxesOffsets at = plan.inside.at(j, row);
      const float* delta = dy.fetch(at[1], lanes, dy_buffer);
      if (kind == SoftmaxKind::kSoftmax) {
        k.dot_into(output(at[0]), delta, partial, lanes);
      } else {
        k.sum_into(delta, partial, lanes);
      }
    });
    const auto gradient =
        kind == SoftmaxKind::kSoftmax ? k.softmax_gradient_each : k.log_softmax_gradient_each;
    for (size_t j = 0; j < plan.inside.count(); ++j) {
      const AxesOffsets at = plan.inside.at(j, row);
      const float* delta = dy.fetch(at[1], lanes, dy_buffer);
      float* to = accumulate ? dx.fetch(at[2], lanes, dx_buffer) : dx.target(at[2], dx_buffer);
      gradient(output(at[0]), delta, to, lanes, total, accumulate);
      dx.flush(at[2], lanes, dx_buffer);
    }
  }
};

}  // namespace

void run_softmax_backward(const SoftmaxRun& run, SoftmaxKind kind, const Axes& axes,
                          bool from_input, const float* known, const float* dy, float* dx,
                          bool accumulate) {
  const Plan plan(axes, true);
  const auto port = [&](const float* data, size_t t) {
    return Port(*run.convert, {.data = const_cast<float*>(data)}, plan.run_stride[t]);
  };
  const GradientRows gradient = {.k = *run.kernels,
                                 .kind = kind,
                                 .plan = plan,
                                 .from_input = from_input,
                                 .accumulate = accumulate,
                                 .known = port(known, 0),
                                 .dy = port(dy, 1),
                                 .dx = port(dx, 2)};
  for_rows(run, plan, [&](const AxesOffsets& row, size_t lanes) {
    if (plan.across) {
      gradient.across(row, lanes);
    } else {
      gradient.row(row);
    }
  });
}

namespace {

struct Winner {
  float value = kLowest;
  size_t index = 0;
};

// Calls finish(offsets of the row, its winner) for every row.
template <class Finish>
void find_winners(const SoftmaxRun& run, const Plan& plan, const Port& x,
                  const ActivationCoefficients& parameters, uint64_t stream, const Finish& finish) {
  for_rows(run, plan, [&](const AxesOffsets& row, size_t number) {
    alignas(64) float buffer[kBlock], noise[kBlock];
    const uint64_t first = number * plan.row_length();
    size_t index = 0;
    Winner top;
    for_pieces(plan, row, kBlock, [&](const AxesOffsets& at, size_t n) {
      random_open_units(stream, first + index, n, noise);
      run.gumbel(noise, noise, n, parameters);
      const float* values = x.fetch(at[0], n, buffer);
      for (size_t i = 0; i < n; ++i) {
        const float sum = noise[i] + values[i];
        const bool first_nan = sum != sum && top.value == top.value;
        if (sum > top.value || first_nan) top = {.value = sum, .index = index + i};
      }
      index += n;
    });
    finish(row, top);
  });
}

}  // namespace

void run_gumbel_max(const SoftmaxRun& run, const Axes& axes, float alpha, float beta,
                    uint64_t stream, const AxesTensor& x_tensor, const AxesTensor& y_tensor) {
  const Plan plan(axes, false);
  const Port x(*run.convert, x_tensor, plan.run_stride[0]);
  const Port y(*run.convert, y_tensor, plan.run_stride[1]);
  const auto finish = [&](const AxesOffsets& row, const Winner& top) {
    alignas(64) float buffer[kBlock];
    std::fill_n(buffer, kBlock, top.value);
    for_pieces(plan, row, kBlock, [&](const AxesOffsets& at, size_t n) {
      if (y.direct()) {
        std::fill_n(y.in_place(at[1]), n, top.value);
      } else {
        y.flush(at[1], n, buffer);
      }
    });
  };
  find_winners(run, plan, x, {.alpha = alpha, .beta = beta}, stream, finish);
}

void run_gumbel_index(const SoftmaxRun& run, const Axes& axes, float alpha, float beta,
                      uint64_t stream, const AxesTensor& x_tensor, const AxesTensor& y_tensor) {
  const Plan plan(axes, false);
  const Port x(*run.convert, x_tensor, plan.run_stride[0]);
  const Port y(*run.convert, y_tensor, 1);
  const auto finish = [&](const AxesOffsets& row, const Winner& top) {
    const auto index = static_cast<float>(top.index);
    if (y.direct()) {
      *y.in_place(row[1]) = index;
    } else {
      y.flush(row[1], 1, &index);
    }
  };
  find_winners(run, plan, x, {.alpha = alpha, .beta = beta}, stream, finish);
}

}  // namespace bnns::impl

#include "ops/convolution/plan.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/error.h"

namespace bnns::impl {
namespace {

// Floats that vector loads may read beyond the last row of the buffer.
constexpr size_t kSlack = 64;

// Offsets in the buffer are stored as 32-bit numbers.
void require_buffer(size_t floats) {
  require(floats <= static_cast<size_t>(std::numeric_limits<int32_t>::max()),
          "the buffer of a convolution is ", floats,
          " values for one row of outputs; it must be below 2^31");
}

// An axis towards the small image: output p reads p * stride + r * dilation - before.
PlanAxis to_small(const ConvolutionAxis& a, size_t* tap, ptrdiff_t* shift) {
  for (size_t r = 0; r < a.taps; ++r) {
    tap[r] = r;
    shift[r] = static_cast<ptrdiff_t>(r * a.dilation) - static_cast<ptrdiff_t>(a.before);
  }
  return {.count = a.small,
          .first = 0,
          .spread = 1,
          .source = a.large,
          .step = a.stride,
          .taps = a.taps,
          .tap = tap,
          .shift = shift,
          .period = a.stride / std::gcd(a.stride, a.dilation)};
}

// An axis towards the large image: its outputs are the y with (y + before) % stride == residue of
// tap `first_tap`. With y + before = residue + stride * t, tap r reads
// t - (r * dilation - residue) / stride.
PlanAxis to_large(const ConvolutionAxis& a, size_t first_tap, size_t period, size_t* tap,
                  ptrdiff_t* shift) {
  const size_t residue = first_tap * a.dilation % a.stride;
  const size_t t0 = a.before > residue ? div_up(a.before - residue, a.stride) : 0;
  const size_t end = a.large + a.before;  // of y + before
  const size_t count =
      end > residue + a.stride * t0 ? div_up(end - residue - a.stride * t0, a.stride) : size_t{0};
  const size_t taps = (a.taps - 1 - first_tap) / period + 1;
  for (size_t t = 0; t < taps; ++t) {
    const size_t r = first_tap + (taps - 1 - t) * period;
    tap[t] = r;
    shift[t] =
        static_cast<ptrdiff_t>(t0) - static_cast<ptrdiff_t>((r * a.dilation - residue) / a.stride);
  }
  return {.count = count,
          .first = residue + a.stride * t0 - a.before,
          .spread = a.stride,
          .source = a.small,
          .step = 1,
          .taps = taps,
          .tap = tap,
          .shift = shift,
          .period = 1};
}

// Calls f(t, offset of tap t) for runs that are stored one after the other, for n outputs each; tap
// 0 has offset 0. The time is proportional to the taps, however many runs there are.
template <class F>
void for_places(const PlanAxis& axis, size_t n, const F& f) {
  size_t start = 0;
  for (size_t run = 0; run < axis.runs(); ++run) {
    for (size_t t = run; t < axis.taps; t += axis.period) f(t, start + axis.place(t));
    start += n + axis.reach(run);
  }
}

// Lets taps share runs, or gives each tap its own where taps are so far apart that the halos of
// shared runs would take more room. Returns the length of all runs.
size_t choose_runs(PlanAxis& axis, size_t n) {
  const size_t shared = axis.start(axis.runs(), n);
  const size_t apart = checked_mul(axis.taps, n, "the rows of a convolution's buffer");
  if (shared <= apart) return shared;
  axis.period = axis.taps;
  return apart;
}

// The largest number of output rows that need at most `limit` source rows per channel, or 1.
size_t rows_within(const PlanAxis& y, size_t limit) {
  const size_t halo = y.start(y.runs(), 0);
  const size_t shared = limit > halo ? (limit - halo) / y.runs() : 0;
  return std::clamp<size_t>(std::max(shared, limit / y.taps), 1, y.count);
}

// The output rows of a block, at most `most`. With one tap blocks share no source rows and may have
// any size: one that makes whole tiles is preferred. Otherwise all blocks get about equally many.
size_t rows_of_block(const ConvolutionJob& job, size_t most, size_t tile) {
  for (size_t rows = most; job.y.taps == 1 && tile > 1 && rows > most / 2; --rows)
    if (rows * job.x.count % tile == 0) return rows;
  return div_up(job.y.count, div_up(job.y.count, most));
}

// From this many output channels per group on, the kernel that packs columns is used.
constexpr size_t kManyOutputs = 16;

struct Choice {
  ConvolutionChoice kernels;
  bool (*accepts)(const ConvolutionJob& job, size_t outputs);
};

constexpr Choice kChoices[] = {
    // 3 x 3 taps, whose three rows are neighbours in the buffer.
    {ConvolutionChoice::kDepthwise3x3,
     [](const ConvolutionJob& job, size_t outputs) {
       return outputs == 1 && job.x.taps == 3 && job.y.taps == 3 && job.y.runs() == 1 &&
              job.y.place(1) == 1 && job.y.place(2) == 2;
     }},
    {ConvolutionChoice::kManyOutputs,
     [](const ConvolutionJob&, size_t outputs) { return outputs >= kManyOutputs; }},
    {ConvolutionChoice::kAny, [](const ConvolutionJob&, size_t) { return true; }},
};

// Chooses the kernels of a job after lay_out. The choice depends on the output channels of a group,
// not of a grain: all grains use one kernel, so that even the bits of a NaN do not depend on the
// number of threads.
ConvolutionChoice choose(const ConvolutionJob& job, size_t outputs) {
  return std::find_if(std::begin(kChoices), std::end(kChoices),
                      [&](const Choice& choice) { return choice.accepts(job, outputs); })
      ->kernels;
}

}  // namespace

ConvolutionPlan::ConvolutionPlan(const Memory& memory, const ConvolutionGeometry& g,
                                 ConvolutionDirection direction, const Limits& limits) {
  const size_t channels = limits.channels;
  const size_t depth = checked_mul(channels, g.taps(), "the depth of a convolution");
  const bool large = direction == ConvolutionDirection::kToLarge;
  // Towards the small image the buffer has at least one value per term, so that a kernel that is
  // too large is refused here, before memory in proportion to it is allocated.
  if (!large) require_buffer(checked_add(depth, kSlack, "the depth of a convolution"));
  const auto period = [&](const ConvolutionAxis& a) {
    return large ? a.stride / std::gcd(a.stride, a.dilation) : 1;
  };
  const size_t ny = std::min(g.y.taps, period(g.y)), nx = std::min(g.x.taps, period(g.x));
  covers_ = !large || (ny == g.y.stride && nx == g.x.stride);
  tap_ = Array<size_t>(memory, g.y.taps + g.x.taps);
  shift_ = Array<ptrdiff_t>(memory, g.y.taps + g.x.taps);
  axes_ = Array<PlanAxis>(memory, ny + nx);
  size_t at = 0;
  for (size_t a = 0; a < ny + nx; ++a) {
    const ConvolutionAxis& axis = a < ny ? g.y : g.x;
    size_t* tap = tap_.data() + at;
    ptrdiff_t* shift = shift_.data() + at;
    axes_[a] = large ? to_large(axis, a < ny ? a : a - ny, period(axis), tap, shift)
                     : to_small(axis, tap, shift);
    at += axes_[a].taps;
  }
  jobs_ = Array<ConvolutionJob>(memory, ny * nx);
  offset_ = Array<int32_t>(memory, depth);
  size_t offsets = 0;
  const size_t outputs = large ? g.large_channels : g.small_channels;
  for (size_t j = 0; j < ny * nx; ++j) {
    ConvolutionJob job = {.y = axes_[j / nx], .x = axes_[ny + j % nx], .channels = channels};
    job.depth = channels * job.y.taps * job.x.taps;
    job.panels = offsets * outputs * g.groups;
    if (job.y.count > 0 && job.x.count > 0) {
      lay_out(job, limits, offset_.data() + offsets);
      job.choice = choose(job, outputs);
      jobs_[count_++] = job;
    }
    offsets += job.depth;
  }
  if (large && count_ > 1) share(memory, limits);
}

// The axis of the shared buffer: as many outputs as the longest job has, and two taps, the smallest
// and the largest shift of all jobs, whose run contains the values of every tap.
PlanAxis ConvolutionPlan::common_axis(const PlanAxis ConvolutionJob::*axis,
                                      ptrdiff_t* range) const {
  PlanAxis common = jobs_[0].*axis;
  range[0] = common.shift[0], range[1] = common.shift[common.taps - 1];
  for (size_t j = 1; j < count_; ++j) {
    const PlanAxis& a = jobs_[j].*axis;
    common.count = std::max(common.count, a.count);
    range[0] = std::min(range[0], a.shift[0]);
    range[1] = std::max(range[1], a.shift[a.taps - 1]);
  }
  common.taps = 2;
  common.shift = range;
  common.period = 1;
  return common;
}

// Lets the jobs towards the large image read one buffer: all have step 1, and outputs of equal
// index read source values that are close to each other. Jobs keep their own buffers if the halo is
// too large for that.
void ConvolutionPlan::share(const Memory& memory, const Limits& limits) {
  range_ = Array<ptrdiff_t>(memory, 4);
  common_ = jobs_[0];
  common_.y = common_axis(&ConvolutionJob::y, range_.data());
  common_.x = common_axis(&ConvolutionJob::x, range_.data() + 2);
  const size_t halo = common_.y.reach(0), channels = common_.channels;
  common_.pitch = common_.x.count + common_.x.reach(0);
  const size_t limit = limits.floats / channels / common_.pitch;
  if (common_.x.reach(0) > common_.x.count || limit < 2 * halo + 1) return;
  shares_ = true;
  const size_t most = std::min(limit - halo, common_.y.count);
  common_.rows = div_up(common_.y.count, div_up(common_.y.count, most));
  common_.plane = (common_.rows + halo) * common_.pitch;
  buffer_ = channels * common_.plane + kSlack;
  int32_t* offset = offset_.data();
  for (size_t j = 0; j < count_; ++j) {
    ConvolutionJob& job = jobs_[j];
    job.rows = common_.rows;
    job.pitch = common_.pitch;
    job.plane = common_.plane;
    job.offset = offset;
    for (size_t k = 0; k < job.depth; ++k) {
      const size_t tap = k % (job.y.taps * job.x.taps);
      const auto y = static_cast<size_t>(job.y.shift[tap / job.x.taps] - range_[0]);
      const auto x = static_cast<size_t>(job.x.shift[tap % job.x.taps] - range_[2]);
      *offset++ =
          static_cast<int32_t>(k / (job.y.taps * job.x.taps) * job.plane + y * job.pitch + x);
    }
  }
}

void ConvolutionPlan::lay_out(ConvolutionJob& job, const Limits& limits, int32_t* offset) {
  constexpr const char* kWhat = "the buffer of a convolution";
  job.pitch = choose_runs(job.x, job.x.count);
  const size_t row = checked_mul(job.channels, job.pitch, kWhat);
  const size_t most = std::min(rows_within(job.y, limits.floats / row),
                               std::max<size_t>(1, limits.outputs / job.x.count));
  job.rows = rows_of_block(job, most, limits.tile);
  job.plane = checked_mul(choose_runs(job.y, job.rows), job.pitch, kWhat);
  const size_t floats = checked_add(checked_mul(job.channels, job.plane, kWhat), kSlack, kWhat);
  require_buffer(floats);
  buffer_ = std::max(buffer_, floats);
  source_ = std::max(source_, job.x.source);
  job.offset = offset;
  const size_t columns = job.x.taps, taps = job.y.taps * columns;
  for_places(job.x, job.x.count,
             [&](size_t s, size_t column) { offset[s] = static_cast<int32_t>(column); });
  for_places(job.y, job.rows, [&](size_t r, size_t slot) {
    const auto row = static_cast<int32_t>(slot * job.pitch);
    for (size_t s = 0; s < columns; ++s) offset[r * columns + s] = row + offset[s];
  });
  for (size_t k = taps; k < job.depth; ++k)
    offset[k] = static_cast<int32_t>(k / taps * job.plane) + offset[k % taps];
}

}  // namespace bnns::impl

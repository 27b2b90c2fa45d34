// The plan of a pass: which source values each output is made of. A job computes a grid of outputs
//   out(m, first + i * spread, ...) = sum over source channels c and taps t of
//                                     a(m, c, t) * source(c, i * step + shift[t], ...)
// with zeros outside the source. Convolution to the small image is one job. The other way splits
// into one job per residue of the position modulo the stride, each with its own subset of taps and
// step 1, so that no zero between taps is multiplied.
// A job copies the source rows that a block of output rows needs into a buffer, padded with zeros
// and with the columns of equal residue modulo `step` side by side. There every (channel, tap) is a
// fixed offset from the output's position: the buffer is the implicit matrix of the product. Jobs
// that read the same rows share one buffer where their taps are close to each other.
// Taps whose source positions differ by a multiple of `step` read the same values, shifted. The
// buffer holds these once, as a "run": one value per output and a halo.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory.h"
#include "ops/convolution/geometry.h"

namespace bnns::impl {

struct PlanAxis {
  size_t count;   // number of outputs
  size_t first;   // position of output 0 in the image
  size_t spread;  // distance between neighbouring outputs
  size_t source;  // extent of the source
  size_t step;    // distance in the source between the values of neighbouring outputs
  size_t taps;
  const size_t* tap;       // tap[t]: index of the job's tap t along R or S
  const ptrdiff_t* shift;  // shift[t]: source position that output 0 reads; increasing
  // Taps t and t + period share a run of the buffer.
  size_t period;

  size_t runs() const { return taps < period ? taps : period; }
  size_t run_of(size_t t) const { return t % period; }
  // place: offset of tap t in its run. reach: length of the halo of a run, the values beyond one
  // per output.
  size_t place(size_t t) const { return static_cast<size_t>(shift[t] - shift[run_of(t)]) / step; }
  size_t reach(size_t run) const { return place(run + (taps - 1 - run) / period * period); }
  // Offset of `run` if the runs for n outputs each are stored one after the other. start(runs(), n)
  // is the length of all of them.
  size_t start(size_t run, size_t n) const {
    size_t at = 0;
    for (size_t r = 0; r < run; ++r) at += n + reach(r);
    return at;
  }
};

// The kernels of a job, chosen when the plan is made: the first in the list of plan.cpp that accept
// the job. Depthwise3x3: one output channel per group and 3 x 3 taps.
enum class ConvolutionChoice : uint8_t { kDepthwise3x3, kManyOutputs, kAny };

struct ConvolutionJob {
  PlanAxis y, x;
  size_t depth;           // terms of a sum: channels * taps
  const int32_t* offset;  // offset in the buffer of each (channel, tap y, tap x)
  size_t channels;        // source channels in the buffer
  size_t rows;            // output rows of a block
  size_t pitch;           // row stride of the buffer
  size_t plane;           // channel stride of the buffer
  size_t panels;          // offset of the job's packed weights
  ConvolutionChoice choice;

  size_t blocks() const { return div_up(y.count, rows); }
};

enum class ConvolutionDirection { kToSmall, kToLarge };

class ConvolutionPlan {
 public:
  struct Limits {
    size_t channels;  // source channels in the buffer
    size_t floats;    // size of the buffer; it is larger if one row of outputs needs more
    size_t outputs;   // outputs of a block per channel, but at least one row
    size_t tile = 1;  // outputs that the kernel computes at a time
  };
  ConvolutionPlan(const Memory& memory, const ConvolutionGeometry& geometry,
                  ConvolutionDirection direction, const Limits& limits);

  size_t jobs() const { return count_; }
  const ConvolutionJob& job(size_t i) const { return jobs_[i]; }
  // Whether all jobs read one buffer, which holds the source rows of the job common().
  bool shares() const { return shares_; }
  const ConvolutionJob& common() const { return common_; }
  // False if no tap reaches some of the outputs: no job writes these.
  bool covers() const { return covers_; }
  // Floats of a buffer that is large enough for every job.
  size_t buffer() const { return buffer_; }
  // Length of the longest source row of any job.
  size_t widest_source() const { return source_; }

 private:
  void lay_out(ConvolutionJob& job, const Limits& limits, int32_t* offset);
  PlanAxis common_axis(const PlanAxis ConvolutionJob::*axis, ptrdiff_t* range) const;
  void share(const Memory& memory, const Limits& limits);

  size_t count_ = 0;
  size_t source_ = 0, buffer_ = 0;
  bool covers_ = true, shares_ = false;
  ConvolutionJob common_ = {};
  Array<ptrdiff_t> range_;
  Array<size_t> tap_;
  Array<ptrdiff_t> shift_;
  Array<PlanAxis> axes_;
  Array<ConvolutionJob> jobs_;
  Array<int32_t> offset_;
};

}  // namespace bnns::impl

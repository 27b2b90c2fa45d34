// How outputs of a product meet their source. A job computes a grid of outputs
//   out(m, first + i * spread, ...) = sum over source channels c and taps t of
//                                     a(m, c, t) * source(c, i * step + shift[t], ...)
// with zeros outside the source. Convolution to the small image is one job. The other way splits
// into one job per residue of the position modulo the stride, each with its own subset of taps and
// step 1, so that no zero between taps is multiplied.
// A job copies the source rows that a block of output rows needs into a buffer, padded with zeros
// and with the columns of equal residue modulo `step` side by side. There every (channel, tap) is a
// fixed offset from the output's position: the buffer is the implicit matrix of the product. Jobs
// of the same rows share it where their taps are close to each other.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/memory.h"
#include "ops/convolution/geometry.h"

namespace bnns::impl {

struct PlanAxis {
  size_t count;   // outputs
  size_t first;   // of them lies here,
  size_t spread;  // the others so far apart
  size_t source;  // extent of the source
  size_t step;    // of the source per output
  size_t taps;
  const size_t* tap;       // by position: index along R or S
  const ptrdiff_t* shift;  // by position: source of output 0, increasing
  // Positions t and t + period share a run of the buffer.
  size_t period;

  size_t runs() const { return taps < period ? taps : period; }
  size_t run_of(size_t t) const { return t % period; }
  // Place of position t in its run, and values a run needs beyond one per output.
  size_t place(size_t t) const { return static_cast<size_t>(shift[t] - shift[run_of(t)]) / step; }
  size_t reach(size_t run) const { return place(run + (taps - 1 - run) / period * period); }
  // Where `run` starts, when runs lie one after the other for n outputs each; runs(): their end.
  size_t start(size_t run, size_t n) const {
    size_t at = 0;
    for (size_t r = 0; r < run; ++r) at += n + reach(r);
    return at;
  }
};

// Which kernels serve a job, chosen with its plan: the first of the list in plan.cpp that accepts
// it. Depthwise3x3: one output channel of a group and 3 x 3 taps.
enum class ConvolutionChoice : uint8_t { kDepthwise3x3, kManyOutputs, kAny };

struct ConvolutionJob {
  PlanAxis y, x;
  size_t depth;           // channels * taps
  const int32_t* offset;  // in the buffer, of (channel, tap y, tap x)
  size_t channels;        // in the buffer
  size_t rows;            // outputs along y of a block
  size_t pitch;           // of rows in the buffer
  size_t plane;           // of channels in the buffer
  size_t panels;          // where its packed weights start
  ConvolutionChoice choice;

  size_t blocks() const { return div_up(y.count, rows); }
};

enum class ConvolutionDirection { kToSmall, kToLarge };

class ConvolutionPlan {
 public:
  struct Limits {
    size_t channels;  // of the source that a buffer holds
    size_t floats;    // of the buffer, if that is enough for one row of outputs
    size_t outputs;   // of a block, if that is enough for one row of outputs
    size_t tile = 1;  // outputs that the kernel takes at a time
  };
  ConvolutionPlan(const Memory& memory, const ConvolutionGeometry& geometry,
                  ConvolutionDirection direction, const Limits& limits);

  size_t jobs() const { return count_; }
  const ConvolutionJob& job(size_t i) const { return jobs_[i]; }
  // Whether all jobs read one buffer, which is filled as for the job common().
  bool shares() const { return shares_; }
  const ConvolutionJob& common() const { return common_; }
  // False if some outputs have no tap at all: no job writes them.
  bool covers() const { return covers_; }
  // Floats, for any job.
  size_t buffer() const { return buffer_; }
  // For rows of any job.
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

#include "ops/convolution/buffer.h"

#include <algorithm>

namespace bnns::impl {
namespace {

struct FirstRow {
  size_t n, channel, y;
};

// Copies `rows` source rows, beginning with `first` and step apart, of `channels` planes into
// consecutive rows of the same planes in the buffer.
void fill_run(const ConvolutionKernels& kernels, const ConvolutionJob& job, const RowReader& source,
              const FirstRow& first, size_t channels, size_t rows, float* to, float* row_scratch) {
  const PlanAxis& x = job.x;
  // One kernel call copies all rows of all planes where the source can be read in place.
  const bool direct = source.is_direct();
  const size_t planes = direct ? channels : 1, at_once = direct ? rows : 1;
  for (size_t c = 0; c < channels; c += planes) {
    for (size_t e = 0; e < rows; e += at_once) {
      const Row row =
          source.read(first.n, first.channel + c, first.y + e * job.y.step, row_scratch);
      float* run = to + c * job.plane + e * job.pitch;
      for (size_t s = 0; s < x.runs(); ++s) {
        const size_t length = x.count + x.reach(s);
        kernels.copy({.from = row.data,
                      .from_plane = source.one().stride[2],
                      .from_row = job.y.step * source.one().stride[1],
                      .from_step = row.step,
                      .planes = planes,
                      .rows = at_once,
                      .first = x.shift[s],
                      .step = x.step,
                      .size = x.source,
                      .to = run,
                      .to_plane = job.plane,
                      .pitch = job.pitch,
                      .columns = length});
        run += length;
      }
    }
  }
}

}  // namespace

bool is_source_itself(const ConvolutionJob& job, const RowReader& source) {
  const auto trivial = [](const PlanAxis& a) {
    return a.taps == 1 && a.shift[0] == 0 && a.step == 1 && a.source == a.count;
  };
  return source.is_direct() && source.one().stride[0] == 1 && trivial(job.y) && trivial(job.x);
}

bool is_depthwise_source(const ConvolutionKernels& kernels, const ConvolutionJob& job,
                         const RowReader& source) {
  return job.choice == ConvolutionChoice::kDepthwise3x3 && source.is_direct() &&
         source.one().stride[0] == 1 && job.y.step == 1 && job.x.step == 1 &&
         job.x.source >= kernels.depthwise_columns;
}

ConvolutionDepthwise depthwise_of_source(const ConvolutionJob& job, const RowReader& source,
                                         size_t n, size_t channel, size_t i0) {
  return {.data = row_of(source.images(), n, channel, 0),
          .plane = source.one().stride[2],
          // The stride of a single row may be too large for addresses of rows beside it.
          .row = job.y.source > 1 ? source.one().stride[1] : 0,
          .rows = job.y.source,
          .columns = job.x.source,
          .first_row = job.y.shift[0] + static_cast<ptrdiff_t>(i0),
          .column = {job.x.shift[0], job.x.shift[1], job.x.shift[2]}};
}

ConvolutionDepthwise depthwise_of_buffer(const ConvolutionJob& job, const float* buffer,
                                         size_t floats) {
  return {.data = buffer,
          .plane = job.plane,
          .row = job.pitch,
          .rows = job.rows + job.y.taps - 1,
          .columns = floats,
          .first_row = 0,
          .column = {job.offset[0], job.offset[1], job.offset[2]}};
}

void fill_buffer(const ConvolutionKernels& kernels, const ConvolutionJob& job,
                 const RowReader& source, size_t n, size_t c0, size_t channels, size_t i0,
                 size_t rows, float* to, float* row_scratch) {
  const PlanAxis& y = job.y;
  float* run = to;
  for (size_t r = 0; r < y.runs(); ++r) {
    const size_t reach = y.reach(r), count = rows + reach;
    const ptrdiff_t first = y.shift[r] + static_cast<ptrdiff_t>(i0 * y.step);
    // Rows [low, high) of the run lie in the source; the others are padding.
    const size_t below = first < 0 ? static_cast<size_t>(-first) : 0;
    const size_t low = std::min(count, div_up(below, y.step));
    const auto start = static_cast<size_t>(first + static_cast<ptrdiff_t>(low * y.step));
    const size_t high =
        start < y.source ? std::min(count, low + div_up(y.source - start, y.step)) : low;
    for (size_t c = 0; c < channels; ++c) {
      float* plane = run + c * job.plane;
      std::fill_n(plane, low * job.pitch, 0.0f);
      std::fill_n(plane + high * job.pitch, (count - high) * job.pitch, 0.0f);
    }
    fill_run(kernels, job, source, {n, c0, start}, channels, high - low, run + low * job.pitch,
             row_scratch);
    run += (job.rows + reach) * job.pitch;
  }
}

}  // namespace bnns::impl

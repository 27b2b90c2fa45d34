#include "ops/top_k/top_k.h"

#include <algorithm>

#include "core/checked.h"
#include "core/parallel.h"
#include "ops/convert/blocks.h"

namespace bnns::impl {
namespace {

constexpr size_t kGrain = 16384;  // values of a grain, about
// Cost of a value that is compared, of a best one that is sorted in and written, of a row.
constexpr double kNanoseconds = 0.1, kBestNanoseconds = 20, kRowNanoseconds = 30;
constexpr size_t kStretch = 64;  // values of neighbouring rows that are copied before they are read

template <class T>
T* at(const AxesTensor& tensor, ptrdiff_t offset) {
  return static_cast<T*>(tensor.data) + offset;
}

// n values that are `stride` apart, as contiguous floats: where they are, or in the buffer.
const float* floats(const ConvertKernels& convert, const AxesTensor& tensor, ptrdiff_t offset,
                    ptrdiff_t stride, size_t n, float* buffer) {
  if (tensor.type == BNNSDataTypeFloat32 && stride == 1) return at<const float>(tensor, offset);
  const bool backwards = stride < 0;
  if (backwards) offset += static_cast<ptrdiff_t>(n - 1) * stride;
  const auto bytes = static_cast<ptrdiff_t>(type_bytes(tensor.type));
  View view;
  view.data = at<char>(tensor, offset * bytes);
  view.type = tensor.type;
  view.rank = 1;
  view.extent[0] = view.count = n;
  view.stride[0] = static_cast<size_t>(backwards ? -stride : stride);
  read_values(convert, view, 0, n, buffer);
  if (backwards) std::reverse(buffer, buffer + n);
  return buffer;
}

// Calls body(floats, n, index of the first one) for the pieces of a row; false from it ends that.
template <class Body>
void for_pieces(const TopKRun& run, const TopKProblem& p, ptrdiff_t row, const Body& body) {
  const AxesTensor& in = p.tensor[kTopKIn];
  const ptrdiff_t stride = p.along[kTopKIn];
  const bool direct = in.type == BNNSDataTypeFloat32 && stride == 1;
  const size_t limit = direct ? p.length : kBlock;
  alignas(64) float buffer[kBlock];
  for (size_t i = 0; i < p.length; i += limit) {
    const size_t n = std::min(limit, p.length - i);
    const ptrdiff_t offset = row + static_cast<ptrdiff_t>(i) * stride;
    if (!body(floats(*run.convert, in, offset, stride, n, buffer), n, i)) return;
  }
}

template <class T>
void copy_chosen(const uint64_t* best, size_t k, const T* in, ptrdiff_t in_stride, T* out,
                 ptrdiff_t out_stride) {
  for (size_t j = 0; j < k; ++j)
    out[static_cast<ptrdiff_t>(j) * out_stride] =
        in[static_cast<ptrdiff_t>(index_of(best[j])) * in_stride];
}

template <class T>
void write_indices(const uint64_t* best, size_t k, T* out, ptrdiff_t stride) {
  for (size_t j = 0; j < k; ++j)
    out[static_cast<ptrdiff_t>(j) * stride] = static_cast<T>(index_of(best[j]));
}

void write_row(const TopKProblem& p, const AxesOffsets& row, const uint64_t* best) {
  const AxesTensor &in = p.tensor[kTopKIn], &values = p.tensor[kTopKValues];
  const AxesTensor& indices = p.tensor[kTopKIndices];
  const ptrdiff_t from = row[kTopKIn], to = row[kTopKValues], place = row[kTopKIndices];
  const auto copy = [&]<class T>(T) {
    copy_chosen(best, p.k, at<const T>(in, from), p.along[kTopKIn], at<T>(values, to),
                p.along[kTopKValues]);
  };
  const auto write = [&]<class T>(T) {
    write_indices(best, p.k, at<T>(indices, place), p.along[kTopKIndices]);
  };
  if (type_bytes(values.type) == sizeof(uint32_t)) {
    copy(uint32_t{});
  } else {
    copy(uint16_t{});
  }
  if (indices.data == nullptr) return;
  switch (type_bytes(indices.type)) {
    case 1:
      return write(uint8_t{});
    case 2:
      return write(uint16_t{});
    case 4:
      return write(uint32_t{});
    default:
      return write(uint64_t{});
  }
}

size_t threads_for(const TopKRun& run, const TopKProblem& p, double best_nanoseconds) {
  const auto rows = static_cast<double>(p.rows.count());
  const double row = kRowNanoseconds + kNanoseconds * static_cast<double>(p.length) +
                     best_nanoseconds * static_cast<double>(p.k);
  return useful_threads(run.threads, rows * row);
}

size_t rows_of_grain(size_t length) {
  return std::max<size_t>(1, kGrain / length);
}

// Rows one by one; for long lists of the best, every worker has its part of `memory`.
void select_rows(const TopKRun& run, const Memory& memory, const TopKProblem& p) {
  const size_t rows = p.rows.count(), grain = rows_of_grain(p.length);
  const size_t threads = threads_for(run, p, kBestNanoseconds);
  const size_t room = Selection::is_sorted(p.k) ? 0 : Selection::capacity(p.k);
  const Array<uint64_t> lists =
      room == 0 ? Array<uint64_t>() : Array<uint64_t>(memory, threads * room);
  parallel_for(threads, div_up(rows, grain), [&](size_t g, size_t worker) {
    uint64_t sorted[Selection::kMostSorted];
    for (size_t r = g * grain; r < std::min(rows, (g + 1) * grain); ++r) {
      const AxesOffsets row = p.rows.at(r);
      Selection selection(p.k, room == 0 ? sorted : lists.data() + worker * room);
      for_pieces(run, p, row[kTopKIn], [&](const float* x, size_t n, size_t first) {
        run.kernels->largest(x, n, first, selection);
        return true;
      });
      write_row(p, row, selection.finish());
    }
  });
}

// Up to kRowsAcross rows whose first values lie along the fastest axis.
void select_block(const TopKRun& run, const TopKProblem& p, const AxesOffsets& first, size_t rows) {
  const AxesTensor& in = p.tensor[kTopKIn];
  const ptrdiff_t stride = p.along[kTopKIn], next = p.rows[0].stride[kTopKIn];
  uint64_t lists[kRowsAcross][Selection::kMostSorted];
  Selection selections[kRowsAcross];
  for (size_t r = 0; r < rows; ++r) selections[r] = Selection(p.k, lists[r]);
  const bool direct =
      in.type == BNNSDataTypeFloat32 && next == 1 && stride > 0 && rows == kRowsAcross;
  alignas(64) float buffer[kStretch * kRowsAcross] = {};
  for (size_t i = 0; i < p.length; i += kStretch) {
    const size_t n = std::min(kStretch, p.length - i);
    const ptrdiff_t offset = first[kTopKIn] + static_cast<ptrdiff_t>(i) * stride;
    if (direct) {
      run.kernels->largest_across(at<const float>(in, offset), static_cast<size_t>(stride), n, i,
                                  rows, selections);
      continue;
    }
    for (size_t j = 0; j < n; ++j) {
      float* to = buffer + j * kRowsAcross;
      const float* from =
          floats(*run.convert, in, offset + static_cast<ptrdiff_t>(j) * stride, next, rows, to);
      if (from != to) std::copy_n(from, rows, to);
    }
    run.kernels->largest_across(buffer, kRowsAcross, n, i, rows, selections);
  }
  for (size_t r = 0; r < rows; ++r) {
    AxesOffsets row = first;
    for (size_t t = 0; t < kMaxAxesTensors; ++t)
      row[t] += static_cast<ptrdiff_t>(r) * p.rows[0].stride[t];
    write_row(p, row, selections[r].finish());
  }
}

void select_across(const TopKRun& run, const TopKProblem& p) {
  const size_t columns = p.rows[0].extent, blocks = div_up(columns, kRowsAcross);
  const size_t count = p.rows.count() / columns * blocks;
  const size_t grain = div_up(rows_of_grain(p.length), kRowsAcross);
  parallel_for(threads_for(run, p, kBestNanoseconds), div_up(count, grain), [&](size_t g, size_t) {
    for (size_t b = g * grain; b < std::min(count, (g + 1) * grain); ++b) {
      const size_t first = b % blocks * kRowsAcross;
      select_block(run, p, p.rows.at(b / blocks * columns + first),
                   std::min(kRowsAcross, columns - first));
    }
  });
}

// Rows side by side are read together if their neighbouring values are closer than those of a row.
bool goes_across(const TopKProblem& p) {
  constexpr size_t kFewColumns = 4;
  if (!Selection::is_sorted(p.k) || p.rows.rank() == 0) return false;
  const ptrdiff_t next = p.rows[0].stride[kTopKIn], along = p.along[kTopKIn];
  return p.rows[0].extent >= kFewColumns && next > 0 && next < (along < 0 ? -along : along);
}

// An index as it is stored; negative ones become larger than any length.
uint64_t read_index(const AxesTensor& tensor, ptrdiff_t offset) {
  switch (tensor.type) {
    case BNNSDataTypeInt8:
      return static_cast<uint64_t>(int64_t{*at<const int8_t>(tensor, offset)});
    case BNNSDataTypeInt16:
      return static_cast<uint64_t>(int64_t{*at<const int16_t>(tensor, offset)});
    case BNNSDataTypeInt32:
      return static_cast<uint64_t>(int64_t{*at<const int32_t>(tensor, offset)});
    case BNNSDataTypeUInt8:
      return *at<const uint8_t>(tensor, offset);
    case BNNSDataTypeUInt16:
      return *at<const uint16_t>(tensor, offset);
    case BNNSDataTypeUInt32:
      return *at<const uint32_t>(tensor, offset);
    default:
      return *at<const uint64_t>(tensor, offset);
  }
}

[[noreturn]] void fail_index(const AxesTensor& test, uint64_t index, size_t row, size_t length) {
  const char* rule = " is not an index of the axis, which has ";
  const bool is_unsigned = test.type == BNNSDataTypeUInt64;
  if (is_unsigned) fail("test_indices of row ", row, " is ", index, "; that", rule, length);
  fail("test_indices of row ", row, " is ", static_cast<int64_t>(index), "; that", rule, length);
}

void check_indices(const TopKProblem& p) {
  AxesWalker walker(p.rows, 0);
  for (size_t row = 0; row < p.rows.count(); ++row, walker.advance(1)) {
    const uint64_t index = read_index(p.tensor[kInTopKTest], walker.offsets()[kInTopKTest]);
    if (index >= p.length) fail_index(p.tensor[kInTopKTest], index, row, p.length);
  }
}

bool is_in_top_k(const TopKRun& run, const TopKProblem& p, const AxesOffsets& row) {
  const auto index = static_cast<ptrdiff_t>(read_index(p.tensor[kInTopKTest], row[kInTopKTest]));
  float buffer;
  const float tested = *floats(*run.convert, p.tensor[kTopKIn],
                               row[kTopKIn] + index * p.along[kTopKIn], 1, 1, &buffer);
  if (tested != tested) return true;  // nothing is above NaN
  size_t above = 0;
  for_pieces(run, p, row[kTopKIn], [&](const float* x, size_t n, size_t) {
    above += run.kernels->count_above(x, n, tested);
    return above < p.k;
  });
  return above < p.k;
}

}  // namespace

void run_top_k(const TopKRun& run, const Memory& memory, const TopKProblem& problem) {
  if (goes_across(problem)) return select_across(run, problem);
  select_rows(run, memory, problem);
}

void run_in_top_k(const TopKRun& run, const TopKProblem& problem) {
  check_indices(problem);
  const size_t rows = problem.rows.count(), grain = rows_of_grain(problem.length);
  parallel_for(threads_for(run, problem, 0), div_up(rows, grain), [&](size_t g, size_t) {
    for (size_t r = g * grain; r < std::min(rows, (g + 1) * grain); ++r) {
      const AxesOffsets row = problem.rows.at(r);
      *at<uint8_t>(problem.tensor[kInTopKOut], row[kInTopKOut]) = is_in_top_k(run, problem, row);
    }
  });
}

}  // namespace bnns::impl

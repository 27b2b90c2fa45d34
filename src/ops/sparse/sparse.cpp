#include "ops/sparse/sparse.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "core/checked.h"
#include "core/parallel.h"

namespace bnns::impl {
namespace {

constexpr size_t kColumns = 512;          // columns that are transposed at a time
constexpr double kTurnNanoseconds = 0.5;  // of a value
// Of a stored element: of a block, and of each sample of it.
constexpr double kBlockNanoseconds = 0.2, kSampleNanoseconds = 0.02;

bool is_row(const View& view) {
  return view.is_float() && view.is_dense();
}

// Calls body(row, column) for each element that is stored, in order.
template <class Body>
void for_places(const SparsePack& pack, const Body& body) {
  const size_t columns = pack.shape().columns;
  size_t row = 0, row_begin = 0;
  for (size_t i = 0; i < pack.shape().place_words(); ++i) {
    for (uint64_t word = pack.places()[i]; word != 0; word &= word - 1) {
      const size_t element = i * 64 + static_cast<size_t>(std::countr_zero(word));
      for (; element - row_begin >= columns; row_begin += columns) ++row;
      body(row, element - row_begin);
    }
  }
}

}  // namespace

// Samples that are computed together, and the power of two for which there is a kernel. The space
// for their x begins at `first` samples' worth.
struct SparseFullyConnectedOp::Block {
  size_t samples, width;
};

SparseFullyConnectedOp::SparseFullyConnectedOp(const Memory& memory, size_t threads,
                                               const SparseProblem& problem, const SparsePack& pack,
                                               const Scaling& scaling)
    : memory_(memory),
      threads_(threads),
      problem_(problem),
      in_direct_(is_row(problem.in)),
      out_direct_(is_row(problem.out)),
      nonzeros_(pack.shape().nonzeros),
      start_(memory, div_up(problem.out_size, kSparseGroup)),
      count_(memory, start_.size()),
      place_(memory, start_.size() * kSparseGroup),
      scratch_(memory) {
  Array<uint32_t> count(memory, problem.out_size);
  std::fill_n(count.data(), count.size(), 0);
  for_places(pack, [&](size_t r, size_t) { ++count[r]; });
  const size_t total = sort_rows(count);
  value_ = Array<float>(memory, total);
  std::fill_n(value_.data(), total, 0.0f);
  column_ = Array<uint64_t>(memory, total / 2);
  std::fill_n(column_.data(), total / 2, uint64_t{problem.in_size} << 32 | problem.in_size);
  View stored;
  stored.data = pack.values();
  stored.type = pack.shape().type;
  stored.scaling = scaling;
  stored.rank = 1;
  stored.extent[0] = stored.count = stored.span = nonzeros_;
  stored.stride[0] = 1;
  Array<float> values(memory, nonzeros_);
  if (nonzeros_ > 0) read_values(*convert_, stored, 0, nonzeros_, values.data());
  // Where the next element of each row goes.
  Array<size_t> next(memory, problem.out_size);
  for (size_t k = 0; k < place_.size(); ++k) {
    const size_t row = k / kMostSparseRows * kMostSparseRows + place_[k];
    if (row < next.size()) next[row] = start_[k / kSparseGroup] + k % kSparseGroup;
  }
  size_t from = 0;
  for_places(pack, [&](size_t r, size_t c) {
    const size_t to = next[r], shift = to % 2 * 32;
    value_[to] = values[from++];
    column_[to / 2] = (column_[to / 2] & ~(uint64_t{UINT32_MAX} << shift)) | uint64_t{c} << shift;
    next[r] += kSparseGroup;
  });
}

// Sorts each 64 rows by their number of elements; returns the number of elements with all that fill
// up groups.
size_t SparseFullyConnectedOp::sort_rows(const Array<uint32_t>& count) {
  size_t total = 0;
  for (size_t first = 0; first < place_.size(); first += kMostSparseRows) {
    const auto elements = [&](size_t place) {
      return first + place < count.size() ? count[first + place] : 0;
    };
    uint8_t* begin = place_.data() + first;
    uint8_t* end = begin + std::min(kMostSparseRows, place_.size() - first);
    std::iota(begin, end, uint8_t{0});
    std::sort(begin, end, [&](uint8_t a, uint8_t b) {
      return elements(a) != elements(b) ? elements(a) > elements(b) : a < b;
    });
    for (const uint8_t* longest = begin; longest < end; longest += kSparseGroup) {
      const auto group = static_cast<size_t>(longest - place_.data()) / kSparseGroup;
      start_[group] = total;
      count_[group] = elements(*longest);
      total += size_t{count_[group]} * kSparseGroup;
    }
  }
  return total;
}

void SparseFullyConnectedOp::own_bias(const View& bias) {
  own_bias_ = Array<float>(memory_, problem_.out_size);
  read_values(*convert_, collapsed(bias), 0, problem_.out_size, own_bias_.data());
}

void SparseFullyConnectedOp::use_bias(const View& bias) {
  bias_ = collapsed(bias);
}

const float* SparseFullyConnectedOp::ready_bias(Scratch& scratch) const {
  if (bias_.data == nullptr) return own_bias_.data();
  if (is_row(bias_)) return static_cast<const float*>(bias_.data);
  read_values(*convert_, bias_, 0, problem_.out_size, scratch.bias.data());
  return scratch.bias.data();
}

SparseFullyConnectedOp::Block SparseFullyConnectedOp::block_at(size_t first, size_t samples) const {
  const size_t most = kernels_->most_samples, n = std::min(samples - first, most);
  // Two and three samples take no less time than four.
  return {n, n == 1 ? 1 : std::min(most, std::max<size_t>(std::bit_ceil(n), 4))};
}

size_t SparseFullyConnectedOp::turned_floats(size_t samples) const {
  return checked_mul(samples + kernels_->most_samples, problem_.in_size + 1, "an internal buffer");
}

void SparseFullyConnectedOp::turn(const float* x, size_t x_step, size_t samples,
                                  float* turned) const {
  const size_t in_size = problem_.in_size, pieces = div_up(in_size, kColumns);
  const size_t most = kernels_->most_samples;
  const double work = kTurnNanoseconds * static_cast<double>(samples * in_size);
  parallel_for(useful_threads(threads_, work), div_up(samples, most) * pieces,
               [&](size_t g, size_t) {
                 const size_t first = g / pieces * most, column = g % pieces * kColumns;
                 const Block b = block_at(first, samples);
                 float* to = turned + first * (in_size + 1);
                 kernels_->transpose(x + first * x_step, x_step, b.samples, b.width, column,
                                     std::min(kColumns, in_size - column), to + column * b.width);
                 if (column == 0) std::fill_n(to + in_size * b.width, b.width, 0.0f);
               });
}

void SparseFullyConnectedOp::multiply(const SparseRows& w, const float* turned, size_t samples,
                                      float* y, size_t y_step) const {
  const size_t groups = div_up(problem_.out_size, kMostSparseRows), most = kernels_->most_samples;
  const size_t blocks = div_up(samples, most);
  const FusedActivation& f = problem_.activation;
  const bool on_rows = f.is_element() && !f.is_identity();
  const double work = (kBlockNanoseconds * static_cast<double>(blocks) +
                       kSampleNanoseconds * static_cast<double>(samples)) *
                          static_cast<double>(nonzeros_) +
                      f.nanoseconds() * static_cast<double>(samples * problem_.out_size);
  parallel_for(useful_threads(threads_, work), blocks * groups, [&](size_t g, size_t) {
    const size_t first = g / groups * most, row = g % groups * kMostSparseRows;
    const size_t rows = std::min(kMostSparseRows, problem_.out_size - row);
    const Block b = block_at(first, samples);
    kernels_->rows[std::countr_zero(b.width)](w, row, rows, turned + first * (problem_.in_size + 1),
                                              b.samples, y + first * y_step, y_step);
    for (size_t s = first; on_rows && s < first + b.samples; ++s)
      f.forward(y + s * y_step + row, rows);
  });
}

void SparseFullyConnectedOp::grow(Scratch& s, size_t samples) const {
  s.turned.grow(memory_, turned_floats(samples));
  const auto buffer = [&](Array<float>& array, size_t width) {
    array.grow(memory_, checked_mul(samples, width, "an internal buffer"));
  };
  if (!in_direct_) buffer(s.x, problem_.in_size);
  if (!out_direct_) buffer(s.y, problem_.out_size);
  if (bias_.data != nullptr && !is_row(bias_)) s.bias.grow(memory_, problem_.out_size);
}

void SparseFullyConnectedOp::forward(const Batch& in, const Batch& out, uint64_t random_stream) {
  const size_t chunk = std::min(in.size, kChunk);
  const auto scratch = scratch_.take();
  grow(*scratch, chunk);
  const SparseRows w = {.value = value_.data(),
                        .column = column_.data(),
                        .start = start_.data(),
                        .count = count_.data(),
                        .place = place_.data(),
                        .bias = ready_bias(*scratch)};
  const size_t x_step = in_direct_ ? in.step : problem_.in_size;
  const size_t y_step = out_direct_ ? out.step : problem_.out_size;
  const FusedActivation& f = problem_.activation;
  for (size_t first = 0; first < in.size; first += chunk) {
    const size_t n = std::min(chunk, in.size - first);
    const float* x = in_direct_ ? in.at<float>(first) : scratch->x.data();
    float* y = out_direct_ ? out.at<float>(first) : scratch->y.data();
    if (!in_direct_) {
      read_values(*convert_, whole(in.part(first, n)), 0, n * problem_.in_size, scratch->x.data());
    }
    turn(x, x_step, n, scratch->turned.data());
    multiply(w, scratch->turned.data(), n, y, y_step);
    // Functions that are not of one element need whole rows, or draw numbers in the order of
    // elements.
    if (!f.is_element())
      f.forward(threads_, with_samples(packed(problem_.out), y, n, y_step), random_stream + first);
    if (!out_direct_)
      write_values(*convert_, whole(out.part(first, n)), 0, n * problem_.out_size, y);
  }
}

void SparseFullyConnectedOp::reserve(size_t batch, size_t callers) {
  const size_t samples = std::clamp<size_t>(batch, 1, kChunk);
  scratch_.reserve(callers, [&](Scratch& s) { grow(s, samples); });
}

}  // namespace bnns::impl

#include "ops/sparse/sparse.h"

#include <algorithm>
#include <bit>

#include "core/checked.h"
#include "core/parallel.h"

namespace bnns::impl {
namespace {

constexpr size_t kColumns = 512;  // columns that are transposed at a time
constexpr double kTurnNanoseconds = 0.5, kNanoseconds = 0.15;  // of a value, of a product

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

// Samples that are computed together. The space for their x begins at `first` samples' worth.
struct SparseFullyConnectedOp::Block {
  size_t samples;
  size_t vectors;  // 0: one sample that is not transposed
  size_t width;    // samples there is space for
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
      start_(memory, problem.out_size),
      count_(memory, problem.out_size),
      scratch_(memory) {
  const size_t columns = problem.in_size, lanes = kernels_->lanes;
  std::fill_n(count_.data(), problem.out_size, 0);
  for_places(pack, [&](size_t r, size_t) { ++count_[r]; });
  size_t total = 0;
  for (size_t r = 0; r < problem.out_size; ++r) {
    start_[r] = total;
    total += div_up(count_[r], lanes) * lanes;
  }
  value_ = Array<float>(memory, std::max(total, nonzeros_));
  column_ = Array<int32_t>(memory, total);
  std::fill_n(column_.data(), total, static_cast<int32_t>(columns));
  // All values are converted to the end of the array, from where they move to their rows.
  View stored;
  stored.data = pack.values();
  stored.type = pack.shape().type;
  stored.scaling = scaling;
  stored.rank = 1;
  stored.extent[0] = stored.count = stored.span = nonzeros_;
  stored.stride[0] = 1;
  float* converted = value_.data() + (value_.size() - nonzeros_);
  if (nonzeros_ > 0) read_values(*convert_, stored, 0, nonzeros_, converted);
  size_t row = 0, to = 0, from = 0;
  const auto finish_row = [&] {
    const size_t end = row + 1 < problem.out_size ? start_[row + 1] : total;
    while (to < end) value_[to++] = 0;
    ++row;
  };
  for_places(pack, [&](size_t r, size_t c) {
    while (r > row) finish_row();
    column_[to] = static_cast<int32_t>(c);
    value_[to++] = converted[from++];
  });
  while (row < problem.out_size) finish_row();
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

// The blocks of a chunk are as large as possible; samples that would fill less than a quarter of a
// vector are computed one by one.
SparseFullyConnectedOp::Block SparseFullyConnectedOp::block_at(size_t first, size_t samples) const {
  const size_t lanes = kernels_->lanes, left = samples - first;
  if (left == 1 || left * 4 <= lanes) return {1, 0, 1};
  const size_t vectors = left > lanes ? 2 : 1;
  return {std::min(left, vectors * lanes), vectors, vectors * lanes};
}

size_t SparseFullyConnectedOp::turned_floats(size_t samples) const {
  return checked_mul(samples + 2 * kernels_->lanes, problem_.in_size + 1, "an internal buffer");
}

void SparseFullyConnectedOp::turn(const float* x, size_t x_step, size_t samples,
                                  float* turned) const {
  const size_t in_size = problem_.in_size, pieces = div_up(in_size, kColumns);
  const Block usual = block_at(0, samples);
  const size_t blocks = usual.vectors == 0 ? samples : div_up(samples, usual.samples);
  const double work = kTurnNanoseconds * static_cast<double>(samples * in_size);
  const auto turn_piece = [&](size_t first, const Block& b, size_t piece) {
    const size_t column = piece * kColumns, n = std::min(kColumns, in_size - column);
    float* to = turned + first * (in_size + 1);
    if (b.vectors > 0) {
      kernels_->transpose(x + first * x_step, x_step, b.samples, b.width, column, n,
                          to + column * b.width);
      return;
    }
    std::copy_n(x + first * x_step + column, n, to + column);
    if (piece + 1 == pieces) to[in_size] = 0;
  };
  parallel_for(useful_threads(threads_, work), blocks * pieces, [&](size_t g, size_t) {
    const size_t first = g / pieces * usual.samples;
    // The last block may be several single samples.
    const Block b = block_at(first, samples);
    const size_t end = std::min(samples, first + usual.samples);
    for (size_t s = first; s < end; s += b.samples) turn_piece(s, b, g % pieces);
  });
}

void SparseFullyConnectedOp::multiply(const SparseRows& w, const float* turned, size_t samples,
                                      float* y, size_t y_step) const {
  const size_t groups = div_up(problem_.out_size, kMostSparseRows);
  const Block usual = block_at(0, samples);
  const size_t blocks = usual.vectors == 0 ? samples : div_up(samples, usual.samples);
  const FusedActivation& f = problem_.activation;
  const bool on_rows = f.is_element() && !f.is_identity();
  const double work =
      static_cast<double>(samples) * (kNanoseconds * static_cast<double>(nonzeros_) +
                                      f.nanoseconds() * static_cast<double>(problem_.out_size));
  parallel_for(useful_threads(threads_, work), blocks * groups, [&](size_t g, size_t) {
    const size_t first = g / groups * usual.samples, row = g % groups * kMostSparseRows;
    const size_t rows = std::min(kMostSparseRows, problem_.out_size - row);
    const Block b = block_at(first, samples);
    const size_t end = std::min(samples, first + usual.samples);
    for (size_t s = first; s < end; s += b.samples) {
      const float* x = turned + s * (problem_.in_size + 1);
      if (b.vectors == 0) {
        kernels_->one(w, row, rows, x, y + s * y_step);
      } else {
        kernels_->block[b.vectors - 1](w, row, rows, x, b.samples, y + s * y_step, y_step);
      }
    }
    for (size_t s = first; on_rows && s < end; ++s) f.forward(y + s * y_step + row, rows);
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

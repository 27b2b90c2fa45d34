#include "ops/lstm/pass.h"

#include <algorithm>

#include "ops/random/random.h"

namespace bnns::impl {
namespace {

// Values in a buffer on the stack.
constexpr size_t kPiece = 256;

// Rows of W are lines: panel[k * width + line], k counts columns.
void pack_rows(const void* context, size_t first, size_t count, size_t k0, size_t depth,
               float* panel) {
  const auto& m = *static_cast<const LstmMatrix*>(context);
  const size_t width = m.kernels->nr;
  const auto at = [&](size_t r) {
    const LstmMatrix::Part& part = m.part[r / m.rows];
    return part.data + r % m.rows * part.row + k0 * part.column;
  };
  const LstmMatrix::Part& part = m.part[first / m.rows];
  if (first / m.rows == (first + count - 1) / m.rows) {
    if (part.column == 1)
      return m.kernels->pack_along(at(first), part.row, count, depth, width, panel);
    if (part.row == 1)
      return m.kernels->pack_across(at(first), part.column, count, depth, width, panel);
  }
  for (size_t line = 0; line < width; ++line) {
    const float* from = line < count ? at(first + line) : nullptr;
    const size_t step = line < count ? m.part[(first + line) / m.rows].column : 0;
    for (size_t k = 0; k < depth; ++k)
      panel[k * width + line] = from == nullptr ? 0 : from[k * step];
  }
}

// Columns of W are lines, k counts rows.
void pack_columns(const void* context, size_t first, size_t count, size_t k0, size_t depth,
                  float* panel) {
  const auto& m = *static_cast<const LstmMatrix*>(context);
  const size_t width = m.kernels->nr;
  for (size_t k = 0; k < depth;) {
    const size_t row = (k0 + k) % m.rows, n = std::min(depth - k, m.rows - row);
    const LstmMatrix::Part& part = m.part[(k0 + k) / m.rows];
    const float* from = part.data + row * part.row + first * part.column;
    float* to = panel + k * width;
    if (part.column == 1) {
      m.kernels->pack_across(from, part.row, count, n, width, to);
    } else if (part.row == 1) {
      m.kernels->pack_along(from, part.column, count, n, width, to);
    } else {
      for (size_t i = 0; i < n; ++i)
        for (size_t line = 0; line < width; ++line)
          to[i * width + line] = line < count ? from[i * part.row + line * part.column] : 0;
    }
    k += n;
  }
}

}  // namespace

LstmCache::LstmCache(const LstmShape& s) {
  constexpr const char* kWhat = "the training cache";
  const auto times = [](size_t a, size_t b) { return checked_mul(a, b, kWhat); };
  const auto plus = [](size_t a, size_t b) { return checked_add(a, b, kWhat); };
  const size_t state = times(s.batch, s.hidden);
  h_ = times(plus(s.steps, 2), times(state, s.directions));
  gates_ = times(times(s.steps, state), kLstmGates);
  cells_ = times(plus(s.steps, 1), state);
  layer_ = plus(h_, times(plus(gates_, cells_), s.directions));
  floats_ = times(layer_, s.layers);
}

void LstmMemory::add(float** array, size_t floats) {
  constexpr size_t kLine = kAlignment / sizeof(float);
  parts_[count_++] = {array, floats};
  const size_t lines = checked_add(floats / kLine, 1, "working memory");
  floats_ = checked_add(floats_, checked_mul(lines, kLine, "working memory"), "working memory");
}

void LstmMemory::allocate(const Memory& memory) {
  constexpr size_t kLine = kAlignment / sizeof(float);
  memory_ = Array<float>(memory, floats_);
  float* next = memory_.data();
  for (size_t i = 0; i < count_; ++i) {
    *parts_[i].array = next;
    next += (parts_[i].floats / kLine + 1) * kLine;
  }
}

View lstm_slice(const LstmTensor& tensor, size_t layer, size_t direction) {
  View view = tensor.view;
  const size_t rank = view.rank - 2;
  view.data = static_cast<float*>(view.data) + direction * view.stride[rank] +
              layer * view.stride[rank + 1];
  view.count /= view.extent[rank] * view.extent[rank + 1];
  view.rank = rank;
  return view;
}

LstmTensor lstm_input_tensor(const LstmShape& s, const LstmGateTensors& gate, size_t layer) {
  return layer > 0 && s.splits_weights() ? gate.iw_upper : gate.iw;
}

View lstm_input_weights(const LstmShape& s, const LstmGateTensors& gate, size_t layer,
                        size_t direction) {
  const size_t place = s.splits_weights() && layer > 0 ? layer - 1 : layer;
  return lstm_slice(lstm_input_tensor(s, gate, layer), place, direction);
}

void LstmMatrix::add(const View& view) {
  rows = view.extent[1];
  columns = view.extent[0];
  // The stride of an axis with one element is free.
  part[parts++] = {static_cast<const float*>(view.data), view.stride[1],
                   columns == 1 ? 1 : view.stride[0]};
}

PackedMatrix LstmMatrix::pack(float* memory, size_t threads, bool transposed) const {
  const size_t lines = parts * rows;
  const GemmPacker packer = {.pack = transposed ? pack_rows : pack_columns, .context = this};
  PackedMatrix packed(memory, *kernels, GemmSide::kB, transposed ? lines : columns,
                      transposed ? columns : lines);
  packed.pack(*kernels, threads, {.packer = &packer}, nullptr);
  return packed;
}

LstmPass::Rows LstmPass::plain_rows(const LstmTensor& sequence) {
  const View& v = sequence.view;
  if (v.data == nullptr || (v.extent[0] > 1 && v.stride[0] != 1)) return {};
  const auto* data = static_cast<const float*>(v.data);
  if (v.extent[1] == 1) return {data, v.stride[2]};
  const bool regular = v.extent[2] == 1 || v.stride[2] == v.extent[1] * v.stride[1];
  return regular ? Rows{data, v.stride[1]} : Rows{};
}

void LstmPass::read_sequence(const LstmTensor& from, float* to) const {
  const View view = collapsed(from.view);
  const size_t width = from.view.extent[0], values = s_.batch * width;
  for_steps(width, [&](size_t step) {
    float* rows = to + step * values;
    read_values(*convert_, view, step * values, values, rows);
    for (size_t n = 0; n < s_.batch; ++n)
      if (!p_.is_active(step, n)) std::fill_n(rows + n * width, width, 0.0f);
  });
}

void LstmPass::write_sequence(const LstmTensor& to, const float* values, size_t row) const {
  static constexpr float kZeros[kPiece] = {};
  const View view = collapsed(to.view);
  const size_t width = to.view.extent[0];
  for_steps(width, [&](size_t step) {
    for (size_t n = 0; n < s_.batch; ++n) {
      const size_t first = (step * s_.batch + n) * width;
      if (p_.is_active(step, n)) {
        write(view, first, width, values + (step * s_.batch + n) * row, to.accumulate);
        continue;
      }
      for (size_t i = 0; i < width && !to.accumulate; i += kPiece)
        write(view, first + i, std::min(kPiece, width - i), kZeros, false);
    }
  });
}

void LstmPass::write(const View& to, size_t first, size_t count, const float* from,
                     bool accumulate) const {
  if (!accumulate) return write_values(*convert_, to, first, count, from);
  float old[kPiece];
  for (size_t i = 0; i < count; i += kPiece) {
    const size_t n = std::min(kPiece, count - i);
    read_values(*convert_, to, first + i, n, old);
    for (size_t k = 0; k < n; ++k) old[k] += from[i + k];
    write_values(*convert_, to, first + i, n, old);
  }
}

void LstmPass::read(const View& from, float* to) const {
  read_values(*convert_, collapsed(from), 0, from.count, to);
}

void LstmPass::write_state(const LstmTensor& to, size_t layer, size_t direction, const float* rows,
                           size_t row) const {
  if (!to) return;
  View sample = lstm_slice(to, layer, direction);
  sample.rank = 1;
  sample.count = s_.hidden;
  for (size_t n = 0; n < s_.batch; ++n) {
    write(sample, rows + n * row, to.accumulate);
    sample.data = static_cast<float*>(sample.data) + sample.stride[1];
  }
}

void LstmPass::read_state(const LstmTensor& from, size_t layer, size_t direction, float* rows,
                          size_t row) const {
  if (!from) {
    for (size_t n = 0; n < s_.batch; ++n) std::fill_n(rows + n * row, s_.hidden, 0.0f);
    return;
  }
  View sample = lstm_slice(from, layer, direction);
  sample.rank = 1;
  sample.count = s_.hidden;
  for (size_t n = 0; n < s_.batch; ++n) {
    read(sample, rows + n * row);
    sample.data = static_cast<float*>(sample.data) + sample.stride[1];
  }
}

void LstmPass::drop(size_t layer, const float* from, float* to) const {
  const float scale = 1 / (1 - p_.dropout);
  const size_t values = s_.batch * s_.outputs();
  for_steps(4 * s_.outputs(), [&](size_t step) {
    float units[kPiece];
    for (size_t i = 0; i < values; i += kPiece) {
      const size_t first = step * values + i, n = std::min(kPiece, values - i);
      random_open_units(stream_ + layer, first, n, units);
      for (size_t k = 0; k < n; ++k)
        to[first + k] = units[k] < p_.dropout ? 0 : from[first + k] * scale;
    }
  });
}

LstmMatrix LstmPass::input_matrix(size_t layer, size_t direction) const {
  LstmMatrix m = {.kernels = gemm_};
  for (const LstmGateTensors& gate : net_.gate)
    m.add(lstm_input_weights(s_, gate, layer, direction));
  return m;
}

LstmMatrix LstmPass::hidden_matrix(size_t layer, size_t direction) const {
  LstmMatrix m = {.kernels = gemm_};
  for (const LstmGateTensors& gate : net_.gate) m.add(lstm_slice(gate.hw, layer, direction));
  return m;
}

LstmMatrix LstmPass::peephole_matrix(size_t gate, size_t layer, size_t direction) const {
  LstmMatrix m = {.kernels = gemm_};
  m.add(lstm_slice(net_.gate[gate].cw, layer, direction));
  return m;
}

bool LstmPass::has_bias() const {
  return std::any_of(net_.gate, net_.gate + kLstmGates,
                     [](const LstmGateTensors& gate) { return bool{gate.b}; });
}

}  // namespace bnns::impl

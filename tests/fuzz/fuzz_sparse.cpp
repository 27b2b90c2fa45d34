// Sparse weights: elements by coordinates and by rows, with indices that are right most of the
// time; then filters from the packed form, from damaged copies of it, and from bytes that are none.
#include <vector>

#include "generate.h"
#include "hooks.h"
#include "run.h"

namespace fuzz {
namespace {

constexpr BNNSDataLayout kMatrices[] = {BNNSDataLayoutRowMajorMatrix,
                                        BNNSDataLayoutColumnMajorMatrix, BNNSDataLayout2DFirstMajor,
                                        BNNSDataLayout2DLastMajor};
constexpr BNNSDataType kIndexTypes[] = {BNNSDataTypeInt32, BNNSDataTypeUInt32, BNNSDataTypeInt64,
                                        BNNSDataTypeUInt64};
constexpr BNNSDataType kValueTypes[] = {
    BNNSDataTypeFloat32,  BNNSDataTypeFloat16, BNNSDataTypeInt8, BNNSDataTypeInt16,
    BNNSDataTypeBFloat16, BNNSDataTypeUInt8,   BNNSDataTypeInt32};

// Integers as stored, to the byte, in memory of their own.
class Numbers {
 public:
  Numbers(Provider& p, const std::vector<int64_t>& values) : values_(values) {
    type_ = p.one_in(60) ? p.constant(kTypes) : p.pick(kIndexTypes);
    const size_t bytes = std::max<size_t>(bits_of(type_) / 8, 1);
    memory_.resize(values.size() * std::min<size_t>(bytes, 8));
    for (size_t i = 0; i < values.size() && bytes <= 8; ++i)
      std::memcpy(&memory_[i * bytes], &values[i], bytes);
  }
  BNNSNDArrayDescriptor descriptor(Provider& p) {
    BNNSNDArrayDescriptor d = vector_of(p.one_in(60) ? p.extent() : values_.size());
    d.size[0] = std::min(d.size[0], values_.size());  // no more than there is memory for
    d.data_type = type_;
    d.data = p.one_in(60) ? nullptr : memory_.data();
    return d;
  }

 private:
  std::vector<int64_t> values_;
  std::vector<uint8_t> memory_;
  BNNSDataType type_;
};

struct Matrix {
  size_t rows, columns;
  BNNSNDArrayDescriptor shape = {};
  bool rows_contiguous;
  std::vector<int64_t> row, column;  // of each element, in order of rows
  bool right = true;                 // no index was damaged

  explicit Matrix(Provider& p) : rows(p.extent()), columns(p.extent()) {
    shape.layout = p.one_in(40) ? p.constant(kLayouts) : p.pick(kMatrices);
    const bool row_major = shape.layout == BNNSDataLayoutRowMajorMatrix;
    rows_contiguous = row_major || shape.layout == BNNSDataLayout2DFirstMajor;
    shape.size[0] = row_major ? columns : rows;
    shape.size[1] = row_major ? rows : columns;
    std::fill(shape.size + 2, shape.size + 8, size_t{1});
    if (p.one_in(40)) shape.size[p.below(2)] = p.odd_size();
    Random random(p.number<uint16_t>());
    const size_t one_in = p.between(1, 20);
    for (size_t e = 0; e < rows * columns; ++e) {
      if (random.next() % one_in != 0 && !(e + 1 == rows * columns && row.empty())) continue;
      row.push_back(static_cast<int64_t>(e / columns));
      column.push_back(static_cast<int64_t>(e % columns));
    }
  }
  int64_t damaged(Provider& p) {
    right = false;
    return p.one_in(2) ? p.number<int64_t>() : static_cast<int64_t>(p.odd_size());
  }
};

int by_coordinates(Provider& p, Matrix& m, const BNNSNDArrayDescriptor& values,
                   BNNSNDArrayDescriptor& out, const BNNSFilterParameters& f) {
  std::vector<int64_t> pairs;
  for (size_t i = 0; i < m.row.size(); ++i) {
    pairs.push_back(m.rows_contiguous ? m.column[i] : m.row[i]);
    pairs.push_back(m.rows_contiguous ? m.row[i] : m.column[i]);
  }
  if (p.one_in(4)) pairs[p.byte() % pairs.size()] = m.damaged(p);
  Numbers numbers(p, pairs);
  const BNNSNDArrayDescriptor indices = numbers.descriptor(p);
  return BNNSNDArrayFullyConnectedSparsifySparseCOO(p.one_in(100) ? nullptr : &m.shape, &indices,
                                                    &values, &out, nullptr, p.byte(), nullptr, 0,
                                                    &f);
}

int by_rows(Provider& p, Matrix& m, const BNNSNDArrayDescriptor& values, BNNSNDArrayDescriptor& out,
            const BNNSFilterParameters& f) {
  std::vector<int64_t> starts(m.rows + 1), columns = m.column;
  for (const int64_t r : m.row) ++starts[static_cast<size_t>(r) + 1];
  for (size_t r = 0; r < m.rows; ++r) starts[r + 1] += starts[r];
  if (p.one_in(6)) starts[p.byte() % starts.size()] = m.damaged(p);
  if (p.one_in(6)) columns[p.byte() % columns.size()] = m.damaged(p);
  Numbers column_numbers(p, columns), start_numbers(p, starts);
  const BNNSNDArrayDescriptor column = column_numbers.descriptor(p);
  const BNNSNDArrayDescriptor start = start_numbers.descriptor(p);
  return BNNSNDArrayFullyConnectedSparsifySparseCSR(&m.shape, &column, &start, &values, &out,
                                                    nullptr, p.byte(), nullptr, 0, &f);
}

// Filters from w, which `intact` says is as it was packed.
void filters(Provider& p, const Matrix& m, const BNNSNDArrayDescriptor& w, bool intact) {
  BNNSLayerParametersFullyConnected layer = {};
  layer.i_desc = vector_of(p.one_in(30) ? p.extent() : m.columns);
  layer.o_desc = vector_of(p.one_in(30) ? p.extent() : m.rows);
  for (BNNSNDArrayDescriptor* d : {&layer.i_desc, &layer.o_desc}) {
    if (p.one_in(4)) choose_type(p, *d, 1);
    if (p.one_in(4)) choose_strides(p, *d);
  }
  layer.w_desc = w;
  layer.activation = activation(p);
  if (p.one_in(2)) layer.activation.function = BNNSActivationFunctionIdentity;
  Memory memory;
  const Batch batch = batch_of(p);
  const Batch in_batch = with_stride(p, batch, model_of(layer.i_desc));
  const Batch out_batch = with_stride(p, batch, model_of(layer.o_desc));
  const size_t in = place(p, memory, model_of(layer.i_desc), in_batch, {});
  const size_t out =
      in == kNowhere ? kNowhere : place(p, memory, model_of(layer.o_desc), out_batch, {in});
  memory.allocate(p.number<uint16_t>());
  const BNNSFilterParameters parameters = filter_parameters(p);
  const Pair pair("BNNSFilterCreateLayerFullyConnected", p, parameters,
                  [&](const BNNSFilterParameters* f) {
                    return BNNSFilterCreateLayerFullyConnected(&layer, f);
                  });
  if (!pair) return;
  expect(intact, "BNNSFilterCreateLayerFullyConnected", "accepts damaged weights");
  if (in == kNowhere || out == kNowhere) return;
  Promise promise;
  promise.used = mask_of(in) | mask_of(out);
  promise.written = in_batch.size == 0 ? 0 : mask_of(out);
  promise.overwritten = promise.written;
  promise.apart = mask_of(in);
  promise.repeatable = !is_random(layer.activation.function);
  const size_t calls = p.between(1, 3);
  for (size_t i = 0; i < calls; ++i) {
    if (p.one_in(4)) reserve(p, pair);
    run("BNNSFilterApplyBatch", p, memory, promise, [&](size_t k) {
      return BNNSFilterApplyBatch(pair[k], in_batch.size, memory.data(in), in_batch.stride,
                                  memory.data(out), out_batch.stride) == 0;
    });
  }
}

void one_case(Provider& p) {
  Matrix m(p);
  const size_t count = m.row.size();
  BNNSNDArrayDescriptor values = vector_of(p.one_in(60) ? std::min(count, p.extent()) : count);
  values.data_type = p.one_in(40) ? p.constant(kTypes) : p.pick(kValueTypes);
  if (p.one_in(4)) values.data_scale = p.one_in(8) ? p.scalar() : 0.5f;
  std::vector<uint8_t> stored(count * 8);
  Random random(p.number<uint16_t>());
  for (uint8_t& b : stored) b = static_cast<uint8_t>(random.next() >> 24);
  values.data = stored.data();
  BNNSFilterParameters parameters = filter_parameters(p);
  const size_t width = bits_of(values.data_type) / 8, room = m.rows * m.columns * width;
  std::vector<uint8_t> memory(p.one_in(3) ? room : 0, 0x55);
  const std::vector<uint8_t> before = memory;
  BNNSNDArrayDescriptor out = {};
  if (!memory.empty()) out.data = memory.data();
  const BNNSNDArrayDescriptor old = out;

  const bool rows = p.one_in(2);
  const char* function = rows ? "BNNSNDArrayFullyConnectedSparsifySparseCSR"
                              : "BNNSNDArrayFullyConnectedSparsifySparseCOO";
  if (p.one_in(10)) Hooks::fail_at(p.between(1, 5));
  const Watch watch(function);
  const int status =
      rows ? by_rows(p, m, values, out, parameters) : by_coordinates(p, m, values, out, parameters);
  watch.done(status == 0);
  Hooks::disarm();
  if (status != 0) {
    expect(std::memcmp(&out, &old, sizeof out) == 0, function, "a failing call changed out");
    expect(memory == before, function, "a failing call changed memory");
    Hooks::expect_no_leak();
    return;
  }
  if (memory.empty()) {
    const size_t size = BNNSNDArrayGetDataSize(&out);
    memory.assign(static_cast<uint8_t*>(out.data), static_cast<uint8_t*>(out.data) + size);
    Hooks::release(out.data);
    Hooks::expect_no_leak();
  }
  BNNSNDArrayDescriptor w = out;
  w.data = memory.data();
  const size_t size = BNNSNDArrayGetDataSize(&w);
  expect(size > 0 && size <= memory.size(), function, "packed weights without a size");
  std::vector<uint8_t> pack(memory.begin(), memory.begin() + static_cast<ptrdiff_t>(size));
  bool intact = true;
  if (p.one_in(3)) {
    pack[p.number<uint16_t>() % pack.size()] ^= static_cast<uint8_t>(1u << p.below(8));
    intact = false;
  }
  w.data = pack.data();
  if (p.one_in(30)) w.data_type = p.constant(kTypes);
  if (p.one_in(30)) w.size[p.below(2)] = p.odd_size();
  filters(p, m, w, intact);
}

}  // namespace
}  // namespace fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Provider provider(data, size);
  fuzz::one_case(provider);
  return 0;
}

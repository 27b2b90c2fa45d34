// Fully connected layers with sparse weights: those of fully_connected.h, whose formula does not
// change, with weights that are mostly 0 and are handed over by their other elements only.
// Forward only; there are no gradients.
#ifndef OPENBNNS_SPEC_SPARSE_H
#define OPENBNNS_SPEC_SPARSE_H

#include <cstring>
#include <memory>

#include "layers/fully_connected.h"

namespace spec {

// The elements of a matrix of any layout and strides that are not 0, in the order given by `seed`
// (0: row by row).
struct SparseElements {
  std::vector<size_t> row, column;
  std::vector<std::byte> values;

  SparseElements(const BNNSNDArrayDescriptor& d, uint64_t seed) {
    const Shape shape = {d.layout, {d.size[0], d.size[1]}};
    const size_t bytes = type_info(d.data_type).bytes, rows = logical_size(shape)[0];
    const size_t columns = logical_size(shape)[1];
    std::vector<size_t> order(rows * columns);
    std::iota(order.begin(), order.end(), size_t{0});
    Random random("sparse" + std::to_string(seed));
    for (size_t i = 0; seed != 0 && i < order.size(); ++i)
      std::swap(order[i], order[random.next() % order.size()]);
    size_t stride[2] = {1, 0};
    for (size_t k = 0; k < 2; ++k) {
      if (d.stride[k] != 0) stride[k] = d.stride[k];
      if (k == 0 && d.stride[1] == 0) stride[1] = stride[0] * shape.size[paired_axis(shape, 0)];
    }
    const bool row_fastest = paired_axis(shape, 0) == logical_axis(shape, 0);
    for (const size_t e : order) {
      const size_t r = e / columns, c = e % columns;
      const size_t at = row_fastest ? r * stride[0] + c * stride[1] : c * stride[0] + r * stride[1];
      const auto* value = static_cast<const std::byte*>(d.data) + at * bytes;
      const std::vector<std::byte> zero(bytes);
      // One element is always stored, because there are no empty tensors.
      if (std::memcmp(value, zero.data(), bytes) == 0 && (e != order.back() || !row.empty()))
        continue;
      row.push_back(r);
      column.push_back(c);
      values.insert(values.end(), value, value + bytes);
    }
  }
};

inline BNNSNDArrayDescriptor index_vector(BNNSDataType type, const std::vector<size_t>& from,
                                          std::vector<std::byte>& memory) {
  const size_t bytes = type_info(type).bytes;
  memory.resize(from.size() * bytes);
  for (size_t i = 0; i < from.size(); ++i) std::memcpy(&memory[i * bytes], &from[i], bytes);
  BNNSNDArrayDescriptor d = {};
  d.layout = BNNSDataLayoutVector;
  d.size[0] = from.size();
  d.data_type = type;
  d.data = memory.data();
  return d;
}

enum class SparseFormat { kCoordinates, kRows };

// w with its data replaced by the packed form, which free() releases; `data` NULL on failure.
inline BNNSNDArrayDescriptor sparsified(const BNNSNDArrayDescriptor& w, SparseFormat format,
                                        BNNSDataType index_type) {
  const bool by_rows = format == SparseFormat::kRows;
  SparseElements elements(w, by_rows ? 0 : 1);
  BNNSNDArrayDescriptor values = {};
  values.layout = BNNSDataLayoutVector;
  values.size[0] = elements.row.size();
  values.data = elements.values.data();
  values.data_type = w.data_type;
  values.data_scale = w.data_scale;
  values.data_bias = w.data_bias;
  BNNSNDArrayDescriptor out = {}, shape = w;
  shape.data = nullptr;
  std::vector<std::byte> memory, start_memory;
  int status = 0;
  if (by_rows) {
    std::vector<size_t> starts(logical_size({w.layout, {w.size[0], w.size[1]}})[0] + 1);
    for (const size_t r : elements.row) ++starts[r + 1];
    std::partial_sum(starts.begin(), starts.end(), starts.begin());
    const BNNSNDArrayDescriptor columns = index_vector(index_type, elements.column, memory);
    const BNNSNDArrayDescriptor rows = index_vector(index_type, starts, start_memory);
    status = BNNSNDArrayFullyConnectedSparsifySparseCSR(&shape, &columns, &rows, &values, &out,
                                                        nullptr, 1, nullptr, 0, nullptr);
  } else {
    const Shape dense = {w.layout, {w.size[0], w.size[1]}};
    const bool row_fastest = paired_axis(dense, 0) == logical_axis(dense, 0);
    std::vector<size_t> pairs;
    for (size_t i = 0; i < elements.row.size(); ++i) {
      pairs.push_back(row_fastest ? elements.row[i] : elements.column[i]);
      pairs.push_back(row_fastest ? elements.column[i] : elements.row[i]);
    }
    const BNNSNDArrayDescriptor indices = index_vector(index_type, pairs, memory);
    status = BNNSNDArrayFullyConnectedSparsifySparseCOO(&shape, &indices, &values, &out, nullptr, 1,
                                                        nullptr, 0, nullptr);
  }
  if (status != 0) out.data = nullptr;
  return out;
}

inline Case sparse_case(const FullyConnectedSize& size, BNNSDataLayout layout, bool bias,
                        SparseFormat format, BNNSDataType index_type,
                        const ActivationInfo& row = activation_rows()[0]) {
  Case c = fully_connected_case(size, layout, bias, row);
  c.layer = "sparse_fully_connected";
  c.shape += format == SparseFormat::kRows ? "_csr_" : "_coo_";
  c.shape += type_info(index_type).name;
  // Three of four elements are 0. The others are integers, which all types have, but for an
  // activation small enough to stay where it is curved.
  const bool curved = row.function != BNNSActivationFunctionIdentity;
  const double reach = curved ? 3 / std::sqrt(static_cast<double>(size.in)) : 8;
  Operand& weights = c.operands[reference::kWeights];
  weights.fill.choices.assign(24, 0.0);
  for (size_t i = 1; i <= 8; ++i)
    weights.fill.choices.push_back((i % 2 == 0 ? 1 : -1) * reach * static_cast<double>(i) / 8);
  weights.read_through_pointer = false;
  c.backward = {{.name = "backward",
                 .pass_out = true,
                 .deltas = {reference::kIn, reference::kWeights},
                 .refused = true}};
  if (bias) c.backward[0].deltas.push_back(reference::kBias);
  c.create = [=, a = activation_of(row)](Call& call) -> BNNSFilter {
    const BNNSNDArrayDescriptor packed = sparsified(call.value[2].desc, format, index_type);
    if (packed.data == nullptr) return nullptr;
    const BNNSLayerParametersFullyConnected p = {
        .i_desc = call.value[0].shape_only(),
        .w_desc = packed,
        .o_desc = call.value[1].shape_only(),
        .bias = bias ? call.value[3].desc : BNNSNDArrayDescriptor{},
        .activation = a};
    BNNSFilter filter = BNNSFilterCreateLayerFullyConnected(&p, &call.parameters);
    std::free(packed.data);
    return filter;
  };
  std::vector<TypeSet> types;
  for (TypeSet& t : c.types) {
    if (t.name == "idx8") continue;
    t.types[reference::kWeights].bias = 0;
    t.backward = t.name == "f32" ? Need::kRequired : Need::kNone;
    types.push_back(t);
  }
  c.types = types;
  return c;
}

inline void add_sparse(Suite& suite) {
  constexpr BNNSDataLayout kMatrices[] = {BNNSDataLayoutRowMajorMatrix,
                                          BNNSDataLayoutColumnMajorMatrix,
                                          BNNSDataLayout2DFirstMajor, BNNSDataLayout2DLastMajor};
  constexpr BNNSDataType kIndices[] = {BNNSDataTypeInt32, BNNSDataTypeUInt32, BNNSDataTypeInt64,
                                       BNNSDataTypeUInt64};
  constexpr SparseFormat kFormats[] = {SparseFormat::kCoordinates, SparseFormat::kRows};
  const auto add = [&](const FullyConnectedSize& s, size_t k, bool bias) -> Case& {
    return suite.cases.emplace_back(
        sparse_case(s, kMatrices[k % 4], bias, kFormats[k / 4 % 2], kIndices[(k + k / 4) % 4]));
  };
  for (size_t k = 0; k < 8; ++k) {
    add({33, 17, 5}, k, k % 3 != 0);
    keep_types(add({5, 3, 2}, k, true), {"f32", "f16_f32", "i8"});
  }
  add({1, 1, 1}, 0, true);
  for (size_t n = 1; n <= 70; ++n) {  // samples, inputs, outputs around the vector widths
    for (const FullyConnectedSize& s : {FullyConnectedSize{n, 1 + n * 7 % 37, 1 + n % 5},
                                        FullyConnectedSize{1 + n * 7 % 37, n, n}}) {
      Case& c = add(s, n, n % 3 != 0);
      keep_types(c, {"f32", "bf16"});
      c.thorough = false;
    }
  }
  // Worth several threads; more samples than are computed at a time.
  for (const FullyConnectedSize& s :
       {FullyConnectedSize{500, 300, 1}, {257, 129, 33}, {700, 130, 3}, {120, 70, 150}}) {
    Case& c = add(s, s.in, true);
    keep_types(c, {"f32", "f16"});
    c.thorough = false;
  }
  for (const ActivationInfo& row : activation_rows()) {
    if (row.function == BNNSActivationFunctionPReLUPerChannel) continue;
    Case c = sparse_case({19, 13, 3}, BNNSDataLayoutRowMajorMatrix, true,
                         SparseFormat::kCoordinates, BNNSDataTypeInt32, row);
    keep_types(c, {"f32", "bf16"});
    c.thorough = false;
    suite.cases.push_back(c);
  }
}

}  // namespace spec
#endif

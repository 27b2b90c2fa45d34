// Packs a sparse matrix that is given by its elements. Indices are checked one by one, and each
// place is marked in working memory; only then is the packed form written. Rows of the matrix are
// outputs and columns are inputs, whatever its layout.
#include "layers/sparse.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/call.h"
#include "core/filter.h"
#include "ops/convert/convert.h"
#include "ops/sparse/pack.h"

namespace bnns::impl {
namespace {

// The tensors of a call. Places of elements are counted row by row.
struct Sparsify {
  SparseShape shape;
  bool rows_contiguous;
  Descriptor values;
  Memory memory;
};

Descriptor read_tensor(const BNNSNDArrayDescriptor* given, const char* field) {
  require(given != nullptr, field, " is NULL");
  const Descriptor d = read_descriptor(*given, field, Use::kInput);
  require_plain_layout(d, field);
  require_data(d.view.data, d.view.type, Text(field, ".data").c_str());
  return d;
}

Descriptor read_indices(const BNNSNDArrayDescriptor* given, const char* field, size_t count,
                        const char* rule) {
  const Descriptor d = read_tensor(given, field);
  require(d.type->is_integer() && d.type->bits >= 32, field, ".data_type is ", d.type->name,
          "; indices are Int32, UInt32, Int64 or UInt64");
  require(d.view.count == count, field, " has ", d.view.count, " elements; ", rule, " needs ",
          count);
  return d;
}

// Of in_dense_shape only the layout and the sizes count.
Sparsify read_call(const BNNSNDArrayDescriptor* dense, const BNNSNDArrayDescriptor* values,
                   const BNNSNDArrayDescriptor* out, const BNNSSparsityParameters* hint,
                   const BNNSFilterParameters* filter_parameters) {
  require(dense != nullptr, "in_dense_shape is NULL");
  require(out != nullptr, "out is NULL");
  Sparsify s = {.shape = {},
                .rows_contiguous = true,
                .values = read_tensor(values, "in_values"),
                .memory = FilterOptions(filter_parameters).memory};
  require(is_sparse_type(*s.values.type), "in_values.data_type is ", s.values.type->name,
          "; sparse weights are of floating-point types, or integers of 8, 16 or 32 bits");
  BNNSNDArrayDescriptor plain = *dense;
  plain.data_type = s.values.view.type;
  plain.data_scale = plain.data_bias = 0;
  const Descriptor matrix = read_descriptor(plain, "in_dense_shape", Use::kInput);
  require(matrix.rank() == 2 && !matrix.layout->opaque, "in_dense_shape.layout is ",
          matrix.layout->name, "; it must be a two-dimensional layout");
  s.shape = {.type = s.values.view.type,
             .rows = matrix.logical_extent(0),
             .columns = matrix.logical_extent(1),
             .nonzeros = s.values.view.count};
  s.rows_contiguous = matrix.layout->pair[0] == matrix.layout->tuple[1];
  packed_bytes(s.shape);  // refuses sizes beyond its limits
  require(s.shape.nonzeros <= matrix.view.count, "in_values has ", s.shape.nonzeros,
          " elements, in_dense_shape is ", describe(matrix), "; there cannot be more of them");
  // No filter takes weights that are aligned less than their type.
  if (out->data != nullptr) require_data(out->data, s.shape.type, "out->data");
  if (hint == nullptr) return s;
  require(hint->flags == 0, "sparse_params->flags is ", hint->flags, "; it must be 0");
  require(hint->sparsity_type == BNNSSparsityTypeUnstructured, "sparse_params->sparsity_type is ",
          static_cast<uint32_t>(hint->sparsity_type), "; that is no BNNSSparsityType");
  const uint32_t* ratio = hint->sparsity_ratio;
  require(ratio[0] < ratio[1] || (ratio[0] | ratio[1]) == 0, "sparse_params->sparsity_ratio is ",
          ratio[0], " / ", ratio[1], "; it must be below 1");
  require(hint->target_system == BNNSTargetSystemGeneric, "sparse_params->target_system is ",
          static_cast<uint32_t>(hint->target_system), "; that is no BNNSTargetSystem");
  return s;
}

// Elements of a tensor of indices in memory order, read some at a time.
class Indices {
 public:
  Indices(const Descriptor& d, const char* field) : view_(collapsed(d.view)), field_(field) {}

  // Element i, which must be below `extent`.
  size_t at(size_t i, size_t extent) {
    if (i - first_ >= read_) {
      first_ = i;
      read_ = std::min(kBuffer, view_.count - i);
      read_values(view_, first_, read_, buffer_);
    }
    const int64_t index = buffer_[i - first_];
    if (index < 0 || static_cast<uint64_t>(index) >= extent) [[unlikely]]
      refuse(i, index, extent);
    return static_cast<size_t>(index);
  }

 private:
  // UInt64 is read like Int64, so that its large numbers are negative here.
  [[noreturn]] void refuse(size_t i, int64_t index, size_t extent) const {
    Text text(field_, "[", i, "] is ");
    if (view_.type == BNNSDataTypeUInt64) {
      text.add(static_cast<size_t>(index));
    } else {
      text.add(index);
    }
    fail(text, "; it must be from 0 to ", extent - 1);
  }

  static constexpr size_t kBuffer = 256;
  View view_;
  const char* field_;
  size_t first_ = 0, read_ = 0;
  int64_t buffer_[kBuffer];
};

void write_result(const Sparsify& s, const uint64_t* places, const void* values,
                  BNNSNDArrayDescriptor* out, const BNNSNDArrayDescriptor* dense) {
  const size_t bytes = packed_bytes(s.shape);
  if (out->data == nullptr) {
    out->data = s.memory.allocate(bytes);
  } else {
    const size_t room = s.shape.elements() * type_bytes(s.shape.type);
    require(bytes <= room, "out->data has room for the dense matrix, ", room,
            " bytes, but the packed one has ", bytes,
            "; with out->data NULL it is allocated as large as it must be");
  }
  write_pack(s.shape, places, values, out->data);
  out->layout = BNNSDataLayoutFullyConnectedSparse;
  for (size_t k = 0; k < 2; ++k) {
    out->size[k] = dense->size[k];
    out->stride[k] = 0;
  }
  out->data_type = s.shape.type;
  out->data_scale = s.values.view.scaling.scale;
  out->data_bias = s.values.view.scaling.bias;
}

// element(i) is the checked number of the place of value i, counted row by row. It is called for
// all values in order, twice.
template <class Element>
void pack(const Sparsify& s, const Element& element, BNNSNDArrayDescriptor* out,
          const BNNSNDArrayDescriptor* dense) {
  const size_t words = s.shape.place_words(), width = type_bytes(s.shape.type);
  Array<uint64_t> places(s.memory, words);
  std::memset(places.data(), 0, words * 8);
  for (size_t i = 0; i < s.shape.nonzeros; ++i) {
    const size_t e = element(i);
    const uint64_t bit = uint64_t{1} << (e % 64);
    require((places[e / 64] & bit) == 0, "row ", e / s.shape.columns, ", column ",
            e % s.shape.columns, " is given twice, the second time by element ", i,
            "; each element of the matrix has one value");
    places[e / 64] |= bit;
  }
  Array<size_t> before(s.memory, words);  // elements in earlier words
  size_t count = 0;
  for (size_t i = 0; i < words; ++i) {
    before[i] = count;
    count += static_cast<size_t>(std::popcount(places[i]));
  }
  Array<char> values(s.memory, s.shape.nonzeros * width);
  const View from = collapsed(s.values.view);
  Walker walker(from, 0);
  for (size_t i = 0; i < s.shape.nonzeros; ++i, walker.advance(1)) {
    const size_t e = element(i);
    const uint64_t bit = uint64_t{1} << (e % 64), below = places[e / 64] & (bit - 1);
    require((places[e / 64] & bit) != 0, "element ", i,
            " has another place than it had before; "
            "indices must not change during the call");
    const size_t at = before[e / 64] + static_cast<size_t>(std::popcount(below));
    std::memcpy(values.data() + at * width,
                static_cast<const char*>(from.data) + walker.offset() * width, width);
  }
  write_result(s, places.data(), values.data(), out, dense);
}

// Where the packed form is written to memory of the client, nothing that is read may lie.
void require_apart_from_out(const Sparsify& s, const BNNSNDArrayDescriptor& out,
                            std::initializer_list<std::pair<const Descriptor*, const char*>> read) {
  if (out.data == nullptr) return;
  const auto* begin = static_cast<const char*>(out.data);
  const Range written = {begin, begin + packed_bytes(s.shape)};
  for (const auto& [d, name] : read) require_apart(written, "out.data", range_of(d->view), name);
}

}  // namespace

void sparsify_coordinates(const BNNSNDArrayDescriptor* dense, const BNNSNDArrayDescriptor* indices,
                          const BNNSNDArrayDescriptor* values, BNNSNDArrayDescriptor* out,
                          const BNNSSparsityParameters* hint,
                          const BNNSFilterParameters* filter_parameters) {
  const Sparsify s = read_call(dense, values, out, hint, filter_parameters);
  const Descriptor index = read_indices(indices, "in_indices", 2 * s.shape.nonzeros,
                                        "a pair for each element of in_values");
  require_apart_from_out(s, *out, {{&index, "in_indices.data"}, {&s.values, "in_values.data"}});
  Indices pairs(index, "in_indices");
  const size_t column = s.rows_contiguous ? 0 : 1;
  pack(
      s,
      [&](size_t i) {
        const size_t c = 2 * i + column, r = 2 * i + 1 - column;
        return pairs.at(r, s.shape.rows) * s.shape.columns + pairs.at(c, s.shape.columns);
      },
      out, dense);
}

void sparsify_rows(const BNNSNDArrayDescriptor* dense, const BNNSNDArrayDescriptor* column_indices,
                   const BNNSNDArrayDescriptor* row_starts, const BNNSNDArrayDescriptor* values,
                   BNNSNDArrayDescriptor* out, const BNNSSparsityParameters* hint,
                   const BNNSFilterParameters* filter_parameters) {
  const Sparsify s = read_call(dense, values, out, hint, filter_parameters);
  const size_t rows = s.shape.rows, nonzeros = s.shape.nonzeros;
  const Descriptor column = read_indices(column_indices, "in_column_indices", nonzeros,
                                         "a column for each element of in_values");
  const Descriptor start = read_indices(row_starts, "in_row_starts", rows + 1,
                                        "the start of each row and the end of the last");
  require_apart_from_out(s, *out,
                         {{&column, "in_column_indices.data"},
                          {&start, "in_row_starts.data"},
                          {&s.values, "in_values.data"}});
  Indices columns(column, "in_column_indices"), starts(start, "in_row_starts");
  Array<size_t> row_start(s.memory, rows + 1);
  for (size_t r = 0; r <= rows; ++r) {
    row_start[r] = starts.at(r, nonzeros + 1);
    const size_t least = r == 0 ? 0 : row_start[r - 1];
    require(row_start[r] >= least && (r > 0 || row_start[r] == 0), "in_row_starts[", r, "] is ",
            row_start[r], r == 0 ? "; it must be 0" : "; starts must not decrease");
  }
  require(row_start[rows] == nonzeros, "in_row_starts[", rows, "] is ", row_start[rows],
          "; the last row must end with in_values, at ", nonzeros);
  size_t row = 0;
  pack(
      s,
      [&](size_t i) {
        if (i == 0) row = 0;
        while (row_start[row + 1] <= i) ++row;
        return row * s.shape.columns + columns.at(i, s.shape.columns);
      },
      out, dense);
}

size_t packed_size(const void* pack, const char* field) {
  return packed_bytes(read_pack_header(pack, field));
}

}  // namespace bnns::impl

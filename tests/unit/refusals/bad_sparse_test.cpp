// Sparse weights that must not be packed, and packed ones that must not make a filter. Both formats
// describe the matrix
//   0 2 0 0
//   0 0 0 3
//   4 0 5 0
// and a valid call is one whose result makes a filter that multiplies by it.
#include <cmath>
#include <cstdlib>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

constexpr size_t kColumns = 4, kRows = 3;

struct SparseCall : CallBase {
  BNNSNDArrayDescriptor shape = matrix_of(kColumns, kRows), out = {};
  Guarded<float> values{2, 3, 4, 5};
  BNNSNDArrayDescriptor value_desc = vector_of(4, values.data());
  const BNNSNDArrayDescriptor *shape_pointer = &shape, *value_pointer = &value_desc;
  BNNSNDArrayDescriptor* out_pointer = &out;
  BNNSSparsityParameters hint = {0, {4, 12}, BNNSSparsityTypeUnstructured, BNNSTargetSystemGeneric};
  BNNSFilterParameters options = {};
  Guarded<char> room{Space{256}};  // for `out` where it has data
  BNNSLayerParametersFullyConnected layer = {};

  SparseCall() {
    shape.data_type = BNNSDataTypeFloat32;
    layer.i_desc = vector_of(kColumns);
    layer.o_desc = vector_of(kRows);
  }
  SparseCall(const SparseCall&) = delete;
  ~SparseCall() { std::free(allocated); }
  void* allocated = nullptr;

  template <class F>
  void for_outputs(const F& f) {
    f(room);
  }
  bool made(int status) {
    if (status == 0 && out.data != room.data()) allocated = out.data;
    return status == 0;
  }
  Filter make() {
    layer.w_desc = out;
    return Filter(BNNSFilterCreateLayerFullyConnected(&layer, &options));
  }
  bool correct() {
    const Filter filter = make();
    const float x[kColumns] = {1, 10, 100, 1000};
    float y[kRows] = {};
    return filter && BNNSFilterApply(filter.get(), x, y) == 0 && y[0] == 20 && y[1] == 3000 &&
           y[2] == 504;
  }
};

struct CooCall : SparseCall {
  const char* function = "BNNSNDArrayFullyConnectedSparsifySparseCOO";
  Guarded<int32_t> indices{1, 0, 3, 1, 0, 2, 2, 2};
  BNNSNDArrayDescriptor index_desc =
      array(BNNSDataLayoutRowMajorMatrix, {2, 4}, indices.data(), BNNSDataTypeInt32);
  const BNNSNDArrayDescriptor* index_pointer = &index_desc;
  bool run() {
    return made(BNNSNDArrayFullyConnectedSparsifySparseCOO(
        shape_pointer, index_pointer, value_pointer, out_pointer, &hint, 0, nullptr, 0, &options));
  }
};

struct CsrCall : SparseCall {
  const char* function = "BNNSNDArrayFullyConnectedSparsifySparseCSR";
  Guarded<int64_t> columns{1, 3, 0, 2};
  Guarded<uint32_t> starts{0, 1, 2, 4};
  BNNSNDArrayDescriptor column_desc = vector_of(4, columns.data(), BNNSDataTypeInt64);
  BNNSNDArrayDescriptor start_desc = vector_of(4, starts.data(), BNNSDataTypeUInt32);
  const BNNSNDArrayDescriptor *column_pointer = &column_desc, *start_pointer = &start_desc;
  bool run() {
    return made(BNNSNDArrayFullyConnectedSparsifySparseCSR(
        shape_pointer, column_pointer, start_pointer, value_pointer, out_pointer, &hint, 1, nullptr,
        0, &options));
  }
};

// A filter from packed weights, which the damage changes.
struct PackedCall : CooCall {
  PackedCall() {
    EXPECT_TRUE(CooCall::run()) << OpenBNNSGetLastError();
    function = "BNNSFilterCreateLayerFullyConnected";
  }
  bool run() {
    const Filter filter = make();
    return static_cast<bool>(filter);
  }
};

struct SizeCall : CooCall {
  SizeCall() {
    EXPECT_TRUE(CooCall::run()) << OpenBNNSGetLastError();
    function = "BNNSNDArrayGetDataSize";
  }
  size_t size = 0;
  bool run() {
    size = BNNSNDArrayGetDataSize(&out);
    return size != 0;
  }
  bool correct() const { return size == 32 + 8 + 4 * 4; }
};

template <class C>
std::vector<Row<C>> common_rows() {
  std::vector<Row<C>> rows = {
      {"no shape", {"in_dense_shape is NULL"}, [](C& c) { c.shape_pointer = nullptr; }},
      {"no values", {"in_values is NULL"}, [](C& c) { c.value_pointer = nullptr; }},
      {"no out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"no data of values", {"in_values.data is NULL"}, [](C& c) { c.value_desc.data = nullptr; }},
      {"values misaligned",
       {"in_values.data is", "aligned to 4"},
       [](C& c) { c.value_desc.data = reinterpret_cast<char*>(c.values.data()) + 2; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }},
      {"more values than places",
       {"in_values has 4", "{1, 3}", "more"},
       [](C& c) { c.shape.size[0] = 1; }},
      {"a vector",
       {"in_dense_shape.layout is Vector", "two-dimensional"},
       [](C& c) { c.shape.layout = BNNSDataLayoutVector; }},
      {"a packed shape",
       {"in_dense_shape.layout is FullyConnectedSparse", "two-dimensional"},
       [](C& c) { c.shape.layout = BNNSDataLayoutFullyConnectedSparse; }},
      {"packed values",
       {"in_values.layout", "plain array"},
       [](C& c) {
         c.value_desc.layout = BNNSDataLayoutFullyConnectedSparse;
         c.value_desc.size[1] = 1;
       }},
      {"too many columns",
       {"columns", "2147483647"},
       [](C& c) { c.shape.size[0] = size_t{1} << 31; }},
      {"too many rows", {"rows", "2147483647"}, [](C& c) { c.shape.size[1] = size_t{1} << 31; }},
      {"sparsity",
       {"sparsity_ratio is 3 / 3", "below 1"},
       [](C& c) { c.hint.sparsity_ratio[0] = c.hint.sparsity_ratio[1] = 3; }},
      {"flags of the hint", {"sparse_params->flags is 9", "0"}, [](C& c) { c.hint.flags = 9; }},
      {"out misaligned",
       {"out->data is", "aligned to 4"},
       [](C& c) { c.out.data = c.room.data() + 2; }},
      {"no room",
       {"out->data has room", "48 bytes", "56"},
       [](C& c) { c.out.data = c.room.data(); }},
      {"out is values",
       {"out.data and in_values.data overlap"},
       [](C& c) { c.out.data = c.values.data(); }},
  };
  append(rows, enum_rows<C>("sparsity_type", BNNSSparsityTypeUnstructured, [](C& c, uint32_t v) {
           c.hint.sparsity_type = static_cast<BNNSSparsityType>(v);
         }));
  append(rows, enum_rows<C>("target_system", BNNSTargetSystemGeneric, [](C& c, uint32_t v) {
           c.hint.target_system = static_cast<BNNSTargetSystem>(v);
         }));
  for (const auto type :
       {BNNSDataTypeInt64, BNNSDataTypeUInt64, BNNSDataTypeBoolean, BNNSDataTypeInt4}) {
    rows.push_back({"values of another type", {"in_values.data_type", "sparse weights"}, [=](C& c) {
                      c.value_desc.data_type = type;
                    }});
  }
  for (size_t k = 0; k < 2; ++k) {
    rows.push_back({"size 0", {"in_dense_shape.size", "is 0"}, [=](C& c) { c.shape.size[k] = 0; }});
    rows.push_back(
        {"huge", {"in_dense_shape", "overflow"}, [=](C& c) { c.shape.size[k] = SIZE_MAX / 2; }});
  }
  return rows;
}

TEST(BadSparse, Coordinates) {
  using C = CooCall;
  std::vector<Row<C>> rows = common_rows<C>();
  append(rows,
         descriptor_rows<C>(
             "in_indices", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.index_desc; }, false));
  append<C>(
      rows,
      {
          {"no indices", {"in_indices is NULL"}, [](C& c) { c.index_pointer = nullptr; }},
          {"no data", {"in_indices.data is NULL"}, [](C& c) { c.index_desc.data = nullptr; }},
          {"type",
           {"in_indices.data_type is Int16"},
           [](C& c) { c.index_desc.data_type = BNNSDataTypeInt16; }},
          {"too few", {"in_indices has 6", "needs 8"}, [](C& c) { c.index_desc.size[1] = 3; }},
          {"column too large", {"in_indices[2] is 4", "0 to 3"}, [](C& c) { c.indices[2] = 4; }},
          {"row too large", {"in_indices[7] is 3", "0 to 2"}, [](C& c) { c.indices[7] = 3; }},
          {"negative", {"in_indices[4] is -1", "0 to 3"}, [](C& c) { c.indices[4] = -1; }},
          {"negative as unsigned",
           {"in_indices[4] is 4294967295", "0 to 3"},
           [](C& c) {
             c.indices[4] = -1;
             c.index_desc.data_type = BNNSDataTypeUInt32;
           }},
          {"twice",
           {"row 0, column 1", "twice", "element 3"},
           [](C& c) { c.indices[6] = 1, c.indices[7] = 0; }},
          {"out is indices",
           {"out.data and in_indices.data overlap"},
           [](C& c) { c.out.data = c.indices.data(); }},
      });
  expect_refused(rows);
}

TEST(BadSparse, Rows) {
  using C = CsrCall;
  std::vector<Row<C>> rows = common_rows<C>();
  append<C>(
      rows,
      {
          {"no columns", {"in_column_indices is NULL"}, [](C& c) { c.column_pointer = nullptr; }},
          {"no starts", {"in_row_starts is NULL"}, [](C& c) { c.start_pointer = nullptr; }},
          {"column type",
           {"in_column_indices.data_type is Float32"},
           [](C& c) { c.column_desc.data_type = BNNSDataTypeFloat32; }},
          {"start type",
           {"in_row_starts.data_type is UInt8"},
           [](C& c) { c.start_desc.data_type = BNNSDataTypeUInt8; }},
          {"too few columns",
           {"in_column_indices has 3", "needs 4"},
           [](C& c) { c.column_desc.size[0] = 3; }},
          {"too few starts",
           {"in_row_starts has 3", "needs 4"},
           [](C& c) { c.start_desc.size[0] = 3; }},
          {"column too large",
           {"in_column_indices[1] is 4", "0 to 3"},
           [](C& c) { c.columns[1] = 4; }},
          {"column far too large",
           {"in_column_indices[1] is 18446744073709551615", "0 to 3"},
           [](C& c) {
             c.columns[1] = -1;
             c.column_desc.data_type = BNNSDataTypeUInt64;
           }},
          {"twice", {"row 2, column 2", "twice"}, [](C& c) { c.columns[2] = 2; }},
          {"first start", {"in_row_starts[0] is 1", "must be 0"}, [](C& c) { c.starts[0] = 1; }},
          {"decreasing", {"in_row_starts[2] is 0", "decrease"}, [](C& c) { c.starts[2] = 0; }},
          {"last start",
           {"in_row_starts[3] is 3", "end with in_values, at 4"},
           [](C& c) { c.starts[3] = 3; }},
          {"start too large", {"in_row_starts[3] is 5", "0 to 4"}, [](C& c) { c.starts[3] = 5; }},
          {"out is columns",
           {"out.data and in_column_indices.data overlap"},
           [](C& c) { c.out.data = c.columns.data(); }},
          {"out is starts",
           {"out.data and in_row_starts.data overlap"},
           [](C& c) { c.out.data = c.starts.data(); }},
      });
  expect_refused(rows);
}

TEST(BadSparse, Filters) {
  using C = PackedCall;
  expect_refused<C>({
      {"no data", {"w_desc.data is NULL"}, [](C& c) { c.out.data = nullptr; }},
      {"no pack",
       {"w_desc.data", "first bytes"},
       [](C& c) { *static_cast<char*>(c.out.data) = 0; }},
      {"header",
       {"w_desc.data", "check of its header"},
       [](C& c) { ++static_cast<char*>(c.out.data)[8]; }},
      {"places",
       {"w_desc.data", "check of its content"},
       [](C& c) { ++static_cast<char*>(c.out.data)[32]; }},
      {"values",
       {"w_desc.data", "check of its content"},
       [](C& c) { ++static_cast<char*>(c.out.data)[45]; }},
      {"type",
       {"w_desc.data_type is Int32", "Float32"},
       [](C& c) { c.out.data_type = BNNSDataTypeInt32; }},
      {"sizes", {"w_desc is", "{5, 3}", "3 rows and 4 columns"}, [](C& c) { c.out.size[0] = 5; }},
      {"input", {"w_desc has 4 columns", "i_desc has 5"}, [](C& c) { c.layer.i_desc.size[0] = 5; }},
      {"output", {"w_desc has 3 rows", "o_desc has 2"}, [](C& c) { c.layer.o_desc.size[0] = 2; }},
      {"integers",
       {"activation.function", "as floats"},
       [](C& c) {
         c.layer.activation.function = BNNSActivationFunctionIntegerLinearSaturate;
         static float bias[3];
         c.layer.bias = vector_of(3, bias, BNNSDataTypeInt32);
         c.layer.i_desc.data_type = c.layer.o_desc.data_type = BNNSDataTypeInt32;
         c.out.data_type = BNNSDataTypeInt32;
       }},
      {"bias",
       {"bias has 2", "o_desc has 3"},
       [](C& c) {
         static float bias[3];
         c.layer.bias = vector_of(2, bias);
       }},
      {"flags", {"filter_params->flags"}, [](C& c) { c.options.flags = 2; }},
  });
}

TEST(BadSparse, Sizes) {
  using C = SizeCall;
  expect_refused<C>({
      {"no data", {"array->data is NULL"}, [](C& c) { c.out.data = nullptr; }},
      {"no pack",
       {"array->data", "first bytes"},
       [](C& c) { *static_cast<char*>(c.out.data) = 0; }},
      {"header",
       {"array->data", "check of its header"},
       [](C& c) { ++static_cast<char*>(c.out.data)[20]; }},
  });
}

// A fused filter trains its weights.
TEST(BadSparse, NotInAFusedFilter) {
  PackedCall c;
  c.layer.w_desc = c.out;
  BNNSLayerParametersNormalization n = {};
  n.i_desc = n.o_desc = vector_of(kRows);
  float ones[kRows] = {1, 1, 1};
  n.beta_desc = n.gamma_desc = vector_of(kRows, ones);
  n.momentum = 0.9f;
  n.epsilon = 1e-5f;
  const BNNSFilterType types[] = {BNNSFullyConnected, BNNSBatchNorm};
  const void* parameters[] = {&c.layer, &n};
  EXPECT_EQ(BNNSFilterCreateFusedLayer(2, types, parameters, nullptr), nullptr);
  EXPECT_NE(std::string(OpenBNNSGetLastError()).find("filter of their own"), std::string::npos)
      << OpenBNNSGetLastError();
}

}  // namespace
}  // namespace bnns::test

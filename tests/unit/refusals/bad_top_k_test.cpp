// What top k must refuse. The rows are (1, 5, 3) and (4, 4, 9), in a batch of two such matrices.
#include "support/call_table.h"

namespace bnns::test {
namespace {

constexpr size_t kBatch = 2, kInput = 7;
constexpr float kRows[] = {1, 5, 3, 4, 4, 9};

struct AnyCall : CallBase {
  Guarded<float> in{Space{kBatch * kInput}};
  BNNSNDArrayDescriptor input = matrix_of(3, 2, in.data());
  const BNNSNDArrayDescriptor* input_pointer = &input;
  BNNSFilterParameters options = {};
  size_t k = 2, axis = 1, batch = kBatch, input_stride = kInput;

  AnyCall() {
    for (size_t i = 0; i < in.size(); ++i) in[i] = i % kInput < 6 ? kRows[i % kInput] : 77;
    in.remember();
  }
  AnyCall(const AnyCall&) = delete;
};

struct TopK : AnyCall {
  const char* function = "BNNSDirectApplyTopK";
  static constexpr size_t kOut = 5;
  Guarded<float> values{Space{kBatch * kOut}};
  Guarded<int32_t> indices{Space{kBatch * kOut}};
  BNNSNDArrayDescriptor best_values = matrix_of(2, 2, values.data());
  BNNSNDArrayDescriptor best_indices = matrix_of(2, 2, indices.data(), BNNSDataTypeInt32);
  BNNSNDArrayDescriptor *values_pointer = &best_values, *indices_pointer = &best_indices;
  size_t values_stride = kOut, indices_stride = kOut;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(values);
    f(indices);
  }
  bool run() {
    return BNNSDirectApplyTopK(k, axis, batch, input_pointer, input_stride, values_pointer,
                               values_stride, indices_pointer, indices_stride, &options) == 0;
  }
  bool correct() const {
    constexpr float kValues[] = {5, 3, 9, 4};
    constexpr int32_t kIndices[] = {1, 2, 2, 0};
    const auto element = [](size_t i) { return i % kOut < 4; };
    bool right =
        in.untouched() && values.untouched_except(element) && indices.untouched_except(element);
    for (size_t i = 0; i < kBatch * kOut; ++i)
      right &= !element(i) || (values[i] == kValues[i % kOut] && indices[i] == kIndices[i % kOut]);
    return right;
  }
};

struct InTopK : AnyCall {
  const char* function = "BNNSDirectApplyInTopK";
  static constexpr size_t kRow = 3;
  Guarded<int32_t> tested{2, 1, 77, 0, 2, 77};
  Guarded<uint8_t> result{Space{kBatch * kRow}};
  BNNSNDArrayDescriptor test_indices = vector_of(2, tested.data(), BNNSDataTypeInt32);
  BNNSNDArrayDescriptor output = vector_of(2, result.data(), BNNSDataTypeBoolean);
  const BNNSNDArrayDescriptor* test_pointer = &test_indices;
  BNNSNDArrayDescriptor* output_pointer = &output;
  size_t test_stride = kRow, output_stride = kRow;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(tested);
    f(result);
  }
  bool run() {
    return BNNSDirectApplyInTopK(k, axis, batch, input_pointer, input_stride, test_pointer,
                                 test_stride, output_pointer, output_stride, &options) == 0;
  }
  bool correct() const {
    constexpr uint8_t kRight[] = {1, 1, 0, 0, 1, 0};
    bool right = in.untouched() && tested.untouched() &&
                 result.untouched_except([](size_t i) { return i % kRow < 2; });
    for (size_t i = 0; i < kBatch * kRow; ++i) right &= i % kRow == 2 || result[i] == kRight[i];
    return right;
  }
};

// Faults of a tensor that both functions must find; `get` yields its descriptor.
template <class Call, class Get>
std::vector<Row<Call>> tensor_rows(const std::string& field, size_t rank, const Get& get,
                                   bool output) {
  auto rows = descriptor_rows<Call>(field, rank, get, output);
  const auto set_layout = [get](Call& c, BNNSDataLayout layout) {
    get(c) = array(layout, {1, 1, 1, 1}, get(c).data, get(c).data_type);
  };
  append(rows, {{field + " without data",
                 {field + ".data is NULL"},
                 [=](Call& c) { get(c).data = nullptr; }},
                {field + " sparse",
                 {field + ".layout", "FullyConnectedSparse", "plain"},
                 [=](Call& c) { set_layout(c, BNNSDataLayoutFullyConnectedSparse); }},
                {field + " packed", {field + ".layout", "Pack32", "plain"}, [=](Call& c) {
                   set_layout(c, BNNSDataLayoutConvolutionWeightsOIHW_Pack32);
                 }}});
  return rows;
}

template <class Call>
std::vector<Row<Call>> common_rows() {
  auto rows = tensor_rows<Call>(
      "input", 2, [](Call & c) -> auto& { return c.input; }, false);
  for (const auto type : {BNNSDataTypeInt32, BNNSDataTypeBoolean, BNNSDataTypeInt4}) {
    rows.push_back({"input of numbers that are no floats",
                    {"input.data_type", "Float32, Float16 or BFloat16"},
                    [=](Call& c) { c.input.data_type = type; }});
  }
  for (const size_t bad : {size_t{0}, size_t{4}, SIZE_MAX}) {
    rows.push_back(
        {"K", {"K is " + std::to_string(bad), "from 1 to 3"}, [=](Call& c) { c.k = bad; }});
  }
  for (const size_t bad : {size_t{2}, size_t{8}, SIZE_MAX}) {
    rows.push_back(
        {"axis", {"axis is " + std::to_string(bad), "2 axes"}, [=](Call& c) { c.axis = bad; }});
  }
  append(rows, {
                   {"no input", {"input is NULL"}, [](Call& c) { c.input_pointer = nullptr; }},
                   {"misaligned input",
                    {"input.data", "aligned to 4"},
                    [](Call& c) { c.input.data = reinterpret_cast<char*>(c.in.data()) + 1; }},
                   {"samples overlap",
                    {"input_batch_stride is 5", "spans 6"},
                    [](Call& c) { c.input_stride = 5; }},
                   {"the batch is larger than memory",
                    {"batch_size is 18446744073709551615", "address space"},
                    [](Call& c) { c.batch = SIZE_MAX; }},
                   {"flags", {"filter_params->flags", "2"}, [](Call& c) { c.options.flags = 2; }},
                   {"threads",
                    {"n_threads", "257", "at most 256"},
                    [](Call& c) { c.options.n_threads = 257; }},
                   {"a row that no index of 32 bits counts",
                    {"input has 4294967296 values along axis 0", "supported"},
                    [](Call& c) {
                      c.input = vector_of(size_t{1} << 32, c.in.data());
                      c.axis = 0;
                    }},
               });
  return rows;
}

TEST(BadTopK, TopK) {
  using Call = TopK;
  auto rows = common_rows<Call>();
  append(rows, tensor_rows<Call>(
                   "best_values", 2, [](Call & c) -> auto& { return c.best_values; }, true));
  auto index_rows = tensor_rows<Call>(
      "best_indices", 2, [](Call & c) -> auto& { return c.best_indices; }, true);
  std::erase_if(index_rows,
                [](const auto& row) { return row.name == "best_indices without data"; });
  append(rows, index_rows);
  for (const auto type : {BNNSDataTypeFloat32, BNNSDataTypeBoolean, BNNSDataTypeInt4}) {
    rows.push_back({"best_indices that are no integers",
                    {"best_indices.data_type", "integer type of whole bytes"},
                    [=](Call& c) { c.best_indices.data_type = type; }});
  }
  append(rows,
         {
             {"no values", {"best_values is NULL"}, [](Call& c) { c.values_pointer = nullptr; }},
             {"values of another type",
              {"best_values.data_type", "Float16", "input.data_type", "Float32", "equal"},
              [](Call& c) { c.best_values.data_type = BNNSDataTypeFloat16; }},
             {"more values than K",
              {"best_values", "{3, 2}", "input", "2 along axis 1"},
              [](Call& c) { c.best_values.size[0] = 3; }},
             {"values of other rows",
              {"best_values", "{2, 1}", "equal"},
              [](Call& c) { c.best_values.size[1] = 1; }},
             {"values of another rank",
              {"best_values", "Vector {4}"},
              [](Call& c) { c.best_values = vector_of(4, c.values.data()); }},
             {"more indices than K",
              {"best_indices", "{3, 2}", "2 along axis 1"},
              [](Call& c) { c.best_indices.size[0] = 3; }},
             {"along the other axis",
              {"best_values", "{2, 2}", "2 along axis 0"},
              [](Call& c) { c.axis = 0; }},
             {"misaligned values",
              {"best_values.data", "aligned to 4"},
              [](Call& c) { c.best_values.data = reinterpret_cast<char*>(c.values.data()) + 2; }},
             {"misaligned indices",
              {"best_indices.data", "aligned to 4"},
              [](Call& c) { c.best_indices.data = reinterpret_cast<char*>(c.indices.data()) + 2; }},
             {"samples of values overlap",
              {"best_values_batch_stride is 3", "spans 4"},
              [](Call& c) { c.values_stride = 3; }},
             {"samples of indices overlap",
              {"best_indices_batch_stride is 3", "spans 4"},
              [](Call& c) { c.indices_stride = 3; }},
             {"values over input",
              {"best_values.data", "input.data", "overlap"},
              [](Call& c) { c.best_values.data = c.in.data() + 1; }},
             {"indices over input",
              {"best_indices.data", "input.data", "overlap"},
              [](Call& c) { c.best_indices.data = c.in.data(); }},
             {"indices over values",
              {"best_values.data", "best_indices.data", "overlap"},
              [](Call& c) { c.best_indices.data = c.values.data() + 8; }},
         });
  expect_refused(rows);
}

TEST(BadTopK, IndicesThatTheTypeDoesNotHold) {
  std::vector<float> x(70000);
  float y = -7;
  std::vector<char> place(8, 7);
  const auto find = [&](size_t n, BNNSDataType type) {
    const BNNSNDArrayDescriptor in = vector_of(n, x.data());
    BNNSNDArrayDescriptor best = vector_of(1, &y), index = vector_of(1, place.data(), type);
    return BNNSDirectApplyTopK(1, 0, 1, &in, 0, &best, 0, &index, 0, nullptr);
  };
  const struct {
    BNNSDataType type;
    size_t most;
  } kTypes[] = {{BNNSDataTypeInt8, 128},
                {BNNSDataTypeUInt8, 256},
                {BNNSDataTypeInt16, 32768},
                {BNNSDataTypeUInt16, 65536}};
  for (const auto& [type, most] : kTypes) {
    EXPECT_EQ(find(most + 1, type), -1);
    expect_reason(OpenBNNSGetLastError(), "BNNSDirectApplyTopK",
                  {"best_indices.data_type", "cannot hold", std::to_string(most + 1)});
    EXPECT_EQ(y, -7);
    EXPECT_EQ(place, std::vector<char>(8, 7));
  }
  for (const auto& [type, most] : kTypes) {
    EXPECT_EQ(find(most, type), 0) << OpenBNNSGetLastError();
    EXPECT_EQ(place[0], 0);
  }
}

TEST(BadTopK, InTopK) {
  using Call = InTopK;
  auto rows = common_rows<Call>();
  append(rows, tensor_rows<Call>(
                   "test_indices", 1, [](Call & c) -> auto& { return c.test_indices; }, false));
  auto output_rows = tensor_rows<Call>(
      "output", 1, [](Call & c) -> auto& { return c.output; }, true);
  // Bytes reach the end of the address space before their number overflows.
  std::erase_if(output_rows, [](const auto& row) { return row.words.back() == "overflow"; });
  append(rows, output_rows);
  for (const auto type : {BNNSDataTypeFloat32, BNNSDataTypeBoolean, BNNSDataTypeInt4}) {
    rows.push_back({"test_indices that are no integers",
                    {"test_indices.data_type", "integer type of whole bytes"},
                    [=](Call& c) { c.test_indices.data_type = type; }});
  }
  // The last one of all, so that the others have been looked at before.
  for (const int32_t bad : {3, -1, INT32_MAX, INT32_MIN}) {
    rows.push_back({"an index that is none",
                    {"test_indices of row 3 is " + std::to_string(bad), "not an index", "has 3"},
                    [=](Call& c) { c.tested[4] = bad; }});
  }
  append(
      rows,
      {
          {"no test_indices", {"test_indices is NULL"}, [](Call& c) { c.test_pointer = nullptr; }},
          {"no output", {"output is NULL"}, [](Call& c) { c.output_pointer = nullptr; }},
          {"output of integers",
           {"output.data_type", "UInt8", "Boolean"},
           [](Call& c) { c.output.data_type = BNNSDataTypeUInt8; }},
          {"test_indices of other rows",
           {"test_indices", "Vector {3}", "input", "without axis 1"},
           [](Call& c) { c.test_indices.size[0] = 3; }},
          {"test_indices along the axis",
           {"test_indices", "{2, 2}", "without axis 1"},
           [](Call& c) { c.test_indices = matrix_of(2, 2, c.tested.data(), BNNSDataTypeInt32); }},
          {"output of other rows",
           {"output", "Vector {1}", "without axis 1"},
           [](Call& c) { c.output.size[0] = 1; }},
          {"output of another rank",
           {"output", "ImageCHW {1, 2, 1}", "without axis 1"},
           [](Call& c) {
             c.output =
                 array(BNNSDataLayoutImageCHW, {1, 2, 1}, c.result.data(), BNNSDataTypeBoolean);
           }},
          {"misaligned test_indices",
           {"test_indices.data", "aligned to 4"},
           [](Call& c) { c.test_indices.data = reinterpret_cast<char*>(c.tested.data()) + 2; }},
          {"samples of output overlap",
           {"output_batch_stride is 1", "spans 2"},
           [](Call& c) { c.output_stride = 1; }},
          {"samples of test_indices overlap",
           {"test_indices_batch_stride is 1", "spans 2"},
           [](Call& c) { c.test_stride = 1; }},
          {"output over input",
           {"output.data", "input.data", "overlap"},
           [](Call& c) { c.output.data = c.in.data() + 3; }},
          {"output over test_indices",
           {"output.data", "test_indices.data", "overlap"},
           [](Call& c) { c.output.data = c.tested.data(); }},
      });
  expect_refused(rows);
}

// Any integer type may hold what is no index.
TEST(BadTopK, TestedIndicesOfEveryType) {
  float x[] = {1, 2};
  const BNNSNDArrayDescriptor in = vector_of(2, x);
  for (const auto type :
       {BNNSDataTypeInt8, BNNSDataTypeInt16, BNNSDataTypeInt32, BNNSDataTypeInt64,
        BNNSDataTypeUInt8, BNNSDataTypeUInt16, BNNSDataTypeUInt32, BNNSDataTypeUInt64}) {
    uint64_t index = UINT64_MAX;
    uint8_t result = 7;
    const BNNSNDArrayDescriptor test = vector_of(1, &index, type);
    BNNSNDArrayDescriptor out = vector_of(1, &result, BNNSDataTypeBoolean);
    EXPECT_EQ(BNNSDirectApplyInTopK(1, 0, 1, &in, 0, &test, 0, &out, 0, nullptr), -1);
    const bool is_signed = (static_cast<uint32_t>(type) & BNNSDataTypeUIntBit) == 0;
    const uint64_t all_ones = UINT64_MAX >> (64 - (static_cast<uint32_t>(type) & 0xFF));
    expect_reason(OpenBNNSGetLastError(), "BNNSDirectApplyInTopK",
                  {"is " + (is_signed ? "-1" : std::to_string(all_ones)) + ";"});
    EXPECT_EQ(result, 7);
  }
}

}  // namespace
}  // namespace bnns::test

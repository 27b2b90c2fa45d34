// Comparisons that must be refused. The valid call: 1 2 / 3 4 < 2 2 / 2 5.
#include "support/call_table.h"

namespace bnns::test {
namespace {

struct CompareCall : CallBase {
  const char* function = "BNNSCompareTensor";
  Guarded<float> a{1, 2, 3, 4}, b{2, 2, 2, 5};
  Guarded<uint8_t> result{Space{4}};
  BNNSNDArrayDescriptor in0 = matrix_of(2, 2, a.data()), in1 = matrix_of(2, 2, b.data());
  BNNSNDArrayDescriptor out = matrix_of(2, 2, result.data(), BNNSDataTypeBoolean);
  const BNNSNDArrayDescriptor *in0_pointer = &in0, *in1_pointer = &in1;
  BNNSNDArrayDescriptor* out_pointer = &out;
  BNNSRelationalOperator op = BNNSRelationalOperatorLess;

  CompareCall() = default;
  CompareCall(const CompareCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(a);
    f(b);
    f(result);
  }
  bool run() { return BNNSCompareTensor(in0_pointer, in1_pointer, op, out_pointer) == 0; }
  bool correct() const {
    constexpr uint8_t kRight[] = {1, 0, 0, 1};
    bool right = a.untouched() && b.untouched();
    for (size_t i = 0; i < 4; ++i) right &= result[i] == kRight[i];
    return right && result.untouched_except([](size_t) { return true; });
  }
};

TEST(BadCompare, Calls) {
  using C = CompareCall;
  std::vector<Row<C>> rows =
      enum_rows<C>("op", BNNSRelationalOperatorLogicalXOR,
                   [](C& c, uint32_t v) { c.op = static_cast<BNNSRelationalOperator>(v); });
  append(rows, descriptor_rows<C>(
                   "in0", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.in0; }, false));
  append(rows, descriptor_rows<C>(
                   "in1", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.in1; }, false));
  // Sizes whose product with four bytes overflows are another error where elements have one.
  std::vector<Row<C>> out_rows = descriptor_rows<C>(
      "out", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.out; }, true);
  for (Row<C>& row : out_rows)
    if (row.name.find("element size") != std::string::npos || row.name == "out.stride[1] overflows")
      row.words = {"out", "address space"};
  append(rows, out_rows);
  append<C>(
      rows,
      {
          {"in0", {"in0 is NULL"}, [](C& c) { c.in0_pointer = nullptr; }},
          {"in1", {"in1 is NULL"}, [](C& c) { c.in1_pointer = nullptr; }},
          {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
          {"data of in0", {"in0.data is NULL"}, [](C& c) { c.in0.data = nullptr; }},
          {"data of in1", {"in1.data is NULL"}, [](C& c) { c.in1.data = nullptr; }},
          {"data of out", {"out.data is NULL"}, [](C& c) { c.out.data = nullptr; }},
          {"misaligned",
           {"in1.data is", "aligned to 4"},
           [](C& c) { c.in1.data = reinterpret_cast<char*>(c.b.data()) + 2; }},
          {"types differ",
           {"in0.data_type is Float32", "in1.data_type is Int32", "equal"},
           [](C& c) { c.in1.data_type = BNNSDataTypeInt32; }},
          {"no numbers",
           {"in0.data_type is Indexed8", "number"},
           [](C& c) {
             c.in0.data_type = c.in1.data_type = BNNSDataTypeIndexed8;
             c.in0.table_data = c.in1.table_data = c.a.data();
             c.in0.table_data_type = c.in1.table_data_type = BNNSDataTypeFloat32;
           }},
          {"result is a number",
           {"out.data_type is Float32", "Boolean"},
           [](C& c) { c.out.data_type = BNNSDataTypeFloat32; }},
          {"packed",
           {"in0.layout", "plain array"},
           [](C& c) {
             c.in0 = array(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, {1, 1, 2, 2}, c.a.data());
           }},
          {"opaque",
           {"out.layout", "plain array"},
           [](C& c) { c.out.layout = BNNSDataLayoutFullyConnectedSparse; }},
          {"another size",
           {"in0 is", "{1, 2}", "out is", "same logical shape"},
           [](C& c) { c.in0.size[0] = 1; }},
          {"another rank",
           {"in1 is", "Vector", "same logical shape"},
           [](C& c) { c.in1.layout = BNNSDataLayoutVector; }},
          {"rows are columns",
           {"in1 is", "same logical shape"},
           [](C& c) {
             c.in0 = matrix_of(1, 2, c.a.data());
             c.out = matrix_of(1, 2, c.result.data(), BNNSDataTypeBoolean);
             c.in1 = array(BNNSDataLayout2DFirstMajor, {1, 2}, c.b.data());
           }},
          {"out is in0", {"out.data and in0.data overlap"}, [](C& c) { c.out.data = c.a.data(); }},
          {"out is in1", {"out.data and in1.data overlap"}, [](C& c) { c.out.data = c.b.data(); }},
      });
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

// What gather and scatter must refuse: with -1005 for an index outside of the tensor, with -1003
// for shapes that do not go together with rows of coordinates, else with -1.
#include "support/call_table.h"

namespace bnns::test {
namespace {

constexpr int kOutside = -1005, kShapes = -1003;

// A table of 3 rows of 2 values, of which rows 2, 0, 2 and 1 are chosen.
struct LookupCall : CallBase {
  Guarded<float> table{1, 2, 3, 4, 5, 6}, rows{11, 12, 13, 14, 15, 16, 17, 18};
  Guarded<int32_t> index{2, 0, 2, 1};
  BNNSNDArrayDescriptor of_table = array(BNNSDataLayout2DFirstMajor, {3, 2}, table.data());
  BNNSNDArrayDescriptor of_rows = array(BNNSDataLayout2DFirstMajor, {4, 2}, rows.data());
  BNNSNDArrayDescriptor indices = vector_of(4, index.data(), BNNSDataTypeInt32);
  const BNNSNDArrayDescriptor* indices_pointer = &indices;
  BNNSFilterParameters options = {};
  size_t axis = 0;
  BNNSReduceFunction op = BNNSReduceFunctionSum;
  int expected = -1;

  LookupCall() = default;
  LookupCall(const LookupCall&) = delete;
  template <class F>
  void for_outputs(const F& f) {
    f(table);
    f(rows);
    f(index);
  }
  bool accepted(int status) const {
    if (status != 0) {
      EXPECT_EQ(status, expected);
    }
    return status == 0;
  }
};

struct Gather : LookupCall {
  const char* function = "BNNSGather";
  BNNSNDArrayDescriptor& in = of_table;
  BNNSNDArrayDescriptor& out = of_rows;
  const BNNSNDArrayDescriptor* in_pointer = &in;
  BNNSNDArrayDescriptor* out_pointer = &out;

  bool run() {
    return accepted(BNNSGather(axis, in_pointer, indices_pointer, out_pointer, &options));
  }
  bool correct() const {
    constexpr float kRight[] = {5, 6, 1, 2, 5, 6, 3, 4};
    return table.untouched() && index.untouched() && std::equal(kRight, kRight + 8, rows.data()) &&
           rows.untouched_except([](size_t) { return true; });
  }
};

struct GatherND : Gather {
  GatherND() {
    function = "BNNSGatherND";
    indices = array(BNNSDataLayout2DFirstMajor, {4, 1}, index.data(), BNNSDataTypeInt32);
  }
  bool run() { return accepted(BNNSGatherND(in_pointer, indices_pointer, out_pointer, &options)); }
};

struct Scatter : LookupCall {
  const char* function = "BNNSScatter";
  BNNSNDArrayDescriptor& in = of_rows;
  BNNSNDArrayDescriptor& out = of_table;
  const BNNSNDArrayDescriptor* in_pointer = &in;
  BNNSNDArrayDescriptor* out_pointer = &out;

  bool run() {
    return accepted(BNNSScatter(axis, op, in_pointer, indices_pointer, out_pointer, &options));
  }
  bool correct() const {
    constexpr float kRight[] = {14, 16, 20, 22, 31, 34};
    return rows.untouched() && index.untouched() && std::equal(kRight, kRight + 6, table.data()) &&
           table.untouched_except([](size_t) { return true; });
  }
};

struct ScatterND : Scatter {
  ScatterND() {
    function = "BNNSScatterND";
    indices = array(BNNSDataLayout2DFirstMajor, {4, 1}, index.data(), BNNSDataTypeInt32);
  }
  bool run() {
    return accepted(BNNSScatterND(op, in_pointer, indices_pointer, out_pointer, &options));
  }
};

// Faults of tensors and indices that all four functions know.
template <class C>
std::vector<Row<C>> common_rows() {
  auto rows = descriptor_rows<C>(
      "input", 1, [](C & c) -> auto& { return c.in; }, false);
  append(rows, descriptor_rows<C>(
                   "output", 1, [](C & c) -> auto& { return c.out; }, true));
  append(rows, descriptor_rows<C>(
                   "indices", 1, [](C & c) -> auto& { return c.indices; }, false));
  append(rows, {{"input null", {"input is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
                {"output null", {"output is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
                {"indices null", {"indices is NULL"}, [](C& c) { c.indices_pointer = nullptr; }},
                {"no input", {"input.data is NULL"}, [](C& c) { c.in.data = nullptr; }},
                {"no output", {"output.data is NULL"}, [](C& c) { c.out.data = nullptr; }},
                {"no indices", {"indices.data is NULL"}, [](C& c) { c.indices.data = nullptr; }},
                {"misaligned",
                 {"indices.data is", "aligned to 4"},
                 [](C& c) { c.indices.data = reinterpret_cast<char*>(c.index.data()) + 2; }},
                {"unknown flags", {"filter_params->flags", "4"}, [](C& c) { c.options.flags = 4; }},
                {"types differ",
                 {"output.data_type is Float16", "input.data_type is Float32"},
                 [](C& c) { c.out.data_type = BNNSDataTypeFloat16; }},
                {"input over output",
                 {"output.data", "input.data", "overlap"},
                 [](C& c) { c.in.data = c.out.data; }},
                {"indices over output",
                 {"output.data", "indices.data", "overlap"},
                 [](C& c) { c.indices.data = c.out.data; }},
                {"opaque input",
                 {"input.layout", "FullyConnectedSparse"},
                 [](C& c) { c.in.layout = BNNSDataLayoutFullyConnectedSparse; }},
                {"opaque output",
                 {"output.layout", "FullyConnectedSparse"},
                 [](C& c) { c.out.layout = BNNSDataLayoutFullyConnectedSparse; }},
                {"rotated indices",
                 {"indices.layout", "rotated"},
                 [](C& c) {
                   c.indices = array(BNNSDataLayoutConvolutionWeightsOIHrWr, {4, 1, 1, 1},
                                     c.index.data(), BNNSDataTypeInt32);
                 }},
                {"below a byte", {"input.data_type is UInt4"}, [](C& c) {
                   c.in.data_type = c.out.data_type = BNNSDataTypeUInt4;
                 }}});
  for (const auto type : {BNNSDataTypeFloat32, BNNSDataTypeBoolean, BNNSDataTypeUInt4})
    rows.push_back({"type of indices", {"indices.data_type", "integers"}, [=](C& c) {
                      c.indices.data_type = type;
                    }});
  for (const int32_t bad : {-1, 3, INT32_MIN, INT32_MAX})
    for (const size_t at : {0, 3}) {
      rows.push_back(
          {"index",
           {"indices has " + std::to_string(bad), "position " + std::to_string(at), "below 3"},
           [=](C& c) {
             c.index[at] = bad;
             c.expected = kOutside;
           }});
    }
  return rows;
}

template <class C>
std::vector<Row<C>> axis_rows(const std::string& table, const std::string& rows_name) {
  return {
      {"axis", {"axis is 2", table + " has 2 axes"}, [](C& c) { c.axis = 2; }},
      {"huge axis", {"axis is"}, [](C& c) { c.axis = SIZE_MAX; }},
      {"the other axis", {rows_name + " is", "along axis 1"}, [](C& c) { c.axis = 1; }},
      {"other columns", {rows_name + " is", table + " is"}, [](C& c) { c.of_rows.size[1] = 1; }},
      {"another rank", {rows_name + " is"}, [](C& c) { c.of_rows = vector_of(8, c.rows.data()); }},
      {"too few indices", {"indices is", "one axis of 4"}, [](C& c) { c.indices.size[0] = 3; }},
      {"indices of another shape", {"indices is", "same logical sizes"}, [](C& c) {
         c.indices = array(BNNSDataLayout2DFirstMajor, {2, 2}, c.index.data(), BNNSDataTypeInt32);
       }}};
}

template <class C>
std::vector<Row<C>> nd_rows(const std::string& rows_name) {
  std::vector<Row<C>> rows;
  const auto add = [&](const char* name, const std::vector<std::string>& words, auto damage) {
    rows.push_back({name, words, [=](C& c) {
                      damage(c);
                      c.expected = kShapes;
                    }});
  };
  add("too many coordinates", {"indices is", "must not be longer"},
      [](C& c) { c.indices.size[1] = 3; });
  add("two coordinates", {rows_name + " is", "indices is"}, [](C& c) {
    c.indices.size[0] = 2;
    c.indices.size[1] = 2;
  });
  add("other places", {rows_name + " is", "indices is"}, [](C& c) { c.indices.size[0] = 3; });
  add("other columns", {rows_name + " is"}, [](C& c) { c.of_rows.size[1] = 1; });
  add("another rank", {rows_name + " is"}, [](C& c) { c.of_rows = vector_of(8, c.rows.data()); });
  return rows;
}

template <class C>
std::vector<Row<C>> op_rows() {
  std::vector<Row<C>> rows;
  for (const auto op : {BNNSReduceFunctionMax, BNNSReduceFunctionMean, BNNSReduceFunctionLogicalOr,
                        BNNSReduceFunctionProduct, BNNSReduceFunctionLogSum,
                        static_cast<BNNSReduceFunction>(17), static_cast<BNNSReduceFunction>(-1)})
    rows.push_back({"op", {"op is", "BNNSReduceFunctionNone"}, [=](C& c) { c.op = op; }});
  rows.push_back({"sum of Booleans", {"output.data_type is Boolean", "not defined"}, [](C& c) {
                    c.in.data_type = c.out.data_type = BNNSDataTypeBoolean;
                  }});
  return rows;
}

TEST(BadGather, Gather) {
  auto rows = common_rows<Gather>();
  append(rows, axis_rows<Gather>("input", "output"));
  expect_refused(rows);
}

TEST(BadGather, GatherND) {
  auto rows = common_rows<GatherND>();
  append(rows, nd_rows<GatherND>("output"));
  expect_refused(rows);
}

TEST(BadGather, Scatter) {
  auto rows = common_rows<Scatter>();
  append(rows, axis_rows<Scatter>("output", "input"));
  append(rows, op_rows<Scatter>());
  expect_refused(rows);
}

TEST(BadGather, ScatterND) {
  auto rows = common_rows<ScatterND>();
  append(rows, nd_rows<ScatterND>("input"));
  append(rows, op_rows<ScatterND>());
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

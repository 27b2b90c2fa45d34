// What BNNSTile, BNNSTileBackward, BNNSShuffle and BNNSBandPart must refuse.
#include "support/call_table.h"

namespace bnns::test {
namespace {

// 24 values come from memory that holds 1, 2, 3, ...
struct MoveCall : CallBase {
  Guarded<float> from{Space{30}}, to{Space{30}};
  BNNSNDArrayDescriptor input = {}, output = {};
  BNNSNDArrayDescriptor* input_pointer = &input;
  BNNSNDArrayDescriptor* output_pointer = &output;
  BNNSFilterParameters options = {};

  MoveCall() {
    for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<float>(i + 1);
    from.remember();
  }
  MoveCall(const MoveCall&) = delete;
  template <class F>
  void for_outputs(const F& f) {
    f(from);
    f(to);
  }
  bool holds(std::initializer_list<float> expected) const {
    return from.untouched() && std::equal(expected.begin(), expected.end(), to.data()) &&
           to.untouched_except([&](size_t i) { return i < expected.size(); });
  }
};

struct Tile : MoveCall {
  const char* function = "BNNSTile";
  Tile() {
    input = array(BNNSDataLayoutColumnMajorMatrix, {2, 2}, from.data());
    output = array(BNNSDataLayoutColumnMajorMatrix, {4, 2}, to.data());
  }
  bool run() { return BNNSTile(input_pointer, output_pointer, &options) == 0; }
  bool correct() const { return holds({1, 2, 1, 2, 3, 4, 3, 4}); }
};

struct TileBackward : MoveCall {
  const char* function = "BNNSTileBackward";
  TileBackward() {
    input = array(BNNSDataLayoutColumnMajorMatrix, {4, 2}, from.data());
    output = array(BNNSDataLayoutColumnMajorMatrix, {2, 2}, to.data());
  }
  bool run() { return BNNSTileBackward(output_pointer, input_pointer, &options) == 0; }
  bool correct() const { return holds({1 + 3, 2 + 4, 5 + 7, 6 + 8}); }
};

struct Shuffle : MoveCall {
  const char* function = "BNNSShuffle";
  uint32_t type = BNNSShuffleTypePixelShuffleNCHW;
  Shuffle() {
    input = array(BNNSDataLayout4DFirstMajor, {1, 4, 1, 2}, from.data());
    output = array(BNNSDataLayout4DFirstMajor, {1, 1, 2, 4}, to.data());
  }
  bool run() {
    return BNNSShuffle(static_cast<BNNSShuffleType>(type), input_pointer, output_pointer,
                       &options) == 0;
  }
  bool correct() const { return holds({1, 3, 2, 4, 5, 7, 6, 8}); }
};

struct BandPart : MoveCall {
  const char* function = "BNNSBandPart";
  BandPart() {
    input = array(BNNSDataLayoutColumnMajorMatrix, {2, 2}, from.data());
    output = array(BNNSDataLayoutColumnMajorMatrix, {2, 2}, to.data());
  }
  bool run() { return BNNSBandPart(0, -1, input_pointer, output_pointer, &options) == 0; }
  bool correct() const { return holds({1, 0, 3, 4}); }  // the upper triangle, by columns
};

// The names that the function gives to what it reads and writes.
template <class Call>
std::vector<Row<Call>> common_rows(const std::string& input, const std::string& output) {
  return {
      {"input", {input + " is NULL"}, [](Call& c) { c.input_pointer = nullptr; }},
      {"output", {output + " is NULL"}, [](Call& c) { c.output_pointer = nullptr; }},
      {"input misaligned",
       {input + ".data is", "aligned to 4"},
       [](Call& c) { c.input.data = reinterpret_cast<char*>(c.from.data()) + 2; }},
      {"output misaligned",
       {output + ".data is", "aligned to 4"},
       [](Call& c) { c.output.data = reinterpret_cast<char*>(c.to.data()) + 1; }},
      {"no data of input", {input + ".data is NULL"}, [](Call& c) { c.input.data = nullptr; }},
      {"in place",
       {output + ".data", input + ".data", "overlap"},
       [](Call& c) { c.output.data = c.from.data(); }},
      {"partial overlap",
       {output + ".data", input + ".data", "overlap"},
       [](Call& c) { c.input.data = c.to.data() + 1; }},
      {"unknown flags", {"filter_params->flags", "4"}, [](Call& c) { c.options.flags = 4; }},
      {"257 threads", {"n_threads", "257"}, [](Call& c) { c.options.n_threads = 257; }},
      {"opaque",
       {input + ".layout is FullyConnectedSparse"},
       [](Call& c) { c.input.layout = BNNSDataLayoutFullyConnectedSparse; }},
      {"values below a byte",
       {output + ".data_type is Int2", "below a byte"},
       [](Call& c) { c.output.data_type = BNNSDataTypeInt2; }},
  };
}

template <class Call>
void append_descriptor_rows(std::vector<Row<Call>>& rows, const char* input, const char* output) {
  append(rows, descriptor_rows<Call>(
                   input, 2, [](Call & c) -> auto& { return c.input; }, false));
  append(rows, descriptor_rows<Call>(
                   output, 2, [](Call & c) -> auto& { return c.output; }, true));
}

template <class Call>
Row<Call> no_data_of_output() {
  return {"no data of output", {"output.data is NULL"}, [](Call& c) { c.output.data = nullptr; }};
}

template <class Call>
Row<Call> other_type() {
  return {"another type",
          {"output.data_type is Float16", "input.data_type is Float32", "equal"},
          [](Call& c) { c.output.data_type = BNNSDataTypeFloat16; }};
}

TEST(BadMovement, Tile) {
  auto rows = common_rows<Tile>("input", "output");
  append_descriptor_rows(rows, "input", "output");
  rows.push_back(no_data_of_output<Tile>());
  rows.push_back(other_type<Tile>());
  rows.push_back({"no multiple",
                  {"output.size[0] is 3", "input.size[0] is 2", "multiple"},
                  [](Tile& c) { c.output.size[0] = 3; }});
  rows.push_back(
      {"smaller", {"output.size[0] is 1", "multiple"}, [](Tile& c) { c.output.size[0] = 1; }});
  rows.push_back({"another rank", {"output has 1 axes", "input has 2"}, [](Tile& c) {
                    c.output = vector_of(8, c.to.data());
                  }});
  // The strides of a contiguous 4 x 2 matrix, but sizes and strides are read back to front.
  rows.push_back({"strides in the usual order",
                  {"input.stride", "overlap", "2DFirstMajor back to front"},
                  [](Tile& c) {
                    c.input = array(BNNSDataLayout2DFirstMajor, {4, 2}, c.from.data());
                    c.output = array(BNNSDataLayout2DFirstMajor, {4, 2}, c.to.data());
                    c.input.stride[0] = 1;
                    c.input.stride[1] = 2;
                  }});
  expect_refused(rows);
}

TEST(BadMovement, TileBackward) {
  using C = TileBackward;
  auto rows = common_rows<C>("out_delta", "in_delta");
  append_descriptor_rows(rows, "out_delta", "in_delta");
  append(rows, {
                   {"flags",
                    {"in_delta.flags is 7"},
                    [](C& c) { c.output.flags = static_cast<BNNSNDArrayFlags>(7); }},
                   {"integers",
                    {"in_delta.data_type is Int32", "Float32"},
                    [](C& c) { c.output.data_type = BNNSDataTypeInt32; }},
                   {"integers to be summed",
                    {"out_delta.data_type is Int8", "Float32"},
                    [](C& c) { c.input.data_type = BNNSDataTypeInt8; }},
                   {"no multiple",
                    {"out_delta.size[1] is 2", "in_delta.size[1] is 3"},
                    [](C& c) { c.output.size[1] = 3; }},
                   {"another rank",
                    {"out_delta has 2 axes", "in_delta has 1"},
                    [](C& c) { c.output = vector_of(2, c.to.data()); }},
               });
  expect_refused(rows);
}

TEST(BadMovement, TileBackwardNotWanted) {
  TileBackward call;
  call.output.data = nullptr;
  EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(call.to.untouched());
}

TEST(BadMovement, Shuffle) {
  using C = Shuffle;
  auto rows = common_rows<C>("input", "output");
  append(rows, enum_rows<C>("type", BNNSShuffleTypeSpaceToDepthNCHW,
                            [](C& c, uint32_t v) { c.type = v; }));
  rows.push_back(no_data_of_output<C>());
  rows.push_back(other_type<C>());
  const auto sizes = [&](const char* name, size_t axis, size_t size) {
    rows.push_back(
        {name, {"output is", "input is", "r^2"}, [=](C& c) { c.output.size[axis] = size; }});
  };
  sizes("images", 0, 2);
  sizes("channels", 1, 2);
  sizes("rows", 2, 3);
  sizes("columns", 3, 2);
  sizes("another factor", 3, 6);
  rows.push_back({"the other way round", {"output is", "r^2"}, [](C& c) { c.type = 1; }});
  rows.push_back({"another layout", {"input.layout is 4DLastMajor", "4DFirstMajor"}, [](C& c) {
                    c.input.layout = BNNSDataLayout4DLastMajor;
                  }});
  rows.push_back({"a matrix", {"output.layout is RowMajorMatrix", "4DFirstMajor"}, [](C& c) {
                    c.output = matrix_of(4, 2, c.to.data());
                  }});
  rows.push_back({"size 0", {"input.size[2] is 0"}, [](C& c) { c.input.size[2] = 0; }});
  expect_refused(rows);
}

TEST(BadMovement, BandPart) {
  using C = BandPart;
  auto rows = common_rows<C>("input", "output");
  append_descriptor_rows(rows, "input", "output");
  rows.push_back(no_data_of_output<C>());
  rows.push_back(other_type<C>());
  rows.push_back(
      {"sizes", {"output is", "{2, 3}", "{2, 2}", "matrices"}, [](C& c) { c.output.size[1] = 3; }});
  rows.push_back({"another rank", {"output is 3DLastMajor", "matrices"}, [](C& c) {
                    c.output.layout = BNNSDataLayout3DLastMajor;
                    c.output.size[2] = 1;
                  }});
  rows.push_back({"a vector", {"input.layout is Vector", "two axes"}, [](C& c) {
                    c.input.layout = BNNSDataLayoutVector;
                  }});
  rows.push_back({"rotated", {"input.layout is ConvolutionWeightsOIHrWr", "rotated"}, [](C& c) {
                    c.input.layout = BNNSDataLayoutConvolutionWeightsOIHrWr;
                    c.input.size[2] = c.input.size[3] = 1;
                  }});
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

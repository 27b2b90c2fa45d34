// Resize filters that must not be made, and calls on them that must be refused. The valid call
// repeats each element of two channels of 2 x 2 in a block of 2 x 2, as published.
#include "support/one_input_call.h"

namespace bnns::test {
namespace {

struct Resize {
  using Parameters = BNNSLayerParametersResize;
  static constexpr const char* kFunction = "BNNSFilterCreateLayerResize";
  static constexpr size_t kIn = 8, kOut = 32;

  static Parameters parameters() {
    Parameters p = {};
    p.i_desc = array(BNNSDataLayoutImageCHW, {2, 2, 2});
    p.o_desc = array(BNNSDataLayoutImageCHW, {4, 4, 2});
    return p;
  }
  static BNNSFilter create(const Parameters* p, const BNNSFilterParameters* options) {
    return BNNSFilterCreateLayerResize(p, options);
  }
  static float result(size_t i) {
    return static_cast<float>(1 + i / 16 * 4 + i % 16 / 8 * 2 + i % 4 / 2);
  }
  // The sum of a block, whose first element is n: n + (n + 1) + (n + 4) + (n + 5).
  static float gradient(size_t i) {
    const size_t n = 1 + i / 4 * 16 + i % 4 / 2 * 8 + i % 2 * 2;
    return static_cast<float>(4 * n + 10);
  }
};

TEST(BadResize, Parameters) {
  using C = OneInputCreate<Resize>;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }}};
  append(rows, enum_rows<C>("method", BNNSInterpolationMethodLinear, [](C& c, uint32_t v) {
           c.params.method = static_cast<BNNSInterpolationMethod>(v);
         }));
  append(rows,
         descriptor_rows<C>(
             "i_desc", 3, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; }, false));
  append(rows,
         descriptor_rows<C>(
             "o_desc", 3, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; }, true));
  for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    rows.push_back({"i_desc type", {"i_desc.data_type", "floating-point"}, [=](C& c) {
                      c.params.i_desc.data_type = type;
                    }});
    rows.push_back({"o_desc type", {"o_desc.data_type", "floating-point"}, [=](C& c) {
                      c.params.o_desc.data_type = type;
                    }});
  }
  append(rows, {
                   {"sparse",
                    {"i_desc.layout", "FullyConnectedSparse", "plain"},
                    [](C& c) { c.params.i_desc.layout = BNNSDataLayoutFullyConnectedSparse; }},
                   {"rotated",
                    {"o_desc.layout", "IOHrWr", "rotated"},
                    [](C& c) {
                      c.params.o_desc = array(BNNSDataLayoutConvolutionWeightsIOHrWr, {2, 2, 1, 1});
                    }},
                   {"another rank",
                    {"o_desc is", "Vector {32}", "i_desc is", "{2, 2, 2}", "number of axes"},
                    [](C& c) { c.params.o_desc = vector_of(32); }},
                   {"a giant output",
                    {"o_desc has an axis of", "2147483648", "i_desc of 2", "1073741824"},
                    [](C& c) { c.params.o_desc.size[1] = size_t{1} << 31; }},
                   {"a giant input",
                    {"i_desc has an axis of", "2147483648", "o_desc of 4", "1073741824"},
                    [](C& c) { c.params.i_desc.size[1] = size_t{1} << 31; }},
               });
  expect_refused(rows);
}

TEST(BadResize, Forward) {
  using C = OneInputForward<Resize>;
  auto rows = forward_rows<C>();
  append(rows, overlap_rows<C>());
  expect_refused(rows);
}

TEST(BadResize, Backward) {
  using C = OneInputBackward<Resize>;
  auto rows = backward_rows<C>();
  append(rows, layout_rows<C>());
  append(rows, no_parameter_rows<C>());
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

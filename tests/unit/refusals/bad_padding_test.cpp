// Padding filters that must not be made, and calls on them that must be refused.
#include <limits>

#include "support/one_input_call.h"

namespace bnns::test {
namespace {

// Rows of two pixels; one mirrored pixel before them and two behind.
struct Padding {
  using Parameters = BNNSLayerParametersPadding;
  static constexpr const char* kFunction = "BNNSFilterCreateLayerPadding";
  static constexpr size_t kIn = 8, kOut = 20;

  static Parameters parameters() {
    Parameters p = {};
    p.i_desc = array(BNNSDataLayoutImageCHW, {2, 2, 2});
    p.o_desc = array(BNNSDataLayoutImageCHW, {5, 2, 2});
    p.padding_size[0][0] = 1;
    p.padding_size[0][1] = 2;
    p.padding_mode = BNNSPaddingModeSymmetric;
    return p;
  }
  static BNNSFilter create(const Parameters* p, const BNNSFilterParameters* options) {
    return BNNSFilterCreateLayerPadding(p, options);
  }
  static float result(size_t i) {  // 1 1 2 2 1, 3 3 4 4 3, ...
    constexpr size_t kRow[] = {1, 1, 2, 2, 1};
    return static_cast<float>(i / 5 * 2 + kRow[i % 5]);
  }
  static float gradient(size_t i) {  // of 1 2 3 4 5, of 6 7 8 9 10, ...
    const size_t row = i / 2;
    return static_cast<float>(i % 2 == 0 ? 15 * row + 1 + 2 + 5 : 10 * row + 3 + 4);
  }
};

TEST(BadPadding, Parameters) {
  using C = OneInputCreate<Padding>;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }},
      {"another type",
       {"o_desc.data_type is Float16", "i_desc.data_type is Float32", "equal"},
       [](C& c) { c.params.o_desc.data_type = BNNSDataTypeFloat16; }},
      {"values below a byte",
       {"i_desc.data_type is UInt4", "below a byte"},
       [](C& c) { c.params.i_desc.data_type = BNNSDataTypeUInt4; }},
      {"a constant of 8 bytes",
       {"i_desc.data_type is Int64", "4 bytes"},
       [](C& c) {
         c.params.i_desc.data_type = c.params.o_desc.data_type = BNNSDataTypeInt64;
         c.params.padding_mode = BNNSPaddingModeConstant;
       }},
      {"another rank",
       {"o_desc is Vector", "number of axes"},
       [](C& c) { c.params.o_desc = vector_of(20); }},
      {"one cell less",
       {"o_desc.size[0] is 5", "{1, 1}", "must be 4"},
       [](C& c) { c.params.padding_size[0][1] = 1; }},
      {"an axis that is not padded",
       {"o_desc.size[2] is 3", "i_desc.size[2] is 2", "{0, 0}"},
       [](C& c) { ++c.params.o_desc.size[2]; }},
      {"smaller than the input",
       {"o_desc.size[0] is 1"},
       [](C& c) { c.params.o_desc.size[0] = 1; }},
      {"nothing to mirror",
       {"i_desc.size[1] is 1", "Reflect", "2 elements"},
       [](C& c) {
         c.params.padding_mode = BNNSPaddingModeReflect;
         c.params.padding_size[1][1] = 1;
         c.params.i_desc.size[1] = 1;
       }},
      {"packed",
       {"i_desc.layout is ConvolutionWeightsOIHW_Pack32"},
       [](C& c) {
         c.params.i_desc.layout = BNNSDataLayoutConvolutionWeightsOIHW_Pack32;
         c.params.i_desc.size[3] = 1;
       }},
  };
  for (const size_t side : {size_t{0}, size_t{1}}) {
    for (const size_t cells : {size_t{1} << 31, size_t{1} << 63, SIZE_MAX}) {
      rows.push_back({"huge",
                      {"padding_size[0][" + std::to_string(side) + "] is " + std::to_string(cells),
                       "2147483647"},
                      [=](C& c) { c.params.padding_size[0][side] = cells; }});
    }
  }
  append(rows, enum_rows<C>("padding_mode", BNNSPaddingModeSymmetric, [](C& c, uint32_t v) {
           c.params.padding_mode = static_cast<BNNSPaddingMode>(v);
         }));
  append(rows, descriptor_rows<C>(
                   "i_desc", 3, [](C & c) -> auto& { return c.params.i_desc; }, false));
  append(rows, descriptor_rows<C>(
                   "o_desc", 3, [](C & c) -> auto& { return c.params.o_desc; }, true));
  expect_refused(rows);
}

TEST(BadPadding, Forward) {
  using C = OneInputForward<Padding>;
  auto rows = forward_rows<C>();
  append(rows, overlap_rows<C>());
  expect_refused(rows);
}

TEST(BadPadding, Backward) {
  using C = OneInputBackward<Padding>;
  auto rows = backward_rows<C>();
  append(rows, layout_rows<C>());
  append(rows, no_parameter_rows<C>());
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

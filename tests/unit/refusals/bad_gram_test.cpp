// Gram filters that must not be made, and calls on them that must be refused. The valid call has
// published values: an image of 1 x 2 pixels and two channels, 1 2 3 4, gives 5 11 11 25.
#include <cmath>
#include <limits>

#include "support/one_input_call.h"

namespace bnns::test {
namespace {

struct Gram {
  using Parameters = BNNSLayerParametersGram;
  static constexpr const char* kFunction = "BNNSFilterCreateLayerGram";
  static constexpr size_t kIn = 4, kOut = 4;

  static Parameters parameters() {
    Parameters p = {};
    p.alpha = 1;
    p.i_desc = array(BNNSDataLayoutImageCHW, {1, 2, 2});
    p.o_desc = array(BNNSDataLayoutRowMajorMatrix, {2, 2});
    return p;
  }
  static BNNSFilter create(const Parameters* p, const BNNSFilterParameters* options) {
    return BNNSFilterCreateLayerGram(p, options);
  }
  static float result(size_t i) {
    constexpr float kRight[] = {5, 11, 11, 25};
    return kRight[i];
  }
  // With dG = 1 2 / 3 4, S = dG + dG^T is 2 5 / 5 8.
  static float gradient(size_t i) {
    constexpr float kRight[] = {2 * 1 + 5 * 3, 2 * 2 + 5 * 4, 5 * 1 + 8 * 3, 5 * 2 + 8 * 4};
    return kRight[i];
  }
};

TEST(BadGram, Parameters) {
  using C = OneInputCreate<Gram>;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }}};
  for (const float alpha : {NAN, std::numeric_limits<float>::infinity()})
    rows.push_back({"alpha", {"alpha is", "finite"}, [=](C& c) { c.params.alpha = alpha; }});
  append(rows,
         descriptor_rows<C>(
             "i_desc", 3, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; }, false));
  append(rows,
         descriptor_rows<C>(
             "o_desc", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; }, true));
  for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    rows.push_back({"i_desc type", {"i_desc.data_type", "floating-point"}, [=](C& c) {
                      c.params.i_desc.data_type = type;
                    }});
    rows.push_back({"o_desc type", {"o_desc.data_type", "floating-point"}, [=](C& c) {
                      c.params.o_desc.data_type = type;
                    }});
  }
  rows.push_back({"a vector", {"i_desc.layout is Vector", "two axes"}, [](C& c) {
                    c.params.i_desc.layout = BNNSDataLayoutVector;
                  }});
  rows.push_back({"rotated", {"i_desc.layout", "rotated"}, [](C& c) {
                    c.params.i_desc.layout = BNNSDataLayoutConvolutionWeightsOIHrWr;
                    c.params.i_desc.size[3] = 2;
                  }});
  rows.push_back({"o_desc too small", {"o_desc is", "{2, 1}", "{1, 2, 2}", "2 x 2"}, [](C& c) {
                    c.params.o_desc.size[1] = 1;
                  }});
  rows.push_back({"o_desc of another rank", {"o_desc is", "2 x 2"}, [](C& c) {
                    c.params.o_desc.layout = BNNSDataLayout3DLastMajor;
                    c.params.o_desc.size[2] = 1;
                  }});
  rows.push_back({"other images", {"o_desc is", "3 x 3"}, [](C& c) {
                    c.params.i_desc = array(BNNSDataLayout4DFirstMajor, {2, 1, 1, 3}, nullptr,
                                            BNNSDataTypeFloat32);
                    c.params.o_desc =
                        array(BNNSDataLayout3DFirstMajor, {4, 3, 3}, nullptr, BNNSDataTypeFloat32);
                  }});
  expect_refused(rows);
}

TEST(BadGram, Forward) {
  using C = OneInputForward<Gram>;
  auto rows = forward_rows<C>();
  append(rows, overlap_rows<C>());
  expect_refused(rows);
}

TEST(BadGram, Backward) {
  using C = OneInputBackward<Gram>;
  auto rows = backward_rows<C>();
  append(rows, no_parameter_rows<C>());
  rows.push_back({"another layout", {"in_delta.layout is 3DFirstMajor", "equal"}, [](C& c) {
                    c.in_delta.layout = BNNSDataLayout3DFirstMajor;
                  }});
  rows.push_back({"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }});
  rows.push_back(
      {"in is in_delta", {"in_delta and in overlap"}, [](C& c) { c.in_delta.data = c.in.data(); }});
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

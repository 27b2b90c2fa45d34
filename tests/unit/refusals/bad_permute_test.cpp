// Permute filters that must not be made, and calls on them that must be refused.
#include "support/one_input_call.h"

namespace bnns::test {
namespace {

// The axes of an image of 2 x 3 pixels and two channels, the channels first.
struct Permute {
  using Parameters = BNNSLayerParametersPermute;
  static constexpr const char* kFunction = "BNNSFilterCreateLayerPermute";
  static constexpr size_t kIn = 12, kOut = 12;

  static Parameters parameters() {
    Parameters p = {};
    p.i_desc = array(BNNSDataLayoutImageCHW, {2, 3, 2});
    p.o_desc = array(BNNSDataLayoutImageCHW, {2, 2, 3});
    p.permutation[0] = 2;
    p.permutation[1] = 0;
    p.permutation[2] = 1;
    return p;
  }
  static BNNSFilter create(const Parameters* p, const BNNSFilterParameters* options) {
    return BNNSFilterCreateLayerPermute(p, options);
  }
  // Element i of the output is channel i % 2 of pixel i / 2.
  static float result(size_t i) { return static_cast<float>(i % 2 * 6 + i / 2 + 1); }
  static float gradient(size_t i) { return static_cast<float>(i % 6 * 2 + i / 6 + 1); }
};

TEST(BadPermute, Parameters) {
  using C = OneInputCreate<Permute>;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }},
      {"257 threads", {"n_threads", "257"}, [](C& c) { c.options.n_threads = 257; }},
      {"an axis twice",
       {"permutation[1] is 2 for the second time"},
       [](C& c) { c.params.permutation[1] = 2; }},
      {"another type",
       {"o_desc.data_type is Float16", "i_desc.data_type is Float32", "equal"},
       [](C& c) { c.params.o_desc.data_type = BNNSDataTypeFloat16; }},
      {"values below a byte",
       {"i_desc.data_type is Int4", "below a byte"},
       [](C& c) { c.params.i_desc.data_type = BNNSDataTypeInt4; }},
      {"sizes",
       {"o_desc is", "{2, 2, 4}", "permutation[k]"},
       [](C& c) { ++c.params.o_desc.size[2]; }},
      {"sizes in the old order",
       {"o_desc is", "{2, 3, 2}"},
       [](C& c) { c.params.o_desc = c.params.i_desc; }},
      {"another rank", {"o_desc is Vector"}, [](C& c) { c.params.o_desc = vector_of(12); }},
      {"opaque",
       {"i_desc.layout is FullyConnectedSparse"},
       [](C& c) { c.params.i_desc.layout = BNNSDataLayoutFullyConnectedSparse; }},
      {"packed",
       {"o_desc.layout is ConvolutionWeightsOIHW_Pack32"},
       [](C& c) {
         c.params.o_desc.layout = BNNSDataLayoutConvolutionWeightsOIHW_Pack32;
         c.params.o_desc.size[3] = 1;
       }},
  };
  for (const size_t axis : {size_t{3}, size_t{8}, SIZE_MAX}) {
    rows.push_back({"no such axis",
                    {"permutation[2] is " + std::to_string(axis), "3 axes"},
                    [=](C& c) { c.params.permutation[2] = axis; }});
  }
  append(rows, descriptor_rows<C>(
                   "i_desc", 3, [](C & c) -> auto& { return c.params.i_desc; }, false));
  append(rows, descriptor_rows<C>(
                   "o_desc", 3, [](C & c) -> auto& { return c.params.o_desc; }, true));
  expect_refused(rows);
}

TEST(BadPermute, Forward) {
  using C = OneInputForward<Permute>;
  auto rows = forward_rows<C>();
  append(rows, overlap_rows<C>());
  expect_refused(rows);
}

TEST(BadPermute, Backward) {
  using C = OneInputBackward<Permute>;
  auto rows = backward_rows<C>();
  append(rows, layout_rows<C>());
  auto own = rows;
  for (Row<C>& row : own) {
    row.damage = [damage = row.damage](C& c) {
      damage(c);
      c.own_function = true;
      c.function = "BNNSPermuteFilterApplyBackwardBatch";
    };
  }
  append(rows, own);
  append(rows, no_parameter_rows<C>());
  expect_refused(rows);
}

TEST(BadPermute, WrongFilter) {
  const Filter other =
      make_activation(vector_of(3), vector_of(3), activation(BNNSActivationFunctionIdentity));
  Guarded<float> dx{Space{3}}, dy{1, 2, 3};
  BNNSNDArrayDescriptor in_delta = vector_of(3, dx.data()), out_delta = vector_of(3, dy.data());
  for (const BNNSFilter filter : {other.get(), BNNSFilter(nullptr), BNNSFilter(&in_delta)}) {
    forget_reason();
    EXPECT_NE(BNNSPermuteFilterApplyBackwardBatch(filter, 1, &in_delta, 0, &out_delta, 0), 0);
    expect_reason(OpenBNNSGetLastError(), "BNNSPermuteFilterApplyBackwardBatch", {"filter"});
    EXPECT_TRUE(dx.untouched());
    ++refused_inputs;
  }
}

}  // namespace
}  // namespace bnns::test

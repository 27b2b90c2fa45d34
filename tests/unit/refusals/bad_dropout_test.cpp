// Dropout filters that must not be made, and calls on them that must be refused. The valid call has
// a rate of 0, with which dropout is the identity.
#include <cmath>
#include <limits>

#include "support/one_input_call.h"

namespace bnns::test {
namespace {

struct Dropout {
  using Parameters = BNNSLayerParametersDropout;
  static constexpr const char* kFunction = "BNNSFilterCreateLayerDropout";
  static constexpr size_t kIn = 6, kOut = 6;

  static Parameters parameters() {
    Parameters p = {};
    p.i_desc = p.o_desc = array(BNNSDataLayoutImageCHW, {1, 2, 3});
    p.seed = 1;
    return p;
  }
  static BNNSFilter create(const Parameters* p, const BNNSFilterParameters* options) {
    return BNNSFilterCreateLayerDropout(p, options);
  }
  static float result(size_t i) { return static_cast<float>(i + 1); }
  static float gradient(size_t i) { return static_cast<float>(i + 1); }
};

// A gradient is that of a forward call.
struct DropoutBackward : OneInputBackward<Dropout> {
  size_t forward_batch = kBatch;

  template <class F>
  void for_outputs(const F& f) {
    f(dx);
    f(dy);
  }
  bool run() {
    const Filter filter = expect_made();
    std::swap(batch, forward_batch);
    EXPECT_TRUE(apply(filter)) << OpenBNNSGetLastError();
    std::swap(batch, forward_batch);
    return apply_backward(filter);
  }
};

TEST(BadDropout, Parameters) {
  using C = OneInputCreate<Dropout>;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }}};
  for (const float rate : {1.0f, -0.25f, 2.0f, NAN, std::numeric_limits<float>::infinity()})
    rows.push_back({"rate", {"rate is", "below 1"}, [=](C& c) { c.params.rate = rate; }});
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
  for (const auto layout :
       {BNNSDataLayoutFullyConnectedSparse, BNNSDataLayoutConvolutionWeightsOIHW_Pack32}) {
    rows.push_back({"i_desc not plain", {"i_desc.layout", "plain array"}, [=](C& c) {
                      c.params.i_desc.layout = layout;
                      c.params.i_desc.size[3] = 1;
                    }});
    rows.push_back({"o_desc not plain", {"o_desc.layout", "plain array"}, [=](C& c) {
                      c.params.o_desc.layout = layout;
                      c.params.o_desc.size[3] = 1;
                    }});
  }
  rows.push_back({"other sizes", {"o_desc", "{2, 1, 3}", "same elements"}, [](C& c) {
                    std::swap(c.params.o_desc.size[0], c.params.o_desc.size[1]);
                  }});
  rows.push_back({"another count", {"o_desc", "Vector {7}", "same elements"}, [](C& c) {
                    c.params.o_desc = vector_of(7);
                  }});
  expect_refused(rows);
}

TEST(BadDropout, Forward) {
  using C = OneInputForward<Dropout>;
  auto rows = forward_rows<C>();
  rows.push_back(
      {"out is part of in", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data() + 1; }});
  expect_refused(rows);
}

TEST(BadDropout, Backward) {
  using C = DropoutBackward;
  auto rows = backward_rows<C>();
  append(rows, no_parameter_rows<C>());
  append(rows,
         {{"no forward call", {"was not applied"}, [](C& c) { c.forward_batch = 0; }},
          {"another batch", {"batch_size is 2", "had 1"}, [](C& c) { c.forward_batch = 1; }}});
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

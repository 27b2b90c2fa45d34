// What cannot be trained: slopes a function does not have, slopes that need the input, activations
// whose slope the output does not tell, and types other than Float32.
#include "support/call_activation.h"
#include "support/call_fully_connected.h"

namespace bnns::test {
namespace {

TEST(BadTraining, TrainableSlope) {
  using Call = ActivationBackward;
  auto rows = enum_rows<Call>(
      "weights_delta.flags", BNNSNDArrayFlagBackpropAccumulate,
      [](Call& c, uint32_t v) { c.slope_delta.flags = static_cast<BNNSNDArrayFlags>(v); });
  append(
      rows,
      {
          {"two values for one slope",
           {"weights_delta", "Vector {2}", "alpha"},
           [](Call& c) { c.slope_delta.size[0] = 2; }},
          {"one value for two channels",
           {"weights_delta", "Vector {1}", "alpha", "Vector {2}"},
           [](Call& c) { c.params.activation.function = BNNSActivationFunctionPReLUPerChannel; }},
          {"slope misaligned",
           {"weights_delta", "aligned to 4"},
           [](Call& c) { c.slope_delta.data = reinterpret_cast<char*>(c.slope.data()) + 2; }},
          {"slope of type Float16",
           {"weights_delta.data_type", "Float16", "Float32"},
           [](Call& c) { c.slope_delta.data_type = BNNSDataTypeFloat16; }},
          {"slope in in",
           {"weights_delta", "in", "overlap"},
           [](Call& c) { c.slope_delta.data = c.in.data() + 3; }},
          {"slope in out_delta",
           {"weights_delta", "out_delta", "overlap"},
           [](Call& c) { c.slope_delta.data = c.dy.data() + 3; }},
          {"slope in in_delta",
           {"weights_delta", "in_delta", "overlap"},
           [](Call& c) { c.slope_delta.data = c.dx.data() + 3; }},
          {"slope without in", {"in is NULL"}, [](Call& c) { c.in_pointer = nullptr; }},
      });
  for (const auto function :
       {BNNSActivationFunctionRectifiedLinear, BNNSActivationFunctionELU,
        BNNSActivationFunctionLinear, BNNSActivationFunctionSoftmax, BNNSActivationFunctionTanh}) {
    rows.push_back({"a slope the function does not train",
                    {"weights_delta", "slope"},
                    [=](Call& c) { c.params.activation = activation(function, 0.5f, 0.5f); }});
  }
  expect_refused(rows);
}

// Functions whose slope needs x, called with y alone; functions without any gradient.
TEST(BadTraining, ActivationNeedsInput) {
  using Call = ActivationBackward;
  std::vector<Row<Call>> rows;
  for (const auto function :
       {BNNSActivationFunctionAbs, BNNSActivationFunctionGELUApproximation,
        BNNSActivationFunctionHardSwish, BNNSActivationFunctionSiLU, BNNSActivationFunctionErf,
        BNNSActivationFunctionGELU, BNNSActivationFunctionLeakyRectifiedLinear,
        BNNSActivationFunctionClampedLeakyRectifiedLinear}) {
    rows.push_back(
        {"only out for function " + std::to_string(function), {"in is NULL", "out"}, [=](Call& c) {
           c.params.activation = activation(function, -0.5f, 0.5f);
           c.slope_delta_pointer = nullptr;
           c.in_pointer = nullptr;
         }});
  }
  for (const auto function : {BNNSActivationFunctionTanh, BNNSActivationFunctionSoftmax,
                              BNNSActivationFunctionRectifiedLinear}) {
    rows.push_back({"neither in nor out", {"in is NULL", "needs in or out"}, [=](Call& c) {
                      c.params.activation = activation(function);
                      c.slope_delta_pointer = nullptr;
                      c.in_pointer = c.out_pointer = nullptr;
                    }});
  }
  for (const auto function : {BNNSActivationFunctionGumbel, BNNSActivationFunctionGumbelMax}) {
    rows.push_back(
        {"a function without gradient", {"activation", "Gumbel", "no gradient"}, [=](Call& c) {
           c.params.activation = activation(function, 1, 1e-6f);
           c.slope_delta_pointer = nullptr;
         }});
  }
  rows.push_back({"an integer function", {"training needs Float32"}, [](Call& c) {
                    c.params.activation = activation(BNNSActivationFunctionIntegerLinearSaturate);
                    c.params.i_desc.data_type = c.params.o_desc.data_type = BNNSDataTypeInt32;
                    c.slope_delta_pointer = nullptr;
                  }});
  expect_refused(rows);
}

// Fused, the slope must follow from y: refused in backward, but made and applied forward.
TEST(BadTraining, UntrainableFused) {
  using Call = FullyConnectedBackward;
  struct Untrainable {
    BNNSActivationFunction function;
    float alpha;
    const char* name;
  };
  std::vector<Row<Call>> rows;
  for (const Untrainable& u : {Untrainable{BNNSActivationFunctionAbs, 1, "Abs"},
                               {BNNSActivationFunctionGELUApproximation, 1, "GELUApproximation"},
                               {BNNSActivationFunctionHardSwish, 1, ""},
                               {BNNSActivationFunctionSiLU, 1, "SiLU"},
                               {BNNSActivationFunctionErf, 1, "Erf"},
                               {BNNSActivationFunctionGELU, 1, "GELU"},
                               {BNNSActivationFunctionGumbel, 1, "Gumbel"},
                               {BNNSActivationFunctionGumbelMax, 1, "GumbelMax"},
                               {BNNSActivationFunctionLeakyRectifiedLinear, 0, "Leaky"},
                               {BNNSActivationFunctionLeakyRectifiedLinear, -0.5f, "Leaky"},
                               {BNNSActivationFunctionClampedLeakyRectifiedLinear, 0, "Leaky"},
                               {BNNSActivationFunctionClampedLeakyRectifiedLinear, -2, "Leaky"}}) {
    const BNNSActivation fused = activation(u.function, u.alpha, 0.25f);
    rows.push_back({"fused function " + std::to_string(u.function),
                    {"activation", u.name, "output"},
                    [=](Call& c) { c.params.activation = fused; }});
    FullyConnectedApply forward;
    forward.params.activation = fused;
    EXPECT_TRUE(forward.run()) << OpenBNNSGetLastError();
    EXPECT_FALSE(forward.out.untouched()) << u.name;
  }
  expect_refused(rows);
}

TEST(BadTraining, UntrainableTypes) {
  using Call = FullyConnectedBackward;
  std::vector<Row<Call>> rows;
  for (const auto type : {BNNSDataTypeFloat16, BNNSDataTypeBFloat16, BNNSDataTypeInt8}) {
    rows.push_back({"weights type", {"w_desc.data_type", "Float32"}, [=](Call& c) {
                      c.params.w_desc.data_type = type;
                    }});
    rows.push_back({"output type", {"o_desc.data_type", "Float32"}, [=](Call& c) {
                      c.params.o_desc.data_type = type;
                    }});
    rows.push_back(
        {"bias type", {"bias", "Float32"}, [=](Call& c) { c.params.bias.data_type = type; }});
  }
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

// Fused filters that must not be made, and forward calls on them that must be refused.
#include <string>
#include <vector>

#include "support/fused_call.h"

namespace bnns::test {
namespace {

using Create = FusedCreate;
using Forward = FusedForward;
using Backward = FusedBackward;
using MultiForward = FusedMultiForward;

TEST(BadFused, List) {
  std::vector<Row<Create>> rows = {
      {"no types", {"filter_type is NULL"}, [](Create& c) { c.types_pointer = nullptr; }},
      {"no parameters", {"layer_params is NULL"}, [](Create& c) { c.params_pointer = nullptr; }},
      {"no first", {"layer_params[0] is NULL"}, [](Create& c) { c.params[0] = nullptr; }},
      {"no second", {"layer_params[1] is NULL"}, [](Create& c) { c.params[1] = nullptr; }},
      {"unknown flags", {"filter_params->flags", "6"}, [](Create& c) { c.options.flags = 6; }}};
  for (const size_t count : {size_t{0}, size_t{1}, size_t{3}, SIZE_MAX}) {
    rows.push_back({"count",
                    {"number_of_fused_filters is " + std::to_string(count), "must be 2"},
                    [=](Create& c) { c.count = count; }});
  }
  expect_refused(rows);
}

// Every pair of types but those that exist.
TEST(BadFused, Pairs) {
  constexpr uint32_t kTypes[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 99, UINT32_MAX};
  const auto is_first = [](uint32_t t) {
    return t == BNNSConvolution || t == BNNSFullyConnected || t == BNNSTransposedConvolution ||
           t == BNNSArithmetic;
  };
  const auto is_norm = [](uint32_t t) { return t >= BNNSBatchNorm && t <= BNNSGroupNorm; };
  std::vector<Row<Create>> rows;
  for (const uint32_t first : kTypes) {
    for (const uint32_t second : kTypes) {
      std::vector<std::string> words;
      if (!is_first(first)) {
        words = {"filter_type[0] is " + std::to_string(first), "TransposedConvolution"};
      } else if (!is_norm(second) && second != BNNSQuantization) {
        words = {"filter_type[1] is " + std::to_string(second), "normalization"};
      } else if (first == BNNSArithmetic && second == BNNSQuantization) {
        words = {"filter_type[0] is Arithmetic", "filter_type[1] is Quantization"};
      } else {
        continue;
      }
      rows.push_back({std::to_string(first) + " " + std::to_string(second), words, [=](Create& c) {
                        c.types[0] = static_cast<BNNSFilterType>(first);
                        c.types[1] = static_cast<BNNSFilterType>(second);
                      }});
    }
  }
  EXPECT_EQ(rows.size(), 12u * 12u - 4 * 4 - 3);
  expect_refused(rows);
}

TEST(BadFused, Between) {
  const std::string rule = "the same layout, sizes, strides and type";
  expect_refused<Create>(
      {{"size",
        {"layer_params[0] is Vector {2}", "layer_params[1] is Vector {3}", rule},
        [](Create& c) {
          c.second = {};
          c.second.i_desc = c.second.o_desc = vector_of(3);
        }},
       {"layout",
        {"Vector {2}", "ImageCHW {1, 1, 2}", rule},
        [](Create& c) { c.second.i_desc = c.second.o_desc = c.convolution.o_desc; }},
       {"stride", {"Vector {2}", rule}, [](Create& c) { c.second.i_desc.stride[0] = 2; }},
       {"type",
        {"of Float32", "of BFloat16", rule},
        [](Create& c) { c.second.i_desc.data_type = BNNSDataTypeBFloat16; }},
       {"stride of an image",
        {"ImageCHW {1, 1, 2}", rule},
        [](Create& c) {
          c.use_convolution();
          c.convolution.o_desc.stride[2] = 5;
        }},
       {"quantization",
        {"of Float32", "of Float16", rule},
        [](Create& c) {
          c.use_quantization();
          c.quantization.i_desc.data_type = BNNSDataTypeFloat16;
        }},
       {"arithmetic", {"Vector {2}", "Vector {1}", rule}, [](Create& c) {
          c.use_arithmetic();
          c.second = {};
          c.second.i_desc = c.second.o_desc = vector_of(1);
        }}});
}

// What the readers of the layers refuse is told with the place of the layer.
TEST(BadFused, Layers) {
  const std::string first = "layer_params[0]: ", second = "layer_params[1]: ";
  std::vector<Row<Create>> rows = {
      {"weights", {first + "w_desc.data is NULL"}, [](Create& c) { c.first.w_desc.data = {}; }},
      {"sizes", {first + "w_desc"}, [](Create& c) { c.first.w_desc.size[0] = 3; }},
      {"epsilon", {second + "epsilon is -1"}, [](Create& c) { c.second.epsilon = -1; }},
      {"momentum", {second + "momentum is 2"}, [](Create& c) { c.second.momentum = 2; }},
      {"gamma", {second + "gamma_desc has 3"}, [](Create& c) { c.second.gamma_desc.size[0] = 3; }},
      {"groups",
       {second + "num_groups is 3", "divisible"},
       [](Create& c) {
         c.types[1] = BNNSGroupNorm;
         c.second.num_groups = 3;
       }},
      {"axis",
       {second + "normalization_axis is 3"},
       [](Create& c) {
         c.types[1] = BNNSLayerNorm;
         c.second.normalization_axis = 3;
       }},
      {"softmax",
       {second + "activation.function is Softmax"},
       [](Create& c) { c.second.activation = activation(BNNSActivationFunctionSoftmax); }},
      {"layout of a normalization",
       {second + "i_desc.layout is RowMajorMatrix"},
       [](Create& c) {
         c.use_arithmetic();
         c.unary.in = c.unary.out = c.second.i_desc = c.second.o_desc = matrix_of(2, 1);
       }},
      {"integers of a fully connected layer",
       {first + "activation.function is IntegerLinearSaturate", "floating-point"},
       [](Create& c) {
         c.first.activation = activation(BNNSActivationFunctionIntegerLinearSaturate, 1);
         c.first.i_desc.data_type = c.first.o_desc.data_type = BNNSDataTypeInt8;
         c.first.w_desc.data_type = BNNSDataTypeInt8;
         c.first.bias.data_type = BNNSDataTypeInt32;
       }},
      {"function of arithmetic",
       {first + "arithmetic_function is 77"},
       [](Create& c) {
         c.use_arithmetic();
         c.arithmetic.arithmetic_function = static_cast<BNNSArithmeticFunction>(77);
       }},
      {"fields of arithmetic",
       {first + "arithmetic_function_fields is NULL"},
       [](Create& c) {
         c.use_arithmetic();
         c.arithmetic.arithmetic_function_fields = nullptr;
       }},
      {"function of quantization",
       {second + "function is 9"},
       [](Create& c) {
         c.use_quantization();
         c.quantization.function = static_cast<BNNSQuantizerFunction>(9);
       }},
      {"axis of quantization",
       {second + "axis_mask is 3"},
       [](Create& c) {
         c.use_quantization();
         c.quantization.axis_mask = 3;
       }},
      {"scale of quantization",
       {second + "scale has 2 values"},
       [](Create& c) {
         c.use_quantization();
         c.quantization.scale = vector_of(2, c.gamma.data());
       }},
      {"misaligned scale",
       {second + "scale is", "aligned to 4"},
       [](Create& c) {
         c.use_quantization();
         c.quantization.scale = vector_of(1, reinterpret_cast<char*>(c.gamma.data()) + 2);
       }},
      {"floats of quantization", {second + "o_desc.data_type is Float32"}, [](Create& c) {
         c.use_quantization();
         c.quantization.o_desc.data_type = BNNSDataTypeFloat32;
       }}};
  for (const bool transposed : {false, true}) {
    rows.push_back({"weights of a convolution", {first + "w_desc.size"}, [=](Create& c) {
                      c.use_convolution(transposed);
                      c.convolution.w_desc.size[2] = 0;
                    }});
  }
  rows.push_back({"output of a convolution", {first + "i_desc has width 1"}, [=](Create& c) {
                    c.use_convolution();
                    c.convolution.o_desc.size[0] = 9;
                  }});
  for (const auto type : {BNNSConstant, BNNSParameter}) {
    rows.push_back({"out_type",
                    {first + "out_type is " + std::to_string(type), "must be a Sample"},
                    [=](Create& c) {
                      c.use_arithmetic();
                      c.unary.in_type = c.unary.out_type = type;
                    }});
  }
  append(rows, descriptor_rows<Create>(
                   first + "i_desc", 1,
                   [](Create& c) -> BNNSNDArrayDescriptor& { return c.first.i_desc; }, false));
  append(rows, descriptor_rows<Create>(
                   second + "o_desc", 1,
                   [](Create& c) -> BNNSNDArrayDescriptor& { return c.second.o_desc; }, true));
  expect_refused(rows);
}

TEST(BadFused, Forward) {
  using C = Forward;
  std::vector<Row<C>> rows = {
      {"no filter", {"filter"}, [](C& c) { c.filter = Filter(); }},
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"in_stride", {"in_stride is 1", "2"}, [](C& c) { c.in_stride = 1; }},
      {"out_stride", {"out_stride is 1", "2"}, [](C& c) { c.out_stride = 1; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
      {"in misaligned",
       {"in is", "aligned to 4"},
       [](C& c) { c.in_pointer = reinterpret_cast<char*>(c.in.data()) + 1; }},
      {"out is in", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data(); }},
      {"several inputs",
       {"number_of_inputs is 1", "has 2"},
       [](C& c) {
         FusedMultiCall two;
         two.create();
         c.filter = std::move(two.filter);
       }},
      {"an activation in training",
       {"training is true", "Tanh", "Identity"},
       [](C& c) {
         c.first.activation = activation(BNNSActivationFunctionTanh);
         c.create();
       }},
      {"another batch than there are scales", {"batch_size is 3", "scale has 2"}, [](C& c) {
         c.use_quantization();
         c.quantization.axis_mask = 2;
         c.quantization.scale = vector_of(2, c.gamma.data());
         c.create();
       }}};
  const auto overlap = [&](const char* name, Guarded<float> C::*memory) {
    rows.push_back({std::string("out is ") + name, {"out and ", name, "overlap"}, [=](C& c) {
                      c.batch = 1;
                      c.out_pointer = (c.*memory).data();
                    }});
  };
  overlap("w_desc.data", &C::w);
  overlap("bias.data", &C::b);
  overlap("beta_desc.data", &C::beta);
  overlap("gamma_desc.data", &C::gamma);
  overlap("moving_mean_desc.data", &C::mean);
  overlap("moving_variance_desc.data", &C::variance);
  const auto statistics = [&](const char* name, Guarded<float> C::*memory) {
    rows.push_back({std::string("moving mean is ") + name,
                    {"moving_mean_desc.data and ", name, "overlap"},
                    [=](C& c) {
                      c.second.moving_mean_desc.data = (c.*memory).data();
                      c.create();
                    }});
  };
  statistics("in", &C::in);
  statistics("w_desc.data", &C::w);
  statistics("bias.data", &C::b);
  statistics("gamma_desc.data", &C::gamma);
  expect_refused(rows);
}

TEST(BadFused, MultiForward) {
  using C = MultiForward;
  std::vector<Row<C>> rows = {
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"in_stride", {"in_stride is NULL"}, [](C& c) { c.in_stride_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"first input", {"in[0] is NULL"}, [](C& c) { c.in[0] = nullptr; }},
      {"second input", {"in[1] is NULL"}, [](C& c) { c.in[1] = nullptr; }},
      {"stride", {"in_stride[1] is 1"}, [](C& c) { c.in_stride[1] = 1; }},
      {"out is an input", {"out and in overlap"}, [](C& c) { c.out_pointer = c.c.data(); }}};
  for (const size_t inputs : {0, 1, 3}) {
    rows.push_back({"inputs",
                    {"number_of_inputs is " + std::to_string(inputs), "has 2"},
                    [=](C& c) { c.inputs = inputs; }});
  }
  expect_refused(rows);
}

// The data of i_desc and o_desc are not those of a call.
TEST(BadFused, UnusualButRight) {
  expect_accepted<Create>({{"data in the descriptors", {}, [](Create& c) {
                              c.first.i_desc.data = c.second.o_desc.data = c.in.data() + 1;
                              c.first.o_desc.data = c.second.i_desc.data = c.out.data();
                            }}});
}

// Nothing to do is no mistake.
TEST(BadFused, NothingToDo) {
  Forward f;
  f.batch = 0;
  f.in_pointer = f.out_pointer = nullptr;
  EXPECT_TRUE(f.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(f.out.untouched());
  Backward b;
  b.in_delta_pointer = nullptr;
  b.slots_pointer = nullptr;
  EXPECT_TRUE(b.run()) << OpenBNNSGetLastError();
  b.slots_pointer = b.slots;
  for (BNNSNDArrayDescriptor& d : b.deltas) d.data = nullptr;
  b.in_delta.data = nullptr;
  b.in_delta_pointer = &b.in_delta;
  EXPECT_TRUE(b.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(b.dx.untouched() && b.dw.untouched() && b.dgamma.untouched());
}

// The calls of other families, and those of this one on other filters.
TEST(BadFused, OtherCalls) {
  Forward fused;
  const auto refused = [](int status, const std::string& word) {
    EXPECT_EQ(status, -1);
    EXPECT_NE(std::string(OpenBNNSGetLastError()).find(word), std::string::npos)
        << OpenBNNSGetLastError();
  };
  BNNSFilter f = fused.filter.get();
  void* y = fused.out.data();
  const void* x = fused.in.data();
  const void* in[] = {x};
  const size_t stride[] = {3};
  BNNSNDArrayDescriptor d = vector_of(2, y), *deltas[] = {&d};
  refused(BNNSFilterApply(f, x, y), "fused");
  refused(BNNSFilterApplyBatch(f, 1, x, 0, y, 0), "fused");
  refused(BNNSFilterApplyTwoInput(f, x, x, y), "BNNSFilterApplyTwoInput: ");
  refused(BNNSFilterApplyTwoInputBatch(f, 1, x, 0, x, 0, y, 0), "BNNSFilterApplyTwoInputBatch: ");
  refused(BNNSNormalizationFilterApplyBatch(f, 1, x, 0, y, 0, false), "fused");
  refused(BNNSArithmeticFilterApplyBatch(f, 1, 1, in, stride, y, 0), "fused");
  refused(BNNSPoolingFilterApplyBatch(f, 1, x, 0, y, 0, nullptr, 0), "fused");
  refused(BNNSFilterApplyBackwardBatch(f, 1, x, 0, &d, 0, y, 0, &d, 0, nullptr, nullptr), "fused");
  refused(BNNSNormalizationFilterApplyBackwardBatch(f, 1, &d, 0, y, 0, &d, 0, nullptr, nullptr),
          "fused");
  refused(BNNSArithmeticFilterApplyBackwardBatch(f, 1, 1, in, stride, deltas, stride, y, 0, &d, 0),
          "fused");
  const Filter other = make_activation(vector_of(2), vector_of(2), activation({}));
  BNNSFilter a = other.get();
  refused(BNNSFusedFilterApplyBatch(a, 1, x, 0, y, 0, false), "activation filter");
  refused(BNNSFusedFilterApplyMultiInputBatch(a, 1, 1, in, stride, y, 0, false), "activation");
  refused(BNNSFusedFilterApplyBackwardBatch(a, 1, x, 0, &d, 0, y, 0, &d, 0, nullptr), "activation");
  refused(BNNSFusedFilterApplyBackwardMultiInputBatch(a, 1, 1, in, stride, deltas, stride, y, 0, &d,
                                                      0, nullptr),
          "activation");
  EXPECT_TRUE(fused.out.untouched());
}

}  // namespace
}  // namespace bnns::test

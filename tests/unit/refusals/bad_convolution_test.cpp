// Convolution filters that must not be made, and calls on them that must be refused.
#include <cmath>
#include <limits>

#include "support/convolution_call.h"

namespace bnns::test {
namespace {

using Create = ConvolutionCreate;
using Forward = ConvolutionForward;
using Backward = ConvolutionBackward;

class PrintCount : public testing::Environment {
 public:
  void TearDown() override { std::printf("bad inputs covered: %d\n", refused_inputs.load()); }
};
[[maybe_unused]] const auto* const print_count = testing::AddGlobalTestEnvironment(new PrintCount);

TEST(BadConvolution, Descriptors) {
  const auto in = [](Create& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; };
  const auto out = [](Create& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; };
  const auto weights = [](Create& c) -> BNNSNDArrayDescriptor& { return c.params.w_desc; };
  const auto bias = [](Create& c) -> BNNSNDArrayDescriptor& { return c.params.bias; };
  std::vector<Row<Create>> rows = descriptor_rows<Create>("i_desc", 3, in, false);
  append(rows, descriptor_rows<Create>("o_desc", 3, out, true));
  append(rows, descriptor_rows<Create>("w_desc", 3, weights, false));
  append(rows, descriptor_rows<Create>("bias", 1, bias, false));
  append(
      rows,
      {{"no parameters", {"layer_params", "NULL"}, [](Create& c) { c.params_pointer = nullptr; }},
       {"unknown flags", {"filter_params->flags", "2"}, [](Create& c) { c.options.flags = 2; }},
       {"w_desc.data", {"w_desc.data", "NULL"}, [](Create& c) { c.params.w_desc.data = nullptr; }},
       {"kernel 0", {"w_desc.size[0]", "is 0"}, [](Create& c) { c.params.w_desc.size[0] = 0; }},
       {"no output channel", {"w_desc.size[3]", "is 0"}, [](Create& c) {
          c.params.w_desc.size[3] = 0;
        }}});
  for (const auto layout : {BNNSDataLayoutVector, BNNSDataLayout3DLastMajor, BNNSDataLayoutSNE}) {
    rows.push_back({"i_desc layout", {"i_desc.layout", "ImageCHW"}, [=](Create& c) {
                      c.params.i_desc.layout = layout;
                    }});
    rows.push_back({"o_desc layout", {"o_desc.layout", "ImageCHW"}, [=](Create& c) {
                      c.params.o_desc.layout = layout;
                    }});
  }
  for (const auto layout : {BNNSDataLayout4DLastMajor, BNNSDataLayoutImageCHW,
                            BNNSDataLayoutRowMajorMatrix, BNNSDataLayoutFullyConnectedSparse}) {
    rows.push_back({"w_desc layout", {"w_desc.layout", "convolution weights"}, [=](Create& c) {
                      c.params.w_desc.layout = layout;
                    }});
  }
  for (const auto type : {BNNSDataTypeInt64, BNNSDataTypeBoolean, BNNSDataTypeInt4}) {
    rows.push_back({"i_desc type", {"i_desc.data_type", "8 to 32 bits"}, [=](Create& c) {
                      c.params.i_desc.data_type = type;
                    }});
    rows.push_back({"o_desc type", {"o_desc.data_type", "8 to 32 bits"}, [=](Create& c) {
                      c.params.o_desc.data_type = type;
                    }});
  }
  for (const auto type : {BNNSDataTypeInt64, BNNSDataTypeBoolean})
    rows.push_back({"w_desc type", {"w_desc.data_type", "at most 32 bits"}, [=](Create& c) {
                      c.params.w_desc.data_type = type;
                    }});
  for (const size_t offset : {1, 2, 3}) {
    rows.push_back({"w_desc.data misaligned", {"w_desc.data is", "aligned to 4"}, [=](Create& c) {
                      c.params.w_desc.data = reinterpret_cast<char*>(c.weights.data()) + offset;
                    }});
    rows.push_back({"bias.data misaligned", {"bias.data is", "aligned to 4"}, [=](Create& c) {
                      c.params.bias.data = reinterpret_cast<char*>(c.bias.data()) + offset;
                    }});
  }
  rows.push_back({"packed weights", {"w_desc.data is", "aligned to 128"}, [](Create& c) {
                    c.params.w_desc.layout = BNNSDataLayoutConvolutionWeightsOIHW_Pack32;
                    const auto at = reinterpret_cast<uintptr_t>(c.weights.data());
                    c.params.w_desc.data = reinterpret_cast<void*>(at / 128 * 128 + 64);
                  }});
  expect_refused(rows);
}

TEST(BadConvolution, Channels) {
  std::vector<Row<Create>> rows = {
      {"weights have other inputs",
       {"w_desc has 1 input channels", "i_desc has 2", "must have 2"},
       [](Create& c) { c.params.w_desc.size[2] = 1; }},
      {"weights have other outputs",
       {"w_desc has 2 output channels", "o_desc has 3", "equal"},
       [](Create& c) { c.params.w_desc.size[3] = 2; }},
      {"bias is short",
       {"bias has 2 elements", "o_desc has 3 channels", "equal"},
       [](Create& c) { c.params.bias.size[0] = 2; }},
      {"groups do not divide inputs",
       {"i_desc has 2 channels", "groups is 3", "divide"},
       [](Create& c) { c.params.groups = 3; }},
      {"groups do not divide outputs",
       {"o_desc has 3 channels", "groups is 2", "divide"},
       [](Create& c) { c.params.groups = 2; }},
      {"huge groups",
       {"groups is 18446744073709551615", "divide"},
       [](Create& c) { c.params.groups = SIZE_MAX; }},
      {"grouped weights as for one group",
       {"w_desc has 2 input channels", "in 2 groups", "must have 1"},
       [](Create& c) {
         c.params.groups = 2;
         c.params.o_desc.size[2] = c.params.w_desc.size[3] = 2;
       }},
  };
  for (const auto layout :
       {BNNSDataLayoutConvolutionWeightsIOHrWr, BNNSDataLayoutConvolutionWeightsOIHW_Pack32}) {
    rows.push_back({"grouped layout", {"w_desc.layout is", "2 groups"}, [=](Create& c) {
                      c.params.groups = 2;
                      c.params.o_desc.size[2] = 2;
                      c.params.w_desc.layout = layout;
                      const auto at = reinterpret_cast<uintptr_t>(c.weights.data());
                      c.params.w_desc.data = reinterpret_cast<void*>((at / 128 + 1) * 128);
                    }});
  }
  expect_refused(rows);
}

TEST(BadConvolution, Geometry) {
  std::vector<Row<Create>> rows = {
      {"output too wide",
       {"i_desc has width 4", "which is 4", "o_desc has width 4", "kernel 2", "needs 5"},
       [](Create& c) { c.params.o_desc.size[0] = 4; }},
      {"output too high",
       {"i_desc has height 3", "o_desc has height 3", "needs 4"},
       [](Create& c) { c.params.o_desc.size[1] = 3; }},
      {"kernel wider than the padded input",
       {"i_desc has width 4 and padding 1 + 1, which is 6", "kernel 7", "needs 7"},
       [](Create& c) {
         c.params.o_desc.size[0] = 1;
         c.params.w_desc.size[0] = 7;
         c.params.pad[0] = c.params.pad[1] = 1;
       }},
      {"pad is not read beside x_padding",
       {"i_desc has height 3 and padding 0 + 0", "kernel 5"},
       [](Create& c) {
         c.params.w_desc.size[1] = 5;
         c.params.x_padding = 1;
         c.params.pad[2] = c.params.pad[3] = 9;
       }},
      {"stride", {"stride 2", "needs 6"}, [](Create& c) { c.params.x_stride = 2; }},
      {"dilation", {"dilation 3", "needs 6"}, [](Create& c) { c.params.x_dilation_stride = 3; }},
  };
  struct Scalar {
    const char* name;
    size_t BNNSLayerParametersConvolution::*field;
  };
  using P = BNNSLayerParametersConvolution;
  for (const Scalar& s : {Scalar{"x_stride", &P::x_stride}, Scalar{"y_stride", &P::y_stride},
                          Scalar{"x_dilation_stride", &P::x_dilation_stride},
                          Scalar{"y_dilation_stride", &P::y_dilation_stride},
                          Scalar{"x_padding", &P::x_padding}, Scalar{"y_padding", &P::y_padding}}) {
    for (const size_t huge : {size_t{1} << 31, size_t{1} << 63, SIZE_MAX}) {
      rows.push_back({s.name, {s.name, std::to_string(huge), "at most 2147483647"}, [=](Create& c) {
                        c.params.*s.field = huge;
                      }});
    }
  }
  for (size_t k = 0; k < 4; ++k) {
    const std::string name = "pad[" + std::to_string(k) + "]";
    rows.push_back(
        {name, {name, "at most 2147483647"}, [=](Create& c) { c.params.pad[k] = SIZE_MAX; }});
  }
  for (const size_t large : {size_t{INT32_MAX}, size_t{INT32_MAX} - 1}) {
    rows.push_back({"largest stride", {"needs"}, [=](Create& c) { c.params.x_stride = large; }});
    rows.push_back(
        {"largest dilation", {"needs"}, [=](Create& c) { c.params.y_dilation_stride = large; }});
  }
  expect_refused(rows);
}

TEST(BadConvolution, Activation) {
  std::vector<Row<Create>> rows =
      enum_rows<Create>("activation.function", 1000, [](Create& c, uint32_t v) {
        c.params.activation.function = static_cast<BNNSActivationFunction>(v);
      });
  const auto add = [&](BNNSActivationFunction f, const std::vector<std::string>& words) {
    rows.push_back({"function", words, [=](Create& c) { c.params.activation.function = f; }});
  };
  add(BNNSActivationFunctionPReLUPerChannel, {"activation.function", "of its own"});
  add(BNNSActivationFunctionIntegerLinearSaturate, {"activation.function", "integer types"});
  rows.push_back({"alpha", {"activation.alpha"}, [](Create& c) {
                    c.params.activation.function = BNNSActivationFunctionELU;
                    c.params.activation.alpha = std::numeric_limits<float>::quiet_NaN();
                  }});
  expect_refused(rows);
}

TEST(BadConvolution, ForwardPointers) {
  std::vector<Row<Forward>> rows = {
      {"in null", {"in is NULL"}, [](Forward& c) { c.in_pointer = nullptr; }},
      {"out null", {"out is NULL"}, [](Forward& c) { c.out_pointer = nullptr; }},
      {"out is in", {"out and in overlap"}, [](Forward& c) { c.out_pointer = c.in.data(); }},
      {"out reaches into in",
       {"out and in overlap"},
       [](Forward& c) { c.out_pointer = c.in.data() + 49; }},
      {"batch", {"batch_size is"}, [](Forward& c) { c.batch = SIZE_MAX; }},
      {"in_stride", {"in_stride is 23", "spans 24"}, [](Forward& c) { c.in_stride = 23; }},
      {"out_stride", {"out_stride is 17", "spans 18"}, [](Forward& c) { c.out_stride = 17; }},
      {"client weights",
       {"out and w_desc.data overlap"},
       [](Forward& c) {
         c.options = client_pointers();
         c.out_pointer = c.weights.data();
         c.batch = 1;
       }},
      {"client bias",
       {"out and bias.data overlap"},
       [](Forward& c) {
         c.options = client_pointers();
         c.batch = 1;
         c.params.bias.data = c.out.data() + 2;
       }},
  };
  for (const size_t offset : {1, 2, 3}) {
    rows.push_back({"in misaligned", {"in is", "aligned to 4"}, [=](Forward& c) {
                      c.in_pointer = reinterpret_cast<char*>(c.in.data()) + offset;
                    }});
    rows.push_back({"out misaligned", {"out is", "aligned to 4"}, [=](Forward& c) {
                      c.out_pointer = reinterpret_cast<char*>(c.out.data()) + offset;
                    }});
  }
  expect_refused(rows);
}

TEST(BadConvolution, BackwardDeltas) {
  std::vector<Row<Backward>> rows = {
      {"no out_delta", {"out_delta is NULL"}, [](Backward& c) { c.out_delta_pointer = nullptr; }},
      {"no dy", {"out_delta.data is NULL"}, [](Backward& c) { c.out_delta.data = nullptr; }},
      {"no in", {"in is NULL"}, [](Backward& c) { c.in_pointer = nullptr; }},
      {"in_delta of another size",
       {"in_delta", "{4, 3, 1}", "i_desc", "{4, 3, 2}"},
       [](Backward& c) { c.in_delta.size[2] = 1; }},
      {"out_delta of another size",
       {"out_delta", "{3, 3, 3}", "o_desc", "{3, 2, 3}"},
       [](Backward& c) { c.out_delta.size[1] = 3; }},
      {"in_delta of another layout",
       {"in_delta.layout", "3DFirstMajor", "ImageCHW"},
       [](Backward& c) { c.in_delta.layout = BNNSDataLayout3DFirstMajor; }},
      {"weights_delta of another size",
       {"weights_delta", "{2, 2, 2, 4}", "w_desc", "{2, 2, 2, 3}"},
       [](Backward& c) { c.weights_delta.size[3] = 4; }},
      {"weights_delta as a vector",
       {"weights_delta", "Vector", "w_desc"},
       [](Backward& c) { c.weights_delta = vector_of(24, c.dw.data()); }},
      {"bias_delta of another size",
       {"bias_delta", "{2}", "bias", "{3}"},
       [](Backward& c) { c.bias_delta.size[0] = 2; }},
      {"bias_delta without bias",
       {"bias_delta", "no bias"},
       [](Backward& c) { c.params.bias = {}; }},
      {"in_delta over out_delta",
       {"in_delta and out_delta overlap"},
       [](Backward& c) { c.in_delta.data = c.dy.data() + 1; }},
      {"in_delta over in",
       {"in_delta and in overlap"},
       [](Backward& c) { c.in_delta.data = c.in.data(); }},
      {"weights_delta over in",
       {"weights_delta and in overlap"},
       [](Backward& c) { c.weights_delta.data = c.in.data() + 3; }},
      {"bias_delta over in_delta",
       {"in_delta and bias_delta overlap"},
       [](Backward& c) { c.bias_delta.data = c.dx.data() + 20; }},
      {"in_delta over client weights",
       {"in_delta and w_desc.data overlap"},
       [](Backward& c) {
         c.options = client_pointers();
         c.in_delta.data = c.weights.data();
         c.batch = 1;
       }},
      {"in_stride", {"in_stride is 20", "spans 24"}, [](Backward& c) { c.in_stride = 20; }},
      {"in_delta_stride",
       {"in_delta_stride is 1", "spans 24"},
       [](Backward& c) { c.in_delta_stride = 1; }},
      {"out_delta_stride",
       {"out_delta_stride is 17", "spans 18"},
       [](Backward& c) { c.out_delta_stride = 17; }},
      {"overlapping weights_delta",
       {"weights_delta.stride[2]", "overlap"},
       [](Backward& c) {
         c.weights_delta.stride[0] = 1;
         c.weights_delta.stride[1] = 2;
         c.weights_delta.stride[2] = 3;
         c.weights_delta.stride[3] = 8;
       }},
      {"no out for ReLU",
       {"out is NULL"},
       [](Backward& c) {
         c.params.activation.function = BNNSActivationFunctionRectifiedLinear;
         c.y_pointer = nullptr;
       }},
      {"SiLU",
       {"activation is SiLU", "use a separate activation layer"},
       [](Backward& c) { c.params.activation.function = BNNSActivationFunctionSiLU; }},
      {"fp16", {"i_desc.data_type is Float16", "Float32"}, [](Backward& c) {
         c.params.i_desc.data_type = BNNSDataTypeFloat16;
       }}};
  for (const auto field : {&Backward::in_delta, &Backward::weights_delta, &Backward::bias_delta}) {
    rows.push_back({"type", {"data_type is Int32", "Float32"}, [=](Backward& c) {
                      (c.*field).data_type = BNNSDataTypeInt32;
                    }});
    rows.push_back({"flags", {"flags is 2"}, [=](Backward& c) {
                      (c.*field).flags = static_cast<BNNSNDArrayFlags>(2);
                    }});
    rows.push_back({"misaligned", {"aligned to 4"}, [=](Backward& c) {
                      (c.*field).data = static_cast<char*>((c.*field).data) + 2;
                    }});
  }
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

// Pooling filters that must not be made, and calls on them that must be refused.
#include <cmath>
#include <limits>

#include "support/pooling_call.h"

namespace bnns::test {
namespace {

constexpr size_t kHuge = size_t{1} << 31;

class PrintCount : public testing::Environment {
 public:
  void TearDown() override { std::printf("bad inputs covered: %d\n", refused_inputs.load()); }
};
[[maybe_unused]] const auto* const print_count = testing::AddGlobalTestEnvironment(new PrintCount);

TEST(BadPooling, Enumerations) {
  std::vector<Row<PoolingCreate>> rows = {{"no parameters",
                                           {"layer_params", "NULL"},
                                           [](PoolingCreate& c) { c.params_pointer = nullptr; }},
                                          {"unknown flags",
                                           {"filter_params->flags", "2"},
                                           [](PoolingCreate& c) { c.options.flags = 2; }}};
  append(rows, enum_rows<PoolingCreate>(
                   "pooling_function", BNNSPoolingFunctionL2Norm, [](PoolingCreate& c, uint32_t v) {
                     c.params.pooling_function = static_cast<BNNSPoolingFunction>(v);
                   }));
  append(rows, enum_rows<PoolingCreate>(
                   "activation.function", BNNSActivationFunctionGELUApproximationSigmoid,
                   [](PoolingCreate& c, uint32_t v) {
                     c.params.activation.function = static_cast<BNNSActivationFunction>(v);
                   }));
  for (const auto function :
       {BNNSActivationFunctionPReLUPerChannel, BNNSActivationFunctionIntegerLinearSaturate,
        BNNSActivationFunctionIntegerLinearSaturatePerChannel}) {
    rows.push_back({"activation on its own",
                    {"activation.function", "activation filter of its own"},
                    [=](PoolingCreate& c) { c.params.activation.function = function; }});
  }
  rows.push_back({"alpha", {"activation.alpha", "finite"}, [](PoolingCreate& c) {
                    c.params.activation =
                        activation(BNNSActivationFunctionLeakyRectifiedLinear, NAN);
                  }});
  expect_refused(rows);
}

TEST(BadPooling, Descriptors) {
  const auto in = [](PoolingCreate& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; };
  const auto out = [](PoolingCreate& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; };
  const auto bias = [](PoolingCreate& c) -> BNNSNDArrayDescriptor& { return c.params.bias; };
  std::vector<Row<PoolingCreate>> rows = descriptor_rows<PoolingCreate>("i_desc", 3, in, false);
  append(rows, descriptor_rows<PoolingCreate>("o_desc", 3, out, true));
  append(rows, descriptor_rows<PoolingCreate>("bias", 1, bias, false));
  const auto add = [&](const char* name, const std::vector<std::string>& words,
                       const std::function<void(PoolingCreate&)>& damage) {
    rows.push_back({name, words, damage});
  };
  for (const auto layout : {BNNSDataLayoutVector, BNNSDataLayout3DFirstMajor,
                            BNNSDataLayout3DLastMajor, BNNSDataLayoutSNE}) {
    add("i_desc layout", {"i_desc.layout", "ImageCHW"},
        [=](PoolingCreate& c) { c.params.i_desc.layout = layout; });
    add("o_desc layout", {"o_desc.layout", "ImageCHW"},
        [=](PoolingCreate& c) { c.params.o_desc.layout = layout; });
  }
  for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeUInt8, BNNSDataTypeInt32, BNNSDataTypeInt64,
                          BNNSDataTypeBoolean}) {
    add("i_desc type", {"i_desc.data_type", "Float32"},
        [=](PoolingCreate& c) { c.params.i_desc.data_type = type; });
    add("bias type", {"bias.data_type", "floating-point"},
        [=](PoolingCreate& c) { c.params.bias.data_type = type; });
  }
  add("types differ", {"i_desc.data_type is Float32", "o_desc.data_type is Float16", "equal"},
      [](PoolingCreate& c) { c.params.o_desc.data_type = BNNSDataTypeFloat16; });
  add("channels differ", {"i_desc has 2 channels", "o_desc has 3", "equal"},
      [](PoolingCreate& c) { c.params.o_desc.size[2] = 3; });
  add("a plane too large", {"i_desc", "2^31 - 1", "not supported"},
      [](PoolingCreate& c) { c.params.i_desc.size[0] = c.params.i_desc.size[1] = 1 << 16; });
  for (const size_t n : {1, 3}) {
    add("bias count", {"bias has " + std::to_string(n) + " elements", "2 channels", "equal"},
        [=](PoolingCreate& c) { c.params.bias.size[0] = n; });
  }
  add("bias misaligned", {"bias.data", "aligned to 4"},
      [](PoolingCreate& c) { c.params.bias.data = reinterpret_cast<char*>(c.bias.data()) + 1; });
  expect_refused(rows);
}

TEST(BadPooling, Geometry) {
  std::vector<Row<PoolingCreate>> rows;
  struct Field {
    const char* name;
    size_t BNNSLayerParametersPooling::*field;
  };
  using P = BNNSLayerParametersPooling;
  constexpr Field kFields[] = {{"k_width", &P::k_width},
                               {"k_height", &P::k_height},
                               {"x_stride", &P::x_stride},
                               {"y_stride", &P::y_stride},
                               {"x_dilation_stride", &P::x_dilation_stride},
                               {"y_dilation_stride", &P::y_dilation_stride},
                               {"x_padding", &P::x_padding},
                               {"y_padding", &P::y_padding}};
  for (const Field& f : kFields) {
    for (const size_t value : {kHuge, size_t{1} << 63, SIZE_MAX}) {
      rows.push_back({f.name,
                      {std::string(f.name) + " is " + std::to_string(value), "2^31 - 1"},
                      [=](PoolingCreate& c) { c.params.*f.field = value; }});
    }
  }
  for (size_t k = 0; k < 4; ++k) {
    rows.push_back({"pad",
                    {"pad[" + std::to_string(k) + "] is " + std::to_string(SIZE_MAX), "2^31 - 1"},
                    [=](PoolingCreate& c) { c.params.pad[k] = SIZE_MAX; }});
  }
  rows.push_back(
      {"no width", {"k_width is 0", "at least 1"}, [](PoolingCreate& c) { c.params.k_width = 0; }});
  rows.push_back({"no height", {"k_height is 0", "at least 1"}, [](PoolingCreate& c) {
                    c.params.k_height = 0;
                  }});
  // 4 cells at a stride of 2 have room for two windows.
  rows.push_back({"too wide",
                  {"i_desc has 4", "width", "3 windows", "stride of 2"},
                  [](PoolingCreate& c) { c.params.o_desc.size[0] = 3; }});
  rows.push_back({"too high",
                  {"i_desc has 4", "height", "3 windows", "stride of 2"},
                  [](PoolingCreate& c) { c.params.o_desc.size[1] = 3; }});
  rows.push_back({"published", {"i_desc has 1", "4 windows"}, [](PoolingCreate& c) {
                    c.params.i_desc = image_of(1, 1, 2);
                    c.params.o_desc = image_of(4, 4, 2);
                    c.params.x_stride = c.params.y_stride = 1;
                  }});
  // The pad of four is not looked at beside a symmetric one.
  rows.push_back({"too wide with padding", {"2 of padding", "4 windows"}, [](PoolingCreate& c) {
                    c.params.o_desc.size[0] = 4;
                    c.params.x_padding = 1;
                    c.params.pad[0] = c.params.pad[1] = 9;
                  }});
  rows.push_back({"UnMax is larger", {"o_desc has 2", "4 windows of i_desc"}, [](PoolingCreate& c) {
                    c.params.pooling_function = BNNSPoolingFunctionUnMax;
                  }});
  expect_refused(rows);
}

TEST(BadPooling, Forward) {
  using C = PoolingForward;
  expect_refused<C>({
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"in misaligned",
       {"in is", "aligned to 4"},
       [](C& c) { c.in_pointer = reinterpret_cast<char*>(c.in.data()) + 2; }},
      {"out misaligned",
       {"out is", "aligned to 4"},
       [](C& c) { c.out_pointer = reinterpret_cast<char*>(c.out.data()) + 1; }},
      {"indices misaligned",
       {"indices is", "aligned to 8"},
       [](C& c) { c.indices_pointer = reinterpret_cast<char*>(c.indices.data()) + 4; }},
      {"in_stride", {"in_stride is 31", "32"}, [](C& c) { c.in_stride = 31; }},
      {"out_stride", {"out_stride is 7", "8"}, [](C& c) { c.out_stride = 7; }},
      {"idx_stride", {"idx_stride is 7", "8"}, [](C& c) { c.idx_stride = 7; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
      {"in is out", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data(); }},
      {"in ends in out", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data() + 66; }},
      {"indices are out",
       {"out and indices overlap"},
       [](C& c) { c.out_pointer = c.indices.data(); }},
      {"indices are in", {"indices and in overlap"}, [](C& c) { c.in_pointer = c.indices.data(); }},
      {"bias is out",
       {"out and bias.data overlap"},
       [](C& c) {
         c.options.flags = BNNSFlagsUseClientPtr;
         c.out_pointer = c.bias.data();
         c.batch = 1;
       }},
      {"Int64 indices",
       {"indices_data_type is Int64", "UInt32 or UInt64"},
       [](C& c) { c.indices_type = BNNSDataTypeInt64; }},
      {"Float32 indices",
       {"indices_data_type is Float32", "UInt32 or UInt64"},
       [](C& c) { c.indices_type = BNNSDataTypeFloat32; }},
      {"unknown indices",
       {"indices_data_type is unknown", "UInt32 or UInt64"},
       [](C& c) { c.indices_type = static_cast<BNNSDataType>(UINT32_MAX); }},
  });
}

// in has 2 x 2 values, out 4 x 4; the indices point into out.
struct UnMaxForward : PoolingForward {
  UnMaxForward() {
    std::swap(params.i_desc, params.o_desc);
    params.pooling_function = BNNSPoolingFunctionUnMax;
    in_stride = kIndex;
    out_stride = 32;
    out_pointer = large.data();
    for (size_t i = 0; i < indices.size(); ++i) indices[i] = i % kWindows * 5;
  }
  template <class F>
  void for_outputs(const F& f) {
    PoolingCall::for_outputs(f);
    f(large);
  }
  bool correct() const {
    Guarded<float> expected{Space{kBatch * 32}};
    for (size_t i = 0; i < large.size(); ++i) expected[i] = bias[i % 32 / kPlane];
    for (size_t b = 0; b < kBatch; ++b) {
      for (size_t k = 0; k < kChannels * kWindows; ++k) {
        const size_t cell = b * 32 + k / kWindows * kPlane + indices[b * kIndex + k];
        expected[cell] += value(b * kIndex + k);
      }
    }
    return std::equal(large.data(), large.data() + large.size(), expected.data());
  }
  Guarded<float> large{Space{kBatch * 32}};
};

TEST(BadPooling, UnMaxForward) {
  using C = UnMaxForward;
  std::vector<Row<C>> rows = {
      {"no indices", {"indices is NULL", "UnMax"}, [](C& c) { c.indices_pointer = nullptr; }},
      {"indices are out", {"out and indices overlap"}, [](C& c) {
         c.out_pointer = c.indices.data();
       }}};
  for (const size_t bad : {size_t{16}, kHuge, size_t{1} << 32, size_t{1} << 63, SIZE_MAX}) {
    for (const size_t at : {0, 7, 9, 16}) {
      rows.push_back({"index", {"indices", "below 16", "ImageCHW {4, 4, 2}"}, [=](C& c) {
                        c.indices[at] = bad;
                      }});
    }
  }
  expect_refused(rows);
}

TEST(BadPooling, Backward) {
  using C = PoolingBackward;
  std::vector<Row<C>> rows = {
      {"no out_delta", {"out_delta is NULL"}, [](C& c) { c.out_delta_pointer = nullptr; }},
      {"no data in out_delta",
       {"out_delta.data is NULL"},
       [](C& c) { c.out_delta.data = nullptr; }},
      {"neither in nor indices",
       {"in and indices are NULL"},
       [](C& c) { c.indices_pointer = nullptr; }},
      {"L2Norm without in",
       {"in is NULL", "L2Norm"},
       [](C& c) { c.params.pooling_function = BNNSPoolingFunctionL2Norm; }},
      {"out needed",
       {"out is NULL"},
       [](C& c) { c.params.activation.function = BNNSActivationFunctionTanh; }},
      {"no slope from out",
       {"activation is SiLU", "use a separate activation layer"},
       [](C& c) { c.params.activation.function = BNNSActivationFunctionSiLU; }},
      {"leaky without a slope",
       {"LeakyRectifiedLinear with alpha 0", "trained"},
       [](C& c) { c.params.activation.function = BNNSActivationFunctionLeakyRectifiedLinear; }},
      {"Float16",
       {"i_desc.data_type is Float16", "Float32"},
       [](C& c) { c.params.i_desc.data_type = c.params.o_desc.data_type = BNNSDataTypeFloat16; }},
      {"in_delta size",
       {"in_delta is ImageCHW {4, 5, 2}", "i_desc is ImageCHW {4, 4, 2}"},
       [](C& c) { c.in_delta.size[1] = 5; }},
      {"out_delta size",
       {"out_delta is ImageCHW {2, 2, 3}", "o_desc is ImageCHW {2, 2, 2}"},
       [](C& c) { c.out_delta.size[2] = 3; }},
      {"bias_delta size",
       {"bias_delta is Vector {3}", "bias is Vector {2}"},
       [](C& c) { c.bias_delta.size[0] = 3; }},
      {"in_delta type",
       {"in_delta.data_type", "Float32"},
       [](C& c) { c.in_delta.data_type = BNNSDataTypeFloat16; }},
      {"flags",
       {"in_delta.flags is 7"},
       [](C& c) { c.in_delta.flags = static_cast<BNNSNDArrayFlags>(7); }},
      {"no bias", {"bias_delta is given", "no bias"}, [](C& c) { c.params.bias.data = nullptr; }},
      {"in_delta_stride", {"in_delta_stride is 31", "32"}, [](C& c) { c.in_delta_stride = 31; }},
      {"out_delta_stride", {"out_delta_stride is 7", "8"}, [](C& c) { c.out_delta_stride = 7; }},
      {"idx_stride", {"idx_stride is 6", "8"}, [](C& c) { c.idx_stride = 6; }},
      {"in_delta is out_delta",
       {"in_delta and out_delta overlap"},
       [](C& c) { c.out_delta.data = c.dx.data(); }},
      {"in_delta has indices",
       {"in_delta and indices overlap"},
       [](C& c) { c.in_delta.data = c.indices.data(); }},
      {"bias_delta is in_delta",
       {"in_delta and bias_delta overlap"},
       [](C& c) { c.bias_delta.data = c.dx.data() + 1; }},
      {"indices type",
       {"indices_data_type is Int32"},
       [](C& c) { c.indices_type = BNNSDataTypeInt32; }},
  };
  for (const size_t bad : {size_t{16}, kHuge, size_t{1} << 32, size_t{1} << 63, SIZE_MAX}) {
    for (const size_t at : {0, 7, 9, 16}) {
      rows.push_back({"index", {"indices", "below 16", "ImageCHW {4, 4, 2}"}, [=](C& c) {
                        c.indices[at] = bad;
                      }});
    }
  }
  expect_refused(rows);
}

TEST(BadPooling, WrongFunctions) {
  PoolingBackward call;
  const Filter filter = call.make();
  BNNSNDArrayDescriptor weights_delta = vector_of(2, call.db.data());
  call.for_outputs([](auto& memory) { memory.remember(); });
  EXPECT_NE(BNNSFilterApplyBackwardBatch(filter.get(), 1, call.in.data(), 0, &call.in_delta, 0,
                                         nullptr, 0, &call.out_delta, 0, &weights_delta, nullptr),
            0);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApplyBackwardBatch",
                {"weights_delta is given", "no weights"});
  EXPECT_NE(BNNSLossFilterApplyBatch(filter.get(), 1, call.in.data(), 0, call.in.data(), 0, nullptr,
                                     0, call.out.data(), nullptr, 0),
            0);
  expect_reason(OpenBNNSGetLastError(), "BNNSLossFilterApplyBatch", {"a pooling filter"});
  const Filter relu = make_activation(vector_of(4), vector_of(4),
                                      activation(BNNSActivationFunctionRectifiedLinear));
  EXPECT_NE(
      BNNSPoolingFilterApplyBatch(relu.get(), 1, call.in.data(), 0, call.out.data(), 0, nullptr, 0),
      0);
  expect_reason(OpenBNNSGetLastError(), "BNNSPoolingFilterApplyBatch", {"an activation filter"});
  call.for_outputs([](auto& memory) { EXPECT_TRUE(memory.untouched()); });
}

TEST(BadPooling, Of2016) {
  BNNSImageStackDescriptor in = {}, out = {};
  in.width = in.height = in.row_stride = 4;
  out.width = out.height = out.row_stride = 2;
  in.channels = out.channels = 2;
  in.image_stride = 16;
  out.image_stride = 4;
  in.data_type = out.data_type = BNNSDataTypeFloat32;
  BNNSPoolingLayerParameters p = {};
  p.k_width = p.k_height = p.x_stride = p.y_stride = p.in_channels = p.out_channels = 2;
  const auto refused = [&](const BNNSImageStackDescriptor* i, const BNNSImageStackDescriptor* o,
                           const BNNSPoolingLayerParameters* l,
                           const std::vector<std::string>& words) {
    EXPECT_EQ(BNNSFilterCreatePoolingLayer(i, o, l, nullptr), nullptr);
    expect_reason(OpenBNNSGetLastError(), "BNNSFilterCreatePoolingLayer", words);
  };
  EXPECT_TRUE(Filter(BNNSFilterCreatePoolingLayer(&in, &out, &p, nullptr)));
  refused(nullptr, &out, &p, {"in_desc is NULL"});
  refused(&in, nullptr, &p, {"out_desc is NULL"});
  refused(&in, &out, nullptr, {"layer_params is NULL"});
  p.in_channels = 3;
  refused(&in, &out, &p, {"in_channels is 3", "channels is 2", "equal"});
  p.in_channels = 2;
  p.out_channels = 1;
  refused(&in, &out, &p, {"out_channels is 1", "channels is 2", "equal"});
  p.out_channels = 2;
  out.row_stride = 1;
  refused(&in, &out, &p, {"out_desc->row_stride is 1", "overlap"});
}

}  // namespace
}  // namespace bnns::test

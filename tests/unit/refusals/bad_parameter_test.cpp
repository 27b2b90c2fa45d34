// Bad parameters beside the descriptors: null structs, unknown functions, numbers that are none,
// axes beyond the rank, shifts, flags, thread counts, and what each activation demands.
#include "support/call_activation.h"
#include "support/call_fully_connected.h"

#include <cmath>
#include <limits>

namespace bnns::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr uint32_t kLastFunction = BNNSActivationFunctionGELUApproximationSigmoid;

struct Uses {
  BNNSActivationFunction function;
  bool alpha, beta;
};
constexpr Uses kUses[] = {
    {BNNSActivationFunctionIdentity, false, false},
    {BNNSActivationFunctionRectifiedLinear, false, false},
    {BNNSActivationFunctionLeakyRectifiedLinear, true, false},
    {BNNSActivationFunctionSigmoid, false, false},
    {BNNSActivationFunctionTanh, false, false},
    {BNNSActivationFunctionScaledTanh, true, true},
    {BNNSActivationFunctionAbs, false, false},
    {BNNSActivationFunctionLinear, true, false},
    {BNNSActivationFunctionClamp, true, true},
    {BNNSActivationFunctionSoftmax, false, false},
    {BNNSActivationFunctionGELUApproximation, true, true},
    {BNNSActivationFunctionGumbel, true, true},
    {BNNSActivationFunctionGumbelMax, true, true},
    {BNNSActivationFunctionHardSigmoid, true, true},
    {BNNSActivationFunctionSoftplus, true, true},
    {BNNSActivationFunctionSoftsign, false, false},
    {BNNSActivationFunctionELU, true, false},
    {BNNSActivationFunctionClampedLeakyRectifiedLinear, true, true},
    {BNNSActivationFunctionLinearWithBias, true, true},
    {BNNSActivationFunctionLogSoftmax, false, false},
    {BNNSActivationFunctionLogSigmoid, false, false},
    {BNNSActivationFunctionSELU, false, false},
    {BNNSActivationFunctionCELU, true, false},
    {BNNSActivationFunctionHardShrink, true, false},
    {BNNSActivationFunctionSoftShrink, true, false},
    {BNNSActivationFunctionTanhShrink, false, false},
    {BNNSActivationFunctionThreshold, true, true},
    {BNNSActivationFunctionPReLUPerChannel, true, false},
    {BNNSActivationFunctionHardSwish, false, false},
    {BNNSActivationFunctionSiLU, false, false},
    {BNNSActivationFunctionReLU6, false, false},
    {BNNSActivationFunctionErf, false, false},
    {BNNSActivationFunctionGELU, false, false},
    {BNNSActivationFunctionGELUApproximationSigmoid, false, false},
};

// What every creator of a layer with an activation refuses.
template <class Call>
std::vector<Row<Call>> common_rows() {
  std::vector<Row<Call>> rows = {
      {"null params", {"layer_params", "NULL"}, [](Call& c) { c.params_pointer = nullptr; }},
      {"unknown flag",
       {"filter_params->flags", "2", "BNNSFlagsUseClientPtr"},
       [](Call& c) { c.options.flags = 2; }},
      {"all flags",
       {"filter_params->flags", "4294967295"},
       [](Call& c) { c.options.flags = UINT32_MAX; }},
      {"257 threads",
       {"filter_params->n_threads", "257", "at most 256"},
       [](Call& c) { c.options.n_threads = 257; }},
      {"2^32 threads",
       {"filter_params->n_threads", "4294967296"},
       [](Call& c) { c.options.n_threads = size_t{1} << 32; }},
      {"SIZE_MAX threads",
       {"filter_params->n_threads", "18446744073709551615"},
       [](Call& c) { c.options.n_threads = SIZE_MAX; }},
  };
  append(rows, enum_rows<Call>("activation.function", kLastFunction, [](Call& c, uint32_t v) {
           c.params.activation.function = static_cast<BNNSActivationFunction>(v);
         }));
  for (const Uses& u : kUses) {
    if (std::is_same_v<Call, FullyConnectedCreate> &&
        u.function == BNNSActivationFunctionPReLUPerChannel)
      continue;
    for (const float bad : {kNan, kInf, -kInf}) {
      const char* text = std::isnan(bad) ? "nan" : bad > 0 ? "inf" : "-inf";
      const std::string name = std::to_string(u.function) + " " + text;
      if (u.alpha) {
        rows.push_back({"alpha of function " + name,
                        {"activation.alpha", text, "finite"},
                        [=](Call& c) { c.params.activation = activation(u.function, bad, 1); }});
      }
      if (u.beta) {
        rows.push_back({"beta of function " + name,
                        {"activation.beta", text, "finite"},
                        [=](Call& c) { c.params.activation = activation(u.function, 1, bad); }});
      }
    }
  }
  return rows;
}

TEST(BadParameter, Activation) {
  expect_refused(common_rows<ActivationCreate>());
}
TEST(BadParameter, FullyConnected) {
  expect_refused(common_rows<FullyConnectedCreate>());
}
TEST(BadParameter, DirectActivation) {
  expect_refused(common_rows<ActivationDirect>());
}

// NaN in an alpha or beta that the function does not read is what some callers pass always.
TEST(BadParameter, UnusedNumbersAreNotRead) {
  for (const Uses& u : kUses) {
    SCOPED_TRACE(u.function);
    ActivationCall call;
    call.params.activation = activation(u.function, u.alpha ? 0.5f : kNan, u.beta ? 0.5f : -kInf);
    EXPECT_TRUE(call.make()) << OpenBNNSGetLastError();
    FullyConnectedCall fused;
    fused.params.activation = call.params.activation;
    const bool possible = u.function != BNNSActivationFunctionPReLUPerChannel;
    EXPECT_EQ(static_cast<bool>(fused.make()), possible);
  }
}

TEST(BadParameter, Axes) {
  using Call = ActivationCreate;
  std::vector<Row<Call>> rows;
  for (const auto function : {BNNSActivationFunctionSoftmax, BNNSActivationFunctionLogSoftmax,
                              BNNSActivationFunctionGumbelMax}) {
    for (const uint32_t flags : {1u << 4, 1u << 8, 1u << 31, UINT32_MAX}) {
      rows.push_back(
          {"axis_flags of an image", {"axis_flags", std::to_string(flags), "3 axes"}, [=](Call& c) {
             c.params.activation = activation(function, 1, 1);
             c.params.axis_flags = flags;
           }});
    }
    rows.push_back({"axis_flags of a vector", {"axis_flags", "4", "1 axes"}, [=](Call& c) {
                      c.params.i_desc = c.params.o_desc = vector_of(12);
                      c.params.activation = activation(function, 1, 1);
                      c.params.axis_flags = 4;
                    }});
  }
  expect_refused(rows);
}

// An output of one element per row is for GumbelMax alone, and has to hold the index.
TEST(BadParameter, IndexOfTheMaximum) {
  using Call = ActivationCreate;
  const auto gumbel = [](const BNNSNDArrayDescriptor& in, const BNNSNDArrayDescriptor& out,
                         uint32_t flags) {
    return [=](Call& c) {
      c.params.i_desc = in;
      c.params.o_desc = out;
      c.params.activation = activation(BNNSActivationFunctionGumbelMax, 1, 1);
      c.params.axis_flags = flags;
    };
  };
  const BNNSNDArrayDescriptor image = array(BNNSDataLayoutImageCHW, {3, 2, 2});
  BNNSNDArrayDescriptor scaled = vector_of(1, nullptr, BNNSDataTypeInt32), biased = scaled;
  scaled.data_scale = 2;
  biased.data_bias = 1;
  std::vector<Row<Call>> rows = {
      {"two per row",
       {"{12}", "{2}", "same number", "size 1"},
       gumbel(vector_of(12), vector_of(2), 0)},
      {"another axis",
       {"i_desc", "o_desc", "size 1 along the axes"},
       gumbel(image, array(BNNSDataLayoutImageCHW, {1, 2, 2}), 2)},
      {"one of two axes",
       {"size 1 along the axes"},
       gumbel(image, array(BNNSDataLayoutImageCHW, {1, 2, 2}), 3)},
      {"another order in memory",
       {"ImageCHW", "3DFirstMajor", "size 1 along the axes"},
       gumbel(array(BNNSDataLayoutImageCHW, {3, 2, 4}),
              array(BNNSDataLayout3DFirstMajor, {1, 2, 4}), 1)},
      {"the other axis left out",
       {"RowMajorMatrix", "Vector", "size 1 along the axes"},
       gumbel(matrix_of(4, 3), vector_of(4), 1)},
      {"along the batch", {"size 1 along the axes"}, gumbel(vector_of(12), vector_of(1), 3)},
      {"Boolean",
       {"o_desc.data_type", "Boolean", "an index needs"},
       gumbel(vector_of(2), vector_of(1, nullptr, BNNSDataTypeBoolean), 0)},
      {"scale", {"o_desc.data_type", "without scale and bias"}, gumbel(vector_of(3), scaled, 0)},
      {"bias", {"o_desc.data_type", "without scale and bias"}, gumbel(vector_of(3), biased, 0)},
      {"below a byte",
       {"o_desc.data_type", "Int4", "cannot be written"},
       gumbel(vector_of(3), vector_of(1, nullptr, BNNSDataTypeInt4), 0)},
      {"narrow",
       {"o_desc.data_type", "Int8", "128 elements", "a row has 129"},
       gumbel(vector_of(129), vector_of(1, nullptr, BNNSDataTypeInt8), 0)},
  };
  for (const auto function : {BNNSActivationFunctionSoftmax, BNNSActivationFunctionLogSoftmax,
                              BNNSActivationFunctionGumbel, BNNSActivationFunctionTanh}) {
    rows.push_back({"another function",
                    {"Vector {12}", "Vector {1}", "same number of elements"},
                    [=](Call& c) {
                      c.params.i_desc = vector_of(12);
                      c.params.o_desc = vector_of(1);
                      c.params.activation = activation(function, 1, 1);
                    }});
  }
  expect_refused(rows);
}

TEST(BadParameter, AxesThatExist) {
  for (uint32_t flags = 0; flags < 16; ++flags) {
    EXPECT_TRUE(make_activation(array(BNNSDataLayoutImageCHW, {3, 2, 2}),
                                array(BNNSDataLayoutImageCHW, {3, 2, 2}),
                                activation(BNNSActivationFunctionSoftmax), flags))
        << OpenBNNSGetLastError();
  }
  std::vector<Row<ActivationApply>> unused;
  unused.push_back({"not read by an element-wise function", {}, [](ActivationApply& c) {
                      c.params.axis_flags = UINT32_MAX;
                    }});
  expect_accepted(unused);
}

TEST(BadParameter, Channels) {
  using Call = ActivationCreate;
  const auto prelu = [](const BNNSNDArrayDescriptor& d) {
    return [=](Call& c) {
      c.params.i_desc = c.params.o_desc = d;
      c.params.activation = activation(BNNSActivationFunctionPReLUPerChannel, 0.5f);
    };
  };
  expect_refused<Call>({
      {"PReLU of a vector", {"i_desc.layout", "Vector", "ImageCHW"}, prelu(vector_of(12))},
      {"PReLU of a matrix",
       {"i_desc.layout", "RowMajorMatrix", "ImageCHW"},
       prelu(matrix_of(4, 3))},
      {"PReLU of 3DFirstMajor",
       {"i_desc.layout", "3DFirstMajor", "ImageCHW"},
       prelu(array(BNNSDataLayout3DFirstMajor, {3, 2, 2}))},
      {"PReLU of rank 4",
       {"i_desc.layout", "4DLastMajor", "ImageCHW"},
       prelu(array(BNNSDataLayout4DLastMajor, {3, 2, 2, 1}))},
  });
  expect_refused<FullyConnectedCreate>(
      {{"PReLU fused", {"activation.function", "PReLU"}, [](FullyConnectedCreate& c) {
          c.params.activation = activation(BNNSActivationFunctionPReLUPerChannel, 0.5f);
        }}});
}

void make_integer(BNNSLayerParametersActivation& p, BNNSActivationFunction function) {
  p.i_desc.data_type = p.o_desc.data_type = BNNSDataTypeInt32;
  p.activation = activation(function);
  p.activation.iscale = 1;
}

TEST(BadParameter, IntegerLinear) {
  using Call = ActivationCreate;
  std::vector<Row<Call>> rows;
  for (const int32_t shift : {-1, 64, INT32_MAX, INT32_MIN}) {
    rows.push_back(
        {"ishift", {"activation.ishift", std::to_string(shift), "0 to 63"}, [=](Call& c) {
           make_integer(c.params, BNNSActivationFunctionIntegerLinearSaturate);
           c.params.activation.ishift = shift;
         }});
  }
  for (const auto function : {BNNSActivationFunctionIntegerLinearSaturate,
                              BNNSActivationFunctionIntegerLinearSaturatePerChannel}) {
    for (const auto type : {BNNSDataTypeFloat32, BNNSDataTypeFloat16, BNNSDataTypeBFloat16,
                            BNNSDataTypeBoolean, BNNSDataTypeInt4}) {
      rows.push_back({"input type", {"i_desc.data_type", "integer type"}, [=](Call& c) {
                        make_integer(c.params, function);
                        c.params.i_desc.data_type = type;
                      }});
      rows.push_back({"output type", {"o_desc.data_type", "integer type"}, [=](Call& c) {
                        make_integer(c.params, function);
                        c.params.o_desc.data_type = type;
                      }});
    }
  }
  expect_refused(rows);
}

TEST(BadParameter, IntegerLinearPerChannel) {
  using Call = ActivationCreate;
  static const int32_t two[2] = {1, 1}, bad_low[2] = {0, -1}, bad_high[2] = {64, 0};
  const auto channels = [](auto damage) {
    return [=](Call& c) {
      make_integer(c.params, BNNSActivationFunctionIntegerLinearSaturatePerChannel);
      BNNSActivation& a = c.params.activation;
      a.iscale_per_channel = a.ioffset_per_channel = a.ishift_per_channel = two;
      damage(c.params);
    };
  };
  using Params = BNNSLayerParametersActivation;
  expect_refused<Call>({
      {"scales null", {"activation.iscale_per_channel", "NULL"}, channels([](Params& p) {
         p.activation.iscale_per_channel = nullptr;
       })},
      {"offsets null", {"activation.ioffset_per_channel", "NULL"}, channels([](Params& p) {
         p.activation.ioffset_per_channel = nullptr;
       })},
      {"shifts null", {"activation.ishift_per_channel", "NULL"}, channels([](Params& p) {
         p.activation.ishift_per_channel = nullptr;
       })},
      {"a negative shift",
       {"activation.ishift_per_channel", "-1", "0 to 63"},
       channels([](Params& p) { p.activation.ishift_per_channel = bad_low; })},
      {"a large shift", {"activation.ishift_per_channel", "64", "0 to 63"}, channels([](Params& p) {
         p.activation.ishift_per_channel = bad_high;
       })},
      {"channels of a matrix", {"i_desc.layout", "RowMajorMatrix"}, channels([](Params& p) {
         p.i_desc = p.o_desc = matrix_of(4, 3, nullptr, BNNSDataTypeInt32);
       })},
  });
}

// Integer functions fused in a fully connected layer need integers everywhere.
TEST(BadParameter, IntegerFullyConnected) {
  using Call = FullyConnectedCreate;
  std::vector<Row<Call>> rows;
  for (BNNSNDArrayDescriptor BNNSLayerParametersFullyConnected::*field :
       {&BNNSLayerParametersFullyConnected::i_desc, &BNNSLayerParametersFullyConnected::w_desc,
        &BNNSLayerParametersFullyConnected::o_desc, &BNNSLayerParametersFullyConnected::bias}) {
    rows.push_back({"one float among integers",
                    {"activation.function", "IntegerLinearSaturate", "integer types"},
                    [=](Call& c) {
                      auto& p = c.params;
                      for (auto* d : {&p.i_desc, &p.w_desc, &p.o_desc, &p.bias})
                        d->data_type = BNNSDataTypeInt32;
                      (p.*field).data_type = BNNSDataTypeFloat32;
                      p.activation = activation(BNNSActivationFunctionIntegerLinearSaturate);
                    }});
  }
  rows.push_back({"shift", {"activation.ishift", "64", "0 to 63"}, [](Call& c) {
                    auto& p = c.params;
                    for (auto* d : {&p.i_desc, &p.w_desc, &p.o_desc, &p.bias})
                      d->data_type = BNNSDataTypeInt32;
                    p.activation = activation(BNNSActivationFunctionIntegerLinearSaturate);
                    p.activation.ishift = 64;
                  }});
  expect_refused(rows);
}

// Shifts in client memory may go bad after creation.
TEST(BadParameter, ClientShiftsAreCheckedAtEveryCall) {
  int32_t ones[2] = {1, 1}, shifts[2] = {0, 0};
  auto a = activation(BNNSActivationFunctionIntegerLinearSaturatePerChannel);
  a.iscale_per_channel = a.ioffset_per_channel = ones;
  a.ishift_per_channel = shifts;
  const auto d = vector_of(2, nullptr, BNNSDataTypeInt32);
  const BNNSFilterParameters options = client_pointers();
  const Filter filter = make_activation(d, d, a, 0, &options);
  ASSERT_TRUE(filter) << OpenBNNSGetLastError();
  const Guarded<int32_t> in{3, -4};
  Guarded<int32_t> out(Space{2});
  shifts[1] = 64;
  EXPECT_NE(BNNSFilterApply(filter.get(), in.data(), out.data()), 0);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApply", {"ishift_per_channel", "64"});
  EXPECT_TRUE(out.untouched());
  ++refused_inputs;
  shifts[1] = 1;
  EXPECT_EQ(BNNSFilterApply(filter.get(), in.data(), out.data()), 0) << OpenBNNSGetLastError();
  EXPECT_EQ(out[0], 4);
  EXPECT_EQ(out[1], -2);
}

}  // namespace
}  // namespace bnns::test

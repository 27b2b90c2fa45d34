// Normalization filters that must not be made, and calls on them that must be refused.
#include <cmath>
#include <limits>

#include "support/normalization_call.h"

namespace bnns::test {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

using Create = NormalizationCreate;
using Forward = NormalizationForward;
using Backward = NormalizationBackward;

class PrintCount : public testing::Environment {
 public:
  void TearDown() override { std::printf("bad inputs covered: %d\n", refused_inputs.load()); }
};
[[maybe_unused]] const auto* const print_count = testing::AddGlobalTestEnvironment(new PrintCount);

TEST(BadNormalization, TypeAndFlags) {
  std::vector<Row<Create>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](Create& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](Create& c) { c.options.flags = 2; }}};
  for (const uint32_t value : {0u, 1u, 6u, 8u, 99u, UINT32_MAX}) {
    rows.push_back({"type " + std::to_string(value),
                    {"normType is " + std::to_string(value), "BNNSGroupNorm"},
                    [=](Create& c) { c.type = static_cast<BNNSFilterType>(value); }});
  }
  expect_refused(rows);
}

TEST(BadNormalization, Tensors) {
  std::vector<Row<Create>> rows = descriptor_rows<Create>(
      "i_desc", 1, [](Create& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; }, false);
  append(rows, descriptor_rows<Create>(
                   "o_desc", 1, [](Create& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; },
                   true));
  rows.push_back({"another layout",
                  {"i_desc.layout is RowMajorMatrix", "ImageCHW or Vector"},
                  [](Create& c) { c.params.i_desc = matrix_of(2, 1); }});
  rows.push_back({"other sizes", {"o_desc is Vector {3}", "i_desc is Vector {2}"}, [](Create& c) {
                    c.params.o_desc.size[0] = 3;
                  }});
  rows.push_back(
      {"layouts differ", {"o_desc is ImageCHW {1, 1, 2}", "i_desc is Vector {2}"}, [](Create& c) {
         c.params.o_desc = array(BNNSDataLayoutImageCHW, {1, 1, 2});
       }});
  for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    rows.push_back({"i_desc type", {"i_desc.data_type", "Float32"}, [=](Create& c) {
                      c.params.i_desc.data_type = type;
                    }});
    rows.push_back({"o_desc type", {"o_desc.data_type", "Float32"}, [=](Create& c) {
                      c.params.o_desc.data_type = type;
                    }});
  }
  expect_refused(rows);
}

// A parameter of the client by name.
struct Parameter {
  const char* name;
  BNNSNDArrayDescriptor BNNSLayerParametersNormalization::*field;
};
constexpr Parameter kParameters[] = {
    {"beta_desc", &BNNSLayerParametersNormalization::beta_desc},
    {"gamma_desc", &BNNSLayerParametersNormalization::gamma_desc},
    {"moving_mean_desc", &BNNSLayerParametersNormalization::moving_mean_desc},
    {"moving_variance_desc", &BNNSLayerParametersNormalization::moving_variance_desc}};

TEST(BadNormalization, Parameters) {
  std::vector<Row<Create>> rows;
  for (const Parameter& p : kParameters) {
    const auto field = p.field;
    const std::string name = p.name;
    append(rows, descriptor_rows<Create>(
                     name, 1, [=](Create& c) -> BNNSNDArrayDescriptor& { return c.params.*field; },
                     false));
    for (const size_t n : {size_t{1}, size_t{3}}) {
      rows.push_back({name + " of another length",
                      {name + " has " + std::to_string(n), "i_desc has 2 channels"},
                      [=](Create& c) { (c.params.*field).size[0] = n; }});
    }
    rows.push_back({name + " of integers", {name + ".data_type is Int32"}, [=](Create& c) {
                      (c.params.*field).data_type = BNNSDataTypeInt32;
                    }});
    rows.push_back({name + " misaligned", {name, "aligned to 4"}, [=](Create& c) {
                      BNNSNDArrayDescriptor& d = c.params.*field;
                      d.data = static_cast<char*>(d.data) + 1;
                      c.expect_pointer(d.data);
                    }});
  }
  rows.push_back({"types differ",
                  {"beta_desc.data_type is Float16", "gamma_desc.data_type is Float32"},
                  [](Create& c) { c.params.beta_desc.data_type = BNNSDataTypeFloat16; }});
  rows.push_back({"moving statistics of 16 bits",
                  {"moving_mean_desc.data_type is BFloat16", "Float32"},
                  [](Create& c) { c.params.moving_mean_desc.data_type = BNNSDataTypeBFloat16; }});
  expect_refused(rows);
}

TEST(BadNormalization, Scalars) {
  std::vector<Row<Create>> rows;
  for (const float epsilon : {-1e-9f, kNaN, kInf, -kInf}) {
    rows.push_back({"epsilon", {"epsilon is", "not negative"}, [=](Create& c) {
                      c.params.epsilon = epsilon;
                    }});
  }
  for (const auto type : {BNNSBatchNorm, BNNSInstanceNorm}) {
    for (const float momentum : {-0.01f, 1.01f, kNaN, kInf}) {
      rows.push_back({"momentum", {"momentum is", "between 0 and 1"}, [=](Create& c) {
                        c.type = type;
                        c.params.momentum = momentum;
                      }});
    }
  }
  rows.push_back(
      {"no groups", {"num_groups is 0", "at least 1"}, [](Create& c) { c.type = BNNSGroupNorm; }});
  for (const size_t groups : {size_t{3}, size_t{4}, SIZE_MAX}) {
    rows.push_back({"groups",
                    {"num_groups is " + std::to_string(groups), "2 channels", "divisible"},
                    [=](Create& c) {
                      c.type = BNNSGroupNorm;
                      c.params.num_groups = groups;
                    }});
  }
  for (const size_t axis : {size_t{3}, SIZE_MAX}) {
    rows.push_back({"axis", {"normalization_axis is " + std::to_string(axis)}, [=](Create& c) {
                      c.type = BNNSLayerNorm;
                      c.params.normalization_axis = axis;
                    }});
  }
  expect_refused(rows);
}

TEST(BadNormalization, Activation) {
  std::vector<Row<Create>> rows =
      enum_rows<Create>("activation.function", BNNSActivationFunctionGELUApproximationSigmoid,
                        [](Create& c, uint32_t v) {
                          c.params.activation.function = static_cast<BNNSActivationFunction>(v);
                        });
  for (const auto function :
       {BNNSActivationFunctionSoftmax, BNNSActivationFunctionLogSoftmax,
        BNNSActivationFunctionGumbel, BNNSActivationFunctionGumbelMax,
        BNNSActivationFunctionPReLUPerChannel, BNNSActivationFunctionIntegerLinearSaturate}) {
    rows.push_back({"activation", {"activation.function is", "single elements"}, [=](Create& c) {
                      c.params.activation = activation(function, 1, 1);
                    }});
  }
  rows.push_back({"alpha", {"activation.alpha is nan", "finite"}, [](Create& c) {
                    c.params.activation = activation(BNNSActivationFunctionELU, kNaN);
                  }});
  expect_refused(rows);
}

TEST(BadNormalization, LayerParametersMustBroadcast) {
  const auto make = [](Create& c, const BNNSNDArrayDescriptor& gamma) {
    c.type = BNNSLayerNorm;
    c.params.i_desc = c.params.o_desc = array(BNNSDataLayoutImageCHW, {4, 3, 2});
    c.params.beta_desc = {};
    c.params.gamma_desc = gamma;
    c.params.gamma_desc.data = c.gamma.data();
  };
  std::vector<Row<Create>> rows;
  const auto add = [&](const BNNSNDArrayDescriptor& gamma, const char* text) {
    rows.push_back({text, {"gamma_desc is", text, "i_desc is ImageCHW {4, 3, 2}"}, [=](Create& c) {
                      make(c, gamma);
                    }});
  };
  add(array(BNNSDataLayoutImageCHW, {4, 2, 2}), "{4, 2, 2}");
  add(array(BNNSDataLayoutImageCHW, {5, 1, 1}), "{5, 1, 1}");
  add(vector_of(2), "Vector {2}");
  add(array(BNNSDataLayout4DFirstMajor, {1, 1, 1, 4}), "4DFirstMajor");
  expect_refused(rows);
}

TEST(BadNormalization, ForwardCalls) {
  std::vector<Row<Forward>> rows = {
      {"no filter", {"filter is NULL"}, [](Forward& c) { c.filter = Filter(); }},
      {"no in", {"in is NULL"}, [](Forward& c) { c.in_pointer = nullptr; }},
      {"no out", {"out is NULL"}, [](Forward& c) { c.out_pointer = nullptr; }},
      {"in misaligned",
       {"in is", "aligned to 4"},
       [](Forward& c) { c.in_pointer = static_cast<const char*>(c.in_pointer) + 2; }},
      {"in_stride", {"in_stride is 1", "2 values"}, [](Forward& c) { c.in_stride = 1; }},
      {"out_stride", {"out_stride is 1", "2 values"}, [](Forward& c) { c.out_stride = 1; }},
      {"huge batch",
       {"batch_size is", "address space"},
       [](Forward& c) { c.batch = SIZE_MAX / 4; }},
      {"partial overlap",
       {"out and in overlap"},
       [](Forward& c) { c.out_pointer = c.in.data() + 1; }},
      {"same memory, other strides",
       {"out and in overlap", "same type and strides"},
       [](Forward& c) { c.out_pointer = c.in.data(); }},
      {"out over beta",
       {"out and beta_desc.data overlap"},
       [](Forward& c) { c.batch = 1, c.out_pointer = c.beta.data(); }},
      {"out over gamma",
       {"out and gamma_desc.data overlap"},
       [](Forward& c) { c.batch = 1, c.out_pointer = c.gamma.data(); }},
      {"out over the moving mean",
       {"out and moving_mean_desc.data overlap"},
       [](Forward& c) { c.batch = 1, c.out_pointer = c.mean.data(); }},
      {"out over the moving variance in inference",
       {"out and moving_variance_desc.data overlap"},
       [](Forward& c) { c.batch = 1, c.training = false, c.out_pointer = c.variance.data(); }},
      {"in is the moving mean", {"moving_mean_desc.data and in overlap"}, [](Forward& c) {
         c.batch = 1, c.in_pointer = c.mean.data();
       }}};
  rows.push_back({"one memory for both moving statistics",
                  {"moving_mean_desc.data and moving_variance_desc.data overlap"},
                  [](Forward& c) {
                    c.params.moving_variance_desc.data = c.mean.data();
                    c.create();
                  }});
  expect_refused(rows);
}

TEST(BadNormalization, GenericCallsAreRefused) {
  Forward c;
  EXPECT_EQ(BNNSFilterApply(c.filter.get(), c.in.data(), c.out.data()), -1);
  EXPECT_EQ(BNNSFilterApplyBatch(c.filter.get(), 2, c.in.data(), 2, c.out.data(), 2), -1);
  EXPECT_TRUE(c.out.untouched());
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApplyBatch",
                {"a normalization filter", "does not accept"});
}

TEST(BadNormalization, BackwardNeedsTheTrainingPass) {
  std::vector<Row<Backward>> rows = {
      {"never applied", {"training = true"}, [](Backward& c) { c.create(); }},
      {"inference only",
       {"training = true"},
       [](Backward& c) {
         c.create();
         c.training = false;
         c.forward();
       }},
      {"smaller batch", {"batch_size is 2", "had 3", "equal"}, [](Backward& c) { c.batch = 2; }},
      {"larger batch", {"batch_size is 4", "had 3"}, [](Backward& c) { c.batch = 4; }},
      {"no out", {"out is NULL"}, [](Backward& c) { c.y_pointer = nullptr; }},
      {"no out_delta", {"out_delta is NULL"}, [](Backward& c) { c.out_delta_pointer = nullptr; }},
      {"out_delta without data", {"out_delta.data is NULL"}, [](Backward& c) {
         c.out_delta.data = nullptr;
       }}};
  for (const auto function :
       {BNNSActivationFunctionAbs, BNNSActivationFunctionSiLU, BNNSActivationFunctionGELU}) {
    rows.push_back(
        {"slope not known", {"activation is", "use a separate activation layer"}, [=](Backward& c) {
           c.params.activation = activation(function, 1, 1);
           c.remake();
         }});
  }
  rows.push_back({"leaky with a negative slope",
                  {"alpha -1", "use a separate activation layer"},
                  [](Backward& c) {
                    c.params.activation =
                        activation(BNNSActivationFunctionLeakyRectifiedLinear, -1);
                    c.remake();
                  }});
  expect_refused(rows);
}

TEST(BadNormalization, Deltas) {
  std::vector<Row<Backward>> rows;
  struct Delta {
    const char* name;
    BNNSNDArrayDescriptor Backward::*field;
    const char* frozen;
  };
  for (const Delta& d : {Delta{"in_delta", &Backward::in_delta, "i_desc is Vector {2}"},
                         {"out_delta", &Backward::out_delta, "o_desc is Vector {2}"},
                         {"beta_delta", &Backward::beta_delta, "beta_desc is Vector {2}"},
                         {"gamma_delta", &Backward::gamma_delta, "gamma_desc is Vector {2}"}}) {
    const auto field = d.field;
    const std::string name = d.name;
    rows.push_back({name + " of another size",
                    {name + " is Vector {3}", d.frozen},
                    [=](Backward& c) { (c.*field).size[0] = 3; }});
    for (const auto type : {BNNSDataTypeFloat16, BNNSDataTypeInt32}) {
      rows.push_back({name + " type",
                      {name + ".data_type", "Float32 or BFloat16"},
                      [=](Backward& c) { (c.*field).data_type = type; }});
    }
    rows.push_back({name + " misaligned", {name + ".data is", "aligned to 4"}, [=](Backward& c) {
                      (c.*field).data = static_cast<char*>((c.*field).data) + 1;
                    }});
  }
  rows.push_back({"in_delta flags", {"in_delta.flags is 7"}, [](Backward& c) {
                    c.in_delta.flags = static_cast<BNNSNDArrayFlags>(7);
                  }});
  rows.push_back(
      {"in_delta_stride", {"in_delta_stride is 1"}, [](Backward& c) { c.dx_stride = 1; }});
  rows.push_back(
      {"out_delta_stride", {"out_delta_stride is 1"}, [](Backward& c) { c.dy_stride = 1; }});
  rows.push_back({"no beta", {"beta_delta is given", "no beta_desc"}, [](Backward& c) {
                    c.params.beta_desc = {};
                    c.remake();
                  }});
  rows.push_back({"no gamma", {"gamma_delta is given", "no gamma_desc"}, [](Backward& c) {
                    c.params.gamma_desc = {};
                    c.remake();
                  }});
  const auto overlaps = [&](const char* words, const auto& damage) {
    rows.push_back({words, {words, "overlap"}, damage});
  };
  overlaps("in_delta and out_delta", [](Backward& c) { c.in_delta.data = c.dy.data(); });
  overlaps("in_delta and out", [](Backward& c) { c.in_delta.data = c.out.data(); });
  overlaps("beta_delta and gamma_delta", [](Backward& c) { c.beta_delta.data = c.dgamma.data(); });
  overlaps("gamma_delta and gamma_desc.data",
           [](Backward& c) { c.gamma_delta.data = c.gamma.data(); });
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

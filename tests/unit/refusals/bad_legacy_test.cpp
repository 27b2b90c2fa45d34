// What the creators of 2016 must refuse: their sizes are stated twice and must agree, and all that
// today's creators refuse reaches the caller with a reason, too.
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct LegacyActivation : CallBase {
  const char* function = "BNNSFilterCreateVectorActivationLayer";
  BNNSVectorDescriptor in_desc = {.size = 3, .data_type = BNNSDataTypeFloat32}, out_desc = in_desc;
  BNNSActivation act = activation(BNNSActivationFunctionLinear, 2);
  BNNSFilterParameters options = {};
  const BNNSVectorDescriptor *in_pointer = &in_desc, *out_pointer = &out_desc;
  const BNNSActivation* act_pointer = &act;
  Guarded<float> in{1, -2, 3}, out{Space{3}};

  template <class F>
  void for_outputs(const F& f) {
    f(in), f(out);
  }
  bool run() {
    const Filter filter(
        BNNSFilterCreateVectorActivationLayer(in_pointer, out_pointer, act_pointer, &options));
    return filter && BNNSFilterApply(filter.get(), in.data(), out.data()) == 0;
  }
  bool correct() const {
    return out[0] == 2 && out[1] == -4 && out[2] == 6 && in.untouched() &&
           out.untouched_except([](size_t) { return true; });
  }
};

struct LegacyFullyConnected : CallBase {
  const char* function = "BNNSFilterCreateFullyConnectedLayer";
  Guarded<float> weights{1, 2, 3, 4, 5, 6}, bias{0.5f, -1}, in{1, 0, -1}, out{Space{2}};
  BNNSVectorDescriptor in_desc = {.size = 3, .data_type = BNNSDataTypeFloat32};
  BNNSVectorDescriptor out_desc = {.size = 2, .data_type = BNNSDataTypeFloat32};
  BNNSFullyConnectedLayerParameters params = {};
  BNNSFilterParameters options = {};
  const BNNSVectorDescriptor *in_pointer = &in_desc, *out_pointer = &out_desc;
  const BNNSFullyConnectedLayerParameters* params_pointer = &params;

  LegacyFullyConnected() {
    params.in_size = 3;
    params.out_size = 2;
    params.weights = {.data = weights.data(), .data_type = BNNSDataTypeFloat32};
    params.bias = {.data = bias.data(), .data_type = BNNSDataTypeFloat32};
  }
  template <class F>
  void for_outputs(const F& f) {
    f(weights), f(bias), f(in), f(out);
  }
  bool run() {
    const Filter filter(
        BNNSFilterCreateFullyConnectedLayer(in_pointer, out_pointer, params_pointer, &options));
    return filter && BNNSFilterApply(filter.get(), in.data(), out.data()) == 0;
  }
  bool correct() const {
    return out[0] == -1.5f && out[1] == -3 && in.untouched() && weights.untouched() &&
           bias.untouched() && out.untouched_except([](size_t) { return true; });
  }
};

// i_desc and o_desc are the names of what in_desc and out_desc are translated to.
template <class Call>
std::vector<Row<Call>> common_rows() {
  std::vector<Row<Call>> rows = {
      {"in_desc null", {"in_desc", "NULL"}, [](Call& c) { c.in_pointer = nullptr; }},
      {"out_desc null", {"out_desc", "NULL"}, [](Call& c) { c.out_pointer = nullptr; }},
      {"indexed input",
       {"in_desc->data_type", "Indexed8", "weights"},
       [](Call& c) { c.in_desc.data_type = BNNSDataTypeIndexed8; }},
      {"indexed output",
       {"out_desc->data_type", "Indexed4", "weights"},
       [](Call& c) { c.out_desc.data_type = BNNSDataTypeIndexed4; }},
      {"input scale NaN",
       {"data_scale", "nan", "finite"},
       [](Call& c) {
         c.in_desc.data_type = BNNSDataTypeInt8;
         c.in_desc.data_scale = kNan;
       }},
      {"output bias NaN",
       {"data_bias", "nan", "finite"},
       [](Call& c) {
         c.out_desc.data_type = BNNSDataTypeInt8;
         c.out_desc.data_bias = kNan;
       }},
      {"output below a byte",
       {"data_type", "Int4"},
       [](Call& c) { c.out_desc.data_type = BNNSDataTypeInt4; }},
      {"unknown flags", {"filter_params->flags", "8"}, [](Call& c) { c.options.flags = 8; }},
      {"too many threads",
       {"filter_params->n_threads", "1000000000"},
       [](Call& c) { c.options.n_threads = 1000000000; }},
  };
  append(rows, enum_rows<Call>("data_type", BNNSDataTypeBoolean, [](Call& c, uint32_t v) {
           c.in_desc.data_type = static_cast<BNNSDataType>(v);
         }));
  append(rows, enum_rows<Call>("data_type", BNNSDataTypeBoolean, [](Call& c, uint32_t v) {
           c.out_desc.data_type = static_cast<BNNSDataType>(v);
         }));
  return rows;
}

TEST(BadLegacy, VectorActivation) {
  using Call = LegacyActivation;
  auto rows = common_rows<Call>();
  append(
      rows,
      {
          {"activation null", {"activation", "NULL"}, [](Call& c) { c.act_pointer = nullptr; }},
          {"sizes differ", {"Vector {3}", "Vector {4}"}, [](Call& c) { c.out_desc.size = 4; }},
          {"alpha NaN", {"activation.alpha", "nan", "finite"}, [](Call& c) { c.act.alpha = kNan; }},
          {"PReLU",
           {"layout", "Vector", "ImageCHW"},
           [](Call& c) { c.act = activation(BNNSActivationFunctionPReLUPerChannel, 1); }},
      });
  append(rows,
         enum_rows<Call>(
             "activation.function", BNNSActivationFunctionGELUApproximationSigmoid,
             [](Call& c, uint32_t v) { c.act.function = static_cast<BNNSActivationFunction>(v); }));
  for (const size_t size : {size_t{0}, size_t{1} << 63, SIZE_MAX}) {
    rows.push_back({"size " + std::to_string(size), {std::to_string(size)}, [=](Call& c) {
                      c.in_desc.size = c.out_desc.size = size;
                    }});
  }
  expect_refused(rows);
}

TEST(BadLegacy, FullyConnected) {
  using Call = LegacyFullyConnected;
  auto rows = common_rows<Call>();
  append(
      rows,
      {
          {"layer_params null",
           {"layer_params", "NULL"},
           [](Call& c) { c.params_pointer = nullptr; }},
          {"in_size differs",
           {"in_size", "is 4", "in_desc->size", "is 3", "equal"},
           [](Call& c) { c.params.in_size = 4; }},
          {"out_size differs",
           {"out_size", "is 1", "out_desc->size", "is 2", "equal"},
           [](Call& c) { c.params.out_size = 1; }},
          {"input of another size",
           {"in_size", "is 3", "in_desc->size", "18446744073709551615"},
           [](Call& c) { c.in_desc.size = SIZE_MAX; }},
          {"sizes 0",
           {"is 0", "at least 1"},
           [](Call& c) { c.params.in_size = c.in_desc.size = 0; }},
          {"weights overflow",
           {"overflow"},
           [](Call& c) {
             c.params.in_size = c.in_desc.size = size_t{1} << 32;
             c.params.out_size = c.out_desc.size = size_t{1} << 32;
           }},
          {"weights null",
           {"w_desc.data", "NULL"},
           [](Call& c) { c.params.weights.data = nullptr; }},
          {"weights misaligned",
           {"w_desc.data", "aligned to 4"},
           [](Call& c) { c.params.weights.data = reinterpret_cast<char*>(c.weights.data()) + 2; }},
          {"bias misaligned",
           {"bias.data", "aligned to 4"},
           [](Call& c) { c.params.bias.data = reinterpret_cast<char*>(c.bias.data()) + 1; }},
          {"indexed weights without a table",
           {"table_data", "NULL", "256"},
           [](Call& c) { c.params.weights.data_type = BNNSDataTypeIndexed8; }},
          {"weights scale NaN",
           {"w_desc.data_scale", "nan", "finite"},
           [](Call& c) {
             c.params.weights.data_type = BNNSDataTypeInt8;
             c.params.weights.data_scale = kNan;
           }},
          {"weights Boolean",
           {"w_desc.data_type", "Boolean"},
           [](Call& c) { c.params.weights.data_type = BNNSDataTypeBoolean; }},
          {"beta Inf",
           {"activation.beta", "inf", "finite"},
           [](Call& c) {
             c.params.activation =
                 activation(BNNSActivationFunctionClamp, 0, std::numeric_limits<float>::infinity());
           }},
      });
  append(rows, enum_rows<Call>("w_desc.data_type", BNNSDataTypeBoolean, [](Call& c, uint32_t v) {
           c.params.weights.data_type = static_cast<BNNSDataType>(v);
         }));
  append(rows, enum_rows<Call>("bias.data_type", BNNSDataTypeBoolean, [](Call& c, uint32_t v) {
           c.params.bias.data_type = static_cast<BNNSDataType>(v);
         }));
  append(rows,
         enum_rows<Call>("activation.function", BNNSActivationFunctionGELUApproximationSigmoid,
                         [](Call& c, uint32_t v) {
                           c.params.activation.function = static_cast<BNNSActivationFunction>(v);
                         }));
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

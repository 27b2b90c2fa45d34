// Arithmetic filters that must not be made, and calls on them that must be refused. The valid call
// multiplies two samples of 2 x 2 values by a parameter of 2 x 1:
//   in 1 2 / 3 4 and 5 6 / 7 8, parameter 10 100  ->  10 200 / 30 400 and 50 600 / 70 800
#include "support/call_table.h"

namespace bnns::test {
namespace {

struct ArithmeticCall : CallBase {
  static constexpr size_t kBatch = 2, kStep = 5;

  BNNSArithmeticBinary fields = {};
  BNNSLayerParametersArithmetic params = {};
  BNNSFilterParameters options = {};
  const BNNSLayerParametersArithmetic* params_pointer = &params;
  Guarded<float> a{1, 2, 3, 4, 77, 5, 6, 7, 8, 77}, b{10, 100};
  Guarded<float> out{Space{kBatch * kStep}};
  const void* in[3] = {a.data(), b.data(), nullptr};
  size_t in_stride[3] = {kStep, 0, 0};
  const void** in_pointer = in;
  const size_t* in_stride_pointer = in_stride;
  void* out_pointer = out.data();
  size_t batch = kBatch, inputs = 2, out_stride = kStep;

  ArithmeticCall() {
    fields.in1 = fields.out = matrix_of(2, 2);
    fields.in2 = matrix_of(2, 1);
    fields.in1_type = fields.out_type = BNNSSample;
    fields.in2_type = BNNSParameter;
    params.arithmetic_function = BNNSArithmeticMultiply;
    params.arithmetic_function_fields = &fields;
  }
  ArithmeticCall(const ArithmeticCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(a), f(b), f(out);
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerArithmetic(params_pointer, &options)); }
  bool apply(const Filter& filter) {
    return BNNSArithmeticFilterApplyBatch(filter.get(), batch, inputs, in_pointer,
                                          in_stride_pointer, out_pointer, out_stride) == 0;
  }
  bool correct() const {
    bool right = a.untouched() && b.untouched();
    for (size_t i = 0; i < kBatch * kStep; ++i)
      if (i % kStep < 4) right &= out[i] == a[i] * b[i % kStep % 2];
    return right && out.untouched_except([](size_t i) { return i % kStep < 4; });
  }
};

struct ArithmeticCreate : ArithmeticCall {
  const char* function = "BNNSFilterCreateLayerArithmetic";
  bool run() {
    const Filter filter = make();
    return filter && apply(filter);
  }
};

struct ArithmeticForward : ArithmeticCall {
  const char* function = "BNNSArithmeticFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return apply(filter);
  }
};

// dy is 1 2 / 3 4 and 1 2 / 3 4: the parameter receives the sum over rows and samples.
struct ArithmeticBackward : ArithmeticCall {
  const char* function = "BNNSArithmeticFilterApplyBackwardBatch";
  Guarded<float> da{Space{kBatch * kStep}}, db{Space{2}};
  Guarded<float> dy{1, 2, 3, 4, 77, 1, 2, 3, 4, 77};
  BNNSNDArrayDescriptor delta[2] = {matrix_of(2, 2, da.data()), matrix_of(2, 1, db.data())};
  BNNSNDArrayDescriptor out_delta = matrix_of(2, 2, dy.data());
  BNNSNDArrayDescriptor* in_delta[3] = {&delta[0], &delta[1], nullptr};
  BNNSNDArrayDescriptor** in_delta_pointer = in_delta;
  size_t delta_stride[3] = {kStep, 0, 0};
  const size_t* delta_stride_pointer = delta_stride;
  const void* out_value = nullptr;
  BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;

  template <class F>
  void for_outputs(const F& f) {
    ArithmeticCall::for_outputs(f);
    f(da), f(db), f(dy);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSArithmeticFilterApplyBackwardBatch(
               filter.get(), batch, inputs, in_pointer, in_stride_pointer, in_delta_pointer,
               delta_stride_pointer, out_value, 0, out_delta_pointer, kStep) == 0;
  }
  bool correct() const {
    bool right = a.untouched() && b.untouched() && dy.untouched();
    for (size_t i = 0; i < kBatch * kStep; ++i)
      if (i % kStep < 4) right &= da[i] == dy[i] * b[i % kStep % 2];
    right &= db[0] == 1 * 1 + 3 * 3 + 1 * 5 + 3 * 7 && db[1] == 2 * 2 + 4 * 4 + 2 * 6 + 4 * 8;
    return right && da.untouched_except([](size_t i) { return i % kStep < 4; });
  }
};

TEST(BadArithmetic, Parameters) {
  using C = ArithmeticCreate;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"no fields",
       {"arithmetic_function_fields is NULL", "Multiply"},
       [](C& c) { c.params.arithmetic_function_fields = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }},
      {"columns do not broadcast",
       {"in2 is RowMajorMatrix {3, 1}", "out is RowMajorMatrix {2, 2}", "or 1"},
       [](C& c) { c.fields.in2.size[0] = 3; }},
      {"out smaller than an input",
       {"in1 is RowMajorMatrix {2, 2}", "out is RowMajorMatrix {1, 2}"},
       [](C& c) { c.fields.out.size[0] = 1; }},
      {"other layout",
       {"in2 is ColumnMajorMatrix {2, 1}", "out is RowMajorMatrix {2, 2}", "layouts"},
       [](C& c) { c.fields.in2.layout = BNNSDataLayoutColumnMajorMatrix; }},
      {"a parameter from samples",
       {"out_type is Parameter", "in1_type is Sample"},
       [](C& c) { c.fields.out_type = BNNSParameter; }},
      {"activation that is a filter",
       {"activation.function is PReLUPerChannel"},
       [](C& c) { c.params.activation = activation(BNNSActivationFunctionPReLUPerChannel); }},
      {"unknown activation", {"activation.function is 99"}, [](C& c) {
         c.params.activation = activation(static_cast<BNNSActivationFunction>(99));
       }}};
  append(rows, enum_rows<C>("arithmetic_function", BNNSArithmeticErf, [](C& c, uint32_t v) {
           c.params.arithmetic_function = static_cast<BNNSArithmeticFunction>(v);
         }));
  append(rows, enum_rows<C>("in1_type", BNNSParameter, [](C& c, uint32_t v) {
           c.fields.in1_type = static_cast<BNNSDescriptorType>(v);
         }));
  append(rows, enum_rows<C>("in2_type", BNNSParameter, [](C& c, uint32_t v) {
           c.fields.in2_type = static_cast<BNNSDescriptorType>(v);
         }));
  append(rows, enum_rows<C>("out_type", BNNSParameter, [](C& c, uint32_t v) {
           c.fields.out_type = static_cast<BNNSDescriptorType>(v);
         }));
  append(rows, descriptor_rows<C>(
                   "in1", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.fields.in1; }, false));
  append(rows, descriptor_rows<C>(
                   "in2", 1, [](C& c) -> BNNSNDArrayDescriptor& { return c.fields.in2; }, false));
  append(rows, descriptor_rows<C>(
                   "out", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.fields.out; }, true));
  for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    rows.push_back({"in1 type", {"in1.data_type", "Float32, Float16 and BFloat16"}, [=](C& c) {
                      c.fields.in1.data_type = type;
                    }});
    rows.push_back({"out type", {"out.data_type", "Float32, Float16 and BFloat16"}, [=](C& c) {
                      c.fields.out.data_type = type;
                    }});
  }
  expect_refused(rows);
}

TEST(BadArithmetic, Forward) {
  using C = ArithmeticForward;
  std::vector<Row<C>> rows = {
      {"no inputs", {"in is NULL", "2 inputs"}, [](C& c) { c.in_pointer = nullptr; }},
      {"no strides", {"in_stride is NULL"}, [](C& c) { c.in_stride_pointer = nullptr; }},
      {"no first input", {"in[0] is NULL"}, [](C& c) { c.in[0] = nullptr; }},
      {"no second input", {"in[1] is NULL"}, [](C& c) { c.in[1] = nullptr; }},
      {"no output", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"samples overlap", {"in_stride[0] is 3", "4 values"}, [](C& c) { c.in_stride[0] = 3; }},
      {"odd address",
       {"in[1] is", "aligned"},
       [](C& c) { c.in[1] = reinterpret_cast<const char*>(c.b.data()) + 1; }},
      {"out over a part of an input",
       {"out and in[0] overlap"},
       [](C& c) { c.out_pointer = c.a.data() + 1; }},
      {"out over an input with another stride",
       {"out and in[0] overlap"},
       [](C& c) {
         c.out_pointer = c.a.data();
         c.out_stride = 4;
       }},
      {"out over the parameter", {"out and in[1] overlap"}, [](C& c) {
         c.fields.in2 = matrix_of(2, 2);
         c.in[1] = c.out_pointer;
       }}};
  for (const size_t n : {size_t{0}, size_t{1}, size_t{3}, SIZE_MAX})
    rows.push_back({"number of inputs",
                    {"number_of_inputs is " + std::to_string(n), "Multiply takes 2"},
                    [=](C& c) { c.inputs = n; }});
  expect_refused(rows);
}

TEST(BadArithmetic, Backward) {
  using C = ArithmeticBackward;
  const auto sigmoid = activation(BNNSActivationFunctionSigmoid);
  std::vector<Row<C>> rows = {
      {"number of inputs", {"number_of_inputs is 1", "takes 2"}, [](C& c) { c.inputs = 1; }},
      {"no inputs", {"in is NULL", "Multiply needs it"}, [](C& c) { c.in_pointer = nullptr; }},
      {"no second input", {"in[1] is NULL"}, [](C& c) { c.in[1] = nullptr; }},
      {"no deltas", {"in_delta is NULL"}, [](C& c) { c.in_delta_pointer = nullptr; }},
      {"no delta strides",
       {"in_delta_stride is NULL"},
       [](C& c) { c.delta_stride_pointer = nullptr; }},
      {"a delta is NULL", {"in_delta[1] is NULL"}, [](C& c) { c.in_delta[1] = nullptr; }},
      {"no out_delta", {"out_delta is NULL"}, [](C& c) { c.out_delta_pointer = nullptr; }},
      {"out_delta without data",
       {"out_delta.data is NULL"},
       [](C& c) { c.out_delta.data = nullptr; }},
      {"activation without out",
       {"out is NULL", "activation"},
       [=](C& c) { c.params.activation = sigmoid; }},
      {"activation that needs its input",
       {"GELU"},
       [](C& c) {
         c.params.activation = activation(BNNSActivationFunctionGELU);
         c.out_value = c.out.data();
       }},
      {"delta of other sizes", {"in_delta[0]", "in1"}, [](C& c) { c.delta[0].size[1] = 1; }},
      {"delta of another layout",
       {"in_delta[0].layout", "in1.layout"},
       [](C& c) { c.delta[0].layout = BNNSDataLayoutColumnMajorMatrix; }},
      {"delta of another type",
       {"in_delta[0].data_type is Float16", "Float32"},
       [](C& c) { c.delta[0].data_type = BNNSDataTypeFloat16; }},
      {"delta flags",
       {"in_delta[1].flags is 7"},
       [](C& c) { c.delta[1].flags = static_cast<BNNSNDArrayFlags>(7); }},
      {"deltas of samples overlap",
       {"in_delta_stride[0] is 3"},
       [](C& c) { c.delta_stride[0] = 3; }},
      {"in place",
       {"in_delta[0] and out_delta overlap", "Multiply", "in place"},
       [](C& c) { c.delta[0].data = c.dy.data(); }},
      {"over an input",
       {"in_delta[0] and in[0] overlap"},
       [](C& c) { c.delta[0].data = c.a.data(); }},
      {"over the other input",
       {"in_delta[1] and in[1] overlap"},
       [](C& c) { c.delta[1].data = c.b.data(); }},
      {"deltas overlap",
       {"in_delta[0] and in_delta[1] overlap"},
       [](C& c) { c.delta[1].data = c.da.data() + 1; }},
      {"one tensor, two gradients",
       {"in[0] and in[1] are the same tensor", "in_delta[0]", "in_delta[1]"},
       [](C& c) { c.in[1] = c.in[0]; }},
      {"two tensors, one gradient",
       {"in_delta[0] and in_delta[1] are the same memory", "in[0] and in[1] are not"},
       [](C& c) {
         c.fields.in2 = matrix_of(2, 2);
         c.fields.in2_type = BNNSSample;
         c.in[1] = c.out.data();
         c.in_stride[1] = c.delta_stride[1] = C::kStep;
         c.delta[1] = c.delta[0];
       }},
      {"one gradient, set and accumulated",
       {"in_delta[0] and in_delta[1] are the same memory", "flags"},
       [](C& c) {
         c.fields.in2 = matrix_of(2, 2);
         c.fields.in2_type = BNNSSample;
         c.in[1] = c.in[0];
         c.in_stride[1] = c.delta_stride[1] = C::kStep;
         c.delta[1] = c.delta[0];
         c.delta[1].flags = BNNSNDArrayFlagBackpropAccumulate;
       }}};
  expect_refused(rows);
}

// Other filters, and other calls.
TEST(BadArithmetic, Kinds) {
  ArithmeticForward c;
  const Filter arithmetic = c.make();
  const Filter other =
      make_activation(vector_of(4), vector_of(4), activation(BNNSActivationFunctionTanh));
  EXPECT_FALSE(c.apply(other));
  expect_reason(OpenBNNSGetLastError(), "BNNSArithmeticFilterApplyBatch",
                {"an activation filter", "does not accept"});
  EXPECT_FALSE(c.apply(Filter()));
  expect_reason(OpenBNNSGetLastError(), "BNNSArithmeticFilterApplyBatch", {"filter is NULL"});
  EXPECT_EQ(BNNSFilterApply(arithmetic.get(), c.a.data(), c.out.data()), -1);
  expect_reason(OpenBNNSGetLastError(), "BNNSFilterApply", {"an arithmetic filter"});
  EXPECT_EQ(BNNSFilterApplyBatch(arithmetic.get(), 2, c.a.data(), 5, c.out.data(), 5), -1);
  EXPECT_EQ(BNNSFilterApplyTwoInput(arithmetic.get(), c.a.data(), c.b.data(), c.out.data()), -1);
  BNNSNDArrayDescriptor delta = matrix_of(2, 2, c.out.data());
  EXPECT_EQ(BNNSFilterApplyBackwardBatch(arithmetic.get(), 1, c.a.data(), 0, &delta, 0, nullptr, 0,
                                         &delta, 0, nullptr, nullptr),
            -1);
  EXPECT_TRUE(c.out.untouched());
}

}  // namespace
}  // namespace bnns::test

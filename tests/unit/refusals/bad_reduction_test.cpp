// Reductions that must be refused, as filters and as direct calls. The valid call sums the columns
// of 1 2 / 3 4 with the weights 1 2 / 3 4, for two samples.
#include <cmath>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

struct ReductionCall : CallBase {
  static constexpr size_t kBatch = 2, kIn = 5, kOut = 3;

  BNNSLayerParametersReduction params = {};
  BNNSFilterParameters options = client_pointers();
  const BNNSLayerParametersReduction* params_pointer = &params;
  Guarded<float> in{Space{kBatch * kIn}}, out{Space{kBatch * kOut}}, weights{1, 2, 3, 4};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kIn, out_stride = kOut;

  ReductionCall() {
    params.i_desc = matrix_of(2, 2);
    params.o_desc = matrix_of(2, 1);
    params.w_desc = matrix_of(2, 2, weights.data());
    params.reduce_func = BNNSReduceFunctionSum;
    params.epsilon = std::nanf("");  // not used
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % kIn + 1);
    in.remember();
  }
  ReductionCall(const ReductionCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
    f(weights);
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerReduction(params_pointer, &options)); }
  bool correct() const {
    bool right = in.untouched() && weights.untouched();
    for (size_t b = 0; b < kBatch; ++b) right &= out[b * kOut] == 10 && out[b * kOut + 1] == 20;
    return right && out.untouched_except([](size_t i) { return i % kOut < 2; });
  }
};

struct ReductionCreate : ReductionCall {
  const char* function = "BNNSFilterCreateLayerReduction";
  bool run() {
    const Filter filter = make();
    return filter && BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                          out_stride) == 0;
  }
};

struct ReductionForward : ReductionCall {
  const char* function = "BNNSFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride) == 0;
  }
};

struct ReductionDirect : ReductionCall {
  const char* function = "BNNSDirectApplyReduction";
  ReductionDirect() {
    params.i_desc.data = in.data();
    params.o_desc.data = out.data();
  }
  bool run() { return BNNSDirectApplyReduction(params_pointer, &options) == 0; }
  bool correct() const {
    const bool right = in.untouched() && weights.untouched() && out[0] == 10 && out[1] == 20;
    return right && out.untouched_except([](size_t i) { return i < 2; });
  }
};

// dy is 1 2 for both samples.
struct ReductionBackward : ReductionCall {
  const char* function = "BNNSFilterApplyBackwardBatch";
  Guarded<float> dx{Space{kBatch * kIn}}, dy{Space{kBatch * kOut}}, dw{Space{4}};
  BNNSNDArrayDescriptor in_delta = matrix_of(2, 2, dx.data());
  BNNSNDArrayDescriptor out_delta = matrix_of(2, 1, dy.data());
  BNNSNDArrayDescriptor weights_delta = matrix_of(2, 2, dw.data());
  BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor* bias_delta = nullptr;

  ReductionBackward() {
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % kOut + 1);
    dy.remember();
  }
  template <class F>
  void for_outputs(const F& f) {
    ReductionCall::for_outputs(f);
    f(dx);
    f(dy);
    f(dw);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBackwardBatch(filter.get(), batch, in_pointer, in_stride, &in_delta, kIn,
                                        nullptr, 0, out_delta_pointer, kOut, &weights_delta,
                                        bias_delta) == 0;
  }
  bool correct() const {
    constexpr float kDx[] = {1, 4, 3, 8};
    bool right = in.untouched() && dy.untouched() && weights.untouched();
    for (size_t k = 0; k < 4; ++k) {
      right &= dw[k] == 2 * kDx[k];
      for (size_t b = 0; b < kBatch; ++b) right &= dx[b * kIn + k] == kDx[k];
    }
    return right && dx.untouched_except([](size_t i) { return i % kIn < 4; });
  }
};

template <class C>
std::vector<Row<C>> parameter_rows() {
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }},
      {"no function", {"reduce_func", "None", "scatter"}, [](C& c) {
         c.params.reduce_func = BNNSReduceFunctionNone;
       }}};
  append(rows, enum_rows<C>("reduce_func", BNNSReduceFunctionLogSum, [](C& c, uint32_t v) {
           c.params.reduce_func = static_cast<BNNSReduceFunction>(v);
         }));
  for (const float epsilon : {NAN, std::numeric_limits<float>::infinity(), -1.0f}) {
    rows.push_back({"epsilon", {"epsilon is", "finite", "at least 0"}, [=](C& c) {
                      c.params.reduce_func = BNNSReduceFunctionSumLog;
                      c.params.epsilon = epsilon;
                    }});
  }
  append(rows,
         descriptor_rows<C>(
             "i_desc", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; }, false));
  // The second axis has one element, so that its stride cannot overflow.
  append(rows,
         descriptor_rows<C>(
             "o_desc", 1, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; }, true));
  append(rows,
         descriptor_rows<C>(
             "w_desc", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.w_desc; }, false));
  const auto add = [&](const char* name, std::vector<std::string> words,
                       std::function<void(C&)> damage) {
    rows.push_back({name, std::move(words), std::move(damage)});
  };
  add("packed", {"i_desc.layout", "plain array"}, [](C& c) {
    c.params.i_desc = array(BNNSDataLayoutConvolutionWeightsOIHW_Pack32, {1, 1, 2, 2}, c.in.data());
  });
  add("opaque", {"o_desc.layout", "plain array"},
      [](C& c) { c.params.o_desc.layout = BNNSDataLayoutFullyConnectedSparse; });
  add("opaque weights", {"w_desc.layout", "plain array"},
      [](C& c) { c.params.w_desc.layout = BNNSDataLayoutFullyConnectedSparse; });
  add("another rank", {"o_desc is", "Vector {2}", "must be 1"},
      [](C& c) { c.params.o_desc.layout = BNNSDataLayoutVector; });
  add("another size", {"o_desc is", "{2, 1}", "i_desc is", "{3, 2}"},
      [](C& c) { c.params.i_desc.size[0] = 3; });
  add("other weights", {"w_desc is", "{1, 2}", "same sizes"},
      [](C& c) { c.params.w_desc.size[0] = 1; });
  add("weights of another rank", {"w_desc is", "Vector", "same sizes"},
      [](C& c) { c.params.w_desc.layout = BNNSDataLayoutVector; });
  add("misaligned weights", {"w_desc.data is", "aligned to 4"},
      [](C& c) { c.params.w_desc.data = reinterpret_cast<char*>(c.weights.data()) + 1; });
  add("rotated weights", {"w_desc is", "rotated"}, [](C& c) {
    c.params.i_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {2, 2, 1, 1}, c.in.data());
    c.params.o_desc = array(BNNSDataLayoutConvolutionWeightsOIHW, {2, 1, 1, 1}, c.out.data());
    c.params.w_desc = array(BNNSDataLayoutConvolutionWeightsOIHrWr, {2, 2, 1, 1}, c.weights.data());
  });
  for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeUInt32, BNNSDataTypeInt64})
    add("input type", {"i_desc.data_type", "Int32"},
        [=](C& c) { c.params.i_desc.data_type = type; });
  add("mean of integers", {"i_desc.data_type is Int32", "Mean takes Float32"}, [](C& c) {
    c.params.reduce_func = BNNSReduceFunctionMean;
    c.params.i_desc.data_type = c.params.w_desc.data_type = BNNSDataTypeInt32;
  });
  for (const auto type : {BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    add("output type", {"o_desc.data_type is", "i_desc.data_type is Float32"},
        [=](C& c) { c.params.o_desc.data_type = type; });
    add("type of the weights", {"w_desc.data_type is", "i_desc.data_type is Float32"},
        [=](C& c) { c.params.w_desc.data_type = type; });
  }
  add("integers to floats", {"o_desc.data_type is Float32", "Boolean or Int32"},
      [](C& c) { c.params.i_desc.data_type = c.params.w_desc.data_type = BNNSDataTypeInt32; });
  add("floats on integers", {"w_desc.data_type is Float32", "Boolean or Int32"},
      [](C& c) { c.params.i_desc.data_type = c.params.o_desc.data_type = BNNSDataTypeInt32; });
  for (const auto type : {BNNSDataTypeBoolean, BNNSDataTypeInt4, BNNSDataTypeUInt1})
    add("index type", {"o_desc.data_type is", "index"}, [=](C& c) {
      c.params.reduce_func = BNNSReduceFunctionArgMax;
      c.params.o_desc.data_type = type;
    });
  const auto index = [&](BNNSDataType type, size_t n) {
    add("too many indices", {"o_desc.data_type is", "indices", std::to_string(n)}, [=](C& c) {
      c.params.reduce_func = BNNSReduceFunctionArgMin;
      c.params.i_desc = matrix_of(2, n, c.in.data());
      c.params.w_desc = {};
      c.params.o_desc.data_type = type;
    });
  };
  index(BNNSDataTypeInt8, 129);
  index(BNNSDataTypeUInt8, 257);
  index(BNNSDataTypeBFloat16, 258);
  index(BNNSDataTypeFloat16, 2050);
  index(BNNSDataTypeFloat32, (size_t{1} << 24) + 2);
  return rows;
}

TEST(BadReduction, Parameters) {
  expect_refused(parameter_rows<ReductionCreate>());
}

TEST(BadReduction, Direct) {
  using C = ReductionDirect;
  std::vector<Row<C>> rows = parameter_rows<C>();
  append<C>(
      rows,
      {
          {"no input", {"i_desc.data is NULL"}, [](C& c) { c.params.i_desc.data = nullptr; }},
          {"no output", {"o_desc.data is NULL"}, [](C& c) { c.params.o_desc.data = nullptr; }},
          {"misaligned",
           {"i_desc.data is", "aligned to 4"},
           [](C& c) { c.params.i_desc.data = reinterpret_cast<char*>(c.in.data()) + 2; }},
          {"out is in",
           {"o_desc.data and i_desc.data overlap"},
           [](C& c) { c.params.o_desc.data = c.in.data(); }},
          {"out is weights",
           {"o_desc.data and w_desc.data overlap"},
           [](C& c) { c.params.o_desc.data = c.weights.data(); }},
      });
  expect_refused(rows);
}

TEST(BadReduction, Forward) {
  using C = ReductionForward;
  expect_refused<C>({
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"in_stride", {"in_stride is 3", "4"}, [](C& c) { c.in_stride = 3; }},
      {"out_stride", {"out_stride is 1", "2"}, [](C& c) { c.out_stride = 1; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
      {"in is out", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data(); }},
      {"out is weights",
       {"out and w_desc.data overlap"},
       [](C& c) {
         c.out_pointer = c.weights.data();
         c.batch = 1;
       }},
  });
}

TEST(BadReduction, Backward) {
  using C = ReductionBackward;
  expect_refused<C>({
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out_delta", {"out_delta is NULL"}, [](C& c) { c.out_delta_pointer = nullptr; }},
      {"no data of out_delta",
       {"out_delta.data is NULL"},
       [](C& c) { c.out_delta.data = nullptr; }},
      {"bias", {"bias_delta", "no bias"}, [](C& c) { c.bias_delta = &c.in_delta; }},
      {"no weights",
       {"weights_delta has data", "w_desc has none"},
       [](C& c) { c.params.w_desc = {}; }},
      {"no gradient",
       {"in_delta has data", "ArgMax has no gradient"},
       [](C& c) { c.params.reduce_func = BNNSReduceFunctionArgMax; }},
      {"no gradient of weights",
       {"weights_delta has data", "LogicalOr has no gradient"},
       [](C& c) {
         c.params.reduce_func = BNNSReduceFunctionLogicalOr;
         c.in_delta.data = nullptr;
       }},
      {"integers",
       {"i_desc.data_type is Int32", "training"},
       [](C& c) {
         c.params.i_desc.data_type = c.params.o_desc.data_type = BNNSDataTypeInt32;
         c.params.w_desc.data_type = BNNSDataTypeInt32;
       }},
      {"flags",
       {"in_delta.flags is 9"},
       [](C& c) { c.in_delta.flags = static_cast<BNNSNDArrayFlags>(9); }},
      {"another layout",
       {"in_delta.layout is 2DLastMajor", "equal"},
       [](C& c) { c.in_delta.layout = BNNSDataLayout2DLastMajor; }},
      {"other sizes", {"weights_delta", "w_desc"}, [](C& c) { c.weights_delta.size[0] = 1; }},
      {"Float16",
       {"in_delta.data_type is Float16"},
       [](C& c) { c.in_delta.data_type = BNNSDataTypeFloat16; }},
      {"BFloat16 weights",
       {"weights_delta.data_type is BFloat16"},
       [](C& c) { c.weights_delta.data_type = BNNSDataTypeBFloat16; }},
      {"in is in_delta", {"in_delta and in overlap"}, [](C& c) { c.in_delta.data = c.in.data(); }},
      {"weights are their gradient",
       {"weights_delta and w_desc.data overlap"},
       [](C& c) { c.weights_delta.data = c.weights.data(); }},
      {"both deltas are one",
       {"in_delta and weights_delta overlap"},
       [](C& c) { c.weights_delta.data = c.dx.data(); }},
  });
}

// Nothing is asked for, or only what does not need the input.
TEST(BadReduction, Accepted) {
  ReductionBackward call;
  call.in_delta.data = call.weights_delta.data = nullptr;
  call.in_pointer = nullptr;
  EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
  EXPECT_TRUE(call.dx.untouched() && call.dw.untouched());
  call.in_delta.data = call.dx.data();
  EXPECT_TRUE(call.run()) << OpenBNNSGetLastError();
  EXPECT_EQ(call.dx[3], 8);
}

}  // namespace
}  // namespace bnns::test

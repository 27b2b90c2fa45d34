// Resize filters that must not be made, and calls on them that must be refused. The valid call
// repeats each element of a 2 x 2 image in a block of 2 x 2, as published.
#include "support/call_table.h"

namespace bnns::test {
namespace {

struct ResizeCall : CallBase {
  static constexpr size_t kBatch = 2, kIn = 5, kOut = 18;

  BNNSLayerParametersResize params = {};
  BNNSFilterParameters options = {};
  const BNNSLayerParametersResize* params_pointer = &params;
  Guarded<float> in{Space{kBatch * kIn}}, out{Space{kBatch * kOut}};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kIn, out_stride = kOut;

  ResizeCall() {
    params.i_desc = matrix_of(2, 2);
    params.o_desc = matrix_of(4, 4);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % kIn + 1);
    in.remember();
  }
  ResizeCall(const ResizeCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerResize(params_pointer, &options)); }
  bool correct() const {
    bool right = in.untouched();
    for (size_t b = 0; b < kBatch; ++b)
      for (size_t k = 0; k < 16; ++k)
        right &= out[b * kOut + k] == static_cast<float>(1 + k / 8 * 2 + k % 4 / 2);
    return right && out.untouched_except([](size_t i) { return i % kOut < 16; });
  }
};

struct ResizeCreate : ResizeCall {
  const char* function = "BNNSFilterCreateLayerResize";
  bool run() {
    const Filter filter = make();
    return filter && BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                          out_stride) == 0;
  }
};

struct ResizeForward : ResizeCall {
  const char* function = "BNNSFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride) == 0;
  }
};

// Each element receives the sum of its block.
struct ResizeBackward : ResizeCall {
  const char* function = "BNNSFilterApplyBackwardBatch";
  Guarded<float> dx{Space{kBatch * kIn}}, dy{Space{kBatch * kOut}};
  BNNSNDArrayDescriptor in_delta = matrix_of(2, 2, dx.data());
  BNNSNDArrayDescriptor out_delta = matrix_of(4, 4, dy.data());
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor *weights_delta = nullptr, *bias_delta = nullptr;

  ResizeBackward() {
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % kOut);
    dy.remember();
  }
  template <class F>
  void for_outputs(const F& f) {
    ResizeCall::for_outputs(f);
    f(dx);
    f(dy);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBackwardBatch(filter.get(), batch, nullptr, 0, in_delta_pointer, kIn,
                                        nullptr, 0, out_delta_pointer, kOut, weights_delta,
                                        bias_delta) == 0;
  }
  bool correct() const {
    constexpr float kRight[] = {0 + 1 + 4 + 5, 2 + 3 + 6 + 7, 8 + 9 + 12 + 13, 10 + 11 + 14 + 15};
    bool right = dy.untouched();
    for (size_t b = 0; b < kBatch; ++b)
      for (size_t k = 0; k < 4; ++k) right &= dx[b * kIn + k] == kRight[k];
    return right && dx.untouched_except([](size_t i) { return i % kIn < 4; });
  }
};

TEST(BadResize, Parameters) {
  using C = ResizeCreate;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }}};
  append(rows, enum_rows<C>("method", BNNSInterpolationMethodLinear, [](C& c, uint32_t v) {
           c.params.method = static_cast<BNNSInterpolationMethod>(v);
         }));
  append(rows,
         descriptor_rows<C>(
             "i_desc", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; }, false));
  append(rows,
         descriptor_rows<C>(
             "o_desc", 2, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; }, true));
  for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    rows.push_back({"i_desc type", {"i_desc.data_type", "floating-point"}, [=](C& c) {
                      c.params.i_desc.data_type = type;
                    }});
    rows.push_back({"o_desc type", {"o_desc.data_type", "floating-point"}, [=](C& c) {
                      c.params.o_desc.data_type = type;
                    }});
  }
  append(rows, {
                   {"sparse",
                    {"i_desc.layout", "FullyConnectedSparse", "plain"},
                    [](C& c) { c.params.i_desc.layout = BNNSDataLayoutFullyConnectedSparse; }},
                   {"rotated",
                    {"o_desc.layout", "IOHrWr", "rotated"},
                    [](C& c) {
                      c.params.o_desc = array(BNNSDataLayoutConvolutionWeightsIOHrWr, {2, 2, 1, 1});
                    }},
                   {"another rank",
                    {"o_desc is", "Vector {16}", "i_desc is", "{2, 2}", "number of axes"},
                    [](C& c) { c.params.o_desc = vector_of(16); }},
                   {"a giant output",
                    {"o_desc has an axis of", "2147483648", "i_desc of 2", "1073741824"},
                    [](C& c) { c.params.o_desc.size[1] = size_t{1} << 31; }},
                   {"a giant input",
                    {"i_desc has an axis of", "2147483648", "o_desc of 4", "1073741824"},
                    [](C& c) { c.params.i_desc.size[1] = size_t{1} << 31; }},
               });
  expect_refused(rows);
}

TEST(BadResize, Forward) {
  using C = ResizeForward;
  expect_refused<C>({
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"in misaligned",
       {"in is", "aligned to 4"},
       [](C& c) { c.in_pointer = reinterpret_cast<char*>(c.in.data()) + 2; }},
      {"in_stride", {"in_stride is 3", "4"}, [](C& c) { c.in_stride = 3; }},
      {"out_stride", {"out_stride is 15", "16"}, [](C& c) { c.out_stride = 15; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
      {"in is out", {"out and in overlap"}, [](C& c) { c.in_pointer = c.out.data(); }},
  });
}

TEST(BadResize, Backward) {
  using C = ResizeBackward;
  expect_refused<C>({
      {"out_delta", {"out_delta is NULL"}, [](C& c) { c.out_delta_pointer = nullptr; }},
      {"no data of out_delta",
       {"out_delta.data is NULL"},
       [](C& c) { c.out_delta.data = nullptr; }},
      {"weights", {"weights_delta", "no weights"}, [](C& c) { c.weights_delta = &c.in_delta; }},
      {"bias", {"bias_delta", "no bias"}, [](C& c) { c.bias_delta = &c.in_delta; }},
      {"flags",
       {"in_delta.flags is 9"},
       [](C& c) { c.in_delta.flags = static_cast<BNNSNDArrayFlags>(9); }},
      {"another layout",
       {"in_delta.layout is 2DLastMajor", "equal"},
       [](C& c) { c.in_delta.layout = BNNSDataLayout2DLastMajor; }},
      {"other sizes", {"in_delta", "i_desc"}, [](C& c) { c.in_delta.size[0] = 1; }},
      {"Float16",
       {"in_delta.data_type is Float16"},
       [](C& c) { c.in_delta.data_type = BNNSDataTypeFloat16; }},
      {"out_delta is in_delta",
       {"in_delta and out_delta overlap"},
       [](C& c) { c.in_delta.data = c.dy.data(); }},
  });
}

}  // namespace
}  // namespace bnns::test

// Gram filters that must not be made, and calls on them that must be refused. The valid call has
// published values: an image of 2 x 1 pixels and two channels, 1 2 3 4, gives 5 11 11 25.
#include <cmath>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

struct GramCall : CallBase {
  static constexpr size_t kBatch = 2, kIn = 5, kOut = 6;

  BNNSLayerParametersGram params = {};
  BNNSFilterParameters options = {};
  const BNNSLayerParametersGram* params_pointer = &params;
  Guarded<float> in{Space{kBatch * kIn}}, out{Space{kBatch * kOut}};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kIn, out_stride = kOut;

  GramCall() {
    params.alpha = 1;
    params.i_desc = array(BNNSDataLayoutImageCHW, {2, 1, 2}, nullptr, BNNSDataTypeFloat32);
    params.o_desc = array(BNNSDataLayoutRowMajorMatrix, {2, 2}, nullptr, BNNSDataTypeFloat32);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % kIn + 1);
    in.remember();
  }
  GramCall(const GramCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerGram(params_pointer, &options)); }
  bool correct() const {
    constexpr float kRight[] = {5, 11, 11, 25};
    bool right = in.untouched();
    for (size_t b = 0; b < kBatch; ++b)
      for (size_t k = 0; k < 4; ++k) right &= out[b * kOut + k] == kRight[k];
    return right && out.untouched_except([](size_t i) { return i % kOut < 4; });
  }
};

struct GramCreate : GramCall {
  const char* function = "BNNSFilterCreateLayerGram";
  bool run() {
    const Filter filter = make();
    return filter && BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                          out_stride) == 0;
  }
};

struct GramForward : GramCall {
  const char* function = "BNNSFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride) == 0;
  }
};

// With dG = 1 2 / 3 4, S = dG + dG^T is 2 5 / 5 8.
struct GramBackward : GramCall {
  const char* function = "BNNSFilterApplyBackwardBatch";
  Guarded<float> dx{Space{kBatch * kIn}}, dy{Space{kBatch * kOut}};
  BNNSNDArrayDescriptor in_delta =
      array(BNNSDataLayoutImageCHW, {2, 1, 2}, dx.data(), BNNSDataTypeFloat32);
  BNNSNDArrayDescriptor out_delta =
      array(BNNSDataLayoutRowMajorMatrix, {2, 2}, dy.data(), BNNSDataTypeFloat32);
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor *weights_delta = nullptr, *bias_delta = nullptr;

  GramBackward() {
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % kOut + 1);
    dy.remember();
  }
  template <class F>
  void for_outputs(const F& f) {
    GramCall::for_outputs(f);
    f(dx);
    f(dy);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBackwardBatch(filter.get(), batch, in_pointer, in_stride,
                                        in_delta_pointer, kIn, nullptr, 0, out_delta_pointer, kOut,
                                        weights_delta, bias_delta) == 0;
  }
  bool correct() const {
    constexpr float kRight[] = {2 * 1 + 5 * 3, 2 * 2 + 5 * 4, 5 * 1 + 8 * 3, 5 * 2 + 8 * 4};
    bool right = in.untouched() && dy.untouched();
    for (size_t b = 0; b < kBatch; ++b)
      for (size_t k = 0; k < 4; ++k) right &= dx[b * kIn + k] == kRight[k];
    return right && dx.untouched_except([](size_t i) { return i % kIn < 4; });
  }
};

TEST(BadGram, Parameters) {
  using C = GramCreate;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }}};
  for (const float alpha : {NAN, std::numeric_limits<float>::infinity()})
    rows.push_back({"alpha", {"alpha is", "finite"}, [=](C& c) { c.params.alpha = alpha; }});
  append(rows,
         descriptor_rows<C>(
             "i_desc", 3, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; }, false));
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
  rows.push_back({"a vector", {"i_desc.layout is Vector", "two axes"}, [](C& c) {
                    c.params.i_desc.layout = BNNSDataLayoutVector;
                  }});
  rows.push_back({"rotated", {"i_desc.layout", "rotated"}, [](C& c) {
                    c.params.i_desc.layout = BNNSDataLayoutConvolutionWeightsOIHrWr;
                    c.params.i_desc.size[3] = 2;
                  }});
  rows.push_back({"o_desc too small", {"o_desc is", "{2, 1}", "{2, 1, 2}", "2 x 2"}, [](C& c) {
                    c.params.o_desc.size[1] = 1;
                  }});
  rows.push_back({"o_desc of another rank", {"o_desc is", "2 x 2"}, [](C& c) {
                    c.params.o_desc.layout = BNNSDataLayout3DLastMajor;
                    c.params.o_desc.size[2] = 1;
                  }});
  rows.push_back({"other images", {"o_desc is", "3 x 3"}, [](C& c) {
                    c.params.i_desc = array(BNNSDataLayout4DFirstMajor, {2, 1, 1, 3}, nullptr,
                                            BNNSDataTypeFloat32);
                    c.params.o_desc =
                        array(BNNSDataLayout3DFirstMajor, {4, 3, 3}, nullptr, BNNSDataTypeFloat32);
                  }});
  expect_refused(rows);
}

TEST(BadGram, Forward) {
  using C = GramForward;
  expect_refused<C>({
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"in misaligned",
       {"in is", "aligned to 4"},
       [](C& c) { c.in_pointer = reinterpret_cast<char*>(c.in.data()) + 2; }},
      {"in_stride", {"in_stride is 3", "4"}, [](C& c) { c.in_stride = 3; }},
      {"out_stride", {"out_stride is 3", "4"}, [](C& c) { c.out_stride = 3; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
      {"in is out", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data(); }},
  });
}

TEST(BadGram, Backward) {
  using C = GramBackward;
  expect_refused<C>({
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
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
       {"in_delta.layout is 3DFirstMajor", "equal"},
       [](C& c) { c.in_delta.layout = BNNSDataLayout3DFirstMajor; }},
      {"other sizes",
       {"in_delta", "i_desc"},
       [](C& c) { std::swap(c.in_delta.size[0], c.in_delta.size[1]); }},
      {"Float16",
       {"in_delta.data_type is Float16"},
       [](C& c) { c.in_delta.data_type = BNNSDataTypeFloat16; }},
      {"in is in_delta", {"in_delta and in overlap"}, [](C& c) { c.in_delta.data = c.in.data(); }},
      {"out_delta is in_delta",
       {"in_delta and out_delta overlap"},
       [](C& c) { c.in_delta.data = c.dy.data(); }},
  });
}

}  // namespace
}  // namespace bnns::test

// Dropout filters that must not be made, and calls on them that must be refused. The valid call has
// a rate of 0, with which dropout is the identity.
#include <cmath>
#include <limits>

#include "support/call_table.h"

namespace bnns::test {
namespace {

constexpr size_t kBatch = 2, kSize = 6, kStep = 8;

struct DropoutCall : CallBase {
  BNNSLayerParametersDropout params = {};
  BNNSFilterParameters options = {};
  const BNNSLayerParametersDropout* params_pointer = &params;
  Guarded<float> in{Space{kBatch * kStep}}, out{Space{kBatch * kStep}};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kStep, out_stride = kStep;

  DropoutCall() {
    params.i_desc = params.o_desc = array(BNNSDataLayoutImageCHW, {1, 2, 3});
    params.seed = 1;
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i + 1);
    in.remember();
  }
  DropoutCall(const DropoutCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
  }
  Filter make() const { return Filter(BNNSFilterCreateLayerDropout(params_pointer, &options)); }
  bool apply(const Filter& filter) {
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride) == 0;
  }
  static bool same(const Guarded<float>& from, const Guarded<float>& to) {
    bool right = from.untouched();
    for (size_t b = 0; b < kBatch; ++b)
      for (size_t k = 0; k < kSize; ++k) right &= to[b * kStep + k] == from[b * kStep + k];
    return right && to.untouched_except([](size_t i) { return i % kStep < kSize; });
  }
  bool correct() const { return same(in, out); }
};

struct DropoutCreate : DropoutCall {
  const char* function = "BNNSFilterCreateLayerDropout";
  bool run() {
    const Filter filter = make();
    return filter && apply(filter);
  }
};

struct DropoutForward : DropoutCall {
  const char* function = "BNNSFilterApplyBatch";
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return apply(filter);
  }
};

struct DropoutBackward : DropoutCall {
  const char* function = "BNNSFilterApplyBackwardBatch";
  Guarded<float> dx{Space{kBatch * kStep}}, dy{Space{kBatch * kStep}};
  BNNSNDArrayDescriptor in_delta = params.i_desc, out_delta = params.o_desc;
  BNNSNDArrayDescriptor* in_delta_pointer = &in_delta;
  BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor *weights_delta = nullptr, *bias_delta = nullptr;
  size_t forward_batch = kBatch, dx_stride = kStep;

  DropoutBackward() {
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i + 1);
    dy.remember();
    in_delta.data = dx.data();
    out_delta.data = dy.data();
  }
  template <class F>
  void for_outputs(const F& f) {
    f(dx);
    f(dy);
  }
  bool run() {
    const Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    std::swap(batch, forward_batch);
    EXPECT_TRUE(apply(filter)) << OpenBNNSGetLastError();
    std::swap(batch, forward_batch);
    return BNNSFilterApplyBackwardBatch(filter.get(), batch, nullptr, 0, in_delta_pointer,
                                        dx_stride, nullptr, 0, out_delta_pointer, kStep,
                                        weights_delta, bias_delta) == 0;
  }
  bool correct() const { return same(dy, dx); }
};

TEST(BadDropout, Parameters) {
  using C = DropoutCreate;
  std::vector<Row<C>> rows = {
      {"no parameters", {"layer_params", "NULL"}, [](C& c) { c.params_pointer = nullptr; }},
      {"unknown flags", {"filter_params->flags", "2"}, [](C& c) { c.options.flags = 2; }}};
  for (const float rate : {1.0f, -0.25f, 2.0f, NAN, std::numeric_limits<float>::infinity()})
    rows.push_back({"rate", {"rate is", "below 1"}, [=](C& c) { c.params.rate = rate; }});
  append(rows,
         descriptor_rows<C>(
             "i_desc", 3, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.i_desc; }, false));
  append(rows,
         descriptor_rows<C>(
             "o_desc", 3, [](C& c) -> BNNSNDArrayDescriptor& { return c.params.o_desc; }, true));
  for (const auto type : {BNNSDataTypeInt8, BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    rows.push_back({"i_desc type", {"i_desc.data_type", "floating-point"}, [=](C& c) {
                      c.params.i_desc.data_type = type;
                    }});
    rows.push_back({"o_desc type", {"o_desc.data_type", "floating-point"}, [=](C& c) {
                      c.params.o_desc.data_type = type;
                    }});
  }
  for (const auto layout :
       {BNNSDataLayoutFullyConnectedSparse, BNNSDataLayoutConvolutionWeightsOIHW_Pack32}) {
    rows.push_back({"i_desc not plain", {"i_desc.layout", "plain array"}, [=](C& c) {
                      c.params.i_desc.layout = layout;
                      c.params.i_desc.size[3] = 1;
                    }});
    rows.push_back({"o_desc not plain", {"o_desc.layout", "plain array"}, [=](C& c) {
                      c.params.o_desc.layout = layout;
                      c.params.o_desc.size[3] = 1;
                    }});
  }
  rows.push_back({"other sizes", {"o_desc", "{2, 1, 3}", "same elements"}, [](C& c) {
                    std::swap(c.params.o_desc.size[0], c.params.o_desc.size[1]);
                  }});
  rows.push_back({"another count", {"o_desc", "Vector {7}", "same elements"}, [](C& c) {
                    c.params.o_desc = vector_of(7);
                  }});
  expect_refused(rows);
}

TEST(BadDropout, Forward) {
  using C = DropoutForward;
  expect_refused<C>({
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"in misaligned",
       {"in is", "aligned to 4"},
       [](C& c) { c.in_pointer = reinterpret_cast<char*>(c.in.data()) + 2; }},
      {"in_stride", {"in_stride is 5", "6"}, [](C& c) { c.in_stride = 5; }},
      {"out_stride", {"out_stride is 5", "6"}, [](C& c) { c.out_stride = 5; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
      {"out is part of in", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data() + 1; }},
  });
}

TEST(BadDropout, Backward) {
  using C = DropoutBackward;
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
      {"other sizes",
       {"in_delta", "i_desc"},
       [](C& c) { std::swap(c.in_delta.size[0], c.in_delta.size[1]); }},
      {"Float16",
       {"in_delta.data_type is Float16"},
       [](C& c) { c.in_delta.data_type = BNNSDataTypeFloat16; }},
      {"stride", {"in_delta_stride is 5"}, [](C& c) { c.dx_stride = 5; }},
      {"in_delta is part of out_delta",
       {"in_delta and out_delta overlap"},
       [](C& c) { c.in_delta.data = c.dy.data() + 1; }},
      {"no forward call", {"was not applied"}, [](C& c) { c.forward_batch = 0; }},
      {"another batch", {"batch_size is 2", "had 1"}, [](C& c) { c.forward_batch = 1; }},
  });
}

}  // namespace
}  // namespace bnns::test

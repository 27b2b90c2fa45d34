// Gradients that backward calls must refuse: deltas of other shapes, types or flags, memory that
// overlaps, strides that overlap, batches that do not fit; and requests that are no fault.
#include "support/call_activation.h"
#include "support/call_fully_connected.h"

namespace bnns::test {
namespace {

// What both kinds of filters refuse. `spans` are those of one input and one output sample.
template <class Call>
std::vector<Row<Call>> common_rows(size_t in_span, size_t out_span) {
  std::vector<Row<Call>> rows = {
      {"out_delta null", {"out_delta", "NULL"}, [](Call& c) { c.out_delta_pointer = nullptr; }},
      {"out_delta without data",
       {"out_delta.data is NULL"},
       [](Call& c) { c.out_delta.data = nullptr; }},
      {"in null", {"in is NULL"}, [](Call& c) { c.in_pointer = nullptr; }},
      {"in_delta over in",
       {"in_delta", "overlap"},
       [](Call& c) { c.in_delta.data = c.in.data() + 1; }},
      {"in_delta over out_delta",
       {"in_delta", "out_delta", "overlap"},
       [](Call& c) { c.in_delta.data = c.dy.data() + 1; }},
  };
  for (const size_t offset : {1, 2, 3}) {
    const std::string by = " misaligned by " + std::to_string(offset);
    rows.push_back({"in" + by, {"in is", "aligned to 4"}, [=](Call& c) {
                      c.in_pointer = reinterpret_cast<char*>(c.in.data()) + offset;
                      c.expect_pointer(c.in_pointer);
                    }});
    rows.push_back({"in_delta" + by, {"in_delta", "aligned to 4"}, [=](Call& c) {
                      c.in_delta.data = reinterpret_cast<char*>(c.dx.data()) + offset;
                      c.expect_pointer(c.in_delta.data);
                    }});
    rows.push_back({"out_delta" + by, {"out_delta", "aligned to 4"}, [=](Call& c) {
                      c.out_delta.data = reinterpret_cast<char*>(c.dy.data()) + offset;
                      c.expect_pointer(c.out_delta.data);
                    }});
  }
  append(rows, enum_rows<Call>("in_delta.flags", BNNSNDArrayFlagBackpropAccumulate,
                               [](Call& c, uint32_t v) {
                                 c.in_delta.flags = static_cast<BNNSNDArrayFlags>(v);
                               }));
  for (const auto type :
       {BNNSDataTypeFloat16, BNNSDataTypeBFloat16, BNNSDataTypeInt32, BNNSDataTypeBoolean}) {
    rows.push_back({"in_delta type", {"in_delta.data_type", "Float32"}, [=](Call& c) {
                      c.in_delta.data_type = type;
                    }});
    rows.push_back({"out_delta type", {"out_delta.data_type", "Float32"}, [=](Call& c) {
                      c.out_delta.data_type = type;
                    }});
    if (type == BNNSDataTypeBoolean) continue;
    rows.push_back({"filter input type",
                    {"i_desc.data_type", "training needs Float32"},
                    [=](Call& c) { c.params.i_desc.data_type = type; }});
  }
  const auto stride = [&](const char* name, size_t Call::*field, size_t span, size_t value) {
    rows.push_back({std::string(name) + "=" + std::to_string(value),
                    {name, "is " + std::to_string(value), std::to_string(span), "overlap"},
                    [=](Call& c) { c.*field = value; }});
    rows.push_back({std::string(name) + " huge",
                    {name, "9223372036854775808", "address space"},
                    [=](Call& c) { c.*field = size_t{1} << 63; }});
  };
  stride("in_stride", &Call::in_stride, in_span, in_span - 1);
  stride("in_delta_stride", &Call::in_delta_stride, in_span, in_span - 1);
  stride("out_delta_stride", &Call::out_delta_stride, out_span, out_span - 1);
  for (const size_t huge : {SIZE_MAX, size_t{1} << 60}) {
    rows.push_back({"batch_size",
                    {"batch_size", std::to_string(huge), "address space"},
                    [=](Call& c) { c.batch = huge; }});
  }
  return rows;
}

TEST(BadBackward, Activation) {
  using Call = ActivationBackward;
  auto rows = common_rows<Call>(12, 12);
  append(rows, descriptor_rows<Call>(
                   "in_delta", 3, [](Call & c) -> auto& { return c.in_delta; }, true));
  append(rows, descriptor_rows<Call>(
                   "out_delta", 3, [](Call & c) -> auto& { return c.out_delta; }, false));
  append(rows, {
                   {"in_delta transposed",
                    {"in_delta", "ImageCHW {2, 3, 2}", "i_desc", "ImageCHW {3, 2, 2}"},
                    [](Call& c) {
                      c.in_delta = array(BNNSDataLayoutImageCHW, {2, 3, 2}, c.dx.data());
                    }},
                   {"in_delta too long",
                    {"in_delta", "Vector {13}", "ImageCHW {3, 2, 2}"},
                    [](Call& c) { c.in_delta = vector_of(13, c.dx.data()); }},
                   {"out_delta too short",
                    {"out_delta", "Vector {11}", "ImageCHW {3, 2, 2}"},
                    [](Call& c) { c.out_delta = vector_of(11, c.dy.data()); }},
                   {"in_delta is out_delta with another batch stride",
                    {"in_delta", "out_delta", "overlap"},
                    [](Call& c) {
                      c.in_delta.data = c.dy.data();
                      c.in_delta_stride = 12;
                    }},
                   {"a bias gradient",
                    {"bias_delta", "no bias"},
                    [](Call& c) {
                      c.bias_delta.data = c.slope.data();
                      c.bias_delta_pointer = &c.bias_delta;
                    }},
               });
  expect_refused(rows);
}

TEST(BadBackward, FullyConnected) {
  using Call = FullyConnectedBackward;
  auto rows = common_rows<Call>(3, 2);
  append(rows, descriptor_rows<Call>(
                   "in_delta", 1, [](Call & c) -> auto& { return c.in_delta; }, true));
  append(rows, descriptor_rows<Call>(
                   "out_delta", 1, [](Call & c) -> auto& { return c.out_delta; }, false));
  append(rows, descriptor_rows<Call>(
                   "weights_delta", 2, [](Call & c) -> auto& { return c.weights_delta; }, true));
  append(rows, descriptor_rows<Call>(
                   "bias_delta", 1, [](Call & c) -> auto& { return c.bias_delta; }, true));
  append(rows, enum_rows<Call>("weights_delta.flags", BNNSNDArrayFlagBackpropAccumulate,
                               [](Call& c, uint32_t v) {
                                 c.weights_delta.flags = static_cast<BNNSNDArrayFlags>(v);
                               }));
  append(rows, enum_rows<Call>("bias_delta.flags", BNNSNDArrayFlagBackpropAccumulate,
                               [](Call& c, uint32_t v) {
                                 c.bias_delta.flags = static_cast<BNNSNDArrayFlags>(v);
                               }));
  append(rows,
         {
             {"in_delta of another length",
              {"in_delta", "Vector {4}", "i_desc", "Vector {3}"},
              [](Call& c) { c.in_delta.size[0] = 4; }},
             {"out_delta of another length",
              {"out_delta", "Vector {3}", "o_desc", "Vector {2}"},
              [](Call& c) { c.out_delta.size[0] = 3; }},
             {"weights_delta transposed",
              {"weights_delta", "{2, 3}", "w_desc", "{3, 2}"},
              [](Call& c) { c.weights_delta = matrix_of(2, 3, c.dw.data()); }},
             {"weights_delta as a vector",
              {"weights_delta", "Vector {6}", "w_desc"},
              [](Call& c) { c.weights_delta = vector_of(6, c.dw.data()); }},
             {"weights_delta transposed in another layout",
              {"weights_delta", "2DFirstMajor {3, 2}"},
              [](Call& c) {
                c.weights_delta = array(BNNSDataLayout2DFirstMajor, {3, 2}, c.dw.data());
              }},
             {"weights_delta of type BFloat16",
              {"weights_delta.data_type", "BFloat16", "Float32"},
              [](Call& c) { c.weights_delta.data_type = BNNSDataTypeBFloat16; }},
             {"weights_delta misaligned",
              {"weights_delta", "aligned to 4"},
              [](Call& c) { c.weights_delta.data = reinterpret_cast<char*>(c.dw.data()) + 2; }},
             {"bias_delta of another length",
              {"bias_delta", "Vector {1}", "bias", "Vector {2}"},
              [](Call& c) { c.bias_delta.size[0] = 1; }},
             {"bias_delta misaligned",
              {"bias_delta", "aligned to 4"},
              [](Call& c) { c.bias_delta.data = reinterpret_cast<char*>(c.db.data()) + 1; }},
             {"bias_delta of a filter without bias",
              {"bias_delta", "no bias"},
              [](Call& c) { c.params.bias.data = nullptr; }},
             {"out null with a fused activation",
              {"out is NULL"},
              [](Call& c) { c.out_pointer = nullptr; }},
             {"out misaligned",
              {"out is", "aligned to 4"},
              [](Call& c) { c.out_pointer = reinterpret_cast<char*>(c.out.data()) + 1; }},
             {"out_stride below a sample",
              {"out_stride", "is 1", "2", "overlap"},
              [](Call& c) { c.out_stride = 1; }},
         });
  expect_refused(rows);
}

TEST(BadBackward, FullyConnectedOverlaps) {
  using Call = FullyConnectedBackward;
  expect_refused<Call>({
      {"in_delta over out",
       {"in_delta", "out", "overlap"},
       [](Call& c) { c.in_delta.data = c.out.data() + 1; }},
      {"in_delta is out_delta",
       {"in_delta", "out_delta", "overlap"},
       [](Call& c) { c.in_delta.data = c.dy.data(); }},
      {"weights_delta over in",
       {"weights_delta", "in", "overlap"},
       [](Call& c) { c.weights_delta.data = c.in.data(); }},
      {"weights_delta over out_delta",
       {"weights_delta", "out_delta", "overlap"},
       [](Call& c) { c.weights_delta.data = c.dy.data(); }},
      {"weights_delta over in_delta",
       {"weights_delta", "in_delta", "overlap"},
       [](Call& c) { c.weights_delta.data = c.dx.data() + 2; }},
      {"bias_delta over weights_delta",
       {"bias_delta", "weights_delta", "overlap"},
       [](Call& c) { c.bias_delta.data = c.dw.data() + 5; }},
      {"bias_delta over in_delta",
       {"bias_delta", "in_delta", "overlap"},
       [](Call& c) { c.bias_delta.data = c.dx.data(); }},
      {"bias_delta over out_delta",
       {"bias_delta", "out_delta", "overlap"},
       [](Call& c) { c.bias_delta.data = c.dy.data() + 4; }},
      {"in_delta over the client's weights",
       {"in_delta", "w_desc", "overlap"},
       [](Call& c) {
         c.options.flags = BNNSFlagsUseClientPtr;
         c.in_delta.data = c.weights.data();
         c.batch = 1;
       }},
  });
}

// Elements of an input may overlap; those of its gradient may not, though written alike.
TEST(BadBackward, GradientOfOverlappingElements) {
  expect_refused<ActivationBackward>({{"in_delta with the strides of i_desc",
                                       {"in_delta.stride[1]", "overlap"},
                                       [](ActivationBackward& c) {
                                         for (size_t k = 0; k < 3; ++k)
                                           c.params.i_desc.stride[k] = c.in_delta.stride[k] = 7;
                                         c.batch = 1;
                                       }}});
  expect_refused<FullyConnectedBackward>({{"weights_delta with the strides of w_desc",
                                           {"weights_delta.stride[1]", "overlap"},
                                           [](FullyConnectedBackward& c) {
                                             static float weights[13] = {};
                                             c.params.w_desc.data = weights;
                                             c.weights_delta.data = c.dx.data();
                                             c.in_delta_pointer = nullptr;
                                             for (size_t k = 0; k < 2; ++k)
                                               c.params.w_desc.stride[k] =
                                                   c.weights_delta.stride[k] = 4;
                                           }}});
}

// Gradients nobody wants are no fault, and what is not needed is not read.
TEST(BadBackward, WhatMustWork) {
  FullyConnectedBackward none;
  none.in_delta_pointer = none.weights_delta_pointer = none.bias_delta_pointer = nullptr;
  none.out_delta_pointer = nullptr;
  EXPECT_TRUE(none.run()) << OpenBNNSGetLastError();
  FullyConnectedBackward no_data;
  no_data.in_delta.data = no_data.weights_delta.data = no_data.bias_delta.data = nullptr;
  no_data.in_delta.layout = static_cast<BNNSDataLayout>(0);
  EXPECT_TRUE(no_data.run()) << OpenBNNSGetLastError();
  no_data.for_outputs([](auto& memory) { EXPECT_TRUE(memory.untouched()); });

  FullyConnectedBackward only_dx;
  only_dx.params.activation = activation(BNNSActivationFunctionIdentity);
  only_dx.weights_delta_pointer = only_dx.bias_delta_pointer = nullptr;
  only_dx.in_pointer = only_dx.out_pointer = nullptr;
  only_dx.in_stride = only_dx.out_stride = 1;
  EXPECT_TRUE(only_dx.run()) << OpenBNNSGetLastError();
  EXPECT_EQ(only_dx.dx[0], 9);
  EXPECT_EQ(only_dx.dx[7], 3);

  expect_accepted<ActivationBackward>(
      {{"flags of an input are not read", {}, [](ActivationBackward& c) {
          c.out_delta.flags = static_cast<BNNSNDArrayFlags>(UINT32_MAX);
        }}});
  ActivationBackward in_place;
  in_place.in_delta.data = in_place.dy.data();
  const std::vector<float> dy(in_place.dy.data(), in_place.dy.data() + 30);
  EXPECT_TRUE(in_place.run()) << OpenBNNSGetLastError();
  for (size_t i = 0; i < 30; ++i) {
    const bool scaled = ActivationCall::is_element(i) && in_place.in[i] < 0;
    EXPECT_EQ(in_place.dy[i], scaled ? 0.5f * dy[i] : dy[i]) << i;
  }
}

}  // namespace
}  // namespace bnns::test

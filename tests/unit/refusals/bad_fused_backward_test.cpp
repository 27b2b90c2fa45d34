// Backward calls of fused filters that must be refused.
#include <string>
#include <vector>

#include "support/fused_call.h"

namespace bnns::test {
namespace {

using Backward = FusedBackward;
using MultiBackward = FusedMultiBackward;

TEST(BadFused, Backward) {
  using C = Backward;
  std::vector<Row<C>> rows = {
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.y_pointer = nullptr; }},
      {"out_delta", {"out_delta is NULL"}, [](C& c) { c.out_delta_pointer = nullptr; }},
      {"no dy", {"out_delta.data is NULL"}, [](C& c) { c.out_delta.data = nullptr; }},
      {"size of dy", {"out_delta", "o_desc"}, [](C& c) { c.out_delta.size[0] = 3; }},
      {"size of dx", {"in_delta", "i_desc"}, [](C& c) { c.in_delta.size[0] = 3; }},
      {"type of dx",
       {"in_delta.data_type is Float16"},
       [](C& c) { c.in_delta.data_type = BNNSDataTypeFloat16; }},
      {"stride of dx", {"in_delta_stride is 1"}, [](C& c) { c.dx_stride = 1; }},
      {"stride of dy", {"out_delta_stride is 1"}, [](C& c) { c.dy_stride = 1; }},
      {"another batch", {"batch_size is 2", "had 3"}, [](C& c) { c.batch = 2; }},
      {"no training", {"training = true"}, [](C& c) { c.create(); }},
      {"inference only",
       {"training = true"},
       [](C& c) {
         c.create();
         c.training = false;
         c.forward();
       }},
      {"slope",
       {"activation", "GELU"},
       [](C& c) {
         c.second.activation = activation(BNNSActivationFunctionGELUApproximation, 1, 1);
         c.remake();
       }},
      {"halves",
       {"i_desc.data_type is Float16", "Float32"},
       [](C& c) {
         c.first.i_desc.data_type = BNNSDataTypeFloat16;
         c.create();
       }},
      {"no bias",
       {"delta_parameters[1]", "no bias"},
       [](C& c) {
         c.first.bias.data = nullptr;
         c.remake();
       }},
      {"no gamma",
       {"delta_parameters[3]", "no gamma_desc"},
       [](C& c) {
         c.second.gamma_desc.data = nullptr;
         c.remake();
       }},
      {"quantization",
       {"quantization", "no gradient"},
       [](C& c) {
         c.use_quantization();
         c.create();
       }},
      {"several inputs", {"number_of_inputs is 1", "has 2"}, [](C& c) {
         FusedMultiBackward two;
         c.filter = std::move(two.filter);
       }}};
  for (size_t k = 0; k < 4; ++k) {
    const std::string name = "delta_parameters[" + std::to_string(k) + "]";
    rows.push_back({name + " size", {name}, [=](C& c) { c.deltas[k].size[0] = 1; }});
    rows.push_back({name + " layout", {name + ".layout"}, [=](C& c) {
                      c.deltas[k].layout = static_cast<BNNSDataLayout>(0);
                    }});
    rows.push_back({name + " flags", {name + ".flags is 7"}, [=](C& c) {
                      c.deltas[k].flags = static_cast<BNNSNDArrayFlags>(7);
                    }});
    rows.push_back({name + " type", {name + ".data_type is Float16"}, [=](C& c) {
                      c.deltas[k].data_type = BNNSDataTypeFloat16;
                    }});
    rows.push_back(
        {name + " is in", {name, "and in overlap"}, [=](C& c) { c.deltas[k].data = c.in.data(); }});
    rows.push_back({name + " is out_delta", {name, "out_delta", "overlap"}, [=](C& c) {
                      c.deltas[k].data = c.dy.data();
                    }});
    rows.push_back({name + " is in_delta", {name, "in_delta", "overlap"}, [=](C& c) {
                      c.deltas[k].data = c.dx.data();
                    }});
    rows.push_back({name + " is another", {name, "overlap"}, [=](C& c) {
                      c.deltas[k].data = c.deltas[(k + 1) % 4].data;
                    }});
    rows.push_back({name + " is gamma", {name, "gamma_desc.data overlap"}, [=](C& c) {
                      c.deltas[k].data = c.gamma.data();
                    }});
  }
  const auto overlap = [&](const char* name, Guarded<float> C::*memory) {
    rows.push_back({std::string("in_delta is ") + name,
                    {"in_delta and ", name, "overlap"},
                    [=](C& c) { c.in_delta.data = (c.*memory).data(); }});
  };
  overlap("out", &C::out);
  overlap("in", &C::in);
  overlap("out_delta", &C::dy);
  overlap("w_desc.data", &C::w);
  overlap("gamma_desc.data", &C::gamma);
  expect_refused(rows);
}

TEST(BadFused, MultiBackward) {
  using C = MultiBackward;
  std::vector<Row<C>> rows = {
      {"in", {"in is NULL", "Multiply"}, [](C& c) { c.in_pointer = nullptr; }},
      {"first input", {"in[0] is NULL", "Multiply"}, [](C& c) { c.in[0] = nullptr; }},
      {"in_delta", {"in_delta is NULL"}, [](C& c) { c.in_delta_pointer = nullptr; }},
      {"strides", {"in_delta_stride is NULL"}, [](C& c) { c.in_delta_stride_pointer = nullptr; }},
      {"second delta", {"in_delta[1] is NULL", "data is NULL"}, [](C& c) { c.in_delta[1] = {}; }},
      {"out", {"out is NULL"}, [](C& c) { c.y_pointer = nullptr; }},
      {"out_delta", {"out_delta is NULL"}, [](C& c) { c.out_delta_pointer = nullptr; }},
      {"size", {"in_delta[1]", "in2"}, [](C& c) { c.in_deltas[1].size[0] = 3; }},
      {"another batch", {"batch_size is 2", "had 3"}, [](C& c) { c.batch = 2; }},
      {"no training", {"training = true"}, [](C& c) { c.create(); }},
      {"halves",
       {"in2.data_type is Float16", "Float32"},
       [](C& c) {
         c.fields.in2.data_type = BNNSDataTypeFloat16;
         c.create();
       }},
      {"one buffer for two inputs",
       {"in_delta[0] and in_delta[1]", "given twice"},
       [](C& c) { c.in_deltas[1].data = c.da.data(); }},
      {"two buffers for one input",
       {"in[0] and in[1] are the same tensor", "in_delta[1]"},
       [](C& c) { c.in[1] = c.in[0]; }}};
  for (const size_t inputs : {0, 1, 3}) {
    rows.push_back({"inputs",
                    {"number_of_inputs is " + std::to_string(inputs), "has 2"},
                    [=](C& c) { c.inputs = inputs; }});
  }
  for (size_t k = 0; k < 2; ++k) {
    const std::string name = "in_delta[" + std::to_string(k) + "]",
                      slot = "delta_parameters[" + std::to_string(k) + "]";
    const auto delta_is = [&](const char* what, Guarded<float> C::*memory) {
      rows.push_back({name + " is " + what, {name, what, "overlap"}, [=](C& c) {
                        c.in_deltas[k].data = (c.*memory).data();
                      }});
    };
    delta_is("out_delta", &C::dy);
    delta_is("out", &C::out);
    delta_is("in[0]", &C::a);
    delta_is("in[1]", &C::c);
    delta_is("gamma_desc.data", &C::gamma);
    delta_is("delta_parameters[0]", &C::dbeta);
    delta_is("delta_parameters[1]", &C::dgamma);
    rows.push_back({slot + " is an input", {slot, "in[1]", "overlap"}, [=](C& c) {
                      c.deltas[k].data = c.c.data();
                    }});
    rows.push_back({slot + " size", {slot}, [=](C& c) { c.deltas[k].size[0] = 1; }});
  }
  expect_refused(rows);
}

}  // namespace
}  // namespace bnns::test

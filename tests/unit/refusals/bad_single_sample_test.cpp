// Bad inputs to a single sample of a fully connected layer that is large enough for whole vectors
// and small enough for the first-level cache: such calls take a short way with checks of its own.
// Small integers, so that every result is exact.
#include "support/call_table.h"

namespace bnns::test {
namespace {

struct SingleSample : CallBase {
  static constexpr size_t kIn = 35, kOut = 18;

  BNNSLayerParametersFullyConnected params = {};
  BNNSFilterParameters options = {};
  Guarded<float> weights{Space{kIn * kOut}}, bias{Space{kOut}}, in{Space{kIn}};
  Guarded<float> out{Space{kOut}}, dy{Space{kOut}};
  Guarded<float> dx{Space{kIn}}, dw{Space{kIn * kOut}}, db{Space{kOut}};

  SingleSample() {
    fill(weights, 7);
    fill(bias, 5);
    fill(in, 3);
    fill(dy, 4);
    params.i_desc = vector_of(kIn);
    params.o_desc = vector_of(kOut);
    params.w_desc = matrix_of(kIn, kOut, weights.data());
    params.bias = vector_of(kOut, bias.data());
    params.activation = activation(BNNSActivationFunctionLinear, 2);
  }
  SingleSample(const SingleSample&) = delete;

  static void fill(Guarded<float>& values, size_t step) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * step % 9) - 4;
    values.remember();
  }
  template <class F>
  void for_outputs(const F& f) {
    for (auto* memory : {&weights, &bias, &in, &out, &dy, &dx, &dw, &db}) f(*memory);
  }
  bool constants_untouched() const {
    return weights.untouched() && bias.untouched() && in.untouched() && dy.untouched();
  }
  Filter make() const {
    Filter filter(BNNSFilterCreateLayerFullyConnected(&params, &options));
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return filter;
  }
};

struct SingleForward : SingleSample {
  const char* function = "BNNSFilterApplyBatch";
  const void* in_pointer = in.data();
  void* out_pointer = out.data();

  bool run() {
    return BNNSFilterApplyBatch(make().get(), 1, in_pointer, kIn, out_pointer, kOut) == 0;
  }
  bool correct() const {
    bool right = constants_untouched();
    for (size_t o = 0; o < kOut; ++o) {
      float sum = bias[o];
      for (size_t i = 0; i < kIn; ++i) sum += weights[o * kIn + i] * in[i];
      right &= out[o] == 2 * sum;
    }
    return right && out.untouched_except([](size_t) { return true; });
  }
};

struct SingleBackward : SingleSample {
  const char* function = "BNNSFilterApplyBackwardBatch";
  BNNSNDArrayDescriptor in_delta = vector_of(kIn, dx.data());
  BNNSNDArrayDescriptor out_delta = vector_of(kOut, dy.data());
  BNNSNDArrayDescriptor weights_delta = matrix_of(kIn, kOut, dw.data());
  BNNSNDArrayDescriptor bias_delta = vector_of(kOut, db.data());
  const BNNSNDArrayDescriptor* out_delta_pointer = &out_delta;
  const void *in_pointer = in.data(), *out_pointer = out.data();
  float before = 0;  // what accumulating gradients started from

  SingleBackward() { fill(out, 2); }
  bool run() {
    return BNNSFilterApplyBackwardBatch(make().get(), 1, in_pointer, kIn, &in_delta, kIn,
                                        out_pointer, kOut, out_delta_pointer, kOut, &weights_delta,
                                        &bias_delta) == 0;
  }
  void accumulate() {
    before = 3;
    for (auto* memory : {&dx, &dw, &db}) std::fill_n(memory->data(), memory->size(), before);
    for (auto* delta : {&in_delta, &weights_delta, &bias_delta})
      delta->flags = BNNSNDArrayFlagBackpropAccumulate;
  }
  bool correct() const {
    bool right = constants_untouched() && out.untouched();
    for (size_t i = 0; i < kIn; ++i) {
      float sum = before;
      for (size_t o = 0; o < kOut; ++o) sum += weights[o * kIn + i] * 2 * dy[o];
      right &= dx[i] == sum;
    }
    for (size_t o = 0; o < kOut; ++o) {
      right &= db[o] == before + 2 * dy[o];
      for (size_t i = 0; i < kIn; ++i) right &= dw[o * kIn + i] == before + 2 * dy[o] * in[i];
    }
    const auto all = [](size_t) { return true; };
    return right && dx.untouched_except(all) && dw.untouched_except(all) &&
           db.untouched_except(all);
  }
};

void* moved(Guarded<float>& memory, size_t bytes) {
  return reinterpret_cast<char*>(memory.data()) + bytes;
}

TEST(BadSingleSample, Forward) {
  using Call = SingleForward;
  expect_refused<Call>({
      {"in null", {"in is NULL"}, [](Call& c) { c.in_pointer = nullptr; }},
      {"out null", {"out is NULL"}, [](Call& c) { c.out_pointer = nullptr; }},
      {"in misaligned", {"in is", "aligned"}, [](Call& c) { c.in_pointer = moved(c.in, 2); }},
      {"out misaligned", {"out is", "aligned"}, [](Call& c) { c.out_pointer = moved(c.out, 1); }},
      {"out is in", {"out and in overlap"}, [](Call& c) { c.out_pointer = c.in.data(); }},
      {"out begins at the last input",
       {"out and in overlap"},
       [](Call& c) { c.out_pointer = &c.in[Call::kIn - 1]; }},
      {"out over the client's weights",
       {"out and w_desc.data overlap"},
       [](Call& c) {
         c.options.flags = BNNSFlagsUseClientPtr;
         c.out_pointer = &c.weights[40];
       }},
      {"out over the client's bias",
       {"out and bias.data overlap"},
       [](Call& c) {
         c.options.flags = BNNSFlagsUseClientPtr;
         c.out_pointer = c.bias.data();
       }},
  });
}

TEST(BadSingleSample, Backward) {
  using Call = SingleBackward;
  const auto flags = static_cast<BNNSNDArrayFlags>(7);
  expect_refused<Call>({
      {"out_delta null", {"out_delta is NULL"}, [](Call& c) { c.out_delta_pointer = nullptr; }},
      {"out_delta without data",
       {"out_delta.data is NULL"},
       [](Call& c) { c.out_delta.data = nullptr; }},
      {"out_delta misaligned",
       {"out_delta", "aligned"},
       [](Call& c) { c.out_delta.data = moved(c.dy, 2); }},
      {"in null", {"in is NULL"}, [](Call& c) { c.in_pointer = nullptr; }},
      {"in misaligned", {"in is", "aligned"}, [](Call& c) { c.in_pointer = moved(c.in, 1); }},
      {"out null", {"out is NULL"}, [](Call& c) { c.out_pointer = nullptr; }},
      {"out misaligned", {"out is", "aligned"}, [](Call& c) { c.out_pointer = moved(c.out, 3); }},
      {"in_delta misaligned",
       {"in_delta", "aligned"},
       [](Call& c) { c.in_delta.data = moved(c.dx, 2); }},
      {"in_delta.flags", {"in_delta.flags is 7"}, [=](Call& c) { c.in_delta.flags = flags; }},
      {"weights_delta.flags",
       {"weights_delta.flags is 7"},
       [=](Call& c) { c.weights_delta.flags = flags; }},
      {"in_delta longer", {"in_delta", "{36}", "{35}"}, [](Call& c) { ++c.in_delta.size[0]; }},
      {"out_delta shorter", {"out_delta", "{17}"}, [](Call& c) { --c.out_delta.size[0]; }},
      {"bias_delta strided out of bounds",
       {"bias_delta.layout"},
       [](Call& c) { c.bias_delta.layout = static_cast<BNNSDataLayout>(0); }},
      {"weights_delta rows overlap",
       {"weights_delta.stride[1]", "overlap"},
       [](Call& c) { c.weights_delta.stride[1] = 20; }},
      {"weights_delta of type Float16",
       {"weights_delta.data_type", "Float16"},
       [](Call& c) { c.weights_delta.data_type = BNNSDataTypeFloat16; }},
      {"bias_delta of a filter without bias",
       {"bias_delta", "no bias"},
       [](Call& c) { c.params.bias.data = nullptr; }},
  });
}

TEST(BadSingleSample, BackwardOverlaps) {
  using Call = SingleBackward;
  expect_refused<Call>({
      {"in_delta over in", {"overlap"}, [](Call& c) { c.in_delta.data = c.in.data(); }},
      {"in_delta over out", {"overlap"}, [](Call& c) { c.in_delta.data = c.out.data(); }},
      {"bias_delta over out", {"overlap"}, [](Call& c) { c.bias_delta.data = c.out.data(); }},
      {"bias_delta over out_delta", {"overlap"}, [](Call& c) { c.bias_delta.data = &c.dy[17]; }},
      {"bias_delta over in_delta", {"overlap"}, [](Call& c) { c.bias_delta.data = &c.dx[34]; }},
      {"bias_delta over weights_delta",
       {"overlap"},
       [](Call& c) { c.bias_delta.data = &c.dw[Call::kIn * Call::kOut - 1]; }},
      {"in_delta over weights_delta", {"overlap"}, [](Call& c) { c.in_delta.data = &c.dw[9]; }},
      {"weights_delta over the client's weights",
       {"weights_delta", "w_desc.data"},
       [](Call& c) {
         c.options.flags = BNNSFlagsUseClientPtr;
         c.weights_delta.data = c.weights.data();
       }},
  });
}

TEST(BadSingleSample, WhatMustWork) {
  expect_accepted<SingleBackward>({
      {"accumulate", {}, [](SingleBackward& c) { c.accumulate(); }},
      {"weights of the client",
       {},
       [](SingleBackward& c) { c.options.flags = BNNSFlagsUseClientPtr; }},
      {"another layout of the same elements",
       {},
       [](SingleBackward& c) {
         c.weights_delta = array(BNNSDataLayout2DFirstMajor,
                                 {SingleSample::kOut, SingleSample::kIn}, c.dw.data());
       }},
      {"flags of an input are not read",
       {},
       [](SingleBackward& c) { c.out_delta.flags = static_cast<BNNSNDArrayFlags>(7); }},
  });
}

}  // namespace
}  // namespace bnns::test

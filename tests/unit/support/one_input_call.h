// What the calls of filters with one input, one output and no parameters have in common: two
// samples with a value between them, forward and backward. `Layer` brings the parameters, the right
// values and their numbers: kIn, kOut of a sample, result(i) and gradient(i) for x = dy = 1, 2, 3,
// ...
#pragma once

#include "support/call_table.h"

namespace bnns::test {

template <class Layer>
struct OneInputCall : CallBase {
  static constexpr size_t kBatch = 2, kInStep = Layer::kIn + 1, kOutStep = Layer::kOut + 1;

  typename Layer::Parameters params = Layer::parameters();
  const typename Layer::Parameters* params_pointer = &params;
  BNNSFilterParameters options = {};
  Guarded<float> in{Space{kBatch * kInStep}}, out{Space{kBatch * kOutStep}};
  const void* in_pointer = in.data();
  void* out_pointer = out.data();
  size_t batch = kBatch, in_stride = kInStep, out_stride = kOutStep;

  OneInputCall() {
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % kInStep + 1);
    in.remember();
  }
  OneInputCall(const OneInputCall&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(in);
    f(out);
  }
  Filter make() const { return Filter(Layer::create(params_pointer, &options)); }
  Filter expect_made() const {
    Filter filter = make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return filter;
  }
  bool apply(const Filter& filter) const {
    return BNNSFilterApplyBatch(filter.get(), batch, in_pointer, in_stride, out_pointer,
                                out_stride) == 0;
  }
  bool correct() const {
    bool right = in.untouched();
    for (size_t i = 0; i < out.size(); ++i)
      right &= i % kOutStep == Layer::kOut || out[i] == Layer::result(i % kOutStep);
    return right && out.untouched_except([](size_t i) { return i % kOutStep < Layer::kOut; });
  }
};

template <class Layer>
struct OneInputCreate : OneInputCall<Layer> {
  const char* function = Layer::kFunction;
  bool run() {
    const Filter filter = this->make();
    return filter && this->apply(filter);
  }
};

template <class Layer>
struct OneInputForward : OneInputCall<Layer> {
  const char* function = "BNNSFilterApplyBatch";
  bool run() { return this->apply(this->expect_made()); }
};

template <class Layer>
struct OneInputBackward : OneInputCall<Layer> {
  using Call = OneInputCall<Layer>;

  const char* function = "BNNSFilterApplyBackwardBatch";
  bool own_function = false;  // that of permute filters
  Guarded<float> dx{Space{Call::kBatch * Call::kInStep}}, dy{Space{Call::kBatch * Call::kOutStep}};
  BNNSNDArrayDescriptor in_delta = this->params.i_desc, out_delta = this->params.o_desc;
  BNNSNDArrayDescriptor *in_delta_pointer = &in_delta, *out_delta_pointer = &out_delta;
  BNNSNDArrayDescriptor *weights_delta = nullptr, *bias_delta = nullptr;
  size_t in_delta_stride = Call::kInStep, out_delta_stride = Call::kOutStep;

  OneInputBackward() {
    for (size_t i = 0; i < dy.size(); ++i) dy[i] = static_cast<float>(i % Call::kOutStep + 1);
    dy.remember();
    in_delta.data = dx.data();
    out_delta.data = dy.data();
  }
  template <class F>
  void for_outputs(const F& f) {
    Call::for_outputs(f);
    f(dx);
    f(dy);
  }
  bool run() { return apply_backward(this->expect_made()); }
  bool apply_backward(const Filter& filter) {
    if (own_function) {
      return BNNSPermuteFilterApplyBackwardBatch(filter.get(), this->batch, in_delta_pointer,
                                                 in_delta_stride, out_delta_pointer,
                                                 out_delta_stride) == 0;
    }
    return BNNSFilterApplyBackwardBatch(filter.get(), this->batch, this->in_pointer,
                                        this->in_stride, in_delta_pointer, in_delta_stride, nullptr,
                                        0, out_delta_pointer, out_delta_stride, weights_delta,
                                        bias_delta) == 0;
  }
  bool correct() const {
    bool right = dy.untouched();
    for (size_t i = 0; i < dx.size(); ++i)
      right &= i % Call::kInStep == Layer::kIn || dx[i] == Layer::gradient(i % Call::kInStep);
    return right && dx.untouched_except([](size_t i) { return i % Call::kInStep < Layer::kIn; });
  }
};

// Faults of a forward call on a good filter.
template <class C>
std::vector<Row<C>> forward_rows() {
  const std::string in_stride = std::to_string(C::kInStep - 2);
  const std::string out_stride = std::to_string(C::kOutStep - 2);
  return {
      {"in", {"in is NULL"}, [](C& c) { c.in_pointer = nullptr; }},
      {"out", {"out is NULL"}, [](C& c) { c.out_pointer = nullptr; }},
      {"in misaligned",
       {"in is", "aligned to 4"},
       [](C& c) { c.in_pointer = reinterpret_cast<char*>(c.in.data()) + 2; }},
      {"out misaligned",
       {"out is", "aligned to 4"},
       [](C& c) { c.out_pointer = reinterpret_cast<char*>(c.out.data()) + 1; }},
      {"in_stride", {"in_stride is " + in_stride}, [](C& c) { c.in_stride = C::kInStep - 2; }},
      {"out_stride", {"out_stride is " + out_stride}, [](C& c) { c.out_stride = C::kOutStep - 2; }},
      {"batch overflows", {"batch_size"}, [](C& c) { c.batch = size_t{1} << 62; }},
  };
}

// Filters that do not work in place.
template <class C>
std::vector<Row<C>> overlap_rows() {
  return {
      {"in is out", {"out and in overlap"}, [](C& c) { c.out_pointer = c.in.data(); }},
      {"in reaches into out",
       {"out and in overlap"},
       [](C& c) { c.in_pointer = c.out.data() + 1; }},
  };
}

// Filters whose gradients must have the layouts of their images.
template <class C>
std::vector<Row<C>> layout_rows() {
  return {
      {"another layout",
       {"in_delta.layout is 3DFirstMajor", "equal"},
       [](C& c) { c.in_delta.layout = BNNSDataLayout3DFirstMajor; }},
      {"another layout of out_delta",
       {"out_delta.layout is 3DFirstMajor", "equal"},
       [](C& c) { c.out_delta.layout = BNNSDataLayout3DFirstMajor; }},
  };
}

// Gradients of what these filters do not have.
template <class C>
std::vector<Row<C>> no_parameter_rows() {
  return {
      {"weights", {"weights_delta", "no weights"}, [](C& c) { c.weights_delta = &c.in_delta; }},
      {"bias", {"bias_delta", "no bias"}, [](C& c) { c.bias_delta = &c.in_delta; }},
  };
}

// Faults of a backward call on a good filter of images of more than one row.
template <class C>
std::vector<Row<C>> backward_rows() {
  return {
      {"out_delta", {"out_delta is NULL"}, [](C& c) { c.out_delta_pointer = nullptr; }},
      {"no data of out_delta",
       {"out_delta.data is NULL"},
       [](C& c) { c.out_delta.data = nullptr; }},
      {"flags",
       {"in_delta.flags is 9"},
       [](C& c) { c.in_delta.flags = static_cast<BNNSNDArrayFlags>(9); }},
      {"other sizes", {"in_delta", "i_desc"}, [](C& c) { ++c.in_delta.size[0]; }},
      {"other sizes of out_delta", {"out_delta", "o_desc"}, [](C& c) { ++c.out_delta.size[1]; }},
      {"Float16",
       {"in_delta.data_type is Float16"},
       [](C& c) { c.in_delta.data_type = BNNSDataTypeFloat16; }},
      {"integers",
       {"out_delta.data_type is Int32"},
       [](C& c) { c.out_delta.data_type = BNNSDataTypeInt32; }},
      {"overlapping elements",
       {"in_delta.stride[2]", "overlap"},
       [](C& c) {
         c.in_delta.stride[0] = c.in_delta.stride[1] = 1;
         c.in_delta.stride[1] = c.in_delta.size[0];
         c.in_delta.stride[2] = c.in_delta.size[0];
       }},
      {"in_delta_stride", {"in_delta_stride is 1"}, [](C& c) { c.in_delta_stride = 1; }},
      {"out_delta_stride", {"out_delta_stride is 1"}, [](C& c) { c.out_delta_stride = 1; }},
      {"in_delta is part of out_delta",
       {"in_delta and out_delta overlap"},
       [](C& c) { c.in_delta.data = c.dy.data() + 1; }},
  };
}

}  // namespace bnns::test

// A valid product with published values, as filters and calls that tests damage:
//   1 2   5 6   19 22                          1 2          17 23          10 14
//   3 4 x 7 8 = 43 50, and the gradients of dC 3 4 are dA = 39 53 and dB = 14 20.
#pragma once

#include "support/call_table.h"

namespace bnns::test {

struct MatMulData : CallBase {
  static constexpr size_t kBatch = 2, kStep = 5;

  BNNSFilterParameters options = {};
  Guarded<float> a{Space{kBatch * kStep}}, b{Space{kBatch * kStep}}, c{Space{kBatch * kStep}};
  size_t batch = kBatch, a_stride = kStep, b_stride = kStep, c_stride = kStep;
  const void *a_pointer = a.data(), *b_pointer = b.data();
  void* c_pointer = c.data();

  MatMulData() {
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] = static_cast<float>(i % kStep + 1);
      b[i] = static_cast<float>(i % kStep + 5);
    }
    a.remember();
    b.remember();
  }
  MatMulData(const MatMulData&) = delete;

  template <class F>
  void for_outputs(const F& f) {
    f(a);
    f(b);
    f(c);
  }
  static bool holds(const Guarded<float>& values, const float (&right)[4]) {
    bool equal = true;
    for (size_t s = 0; s < kBatch; ++s)
      for (size_t k = 0; k < 4; ++k) equal &= values[s * kStep + k] == right[k];
    return equal && values.untouched_except([](size_t i) { return i % kStep < 4; });
  }
  bool correct() const { return a.untouched() && b.untouched() && holds(c, {19, 22, 43, 50}); }
};

struct MatMulCall : MatMulData {
  BNNSLayerParametersBroadcastMatMul params = {};
  const BNNSLayerParametersBroadcastMatMul* params_pointer = &params;

  MatMulCall() {
    params.alpha = 1;
    params.iA_desc = params.iB_desc = params.o_desc = matrix_of(2, 2);
  }
  Filter make() const {
    return Filter(BNNSFilterCreateLayerBroadcastMatMul(params_pointer, &options));
  }
};

struct ContractionCall : MatMulData {
  BNNSLayerParametersTensorContraction params = {};
  const BNNSLayerParametersTensorContraction* params_pointer = &params;

  ContractionCall() {
    params.operation = "a_ik, b_kj -> c_ij";
    params.alpha = 1;
    params.iA_desc = params.iB_desc = params.o_desc = matrix_of(2, 2);
  }
  Filter make() const {
    return Filter(BNNSFilterCreateLayerTensorContraction(params_pointer, &options));
  }
};

// Creation, and a forward call that shows that it was right.
template <class Call>
struct TwoInputCreate : Call {
  const char* function = std::is_same_v<Call, MatMulCall>
                             ? "BNNSFilterCreateLayerBroadcastMatMul"
                             : "BNNSFilterCreateLayerTensorContraction";
  bool run() {
    const Filter filter = this->make();
    return filter && BNNSFilterApplyTwoInputBatch(filter.get(), this->batch, this->a_pointer,
                                                  this->a_stride, this->b_pointer, this->b_stride,
                                                  this->c_pointer, this->c_stride) == 0;
  }
};

template <class Call>
struct TwoInputForward : Call {
  const char* function = "BNNSFilterApplyTwoInputBatch";
  bool run() {
    const Filter filter = this->make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyTwoInputBatch(filter.get(), this->batch, this->a_pointer, this->a_stride,
                                        this->b_pointer, this->b_stride, this->c_pointer,
                                        this->c_stride) == 0;
  }
};

template <class Call>
struct TwoInputBackward : Call {
  static constexpr size_t kStep = MatMulData::kStep, kSize = MatMulData::kBatch * kStep;
  const char* function = "BNNSFilterApplyBackwardTwoInputBatch";
  Guarded<float> da{Space{kSize}}, db{Space{kSize}}, dc{Space{kSize}};
  BNNSNDArrayDescriptor a_delta = matrix_of(2, 2, da.data()), b_delta = matrix_of(2, 2, db.data());
  BNNSNDArrayDescriptor c_delta = matrix_of(2, 2, dc.data());
  BNNSNDArrayDescriptor *a_delta_pointer = &a_delta, *b_delta_pointer = &b_delta;
  const BNNSNDArrayDescriptor* c_delta_pointer = &c_delta;
  BNNSNDArrayDescriptor *weights_delta = nullptr, *bias_delta = nullptr;
  size_t a_delta_stride = kStep, b_delta_stride = kStep, c_delta_stride = kStep;

  TwoInputBackward() {
    for (size_t i = 0; i < dc.size(); ++i) dc[i] = static_cast<float>(i % kStep + 1);
    dc.remember();
  }
  template <class F>
  void for_outputs(const F& f) {
    Call::for_outputs(f);
    f(da);
    f(db);
    f(dc);
  }
  bool run() {
    const Filter filter = this->make();
    EXPECT_TRUE(filter) << OpenBNNSGetLastError();
    return BNNSFilterApplyBackwardTwoInputBatch(
               filter.get(), this->batch, this->a_pointer, this->a_stride, a_delta_pointer,
               a_delta_stride, this->b_pointer, this->b_stride, b_delta_pointer, b_delta_stride,
               nullptr, 0, c_delta_pointer, c_delta_stride, weights_delta, bias_delta) == 0;
  }
  bool correct() const {
    return this->a.untouched() && this->b.untouched() && dc.untouched() &&
           MatMulData::holds(da, {17, 23, 39, 53}) && MatMulData::holds(db, {10, 14, 14, 20});
  }
};

}  // namespace bnns::test

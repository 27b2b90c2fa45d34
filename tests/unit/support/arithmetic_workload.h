// Arithmetic filters as workloads: a sample and a parameter that is broadcast.
#pragma once

#include "support/workload.h"

namespace test {

class ArithmeticWorkload final : public Workload {
 public:
  ArithmeticWorkload(std::string name, BNNSArithmeticFunction function,
                     BNNSActivationFunction activation, size_t width, size_t channels,
                     BNNSDataType type)
      : Workload(std::move(name), 3) {
    fields_.in1 = fields_.out =
        array(BNNSDataLayoutImageCHW, {width, width, channels}, nullptr, type);
    fields_.in2 = array(BNNSDataLayoutImageCHW, {1, 1, channels}, nullptr, type);
    fields_.in1_type = fields_.out_type = BNNSSample;
    fields_.in2_type = BNNSParameter;
    layer_.arithmetic_function = function;
    layer_.activation.function = activation;
    in_ = noise(batch() * count(fields_.in1), type, 1);
    parameter_ = noise(channels, type, 2);
    out_delta_ = floats(batch() * count(fields_.out), 3);
    trainable_ = true;
  }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(fields_.out) * bytes_of(fields_.out.data_type));
    r.in_delta.resize(batch() * count(fields_.in1));
    r.weights_delta.resize(count(fields_.in2));
    return r;
  }
  int forward(BNNSFilter filter, Results& results) const override {
    const void* in[] = {in_.data(), parameter_.data()};
    const size_t strides[] = {0, 0};
    return BNNSArithmeticFilterApplyBatch(filter, batch(), 2, in, strides, results.out.data(), 0);
  }
  // Gradients are Float32 whatever the type of the tensors.
  int backward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor in_delta = fields_.in1, parameter_delta = fields_.in2,
                          out_delta = fields_.out;
    for (BNNSNDArrayDescriptor* d : {&in_delta, &parameter_delta, &out_delta})
      d->data_type = BNNSDataTypeFloat32;
    in_delta.data = results.in_delta.data();
    parameter_delta.data = results.weights_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    const void* in[] = {in_.data(), parameter_.data()};
    const size_t strides[] = {0, 0};
    BNNSNDArrayDescriptor* deltas[] = {&in_delta, &parameter_delta};
    return BNNSArithmeticFilterApplyBackwardBatch(filter, batch(), 2, in, strides, deltas, strides,
                                                  results.out.data(), 0, &out_delta, 0);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    BNNSLayerParametersArithmetic layer = layer_;
    BNNSArithmeticBinary fields = fields_;
    layer.arithmetic_function_fields = &fields;
    return BNNSFilterCreateLayerArithmetic(&layer, &p);
  }

  BNNSLayerParametersArithmetic layer_ = {};
  BNNSArithmeticBinary fields_ = {};
  std::vector<char> in_, parameter_;
  std::vector<float> out_delta_;
};

// Rows where they lie; halves, which are converted; short rows, which are gathered; an activation
// along axes, which needs working memory; sums in slices.
inline void add_arithmetic_workloads(Workloads& all) {
  const auto add = [&](const char* name, BNNSArithmeticFunction function,
                       BNNSActivationFunction activation, size_t width, size_t channels,
                       BNNSDataType type = BNNSDataTypeFloat32) {
    all.push_back(
        std::make_unique<ArithmeticWorkload>(name, function, activation, width, channels, type));
  };
  add("arithmetic", BNNSArithmeticMultiply, BNNSActivationFunctionIdentity, 8, 4);
  add("arithmetic of halves", BNNSArithmeticMaximum, BNNSActivationFunctionSigmoid, 8, 4,
      BNNSDataTypeFloat16);
  add("arithmetic of short rows", BNNSArithmeticAdd, BNNSActivationFunctionTanh, 3, 5);
  add("arithmetic with softmax", BNNSArithmeticMultiply, BNNSActivationFunctionSoftmax, 5, 4);
  add("arithmetic, long sums", BNNSArithmeticMultiply, BNNSActivationFunctionIdentity, 200, 1);
}

}  // namespace test

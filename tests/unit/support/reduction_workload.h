// Reduction filters as workloads.
#pragma once

#include "support/workload.h"

namespace test {

class ReductionWorkload final : public Workload {
 public:
  ReductionWorkload(std::string name, BNNSReduceFunction function, size_t width, size_t height,
                    bool rows, BNNSDataType type, bool weighted, bool client)
      : Workload(std::move(name), 3) {
    layer_.i_desc = array(BNNSDataLayoutRowMajorMatrix, {width, height}, nullptr, type);
    layer_.o_desc =
        array(BNNSDataLayoutRowMajorMatrix, {rows ? width : 1, rows ? 1 : height}, nullptr, type);
    layer_.reduce_func = function;
    flags_ = client ? uint32_t{BNNSFlagsUseClientPtr} : 0;
    if (weighted) {
      weights_ = noise(width * height, type, 3);
      layer_.w_desc = layer_.i_desc;
      layer_.w_desc.data = weights_.data();
    }
    in_ = noise(batch() * width * height, type, 1);
    out_delta_ = floats(batch() * count(layer_.o_desc), 2);
    trainable_ = true;
  }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(layer_.o_desc) * bytes_of(layer_.o_desc.data_type));
    r.in_delta.resize(batch() * count(layer_.i_desc));
    if (!weights_.empty()) r.weights_delta.resize(count(layer_.i_desc));
    return r;
  }
  int forward(BNNSFilter filter, Results& results) const override {
    return BNNSFilterApplyBatch(filter, batch(), in_.data(), 0, results.out.data(), 0);
  }
  // Gradients are Float32 whatever the type of the input.
  int backward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor in_delta = layer_.i_desc, out_delta = layer_.o_desc;
    in_delta.data_type = out_delta.data_type = BNNSDataTypeFloat32;
    BNNSNDArrayDescriptor weights_delta = in_delta;
    in_delta.data = results.in_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    weights_delta.data = results.weights_delta.empty() ? nullptr : results.weights_delta.data();
    return BNNSFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &in_delta, 0, nullptr, 0,
                                        &out_delta, 0, &weights_delta, nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerReduction(&layer_, &p);
  }

  BNNSLayerParametersReduction layer_ = {};
  std::vector<char> in_, weights_;
  std::vector<float> out_delta_;
};

// Without and with working memory for states, forward and backward; weights that are copied and
// those of the client; parts that are joined; products.
inline void add_reduction_workloads(Workloads& all) {
  constexpr auto kFloat = BNNSDataTypeFloat32, kHalf = BNNSDataTypeFloat16;
  const auto add = [&](const char* name, BNNSReduceFunction f, size_t width, size_t height,
                       bool rows, BNNSDataType type, bool weighted = false, bool client = false) {
    all.push_back(
        std::make_unique<ReductionWorkload>(name, f, width, height, rows, type, weighted, client));
  };
  add("sum of rows", BNNSReduceFunctionSum, 37, 5, false, kFloat);
  add("sum of columns", BNNSReduceFunctionMean, 37, 5, true, kFloat);
  add("norm of columns", BNNSReduceFunctionL2Norm, 37, 5, true, kFloat);
  add("maximum of halves", BNNSReduceFunctionMax, 37, 5, false, kHalf);
  add("weighted sum", BNNSReduceFunctionLogSumExp, 37, 5, false, kFloat, true);
  add("weighted product, client", BNNSReduceFunctionProduct, 9, 5, true, kFloat, true, true);
  add("sum in parts", BNNSReduceFunctionL2Norm, 17000, 1, false, kFloat);
  add("sum of columns of halves", BNNSReduceFunctionLogSumExp, 40, 9, true, kHalf);
}

}  // namespace test

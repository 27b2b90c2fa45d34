// Products of matrices and contractions as workloads.
#pragma once

#include "support/workload.h"

namespace test {

// Operand A goes into in_delta, operand B into weights_delta, whether it is weights or an input.
class MatMulWorkload final : public Workload {
 public:
  struct Shape {
    size_t m, n, k;
    bool trans_a = false, trans_b = false, weights = false;
    size_t gap = 0;  // between samples of A
  };

  MatMulWorkload(std::string name, const Shape& s, size_t batch, BNNSDataType type)
      : Workload(std::move(name), batch), shape_(s) {
    const auto matrix = [&](size_t rows, size_t columns) {
      return array(BNNSDataLayoutRowMajorMatrix, {columns, rows}, nullptr, type);
    };
    layer_.alpha = 0.5f;
    layer_.transA = s.trans_a;
    layer_.transB = s.trans_b;
    layer_.b_is_weights = s.weights;
    layer_.iA_desc = s.trans_a ? matrix(s.k, s.m) : matrix(s.m, s.k);
    layer_.iB_desc = s.trans_b ? matrix(s.n, s.k) : matrix(s.k, s.n);
    layer_.o_desc = matrix(s.m, s.n);
    a_ = noise(batch * a_stride(), type, 1);
    b_ = noise(b_samples() * count(layer_.iB_desc), type, 2);
    out_delta_ = floats(batch * count(layer_.o_desc), 3);
    layer_.iB_desc.data = b_.data();
    trainable_ = true;
  }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(layer_.o_desc) * bytes_of(layer_.o_desc.data_type));
    r.in_delta.resize(batch() * count(layer_.iA_desc));
    r.weights_delta.resize(b_samples() * count(layer_.iB_desc));
    return r;
  }
  int forward(BNNSFilter filter, Results& r) const override {
    if (shape_.weights)
      return BNNSFilterApplyBatch(filter, batch(), a_.data(), a_stride(), r.out.data(), 0);
    return BNNSFilterApplyTwoInputBatch(filter, batch(), a_.data(), a_stride(), b_.data(), 0,
                                        r.out.data(), 0);
  }
  int backward(BNNSFilter filter, Results& r) const override {
    BNNSNDArrayDescriptor da = layer_.iA_desc, db = layer_.iB_desc, dc = layer_.o_desc;
    da.data_type = db.data_type = dc.data_type = BNNSDataTypeFloat32;
    da.data = r.in_delta.data();
    db.data = r.weights_delta.data();
    dc.data = const_cast<float*>(out_delta_.data());
    if (shape_.weights) {
      return BNNSFilterApplyBackwardBatch(filter, batch(), a_.data(), a_stride(), &da, 0, nullptr,
                                          0, &dc, 0, &db, nullptr);
    }
    return BNNSFilterApplyBackwardTwoInputBatch(filter, batch(), a_.data(), a_stride(), &da, 0,
                                                b_.data(), 0, &db, 0, nullptr, 0, &dc, 0, nullptr,
                                                nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerBroadcastMatMul(&layer_, &p);
  }
  size_t a_stride() const { return count(layer_.iA_desc) + shape_.gap; }
  size_t b_samples() const { return shape_.weights ? 1 : batch(); }

  Shape shape_;
  BNNSLayerParametersBroadcastMatMul layer_ = {};
  std::vector<char> a_, b_;
  std::vector<float> out_delta_;
};

// "x_ikl, w_lko -> y_oi": panels that are gathered, and a result that goes through a copy.
class ContractionWorkload final : public Workload {
 public:
  ContractionWorkload(std::string name, size_t batch) : Workload(std::move(name), batch) {
    layer_.operation = "x_ikl, w_lko -> y_oi";
    layer_.alpha = 0.5f;
    layer_.iA_desc = array(BNNSDataLayout3DFirstMajor, {30, 12, 12});
    layer_.iB_desc = array(BNNSDataLayout3DLastMajor, {12, 12, 25});
    layer_.o_desc = array(BNNSDataLayout2DFirstMajor, {25, 30}, nullptr, BNNSDataTypeBFloat16);
    in_ = floats(batch * count(layer_.iA_desc), 1);
    weights_ = floats(count(layer_.iB_desc), 2);
    out_delta_ = floats(batch * count(layer_.o_desc), 3);
    layer_.iB_desc.data = weights_.data();
    trainable_ = true;
  }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(layer_.o_desc) * 2);
    r.in_delta.resize(in_.size());
    r.weights_delta.resize(weights_.size());
    return r;
  }
  int forward(BNNSFilter filter, Results& r) const override {
    return BNNSFilterApplyBatch(filter, batch(), in_.data(), 0, r.out.data(), 0);
  }
  int backward(BNNSFilter filter, Results& r) const override {
    BNNSNDArrayDescriptor dx = layer_.iA_desc, dw = layer_.iB_desc, dy = layer_.o_desc;
    dy.data_type = BNNSDataTypeFloat32;
    dx.data = r.in_delta.data();
    dw.data = r.weights_delta.data();
    dy.data = const_cast<float*>(out_delta_.data());
    return BNNSFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &dx, 0, nullptr, 0, &dy, 0,
                                        &dw, nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerTensorContraction(&layer_, &p);
  }

  BNNSLayerParametersTensorContraction layer_ = {};
  std::vector<float> in_, weights_, out_delta_;
};

inline void add_matmul_workloads(Workloads& all) {
  const auto add = [&](const char* name, const MatMulWorkload::Shape& shape, BNNSDataType type) {
    all.push_back(std::make_unique<MatMulWorkload>(name, shape, 3, type));
  };
  add("matmul", {5, 4, 6}, BNNSDataTypeFloat32);
  add("matmul, packed", {40, 50, 60, true}, BNNSDataTypeFloat32);
  add("matmul of halves", {20, 15, 30, false, true}, BNNSDataTypeFloat16);
  add("matmul with weights", {20, 15, 30, false, false, true}, BNNSDataTypeFloat32);
  add("matmul of samples with gaps", {20, 15, 30, false, true, true, 3}, BNNSDataTypeFloat32);
  all.push_back(std::make_unique<ContractionWorkload>("contraction", 3));
}

}  // namespace test

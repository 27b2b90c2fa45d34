// Loss filters as workloads: the forward call writes the loss and its gradient, the backward call
// the gradient for an upstream delta, which Results keeps as weights_delta.
#pragma once

#include "support/workload.h"

namespace test {

class LossWorkload final : public Workload {
 public:
  LossWorkload(std::string name, BNNSLossFunction function, BNNSLossReductionFunction reduction,
               size_t size, size_t batch)
      : Workload(std::move(name), batch), entries_(entries(function, reduction, size, batch)) {
    trainable_ = true;
    BNNSLayerParametersLossYolo& p = parameters_;  // of all structures of losses the longest
    p.function = function;
    p.reduction = reduction;
    p.i_desc = vector(size);
    p.o_desc = vector(reduction == BNNSLossReductionNone ? entries_ / batch : 1);
    in_ = floats(batch * size, 1);
    labels_ = floats(batch * size, 2);
    out_delta_ = floats(entries_, 3);
    weights_ = floats(batch, 4);
    for (float& label : labels_) label = label < 0 ? 0.0f : 0.5f;
    for (float& weight : weights_) weight += 3.0f;
  }

  // A grid of two cells with two anchors of three classes.
  static std::unique_ptr<LossWorkload> yolo(std::string name, size_t batch) {
    auto w = std::make_unique<LossWorkload>(std::move(name), BNNSLossFunctionYolo,
                                            BNNSLossReductionSum, 32, batch);
    BNNSLayerParametersLossYolo& p = w->parameters_;
    p.number_of_grid_columns = 2;
    p.number_of_grid_rows = 1;
    p.number_of_anchor_boxes = 2;
    p.anchor_box_size = 8;
    p.scale_xy = p.scale_wh = p.scale_object = p.scale_no_object = p.scale_classification = 1.0f;
    p.object_minimum_iou = 0.7f;
    p.no_object_maximum_iou = 0.3f;
    w->anchors_ = {1, 2, 3, 4};
    p.anchors_data = w->anchors_.data();
    w->weights_.clear();
    return w;
  }

  Results make_results() const override {
    Results r;
    r.out.resize(entries_ * sizeof(float));
    r.in_delta.resize(in_.size());
    r.weights_delta.resize(in_.size());
    return r;
  }

  int forward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor in_delta = vector(size(), results.in_delta.data());
    return BNNSLossFilterApplyBatch(filter, batch(), in_.data(), 0, labels_.data(), 0, weights(),
                                    weights_.size(), results.out.data(), &in_delta, 0);
  }

  int backward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor in_delta = vector(size(), results.weights_delta.data());
    const BNNSNDArrayDescriptor out_delta =
        vector(parameters_.o_desc.size[0], const_cast<float*>(out_delta_.data()));
    return BNNSLossFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, &in_delta, 0,
                                            labels_.data(), 0, weights(), weights_.size(),
                                            &out_delta, 0);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerLoss(&parameters_, &p);
  }
  static size_t entries(BNNSLossFunction function, BNNSLossReductionFunction reduction, size_t size,
                        size_t batch) {
    if (reduction != BNNSLossReductionNone) return 1;
    const bool per_sample = function == BNNSLossFunctionSoftmaxCrossEntropy ||
                            function == BNNSLossFunctionCategoricalCrossEntropy ||
                            function == BNNSLossFunctionCosineDistance;
    return per_sample ? batch : batch * size;
  }
  size_t size() const { return parameters_.i_desc.size[0]; }
  const float* weights() const { return weights_.empty() ? nullptr : weights_.data(); }

  size_t entries_;
  BNNSLayerParametersLossYolo parameters_ = {};
  std::vector<float> in_, labels_, weights_, out_delta_, anchors_;
};

inline void add_loss_workloads(Workloads& all) {
  const auto add = [&](const char* name, BNNSLossFunction function,
                       BNNSLossReductionFunction reduction, size_t size, size_t batch) {
    all.push_back(std::make_unique<LossWorkload>(name, function, reduction, size, batch));
  };
  add("softmax cross entropy", BNNSLossFunctionSoftmaxCrossEntropy, BNNSLossReductionMean, 37, 5);
  add("softmax cross entropy, unreduced", BNNSLossFunctionSoftmaxCrossEntropy,
      BNNSLossReductionNone, 10, 40);
  add("sigmoid cross entropy", BNNSLossFunctionSigmoidCrossEntropy, BNNSLossReductionSum, 100, 3);
  add("mean square error", BNNSLossFunctionMeanSquareError, BNNSLossReductionWeightedMean, 333, 2);
  add("cosine distance", BNNSLossFunctionCosineDistance, BNNSLossReductionNonZeroWeightMean, 21, 4);
  all.push_back(LossWorkload::yolo("yolo", 2));
}

}  // namespace test

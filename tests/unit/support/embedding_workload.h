// Embedding filters as workloads.
#pragma once

#include "support/workload.h"

namespace test {

class EmbeddingWorkload final : public Workload {
 public:
  // Items of `width` values, item after item in the layout 2DLastMajor.
  EmbeddingWorkload(std::string name, BNNSDataLayout layout, size_t width, size_t items,
                    size_t indices, BNNSDataType type)
      : Workload(std::move(name), 2) {
    dictionary_ = noise(width * items, type, 1);
    layer_.i_desc = vector(indices, nullptr, BNNSDataTypeInt32);
    layer_.o_desc = array(layout, {width, indices}, nullptr, type);
    layer_.dictionary = array(layout, {width, items}, dictionary_.data(), type);
    layer_.padding_idx = 1;
    layer_.max_norm = 2;
    Noise source(2);
    for (size_t i = 0; i < batch() * indices; ++i)
      in_.push_back(static_cast<int32_t>(source.bits() % items));
    out_delta_ = floats(batch() * count(layer_.o_desc), 3);
    flags_ = BNNSFlagsUseClientPtr;
    trainable_ = true;
  }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(layer_.o_desc) * bytes_of(layer_.o_desc.data_type));
    r.weights_delta.resize(count(layer_.dictionary));
    return r;
  }
  int forward(BNNSFilter filter, Results& results) const override {
    return BNNSFilterApplyBatch(filter, batch(), in_.data(), 0, results.out.data(), 0);
  }
  // Gradients are Float32 whatever the type of the dictionary.
  int backward(BNNSFilter filter, Results& results) const override {
    BNNSNDArrayDescriptor weights_delta = layer_.dictionary, out_delta = layer_.o_desc;
    weights_delta.data_type = out_delta.data_type = BNNSDataTypeFloat32;
    weights_delta.data = results.weights_delta.data();
    out_delta.data = const_cast<float*>(out_delta_.data());
    return BNNSFilterApplyBackwardBatch(filter, batch(), in_.data(), 0, nullptr, 0, nullptr, 0,
                                        &out_delta, 0, &weights_delta, nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerEmbedding(&layer_, &p);
  }

  BNNSLayerParametersEmbedding layer_ = {};
  std::vector<char> dictionary_;
  std::vector<int32_t> in_;
  std::vector<float> out_delta_;
};

// Rows, used where they lie; columns of halves; more indices than comparisons sort.
inline void add_embedding_workloads(Workloads& all) {
  const auto add = [&](const char* name, BNNSDataLayout layout, size_t width, size_t items,
                       size_t indices, BNNSDataType type) {
    all.push_back(std::make_unique<EmbeddingWorkload>(name, layout, width, items, indices, type));
  };
  add("embedding", BNNSDataLayout2DLastMajor, 5, 7, 9, BNNSDataTypeFloat32);
  add("embedding of halves", BNNSDataLayout2DFirstMajor, 5, 7, 9, BNNSDataTypeFloat16);
  add("embedding, sorted by digits", BNNSDataLayout2DLastMajor, 3, 70, 101, BNNSDataTypeFloat32);
}

}  // namespace test

// Attention filters as workloads: self-attention of which all gradients are wanted.
#pragma once

#include "support/workload.h"

namespace test {

class AttentionWorkload final : public Workload {
 public:
  struct Shape {
    size_t length, size, heads;
    bool cached = false;
  };

  AttentionWorkload(std::string name, const Shape& s, size_t batch)
      : Workload(std::move(name), batch), shape_(s) {
    const size_t square = s.size * s.size;
    in_ = floats(batch * rows(), 1);
    out_delta_ = floats(batch * rows(), 2);
    parameters_ = floats(4 * square, 3);
    BNNSMHAProjectionParameters* const roles[] = {&layer_.query, &layer_.key, &layer_.value,
                                                  &layer_.output};
    for (size_t i = 0; i < 4; ++i) {
      for (size_t k = 0; k < square; ++k) parameters_[i * square + k] *= 0.2f;
      *roles[i] = role(i, nullptr, &parameters_[i * square]);
    }
    trainable_ = true;
    const BNNSFilter filter = make({0, 1, nullptr, nullptr});
    if (s.cached) apply(filter, nullptr, &cache_size_, nullptr);
    BNNSFilterDestroy(filter);
  }

  // The cache lies behind the output.
  Results make_results() const override {
    Results r;
    r.out.resize(batch() * rows() * sizeof(float) + cache_size_);
    r.in_delta.resize(batch() * rows());
    r.weights_delta.resize(parameters_.size());
    return r;
  }
  int forward(BNNSFilter filter, Results& r) const override {
    size_t size = cache_size_;
    return apply(filter, r.out.data(), shape_.cached ? &size : nullptr, cache(r));
  }
  int backward(BNNSFilter filter, Results& r) const override {
    BNNSMHAProjectionParameters d[4];
    for (size_t i = 0; i < 4; ++i) {
      d[i] = role(i, r.in_delta.data(), &r.weights_delta[i * shape_.size * shape_.size]);
      d[i].target_desc.stride[2] = 0;
    }
    d[3].target_desc.data = const_cast<float*>(out_delta_.data());
    const float* x = in_.data();
    return BNNSApplyMultiheadAttentionBackward(
        filter, batch(), x, 0, &d[0], x, 0, nullptr, 0, &d[1], x, 0, &d[2], nullptr, nullptr,
        nullptr, nullptr, 0, &d[3], cache_size_, cache(r), nullptr, nullptr);
  }

 private:
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerMultiheadAttention(&layer_, &p);
  }
  size_t rows() const { return shape_.length * shape_.size; }
  void* cache(Results& r) const {
    return shape_.cached ? r.out.data() + batch() * rows() * sizeof(float) : nullptr;
  }
  int apply(BNNSFilter filter, void* out, size_t* size, void* cache) const {
    const float* x = in_.data();
    return BNNSApplyMultiheadAttention(filter, batch(), x, 0, x, 0, nullptr, 0, x, 0, out, 0,
                                       nullptr, size, cache, nullptr, nullptr);
  }
  BNNSMHAProjectionParameters role(size_t i, float* data, float* weights) const {
    BNNSMHAProjectionParameters p = {};
    const size_t n = shape_.size;
    p.target_desc = array(BNNSDataLayoutRowMajorMatrix, {n, shape_.length}, data);
    p.weights = i == 3 ? array(BNNSDataLayoutRowMajorMatrix, {n, n}, weights)
                       : array(BNNSDataLayoutMHA_DHK, {n, n / shape_.heads, shape_.heads}, weights);
    return p;
  }

  Shape shape_;
  size_t cache_size_ = 0;
  BNNSLayerParametersMultiheadAttention layer_ = {};
  std::vector<float> in_, out_delta_, parameters_;
};

inline void add_attention_workloads(Workloads& all) {
  const auto add = [&](const char* name, const AttentionWorkload::Shape& shape) {
    all.push_back(std::make_unique<AttentionWorkload>(name, shape, 3));
  };
  add("attention", {5, 6, 2});
  add("attention with a cache", {33, 40, 2, true});
}

}  // namespace test

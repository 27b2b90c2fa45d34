// Fully connected filters with sparse weights as workloads.
#pragma once

#include <cstdlib>

#include "support/workload.h"

namespace test {

class SparseWorkload final : public Workload {
 public:
  SparseWorkload(std::string name, size_t in, size_t out, size_t batch, BNNSDataType type,
                 bool client_pointer)
      : Workload(std::move(name), batch), bias_(noise(out, BNNSDataTypeFloat16, 8)) {
    flags_ = client_pointer ? uint32_t{BNNSFlagsUseClientPtr} : 0;
    std::vector<int32_t> indices;
    for (size_t o = 0; o < out; ++o)
      for (size_t i = o % 5; i < in; i += 3 + o % 7) {
        indices.push_back(static_cast<int32_t>(i));
        indices.push_back(static_cast<int32_t>(o));
      }
    const size_t count = indices.size() / 2;
    std::vector<char> values = noise(count, type, 7);
    const BNNSNDArrayDescriptor shape = array(BNNSDataLayoutRowMajorMatrix, {in, out});
    const BNNSNDArrayDescriptor pairs = vector(2 * count, indices.data(), BNNSDataTypeInt32);
    const BNNSNDArrayDescriptor stored = vector(count, values.data(), type);
    BNNSNDArrayDescriptor packed = {};
    BNNSNDArrayFullyConnectedSparsifySparseCOO(&shape, &pairs, &stored, &packed, nullptr, batch,
                                               nullptr, 0, nullptr);
    packed_.reset(packed.data);
    layer_.i_desc = vector(in, nullptr, type);
    layer_.o_desc = vector(out, nullptr, type);
    layer_.w_desc = packed;
    layer_.bias = vector(out, bias_.data(), BNNSDataTypeFloat16);
    layer_.activation.function = BNNSActivationFunctionTanh;
    in_ = noise(batch * in, type, 1);
  }

  Results make_results() const override {
    Results r;
    r.out.resize(batch() * count(layer_.o_desc) * bytes_of(layer_.o_desc.data_type));
    return r;
  }
  int forward(BNNSFilter filter, Results& results) const override {
    return BNNSFilterApplyBatch(filter, batch(), in_.data(), 0, results.out.data(), 0);
  }
  int backward(BNNSFilter, Results&) const override { return -1; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  BNNSFilter make(const BNNSFilterParameters& p) const override {
    return BNNSFilterCreateLayerFullyConnected(&layer_, &p);
  }

  BNNSLayerParametersFullyConnected layer_ = {};
  std::vector<char> in_, bias_;
  std::unique_ptr<void, Free> packed_;
};

inline void add_sparse_workloads(Workloads& all) {
  const auto add = [&](const char* name, size_t batch, BNNSDataType type, bool client) {
    all.push_back(std::make_unique<SparseWorkload>(name, 60, 40, batch, type, client));
  };
  add("sparse, one sample", 1, BNNSDataTypeFloat32, false);
  add("sparse", 21, BNNSDataTypeFloat32, false);
  add("sparse halves", 21, BNNSDataTypeFloat16, true);
}

}  // namespace test

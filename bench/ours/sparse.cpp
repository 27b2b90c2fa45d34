// A fully connected layer with packed weights ("ours"), and with the same matrix as a dense one
// ("ours-dense").
#include "workloads/sparse.h"

#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <cstdlib>
#include <stdexcept>

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

template <class T>
BNNSNDArrayDescriptor vector(const T* data, size_t n, BNNSDataType type) {
  return {
      .layout = BNNSDataLayoutVector, .size = {n}, .data = const_cast<T*>(data), .data_type = type};
}

}  // namespace

void add_our_sparse(const Sparse& p, int threads, Rows& rows) {
  constexpr BNNSDataType kFloat = BNNSDataTypeFloat32;
  const FullyConnected& d = p.dense;
  const BNNSNDArrayDescriptor dense{.layout = BNNSDataLayoutRowMajorMatrix,
                                    .size = {d.inputs, d.outputs},
                                    .data = d.weights.data(),
                                    .data_type = kFloat};
  const auto values = vector(p.values.data(), p.values.size(), kFloat);
  const auto columns = vector(p.columns.data(), p.columns.size(), BNNSDataTypeInt32);
  const auto starts = vector(p.starts.data(), p.starts.size(), BNNSDataTypeInt32);
  BNNSNDArrayDescriptor packed{};
  require_success(BNNSNDArrayFullyConnectedSparsifySparseCSR(
      &dense, &columns, &starts, &values, &packed, nullptr, d.batch, nullptr, 0, nullptr));
  const std::shared_ptr<void> owner(packed.data, std::free);
  const BNNSFilterParameters settings{
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
  for (const auto& [who, weights] : {std::pair{"ours", packed}, std::pair{"ours-dense", dense}}) {
    const BNNSLayerParametersFullyConnected layer{
        .i_desc = vector<float>(nullptr, d.inputs, kFloat),
        .w_desc = weights,
        .o_desc = vector<float>(nullptr, d.outputs, kFloat),
        .bias = vector(d.bias.data(), d.outputs, kFloat),
        .activation = {}};
    const std::shared_ptr<void> filter(BNNSFilterCreateLayerFullyConnected(&layer, &settings),
                                       BNNSFilterDestroy);
    if (!filter) throw std::runtime_error(OpenBNNSGetLastError());
    const auto out = std::make_shared<Buffer>(d.batch * d.outputs);
    const auto call = [filter, out, &d] {
      require_success(BNNSFilterApplyBatch(filter.get(), d.batch, d.in.data(), 0, out->data(), 0));
    };
    rows.add("fwd", {.who = who,
                     .run = repeated(call),
                     .results =
                         [call, out] {
                           call();
                           return std::vector<Result>{{.tensor = "out", .value = out->copy()}};
                         },
                     .note = ""});
  }
}

}  // namespace bench

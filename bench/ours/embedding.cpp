// The embedding layer and BNNSGather through the C functions.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/embedding.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor rows_of(size_t width, size_t count, float* data) {
  return {.layout = BNNSDataLayoutRowMajorMatrix,
          .size = {width, count},
          .data = data,
          .data_type = BNNSDataTypeFloat32};
}

template <class F>
void add(Rows& rows, const char* op, const char* tensor, std::shared_ptr<Buffer> to, F call) {
  rows.add(op, {.who = "ours",
                .run = repeated(call),
                .results =
                    [=]() mutable {
                      call();
                      return std::vector<Result>{{.tensor = tensor, .value = to->copy()}};
                    },
                .note = ""});
}

}  // namespace

void add_our_embedding(const Embedding& p, int threads, Rows& rows) {
  const size_t n = p.indices.size();
  const BNNSFilterParameters settings{.flags = BNNSFlagsUseClientPtr,
                                      .n_threads = size_t(threads),
                                      .alloc_memory = nullptr,
                                      .free_memory = nullptr};
  const auto out = std::make_shared<Buffer>(p.out_delta.size());
  const auto delta = std::make_shared<Buffer>(p.dictionary.size());
  const BNNSNDArrayDescriptor indices{.layout = BNNSDataLayoutVector,
                                      .size = {n},
                                      .data = const_cast<int64_t*>(p.indices.data()),
                                      .data_type = BNNSDataTypeInt64};
  BNNSNDArrayDescriptor y = rows_of(p.width, n, out->data());
  const BNNSNDArrayDescriptor dictionary = rows_of(p.width, p.items, p.dictionary.data());
  if (!p.layer) {
    return add(rows, "fwd", "out", out, [=]() mutable {
      require_success(BNNSGather(0, &dictionary, &indices, &y, &settings));
    });
  }
  const BNNSLayerParametersEmbedding layer{.flags = {},
                                           .i_desc = indices,
                                           .o_desc = y,
                                           .dictionary = dictionary,
                                           .padding_idx = SIZE_MAX,
                                           .max_norm = 0,
                                           .norm_type = 0};
  const std::shared_ptr<void> filter(BNNSFilterCreateLayerEmbedding(&layer, &settings),
                                     BNNSFilterDestroy);
  if (!filter) throw std::runtime_error(OpenBNNSGetLastError());
  const int64_t* in = p.indices.data();
  add(rows, "fwd", "out", out,
      [=] { require_success(BNNSFilterApply(filter.get(), in, out->data())); });
  BNNSNDArrayDescriptor dw = rows_of(p.width, p.items, delta->data());
  const BNNSNDArrayDescriptor dy = rows_of(p.width, n, p.out_delta.data());
  add(rows, "bwd", "weights_delta", delta, [=]() mutable {
    require_success(BNNSFilterApplyBackwardBatch(filter.get(), 1, in, 0, nullptr, 0, nullptr, 0,
                                                 &dy, 0, &dw, nullptr));
  });
}

}  // namespace bench

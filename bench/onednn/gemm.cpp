#include <oneapi/dnnl/dnnl.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "workloads/gemm.h"
#include "workloads/workloads.h"

namespace bench {
namespace {

using Outputs = std::vector<std::pair<const char*, std::shared_ptr<Buffer>>>;

template <class F>
Entry entry(Outputs outputs, F call) {
  return {.who = "onednn-sgemm",
          .run = repeated(call),
          .results =
              [outputs, call]() mutable {
                call();
                std::vector<Result> list;
                for (const auto& [tensor, values] : outputs)
                  list.push_back({.tensor = tensor, .value = values->copy()});
                return list;
              },
          .note = ""};
}

void require_success(dnnl_status_t status) {
  if (status != dnnl_success) throw std::runtime_error("dnnl_sgemm failed");
}

}  // namespace

void add_onednn_gemm(const FullyConnected& p, Rows& rows) {
  const auto batch = dnnl_dim_t(p.batch), ni = dnnl_dim_t(p.inputs), no = dnnl_dim_t(p.outputs);
  const float *x = p.in.data(), *w = p.weights.data(), *b = p.bias.data(), *dy = p.out_delta.data();
  const auto y = std::make_shared<Buffer>(p.batch * p.outputs);
  const auto dx = std::make_shared<Buffer>(p.batch * p.inputs);
  const auto dw = std::make_shared<Buffer>(p.inputs * p.outputs);
  const auto db = std::make_shared<Buffer>(p.outputs);
  rows.add(
      "fwd", entry({{"out", y}}, [=] {
        for (dnnl_dim_t i = 0; i < batch; ++i) std::copy_n(b, no, y->data() + i * no);
        require_success(dnnl_sgemm('N', 'T', batch, no, ni, 1, x, ni, w, ni, 1, y->data(), no));
      }));
  rows.add(
      "bwd_data", entry({{"in_delta", dx}}, [=] {
        require_success(dnnl_sgemm('N', 'N', batch, ni, no, 1, dy, no, w, ni, 0, dx->data(), ni));
      }));
  rows.add(
      "bwd_weights", entry({{"weights_delta", dw}, {"bias_delta", db}}, [=] {
        require_success(dnnl_sgemm('T', 'N', no, ni, batch, 1, dy, no, x, ni, 0, dw->data(), ni));
        std::copy_n(dy, no, db->data());
        for (dnnl_dim_t i = 1; i < batch; ++i)
          for (dnnl_dim_t o = 0; o < no; ++o) db->data()[o] += dy[i * no + o];
      }));
}

}  // namespace bench

// Top k and nearest neighbours through the C functions.
#include <openbnns/bnns.h>
#include <openbnns/openbnns.h>

#include <stdexcept>

#include "workloads/top_k.h"

namespace bench {
namespace {

void require_success(int status) {
  if (status != 0) throw std::runtime_error(OpenBNNSGetLastError());
}

BNNSNDArrayDescriptor matrix(size_t columns, size_t rows, void* data, BNNSDataType type) {
  return {.layout = BNNSDataLayoutRowMajorMatrix,
          .size = {columns, rows},
          .data = data,
          .data_type = type};
}

BNNSFilterParameters settings(int threads) {
  return {
      .flags = 0, .n_threads = size_t(threads), .alloc_memory = nullptr, .free_memory = nullptr};
}

std::vector<float> as_floats(const std::vector<int32_t>& values) {
  return {values.begin(), values.end()};
}

}  // namespace

void add_our_top_k(const TopK& p, int threads, Rows& rows) {
  const auto values = std::make_shared<Buffer>(p.results());
  const auto indices = std::make_shared<std::vector<int32_t>>(p.results());
  const size_t k = p.k, axis = p.along_columns ? 0 : 1;
  const size_t columns = p.along_columns ? p.columns : k, count = p.along_columns ? k : p.lines;
  auto call = [=, in = matrix(p.columns, p.lines, p.in.data(), BNNSDataTypeFloat32),
               best = matrix(columns, count, values->data(), BNNSDataTypeFloat32),
               places = matrix(columns, count, indices->data(), BNNSDataTypeInt32),
               options = settings(threads)]() mutable {
    require_success(BNNSDirectApplyTopK(k, axis, 1, &in, 0, &best, 0, &places, 0, &options));
  };
  rows.add("fwd", {.who = "ours",
                   .run = repeated(call),
                   .results =
                       [=]() mutable {
                         call();
                         return std::vector<Result>{
                             {.tensor = "values", .value = values->copy()},
                             {.tensor = "indices", .value = as_floats(*indices)}};
                       },
                   .note = ""});
}

void add_our_neighbors(const Neighbors& p, int threads, Rows& rows) {
  const BNNSFilterParameters options = settings(threads);
  const std::shared_ptr<void> table(
      BNNSCreateNearestNeighbors(unsigned(p.samples), unsigned(p.features), unsigned(p.k),
                                 BNNSDataTypeFloat32, &options),
      BNNSDestroyNearestNeighbors);
  if (!table) throw std::runtime_error(OpenBNNSGetLastError());
  require_success(BNNSNearestNeighborsLoad(table.get(), unsigned(p.samples), p.in.data()));
  const auto distances = std::make_shared<Buffer>(p.samples * p.k);
  const auto indices = std::make_shared<std::vector<int>>(p.samples * p.k);
  const auto call = [=] {
    require_success(
        BNNSNearestNeighborsGetInfo(table.get(), -1, indices->data(), distances->data()));
  };
  rows.add("all",
           {.who = "ours",
            .run = repeated(call),
            .results =
                [=] {
                  call();
                  return std::vector<Result>{{.tensor = "distances", .value = distances->copy()}};
                },
            .note = ""});
}

}  // namespace bench

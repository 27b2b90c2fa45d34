// Embeddings and gather: input data and right results.
#include "workloads/embedding.h"

#include "harness/random.h"
#include "spec/layers/embedding.h"
#include "workloads/reference.h"

namespace bench {
namespace {

constexpr size_t kColumns = 8;  // of a row, which are checked

Expected expected_result(const Embedding& p, bool forward) {
  const size_t n = p.indices.size();
  const Indices columns = some_of(p.width, std::min(kColumns, p.width));
  const Indices item_at = positions({{p.items, all_of(p.items)}, {p.width, columns}});
  const Indices row_at = positions({{n, all_of(n)}, {p.width, columns}});
  const spec::Shape items{BNNSDataLayout2DLastMajor, {columns.size(), p.items}};
  const spec::Shape rows{BNNSDataLayout2DLastMajor, {columns.size(), n}};
  Tensor x(spec::vector_of(n), 1);
  for (size_t i = 0; i < n; ++i) x.data()[i] = double(p.indices[i]);
  const Tensor d = gather(items, p.dictionary, item_at), dy = gather(rows, p.out_delta, row_at);
  Tensors values = {.batch = 1, .value = {x, dy, d}, .delta = {x, dy, d}};
  const spec::reference::Embedding layer;
  if (forward) {
    layer.forward(values);
    return expect("out", values.value[layer.kOut], p.out_delta.size(), row_at);
  }
  layer.backward(values);
  return expect("weights_delta", values.delta[layer.kDictionary], p.dictionary.size(), item_at);
}

}  // namespace

Embedding::Embedding(size_t item_count, size_t item_width, size_t index_count, bool as_layer)
    : items(item_count),
      width(item_width),
      layer(as_layer),
      dictionary(items * width),
      out_delta(index_count * width) {
  Random random(items + width + index_count);
  random.fill(dictionary, -1, 1);
  random.fill(out_delta, -1, 1);
  for (size_t i = 0; i < index_count; ++i)
    indices.push_back(int64_t(random.next() * double(items)));
}

Row Embedding::row(const std::string& op) const {
  const bool forward = op == "fwd";
  const double rows = 4.0 * double(out_delta.size()), table = 4.0 * double(dictionary.size());
  Row row{.op = op,
          .flops = forward ? 0 : double(out_delta.size()),
          .read_bytes = rows + 8.0 * double(indices.size()),
          .write_bytes = forward ? rows : table,
          .working_set = rows + table};
  row.expected.push_back(expected_result(*this, forward));
  return row;
}

void append_embedding(std::vector<Workload>& list, bool quick) {
  const size_t items = quick ? 3000 : 30000, indices = quick ? 512 : 4096;
  for (const size_t width : {16, 256}) {
    const std::string name =
        std::to_string(indices) + " of " + std::to_string(items) + "x" + std::to_string(width);
    list.push_back({.family = "embedding", .name = name, .ops = {"fwd", "bwd"}, .make = [=] {
                      return std::make_unique<Embedding>(items, width, indices, true);
                    }});
    list.push_back({.family = "gather", .name = name, .ops = {"fwd"}, .make = [=] {
                      return std::make_unique<Embedding>(items, width, indices, false);
                    }});
  }
}

}  // namespace bench

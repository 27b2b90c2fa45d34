// Products of matrices: input data and right results.
#include "workloads/matmul.h"

#include <algorithm>

#include "harness/random.h"
#include "spec/layers/broadcast_matmul.h"
#include "workloads/reference.h"

namespace bench {
namespace {

// Products that the reference computes: about a second. Of more, some pairs are checked.
constexpr size_t kProducts = size_t{1} << 26;

void append_expected(const MatMul& p, bool forward, std::vector<Expected>& list) {
  const size_t n = p.size, each = n * n * n;
  const Indices pairs = some_of(p.count, std::clamp<size_t>(kProducts / each, 1, p.count));
  const Indices at = positions({{p.count, pairs}, {n * n, all_of(n * n)}});
  const spec::MatMulSettings settings = {.a = spec::row_major(n, n),
                                         .b = spec::row_major(n, n),
                                         .out = spec::row_major(n, n),
                                         .alpha = 1};
  const Tensor a = gather(settings.a, p.a, at), b = gather(settings.b, p.b, at);
  const Tensor dc = gather(settings.out, p.out_delta, at);
  Tensors values = {.batch = pairs.size(), .value = {a, dc, b}, .delta = {a, dc, b}};
  const spec::reference::Einsum layer(spec::matmul_einsum(settings));
  if (forward) {
    layer.forward(values);
    list.push_back(expect("out", values.value[1], p.a.size(), at));
    return;
  }
  layer.backward(values);
  list.push_back(expect("a_delta", values.delta[0], p.a.size(), at));
  list.push_back(expect("b_delta", values.delta[2], p.b.size(), at));
}

}  // namespace

MatMul::MatMul(size_t product_count, size_t matrix_size)
    : count(product_count),
      size(matrix_size),
      a(count * size * size),
      b(a.size()),
      out_delta(a.size()) {
  Random random(count + size);
  for (const Buffer* buffer : {&a, &b, &out_delta}) random.fill(*buffer, -1, 1);
}

Row MatMul::row(const std::string& op) const {
  const bool forward = op == "fwd";
  const double bytes = 4.0 * double(a.size());
  Row row{.op = op,
          .flops = (forward ? 2.0 : 4.0) * double(a.size() * size),
          .read_bytes = (forward ? 2 : 3) * bytes,
          .write_bytes = (forward ? 1 : 2) * bytes,
          .working_set = (forward ? 3 : 5) * bytes};
  append_expected(*this, forward, row.expected);
  return row;
}

void append_matmul(std::vector<Workload>& list, bool quick) {
  struct Case {
    size_t count, size;
  };
  for (const Case c : {Case{64, 16}, {64, 64}, {8, 512}}) {
    if (quick && c.size > 64) break;
    list.push_back({.family = "matmul",
                    .name = std::to_string(c.count) + "x" + std::to_string(c.size) + "^3",
                    .ops = {"fwd", "bwd"},
                    .make = [=] { return std::make_unique<MatMul>(c.count, c.size); }});
  }
}

}  // namespace bench

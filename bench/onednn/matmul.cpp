// Products of matrices with oneDNN's primitive, on the layouts the user has; a transposed operand
// is a tensor with other strides.
#include "workloads/matmul.h"

#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onednn/onednn.h"

namespace bench {
namespace {

using dnnl::memory;

struct Product {
  dnnl::matmul primitive;
  std::unordered_map<int, memory> arguments;

  Product(const MatMul& p, const float* a, bool turn_a, const float* b, bool turn_b, float* c) {
    const auto n = memory::dim(p.size);
    const auto desc = [&](bool turned) {
      return Desc({memory::dim(p.count), n, n}, memory::data_type::f32,
                  turned ? Tag::acb : Tag::abc);
    };
    const auto d = describe<dnnl::matmul>(desc(turn_a), desc(turn_b), desc(false));
    primitive = dnnl::matmul(d);
    arguments = {{DNNL_ARG_SRC, memory(desc(turn_a), engine(), const_cast<float*>(a))},
                 {DNNL_ARG_WEIGHTS, memory(desc(turn_b), engine(), const_cast<float*>(b))},
                 {DNNL_ARG_DST, memory(desc(false), engine(), c)}};
  }
  void run() const {
    primitive.execute(stream(), arguments);
    stream().wait();
  }
};

}  // namespace

void add_onednn_matmul(const MatMul& p, Rows& rows) {
  const auto out = std::make_shared<Buffer>(p.a.size());
  const auto da = std::make_shared<Buffer>(p.a.size()), db = std::make_shared<Buffer>(p.b.size());
  const auto fwd = std::make_shared<Product>(p, p.a.data(), false, p.b.data(), false, out->data());
  const auto to_a =
      std::make_shared<Product>(p, p.out_delta.data(), false, p.b.data(), true, da->data());
  const auto to_b =
      std::make_shared<Product>(p, p.a.data(), true, p.out_delta.data(), false, db->data());
  const auto forward = [=] { fwd->run(); };
  const auto backward = [=] {
    to_a->run();
    to_b->run();
  };
  rows.add("fwd", {.who = "onednn",
                   .run = repeated(forward),
                   .results =
                       [=] {
                         forward();
                         return std::vector<Result>{{.tensor = "out", .value = out->copy()}};
                       },
                   .note = ""});
  rows.add("bwd", {.who = "onednn",
                   .run = repeated(backward),
                   .results =
                       [=] {
                         backward();
                         return std::vector<Result>{{.tensor = "a_delta", .value = da->copy()},
                                                    {.tensor = "b_delta", .value = db->copy()}};
                       },
                   .note = ""});
}

}  // namespace bench

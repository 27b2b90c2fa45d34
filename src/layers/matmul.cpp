// Products of matrices that may have leading axes: C = beta C + alpha op(A) op(B) on the last two
// coordinates, where op transposes or not. Leading coordinates are matched from the last on; one
// that is missing, or has the size 1, is repeated. The filter and its gradients are those of
// layers/contraction.
#include "layers/matmul.h"

#include <algorithm>
#include <limits>

#include "layers/contraction.h"

namespace bnns::impl {
namespace {

struct Operands {
  const char *a, *b, *out;  // names for messages
};

// Text of the shape of an operand of a product.
Text operand_text(const Descriptor& d, bool transposed) {
  return Text(describe(d), transposed ? " (transposed)" : "");
}

// The logical coordinate that lies `from_last` before the last one; its axis is that of the view.
struct Coordinate {
  size_t extent = 1;
  uint8_t axis = ContractionIndex::kNoAxis;

  Coordinate(const Descriptor& d, size_t from_last) {
    if (from_last >= d.rank()) return;
    const size_t i = d.rank() - 1 - from_last;
    extent = d.logical_extent(i);
    if (extent > 1) axis = view_axis(*d.layout, i);
  }
};

// The indices of a product: rows, columns, depth, then the leading ones.
void read_indices(ContractionParameters& p, bool trans_a, bool trans_b, const Operands& names) {
  const Descriptor &a = p.tensor[kLeft], &b = p.descriptor(kRight), &out = p.tensor[kResult];
  const auto shapes = [&] {
    return Text(names.a, " is ", operand_text(a, trans_a), ", ", names.b, " is ",
                operand_text(b, trans_b));
  };
  const Coordinate a_row(a, trans_a ? 0 : 1), a_k(a, trans_a ? 1 : 0);
  const Coordinate b_k(b, trans_b ? 0 : 1), b_column(b, trans_b ? 1 : 0);
  const Coordinate row(out, 1), column(out, 0);
  if (a_k.extent != b_k.extent) {
    fail(shapes(), "; the first has ", a_k.extent, " columns, the second ", b_k.extent,
         " rows, which must be equal");
  }
  bool fits = row.extent == a_row.extent && column.extent == b_column.extent;
  p.indices = 0;
  const auto add = [&](size_t extent, uint8_t in_a, uint8_t in_b, uint8_t in_out) {
    p.index[p.indices++] = {.extent = extent, .axis = {in_a, in_b, in_out}};
  };
  constexpr uint8_t kNoAxis = ContractionIndex::kNoAxis;
  add(a_row.extent, a_row.axis, kNoAxis, row.axis);
  add(b_column.extent, kNoAxis, b_column.axis, column.axis);
  add(a_k.extent, a_k.axis, b_k.axis, kNoAxis);
  const size_t most = std::max({a.rank(), b.rank(), out.rank()});
  for (size_t i = 2; i < most; ++i) {
    const Coordinate x(a, i), y(b, i), z(out, i);
    const size_t extent = std::max(x.extent, y.extent);
    if ((x.extent != 1 && x.extent != extent) || (y.extent != 1 && y.extent != extent)) {
      fail(shapes(), "; their sizes ", x.extent, " and ", y.extent, " in coordinate ", i + 1,
           " from the last do not broadcast");
    }
    fits &= z.extent == extent;
    add(extent, x.axis, y.axis, z.axis);
  }
  if (!fits) {
    fail(names.out, " is ", describe(out), ", but ", shapes(), "; the product has ", a_row.extent,
         " rows and ", b_column.extent, " columns, and the leading sizes of both broadcast");
  }
}

ContractionParameters read_matmul(const BNNSLayerParametersBroadcastMatMul* p) {
  require(p != nullptr, "layer_params is NULL");
  check_contraction_scalars(p->alpha, p->beta);
  require(!p->a_is_weights || !p->b_is_weights,
          "a_is_weights and b_is_weights are both true; one operand must be an input");
  require(!p->quadratic || (!p->a_is_weights && !p->b_is_weights), "quadratic is true with ",
          p->a_is_weights ? "a_is_weights" : "b_is_weights",
          "; a tensor times itself has no weights");
  ContractionParameters c;
  c.kind = "a matrix product filter";
  c.alpha = p->alpha;
  c.accumulate = p->beta == 1;
  c.a_is_weights = p->a_is_weights;
  c.b_source = p->quadratic      ? ContractionSource::kSame
               : p->b_is_weights ? ContractionSource::kWeights
                                 : ContractionSource::kInput;
  c.tensor[kLeft] = read_contraction_tensor(p->iA_desc, "iA_desc", Use::kInput, 2);
  if (!p->quadratic)
    c.tensor[kRight] = read_contraction_tensor(p->iB_desc, "iB_desc", Use::kInput, 2);
  c.tensor[kResult] = read_contraction_tensor(p->o_desc, "o_desc", Use::kOutput, 2);
  read_indices(c, p->transA, p->transB,
               {"iA_desc", p->quadratic ? "itself as the second operand" : "iB_desc", "o_desc"});
  return c;
}

struct DirectProduct {
  ContractionParameters parameters;
  FilterOptions options;

  explicit DirectProduct(const DirectMatMul& p) : options(p.filter_parameters) {
    require(p.a != nullptr, "inputA is NULL");
    require(p.b != nullptr, "inputB is NULL");
    require(p.out != nullptr, "output is NULL");
    check_contraction_scalars(p.alpha, 0);
    parameters.kind = "a matrix product";
    parameters.alpha = p.alpha;
    parameters.tensor[kLeft] = read_contraction_tensor(*p.a, "inputA", Use::kInput, 2);
    parameters.tensor[kRight] = read_contraction_tensor(*p.b, "inputB", Use::kInput, 2);
    parameters.tensor[kResult] = read_contraction_tensor(*p.out, "output", Use::kOutput, 2);
    read_indices(parameters, p.trans_a, p.trans_b, {"inputA", "inputB", "output"});
  }

  const View& view(ContractionTensor t) const { return parameters.tensor[t].view; }
  ContractionOp op() const {
    return ContractionOp(
        *gemm_kernels(), *convert_kernels(), options.threads,
        contraction_problem(parameters, 1, {kLeft, kRight, kResult},
                            {{&view(kLeft), 0}, {&view(kRight), 0}, {&view(kResult), 0}}));
  }
};

// Room to align whatever the client passes.
size_t workspace_bytes(size_t floats) {
  if (floats == 0) return 0;
  return checked_add(checked_mul(floats, sizeof(float), "the workspace"), kAlignment - 1,
                     "the workspace");
}

}  // namespace

BNNSFilter make_matmul_filter(const BNNSLayerParametersBroadcastMatMul* parameters,
                              const BNNSFilterParameters* filter_parameters) {
  return make_contraction_filter(FilterOptions(filter_parameters), read_matmul(parameters));
}

size_t matmul_workspace_size(const DirectMatMul& product) {
  const size_t bytes = workspace_bytes(DirectProduct(product).op().scratch());
  require(bytes <= static_cast<size_t>(std::numeric_limits<ptrdiff_t>::max()), "the workspace has ",
          bytes, " bytes; that is more than an address space");
  return bytes;
}

void apply_matmul(const DirectMatMul& product, void* workspace) {
  const DirectProduct p(product);
  Call call(1);
  call.reads(p.parameters.tensor[kLeft], product.a->data, 0, {"inputA->data"});
  call.reads(p.parameters.tensor[kRight], product.b->data, 0, {"inputB->data"});
  call.writes(p.parameters.tensor[kResult], product.out->data, 0, {"output->data"});
  const ContractionOp op = p.op();
  const size_t floats = op.scratch();
  Array<float> own;
  float* memory = nullptr;
  if (floats > 0 && workspace != nullptr) {
    auto* begin = static_cast<char*>(workspace);
    call.writes(Range{begin, begin + workspace_bytes(floats)}, "workspace");
    const auto address = reinterpret_cast<uintptr_t>(begin);
    memory = reinterpret_cast<float*>(begin + (kAlignment - address % kAlignment) % kAlignment);
  }
  call.check_overlaps();
  if (floats > 0 && workspace == nullptr) {
    own = Array<float>(p.options.memory, floats);
    memory = own.data();
  }
  op.run({.a = product.a->data, .b = product.b->data, .c = product.out->data}, memory);
}

}  // namespace bnns::impl

#include "layers/reduction_read.h"

#include <algorithm>
#include <cmath>

namespace bnns::impl {
namespace {

bool is_small_integer(const Descriptor& d) {
  return d.type->kind == TypeClass::kBoolean || d.type->type == BNNSDataTypeInt32;
}

// The number of integers from 0 up that a type holds exactly; 0 for types that take no index.
double index_limit(const TypeInfo& type) {
  switch (type.kind) {
    case TypeClass::kFloat:
      return type.bits == 32                    ? 0x1p24 + 1
             : type.type == BNNSDataTypeFloat16 ? 0x1p11 + 1
                                                : 0x1p8 + 1;
    case TypeClass::kSigned:
      return type.bits < 8 ? 0 : std::ldexp(1.0, type.bits - 1);
    case TypeClass::kUnsigned:
      return type.bits < 8 ? 0 : std::ldexp(1.0, type.bits);
    default:
      return 0;
  }
}

void check_types(const ReductionParameters& p) {
  const ReduceInfo& info = *p.info;
  require(p.is_float() || (info.integers() && is_small_integer(p.in)), "i_desc.data_type is ",
          p.in.type->name, "; ", info.name,
          info.integers() ? " takes Float32, Float16, BFloat16, Boolean and Int32"
                          : " takes Float32, Float16 and BFloat16");
  const bool out_float = p.out.type->kind == TypeClass::kFloat;
  if (info.index()) {
    require(index_limit(*p.out.type) > 0, "o_desc.data_type is ", p.out.type->name,
            "; an index is an integer of at least 8 bits or a float");
    const size_t n = p.in.view.count / p.out.view.count;
    require(static_cast<double>(n) <= index_limit(*p.out.type), "o_desc.data_type is ",
            p.out.type->name, ", which does not hold all indices of ", n, " reduced elements");
    return;
  }
  const bool truth = info.truth() && p.out.type->kind == TypeClass::kBoolean;
  require(truth || (p.is_float() ? out_float : is_small_integer(p.out)), "o_desc.data_type is ",
          p.out.type->name, ", i_desc.data_type is ", p.in.type->name,
          p.is_float() ? "; floats are reduced to Float32, Float16 or BFloat16, truth values also "
                         "to Boolean"
                       : "; Boolean and Int32 are reduced to Boolean or Int32");
}

void check_weights(const ReductionParameters& p) {
  const Descriptor& w = p.weights;
  const bool w_float = w.type->kind == TypeClass::kFloat;
  require(p.is_float() ? w_float : is_small_integer(w), "w_desc.data_type is ", w.type->name,
          ", i_desc.data_type is ", p.in.type->name,
          p.is_float() ? "; weights of floats are Float32, Float16 or BFloat16"
                       : "; weights of Boolean and Int32 are Boolean or Int32");
  bool equal = w.rank() == p.in.rank();
  for (size_t i = 0; equal && i < w.rank(); ++i) equal = w.size[i] == p.in.size[i];
  if (!equal) {
    fail("w_desc is ", describe(w), ", i_desc is ", describe(p.in),
         "; they must have the same sizes");
  }
  if (w.layout->rotated != p.in.layout->rotated) {
    fail_unsupported("w_desc is ", describe(w), ", i_desc is ", describe(p.in),
                     "; rotated weights go with a rotated input only");
  }
}

// Whether entry i of size[] runs backwards in memory.
bool is_reversed(const Descriptor& d, size_t i) {
  return d.layout->rotated && i < 2;
}

// The stride of entry i of size[].
size_t stride_of(const ReductionTensor& tensor, size_t i) {
  const auto* pair = tensor.shape->layout->pair;
  return tensor.batch.sample->stride[std::find(pair, pair + tensor.shape->rank(), i) - pair];
}

}  // namespace

ReductionParameters read_reduction(const BNNSLayerParametersReduction* given) {
  require(given != nullptr, "layer_params is NULL");
  ReductionParameters p;
  require(given->reduce_func != BNNSReduceFunctionNone,
          "reduce_func is BNNSReduceFunctionNone; only scatter takes it");
  p.info = find_reduce(given->reduce_func);
  require(p.info != nullptr, "reduce_func is ", static_cast<uint32_t>(given->reduce_func),
          "; that is no BNNSReduceFunction");
  if (p.info->kind == ReduceKind::kSumLog) {
    p.epsilon = given->epsilon;
    require(std::isfinite(p.epsilon) && p.epsilon >= 0, "epsilon is ", double{p.epsilon},
            "; it must be finite and at least 0");
  }
  p.in = read_descriptor(given->i_desc, "i_desc", Use::kInput);
  p.out = read_descriptor(given->o_desc, "o_desc", Use::kOutput);
  require_plain_layout(p.in, "i_desc");
  require_plain_layout(p.out, "o_desc");
  bool fits = p.in.rank() == p.out.rank();
  for (size_t i = 0; fits && i < p.in.rank(); ++i)
    fits = p.out.size[i] == 1 || p.out.size[i] == p.in.size[i];
  if (!fits) {
    fail("o_desc is ", describe(p.out), ", i_desc is ", describe(p.in),
         "; each size of o_desc must be 1, where it is reduced, or that of i_desc");
  }
  p.weighted = given->w_desc.data != nullptr;
  if (p.weighted) {
    p.weights = read_descriptor(given->w_desc, "w_desc", Use::kInput);
    require_plain_layout(p.weights, "w_desc");
    const Text data("w_desc", ".data");
    require_data(p.weights.view.data, p.weights.view.type, data.c_str());
    check_weights(p);
  }
  check_types(p);
  return p;
}

ReduceProblem reduction_problem(const ReductionParameters& p, const ReductionTensors& tensors,
                                size_t samples) {
  ReduceProblem problem;
  problem.info = p.info;
  problem.epsilon = p.epsilon;
  problem.weighted = p.weighted;
  ptrdiff_t origin[kReduceTensors] = {};
  for (size_t k = 0; k < p.in.rank(); ++k) {
    const size_t i = p.in.layout->pair[k], extent = p.in.size[i];
    const bool reduced = p.out.size[i] == 1 && extent > 1;
    ReduceAxes::Axis axis = {.extent = extent, .reduced = reduced, .stride = {}};
    for (size_t t = 0; t < kReduceTensors; ++t) {
      const Descriptor* d = tensors[t].shape;
      if (d == nullptr || (reduced && d == &p.out)) continue;
      const auto stride = static_cast<ptrdiff_t>(stride_of(tensors[t], i));
      const bool against = is_reversed(*d, i) != is_reversed(p.in, i);
      axis.stride[t] = against ? -stride : stride;
      if (against) origin[t] += static_cast<ptrdiff_t>(extent - 1) * stride;
    }
    if (reduced && is_reversed(p.in, i)) problem.reversed |= uint32_t{1} << k;
    problem.axes.push(axis);
  }
  ReduceAxes::Axis batch = {.extent = samples, .reduced = false, .stride = {}};
  for (size_t t = 0; t < kReduceTensors; ++t) {
    const ReductionTensor& tensor = tensors[t];
    if (tensor.shape == nullptr) continue;
    batch.stride[t] = tensor.batch.size > 1 ? static_cast<ptrdiff_t>(tensor.batch.step) : 0;
    AxesTensor& to = problem.tensor[t];
    to = tensor_of(*tensor.batch.sample);
    to.data = tensor.batch.data;
    if (to.data == nullptr) continue;
    to.data = static_cast<char*>(to.data) + origin[t] * static_cast<ptrdiff_t>(type_bytes(to.type));
  }
  problem.axes.push(batch);
  return problem;
}

}  // namespace bnns::impl

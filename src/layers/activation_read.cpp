#include "layers/activation_read.h"

#include <algorithm>
#include <cmath>

#include "layers/activation.h"

namespace bnns::impl {
namespace {

void check_channels(const BNNSLayerParametersActivation& p, ActivationParameters& problem) {
  const ActivationInfo& info = *problem.info;
  if (info.kind != ActivationClass::kChannel && info.kind != ActivationClass::kInteger) return;
  const bool image = p.i_desc.layout == BNNSDataLayoutImageCHW;
  if (image) {
    problem.channels = problem.in.size[2];
    problem.plane = problem.in.size[0] * problem.in.size[1];
  } else if (info.function == BNNSActivationFunctionIntegerLinearSaturatePerChannel) {
    require(problem.in.rank() == 1, "i_desc.layout is ", problem.in.layout->name, "; ", info.name,
            " needs ImageCHW or a vector");
    problem.channels = problem.in.size[0];
  } else {
    require(info.kind == ActivationClass::kInteger, "i_desc.layout is ", problem.in.layout->name,
            "; ", info.name, " needs ImageCHW");
  }
}

void check_types(const ActivationParameters& problem) {
  const TypeInfo &in = *problem.in.type, &out = *problem.out.type;
  if (problem.info->kind == ActivationClass::kInteger) {
    require(in.is_integer() && in.bytes() > 0, "i_desc.data_type is ", in.name, "; ",
            problem.info->name, " needs an integer type");
    require(out.is_integer() && out.bytes() > 0, "o_desc.data_type is ", out.name, "; ",
            problem.info->name, " needs an integer type");
  }
  require(can_write(out), "o_desc.data_type is ", out.name, "; it cannot be written");
}

void check_axis_flags(ActivationParameters& problem) {
  if (problem.info->kind != ActivationClass::kAxis) return;
  const size_t rank = problem.in.rank();
  const uint32_t known = (2u << rank) - 1;
  require((problem.axis_flags & ~known) == 0, "axis_flags is ", problem.axis_flags, "; i_desc has ",
          rank, " axes and the batch, so that only bits of ", known, " may be set");
  if (problem.axis_flags == 0) problem.axis_flags = 1;
}

// Sizes other than 1, in the order of memory. Those of the input without the flagged axes.
struct SizesInMemory {
  size_t count = 0;
  size_t size[kMaxRank] = {};

  SizesInMemory(const Descriptor& d, uint32_t flags) {
    for (size_t k = 0; k < d.rank(); ++k) {
      const bool flagged = (flags >> d.layout->pair[k] & 1) != 0;
      if (d.view.extent[k] > 1 && !flagged) size[count++] = d.view.extent[k];
    }
  }
};

// Whether the output has the sizes of the input, but 1 along the flagged axes, or without them.
bool has_one_per_row(const ActivationParameters& p) {
  if ((p.axis_flags >> p.in.rank()) != 0) return false;
  if (p.in.layout == p.out.layout) {
    bool fits = true;
    for (size_t k = 0; fits && k < p.in.rank(); ++k)
      fits = p.out.size[k] == ((p.axis_flags >> k & 1) != 0 ? 1 : p.in.size[k]);
    return fits;
  }
  const SizesInMemory rows(p.in, p.axis_flags), out(p.out, 0);
  return rows.count == out.count && std::equal(rows.size, rows.size + rows.count, out.size);
}

// The output must hold the index of the last element of a row, which is computed as a float.
void check_index_type(const ActivationParameters& p) {
  const TypeInfo& type = *p.out.type;
  const bool is_float = type.kind == TypeClass::kFloat;
  require(is_float || (type.is_integer() && p.out.view.scaling.is_plain()), "o_desc.data_type is ",
          type.name,
          "; an index needs a floating-point type, or an integer type without scale and bias");
  const size_t length = p.in.view.count / p.out.view.count;
  const size_t bits = type.bits - (type.kind == TypeClass::kSigned ? 1u : 0u);
  const size_t digits = std::min<size_t>(24, is_float ? exact_digits(type.type) : bits);
  const size_t most = (size_t{1} << digits) + (is_float ? 1 : 0);
  require(length <= most, "o_desc.data_type is ", type.name, "; it holds the indices of ", most,
          " elements, a row has ", length);
}

void check_counts(ActivationParameters& problem) {
  if (problem.in.view.count == problem.out.view.count) return;
  problem.gives_index =
      problem.info->function == BNNSActivationFunctionGumbelMax && has_one_per_row(problem);
  if (problem.gives_index) return check_index_type(problem);
  const bool is_gumbel_max = problem.info->function == BNNSActivationFunctionGumbelMax;
  fail("i_desc is ", describe(problem.in), ", o_desc is ", describe(problem.out),
       "; they must have the same number of elements",
       is_gumbel_max ? ", or o_desc the sizes of i_desc with size 1 along the axes of axis_flags"
                     : "");
}

}  // namespace

const ActivationInfo& read_activation(const BNNSActivation& activation) {
  const ActivationInfo* info = find_activation(activation.function);
  require(info != nullptr, "activation.function is ", static_cast<uint32_t>(activation.function),
          "; that is no BNNSActivationFunction");
  require(!info->uses_alpha || std::isfinite(activation.alpha), "activation.alpha is ",
          double{activation.alpha}, "; ", info->name, " needs a finite one");
  require(!info->uses_beta || std::isfinite(activation.beta), "activation.beta is ",
          double{activation.beta}, "; ", info->name, " needs a finite one");
  return *info;
}

ActivationParameters read_activation_layer(const BNNSLayerParametersActivation* p) {
  require(p != nullptr, "layer_params is NULL");
  ActivationParameters problem = {.info = &read_activation(p->activation),
                                  .in = read_descriptor(p->i_desc, "i_desc", Use::kInput),
                                  .out = read_descriptor(p->o_desc, "o_desc", Use::kOutput),
                                  .axis_flags = p->axis_flags};
  require_plain_layout(problem.in, "i_desc");
  require_plain_layout(problem.out, "o_desc");
  check_axis_flags(problem);
  check_counts(problem);
  check_channels(*p, problem);
  check_types(problem);
  return problem;
}

}  // namespace bnns::impl

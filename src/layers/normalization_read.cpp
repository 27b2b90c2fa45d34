// BNNSLayerParametersNormalization -> NormalizationProblem. A Vector of length L is L channels of
// one pixel each.
#include <cmath>

#include "layers/activation.h"
#include "layers/normalization.h"

namespace bnns::impl {
namespace {

struct KindInfo {
  BNNSFilterType type;
  NormalizationKind kind;
  const char* name;
  bool moves;  // whether it has moving statistics
};

constexpr KindInfo kKinds[] = {
    {BNNSBatchNorm, NormalizationKind::kBatch, "batch normalization", true},
    {BNNSInstanceNorm, NormalizationKind::kInstance, "instance normalization", true},
    {BNNSLayerNorm, NormalizationKind::kLayer, "layer normalization", false},
    {BNNSGroupNorm, NormalizationKind::kGroup, "group normalization", false},
};

const KindInfo& find_kind(BNNSFilterType type) {
  for (const KindInfo& row : kKinds) {
    if (row.type == type) return row;
  }
  fail("normType is ", static_cast<uint32_t>(type),
       "; it must be BNNSBatchNorm (2), BNNSInstanceNorm (3), BNNSLayerNorm (4) or ",
       "BNNSGroupNorm (5)");
}

void require_floating(const Descriptor& d, const char* field) {
  require(d.type->kind == TypeClass::kFloat, field, ".data_type is ", d.type->name,
          "; normalization takes Float32, Float16 and BFloat16");
}

void check_tensors(const Descriptor& in, const Descriptor& out) {
  const BNNSDataLayout layout = in.layout->layout;
  require(layout == BNNSDataLayoutImageCHW || layout == BNNSDataLayoutVector, "i_desc.layout is ",
          in.layout->name, "; it must be ImageCHW or Vector");
  require_floating(in, "i_desc");
  require_floating(out, "o_desc");
  bool equal = in.layout == out.layout;
  for (size_t k = 0; equal && k < in.rank(); ++k) equal = in.size[k] == out.size[k];
  if (!equal) {
    fail("o_desc is ", describe(out), ", but i_desc is ", describe(in),
         "; they must have the same layout and sizes");
  }
}

void set_sizes(const Descriptor& in, NormalizationProblem& problem) {
  const bool image = in.rank() == 3;
  problem.width = image ? in.size[0] : 1;
  problem.height = image ? in.size[1] : 1;
  problem.channels = in.size[image ? 2 : 0];
}

// Sets how many elements of a sample are normalized together.
void set_rows(const BNNSLayerParametersNormalization& p, NormalizationProblem& problem) {
  const size_t channels = problem.channels, plane = problem.plane();
  problem.row = plane;
  if (problem.kind == NormalizationKind::kLayer) {
    require(p.normalization_axis <= 2, "normalization_axis is ", p.normalization_axis,
            "; it must be 0 (over C, H, W), 1 (over H, W) or 2 (over W)");
    const size_t rows[] = {problem.count(), plane, problem.width};
    problem.row = rows[p.normalization_axis];
  } else if (problem.kind == NormalizationKind::kGroup) {
    require(p.num_groups > 0, "num_groups is 0; it must be at least 1");
    require(channels % p.num_groups == 0, "num_groups is ", p.num_groups, ", but i_desc has ",
            channels, " channels; they must be divisible by num_groups");
    problem.row = channels / p.num_groups * plane;
  }
}

void set_scalars(const BNNSLayerParametersNormalization& p, const KindInfo& kind,
                 NormalizationProblem& problem) {
  require(std::isfinite(p.epsilon) && p.epsilon >= 0, "epsilon is ", double{p.epsilon},
          "; it must be finite and not negative");
  require(!kind.moves || (p.momentum >= 0 && p.momentum <= 1), "momentum is ", double{p.momentum},
          "; it must be between 0 and 1");
  problem.epsilon = p.epsilon;
  problem.momentum = p.momentum;
  const ActivationInfo& row = read_activation(p.activation);
  require(row.kind == ActivationClass::kElement, "activation.function is ", row.name,
          "; normalization takes functions of single elements only");
  problem.activation = FusedActivation(row, coefficients_of(p.activation));
}

// Checks beta or gamma of layer normalization: in memory order, each extent must be 1 or that of
// the input.
void check_broadcast(const Descriptor& d, const char* field, const Descriptor& in) {
  bool fits = d.rank() <= in.rank();
  for (size_t k = 0; fits && k < d.rank(); ++k)
    fits = d.view.extent[k] == 1 || d.view.extent[k] == in.view.extent[k];
  if (!fits) {
    fail(field, " is ", describe(d), ", but i_desc is ", describe(in),
         "; each size must be 1 or that of the input");
  }
}

AffineParameter read_affine(const Descriptor& d, const char* field,
                            const NormalizationParameters& p) {
  require_plain_layout(d, field);
  require_floating(d, field);
  require_data(d.view.data, d.view.type, field);
  AffineParameter result = {.view = collapsed(d.view), .extent = {1, 1, p.problem.channels}};
  if (p.kind != NormalizationKind::kLayer) {
    require(d.view.count == p.problem.channels, field, " has ", d.view.count,
            " elements, but i_desc has ", p.problem.channels, " channels; they must be equal");
    return result;
  }
  check_broadcast(d, field, p.in);
  if (p.in.rank() == 1) {
    result.extent[2] = d.view.count;
    return result;
  }
  for (size_t k = 0; k < 3; ++k) result.extent[k] = k < d.rank() ? d.view.extent[k] : 1;
  return result;
}

View read_moving(const Descriptor& d, const char* field, size_t channels) {
  require_plain_layout(d, field);
  require(d.view.is_float(), field, ".data_type is ", d.type->name,
          "; moving statistics are Float32");
  require(d.view.count == channels, field, " has ", d.view.count, " elements, but i_desc has ",
          channels, " channels; they must be equal");
  require_data(d.view.data, BNNSDataTypeFloat32, field);
  return collapsed(d.view);
}

void read_optional(const BNNSLayerParametersNormalization& given, bool moves,
                   NormalizationParameters& p) {
  p.has_beta = given.beta_desc.data != nullptr;
  p.has_gamma = given.gamma_desc.data != nullptr;
  if (p.has_beta) {
    p.beta = read_descriptor(given.beta_desc, "beta_desc", Use::kInput);
    p.problem.beta = read_affine(p.beta, "beta_desc", p);
  }
  if (p.has_gamma) {
    p.gamma = read_descriptor(given.gamma_desc, "gamma_desc", Use::kInput);
    p.problem.gamma = read_affine(p.gamma, "gamma_desc", p);
  }
  require(!p.has_beta || !p.has_gamma || p.beta.type == p.gamma.type, "beta_desc.data_type is ",
          p.has_beta ? p.beta.type->name : "", ", gamma_desc.data_type is ",
          p.has_gamma ? p.gamma.type->name : "", "; they must be equal");
  if (!moves) return;
  const size_t channels = p.problem.channels;
  p.has_moving_mean = given.moving_mean_desc.data != nullptr;
  p.has_moving_variance = given.moving_variance_desc.data != nullptr;
  if (p.has_moving_mean) {
    p.moving_mean = read_descriptor(given.moving_mean_desc, "moving_mean_desc", Use::kOutput);
    p.problem.moving_mean = read_moving(p.moving_mean, "moving_mean_desc", channels);
  }
  if (p.has_moving_variance) {
    p.moving_variance =
        read_descriptor(given.moving_variance_desc, "moving_variance_desc", Use::kOutput);
    p.problem.moving_variance = read_moving(p.moving_variance, "moving_variance_desc", channels);
  }
}

}  // namespace

NormalizationParameters read_normalization(BNNSFilterType type,
                                           const BNNSLayerParametersNormalization* given) {
  require(given != nullptr, "layer_params is NULL");
  const KindInfo& kind = find_kind(type);
  NormalizationParameters p;
  p.kind = p.problem.kind = kind.kind;
  p.in = read_descriptor(given->i_desc, "i_desc", Use::kInput);
  p.out = read_descriptor(given->o_desc, "o_desc", Use::kOutput);
  check_tensors(p.in, p.out);
  set_sizes(p.in, p.problem);
  set_rows(*given, p.problem);
  set_scalars(*given, kind, p.problem);
  read_optional(*given, kind.moves, p);
  return p;
}

const char* normalization_name(NormalizationKind kind) {
  for (const KindInfo& row : kKinds) {
    if (row.kind == kind) return row.name;
  }
  return "";
}

}  // namespace bnns::impl

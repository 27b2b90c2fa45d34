// W(o, i) has a row per output and a column per input; types and sizes of all four tensors agree.
#include "layers/fully_connected_read.h"

#include "layers/activation.h"

namespace bnns::impl {
namespace {

void require_number(const Descriptor& d, const char* field) {
  const bool number = d.type->kind == TypeClass::kFloat ||
                      (d.type->is_integer() && d.type->bits >= 8 && d.type->bits <= 32);
  require(number, field, ".data_type is ", d.type->name,
          "; a fully connected layer takes floating-point types and integers of 8 to 32 bits");
  require_plain_layout(d, field);
}

void check_weights(const FullyConnectedParameters& p) {
  const Descriptor& w = p.weights;
  if (w.layout->opaque) {
    fail_unsupported("w_desc.layout is ", w.layout->name,
                     "; packed weights are for a fully connected filter of their own");
  }
  require(w.rank() == 2 && !w.layout->packed32, "w_desc.layout is ", w.layout->name,
          "; it must be a two-dimensional layout");
  require(w.type->kind != TypeClass::kBoolean && w.type->bits <= 32, "w_desc.data_type is ",
          w.type->name, "; weights are floating-point, indexed or integers of at most 32 bits");
  require(w.logical_extent(0) == p.out.view.count, "w_desc has ", w.logical_extent(0),
          " rows, o_desc has ", p.out.view.count, " elements; they must be equal");
  require(w.logical_extent(1) == p.in.view.count, "w_desc has ", w.logical_extent(1),
          " columns, i_desc has ", p.in.view.count, " elements; they must be equal");
  require_data(w.view.data, w.view.type, "w_desc.data");
}

void check_bias(const FullyConnectedParameters& p) {
  if (!p.has_bias) return;
  require_plain_layout(p.bias, "bias");
  require(p.bias.type->kind != TypeClass::kBoolean && p.bias.type->bits <= 32, "bias.data_type is ",
          p.bias.type->name,
          "; a bias is floating-point, indexed or an integer of at most 32 bits");
  require(p.bias.view.count == p.out.view.count, "bias has ", p.bias.view.count,
          " elements, o_desc has ", p.out.view.count, "; they must be equal");
  require_data(p.bias.view.data, p.bias.view.type, "bias.data");
}

void check_activation(const FullyConnectedParameters& p) {
  require(p.activation->kind != ActivationClass::kChannel, "activation.function is ",
          p.activation->name, "; it exists only as an activation filter of its own");
  if (!p.integer()) return;
  const bool integers = p.in.type->is_integer() && p.out.type->is_integer() &&
                        p.weights.type->is_integer() && (!p.has_bias || p.bias.type->is_integer());
  require(integers, "activation.function is ", p.activation->name, "; i_desc (", p.in.type->name,
          "), w_desc (", p.weights.type->name, "), o_desc (", p.out.type->name,
          ") and bias must have integer types");
}

}  // namespace

FullyConnectedParameters read_fully_connected(const BNNSLayerParametersFullyConnected* p,
                                              bool sparse) {
  require(p != nullptr, "layer_params is NULL");
  FullyConnectedParameters problem = {.activation = &read_activation(p->activation),
                                      .in = read_descriptor(p->i_desc, "i_desc", Use::kInput),
                                      .out = read_descriptor(p->o_desc, "o_desc", Use::kOutput),
                                      .weights = read_descriptor(p->w_desc, "w_desc", Use::kInput),
                                      .bias = {},
                                      .has_bias = p->bias.data != nullptr};
  if (problem.has_bias) problem.bias = read_descriptor(p->bias, "bias", Use::kInput);
  require_number(problem.in, "i_desc");
  require_number(problem.out, "o_desc");
  if (!sparse) check_weights(problem);
  check_bias(problem);
  check_activation(problem);
  return problem;
}

}  // namespace bnns::impl

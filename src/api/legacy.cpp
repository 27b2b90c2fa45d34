// The creators of 2016, translated to today's parameters.
#include "api/boundary.h"
#include "core/error.h"
#include "core/types.h"
#include "layers/activation.h"
#include "layers/fully_connected.h"

using namespace bnns::impl;

namespace {

BNNSNDArrayDescriptor vector_descriptor(const BNNSVectorDescriptor* given, const char* name) {
  require(given != nullptr, name, " is NULL");
  const TypeInfo* type = find_type(given->data_type);
  require(type == nullptr || type->kind != TypeClass::kIndexed, name, "->data_type is ",
          type == nullptr ? "unknown" : type->name, "; indexed types are for weights only");
  BNNSNDArrayDescriptor d = {};
  d.layout = BNNSDataLayoutVector;
  d.size[0] = given->size;
  d.data_type = given->data_type;
  d.data_scale = given->data_scale;
  d.data_bias = given->data_bias;
  return d;
}

void set_data(BNNSNDArrayDescriptor& d, const BNNSLayerData& given) {
  d.data = const_cast<void*>(given.data);
  d.data_type = given.data_type;
  d.data_scale = given.data_scale;
  d.data_bias = given.data_bias;
  d.table_data = const_cast<float*>(given.data_table);
  d.table_data_type = BNNSDataTypeFloat32;
}

BNNSFilter make_vector_activation(const BNNSVectorDescriptor* in_desc,
                                  const BNNSVectorDescriptor* out_desc,
                                  const BNNSActivation* activation,
                                  const BNNSFilterParameters* filter_params) {
  require(activation != nullptr, "activation is NULL");
  BNNSLayerParametersActivation p = {};
  p.i_desc = vector_descriptor(in_desc, "in_desc");
  p.o_desc = vector_descriptor(out_desc, "out_desc");
  p.activation = *activation;
  return make_activation_filter(&p, filter_params);
}

BNNSFilter make_fully_connected(const BNNSVectorDescriptor* in_desc,
                                const BNNSVectorDescriptor* out_desc,
                                const BNNSFullyConnectedLayerParameters* layer_params,
                                const BNNSFilterParameters* filter_params) {
  require(layer_params != nullptr, "layer_params is NULL");
  BNNSLayerParametersFullyConnected p = {};
  p.i_desc = vector_descriptor(in_desc, "in_desc");
  p.o_desc = vector_descriptor(out_desc, "out_desc");
  require(layer_params->in_size == in_desc->size, "layer_params->in_size is ",
          layer_params->in_size, ", in_desc->size is ", in_desc->size, "; they must be equal");
  require(layer_params->out_size == out_desc->size, "layer_params->out_size is ",
          layer_params->out_size, ", out_desc->size is ", out_desc->size, "; they must be equal");
  p.w_desc.layout = BNNSDataLayoutRowMajorMatrix;
  p.w_desc.size[0] = layer_params->in_size;
  p.w_desc.size[1] = layer_params->out_size;
  set_data(p.w_desc, layer_params->weights);
  p.bias.layout = BNNSDataLayoutVector;
  p.bias.size[0] = layer_params->out_size;
  set_data(p.bias, layer_params->bias);
  p.activation = layer_params->activation;
  return make_fully_connected_filter(&p, filter_params);
}

}  // namespace

extern "C" {

BNNSFilter BNNSFilterCreateVectorActivationLayer(const BNNSVectorDescriptor* in_desc,
                                                 const BNNSVectorDescriptor* out_desc,
                                                 const BNNSActivation* activation,
                                                 const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateVectorActivationLayer", [&] {
    return make_vector_activation(in_desc, out_desc, activation, filter_params);
  });
}

BNNSFilter BNNSFilterCreateFullyConnectedLayer(
    const BNNSVectorDescriptor* in_desc, const BNNSVectorDescriptor* out_desc,
    const BNNSFullyConnectedLayerParameters* layer_params,
    const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateFullyConnectedLayer", [&] {
    return make_fully_connected(in_desc, out_desc, layer_params, filter_params);
  });
}

}  // extern "C"

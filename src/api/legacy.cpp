// The creators of 2016: their parameters are translated to today's. Sizes that the old structures
// give twice must agree.
#include "api/boundary.h"
#include "core/checked.h"
#include "core/error.h"
#include "core/types.h"
#include "layers/activation.h"
#include "layers/convolution.h"
#include "layers/fully_connected.h"
#include "layers/pooling.h"

using namespace bnns::impl;

namespace {

// The fields that vector and image descriptors have in common.
template <class Given>
BNNSNDArrayDescriptor typed_descriptor(const Given& given, const char* name) {
  const TypeInfo* type = find_type(given.data_type);
  require(type == nullptr || type->kind != TypeClass::kIndexed, name, "->data_type is ",
          type == nullptr ? "unknown" : type->name, "; indexed types are for weights only");
  BNNSNDArrayDescriptor d = {};
  d.data_type = given.data_type;
  d.data_scale = given.data_scale;
  d.data_bias = given.data_bias;
  return d;
}

BNNSNDArrayDescriptor vector_descriptor(const BNNSVectorDescriptor* given, const char* name) {
  require(given != nullptr, name, " is NULL");
  BNNSNDArrayDescriptor d = typed_descriptor(*given, name);
  d.layout = BNNSDataLayoutVector;
  d.size[0] = given->size;
  return d;
}

BNNSNDArrayDescriptor image_descriptor(const BNNSImageStackDescriptor* given, const char* name) {
  require(given != nullptr, name, " is NULL");
  BNNSNDArrayDescriptor d = typed_descriptor(*given, name);
  require(given->row_stride >= given->width, name, "->row_stride is ", given->row_stride,
          ", the width is ", given->width, "; rows must not overlap");
  const size_t image = checked_mul(given->row_stride, given->height, name);
  require(given->image_stride >= image, name, "->image_stride is ", given->image_stride,
          ", an image spans ", image, " values; images must not overlap");
  d.layout = BNNSDataLayoutImageCHW;
  d.size[0] = given->width;
  d.size[1] = given->height;
  d.size[2] = given->channels;
  d.stride[0] = 1;
  d.stride[1] = given->row_stride;
  d.stride[2] = given->image_stride;
  return d;
}

BNNSNDArrayDescriptor data_descriptor(BNNSDataLayout layout, const BNNSLayerData& given) {
  BNNSNDArrayDescriptor d = {};
  d.layout = layout;
  d.data = const_cast<void*>(given.data);
  d.data_type = given.data_type;
  d.data_scale = given.data_scale;
  d.data_bias = given.data_bias;
  d.table_data = const_cast<float*>(given.data_table);
  d.table_data_type = BNNSDataTypeFloat32;
  return d;
}

BNNSNDArrayDescriptor bias_descriptor(const BNNSLayerData& given, size_t size) {
  BNNSNDArrayDescriptor d = data_descriptor(BNNSDataLayoutVector, given);
  d.size[0] = size;
  return d;
}

void require_equal(size_t stated, const char* stated_field, size_t size, const char* size_field) {
  require(stated == size, stated_field, " is ", stated, ", ", size_field, " is ", size,
          "; they must be equal");
}

// In 2016 the sizes had to fit exactly: in + 2 * padding = stride * (out - 1) + kernel.
void require_exact(size_t in, size_t out, size_t padding, size_t stride, size_t kernel,
                   const char* size) {
  const size_t given = checked_add(in, checked_mul(2, padding, size), size);
  const size_t step = stride == 0 ? 1 : stride;
  const size_t steps = checked_mul(step, out == 0 ? 0 : out - 1, size);
  const size_t needed = checked_add(steps, kernel, size);
  require(given == needed, "in_desc has ", size, " ", in, " and padding ", padding, ", which is ",
          given, "; out_desc has ", size, " ", out, ", which with kernel ", kernel, " and stride ",
          step, " needs ", needed);
}

// The fields that convolution and pooling have in common.
template <class Today, class Given>
Today window_parameters(const BNNSImageStackDescriptor* in_desc,
                        const BNNSImageStackDescriptor* out_desc, const Given* given) {
  require(given != nullptr, "layer_params is NULL");
  Today p = {};
  p.i_desc = image_descriptor(in_desc, "in_desc");
  p.o_desc = image_descriptor(out_desc, "out_desc");
  require_equal(given->in_channels, "layer_params->in_channels", in_desc->channels,
                "in_desc->channels");
  require_equal(given->out_channels, "layer_params->out_channels", out_desc->channels,
                "out_desc->channels");
  p.bias = bias_descriptor(given->bias, given->out_channels);
  p.activation = given->activation;
  p.x_stride = given->x_stride;
  p.y_stride = given->y_stride;
  p.x_padding = given->x_padding;
  p.y_padding = given->y_padding;
  return p;
}

BNNSFilter make_convolution(const BNNSImageStackDescriptor* in_desc,
                            const BNNSImageStackDescriptor* out_desc,
                            const BNNSConvolutionLayerParameters* given,
                            const BNNSFilterParameters* filter_params) {
  auto p = window_parameters<BNNSLayerParametersConvolution>(in_desc, out_desc, given);
  require(given->k_width > 0, "layer_params->k_width is 0; it must be at least 1");
  require(given->k_height > 0, "layer_params->k_height is 0; it must be at least 1");
  require_exact(in_desc->width, out_desc->width, given->x_padding, given->x_stride, given->k_width,
                "width");
  require_exact(in_desc->height, out_desc->height, given->y_padding, given->y_stride,
                given->k_height, "height");
  p.w_desc = data_descriptor(BNNSDataLayoutConvolutionWeightsOIHW, given->weights);
  p.w_desc.size[0] = given->k_width;
  p.w_desc.size[1] = given->k_height;
  p.w_desc.size[2] = given->in_channels;
  p.w_desc.size[3] = given->out_channels;
  return make_convolution_filter(&p, filter_params, false);
}

BNNSFilter make_pooling(const BNNSImageStackDescriptor* in_desc,
                        const BNNSImageStackDescriptor* out_desc,
                        const BNNSPoolingLayerParameters* given,
                        const BNNSFilterParameters* filter_params) {
  auto p = window_parameters<BNNSLayerParametersPooling>(in_desc, out_desc, given);
  p.pooling_function = given->pooling_function;
  p.k_width = given->k_width;
  p.k_height = given->k_height;
  return make_pooling_filter(&p, filter_params);
}

BNNSFilter make_fully_connected(const BNNSVectorDescriptor* in_desc,
                                const BNNSVectorDescriptor* out_desc,
                                const BNNSFullyConnectedLayerParameters* given,
                                const BNNSFilterParameters* filter_params) {
  require(given != nullptr, "layer_params is NULL");
  BNNSLayerParametersFullyConnected p = {};
  p.i_desc = vector_descriptor(in_desc, "in_desc");
  p.o_desc = vector_descriptor(out_desc, "out_desc");
  require_equal(given->in_size, "layer_params->in_size", in_desc->size, "in_desc->size");
  require_equal(given->out_size, "layer_params->out_size", out_desc->size, "out_desc->size");
  p.w_desc = data_descriptor(BNNSDataLayoutRowMajorMatrix, given->weights);
  p.w_desc.size[0] = given->in_size;
  p.w_desc.size[1] = given->out_size;
  p.bias = bias_descriptor(given->bias, given->out_size);
  p.activation = given->activation;
  return make_fully_connected_filter(&p, filter_params);
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

}  // namespace

extern "C" {

BNNSFilter BNNSFilterCreateConvolutionLayer(const BNNSImageStackDescriptor* in_desc,
                                            const BNNSImageStackDescriptor* out_desc,
                                            const BNNSConvolutionLayerParameters* layer_params,
                                            const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateConvolutionLayer", [&] {
    return make_convolution(in_desc, out_desc, layer_params, filter_params);
  });
}

BNNSFilter BNNSFilterCreatePoolingLayer(const BNNSImageStackDescriptor* in_desc,
                                        const BNNSImageStackDescriptor* out_desc,
                                        const BNNSPoolingLayerParameters* layer_params,
                                        const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreatePoolingLayer", [&] {
    return make_pooling(in_desc, out_desc, layer_params, filter_params);
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

BNNSFilter BNNSFilterCreateVectorActivationLayer(const BNNSVectorDescriptor* in_desc,
                                                 const BNNSVectorDescriptor* out_desc,
                                                 const BNNSActivation* activation,
                                                 const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateVectorActivationLayer", [&] {
    return make_vector_activation(in_desc, out_desc, activation, filter_params);
  });
}

}  // extern "C"

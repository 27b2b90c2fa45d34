// The creators of convolution filters, those of 2016 included.
#include "layers/convolution.h"

#include "api/boundary.h"
#include "core/checked.h"
#include "core/error.h"
#include "core/types.h"

using namespace bnns::impl;

namespace {

BNNSNDArrayDescriptor image_descriptor(const BNNSImageStackDescriptor& given, const char* name) {
  const TypeInfo* type = find_type(given.data_type);
  require(type == nullptr || type->kind != TypeClass::kIndexed, name, "->data_type is ",
          type == nullptr ? "unknown" : type->name, "; indexed types are for weights only");
  require(given.row_stride >= given.width, name, "->row_stride is ", given.row_stride,
          ", the width is ", given.width, "; rows must not overlap");
  const size_t image = checked_mul(given.row_stride, given.height, name);
  require(given.image_stride >= image, name, "->image_stride is ", given.image_stride,
          ", an image spans ", image, " values; images must not overlap");
  BNNSNDArrayDescriptor d = {};
  d.layout = BNNSDataLayoutImageCHW;
  d.size[0] = given.width;
  d.size[1] = given.height;
  d.size[2] = given.channels;
  d.stride[0] = 1;
  d.stride[1] = given.row_stride;
  d.stride[2] = given.image_stride;
  d.data_type = given.data_type;
  d.data_scale = given.data_scale;
  d.data_bias = given.data_bias;
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

BNNSFilter make_convolution(const BNNSImageStackDescriptor* in_desc,
                            const BNNSImageStackDescriptor* out_desc,
                            const BNNSConvolutionLayerParameters* given,
                            const BNNSFilterParameters* filter_params) {
  require(in_desc != nullptr, "in_desc is NULL");
  require(out_desc != nullptr, "out_desc is NULL");
  require(given != nullptr, "layer_params is NULL");
  BNNSLayerParametersConvolution p = {};
  p.i_desc = image_descriptor(*in_desc, "in_desc");
  p.o_desc = image_descriptor(*out_desc, "out_desc");
  require(given->in_channels == in_desc->channels, "layer_params->in_channels is ",
          given->in_channels, ", in_desc->channels is ", in_desc->channels, "; they must be equal");
  require(given->out_channels == out_desc->channels, "layer_params->out_channels is ",
          given->out_channels, ", out_desc->channels is ", out_desc->channels,
          "; they must be equal");
  require(given->k_width > 0, "layer_params->k_width is 0; it must be at least 1");
  require(given->k_height > 0, "layer_params->k_height is 0; it must be at least 1");
  require_exact(in_desc->width, out_desc->width, given->x_padding, given->x_stride, given->k_width,
                "width");
  require_exact(in_desc->height, out_desc->height, given->y_padding, given->y_stride,
                given->k_height, "height");
  p.w_desc.layout = BNNSDataLayoutConvolutionWeightsOIHW;
  p.w_desc.size[0] = given->k_width;
  p.w_desc.size[1] = given->k_height;
  p.w_desc.size[2] = given->in_channels;
  p.w_desc.size[3] = given->out_channels;
  set_data(p.w_desc, given->weights);
  p.bias.layout = BNNSDataLayoutVector;
  p.bias.size[0] = given->out_channels;
  set_data(p.bias, given->bias);
  p.activation = given->activation;
  p.x_stride = given->x_stride;
  p.y_stride = given->y_stride;
  p.x_padding = given->x_padding;
  p.y_padding = given->y_padding;
  return make_convolution_filter(&p, filter_params, false);
}

}  // namespace

extern "C" {

BNNSFilter BNNSFilterCreateLayerConvolution(const BNNSLayerParametersConvolution* layer_params,
                                            const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerConvolution", [&] {
    return make_convolution_filter(layer_params, filter_params, false);
  });
}

BNNSFilter BNNSFilterCreateLayerTransposedConvolution(
    const BNNSLayerParametersConvolution* layer_params, const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerTransposedConvolution", [&] {
    return make_convolution_filter(layer_params, filter_params, true);
  });
}

BNNSFilter BNNSFilterCreateConvolutionLayer(const BNNSImageStackDescriptor* in_desc,
                                            const BNNSImageStackDescriptor* out_desc,
                                            const BNNSConvolutionLayerParameters* layer_params,
                                            const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateConvolutionLayer", [&] {
    return make_convolution(in_desc, out_desc, layer_params, filter_params);
  });
}

}  // extern "C"

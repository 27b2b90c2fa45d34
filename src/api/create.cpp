// Creation and destruction of filters.
#include "api/boundary.h"
#include "core/filter.h"
#include "layers/activation.h"
#include "layers/dropout.h"
#include "layers/embedding.h"
#include "layers/fully_connected.h"
#include "layers/gram.h"
#include "layers/padding.h"
#include "layers/permute.h"
#include "layers/reduction.h"
#include "layers/resize.h"
#include "layers/sparse.h"

using namespace bnns::impl;

extern "C" {

BNNSFilter BNNSFilterCreateLayerActivation(const BNNSLayerParametersActivation* layer_params,
                                           const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerActivation",
                          [&] { return make_activation_filter(layer_params, filter_params); });
}

BNNSFilter BNNSFilterCreateLayerDropout(const BNNSLayerParametersDropout* layer_params,
                                        const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerDropout",
                          [&] { return make_dropout_filter(layer_params, filter_params); });
}

BNNSFilter BNNSFilterCreateLayerEmbedding(const BNNSLayerParametersEmbedding* layer_params,
                                          const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerEmbedding",
                          [&] { return make_embedding_filter(layer_params, filter_params); });
}

BNNSFilter BNNSFilterCreateLayerFullyConnected(
    const BNNSLayerParametersFullyConnected* layer_params,
    const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerFullyConnected", [&] {
    return has_sparse_weights(layer_params)
               ? make_sparse_fully_connected_filter(layer_params, filter_params)
               : make_fully_connected_filter(layer_params, filter_params);
  });
}

BNNSFilter BNNSFilterCreateLayerGram(const BNNSLayerParametersGram* layer_params,
                                     const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerGram",
                          [&] { return make_gram_filter(layer_params, filter_params); });
}

BNNSFilter BNNSFilterCreateLayerPadding(const BNNSLayerParametersPadding* layer_params,
                                        const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerPadding",
                          [&] { return make_padding_filter(layer_params, filter_params); });
}

BNNSFilter BNNSFilterCreateLayerPermute(const BNNSLayerParametersPermute* layer_params,
                                        const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerPermute",
                          [&] { return make_permute_filter(layer_params, filter_params); });
}

BNNSFilter BNNSFilterCreateLayerReduction(const BNNSLayerParametersReduction* layer_params,
                                          const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerReduction",
                          [&] { return make_reduction_filter(layer_params, filter_params); });
}

BNNSFilter BNNSFilterCreateLayerResize(const BNNSLayerParametersResize* layer_params,
                                       const BNNSFilterParameters* filter_params) {
  return boundary::handle("BNNSFilterCreateLayerResize",
                          [&] { return make_resize_filter(layer_params, filter_params); });
}

void BNNSFilterDestroy(BNNSFilter filter) {
  boundary::status("BNNSFilterDestroy", [&] { destroy_filter(filter); });
}

BNNSNDArrayDescriptor BNNSGetPointer(BNNSFilter filter, BNNSPointerSpecifier target) {
  return boundary::value("BNNSGetPointer", BNNSNDArrayDescriptor{},
                         [&] { return find_filter_as<PointerCalls>(filter).pointer(target); });
}

}  // extern "C"

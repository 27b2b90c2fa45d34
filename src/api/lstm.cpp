// LSTM layers.
#include "layers/lstm.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

size_t BNNSComputeLSTMTrainingCacheCapacity(const BNNSLayerParametersLSTM* layer_params) {
  return boundary::value("BNNSComputeLSTMTrainingCacheCapacity", SIZE_MAX,
                         [&] { return lstm_cache_capacity(layer_params); });
}

int BNNSDirectApplyLSTMBatchTrainingCaching(const BNNSLayerParametersLSTM* layer_params,
                                            const BNNSFilterParameters* filter_params,
                                            void* training_cache_ptr,
                                            const size_t training_cache_capacity) {
  return boundary::status("BNNSDirectApplyLSTMBatchTrainingCaching", [&] {
    apply_lstm(layer_params, filter_params, training_cache_ptr, training_cache_capacity);
  });
}

int BNNSDirectApplyLSTMBatchBackward(const BNNSLayerParametersLSTM* layer_params,
                                     const BNNSLayerParametersLSTM* layer_delta_params,
                                     const BNNSFilterParameters* filter_params,
                                     const void* training_cache_ptr,
                                     const size_t training_cache_capacity) {
  return boundary::status("BNNSDirectApplyLSTMBatchBackward", [&] {
    apply_lstm_backward(layer_params, layer_delta_params, filter_params, training_cache_ptr,
                        training_cache_capacity);
  });
}

}  // extern "C"

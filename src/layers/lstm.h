// The calls of LSTM layers; nothing is kept between them but the client's cache.
#pragma once

#include "openbnns/bnns.h"

namespace bnns::impl {

size_t lstm_cache_capacity(const BNNSLayerParametersLSTM* parameters);
void apply_lstm(const BNNSLayerParametersLSTM* parameters,
                const BNNSFilterParameters* filter_parameters, void* cache, size_t capacity);
void apply_lstm_backward(const BNNSLayerParametersLSTM* parameters,
                         const BNNSLayerParametersLSTM* delta_parameters,
                         const BNNSFilterParameters* filter_parameters, const void* cache,
                         size_t capacity);

}  // namespace bnns::impl

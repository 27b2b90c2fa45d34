// Sparse weights: the functions that pack them, and the fully connected filter on a packed matrix.
#pragma once

#include <cstddef>

#include "openbnns/bnns.h"

namespace bnns::impl {

// Elements by their coordinates: `indices` holds pairs, and for a matrix whose rows are contiguous
// the column comes first.
void sparsify_coordinates(const BNNSNDArrayDescriptor* dense_shape,
                          const BNNSNDArrayDescriptor* indices, const BNNSNDArrayDescriptor* values,
                          BNNSNDArrayDescriptor* out, const BNNSSparsityParameters* hint,
                          const BNNSFilterParameters* filter_parameters);

// Elements row by row: `row_starts` says where each begins, and where the last ends.
void sparsify_rows(const BNNSNDArrayDescriptor* dense_shape,
                   const BNNSNDArrayDescriptor* column_indices,
                   const BNNSNDArrayDescriptor* row_starts, const BNNSNDArrayDescriptor* values,
                   BNNSNDArrayDescriptor* out, const BNNSSparsityParameters* hint,
                   const BNNSFilterParameters* filter_parameters);

// Bytes of packed weights; `pack` is only known not to be NULL.
size_t packed_size(const void* pack, const char* field);

// Whether a layer has packed weights. They need a filter of their own.
inline bool has_sparse_weights(const BNNSLayerParametersFullyConnected* parameters) {
  return parameters != nullptr && parameters->w_desc.layout == BNNSDataLayoutFullyConnectedSparse;
}
BNNSFilter make_sparse_fully_connected_filter(const BNNSLayerParametersFullyConnected* parameters,
                                              const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl

// Packing of sparse weights. The batch size only says what a layer will be used for, and the
// working memory of the client is not needed.
#include "layers/sparse.h"

#include "api/boundary.h"

using namespace bnns::impl;

extern "C" {

int BNNSNDArrayFullyConnectedSparsifySparseCOO(const BNNSNDArrayDescriptor* in_dense_shape,
                                               const BNNSNDArrayDescriptor* in_indices,
                                               const BNNSNDArrayDescriptor* in_values,
                                               BNNSNDArrayDescriptor* out,
                                               const BNNSSparsityParameters* sparse_params, size_t,
                                               void*, size_t,
                                               const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSNDArrayFullyConnectedSparsifySparseCOO", [&] {
    sparsify_coordinates(in_dense_shape, in_indices, in_values, out, sparse_params, filter_params);
  });
}

int BNNSNDArrayFullyConnectedSparsifySparseCSR(
    const BNNSNDArrayDescriptor* in_dense_shape, const BNNSNDArrayDescriptor* in_column_indices,
    const BNNSNDArrayDescriptor* in_row_starts, const BNNSNDArrayDescriptor* in_values,
    BNNSNDArrayDescriptor* out, const BNNSSparsityParameters* sparse_params, size_t, void*, size_t,
    const BNNSFilterParameters* filter_params) {
  return boundary::status("BNNSNDArrayFullyConnectedSparsifySparseCSR", [&] {
    sparsify_rows(in_dense_shape, in_column_indices, in_row_starts, in_values, out, sparse_params,
                  filter_params);
  });
}

}  // extern "C"

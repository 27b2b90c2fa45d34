/* The functions of the BNNS C API.

   Functions that return int return 0 on success. Creators return NULL on failure. Strides that are
   arguments count values, not bytes, from one sample to the next; 0 means packed. A gradient whose
   descriptor is NULL is not computed. openbnns.h tells why a call failed. */
#ifndef OPENBNNS_BNNS_H
#define OPENBNNS_BNNS_H

#include "bnns_constants.h"
#include "bnns_structures.h"
#include "bnns_graph.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* BNNSFilter;
typedef void* BNNSRandomGenerator;
typedef void* BNNSNearestNeighbors;

/* ---- Creating filters. filter_params NULL: default threads and memory, parameters copied ---- */

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerConvolution(
    const BNNSLayerParametersConvolution* layer_params, const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerTransposedConvolution(
    const BNNSLayerParametersConvolution* layer_params, const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter
BNNSFilterCreateLayerFullyConnected(const BNNSLayerParametersFullyConnected* layer_params,
                                    const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerPooling(const BNNSLayerParametersPooling* layer_params,
                                                     const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerActivation(
    const BNNSLayerParametersActivation* layer_params, const BNNSFilterParameters* filter_params);

/* layer_params is one of the five BNNSLayerParametersLoss... structs. */
OPENBNNS_API BNNSFilter BNNSFilterCreateLayerLoss(const void* layer_params,
                                                  const BNNSFilterParameters* filter_params);

/* normType is BNNSBatchNorm, BNNSInstanceNorm, BNNSLayerNorm or BNNSGroupNorm. */
OPENBNNS_API BNNSFilter BNNSFilterCreateLayerNormalization(
    BNNSFilterType normType, const BNNSLayerParametersNormalization* layer_params,
    const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerArithmetic(
    const BNNSLayerParametersArithmetic* layer_params, const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerPermute(const BNNSLayerParametersPermute* layer_params,
                                                     const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerDropout(const BNNSLayerParametersDropout* layer_params,
                                                     const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerPadding(const BNNSLayerParametersPadding* layer_params,
                                                     const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter
BNNSFilterCreateLayerBroadcastMatMul(const BNNSLayerParametersBroadcastMatMul* layer_params,
                                     const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter
BNNSFilterCreateLayerTensorContraction(const BNNSLayerParametersTensorContraction* layer_params,
                                       const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerGram(const BNNSLayerParametersGram* layer_params,
                                                  const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerResize(const BNNSLayerParametersResize* layer_params,
                                                    const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter
BNNSFilterCreateLayerMultiheadAttention(const BNNSLayerParametersMultiheadAttention* layer_params,
                                        const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerReduction(
    const BNNSLayerParametersReduction* layer_params, const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateLayerEmbedding(
    const BNNSLayerParametersEmbedding* layer_params, const BNNSFilterParameters* filter_params);

/* Two layers in one: a product or arithmetic, then a normalization or quantization. layer_params[k]
   is what would create filter_type[k] alone. */
OPENBNNS_API BNNSFilter BNNSFilterCreateFusedLayer(size_t number_of_fused_filters,
                                                   const BNNSFilterType* filter_type,
                                                   const void** layer_params,
                                                   const BNNSFilterParameters* filter_params);

/* ---- Applying filters ---- */

OPENBNNS_API int BNNSFilterApply(BNNSFilter filter, const void* in, void* out);

OPENBNNS_API int BNNSFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                      size_t in_stride, void* out, size_t out_stride);

OPENBNNS_API int BNNSFilterApplyTwoInput(BNNSFilter filter, const void* inA, const void* inB,
                                         void* out);

OPENBNNS_API int BNNSFilterApplyTwoInputBatch(BNNSFilter filter, size_t batch_size, const void* inA,
                                              size_t inA_stride, const void* inB, size_t inB_stride,
                                              void* out, size_t out_stride);

/* indices (may be NULL) receives or, for un-max pooling, gives the position of each maximum. */
OPENBNNS_API int BNNSPoolingFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                             size_t in_stride, void* out, size_t out_stride,
                                             size_t* indices, size_t idx_stride);

OPENBNNS_API int BNNSPoolingFilterApplyBatchEx(BNNSFilter filter, size_t batch_size, const void* in,
                                               size_t in_stride, void* out, size_t out_stride,
                                               BNNSDataType indices_data_type, void* indices,
                                               size_t idx_stride);

OPENBNNS_API int BNNSNormalizationFilterApplyBatch(BNNSFilter filter, size_t batch_size,
                                                   const void* in, size_t in_stride, void* out,
                                                   size_t out_stride, bool training);

OPENBNNS_API int BNNSFusedFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                           size_t in_stride, void* out, size_t out_stride,
                                           bool training);

OPENBNNS_API int BNNSFusedFilterApplyMultiInputBatch(BNNSFilter filter, size_t batch_size,
                                                     size_t number_of_inputs, const void** in,
                                                     const size_t* in_stride, void* out,
                                                     size_t out_stride, bool training);

OPENBNNS_API int BNNSArithmeticFilterApplyBatch(BNNSFilter filter, size_t batch_size,
                                                size_t number_of_inputs, const void** in,
                                                const size_t* in_stride, void* out,
                                                size_t out_stride);

/* A size pointer whose buffer is NULL asks for the size: it is stored and nothing is computed. */
OPENBNNS_API int BNNSApplyMultiheadAttention(
    BNNSFilter F, size_t batch_size, const void* query, size_t query_stride, const void* key,
    size_t key_stride, const BNNSNDArrayDescriptor* key_mask, size_t key_mask_stride,
    const void* value, size_t value_stride, void* output, size_t output_stride,
    const BNNSNDArrayDescriptor* add_to_attention, size_t* backprop_cache_size,
    void* backprop_cache, size_t* workspace_size, void* workspace);

OPENBNNS_API int BNNSDirectApplyQuantizer(const BNNSLayerParametersQuantization* layer_params,
                                          const BNNSFilterParameters* filter_params,
                                          size_t batch_size, size_t input_stride,
                                          size_t output_stride);

/* NULL is fine. Memory that belongs to the caller is never freed. */
OPENBNNS_API void BNNSFilterDestroy(BNNSFilter filter);

/* ---- Optimizers, clipping, norms ---- */

/* Updates parameters[p] from gradients[p]. accumulators are grouped by role, then by parameter;
   the caller sets them to 0 before the first step. */
OPENBNNS_API int BNNSOptimizerStep(BNNSOptimizerFunction function, const void* OptimizerAlgFields,
                                   size_t number_of_parameters, BNNSNDArrayDescriptor** parameters,
                                   const BNNSNDArrayDescriptor** gradients,
                                   BNNSNDArrayDescriptor** accumulators,
                                   const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSClipByValue(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                                 float min_val, float max_val);

OPENBNNS_API int BNNSClipByNorm(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                                float max_norm, uint32_t axis_flags);

/* use_norm, if not 0, is taken for the common norm of all tensors. */
OPENBNNS_API int BNNSClipByGlobalNorm(BNNSNDArrayDescriptor** dest,
                                      const BNNSNDArrayDescriptor** src, size_t count,
                                      float max_norm, float use_norm);

OPENBNNS_API int BNNSComputeNorm(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                                 BNNSNormType norm_type, uint32_t axis_flags);

OPENBNNS_API int BNNSComputeNormBackward(const void* in, BNNSNDArrayDescriptor* in_delta,
                                         const void* out, const BNNSNDArrayDescriptor* out_delta,
                                         BNNSNormType norm_type, uint32_t axis_flags);

/* ---- Gradients. in and out are the input and output of the forward pass, where they are needed */

OPENBNNS_API int BNNSFilterApplyBackwardBatch(
    BNNSFilter filter, size_t batch_size, const void* in, size_t in_stride,
    BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride, const void* out, size_t out_stride,
    const BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
    BNNSNDArrayDescriptor* weights_delta, BNNSNDArrayDescriptor* bias_delta);

OPENBNNS_API int BNNSPoolingFilterApplyBackwardBatch(
    BNNSFilter filter, size_t batch_size, const void* in, size_t in_stride,
    BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride, const void* out, size_t out_stride,
    BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride, BNNSNDArrayDescriptor* bias_delta,
    const size_t* indices, size_t idx_stride);

OPENBNNS_API int BNNSPoolingFilterApplyBackwardBatchEx(
    BNNSFilter filter, size_t batch_size, const void* in, size_t in_stride,
    BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride, const void* out, size_t out_stride,
    BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride, BNNSNDArrayDescriptor* bias_delta,
    BNNSDataType indices_data_type, const void* indices, size_t idx_stride);

OPENBNNS_API int BNNSFilterApplyBackwardTwoInputBatch(
    BNNSFilter filter, size_t batch_size, const void* inA, size_t inA_stride,
    BNNSNDArrayDescriptor* inA_delta, size_t inA_delta_stride, const void* inB, size_t inB_stride,
    BNNSNDArrayDescriptor* inB_delta, size_t inB_delta_stride, const void* out, size_t out_stride,
    const BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
    BNNSNDArrayDescriptor* weights_delta, BNNSNDArrayDescriptor* bias_delta);

/* Follows a forward pass in training mode with the same batch. */
OPENBNNS_API int BNNSNormalizationFilterApplyBackwardBatch(
    BNNSFilter filter, size_t batch_size, BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride,
    const void* out, size_t out_stride, BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
    BNNSNDArrayDescriptor* beta_delta, BNNSNDArrayDescriptor* gamma_delta);

/* delta_parameters: the parameter gradients of all layers in order, NULL for each one not wanted;
   weights and bias of a product, beta and gamma of a normalization. */
OPENBNNS_API int BNNSFusedFilterApplyBackwardBatch(
    BNNSFilter filter, size_t batch_size, const void* in, size_t in_stride,
    BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride, const void* out, size_t out_stride,
    BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
    BNNSNDArrayDescriptor** delta_parameters);

OPENBNNS_API int BNNSFusedFilterApplyBackwardMultiInputBatch(
    BNNSFilter filter, size_t batch_size, size_t number_of_inputs, const void** in,
    const size_t* in_stride, BNNSNDArrayDescriptor** in_delta, const size_t* in_delta_stride,
    const void* out, size_t out_stride, BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride,
    BNNSNDArrayDescriptor** delta_parameters);

OPENBNNS_API int BNNSArithmeticFilterApplyBackwardBatch(
    BNNSFilter filter, size_t batch_size, size_t number_of_inputs, const void** in,
    const size_t* in_stride, BNNSNDArrayDescriptor** in_delta, const size_t* in_delta_stride,
    const void* out, size_t out_stride, BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride);

OPENBNNS_API int BNNSPermuteFilterApplyBackwardBatch(BNNSFilter filter, size_t batch_size,
                                                     BNNSNDArrayDescriptor* in_delta,
                                                     size_t in_delta_stride,
                                                     const BNNSNDArrayDescriptor* out_delta,
                                                     size_t out_delta_stride);

/* ---- Loss ---- */

/* in_delta, if given, receives the gradient as if the loss were the last layer. */
OPENBNNS_API int BNNSLossFilterApplyBatch(BNNSFilter filter, size_t batch_size, const void* in,
                                          size_t in_stride, const void* labels,
                                          size_t labels_stride, const void* weights,
                                          size_t weights_size, void* out,
                                          BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride);

OPENBNNS_API int BNNSLossFilterApplyBackwardBatch(
    BNNSFilter filter, size_t batch_size, const void* in, size_t in_stride,
    BNNSNDArrayDescriptor* in_delta, size_t in_delta_stride, const void* labels,
    size_t labels_stride, const void* weights, size_t weights_size,
    const BNNSNDArrayDescriptor* out_delta, size_t out_delta_stride);

/* ---- Attention and LSTM ---- */

/* output_param_delta->target_desc is the incoming gradient; everything else in the four blocks is
   written, where data is not NULL. */
OPENBNNS_API int BNNSApplyMultiheadAttentionBackward(
    BNNSFilter F, size_t batch_size, const void* query, size_t query_stride,
    BNNSMHAProjectionParameters* query_param_delta, const void* key, size_t key_stride,
    const BNNSNDArrayDescriptor* key_mask, size_t key_mask_stride,
    BNNSMHAProjectionParameters* key_param_delta, const void* value, size_t value_stride,
    BNNSMHAProjectionParameters* value_param_delta, const BNNSNDArrayDescriptor* add_to_attention,
    BNNSNDArrayDescriptor* key_attn_bias_delta, BNNSNDArrayDescriptor* value_attn_bias_delta,
    const void* output, size_t output_stride, BNNSMHAProjectionParameters* output_param_delta,
    size_t backprop_cache_size, void* backprop_cache, size_t* workspace_size, void* workspace);

/* In bytes; SIZE_MAX on failure. */
OPENBNNS_API size_t
BNNSComputeLSTMTrainingCacheCapacity(const BNNSLayerParametersLSTM* layer_params);

OPENBNNS_API int BNNSDirectApplyLSTMBatchTrainingCaching(
    const BNNSLayerParametersLSTM* layer_params, const BNNSFilterParameters* filter_params,
    void* training_cache_ptr, size_t training_cache_capacity);

/* layer_delta_params describes the same network with gradients in place of values. */
OPENBNNS_API int BNNSDirectApplyLSTMBatchBackward(const BNNSLayerParametersLSTM* layer_params,
                                                  const BNNSLayerParametersLSTM* layer_delta_params,
                                                  const BNNSFilterParameters* filter_params,
                                                  const void* training_cache_ptr,
                                                  size_t training_cache_capacity);

/* ---- Tensor operations without a filter: they work on the data of the descriptors ---- */

OPENBNNS_API int BNNSDirectApplyActivationBatch(const BNNSLayerParametersActivation* layer_params,
                                                const BNNSFilterParameters* filter_params,
                                                size_t batch_size, size_t in_stride,
                                                size_t out_stride);

/* Converts layout, strides and data type. */
OPENBNNS_API int BNNSCopy(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                          const BNNSFilterParameters* filter_params);

/* In bytes; negative on failure. */
OPENBNNS_API ssize_t BNNSMatMulWorkspaceSize(bool transA, bool transB, float alpha,
                                             const BNNSNDArrayDescriptor* inputA,
                                             const BNNSNDArrayDescriptor* inputB,
                                             const BNNSNDArrayDescriptor* output,
                                             const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSMatMul(bool transA, bool transB, float alpha,
                            const BNNSNDArrayDescriptor* inputA,
                            const BNNSNDArrayDescriptor* inputB,
                            const BNNSNDArrayDescriptor* output, void* workspace,
                            const BNNSFilterParameters* filter_params);

OPENBNNS_API void BNNSDirectApplyBroadcastMatMul(bool transA, bool transB, float alpha,
                                                 const BNNSNDArrayDescriptor* inputA,
                                                 const BNNSNDArrayDescriptor* inputB,
                                                 const BNNSNDArrayDescriptor* output,
                                                 const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSTranspose(BNNSNDArrayDescriptor* dest, const BNNSNDArrayDescriptor* src,
                               size_t axis0, size_t axis1,
                               const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSDirectApplyReduction(const BNNSLayerParametersReduction* layer_params,
                                          const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSCompareTensor(const BNNSNDArrayDescriptor* in0,
                                   const BNNSNDArrayDescriptor* in1, BNNSRelationalOperator op,
                                   BNNSNDArrayDescriptor* out);

OPENBNNS_API int BNNSTile(const BNNSNDArrayDescriptor* input, BNNSNDArrayDescriptor* output,
                          const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSTileBackward(BNNSNDArrayDescriptor* in_delta,
                                  const BNNSNDArrayDescriptor* out_delta,
                                  const BNNSFilterParameters* filter_params);

/* best_indices may be NULL. */
OPENBNNS_API int BNNSDirectApplyTopK(size_t K, size_t axis, size_t batch_size,
                                     const BNNSNDArrayDescriptor* input, size_t input_batch_stride,
                                     BNNSNDArrayDescriptor* best_values,
                                     size_t best_values_batch_stride,
                                     BNNSNDArrayDescriptor* best_indices,
                                     size_t best_indices_batch_stride,
                                     const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSDirectApplyInTopK(size_t K, size_t axis, size_t batch_size,
                                       const BNNSNDArrayDescriptor* input,
                                       size_t input_batch_stride,
                                       const BNNSNDArrayDescriptor* test_indices,
                                       size_t test_indices_batch_stride,
                                       BNNSNDArrayDescriptor* output, size_t output_batch_stride,
                                       const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSGather(size_t axis, const BNNSNDArrayDescriptor* input,
                            const BNNSNDArrayDescriptor* indices, BNNSNDArrayDescriptor* output,
                            const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSScatter(size_t axis, BNNSReduceFunction op, const BNNSNDArrayDescriptor* input,
                             const BNNSNDArrayDescriptor* indices, BNNSNDArrayDescriptor* output,
                             const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSGatherND(const BNNSNDArrayDescriptor* input,
                              const BNNSNDArrayDescriptor* indices, BNNSNDArrayDescriptor* output,
                              const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSScatterND(BNNSReduceFunction op, const BNNSNDArrayDescriptor* input,
                               const BNNSNDArrayDescriptor* indices, BNNSNDArrayDescriptor* output,
                               const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSShuffle(BNNSShuffleType type, const BNNSNDArrayDescriptor* input,
                             BNNSNDArrayDescriptor* output,
                             const BNNSFilterParameters* filter_params);

/* Keeps num_lower diagonals below and num_upper above the main one; negative: all of them. */
OPENBNNS_API int BNNSBandPart(int num_lower, int num_upper, const BNNSNDArrayDescriptor* input,
                              BNNSNDArrayDescriptor* output,
                              const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSCropResize(const BNNSLayerParametersCropResize* layer_params,
                                const BNNSNDArrayDescriptor* input,
                                const BNNSNDArrayDescriptor* roi, BNNSNDArrayDescriptor* output,
                                const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSCropResizeBackward(const BNNSLayerParametersCropResize* layer_params,
                                        BNNSNDArrayDescriptor* in_delta,
                                        const BNNSNDArrayDescriptor* roi,
                                        const BNNSNDArrayDescriptor* out_delta,
                                        const BNNSFilterParameters* filter_params);

/* ---- Utilities and sparse weights ---- */

/* A view of a parameter inside an activation filter; data is NULL if the filter has none. */
OPENBNNS_API BNNSNDArrayDescriptor BNNSGetPointer(BNNSFilter filter, BNNSPointerSpecifier target);

/* In bytes; 0 on failure. */
OPENBNNS_API size_t BNNSNDArrayGetDataSize(const BNNSNDArrayDescriptor* array);

/* In bytes; SIZE_MAX on failure. */
OPENBNNS_API size_t BNNSTensorGetAllocationSize(const BNNSTensor* tensor);

/* SIZE_MAX for an unknown layout. */
OPENBNNS_API size_t BNNSDataLayoutGetRank(BNNSDataLayout layout);

OPENBNNS_API int BNNSNDArrayFullyConnectedSparsifySparseCOO(
    const BNNSNDArrayDescriptor* in_dense_shape, const BNNSNDArrayDescriptor* in_indices,
    const BNNSNDArrayDescriptor* in_values, BNNSNDArrayDescriptor* out,
    const BNNSSparsityParameters* sparse_params, size_t batch_size, void* workspace,
    size_t workspace_size, const BNNSFilterParameters* filter_params);

OPENBNNS_API int BNNSNDArrayFullyConnectedSparsifySparseCSR(
    const BNNSNDArrayDescriptor* in_dense_shape, const BNNSNDArrayDescriptor* in_column_indices,
    const BNNSNDArrayDescriptor* in_row_starts, const BNNSNDArrayDescriptor* in_values,
    BNNSNDArrayDescriptor* out, const BNNSSparsityParameters* sparse_params, size_t batch_size,
    void* workspace, size_t workspace_size, const BNNSFilterParameters* filter_params);

/* ---- Random generators: half-open ranges [a, b), equal streams from equal seeds ---- */

OPENBNNS_API BNNSRandomGenerator BNNSCreateRandomGenerator(
    BNNSRandomGeneratorMethod method, const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSRandomGenerator BNNSCreateRandomGeneratorWithSeed(
    BNNSRandomGeneratorMethod method, uint64_t seed, const BNNSFilterParameters* filter_params);

OPENBNNS_API void BNNSDestroyRandomGenerator(BNNSRandomGenerator generator);

/* In bytes; 0 on failure. */
OPENBNNS_API size_t BNNSRandomGeneratorStateSize(BNNSRandomGenerator generator);

OPENBNNS_API int BNNSRandomGeneratorGetState(BNNSRandomGenerator generator, size_t state_size,
                                             void* state);

OPENBNNS_API int BNNSRandomGeneratorSetState(BNNSRandomGenerator generator, size_t state_size,
                                             void* state);

OPENBNNS_API int BNNSRandomFillUniformFloat(BNNSRandomGenerator generator,
                                            BNNSNDArrayDescriptor* desc, float a, float b);

OPENBNNS_API int BNNSRandomFillUniformInt(BNNSRandomGenerator generator,
                                          BNNSNDArrayDescriptor* desc, int64_t a, int64_t b);

OPENBNNS_API int BNNSRandomFillNormalFloat(BNNSRandomGenerator generator,
                                           BNNSNDArrayDescriptor* desc, float mean, float stddev);

OPENBNNS_API int BNNSRandomFillCategoricalFloat(BNNSRandomGenerator generator,
                                                const BNNSNDArrayDescriptor* desc,
                                                const BNNSNDArrayDescriptor* probabilities,
                                                bool log_probabilities);

/* ---- Nearest neighbours ---- */

OPENBNNS_API BNNSNearestNeighbors BNNSCreateNearestNeighbors(
    unsigned int max_n_samples, unsigned int n_features, unsigned int n_neighbors,
    BNNSDataType data_type, const BNNSFilterParameters* filter_params);

OPENBNNS_API void BNNSDestroyNearestNeighbors(BNNSNearestNeighbors knn);

OPENBNNS_API int BNNSNearestNeighborsLoad(BNNSNearestNeighbors knn, unsigned int n_new_samples,
                                          const void* data_ptr);

/* A negative sample_number asks for all samples. indices and distances may be NULL. */
OPENBNNS_API int BNNSNearestNeighborsGetInfo(BNNSNearestNeighbors knn, int sample_number,
                                             int* indices, void* distances);

/* ---- First-generation creators ---- */

OPENBNNS_API BNNSFilter BNNSFilterCreateConvolutionLayer(
    const BNNSImageStackDescriptor* in_desc, const BNNSImageStackDescriptor* out_desc,
    const BNNSConvolutionLayerParameters* layer_params, const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateFullyConnectedLayer(
    const BNNSVectorDescriptor* in_desc, const BNNSVectorDescriptor* out_desc,
    const BNNSFullyConnectedLayerParameters* layer_params,
    const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreatePoolingLayer(const BNNSImageStackDescriptor* in_desc,
                                                     const BNNSImageStackDescriptor* out_desc,
                                                     const BNNSPoolingLayerParameters* layer_params,
                                                     const BNNSFilterParameters* filter_params);

OPENBNNS_API BNNSFilter BNNSFilterCreateVectorActivationLayer(
    const BNNSVectorDescriptor* in_desc, const BNNSVectorDescriptor* out_desc,
    const BNNSActivation* activation, const BNNSFilterParameters* filter_params);

#ifdef __cplusplus
}
#endif
#endif

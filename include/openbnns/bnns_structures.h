/* Every structure of the BNNS C API. Their layout is the ABI; tests/abi checks each offset.

   A zero-filled descriptor means "nothing here" wherever a descriptor is optional: what counts is
   `data`, and the other fields are not read when it is NULL. */
#ifndef OPENBNNS_BNNS_STRUCTURES_H
#define OPENBNNS_BNNS_STRUCTURES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "bnns_constants.h"

#define BNNS_MAX_TENSOR_DIMENSION 8

/* Like posix_memalign: stores the block in *memptr and returns 0, or returns an error number. */
typedef int (*BNNSAlloc)(void** memptr, size_t alignment, size_t size);

/* Like free, for blocks of the matching BNNSAlloc. */
typedef void (*BNNSFree)(void* ptr);

/* ---- Activation, arrays, filter parameters ---- */

typedef struct {
  BNNSActivationFunction function;
  float alpha; /* meaning depends on the function; not read by functions without one */
  float beta;
  int32_t iscale; /* IntegerLinearSaturate: (x * iscale + ioffset) >> ishift */
  int32_t ioffset;
  int32_t ishift;
  const int32_t* iscale_per_channel; /* IntegerLinearSaturatePerChannel: one entry per channel */
  const int32_t* ioffset_per_channel;
  const int32_t* ishift_per_channel;
} BNNSActivation;

typedef struct {
  BNNSNDArrayFlags flags; /* read on gradients that a backward call writes */
  BNNSDataLayout layout;  /* fixes the rank and the meaning of size and stride */
  size_t size[BNNS_MAX_TENSOR_DIMENSION];
  size_t stride[BNNS_MAX_TENSOR_DIMENSION]; /* in values; 0 means contiguous */
  void* data;
  BNNSDataType data_type;
  void* table_data;             /* values of the Indexed types */
  BNNSDataType table_data_type; /* type of those values */
  float data_scale;             /* integer types: real value = data_scale * stored + data_bias; */
  float data_bias;              /* a data_scale of 0 means 1 */
} BNNSNDArrayDescriptor;

typedef struct {
  BNNSDataType data_type;
  uint8_t rank;
  ssize_t shape[BNNS_MAX_TENSOR_DIMENSION];  /* negative: not known yet */
  ssize_t stride[BNNS_MAX_TENSOR_DIMENSION]; /* in values; 0 is a stride of 0, not a default */
  void* data;
  size_t data_size_in_bytes;
  const char* name; /* for debugging only */
} BNNSTensor;

typedef struct {
  uint32_t flags;         /* BNNSFlags */
  size_t n_threads;       /* 0: the library chooses */
  BNNSAlloc alloc_memory; /* NULL: posix_memalign */
  BNNSFree free_memory;   /* NULL: free */
} BNNSFilterParameters;

/* ---- Operand blocks ---- */

typedef struct {
  BNNSNDArrayDescriptor in;
  BNNSDescriptorType in_type;
  BNNSNDArrayDescriptor out;
  BNNSDescriptorType out_type;
} BNNSArithmeticUnary;

typedef struct {
  BNNSNDArrayDescriptor in1;
  BNNSDescriptorType in1_type;
  BNNSNDArrayDescriptor in2;
  BNNSDescriptorType in2_type;
  BNNSNDArrayDescriptor out;
  BNNSDescriptorType out_type;
} BNNSArithmeticBinary;

typedef struct {
  BNNSNDArrayDescriptor in1;
  BNNSDescriptorType in1_type;
  BNNSNDArrayDescriptor in2;
  BNNSDescriptorType in2_type;
  BNNSNDArrayDescriptor in3;
  BNNSDescriptorType in3_type;
  BNNSNDArrayDescriptor out;
  BNNSDescriptorType out_type;
} BNNSArithmeticTernary;

typedef struct {
  BNNSNDArrayDescriptor target_desc; /* query, key, value or output */
  BNNSNDArrayDescriptor weights;
  BNNSNDArrayDescriptor bias; /* optional */
} BNNSMHAProjectionParameters;

/* Weights are stored as [layer][direction][hidden][input], the bias without the last axis. */
typedef struct {
  BNNSNDArrayDescriptor
      iw_desc[2]; /* of the first layer; of the later ones if their input differs */
  BNNSNDArrayDescriptor hw_desc;
  BNNSNDArrayDescriptor cw_desc; /* optional peepholes */
  BNNSNDArrayDescriptor b_desc;  /* optional */
  BNNSActivation activation;
} BNNSLSTMGateDescriptor;

typedef struct {
  BNNSNDArrayDescriptor data_desc;       /* the sequence, layout SNE or NSE */
  BNNSNDArrayDescriptor hidden_desc;     /* [layer][direction][batch][hidden] */
  BNNSNDArrayDescriptor cell_state_desc; /* the same */
} BNNSLSTMDataDescriptor;

/* ---- Layer parameters ---- */

/* Of convolution and transposed convolution. */
typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor w_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSNDArrayDescriptor bias; /* optional, one value per output channel */
  BNNSActivation activation;
  size_t x_stride; /* 0 means 1 */
  size_t y_stride;
  size_t x_dilation_stride; /* 0 means 1: no dilation */
  size_t y_dilation_stride;
  size_t x_padding; /* on the left and on the right */
  size_t y_padding; /* above and below */
  size_t groups;    /* 0 means 1 */
  size_t pad[4];    /* left, right, up, down; used if x_padding and y_padding are 0 */
} BNNSLayerParametersConvolution;

typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor w_desc; /* row-major: size {inputs, outputs} */
  BNNSNDArrayDescriptor o_desc;
  BNNSNDArrayDescriptor bias; /* optional */
  BNNSActivation activation;
} BNNSLayerParametersFullyConnected;

typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSNDArrayDescriptor bias; /* optional, one value per channel */
  BNNSActivation activation;
  BNNSPoolingFunction pooling_function;
  size_t k_width; /* the window */
  size_t k_height;
  size_t x_stride; /* 0 means 1 */
  size_t y_stride;
  size_t x_dilation_stride; /* 0 means 1: no dilation */
  size_t y_dilation_stride;
  size_t x_padding; /* on the left and on the right */
  size_t y_padding; /* above and below */
  size_t pad[4];    /* left, right, up, down; used if x_padding and y_padding are 0 */
} BNNSLayerParametersPooling;

typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSActivation activation;
  uint32_t axis_flags; /* softmax family: bit k is the axis of size[k], one bit more the batch */
} BNNSLayerParametersActivation;

typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSNDArrayDescriptor beta_desc;            /* optional shift */
  BNNSNDArrayDescriptor gamma_desc;           /* optional scale */
  BNNSNDArrayDescriptor moving_mean_desc;     /* optional, Float32; batch and instance norm only */
  BNNSNDArrayDescriptor moving_variance_desc; /* the same */
  float momentum;                             /* weight of the old moving statistics */
  float epsilon;                              /* added to the variance */
  BNNSActivation activation;
  size_t num_groups;         /* group norm only */
  size_t normalization_axis; /* layer norm only: 0 over C, H, W; 1 over H, W; 2 over W */
} BNNSLayerParametersNormalization;

typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  float rate;      /* probability that an element is dropped, [0, 1) */
  uint32_t seed;   /* 0: drawn by the library */
  uint8_t control; /* bit d: one decision for all elements along the axis of size[d] */
} BNNSLayerParametersDropout;

typedef struct {
  BNNSArithmeticFunction arithmetic_function;
  void* arithmetic_function_fields; /* BNNSArithmeticUnary, -Binary or -Ternary */
  BNNSActivation activation;
} BNNSLayerParametersArithmetic;

typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  size_t permutation[BNNS_MAX_TENSOR_DIMENSION]; /* input axis that feeds output axis k */
} BNNSLayerParametersPermute;

typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  size_t padding_size[BNNS_MAX_TENSOR_DIMENSION][2]; /* before and after each axis */
  BNNSPaddingMode padding_mode;
  uint32_t padding_value; /* bits of the constant; its first bytes for smaller types */
} BNNSLayerParametersPadding;

typedef struct {
  float alpha; /* factor of the product */
  float beta;  /* factor of the old output: 0 or 1 */
  bool transA;
  bool transB;
  bool quadratic;    /* A times itself; iB_desc is not read */
  bool a_is_weights; /* A is iA_desc.data for every sample */
  bool b_is_weights;
  BNNSNDArrayDescriptor iA_desc;
  BNNSNDArrayDescriptor iB_desc;
  BNNSNDArrayDescriptor o_desc;
} BNNSLayerParametersBroadcastMatMul;

typedef struct {
  const char* operation; /* such as "a_ik, b_kj -> c_ij" */
  float alpha;           /* factor of the result */
  float beta;            /* factor of the old output: 0 or 1 */
  BNNSNDArrayDescriptor iA_desc;
  BNNSNDArrayDescriptor iB_desc;
  BNNSNDArrayDescriptor o_desc;
} BNNSLayerParametersTensorContraction;

typedef struct {
  float alpha;
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
} BNNSLayerParametersGram;

typedef struct {
  BNNSInterpolationMethod method;
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  bool align_corners;
} BNNSLayerParametersResize;

typedef struct {
  bool normalized_coordinates; /* boxes are given in (0, 1) */
  float spatial_scale;         /* factor of the box coordinates */
  float extrapolation_value;   /* what lies outside the image */
  BNNSLinearSamplingMode sampling_mode;
  BNNSBoxCoordinateMode box_coordinate_mode;
  BNNSInterpolationMethod method;
} BNNSLayerParametersCropResize;

typedef struct {
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc; /* size 1 on every reduced axis */
  BNNSNDArrayDescriptor w_desc; /* optional factors of the input */
  BNNSReduceFunction reduce_func;
  float epsilon; /* SumLog only */
} BNNSLayerParametersReduction;

typedef struct {
  BNNSMHAProjectionParameters query;
  BNNSMHAProjectionParameters key;
  BNNSMHAProjectionParameters value;
  bool add_zero_attn;                    /* a row of zeros is appended to the projected K and V */
  BNNSNDArrayDescriptor key_attn_bias;   /* optional row appended to K ... */
  BNNSNDArrayDescriptor value_attn_bias; /* ... and, together with it, to V */
  BNNSMHAProjectionParameters output;
  float dropout; /* used if in (0, 1) */
  uint32_t seed;
} BNNSLayerParametersMultiheadAttention;

typedef struct {
  size_t input_size;
  size_t hidden_size;
  size_t batch_size;
  size_t num_layers;
  size_t seq_len;
  float dropout;                             /* between layers */
  uint32_t lstm_flags;                       /* BNNSLayerFlags */
  BNNSNDArrayDescriptor sequence_descriptor; /* optional lengths of the sequences */
  BNNSLSTMDataDescriptor input_descriptor;
  BNNSLSTMDataDescriptor output_descriptor;
  BNNSLSTMGateDescriptor input_gate;     /* default activation sigmoid */
  BNNSLSTMGateDescriptor forget_gate;    /* default activation sigmoid */
  BNNSLSTMGateDescriptor candidate_gate; /* default activation tanh */
  BNNSLSTMGateDescriptor output_gate;    /* default activation sigmoid */
  BNNSActivation hidden_activation;      /* default tanh */
} BNNSLayerParametersLSTM;

typedef struct {
  BNNSEmbeddingFlags flags;
  BNNSNDArrayDescriptor i_desc;     /* indices, any integer type */
  BNNSNDArrayDescriptor o_desc;     /* item axes, then input axes */
  BNNSNDArrayDescriptor dictionary; /* item axes, then the axis of items */
  size_t padding_idx;               /* this item reads as zeros; past the last item: none */
  float max_norm;                   /* longer items are scaled to it; 0: off */
  float norm_type;                  /* p of the norm; 0 means 2 */
} BNNSLayerParametersEmbedding;

typedef struct {
  size_t axis_mask; /* one bit: axis of scale and bias, one bit more the batch; 0: one value each */
  BNNSQuantizerFunction function;
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSNDArrayDescriptor scale; /* optional */
  BNNSNDArrayDescriptor bias;  /* optional */
} BNNSLayerParametersQuantization;

/* ---- Loss parameters: the first four fields are common to all ---- */

typedef struct {
  BNNSLossFunction function;
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSLossReductionFunction reduction;
} BNNSLayerParametersLossBase;

typedef struct {
  BNNSLossFunction function;
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSLossReductionFunction reduction;
  float label_smooth; /* t (1 - s) + s / n, n classes */
} BNNSLayerParametersLossSoftmaxCrossEntropy;

typedef struct {
  BNNSLossFunction function;
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSLossReductionFunction reduction;
  float label_smooth; /* t (1 - s) + s / 2 */
} BNNSLayerParametersLossSigmoidCrossEntropy;

typedef struct {
  BNNSLossFunction function;
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSLossReductionFunction reduction;
  float huber_delta; /* where the loss turns from quadratic to linear */
} BNNSLayerParametersLossHuber;

typedef struct {
  BNNSLossFunction function;
  BNNSNDArrayDescriptor i_desc;
  BNNSNDArrayDescriptor o_desc;
  BNNSLossReductionFunction reduction;
  float huber_delta; /* of the width and height terms; 0 means 1 */
  size_t number_of_grid_columns;
  size_t number_of_grid_rows;
  size_t number_of_anchor_boxes; /* per cell */
  size_t anchor_box_size;        /* 5 + number of classes */
  bool rescore;                  /* the true confidence is the IOU of prediction and truth */
  float scale_xy;                /* weights of the terms */
  float scale_wh;
  float scale_object;
  float scale_no_object;
  float scale_classification;
  float object_minimum_iou;    /* from here on a box counts as an object */
  float no_object_maximum_iou; /* up to here it counts as none */
  float* anchors_data;         /* width and height of each anchor */
} BNNSLayerParametersLossYolo;

/* ---- Optimizer fields, read at each step ---- */

typedef struct {
  float learning_rate;
  float momentum; /* 0: plain gradient descent without accumulators */
  float gradient_scale;
  float regularization_scale;
  bool clip_gradients; /* to [clip_gradients_min, clip_gradients_max] */
  float clip_gradients_min;
  float clip_gradients_max;
  bool nesterov;
  BNNSOptimizerRegularizationFunction regularization_func;
  BNNSOptimizerSGDMomentumVariant sgd_momentum_variant;
} BNNSOptimizerSGDMomentumFields;

typedef struct {
  float learning_rate;
  float momentum;
  float gradient_scale;
  float regularization_scale;
  bool nesterov;
  BNNSOptimizerRegularizationFunction regularization_func;
  BNNSOptimizerSGDMomentumVariant sgd_momentum_variant;
  BNNSOptimizerClippingFunction clipping_func;
  float clip_gradients_min;      /* by value */
  float clip_gradients_max;      /* by value */
  float clip_gradients_max_norm; /* by norm, by global norm */
  float clip_gradients_use_norm; /* by global norm: the norm if the caller knows it, else 0 */
} BNNSOptimizerSGDMomentumWithClippingFields;

/* Of Adam, AdamW and their AMSGrad forms. */
typedef struct {
  float learning_rate;
  float beta1;
  float beta2;
  float time_step; /* counted by the caller, from 1 */
  float epsilon;
  float gradient_scale;
  float regularization_scale; /* the weight decay of AdamW */
  bool clip_gradients;
  float clip_gradients_min;
  float clip_gradients_max;
  BNNSOptimizerRegularizationFunction regularization_func; /* not read by AdamW */
} BNNSOptimizerAdamFields;

typedef struct {
  float learning_rate;
  float beta1;
  float beta2;
  float time_step;
  float epsilon;
  float gradient_scale;
  float regularization_scale;
  BNNSOptimizerRegularizationFunction regularization_func;
  BNNSOptimizerClippingFunction clipping_func;
  float clip_gradients_min;
  float clip_gradients_max;
  float clip_gradients_max_norm;
  float clip_gradients_use_norm;
} BNNSOptimizerAdamWithClippingFields;

typedef struct {
  float learning_rate;
  float alpha; /* weight of the old mean square */
  float epsilon;
  bool centered;
  float momentum; /* 0: none */
  float gradient_scale;
  float regularization_scale;
  bool clip_gradients;
  float clip_gradients_min;
  float clip_gradients_max;
  BNNSOptimizerRegularizationFunction regularization_func;
} BNNSOptimizerRMSPropFields;

typedef struct {
  float learning_rate;
  float alpha;
  float epsilon;
  bool centered;
  float momentum;
  float gradient_scale;
  float regularization_scale;
  BNNSOptimizerRegularizationFunction regularization_func;
  BNNSOptimizerClippingFunction clipping_func;
  float clip_gradients_min;
  float clip_gradients_max;
  float clip_gradients_max_norm;
  float clip_gradients_use_norm;
} BNNSOptimizerRMSPropWithClippingFields;

/* ---- Sparsity ---- */

typedef struct {
  uint64_t flags;             /* 0 */
  uint32_t sparsity_ratio[2]; /* numerator, denominator */
  BNNSSparsityType sparsity_type;
  BNNSTargetSystem target_system;
} BNNSSparsityParameters;

/* ---- First generation ---- */

/* Pixel (x, y) of channel c is at x + row_stride * y + image_stride * c. */
typedef struct {
  size_t width;
  size_t height;
  size_t channels;
  size_t row_stride;
  size_t image_stride;
  BNNSDataType data_type;
  float data_scale; /* integer types only */
  float data_bias;
} BNNSImageStackDescriptor;

typedef struct {
  size_t size;
  BNNSDataType data_type;
  float data_scale;
  float data_bias;
} BNNSVectorDescriptor;

typedef struct {
  const void* data;
  BNNSDataType data_type;
  float data_scale;
  float data_bias;
  const float* data_table; /* values of the Indexed types */
} BNNSLayerData;

typedef struct {
  size_t x_stride;
  size_t y_stride;
  size_t x_padding;
  size_t y_padding;
  size_t k_width;
  size_t k_height;
  size_t in_channels;
  size_t out_channels;
  BNNSLayerData weights; /* at kx + k_width * (ky + k_height * (in + in_channels * out)) */
  BNNSLayerData bias;
  BNNSActivation activation;
} BNNSConvolutionLayerParameters;

typedef struct {
  size_t in_size;
  size_t out_size;
  BNNSLayerData weights; /* at in + in_size * out */
  BNNSLayerData bias;
  BNNSActivation activation;
} BNNSFullyConnectedLayerParameters;

typedef struct {
  size_t x_stride;
  size_t y_stride;
  size_t x_padding;
  size_t y_padding;
  size_t k_width;
  size_t k_height;
  size_t in_channels;
  size_t out_channels;
  BNNSPoolingFunction pooling_function;
  BNNSLayerData bias;
  BNNSActivation activation;
} BNNSPoolingLayerParameters;

#endif

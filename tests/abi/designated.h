/* Structures written as client code writes them, with designated initialisers in field order: legal
   in C99 and C++20, and only as long as no field changes its name or place. */
#ifndef OPENBNNS_TESTS_ABI_DESIGNATED_H
#define OPENBNNS_TESTS_ABI_DESIGNATED_H

#include "openbnns/bnns.h"

static inline int run(void) {
  float weights[12] = {0};
  const BNNSActivation activation = {
      .function = BNNSActivationFunctionClamp, .alpha = -1, .beta = 2};
  const BNNSLayerParametersFullyConnected fully_connected = {
      .i_desc = {.flags = BNNSNDArrayFlagBackpropSet,
                 .layout = BNNSDataLayoutVector,
                 .size = {4},
                 .data_type = BNNSDataTypeFloat32},
      .w_desc = {.layout = BNNSDataLayoutRowMajorMatrix,
                 .size = {4, 3},
                 .stride = {1, 4},
                 .data = weights,
                 .data_type = BNNSDataTypeFloat32,
                 .data_scale = 1},
      .o_desc = {.layout = BNNSDataLayoutVector, .size = {3}, .data_type = BNNSDataTypeFloat32},
      .activation = activation,
  };
  const BNNSLayerParametersConvolution convolution = {
      .i_desc = {.layout = BNNSDataLayoutImageCHW, .size = {5, 5, 2}},
      .w_desc = {.layout = BNNSDataLayoutConvolutionWeightsOIHW, .size = {3, 3, 2, 4}},
      .o_desc = {.layout = BNNSDataLayoutImageCHW, .size = {5, 5, 4}},
      .activation = {.function = BNNSActivationFunctionRectifiedLinear},
      .x_stride = 1,
      .y_stride = 1,
      .groups = 1,
      .pad = {1, 1, 1, 1},
  };
  const BNNSLayerParametersPadding padding = {
      .i_desc = {.layout = BNNSDataLayoutVector, .size = {3}},
      .o_desc = {.layout = BNNSDataLayoutVector, .size = {6}},
      .padding_size = {{1, 2}},
      .padding_mode = BNNSPaddingModeReflect,
  };
  const BNNSOptimizerAdamFields adam = {
      .learning_rate = 0.5f,
      .beta1 = 0.9f,
      .beta2 = 0.999f,
      .time_step = 1,
      .epsilon = 1e-8f,
      .gradient_scale = 1,
      .clip_gradients = true,
      .clip_gradients_min = -1,
      .clip_gradients_max = 1,
      .regularization_func = BNNSOptimizerRegularizationL2,
  };
  const BNNSFilterParameters filter = {.flags = BNNSFlagsUseClientPtr, .n_threads = 2};

  /* What is not named is zero: the "nothing here" of optional descriptors. */
  const int ok = fully_connected.bias.data == NULL && fully_connected.w_desc.data == weights &&
                 fully_connected.w_desc.stride[1] == 4 && fully_connected.activation.beta == 2.0f &&
                 convolution.x_padding == 0 && convolution.pad[3] == 1 &&
                 padding.padding_size[0][1] == 2 && padding.padding_size[1][0] == 0 &&
                 adam.regularization_scale == 0.0f &&
                 adam.regularization_func == BNNSOptimizerRegularizationL2 && filter.flags == 1 &&
                 filter.alloc_memory == NULL;
  return ok ? 0 : 1;
}

#endif

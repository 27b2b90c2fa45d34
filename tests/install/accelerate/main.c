/* A source as it is written for macOS: nothing in it knows which library it will meet. */
#include <Accelerate/Accelerate.h>
#include <stdio.h>

static BNNSFilter _Nullable make_layer(float* _Nonnull weights, float* _Nonnull bias) {
  BNNSFilterParameters filter_params = {.flags = BNNSFlagsUseClientPtr};
  BNNSLayerParametersFullyConnected params = {
      .i_desc = {.layout = BNNSDataLayoutVector, .size = {2}, .data_type = BNNSDataTypeFloat32},
      .w_desc = {.layout = BNNSDataLayoutRowMajorMatrix,
                 .size = {2, 1},
                 .data = weights,
                 .data_type = BNNSDataTypeFloat32},
      .o_desc = {.layout = BNNSDataLayoutVector, .size = {1}, .data_type = BNNSDataTypeFloat32},
      .bias = {.layout = BNNSDataLayoutVector,
               .size = {1},
               .data = bias,
               .data_type = BNNSDataTypeFloat32},
      .activation = {.function = BNNSActivationFunctionIdentity},
  };
  return BNNSFilterCreateLayerFullyConnected(&params, &filter_params);
}

int main(void) {
  float weights[] = {3, 4};
  float bias[] = {5};
  const float in[] = {1, 2, 10, 20};
  float out[2] = {0};
  BNNSFilter layer = make_layer(weights, bias);
  if (layer == NULL) return 1;
  if (BNNSFilterApplyBatch(layer, 2, in, 2, out, 1) != 0) return 2;
  printf("%g %g\n", out[0], out[1]);
  if (out[0] != 16 || out[1] != 115) return 3;

  /* The weights stay the client's: a change is seen by the next call. */
  weights[0] = 0;
  if (BNNSFilterApply(layer, in, out) != 0 || out[0] != 13) return 4;
  BNNSFilterDestroy(layer);
  return 0;
}

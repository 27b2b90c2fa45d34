/* The smallest use of the C API: a fully connected layer with a fused activation, forward, and what
   a mistake looks like. */
#include <openbnns/openbnns.h>
#include <stdio.h>

int main(void) {
  /* [snippet] */
  float weights[2 * 3] = {1, 2, 3, 4, 5, 6}; /* two rows of three */
  float bias[2] = {0.5f, -20};
  BNNSLayerParametersFullyConnected layer = {
      .i_desc = {.layout = BNNSDataLayoutVector, .size = {3}, .data_type = BNNSDataTypeFloat32},
      .w_desc = {.layout = BNNSDataLayoutRowMajorMatrix,
                 .size = {3, 2},
                 .data = weights,
                 .data_type = BNNSDataTypeFloat32},
      .o_desc = {.layout = BNNSDataLayoutVector, .size = {2}, .data_type = BNNSDataTypeFloat32},
      .bias = {.layout = BNNSDataLayoutVector,
               .size = {2},
               .data = bias,
               .data_type = BNNSDataTypeFloat32},
      .activation = {.function = BNNSActivationFunctionRectifiedLinear},
  };
  BNNSFilter filter = BNNSFilterCreateLayerFullyConnected(&layer, NULL);
  float in[3] = {1, 1, 1}, out[2];
  if (BNNSFilterApply(filter, in, out) != 0) printf("%s\n", OpenBNNSGetLastError());
  printf("relu(W x + b) = %g %g\n", out[0], out[1]);
  BNNSFilterDestroy(filter);
  /* [snippet] */
  if (out[0] != 6.5f || out[1] != 0) return 1;

  layer.w_desc.size[0] = 4; /* a mistake: the input has three elements */
  filter = BNNSFilterCreateLayerFullyConnected(&layer, NULL);
  printf("a mistake is refused with its reason:\n  %s\n", OpenBNNSGetLastError());
  return filter == NULL ? 0 : 1;
}

/* A C99 program compiled with the flags of pkg-config: ReLU of a vector, and a refused call. */
#include <openbnns/openbnns.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  const float in[] = {-2, -0.5f, 0, 0.5f, 2};
  float out[5] = {9, 9, 9, 9, 9};
  const float expected[] = {0, 0, 0, 0.5f, 2};
  const BNNSLayerParametersActivation params = {
      .i_desc = {.layout = BNNSDataLayoutVector, .size = {5}, .data_type = BNNSDataTypeFloat32},
      .o_desc = {.layout = BNNSDataLayoutVector, .size = {5}, .data_type = BNNSDataTypeFloat32},
      .activation = {.function = BNNSActivationFunctionRectifiedLinear},
  };
  BNNSFilter filter = BNNSFilterCreateLayerActivation(&params, NULL);
  if (filter == NULL || BNNSFilterApply(filter, in, out) != 0) {
    printf("%s\n", OpenBNNSGetLastError());
    return 1;
  }
  for (int i = 0; i < 5; ++i) {
    if (out[i] != expected[i]) {
      printf("out[%d] is %g, not %g\n", i, out[i], expected[i]);
      return 1;
    }
  }
  if (BNNSFilterApply(filter, NULL, out) == 0) {
    printf("an apply without input succeeded\n");
    return 1;
  }
  printf("refused: %s\n", OpenBNNSGetLastError());
  BNNSFilterDestroy(filter);
  return strstr(OpenBNNSGetLastError(), "BNNSFilterApply") != NULL ? 0 : 1;
}

/* A C project that builds the library as a part of itself: a clamp between -1 and 2. */
#include <openbnns/openbnns.h>
#include <stdio.h>

int main(void) {
  float in[] = {-5, -1, 0.5f, 2, 7};
  float out[5] = {0};
  const float expected[] = {-1, -1, 0.5f, 2, 2};
  const BNNSLayerParametersActivation params = {
      .i_desc = {.layout = BNNSDataLayoutVector,
                 .size = {5},
                 .data = in,
                 .data_type = BNNSDataTypeFloat32},
      .o_desc = {.layout = BNNSDataLayoutVector,
                 .size = {5},
                 .data = out,
                 .data_type = BNNSDataTypeFloat32},
      .activation = {.function = BNNSActivationFunctionClamp, .alpha = -1, .beta = 2},
  };
  const int status = BNNSDirectApplyActivationBatch(&params, NULL, 1, 0, 0);
  if (status != 0) printf("%s\n", OpenBNNSGetLastError());

  int wrong = 0;
  for (int i = 0; i < 5; ++i) {
    if (out[i] != expected[i]) ++wrong;
  }
  printf("status %d, %d wrong\n", status, wrong);
  return status == 0 && wrong == 0 ? 0 : 1;
}

/* A strict C11 source for macOS: one header brings BNNS, CBLAS, <math.h>, and what POSIX adds. */
#include <Accelerate/Accelerate.h>
#include <stdio.h>
#include <time.h>

int main(void) {
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[4] = {0}, y[4] = {0};
  cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, 2, 2, 2, 1, a, 2, b, 2, 0, c, 2);

  const BNNSLayerParametersActivation params = {
      .i_desc = {.layout = BNNSDataLayoutVector, .size = {4}, .data_type = BNNSDataTypeFloat32},
      .o_desc = {.layout = BNNSDataLayoutVector, .size = {4}, .data_type = BNNSDataTypeFloat32},
      .activation = {.function = BNNSActivationFunctionLinear, .alpha = (float)(2 * sin(M_PI / 2))},
  };
  BNNSFilter layer = BNNSFilterCreateLayerActivation(&params, NULL);
  if (layer == NULL || BNNSFilterApply(layer, c, y) != 0) return 1;
  BNNSFilterDestroy(layer);

  struct timespec now;
  if (clock_gettime(CLOCK_MONOTONIC, &now) != 0) return 2;
  printf("%g %g %g %g\n", y[0], y[1], y[2], y[3]);
  return y[0] == 38 && y[1] == 44 && y[2] == 86 && y[3] == 100 ? 0 : 3;
}

/* A fused layer with two inputs, y = relu(gamma k + beta) with k the normalized product a b, that
   learns beta and gamma in a few steps. two_inputs.cpp is the same program with the C++ classes;
   both print the same bits. */
#include <openbnns/openbnns.h>

#include <stdio.h>

enum { kBatch = 16, kChannels = 3, kCount = kBatch * kChannels, kSteps = 5 };

static BNNSNDArrayDescriptor vector(size_t n, float* data) {
  BNNSNDArrayDescriptor d = {.layout = BNNSDataLayoutVector, .data_type = BNNSDataTypeFloat32};
  d.size[0] = n;
  d.data = data;
  return d;
}

static int failed(int status) {
  if (status != 0) fprintf(stderr, "%s\n", OpenBNNSGetLastError());
  return status != 0;
}

int main(void) {
  static float a[kCount], b[kCount], target[kCount], y[kCount], dy[kCount], da[kCount], db[kCount];
  float beta[kChannels] = {0, 0, 0}, gamma[kChannels] = {1, 1, 1};
  float dbeta[kChannels], dgamma[kChannels], moments[4][kChannels] = {{0}}, loss;
  for (int i = 0; i < kCount; ++i) {
    a[i] = (float)(i * 7 % 13) - 6;
    b[i] = (float)(i * 5 % 11) - 5;
    target[i] = a[i] * b[i] > 0 ? 1.0f : 0.0f;
  }

  const BNNSNDArrayDescriptor sample = vector(kChannels, NULL);
  BNNSArithmeticBinary fields = {.in1 = sample,
                                 .in1_type = BNNSSample,
                                 .in2 = sample,
                                 .in2_type = BNNSSample,
                                 .out = sample,
                                 .out_type = BNNSSample};
  const BNNSLayerParametersArithmetic multiply = {.arithmetic_function = BNNSArithmeticMultiply,
                                                  .arithmetic_function_fields = &fields};
  const BNNSLayerParametersNormalization normalize = {
      .i_desc = sample,
      .o_desc = sample,
      .beta_desc = vector(kChannels, beta),
      .gamma_desc = vector(kChannels, gamma),
      .epsilon = 1e-5f,
      .activation = {.function = BNNSActivationFunctionRectifiedLinear}};
  const BNNSFilterType types[] = {BNNSArithmetic, BNNSBatchNorm};
  const void* layers[] = {&multiply, &normalize};
  /* The filter reads beta and gamma at every call, so that a step is seen by the next one. */
  const BNNSFilterParameters options = {.flags = BNNSFlagsUseClientPtr};
  BNNSFilter layer = BNNSFilterCreateFusedLayer(2, types, layers, &options);
  const BNNSLayerParametersLossBase mean_square = {.function = BNNSLossFunctionMeanSquareError,
                                                   .i_desc = sample,
                                                   .o_desc = vector(1, NULL),
                                                   .reduction = BNNSLossReductionMean};
  BNNSFilter error = BNNSFilterCreateLayerLoss(&mean_square, &options);
  if (layer == NULL || error == NULL) return failed(-1);

  const void* in[] = {a, b};
  const size_t strides[] = {kChannels, kChannels};
  BNNSNDArrayDescriptor out_delta = vector(kChannels, dy);
  BNNSNDArrayDescriptor a_delta = vector(kChannels, da), b_delta = vector(kChannels, db);
  BNNSNDArrayDescriptor* in_delta[] = {&a_delta, &b_delta};
  BNNSNDArrayDescriptor p[] = {vector(kChannels, beta), vector(kChannels, gamma)};
  BNNSNDArrayDescriptor g[] = {vector(kChannels, dbeta), vector(kChannels, dgamma)};
  BNNSNDArrayDescriptor m[4];
  BNNSNDArrayDescriptor* parameters[] = {&p[0], &p[1]};
  BNNSNDArrayDescriptor* slots[] = {&g[0], &g[1]};
  const BNNSNDArrayDescriptor* gradients[] = {&g[0], &g[1]};
  BNNSNDArrayDescriptor* accumulators[4];
  for (int i = 0; i < 4; ++i) {
    m[i] = vector(kChannels, moments[i]);
    accumulators[i] = &m[i];
  }
  BNNSOptimizerAdamWithClippingFields adam = {.learning_rate = 0.1f,
                                              .beta1 = 0.9f,
                                              .beta2 = 0.999f,
                                              .time_step = 1,
                                              .epsilon = 1e-8f,
                                              .gradient_scale = 1};
  for (int step = 0; step < kSteps; ++step, adam.time_step += 1) {
    if (failed(BNNSFusedFilterApplyMultiInputBatch(layer, kBatch, 2, in, strides, y, kChannels,
                                                   true)) ||
        failed(BNNSLossFilterApplyBatch(error, kBatch, y, kChannels, target, kChannels, NULL, 0,
                                        &loss, &out_delta, kChannels)) ||
        failed(BNNSFusedFilterApplyBackwardMultiInputBatch(layer, kBatch, 2, in, strides, in_delta,
                                                           strides, y, kChannels, &out_delta,
                                                           kChannels, slots)) ||
        failed(BNNSOptimizerStep(BNNSOptimizerFunctionAdamWithClipping, &adam, 2, parameters,
                                 gradients, accumulators, NULL)))
      return 1;
    printf("loss %a beta %a gamma %a da %a db %a\n", (double)loss, (double)beta[0],
           (double)gamma[0], (double)da[4], (double)db[4]);
  }
  BNNSFilterDestroy(error);
  BNNSFilterDestroy(layer);
  return 0;
}

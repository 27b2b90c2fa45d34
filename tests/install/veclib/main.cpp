// First-generation code: vector activation layers, fields set one by one.
#include <vecLib/BNNS/bnns.h>

#include <cstdio>
#include <cstring>

int main() {
  BNNSVectorDescriptor desc;
  std::memset(&desc, 0, sizeof(desc));
  desc.size = 4;
  desc.data_type = BNNSDataTypeFloat32;

  BNNSActivation activation;
  std::memset(&activation, 0, sizeof(activation));
  activation.function = BNNSActivationFunctionLeakyRectifiedLinear;
  activation.alpha = 0.25f;

  BNNSFilterParameters params;
  std::memset(&params, 0, sizeof(params));

  BNNSFilter filter = BNNSFilterCreateVectorActivationLayer(&desc, &desc, &activation, &params);
  if (filter == NULL) return 1;
  const float in[4] = {-4.0f, 2.0f, 0.0f, -8.0f};
  float out[4] = {9.0f, 9.0f, 9.0f, 9.0f};
  const int status = BNNSFilterApply(filter, in, out);
  BNNSFilterDestroy(filter);
  std::printf("%d: %g %g %g %g\n", status, out[0], out[1], out[2], out[3]);
  return status == 0 && out[0] == -1.0f && out[1] == 2.0f && out[2] == 0.0f && out[3] == -2.0f ? 0
                                                                                               : 2;
}

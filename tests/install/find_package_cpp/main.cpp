// A C++ project that found the installed package and asks for no standard of the language itself: a
// fully connected layer, W 2x3 = 1..6, from C and from the classes.
#include <openbnns/openbnns.hpp>

#include <cstdio>
#include <cstring>

int main() {
  float weights[] = {1, 2, 3, 4, 5, 6};
  float bias[] = {0.5f, -1};
  const BNNSLayerParametersFullyConnected params{
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
  };
  const BNNSFilter filter = BNNSFilterCreateLayerFullyConnected(&params, nullptr);
  const float in[] = {1, 1, 1, 1, 0, -1};
  float out[4] = {};
  const int status = BNNSFilterApplyBatch(filter, 2, in, 3, out, 2);
  BNNSFilterDestroy(filter);

  std::printf("status %d: %g %g %g %g; last error \"%s\"; version %s, package %s\n", status, out[0],
              out[1], out[2], out[3], OpenBNNSGetLastError(), OpenBNNSGetVersion(),
              PACKAGE_VERSION);
  bnns::Tensor x = bnns::Tensor::from({1, 1, 1}, {3}), y(bnns::Shape::vector(2));
  bnns::FullyConnectedLayer layer(
      {.input = x,
       .output = y,
       .weights = bnns::Tensor::from(weights, bnns::Shape::matrix_row_major(3, 2)),
       .bias = bnns::Tensor::from(bias, {2})});
  layer.apply(x, y);
  if (y[0] != out[0] || y[1] != out[1]) return 1;

  const bool right = out[0] == 6.5f && out[1] == 14 && out[2] == -1.5f && out[3] == -3;
  return status == 0 && right && std::strcmp(OpenBNNSGetVersion(), PACKAGE_VERSION) == 0 ? 0 : 1;
}

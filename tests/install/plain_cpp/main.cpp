// A C++ program compiled by hand, with the plain spelling <bnns.h>: a transpose, a size, a rank.
#include <bnns.h>

#include <algorithm>
#include <array>
#include <cstdio>

int main() {
  std::array<float, 6> in{1, 2, 3, 4, 5, 6};
  std::array<float, 6> out{};
  const BNNSNDArrayDescriptor source{.layout = BNNSDataLayout2DFirstMajor,
                                     .size = {2, 3},
                                     .data = in.data(),
                                     .data_type = BNNSDataTypeFloat32};
  BNNSNDArrayDescriptor transposed{.layout = BNNSDataLayout2DFirstMajor,
                                   .size = {3, 2},
                                   .data = out.data(),
                                   .data_type = BNNSDataTypeFloat32};
  const int status = BNNSTranspose(&transposed, &source, 0, 1, nullptr);
  for (float value : out) std::printf("%g ", value);
  std::printf("status %d\n", status);

  const std::array<float, 6> expected{1, 4, 2, 5, 3, 6};
  return status == 0 && std::ranges::equal(out, expected) &&
                 BNNSNDArrayGetDataSize(&source) == 24 && BNNSDataLayoutGetRank(source.layout) == 2
             ? 0
             : 1;
}

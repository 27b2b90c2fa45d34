// Where crop-resize reads along one axis of a box. With E = end - start and n samples, sample i
// lies at start + p, with p within [0, E]:
//   default   i (E + 1) (1 - 1/n) / (n - 1)     corners         i E / (n - 1), a single one E / 2
//   offset    (i + 1/2) max(1, E) / n           strict corners  i E / (n - 1)
//   unaligned (i + 1/2) (E + 1) / n - 1/2
// (a quotient by n - 1 = 0 counts as 0), between the cells before and behind it. Boxes are data:
// coordinates that are NaN, infinite or huge give samples that lie outside the image.
#pragma once

#include <cstddef>

#include "core/types.h"

namespace bnns::impl {

struct CropSample {
  static constexpr ptrdiff_t kOutside = -1;

  ptrdiff_t cell[2];  // kOutside: there is no such cell
  float weight[2];    // their weights; if the second is 0, its cell has no part in the sample
};

struct CropBox {
  double start, end;
};

void sample_box(BNNSLinearSamplingMode mode, const CropBox& box, size_t cells, size_t n,
                CropSample* samples);

}  // namespace bnns::impl

// Boxes cut out of images and resampled. Sample (i, j) of box b lies between at most four pixels,
//   y = sum of wx wy x(pixel), a pixel outside the image having the extrapolation value, and
//   dx(pixel) = sum over b, j, i, in this order, of wx wy dy
// with the positions and weights of samples.h. Every box is applied to every plane of every image.
// Forward, rows of crops are shared out among the threads; backward, bands of image rows, each of
// which is summed in a buffer of floats.
#pragma once

#include "core/memory.h"
#include "core/view.h"
#include "ops/crop_resize/samples.h"

namespace bnns::impl {

struct CropResizeProblem {
  BNNSLinearSamplingMode sampling;
  BNNSBoxCoordinateMode coordinates;
  bool normalized;
  float scale;
  float outside;    // forward: the extrapolation value
  bool accumulate;  // backward
  // Not collapsed. Image: x, y, planes; crops: the same with one more axis, the boxes; boxes: four
  // coordinates, boxes. The types are floating-point ones.
  View image, crops, boxes;
};

void run_crop_resize(const Memory& memory, size_t threads, const CropResizeProblem& problem);
void run_crop_resize_backward(const Memory& memory, size_t threads,
                              const CropResizeProblem& problem);

}  // namespace bnns::impl

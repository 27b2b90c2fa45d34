// The losses of images, for libopenbnns_mps: value l(y, t) of elements, and its derivatives by the
// prediction y and by the label t. Their formulas are those of docs/mps.md, which differ from the
// losses of ops/loss/loss.h in ties, in weights that are 0, and in what a weight does to a
// soft-max. The kernels know floats in memory and nothing of images.
#pragma once

#include <cstddef>
#include <cstdint>

namespace bnns::impl {

// By the value of MPS::CNNLossType.
enum ImageLoss : size_t {
  kImageAbsoluteError,
  kImageSquaredError,
  kImageSoftmaxCrossEntropy,
  kImageSigmoidCrossEntropy,
  kImageCategoricalCrossEntropy,
  kImageHinge,
  kImageHuber,
  kImageCosineDistance,
  kImageLog,
  kImageKullbackLeibler,
  kImageLosses
};

// Labels of the soft-max and sigmoid losses become keep * t + added.
struct ImageLossConstants {
  float keep = 1, added = 0;
  float epsilon = 0, delta = 1;
};

// `rows` rows of n elements, one behind the other. A soft-max runs over a row.
struct ImageLossRows {
  const float* y;
  const float* t;
  const float* weights;   // one per element; nullptr: 1
  const float* upstream;  // one per element; nullptr: 1
  float scale;
  float* results;  // scale * upstream * weight * f, exactly 0 where the weight is 0; or nullptr
  size_t rows, n;  // both at least 1
};

// The kernels of losses return the sum of weight * loss, without scale and upstream, added in
// double; they alone take results == nullptr. The kernels of derivatives return 0.
using ImageLossKernel = double (*)(const ImageLossRows& rows, const ImageLossConstants& constants);

struct ImageKernels {
  ImageLossKernel loss[kImageLosses], by_y[kImageLosses], by_t[kImageLosses];
  ImageLossKernel by_y_as_printed[kImageLosses];  // with Apple's misprints, see docs/mps.md
  size_t (*count_nonzero)(const float* values, size_t n);
};
// Of the chosen SIMD target. Both are part of ops/loss.
const ImageKernels* image_kernels();
void convert_halves(const uint16_t* in, size_t n, float* out);
void convert_halves(const float* in, size_t n, uint16_t* out);

}  // namespace bnns::impl

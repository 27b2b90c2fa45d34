// The weight gradient: dw(k, c, r, s) = sum over the batch and p, q of small(k, p, q) times
// large(c, ...) at the tap. A grain owns some channels of both images and runs over the batch in
// order, so that no sums of several threads are added and the result has the same bits for any
// number of threads. A batch may come in several ranges: the sums are kept from one to the next.
#pragma once

#include <cstddef>

#include "ops/convolution/pass.h"
#include "ops/convolution/weights.h"

namespace bnns::impl {

// Samples [first, first + count) of a batch.
struct SampleRange {
  size_t first, count, batch;

  bool begins() const { return first == 0; }
  bool ends() const { return first + count == batch; }
};

class ConvolutionWeightGradientPlan {
 public:
  ConvolutionWeightGradientPlan(const Memory& memory, const ConvolutionGeometry& geometry,
                                size_t lanes);

  // Floats of working memory per thread, if rows of the images have at most `widest` values.
  size_t scratch(size_t widest) const;
  // Floats of the sums of all weights.
  size_t sums() const { return sums_; }

  // Sample 0 of `small` and `large` is the first one of the range. dw is written when the range
  // ends the batch.
  void run(const ConvolutionContext& context, const SampleRange& samples, const RowReader& small,
           const RowReader& large, const ConvolutionWeights& dw, bool accumulate,
           const ConvolutionWork& work, float* sums) const;

 private:
  struct Buffers {
    float *large, *transposed, *small, *row_scratch;
  };
  Buffers buffers(float* work) const;
  void copy_small(const ConvolutionContext& context, const RowReader& small, size_t n, size_t k0,
                  size_t ks, size_t i0, size_t rows, const Buffers& to) const;
  struct Images {
    const RowReader &small, &large;
  };
  // Rows [i0, i0 + rows) of the small image of sample n; the channels of the large image begin at
  // c0.
  struct Block {
    size_t c0, n = 0, i0 = 0, rows = 0;
  };
  void add_outer(const ConvolutionContext& context, const Images& images, const Block& at,
                 const ConvolutionSums& block, const Buffers& b) const;
  void add_weight_gradient(const ConvolutionContext& context, const Images& images, const Block& at,
                           const ConvolutionSums& block, const Buffers& b) const;
  void run_grain(const ConvolutionContext& context, size_t samples, const Images& images,
                 const ConvolutionSums& block, float* work) const;

  bool many_;  // vectors hold channels of the small image (outer kernel), otherwise pixels
  size_t lanes_;
  size_t small_channels_, large_channels_;  // most channels of a grain
  ConvolutionPlan plan_;
  size_t row_, plane_;  // strides of the copy of the small image
  size_t sums_;
};

// db[k] (+)= sum of all values of channel k over the batch. `sums` has one value per channel and is
// kept from one range to the next.
void sum_channels(const ConvolutionContext& context, const SampleRange& samples, const Batch& g,
                  const Gradient& db, double* sums);

}  // namespace bnns::impl

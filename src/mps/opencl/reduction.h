// Partial sums on an OpenCL device, folded to one by steps whose shape depends on their number
// only, and what is made of the totals.
#pragma once

#include <span>

#include "mps/opencl/lane.h"
#include "mps/opencl/params.h"
#include "mps/work.h"

namespace bnns::impl::mps::opencl {

// A sum as the kernels keep it: the value is high + low.
struct Sum {
  float high, low;
};

Buffer buffer_of(const StoragePtr& image);
// nullptr: an image that does not exist.
View view_of(const StoragePtr& image);

// How many partial sums `count` values are added up in.
size_t strands_for(size_t count);

// Folds the `count` sums in Scratch::Sums; entry `target` of `results` becomes
// (sum + offset) * scale.
struct Fold {
  size_t count, target;
  Sum offset{0, 0};
  float scale = 1;
};
void fold(Lane& lane, const Fold& fold, Buffer results);

// Counts the weights that are not 0 of every image to Scratch::Counts.
void count_weights(Lane& lane, std::span<const LossItem> items);

// The divisor for image n, which count_weights has counted if the reduction needs it.
Divisor divisor_of(MPS::CNNReductionType reduction, bool across_batch, size_t image, size_t batch,
                   double mean_divisor);

// Writes the forward values of all images from Scratch::Totals and Scratch::Counts.
void store_reduced(Lane& lane, std::span<const LossItem> items, MPS::CNNReductionType reduction,
                   bool across_batch, double mean_divisor);

// Room in scratch memory for one sum per image.
Buffer sums_of_batch(Lane& lane, Scratch purpose, size_t images);

}  // namespace bnns::impl::mps::opencl

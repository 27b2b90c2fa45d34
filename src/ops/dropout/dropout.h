// y = x / (1 - rate) where x is kept and 0 where it is dropped, and the same for the gradient, with
// decisions that a call draws and keeps: one bit each, 1 for "keep".
//   Decision k of a call is bit k % 32 of word k / 32. It is made of word k % 4 of Philox block
//   k / 4: the element is dropped if that word is below rate 2^32. So it depends neither on threads
//   nor on the target.
// Decisions are numbered in memory order, sample by sample; elements that differ only in a shared
// axis have one. Drawing is parallel over blocks of decisions, the rest over blocks of elements.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/axes.h"
#include "ops/convert/convert.h"
#include "ops/random/random.h"

namespace bnns::impl {

struct DropoutProblem {
  View in;          // one sample, not collapsed
  uint32_t shared;  // bit k: axis k of `in` shares its decisions
  float rate;       // in [0, 1)
};

struct DropoutKernels {
  // Bit i of `bits` is 1 where words[i] >= threshold; n is a multiple of 16, of which each half of
  // an element of `bits` takes one.
  void (*decide)(const uint32_t* words, size_t n, uint32_t threshold, uint16_t* bits);
  // y = scale x where bit i is 1, else 0; `add` adds that to y.
  void (*set)(const uint32_t* bits, float scale, const float* x, float* y, size_t n);
  void (*add)(const uint32_t* bits, float scale, const float* x, float* y, size_t n);
};
const DropoutKernels* dropout_kernels();

class DropoutOp {
 public:
  DropoutOp(size_t threads, const DropoutProblem& problem);

  // Words that hold the decisions of so many samples.
  size_t mask_words(size_t batch) const;
  // Draws them from numbers 0, 1, ... of a stream.
  void draw(RandomUse use, uint64_t key, size_t batch, uint32_t* mask) const;
  // Collapsed views of all samples; y may be x.
  void apply(const uint32_t* mask, size_t batch, const View& x, const View& y,
             bool accumulate) const;

 private:
  using DecisionAxes = AxesOf<1>;
  // The axes of `batch` samples, with the steps between their decisions.
  DecisionAxes axes_of(size_t batch) const;

  size_t threads_;
  DropoutProblem problem_;
  size_t decisions_ = 1;  // of one sample
  uint32_t threshold_;
  float scale_;
  PhiloxKernel philox_ = philox_kernel();
  const DropoutKernels* kernels_ = dropout_kernels();
  const ConvertKernels* convert_ = convert_kernels();
};

}  // namespace bnns::impl

// One pass of a plan: every output of a batch of images, the epilogue of a sum of products.
// A grain is a block of output rows of one sample, with some groups or some output channels. It
// copies the source rows it needs into its thread's buffer of padded rows, runs the products kernel
// and applies the activation while the outputs are in the cache.
#pragma once

#include <cstddef>

#include "ops/convolution/kernels.h"
#include "ops/convolution/rows.h"
#include "ops/convolution/plan.h"
#include "ops/normalization/kernels.h"

namespace bnns::impl {

// What all passes of a layer share. The kernels are those of the target chosen at creation.
struct ConvolutionContext {
  ConvolutionContext(const ConvolutionGeometry& g, size_t thread_count)
      : geometry(g), threads(thread_count), run(thread_count) {}

  ConvolutionGeometry geometry;
  size_t threads;
  ConvolutionKernels kernels = convolution_kernels();
  ElementRun run;
  const NormalizationKernels* statistics = normalization_kernels();
};

// The working memory: `per_thread` floats for each thread.
struct ConvolutionWork {
  float* data;
  size_t per_thread;

  float* of(size_t worker) const { return data + worker * per_thread; }
};

struct ConvolutionPass {
  const ConvolutionPlan* plan;
  ConvolutionDirection direction;
  RowReader source;
  Batch to;
  const float* panels;
  // Terms of rows, one value per channel of `to`; the activation; whether to accumulate, which
  // excludes an activation, scale and shift.
  Epilogue epilogue = {};
  // Moments of what is stored, by part of a sample and channel: moment_parts() times the channels
  // of `to` for each sample. NULL: not wanted.
  Moments* moments = nullptr;
};

// Parts of a sample whose moments are taken separately.
size_t moment_parts(const ConvolutionPlan& plan);

// Whether kernels store into an image like `one` directly. Otherwise they store into a block in
// working memory, with room for all channels of a group, which is then converted row by row.
bool stores_direct(const View& one, bool activation);

// Floats of working memory that a pass needs per thread. The samples of pass.to look like `one` and
// have `channels` channels per group.
size_t pass_scratch(const ConvolutionPlan& plan, const View& one, size_t channels, bool activation);

// Computes all samples of pass.to.
void run_pass(const ConvolutionContext& context, const ConvolutionPass& pass,
              const ConvolutionWork& work);

}  // namespace bnns::impl

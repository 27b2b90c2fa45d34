// One pass of a plan: every output of a batch of images, out (+)= act(bias + sum of products).
// A grain is a block of output rows of one sample, with some groups or some output channels. It
// copies the source rows it needs into its thread's buffer of padded rows, runs the products kernel
// and applies the activation while the outputs are in the cache.
#pragma once

#include <cstddef>

#include "ops/convolution/kernels.h"
#include "ops/convolution/rows.h"
#include "ops/convolution/plan.h"

namespace bnns::impl {

// What every pass of a layer shares: kernels of the target chosen when it is made, threads.
struct ConvolutionContext {
  ConvolutionContext(const ConvolutionGeometry& g, size_t thread_count)
      : geometry(g), threads(thread_count), run(thread_count) {}

  ConvolutionGeometry geometry;
  size_t threads;
  ConvolutionKernels kernels = convolution_kernels();
  ElementRun run;
};

// Floats of the working memory, one stretch per thread.
struct ConvolutionWork {
  float* data;
  size_t per_thread;

  float* of(size_t worker) const { return data + worker * per_thread; }
};

struct ConvolutionPass {
  const ConvolutionPlan* plan;
  ConvolutionDirection direction;
  RowReader source;
  Gradient to;  // an output, or a gradient that may be added to
  const float* panels;
  const float* bias;                  // per channel of `to`; NULL: none
  const FusedActivation* activation;  // NULL: none
};

// Whether kernels store into an image like `one` itself; else into a block, all channels of a
// group, that is converted row by row.
bool stores_direct(const View& one, bool activation);

// Floats per thread that a pass needs, if `to` looks like `one` with so many channels in a group.
size_t pass_scratch(const ConvolutionPlan& plan, const View& one, size_t channels, bool activation);

// One tap without padding or steps: the source needs no buffer, its rows are those of the matrix.
bool is_source_itself(const ConvolutionJob& job, const RowReader& source);

// Whether the depthwise kernels can read the source where it lies.
bool is_depthwise_source(const ConvolutionKernels& kernels, const ConvolutionJob& job,
                         const RowReader& source);
// Their source for outputs from row i0 on.
ConvolutionDepthwise depthwise_of_source(const ConvolutionJob& job, const RowReader& source,
                                         size_t n, size_t channel, size_t i0);
// The same for rows in a buffer of so many floats.
ConvolutionDepthwise depthwise_of_buffer(const ConvolutionJob& job, const float* buffer,
                                         size_t floats);

// Copies the source rows of outputs [i0, i0 + rows) of a job into the buffer `to`.
void fill_buffer(const ConvolutionKernels& kernels, const ConvolutionJob& job,
                 const RowReader& source, size_t n, size_t c0, size_t channels, size_t i0,
                 size_t rows, float* to, float* row_scratch);

// All samples of pass.to.
void run_pass(const ConvolutionContext& context, const ConvolutionPass& pass,
              const ConvolutionWork& work);

}  // namespace bnns::impl

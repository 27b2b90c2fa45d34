// The k best values along one axis, and whether a value is among them:
//   top k:      values[j], indices[j] = the j-th largest of the row and where it is
//   in top k:   out = fewer than k values of the row are above the tested one
// A row is the elements that differ in the coordinate of that axis only; rows are the grains. Only
// comparisons are made, in the order of selection.h, so that results are exact.
#pragma once

#include <cstddef>

#include "core/axes.h"
#include "core/memory.h"
#include "ops/convert/convert.h"
#include "ops/top_k/selection.h"

namespace bnns::impl {

// The tensors of a problem: kTopKIn and two others.
constexpr size_t kTopKIn = 0, kTopKValues = 1, kTopKIndices = 2;
constexpr size_t kInTopKTest = 1, kInTopKOut = 2;

struct TopKProblem {
  size_t k = 1;
  size_t length = 1;          // elements of a row, at most kMostValues
  Axes rows;                  // all other axes and the batch, the fastest of the input first
  AxesOffsets along = {};     // strides along the row
  AxesTensor tensor[3] = {};  // of a floating-point type; the others see below
};

// The kernels of the target that is chosen when this object is made, and the threads to use.
struct TopKRun {
  explicit TopKRun(size_t thread_count) : threads(thread_count) {}

  const SelectionKernels* kernels = selection_kernels();
  const ConvertKernels* convert = convert_kernels();
  size_t threads;
};

// Values have the type of the input and are copied bit by bit. Indices are integers of whole bytes,
// which hold length - 1; data nullptr: they are not wanted.
void run_top_k(const TopKRun& run, const Memory& memory, const TopKProblem& problem);

// Tested indices are integers of whole bytes; one that is not below `length` is refused before
// anything is written. The output has bytes of 0 or 1.
void run_in_top_k(const TopKRun& run, const TopKProblem& problem);

}  // namespace bnns::impl

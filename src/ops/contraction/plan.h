// How a contraction is computed. All of it follows from the extents, strides and types.
#pragma once

#include "core/types.h"
#include "ops/contraction/axes.h"
#include "ops/gemm/operand.h"

namespace bnns::impl {

struct ContractionProblem {
  ContractionAxes axes;
  BNNSDataType type[kContractionTensors] = {BNNSDataTypeFloat32, BNNSDataTypeFloat32,
                                            BNNSDataTypeFloat32};
  float alpha = 1;
};

enum class ContractionForm {
  kElements,  // a loop nest
  kMatrices,  // products of matrices that lie in the tensors
  kGathered,  // products of which A, B or both are gathered into panels
};

struct ContractionPlan {
  explicit ContractionPlan(const ContractionProblem& problem);

  ContractionForm form;
  float alpha;
  // A and B change places where that makes the columns of C contiguous. What follows is in the
  // order after that.
  bool swapped = false;
  BNNSDataType type[kContractionTensors];

  // An operand with axes that only it has is summed over them beforehand: axes of that sum, as a
  // contraction of the operand with nothing, the floats of its result (0: there is no such sum),
  // and the type that the operand itself has.
  ContractionAxes alone[2];
  size_t alone_floats[2] = {};
  BNNSDataType alone_type[2] = {};

  // Elements: the axes of C, and those that are summed.
  ContractionAxes kept, summed;

  // Products. `outer` counts products; `repeat` are axes that only C has.
  ContractionAxes m, n, k, outer, repeat;
  size_t rows = 1, columns = 1, depth = 1;  // of one product
  GemmOperand a = {}, b = {};
  bool a_gathered = false, b_gathered = false;
  // C takes the sums where it lies; otherwise they go through a copy of `block` rows or, if a
  // product has no more than that, of `group` products.
  bool direct = false;
  size_t block = 0, group = 1;

 private:
  void choose(ContractionAxes& batch);
  void sum_alone(ContractionTensor t, const ContractionAxes& lone, ContractionAxes& batch);
  void swap_operands(ContractionAxes& batch);
};

}  // namespace bnns::impl

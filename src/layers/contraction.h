// The parameters that matrix products and contractions of tensors have in common, the filter of
// both, and BNNSFilterCreateLayerTensorContraction.
#pragma once

#include "core/call.h"
#include "core/filter.h"
#include "ops/contraction/contraction.h"
#include "openbnns/bnns.h"

namespace bnns::impl {

// Where an operand comes from.
enum class ContractionSource : uint8_t {
  kInput,
  kWeights,  // the data of its descriptor; all samples share it
  kSame,     // B is A
  kNothing,  // there is no B: A is copied
};

// An index of the operation: its extent, and the axis of each tensor's view that it runs along. A
// tensor that does not have the index, or has the size 1 there, has kNoAxis.
struct ContractionIndex {
  static constexpr uint8_t kNoAxis = 255;
  size_t extent = 1;
  uint8_t axis[kContractionTensors] = {kNoAxis, kNoAxis, kNoAxis};
};

struct ContractionParameters {
  const char* kind;                        // for messages
  Descriptor tensor[kContractionTensors];  // that of B is not set if B is A, or not there
  ContractionSource b_source = ContractionSource::kInput;
  bool a_is_weights = false;
  float alpha = 1;
  bool accumulate = false;  // beta is 1
  size_t indices = 0;
  ContractionIndex index[ContractionAxes::kMost];

  bool has(ContractionTensor t) const {
    return t != kRight || b_source == ContractionSource::kInput ||
           b_source == ContractionSource::kWeights;
  }
  bool is_weights(ContractionTensor t) const {
    return t == kLeft ? a_is_weights : t == kRight && b_source == ContractionSource::kWeights;
  }
  bool has_two_inputs() const { return !a_is_weights && b_source == ContractionSource::kInput; }
  // The descriptor that the axes of an operand refer to.
  const Descriptor& descriptor(ContractionTensor t) const { return tensor[has(t) ? t : kLeft]; }
};

// "iA_desc", "iB_desc", "o_desc"
const char* contraction_field(ContractionTensor t);

// Reads a tensor of the operation: any plain layout of at least `least_rank` axes and
// floating-point type.
Descriptor read_contraction_tensor(const BNNSNDArrayDescriptor& given, const char* field, Use use,
                                   size_t least_rank);
void check_contraction_scalars(float alpha, float beta);
// Float32 with the axes of `view`, without gaps.
View dense_floats(const View& view);
// The axis of the view that logical coordinate i runs along.
uint8_t view_axis(const LayoutInfo& layout, size_t i);

// The problem of the op for views that lie like the tensors of the parameters. A step of 0: the
// tensor is shared by the batch.
struct ContractionView {
  const View* view;
  size_t step;
};
ContractionProblem contraction_problem(const ContractionParameters& p, size_t batch,
                                       const ContractionTensor (&roles)[kContractionTensors],
                                       const ContractionView (&views)[kContractionTensors]);

BNNSFilter make_contraction_filter(const FilterOptions& options, const ContractionParameters& p);

BNNSFilter make_tensor_contraction_filter(const BNNSLayerParametersTensorContraction* parameters,
                                          const BNNSFilterParameters* filter_parameters);

}  // namespace bnns::impl

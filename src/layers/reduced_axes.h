// Descriptors of tensors with axis flags, which say what axes are reduced; clipping and norms use
// them. Flag i stands for logical coordinate i (of a matrix: 0 for rows, 1 for columns); without
// any flag all axes are reduced.
#pragma once

#include <cstdint>

#include "core/call.h"
#include "ops/vector_norm/vector_norm.h"

namespace bnns::impl {

// Reads a tensor that must be Float32, Float16 or BFloat16, have a plain layout and data.
Descriptor read_float_tensor(const BNNSNDArrayDescriptor& given, const char* field, Use use);

void require_same_type(const Descriptor& a, const char* a_name, const Descriptor& b,
                       const char* b_name);
void require_same_shape(const Descriptor& a, const char* a_name, const Descriptor& b,
                        const char* b_name);

// The axes of two tensors of the same logical shape, in the memory order of the first, not
// collapsed.
Axes whole_axes(const Descriptor& first, const Descriptor& second, uint32_t axis_flags);

// Adds the strides of a tensor with one value per group to the axes, and refuses shapes that do not
// fit. The logical sizes of `values` are those of the axes of `whole` that are kept; or `values` is
// a dense array of as many elements, in the order of a FirstMajor array if `whole` is one,
// otherwise of a LastMajor array.
AxesTensor add_values(Axes& axes, const Descriptor& whole, const char* whole_name,
                      const Descriptor& values, const char* values_name);

}  // namespace bnns::impl

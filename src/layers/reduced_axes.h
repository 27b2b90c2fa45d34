// Descriptors of tensors with axis flags, which say what axes are reduced, as clipping and norms
// have them.
// Flag i is logical coordinate i (of a matrix: 0 the rows, 1 the columns); no flag means all axes.
#pragma once

#include <cstdint>

#include "core/call.h"
#include "ops/vector_norm/vector_norm.h"

namespace bnns::impl {

// Float32, Float16 or BFloat16 in a plain layout, with data.
Descriptor read_float_tensor(const BNNSNDArrayDescriptor& given, const char* field, Use use);

void require_same_type(const Descriptor& a, const char* a_name, const Descriptor& b,
                       const char* b_name);
void require_same_shape(const Descriptor& a, const char* a_name, const Descriptor& b,
                        const char* b_name);

// Axes of two tensors of one logical shape, not collapsed, in the memory order of the first.
Axes whole_axes(const Descriptor& first, const Descriptor& second, uint32_t axis_flags);

// Adds the strides of the values, one per group; refuses shapes that do not hold them. Values have
// the remaining axes of `whole` as their logical sizes; or they are a dense array of that many
// elements, in the order of a FirstMajor array if `whole` is one, else of a LastMajor array.
AxesTensor add_values(Axes& axes, const Descriptor& whole, const char* whole_name,
                      const Descriptor& values, const char* values_name);

}  // namespace bnns::impl

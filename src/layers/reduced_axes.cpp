#include "layers/reduced_axes.h"

#include <algorithm>

namespace bnns::impl {
namespace {

// The logical coordinate of stride[k].
size_t logical_axis(const Descriptor& d, size_t k) {
  const auto* tuple = d.layout->tuple;
  return static_cast<size_t>(std::find(tuple, tuple + d.rank(), d.layout->pair[k]) - tuple);
}

bool is_first_major(const Descriptor& d) {
  return (static_cast<uint32_t>(d.layout->layout) & 0xFFFF) == 0x8001;
}

bool is_packed(const View& view) {
  size_t packed = 1;
  for (size_t k = 0; k < view.rank; ++k) {
    if (view.extent[k] > 1 && view.stride[k] != packed) return false;
    packed *= view.extent[k];
  }
  return true;
}

// The axes that are not reduced, in logical order.
struct Kept {
  size_t rank = 0;
  size_t count = 1;
  Axis* axis[kMaxRank] = {};
  bool reversed[kMaxRank] = {};  // the axis is stored from the last element to the first

  Kept(Axes& axes, const Descriptor& whole) {
    for (size_t i = 0; i < whole.rank(); ++i) {
      for (size_t k = 0; k < axes.rank(); ++k) {
        if (logical_axis(whole, k) != i || axes[k].reduced) continue;
        axis[rank] = &axes[k];
        reversed[rank] = whole.layout->rotated && i < 2;
        count *= axes[k].extent;
        ++rank;
      }
    }
  }

  bool fits(const Descriptor& values) const {
    if (rank == 0) return values.view.count == 1;
    bool equal = values.rank() == rank;
    for (size_t i = 0; equal && i < rank; ++i) equal = values.logical_extent(i) == axis[i]->extent;
    return equal;
  }

  Text sizes() const {
    if (rank == 0) return Text("{1}");
    Text text("{");
    for (size_t i = 0; i < rank; ++i) {
      text.add(i == 0 ? "" : ", ");
      text.add(axis[i]->extent);
    }
    text.add('}');
    return text;
  }

  // Sets the stride of the values along kept axis i. Returns what this axis adds to the offset of
  // the value that belongs to the first element of the whole tensor.
  size_t set_stride(size_t i, size_t stride, bool values_reversed) const {
    const bool against = reversed[i] != values_reversed;
    axis[i]->stride[kNormValues] =
        against ? -static_cast<ptrdiff_t>(stride) : static_cast<ptrdiff_t>(stride);
    return against ? (axis[i]->extent - 1) * stride : 0;
  }
};

}  // namespace

Descriptor read_float_tensor(const BNNSNDArrayDescriptor& given, const char* field, Use use) {
  const Descriptor result = read_descriptor(given, field, use);
  require(result.type->kind == TypeClass::kFloat, field, ".data_type is ", result.type->name,
          "; it must be Float32, Float16 or BFloat16");
  require_plain_layout(result, field);
  const Text data(field, ".data");
  require_data(result.view.data, result.view.type, data.c_str());
  return result;
}

void require_same_type(const Descriptor& a, const char* a_name, const Descriptor& b,
                       const char* b_name) {
  require(a.type == b.type, a_name, ".data_type is ", a.type->name, ", ", b_name, ".data_type is ",
          b.type->name, "; they must be equal");
}

void require_same_shape(const Descriptor& a, const char* a_name, const Descriptor& b,
                        const char* b_name) {
  bool equal = a.rank() == b.rank();
  for (size_t i = 0; equal && i < a.rank(); ++i) equal = a.logical_extent(i) == b.logical_extent(i);
  if (!equal) {
    fail(a_name, " is ", describe(a), ", ", b_name, " is ", describe(b),
         "; they must have the same logical shape");
  }
  if (a.layout->rotated != b.layout->rotated) {
    fail_unsupported(a_name, " is ", describe(a), ", ", b_name, " is ", describe(b),
                     "; rotated weights go with rotated weights only");
  }
}

Axes whole_axes(const Descriptor& first, const Descriptor& second, uint32_t axis_flags) {
  require(axis_flags >> first.rank() == 0, "axis_flags is ", axis_flags, "; a tensor of ",
          first.rank(), " axes has flags up to ", (1u << first.rank()) - 1);
  Axes axes;
  for (size_t k = 0; k < first.rank(); ++k) {
    const size_t i = logical_axis(first, k);
    axes.push({.extent = first.view.extent[k],
               .reduced = axis_flags == 0 || (axis_flags >> i & 1) != 0,
               .stride = {static_cast<ptrdiff_t>(first.view.stride[k]),
                          static_cast<ptrdiff_t>(second.logical_stride(i))}});
  }
  return axes;
}

AxesTensor add_values(Axes& axes, const Descriptor& whole, const char* whole_name,
                      const Descriptor& values, const char* values_name) {
  const Kept kept(axes, whole);
  const bool fits = kept.fits(values);
  if (!fits && !(values.view.count == kept.count && is_packed(values.view))) {
    fail(values_name, " is ", describe(values), ", ", whole_name, " is ", describe(whole),
         "; without the flagged axes the sizes are ", kept.sizes());
  }
  size_t offset = 0, packed = 1;
  for (size_t n = 0; n < kept.rank; ++n) {
    const size_t i = is_first_major(whole) ? kept.rank - 1 - n : n;
    const size_t stride = fits ? values.logical_stride(i) : packed;
    offset += kept.set_stride(i, stride, fits && values.layout->rotated && i < 2);
    packed *= kept.axis[i]->extent;
  }
  return {.data = static_cast<char*>(values.view.data) + offset * values.type->bytes(),
          .type = values.view.type};
}

}  // namespace bnns::impl
